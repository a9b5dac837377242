"""Training steps with layers as people use them are one compiled program, with the numbers of the interpreter."""
import json

from harness.cli import bits, tags

STEP = '''
from ouro import nn, optim, jit, value_and_grad
manual_seed(0)
{model}
opt = optim.SGD(model, lr=0.1)
@jit
def step(x, y, state):
    (loss, state), grads = value_and_grad(loss_of, has_aux=True)(model, x, y, state)
    opt.update(grads)
    return loss, state
x, y = randn(4, 3, 5), randint(0, 6, (3,))
for i in range(3):
    loss, state = step(x, y, state)
    print(loss.item())
'''


def check_compiled(t, model):
    t.write("step.ouro", STEP.format(model=model))
    told = t.run("explain", "--mode=graph", "step.ouro").out
    part = told[told.index("\nstep ("):].split("\n", 2)[2]
    t.check(part.startswith("  version 1: compiled; made because: first call"), model + told)
    t.equal(t.run("run", "--mode=eager", "step.ouro").out, told[:told.index("\n\n") + 1])


@bits
def test_a_recurrent_layer_that_is_given_its_state(t):
    for layer, state in (("LSTM(5, 6)", "(zeros(1, 3, 6), zeros(1, 3, 6))"), ("GRU(5, 6)", "zeros(1, 3, 6)"),
                         ("LSTM(5, 7, 2, proj_size=6)", "(zeros(2, 3, 6), zeros(2, 3, 7))")):
        check_compiled(t, f'''
model, state = nn.{layer}, {state}
def loss_of(m, x, y, state):
    out, state = m(x, state)
    return cross_entropy(out[-1], y), state
''')


@tags("jit")
def test_cross_entropy_as_a_layer(t):
    check_compiled(t, '''
model, state, score = nn.Linear(5, 6), None, nn.CrossEntropyLoss()
def loss_of(m, x, y, state):
    return score(m(x[0]), y), state
''')


LENGTHS = '''
from ouro import nn, jit, value_and_grad
manual_seed(0)
model = nn.{layer}(4, 3, batch_first=True, bidirectional=True)
@jit
def step(x, lengths):
    return value_and_grad(lambda m: (m(x, lengths=lengths)[0] ** 2).mean())(model)
for n in (3, 9, 2, 14, 5, 1, 6, 21, 7, 8, 12, 33):
    loss, g = step(randn(2, n, 4), tensor([n, (n + 1) // 2]))
    print(loss.item(), g.weight_ih_l0.sum().item(), g.weight_hh_l0_reverse.sum().item())
'''


@bits
def test_a_recurrent_layer_over_texts_of_any_length_is_one_program(t):
    """Each length had a version, and from the ninth on the interpreter did the step."""
    for layer in ("RNN", "LSTM", "GRU"):
        t.write("lengths.ouro", LENGTHS.format(layer=layer))
        done = t.run("explain", "--json", "--mode=graph", "lengths.ouro")
        t.equal(done.err, t.run("run", "--mode=eager", "lengths.ouro").out)
        step = next(f for f in json.loads(done.out)["functions"] if f["name"] == "step")
        # A length of one is another program: what is one row is repeated.
        t.check(step["compiled"] == "whole" and step["interpreted_calls"] == 0 and len(step["versions"]) <= 3, done.out)
