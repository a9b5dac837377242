"""The response `threads`: fewer of them where the processor time of a step is too much, and all of them again."""


def test_fewer_threads_are_tried_for_energy_and_the_bits_stay(t):
    t.write("energy.ouro", """
from ouro import nn, optim
manual_seed(0)
m = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
opt = optim.Adam(m, lr=1e-3)
x, y = randn(128, 256), randint(0, 10, (128,))
def step():
    with demand.step():
        loss, grads = value_and_grad(lambda m: cross_entropy(m(x), y))(m)
        opt.update(grads)
    return loss.item()
import sys
losses = [step()]
if len(sys.argv) > 1: demand.set(energy="1us")
for k in range(40): losses.append(step())
r = demand.report()
if len(sys.argv) > 1:
    d = r["decisions"]
    print([(x["goal"], x["value"]) for x in d if x["response"] == "threads"][0], len(d) <= 2, r["targets"]["energy"]["met"])
demand.set(energy=None)
for k in range(20): losses.append(step())
print(demand.report()["threads"], losses)
""")
    plain = t.run("energy.ouro").out
    asked = t.run("energy.ouro", "energy").out
    if plain.startswith("1 "):
        t.skip("one core")
    first, rest = asked.split("\n", 1)
    t.equal(first, "('energy', 'threads=1') True False" if plain.startswith("2 ") else first)
    t.equal(rest, plain)


def test_a_number_that_somebody_asks_for_is_theirs(t):
    t.write("theirs.ouro", """
x = ones(64, 64)
demand.set(energy="1us", threads=2)
for k in range(20):
    with demand.step(): y = x @ x
r = demand.report()
print(r["threads"], [d for d in r["decisions"] if d["response"] == "threads"], r["targets"]["energy"]["why"])
""")
    t.equal(t.run("theirs.ouro").out, "2 [] somebody asks for the number of threads\n")
