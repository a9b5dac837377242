"""What is compiled by itself: functions of scripts and what `grad` and `value_and_grad` give, each by what it is the gradient of. Forward
forms and pullbacks are only parts.
"""
import json
import re

SCRIPT = """
from ouro import grad, jit, nn, optim, value_and_grad
manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        return self.b(self.a(x).tanh())
model = Net()
opt = optim.SGD(model, lr=0.1)
x, y = randn(16, 4), randn(16, 1)

def loss(m, x, y):
    return ((m(x) - y) ** 2).mean()

def size(m):
    return sum([(p * p).sum() for p in m.parameters()])

both = value_and_grad(loss)
for i in range(200):
    l, g = both(model, x, y)                       # kept
    opt.update(g)
    a = value_and_grad(loss)(model, x, y)[0]       # made anew
    b = grad(size)(model).a.weight.sum()
    c = grad(lambda z: (z * x).sum())(x).sum()
print(float(l), float(a), float(b), float(c))
"""


def test_a_gradient_is_compiled_by_itself(t):
    t.write("roots.ouro", SCRIPT)
    expected = t.run("run", "--mode=eager", "roots.ouro").out
    for mode in ("auto", "graph"):
        out = t.run("explain", f"--mode={mode}", "--cache=off", "roots.ouro").out
        t.check(out.startswith(expected), out)
        titles = re.findall(r"^(\S.*) \(.*:\d+\)$", out, re.M)
        roots = ["grad(<lambda>)", "grad(size)", "value_and_grad(loss)"]
        # In the mode auto the script may end before the last of them is compiled.
        t.check(sorted(titles) == roots or (mode == "auto" and set(titles) < set(roots)), out)
        t.check("stays interpreted" not in out and "interpreted in place" not in out, out)
        # Of one code and one loss, kept or made anew, there is one function.
        t.check(len(re.findall("version 1:", out)) == len(titles) > 0 and "version 2:" not in out, out)


def test_losses_have_versions_of_their_own(t):
    """As many gradients as one likes: the limit of versions is each one's own."""
    losses = "\n".join(f"def loss{k}(w): return ((w - {k}.0) ** 2).sum()" for k in range(12))
    t.write("many.ouro", f"""
from ouro import grad, jit
{losses}
w = ones(3)
for f in ({', '.join(f'loss{k}' for k in range(12))}):
    for i in range(4):
        g = jit(grad(f))(w)
    print(g)
""")
    expected = t.run("run", "--mode=eager", "many.ouro").out
    out = t.run("explain", "--mode=graph", "--cache=off", "many.ouro").out
    t.check(out.startswith(expected), out)
    t.check(len(re.findall(r"^grad\(loss\d+\)", out, re.M)) == 12 and "calls interpreted" not in out, out)


DEEP = """
from ouro import nn, optim, value_and_grad
class Coupling(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    def forward(self, x):
        return x + self.net(x)
class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Coupling() for _ in range(2)])
    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x
manual_seed(0)
class Trainer:
    def __init__(self, flow):
        self.flow = flow
        self.me = self
flow, x = Trainer(Flow()), ones(3, 2)
for _ in range(4):
    loss, g = value_and_grad(lambda t: t.flow(x).pow(2).sum())(flow)
    print(loss.item())
"""


def test_a_model_whose_first_tensor_is_deep_inside_is_compiled(t):
    t.write("deep.ouro", DEEP)
    expected = t.run("run", "--mode=eager", "deep.ouro").out
    out = t.run("explain", "--mode=graph", "--cache=off", "deep.ouro").out
    t.check(out.startswith(expected), "the results: " + out)
    t.check("value_and_grad(<lambda>)" in out, "the transform is compiled: " + out)


TREES = """
def tree_map(f, *trees):
    first = trees[0]
    if isinstance(first, dict):
        return {k: tree_map(f, *[t[k] for t in trees]) for k in first}
    if isinstance(first, list):
        return [tree_map(f, *items) for items in zip(*trees)]
    return f(*trees)

def total(tree):
    if isinstance(tree, dict):
        return sum(total(v) for v in tree.values())
    return (tree * tree).sum() if is_tensor(tree) else sum([total(v) for v in tree])

sizes = ((2, 3), (3,), (1,), (4, 2), (5,), (2, 2), (6,), (7,), (8,), (9,))
tree = {"body": [{"w": ones(*s), "b": {"c": ones(*s)}} for s in sizes], "head": {"w": ones(2, 2)}}
mean = tree_map(zeros_like, tree)
for i in range(6):
    mean = tree_map(lambda m, p: 0.9 * m + 0.1 * p, mean, tree)
    print(total(mean).item())
"""


def test_a_walk_over_a_tree_is_compiled_from_its_root(t):
    """Its leaves' calls, which have tensors for arguments, took all versions, and the interpreter did the rest for good."""
    t.write("trees.ouro", TREES)
    done = t.run("explain", "--json", "--mode=graph", "--cache=off", "trees.ouro")
    t.equal(done.err, t.run("run", "--mode=eager", "trees.ouro").out)
    told = {f["name"]: f for f in json.loads(done.out)["functions"]}
    for name, calls, versions in (("tree_map", 6, 1), ("total", 5, 1)):
        f = told[name]
        t.equal((name, f["compiled"], f["compiled_calls"], f["interpreted_calls"], len(f["versions"])), (name, "whole", calls, 0, versions))
