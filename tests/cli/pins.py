"""Numbers, flags and texts from outside are constants of the first version; what changes costs one version, and not one a call."""
import json
import re

from harness.cli import bits

PRELUDE = """
import math
from ouro import jit, nn, optim, value_and_grad
"""
MODEL = """
class Model(nn.Module):
    def __init__(self):
        self.l, self.n, self.t, self.on, self.steps, self.name, self.last = nn.Linear(4, 4), 2, 0.5, True, 0, "a", ""
        self.sizes, self.shape = [2, 2], (2, 2)

    def forward(self, x):
{forward}

    def bump(self):
        self.steps += 1

manual_seed(0)
m = Model()
opt = optim.SGD(m, lr=0.1)
total = 0

@jit
def step(x, n=1, t=1.0):
{step}

for i in range({calls}):
{change}
    print(step(rand(2, 4){given}).item())
"""
TRAIN = "loss, g = value_and_grad(lambda m: m(x))(m)\nopt.update(g)\nreturn loss"
LINEAR = "return self.l(x).sum()"
# what: (forward, step, what changes before each call, further arguments), and how many versions 12 calls make.
CASES = {
    "nothing": (LINEAR, TRAIN, "pass", "", 1),
    "a learning rate that changes at each step": (LINEAR, TRAIN, "opt.lr = 0.1 / (i + 1)", "", 2),
    "a learning rate that is cut once": (LINEAR, TRAIN, "opt.lr = 0.1 if i < 6 else 0.01", "", 2),
    "a learning rate that comes back": (LINEAR, TRAIN, "opt.lr = [0.1, 0.01][i % 2]", "", 2),
    "a float argument": (LINEAR, "return m(x) * t", "pass", ", 1, 0.1 * i", 1),
    "an int argument": (LINEAR, "return m(x) * n", "pass", ", i", 2),
    "an int argument that is a size": (LINEAR, "return m(x) * ones(n + 1).sum()", "pass", ", i % 3", 3),
    "a counter that the step reads and writes": ("self.steps += 1\nreturn self.l(x).sum() * self.steps", TRAIN, "pass", "", 1),
    "a counter in a method": ("k = self.steps\nself.bump()\nreturn self.l(x).sum() * (k + self.steps)", TRAIN, "pass", "", 1),
    "a counter in a list": ("return self.l(x).sum()", "m.sizes[0] += 1\nreturn m(x) * m.sizes[0]", "pass", "", 1),
    "a global counter": (LINEAR, "global total\ntotal += 1\nreturn m(x) * total", "pass", "", 1),
    "a counter that others write": (LINEAR, "return m(x) * m.steps", "m.bump()", "", 2),
    "an attribute that is a size": ("a, b = self.l(x).split(self.n, dim=1)\nreturn (a * b).sum()", TRAIN, "pass", "", 1),
    "an attribute under a root": ("return self.l(x).sum() / math.sqrt(self.n)", TRAIN, "m.n = i + 1", "", 2),
    "an attribute that counts trips": ("for _ in range(self.n):\n    x = tanh(self.l(x))\nreturn x.sum()", TRAIN, "m.n = 1 + i % 3", "", 2),
    "an attribute of dropout": ("return dropout(self.l(x), self.t).sum()", TRAIN, "pass", "", 1),
    "a flag": ("return self.l(x).sum() if self.on else (self.l(x) ** 2).sum()", TRAIN, "m.on = i % 2 == 0", "", 2),
    "a text": ("return self.l(x).sum() if self.name == 'a' else (self.l(x) ** 2).sum()", TRAIN, "m.name = 'ab'[i % 2]", "", 2),
    "a text that is handed on": ("self.last = self.name\nreturn self.l(x).sum()", TRAIN, "m.name = f'at {i}'", "", 2),
    "an int that becomes a float": (LINEAR, "return m(x) * m.n", "m.n = 2 if i < 3 else 2.5", "", 2),
    "three numbers, one after the other": (LINEAR, "return m(x) * m.t * m.n + m.sizes[1]", "m.t += i > 2\nm.n += i > 5\nm.sizes[1] += i > 8", "", 4),
    "two numbers at once": (LINEAR, "return m(x) * m.t * m.n", "m.t += 1\nm.n += 1", "", 2),
    "where a range of places begins": ("k = self.steps\nself.bump()\nreturn (self.l(x)[:, arange(k, k + 2) % 4] * arange(k - 1, k + 1, dtype=f32)).sum()", TRAIN, "pass", "", 1),
    "where one begins that others write": ("return self.l(x)[:, arange(self.steps, self.steps + 2) % 4].sum()", TRAIN, "m.bump()", "", 2),
    "a nan": (LINEAR, "return m(x) * m.t", "m.t = math.nan", "", 1),
}
MANY = """
class Numbers:
    pass
o = Numbers()
for k in range(40):
    setattr(o, f"a{k}", 1.0)

@jit
def f(x):
    y = x
    for k in range(40):
        y = y * getattr(o, f"a{k}")
    return y

for k in range(40):
    setattr(o, f"a{k}", 2.0)
    print(f(ones(2)).tolist())
"""
SIZES = """
@jit
def f(x, n):
    return x.reshape(-1, n).sum(0)

for i in list(range(1, 41)) * 2:
    print(f(arange(i * 2.0), i).tolist())
for i in range(3):
    print(f(arange(2.0), 1).tolist())
"""
PARTS = """
@jit
def f(x, parts):
    for p in parts:
        x = x * p + len(parts)
    return x.sum()
"""


def indented(text, by):
    return "\n".join(by + line for line in text.split("\n"))


def versions(told, name):
    part = told[told.index(f"\n{name} ("):]
    return re.split(r"\n(?=\S)", part[1:])[0]


@bits
def test_a_number_that_changes_costs_one_version(t):
    for what, (forward, step, change, given, expected) in CASES.items():
        t.write("pins.ouro", PRELUDE + MODEL.format(forward=indented(forward, " " * 8), step=indented(step, " " * 4), change=indented(change, " " * 4), given=given, calls=12))
        told = t.run("explain", "--mode=graph", "pins.ouro").out
        part = versions(told, "step")
        t.equal((what, part.count(": compiled;"), "interpreted" in part), (what, expected, False))
        if t.suite.sanitized:
            continue
        t.equal(t.run("run", "--mode=eager", "pins.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])
        t.equal(t.run("run", "--mode=auto", "pins.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


def test_many_numbers_that_change_one_after_the_other_stop_being_constants(t):
    t.write("many.ouro", PRELUDE + MANY)
    told = t.run("explain", "--mode=graph", "many.ouro").out
    part = versions(told, "f")
    t.check(part.count(": compiled;") <= 8 and "interpreted" not in part, part)
    t.equal(t.run("run", "--mode=eager", "many.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


def test_a_number_that_decides_structure_has_so_many_versions_and_no_more(t):
    t.write("sizes.ouro", PRELUDE + SIZES)
    told = t.run("explain", "--mode=graph", "sizes.ouro").out
    part = versions(told, "f")
    t.check(part.count(": compiled;") <= 8 + 3, part)  # one more for each eight calls that the others serve again
    t.check(re.search(r"other calls are interpreted: \d+ versions; last: n changed", part), part)
    t.check("stays interpreted" not in part, part)
    t.check("interpreted (its versions fit no other calls)" in told, told)
    # The versions that there are go on serving.
    t.check(re.search(r"version 1: compiled.*\n.*\n.*\n    5 calls", part), part)
    t.check("what changes from call to call: n\n" in part, part)
    t.equal(t.run("run", "--mode=eager", "sizes.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


def test_numbers_in_a_list_are_data_once_two_of_them_have_changed(t):
    t.write("labels.ouro", """
@jit
def f(x, batch):
    total = x.sum() * 0
    for words, label in batch:
        total = total + (x[:2] * tensor(words)).sum() * label
    return total
for i in range(12):
    print(f(ones(3), [([i * k % 5, (i + k) % 3], (i * k) % 4) for k in range(6)]).item())
""")
    told = t.run("explain", "--mode=graph", "labels.ouro").out
    part = versions(told, "f")
    t.check(part.count(": compiled;") <= 3 and "interpreted" not in part and "batch[*][*][*]" in part, part)
    t.equal(t.run("run", "--mode=eager", "labels.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


def test_a_function_that_comes_to_rest_late_is_compiled(t):
    """Eight versions for lengths that never come again: the interpreter did all calls after them."""
    t.write("late.ouro", PARTS + """for i in range(1, 13):
    print(f(ones(2), [ones(2)] * i).item())
for i in range(40):
    print(f(ones(2) * i, [ones(2)] * 15).item())
""")
    told = t.run("explain", "--mode=graph", "--cache=off", "late.ouro").out
    part = versions(told, "f")
    t.check(int(re.search(r"(\d+) calls interpreted", part)[1]) <= 16, part)
    t.check(max(int(n) for n in re.findall(r"  (\d+) calls, ", part)) >= 25, part)
    t.equal(t.run("run", "--mode=eager", "late.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])
    t.write("never.ouro", PARTS + """for i in range(200):
    f(ones(2), [ones(2)] * i)
""")
    told = t.run("explain", "--mode=graph", "--cache=off", "never.ouro").out
    t.check(int(re.search(r"disk cache off: (\d+) compiled", told)[1]) <= 8 + 4, told)


def test_lengths_that_come_again_have_more_than_eight_versions(t):
    """Sentences of 5 to 20 words: the interpreter did half of the calls for good."""
    t.write("lengths.ouro", PARTS + """for i in range(400):
    f(ones(2), [ones(2)] * (5 + i * 7 % 16))
""")
    told = t.run("explain", "--mode=graph", "--cache=off", "lengths.ouro").out
    part = versions(told, "f")
    t.check(14 <= int(re.search(r"disk cache off: (\d+) compiled", told)[1]) <= 20, told)
    t.check(int(re.search(r"(\d+) calls interpreted", part)[1]) <= 80, part)


def test_a_rate_stays_a_number_of_the_program_beside_a_size_that_structure_needs(t):
    """All of them were constants again, and each rate had a version."""
    t.write("solver.ouro", """
def jac(f, x):
    n = f(x).shape[0]
    return stack([grad(lambda z: f(z)[i])(x) for i in range(n)])
class Task:
    def __init__(self, n, m):
        self.n, self.m = n, m
class Solver:
    def __init__(self, task):
        self.t, self.mu = task, 0.5
    def step(self, xs):
        ks = []
        for x in reversed(xs):
            J = jac(lambda z: cat([z[:self.t.m] * self.mu, z[self.t.m:].square()]), x)
            k = J[:self.t.n - self.t.m] + self.mu * eye(self.t.n, dtype=f64)[:self.t.n - self.t.m]
            ks.append(k)
        return sum([k.sum().item() for k in ks])
for n, m in [(2, 1), (4, 2)]:
    s = Solver(Task(n, m))
    for i in range(8):
        print(f"{s.step([arange(float(n)).astype(f64) + j for j in range(n)]):.3f}")
        s.mu *= 0.7
""")
    told = t.run("explain", "--mode=graph", "--cache=off", "solver.ouro").out
    part = versions(told, "Solver.step")
    t.check(part.count(": compiled;") <= 4 and "calls interpreted" not in part, part)
    t.equal(t.run("run", "--mode=eager", "solver.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


def test_trees_of_random_shapes_cost_few_versions(t):
    """Each tree is another one: eight versions of the step and eight of its derivative were made first."""
    t.write("trees.ouro", """
import random
from ouro import nn, optim
rng = random.Random(1)
class Node:
    def __init__(self, left=None, right=None):
        self.left, self.right = left, right
def tree(n):
    if n == 1:
        return Node()
    k = rng.randint(1, n - 1)
    return Node(tree(k), tree(n - k))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(8, 4)
        self.leaf = nn.Parameter(ones(1, 4))
    def forward(self, node):
        if node.left is None:
            return self.leaf
        return tanh(self.cell(cat([self.forward(node.left), self.forward(node.right)], 1)))
net = Net()
opt = optim.SGD(net.parameters(), lr=0.01)
@jit
def step(net, opt, node):
    loss, grads = value_and_grad(lambda net: net(node).square().sum())(net)
    opt.update(grads)
    return loss
for i in range(60):
    loss = step(net, opt, tree(12 + i % 5))
print(loss.item() < 1)
""")
    told = t.run("explain", "--mode=graph", "--cache=off", "trees.ouro").out
    t.check(int(re.search(r"disk cache off: (\d+) compiled", told)[1]) <= 10, told)
    # The form of `forward` calls itself: a version for leaves and one for inner nodes do all of it.
    t.check(any(int(n) > 1000 for n in re.findall(r"Net.forward .*; (\d+) calls compiled\n", told)), told)


def test_a_list_that_grows_costs_two_versions(t):
    """The losses that a trainer keeps: eight versions were made, then the interpreter did the steps."""
    t.write("kept.ouro", """
from ouro import nn, optim
class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 4)
        self.opt = optim.SGD(self.model.parameters(), lr=0.01)
        self.losses, self.norms = [], {"grad": []}
    def step(self, x, y):
        loss, grads = value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
        self.opt.update(grads)
        self.losses.append(loss.item())
        self.norms["grad"].append(grads.weight.square().sum().item())
        return self.losses[-1]
t = Trainer()
for i in range(20): t.step(ones(8, 4), zeros(8, 4))
print(len(t.losses), len(t.norms["grad"]), t.losses[-1] < t.losses[0])
layers = [ones(2, 2)]
def net(x):
    for w in layers:
        x = x @ w
    return x
for i in range(6):
    net(ones(1, 2))
    layers.append(ones(2, 2))
""")
    done = t.run("explain", "--json", "--mode=graph", "--cache=off", "kept.ouro")
    t.equal(done.err, "20 20 True\n")
    functions = {f["name"]: f for f in json.loads(done.out)["functions"]}
    step, net = functions["Trainer.step"], functions["net"]
    t.equal((step["compiled_calls"], step["interpreted_calls"]), (20, 0))
    t.check(len(step["versions"]) <= 5, step["versions"])
    t.check("self.losses" in step["varying"], step["varying"])
    t.equal((net["compiled"], len(net["versions"])), ("whole", 6))  # layers are structure


def test_who_asks_for_the_attributes_by_name_costs_no_version(t):
    """An optimizer of one's own walks over vars(model), which makes a dict of its attributes: each step then made a version."""
    for ask in ("vars(m).items()", "list(m.__dict__.items())", "[(k, getattr(m, k)) for k in sorted(vars(m))]"):
        t.write("asks.ouro", f"""
class Model:
    def __init__(self):
        self.w, self.b = ones(3), ones(())
def loss(m, x):
    return ((m.w * x).sum() + m.b) ** 2
def update(m, g):
    for k, v in {ask}:
        setattr(m, k, v - 0.01 * getattr(g, k))
m = Model()
for i in range(12):
    l, g = value_and_grad(loss)(m, ones(3))
    update(m, g)
print(l.item() < 16.0)
""")
        done = t.run("explain", "--json", "--mode=graph", "--cache=off", "asks.ouro")
        t.equal(done.err, "True\n")
        step = {f["name"]: f for f in json.loads(done.out)["functions"]}["value_and_grad(loss)"]
        t.equal((len(step["versions"]), step["compiled_calls"], step["interpreted_calls"]), (1, 12, 0))
