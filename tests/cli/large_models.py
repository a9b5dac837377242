"""Models of many layers, parameters and steps are one compiled program: nothing counts to 64."""
import re
import time

from harness.cli import bits

STEP = '''
from ouro import nn, optim, jit, value_and_grad
manual_seed(0)
{model}
@jit
def step(x, y):
    loss, grads = value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    {clip}
    opt.update(grads)
    return loss
for i in range(4):
    print(step(x, y).item())
'''
MLP = '''
model = nn.Sequential(*[nn.Linear(3, 3) for _ in range({n})])
opt = optim.{optimizer}
x, y = randn(4, 3), randn(4, 3)
'''
LSTM = '''
class Model(nn.Module):
    def __init__(self):
        self.lstm, self.head = nn.LSTM(3, 4), nn.Linear(4, 1)
    def forward(self, x):
        return self.head(self.lstm(x)[0][-1])
model = Model()
opt = optim.SGD(model, lr=0.1)
x, y = randn({n}, 2, 3), randn(2, 1)
'''


def check_compiled(t, script, function="step"):
    """One version, nothing left to the interpreter, and the interpreter's numbers."""
    t.write("large.ouro", script)
    told = t.run("explain", "--mode=graph", "large.ouro").out
    part = told[told.index(f"\n{function} ("):].split("\n", 2)[2]
    t.check(re.match(r"  version 1: compiled; made because: first call\n    \d+ operations; specialised in .*\n    \d+ kernels, .*\n    \d+ calls, ",
                     part), told)
    t.check("interpret" not in part and "version 2" not in part, told)
    t.equal(t.run("run", "--mode=eager", "large.ouro").out, told[:told.index("\n\n") + 1])


@bits
def test_a_step_with_more_than_a_hundred_parameters(t):
    for optimizer in ("SGD(model, lr=0.1, momentum=0.9)", "Adam(model, lr=1e-3)"):
        check_compiled(t, STEP.format(model=MLP.format(n=70, optimizer=optimizer), clip=""))


@bits
def test_many_gradients_are_clipped_by_their_norm(t):
    check_compiled(t, STEP.format(model=MLP.format(n=40, optimizer="SGD(model, lr=0.1)"), clip="nn.clip_grad_norm(grads, 0.01)"))


@bits
def test_a_recurrent_layer_over_many_steps(t):
    check_compiled(t, STEP.format(model=LSTM.format(n=130), clip=""))


def test_a_sequence_of_two_hundred_layers(t):
    check_compiled(t, '''
from ouro import nn, jit
manual_seed(0)
model = nn.Sequential(*[nn.Linear(3, 3) for _ in range(200)])
@jit
def forward(x):
    return model(x)
for i in range(3):
    print(forward(ones(2, 3)).sum().item())
''', "forward")


LOOPS = {
    "a list that grows": '''
    out = []
    for i in range(100): out.append(x * i)
    return stack(out)''',
    "layers by their number": '''
    for i in range(len(layers)): x = tanh(layers[i][0] * x + layers[i][1])
    return x''',
    "a loop in a loop": '''
    out = []
    for i in range(80):
        row = []
        for j in range(90): row.append(i * j)
        out.append(x * row[i])
    return stack(out)''',
    "while": '''
    i, out = 0, {}
    while i < 100:
        out[i] = x + i
        i += 1
    return sum(out.values())''',
    "a comprehension": '''
    return stack([x * k for k in range(100)] + [w for w, _ in zip(scale, range(100))])''',
}


def test_loops_of_many_turns_over_structure(t):
    for what, body in LOOPS.items():
        check_compiled(t, f'''
from ouro import jit
manual_seed(0)
layers = [(randn(2), randn(2)) for _ in range(150)]
scale = [randn(2) for _ in range(100)]
@jit
def f(x):{body}
for i in range(3):
    print(f(ones(2) * i).sum().item())
''', "f")


def test_a_loop_over_numbers_stays_a_loop(t):
    t.write("numbers.ouro", '''
from ouro import jit
@jit
def f(x):
    for i in range(3000): x = x * 0.5 + i
    return x
for i in range(3):
    print(f(ones(2)).sum().item())
''')
    told = t.run("explain", "--mode=graph", "numbers.ouro").out
    t.check(int(re.search(r"(\d+) operations", told).group(1)) < 20, told)


def test_what_would_be_too_large_is_told(t):
    t.write("endless.ouro", '''
from ouro import jit
class Kept:
    def __init__(self, v): self.v = v
@jit
def f(x):
    out = []
    for i in range(1000000): out.append(Kept(x * i))
    return x
print(f(ones(2)).sum().item())
''')
    told = t.run("explain", "--mode=graph", "endless.ouro").out
    t.check("endless.ouro:8: a list or dict that grows in a loop, whose turns, written out, are" in told, told)
    # It ends long before the range does.
    t.write("ends.ouro", '''
from ouro import jit
@jit
def f(x):
    out = []
    for i in range(1000000):
        if len(out) == 1500: break
        out.append(x * i)
    return out[-1]
print(f(ones(2)).sum().item())
''')
    told = t.run("explain", "--mode=graph", "ends.ouro").out
    t.check("ends.ouro:4): compiled whole" in told, told)


CHAINS = {
    "objects": ("Node(i, h)", "h is not None", "h.v", "h.n"),
    "tuples": ("(i, h)", "h", "h[0]", "h[1]"),
    "lists": ("[i, h]", "h", "h[0]", "h[1]"),
    "dicts": ("{0: i, 1: h}", "h", "h[0]", "h[1]"),
}


@bits
def test_a_loop_along_a_chain_is_given_up_early(t):
    """Written out it was a program for each length, made in time that grew with its square."""
    for make, test, value, further in CHAINS.values():
        t.write("chain.ouro", f'''
from ouro import jit
class Node:
    def __init__(self, v, n): self.v, self.n = v, n
@jit
def total(h):
    t = 0
    while {test}:
        t += {value}
        h = {further}
    return t
def build(n):
    h = None
    for i in range(n): h = {make}
    return h
for n in (10, 20, 9000, 8000, 7000): print(total(build(n)))
''')
        start = time.monotonic()
        told = t.run("explain", "--mode=graph", "chain.ouro").out
        t.check(time.monotonic() - start < 10, f"{time.monotonic() - start:.1f} s for {make}")
        t.check(told.startswith("45\n190\n40495500\n31996000\n24496500\n"), told[:200])
        t.has(told, "stays interpreted: a loop whose variable h walks along a chain of more than 64 objects")



def test_turns_behind_many_branches_are_found_early(t):
    """Each arm of a branch that goes on to a next turn by itself has all further turns in it."""
    t.write("arms.ouro", '''
from ouro import jit, grad
def f(x):
    y = x
    for i in range(5):
        for j in range(4):
            y = y * 1.1 + x * 0.1
            if y > 0.9 and j > 1: break
            if j == i: continue
            y = y - 0.01 * i * x
        else:
            y = y * x + 1
            continue
        y = y + 0.5
        if i == 3: break
    else:
        y = y * x
    return y
print(f(0.5) == jit(f)(0.5), grad(f)(0.5) == jit(grad(f))(0.5))
''')
    told = t.run("explain", "--mode=graph", "arms.ouro").out
    t.check(told.startswith("True True\n") and "operations, written out" not in told and "400000" not in told, told)


def test_the_variable_that_changes_is_told(t):
    t.write("changes.ouro", '''
from ouro import jit
@jit
def f(x):
    shape = ()
    while x.sum() < 100:
        shape = (shape, 1)
        x = x * 2
    return x
class C: pass
@jit
def g(c, x):
    c.kind = 1
    while x.sum() < 100:
        c.kind = c.kind * 0.5
        x = x * 2
    return x
print(f(ones(2)).sum().item(), g(C(), ones(2)).sum().item())
''')
    told = t.run("explain", "--mode=graph", "changes.ouro").out
    t.has(told, "a loop's variable shape that changes its structure")
    t.check("stays interpreted" not in told[told.index("\ng ("):] and "not compiled" not in told[told.index("\ng ("):], told)


SEQUENCES = {
    "its rows": "for t in range(30):\n        h = tanh(x[t] + h @ u)\n        outs.append(h)",
    "itself": "for row in x:\n        h = tanh(row + h @ u)\n        outs.append(h)",
    "unbind": "for row in unbind(x, 0):\n        h = tanh(row + h @ u)\n        outs.append(h)",
    "split": "for row in x.split(1):\n        h = tanh(row[0] + h @ u)\n        outs.append(h)",
    "columns": "z = x.transpose(0, 1)\n    for t in range(30):\n        h = tanh(z[:, t] + h @ u)\n        outs.append(h)",
    "some rows twice, and all of it": "for t in range(3, 27):\n        h = tanh(x[t] + x[t - 1] + h @ u)\n        outs.append(h + x.mean())",
    "slices that overlap": "for t in range(28):\n        h = tanh(x[t:t + 3].sum(0) + h @ u)\n        outs.append(h)",
    "every second row": "for t in range(0, 30, 2):\n        h = tanh(x[t] + h @ u)\n        outs.append(h)",
}
WRITTEN = {
    "written": "y = zeros(30, 4, 2)\n    for t in range(30):\n        h = tanh(x[t] + h @ u)\n        y[t] = h\n    outs.append(y)",
    "written and read": "y = x * 1\n    for t in range(1, 30):\n        y[t] = tanh(y[t] + y[t - 1] @ u)\n    outs.append(y)\n    outs.append(y[3:7])",
    "written twice": "y = x * 1\n    for t in range(1, 20):\n        y[t] += h\n        y[t] *= 2\n        y[:, 1] = y[:, 0]\n    outs.append(y)",
}


SEQUENCE = """
from ouro import jit, value_and_grad
manual_seed(1)
def run(given, u):
    x, h, outs = given * 1.5, zeros(4, 2), []
    {body}
    return sum([(o * o).sum() for o in outs])
@jit
def step(x, u):
    return {result}
x, u = randn(30, 4, 2), randn(2, 2)
x[3:9] = -0.0
for i in range(3):
    loss, (dx, du) = step(x, u)
    print(loss.item(), du.tolist(), [repr(r) for r in dx.sum(1).tolist()], dx[5].tolist())
"""


@bits
def test_sequences_are_gone_through_in_every_way(t):
    for body in SEQUENCES.values():
        check_compiled(t, SEQUENCE.format(body=body, result="value_and_grad(run, (0, 1))(x, u)"))


def test_sequences_are_written_row_by_row(t):
    for body in WRITTEN.values():
        check_compiled(t, SEQUENCE.format(body=body, result="run(x, u), (x * 2, u)"))


def test_many_tensors_are_joined(t):
    check_compiled(t, '''
from ouro import jit
manual_seed(1)
xs = [randn(3, 1 + i % 3) for i in range(90)]
@jit
def step(xs):
    return cat(xs, 1), cat([x * 2 for x in xs[:8]], 1), stack([x.sum(1) for x in xs], -1), sum([x.sum() for x in xs])
for i in range(3):
    print([y.tolist() for y in step(xs)])
''')


@bits
def test_a_loop_over_an_axis_is_written_out_for_each_length(t):
    """A size that is a symbol would leave the loop, and with it the whole gradient, to the interpreter."""
    t.write("lengths.ouro", '''
from ouro import nn, value_and_grad
manual_seed(1)
class Tagger(nn.Module):
    def __init__(self):
        self.cell, self.out = nn.Linear(6, 4), nn.Linear(4, 3)
    def forward(self, xs):
        h, outs = zeros(2, 4), []
        for t in range(xs.shape[0]):
            h = tanh(self.cell(cat([xs[t], h], 1)))
            outs.append(self.out(h))
        return stack(outs)
model = Tagger()
def train(xs):
    loss, g = value_and_grad(lambda m: (m(xs) ** 2).mean())(model)
    return loss
for i in range(8):
    print(train(randn(5 + i % 3, 2, 2)).item())
''')
    told = t.run("explain", "--mode=graph", "lengths.ouro").out
    t.check(told.startswith(t.run("--mode=eager", "lengths.ouro").out), told)
    t.check("version 3: compiled" in told and "version 4" not in told and "interpreted" not in told, told)
