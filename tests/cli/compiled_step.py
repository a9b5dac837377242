"""A training step with gradients, modules and an optimizer becomes one compiled program, and stays one."""
import re

from _training import MODEL
from harness.cli import bits, tags

STEP = MODEL + '''
from ouro import tensor_counters
made = []
for i in range(12):
    print(f"{step(x, y).item():.9g}")
    made.append(tensor_counters()[0])
print("made", made[11] - made[5])
'''


@tags("jit")
def test_a_training_step_is_one_program(t):
    t.write("step.ouro", STEP)
    told = t.run("explain", "--mode=graph", "step.ouro").out
    part = told[told.index("\nstep ("):]
    part = part[:part.index("\n", part.index(" calls, "))]
    t.check("version 1: compiled; made because: first call" in part, part)
    t.check("12 calls" in part and "version 2" not in part, part)
    t.check("interpreted" not in part, part)


@bits
def test_every_optimizer_is_part_of_the_program(t):
    for made in ("SGD(model, lr=0.1)", "SGD(model, lr=0.1, momentum=0.9, nesterov=True)", "SGD(model, lr=0.1, weight_decay=0.1)",
                 "Adam(model, weight_decay=0.1)", "AdamW(model)"):
        t.write("step.ouro", STEP.replace("Adam(model, lr=1e-3)", made))
        told = t.run("explain", "--mode=graph", "step.ouro").out
        t.check("\nstep (" in told and "12 calls" in told and "stays interpreted" not in told[told.index("\nstep ("):].split("\n  12 calls")[0], made + told)


def test_a_clipped_gradient_is_part_of_the_program(t):
    for clip in ("nn.clip_grad_norm(grads, 0.1)", "nn.clip_grad_value(grads, 0.1)"):
        t.write("step.ouro", STEP.replace("    opt.update(grads)", f"    {clip}\n    opt.update(grads)"))
        told = t.run("explain", "--mode=graph", "step.ouro").out
        t.check(clip in open(t.path("step.ouro")).read() and "\nstep (" in told, told)
        part = told[told.index("\nstep ("):]
        t.check("12 calls" in told and "stays interpreted" not in part.split("\n  12 calls")[0], clip + told)


HIGHER = """
def f(x): return (tanh(x) ** 3).sum()
@jit
def third(x): return grad(lambda u: grad(lambda v: grad(f)(v).sum())(u).sum())(x)
def net(layers, x):
    for w, b in layers: x = tanh(x @ w + b)
    return x.square().mean((0, 1))
@jit
def meta(layers, x):
    def outer(layers):
        grads = grad(lambda l: net(l, x))(layers)
        return net([[layers[i][k] - 0.1 * grads[i][k] for k in (0, 1)] for i in range(len(layers))], x)
    return grad(outer)(layers)
class Curve:
    def __init__(self): self.layers = [[ones(2, 3), ones(3)], [ones(3, 1), ones(1)]]
    def __call__(self, t, x): return net(self.layers, stack([t, x], 1))
@jit
def physics(t, x): return grad(lambda c: grad(lambda x: grad(lambda z: c(t, z))(x).sum())(x).sum())(curve)
curve = Curve()
for i in range(3):
    third(ones(3)), meta([[ones(3, 3), ones(3)]], ones(2, 3)), physics(ones(4), ones(4))
"""


@bits
def test_gradients_of_gradients_are_one_program(t):
    t.write("higher.ouro", HIGHER)
    told = t.run("explain", "--mode=graph", "higher.ouro").out
    for name in ("third", "meta", "physics"):
        t.check(f"\n{name} (" in "\n" + told, told)
        t.check("version 1: compiled" in ("\n" + told).split(f"\n{name} (")[1].split("\n")[1], told)


@bits
def test_third_derivatives_of_a_net_are_one_program(t):
    """A layer is called with `*args`, the layers are a slice of a ModuleList, and no two have the same shape."""
    t.write("net.ouro", """from ouro import nn
manual_seed(1)
class Net(nn.Module):
    def __init__(self): self.layers = nn.ModuleList([nn.Linear(2, 3), nn.Linear(3, 4), nn.Linear(4, 1)])
    def forward(self, x):
        for layer in self.layers[:-1]: x = tanh(layer(x))
        return self.layers[-1](x).sum()
def bent(net, x):
    slope = grad(lambda x: net(x))
    return grad(lambda x: slope(x).sum())(x).sum()
net = Net()
g = grad(bent)(net, tensor([0.1, 0.2]))
print(g.layers[0].weight, g.layers[1].bias)
""")
    told = t.run("explain", "--mode=graph", "net.ouro").out
    t.has(told, "nothing of these is left to the interpreter")
    t.equal(t.run("--mode=graph", "net.ouro").out, t.run("--mode=eager", "net.ouro").out)


def test_after_the_first_steps_no_tensor_is_allocated(t):
    t.write("step.ouro", STEP)
    graph = t.run("run", "--mode=graph", "step.ouro").out
    eager = t.run("run", "--mode=eager", "step.ouro").out
    t.check(re.search(r"^made 0$", graph, re.M), graph)
    t.check(graph.splitlines()[:-1] == eager.splitlines()[:-1], f"{graph}\n{eager}")


@tags("jit")
def test_an_object_that_shows_its_dict_is_still_compiled(t):
    t.write("dict.ouro", '''
from ouro import jit, nn
m = nn.Linear(3, 2)
print(len(vars(m)) > 2)
@jit
def f(x): return m(x).sum()
for i in range(3): f(ones(2, 3))
''')
    told = t.run("explain", "--mode=graph", "dict.ouro").out
    t.check("version 1: compiled" in told, told)


@tags("jit")
def test_graph_mode_compiles_a_function_at_its_first_call(t):
    t.write("once.ouro", "def f(x): return (x * 2.0 + 1.0).sum()\nprint(f(ones(4)).item())\n")
    told = t.run("explain", "--mode=graph", "once.ouro").out
    t.check("version 1: compiled; made because: first call" in told and "1 call," in told, told)


@tags("jit")
def test_a_version_fits_the_next_call_when_a_loop_of_many_turns_reads_a_dict_first(t):
    t.write("turns.ouro", """
sizes = {"a": 1, "b": 2}
def f(x):
    for i in range(100):
        for k, n in list(sizes.items()): x = x + n
    return x
for _ in range(6): f(tensor([1.0, 2.0]))
""")
    told = t.run("explain", "--mode=graph", "turns.ouro").out
    t.check("version 2" not in told and "    6 calls, " in told, told)


@tags("jit")
def test_a_big_integer_is_a_constant_like_others(t):
    t.write("big.ouro", """
from ouro import jit
@jit
def f(x): return x.sum(), [10000000000000000000000000]
for i in range(2): print(f(ones(3))[1])
""")
    told = t.run("explain", "--mode=graph", "big.ouro").out
    t.check(told.startswith("[10000000000000000000000000]\n" * 2) and "version 1: compiled" in told, told)


def test_a_tensor_that_no_memory_holds_is_an_error_in_compiled_code(t):
    t.write("huge.ouro", """
from ouro import jit
@jit
def literal(x): return (zeros(10**18) + x).sum()
@jit
def beyond_64_bits(x): return (zeros(10**12, 10**12) + x).sum()
@jit
def by_its_arguments(x): return (x.reshape(-1, 1, 1, 1) + x.reshape(1, -1, 1, 1) + x.reshape(1, 1, -1, 1) + x).sum()
for f, n in ((literal, 1), (beyond_64_bits, 1), (by_its_arguments, 10000), (by_its_arguments, 100000), (by_its_arguments, 10)):
    for i in range(3):
        try:
            print(f(ones(n)).item())
        except MemoryError as e:
            print(e)
""")
    eager = t.run("--mode=eager", "huge.ouro").out
    t.check(eager.startswith("not enough memory for a tensor of shape (1000000000000000000,)") and eager.endswith("40000.0\n" * 3), eager)
    for mode in ("graph", "auto"):
        t.equal(t.run(f"--mode={mode}", "huge.ouro", timeout=20).out, eager)


@tags("jit")
def test_static_numbers_are_part_of_the_program(t):
    script = "def f(x, k): return x * k\n{decorate}\nfor k in (1.5, 2.5, 1.5): print(f(ones(2), k).tolist())\n"
    versions = {}
    for decorate in ("f = jit(f)", "f = jit(f, static='k')"):
        t.write("static.ouro", script.format(decorate=decorate))
        told = t.run("explain", "--mode=graph", "static.ouro").out
        t.check(told.startswith("[1.5, 1.5]\n[2.5, 2.5]\n[1.5, 1.5]\n"), told)
        versions[decorate] = told.count(": compiled;")
    t.equal(list(versions.values()), [1, 2])


def test_a_clipped_gradient_is_part_of_the_program(t):
    for clip in ("nn.clip_grad_norm(grads, 1.0)", "nn.clip_grad_value(grads, 0.5)", "train.clip_norm(grads, 1.0)"):
        t.write("clip.ouro", f'''
from ouro import nn, optim, train
manual_seed(0)
shared = nn.Linear(4, 4)
model = nn.Sequential(shared, nn.Tanh(), shared, nn.Linear(4, 2))
opt = optim.SGD(model, lr=0.1)
x = randn(8, 4)
@jit
def step(x):
    loss, grads = value_and_grad(lambda m: (m(x) * 9).square().mean())(model)
    {clip}
    opt.update(grads)
    return loss
for i in range(4): print(step(x).item())
''')
        told = t.run("explain", "--mode=graph", "clip.ouro").out
        part = told[told.index("\nstep ("):]
        t.check("\n  version 1: compiled; made because: first call" in part and "stays interpreted" not in part, clip + part)
        t.equal(t.run("run", "--mode=eager", "clip.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


@bits
def test_an_average_of_weights_is_part_of_the_program(t):
    for made in ("decay=0.9", "decay=0.9, warmup=True"):
        t.write("ema.ouro", f'''
from ouro import nn, optim
manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
opt, average = optim.SGD(model, lr=0.1), nn.EMA(model, {made})
x = randn(8, 4)
@jit
def step(x):
    loss, grads = value_and_grad(lambda m: (m(x) - 1).square().mean())(model)
    opt.update(grads)
    average.update()
    return loss
for i in range(4): print(step(x).item(), average.module[0].weight.sum().item(), average.updates)
''')
        told = t.run("explain", "--mode=graph", "ema.ouro").out
        part = told[told.index("\nstep ("):]
        t.check("\n  version 1: compiled; made because: first call" in part and "interpreted" not in part, made + part)
        t.equal(t.run("run", "--mode=eager", "ema.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


@bits
def test_gradients_of_parts_of_a_tensor_are_compiled(t):
    """Beside the first axis, and by split and chunk: the first token, the last step, half of the features."""
    for part in ("x[:, 0]", "x[..., -1]", "x[:, 1:, :2]", "x[:, None, ::-1]", "x.split(2, 1)[1]", "x.split([1, 4], 1)[1]", "x.chunk(2, 2)[1]"):
        t.write("part.ouro", f'''
x = (arange(60.0) - 20.0).reshape(3, 5, 4)
@jit
def f(x):
    return grad(lambda x: ({part} ** 2).sum() + x.sum())(x)
for i in range(3): print(f(x).tolist())
''')
        told = t.run("explain", "--mode=graph", "part.ouro").out
        t.check("\nf (" in told and "version 1: compiled" in told and "interpreted" not in told, part + told)
        t.equal(t.run("run", "--mode=eager", "part.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


@tags("jit")
def test_a_loss_of_probabilities_is_compiled(t):
    t.write("loss.ouro", '''
@jit
def f(x, y):
    return grad(lambda x: cross_entropy(x, y))(x)
for i in range(3): print(f(ones(2, 3), eye(3)[:2]).tolist())
''')
    told = t.run("explain", "--mode=graph", "loss.ouro").out
    t.check("version 1: compiled" in told and "interpreted" not in told, told)


def test_methods_of_lists_and_reversed_modules_are_compiled(t):
    t.write("lists.ouro", '''
from ouro import nn
layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
def f(x):
    out, names = [], ["b", "a"]
    for layer in reversed(layers):
        x = layer(x)
        out.append(x)
    out.reverse()
    names.sort(key=len, reverse=True)
    first = out[0]
    out.clear()
    return first.sum() + len(out) + len(names)
for i in range(3): print(f(ones(2, 3)).item())
def g(x, texts, i): return x * float(texts[i]) + len(texts)
texts = [str(i) for i in range(2000)]
for i in range(3): print(g(ones(2), texts, i).tolist())
''')
    told = t.run("explain", "--mode=graph", "--cache=off", "lists.ouro").out
    t.check(re.search(r"%  f \(.*\): compiled whole; 3 calls compiled\n", told), told)
    t.check(re.search(r"%  g \(.*\): compiled but for 1 operation; 3 calls compiled\n", told), told)
    t.equal(t.run("run", "--mode=eager", "lists.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])


def test_deletions_searches_and_orders_of_lists_and_dicts_are_compiled(t):
    t.write("items.ouro", '''
class Model: pass
m = Model()
m.seen, m.d = [1.0, 2.0], {"a": 1.0, "b": 2.0}
def f(m, x):
    l, d = [x, x * 2, x * 3, x * 4], {"a": x, "b": x * 2}
    del l[0], l[1:]
    y = d.pop("a") + d.pop("c", l[0]) + d.popitem()[1]
    d.clear()
    del m.d["a"]
    m.d["a"] = m.d.pop("b") + m.d.setdefault("c", 1.0)
    del m.seen[0]
    m.seen[1:] = [len(d) + 1.0, 2.0]
    m.d.update(b=3.0)
    names = ["u", "v", "u"]
    names.remove("u")
    return y * names.index("u") + names.count("v")
def g(x):
    v = [n * 2 for n in x.tolist()]
    order = sorted(range(3), key=lambda i: v[i], reverse=True)
    pairs = [(v[i], x * i, "abc"[i]) for i in range(3)]
    pairs.sort(key=lambda p: p[0])
    best = max(pairs, key=lambda p: -p[0])
    return best[1] * sorted(v)[1] + order[0] + v.index(max(v)), [p[2] for p in pairs], best[2]
for i in range(3): print(f(m, ones(2)).tolist(), m.seen, m.d, g(tensor([2.0, 0.5 * i, 0.75])))
''')
    told = t.run("explain", "--mode=graph", "--cache=off", "items.ouro").out
    for name in "fg":
        t.check(re.search(rf"%  {name} \(.*\): compiled whole; 3 calls compiled\n", told), told)
    t.equal(t.run("run", "--mode=eager", "items.ouro").out, told[:told.index("\n\ncompiled code took ") + 1])
