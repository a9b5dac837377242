"""The mode auto lets a script wait for the specialiser only as long as that is worth it (jit/versions/pauses.h)."""
import json

from harness.cli import bits

# A step whose specialisation takes much longer than its call: a long chain of small layers.
SCRIPT = """
import time
from ouro import jit, nn, value_and_grad

class Chain(nn.Module):
    def __init__(self, depth):
        self.w = [nn.Parameter(randn(4, 4) * 0.1) for _ in range(depth)]

    def forward(self, x):
        for w in self.w:
            x = tanh(x @ w) + x
        return x

{mark}
def step(m, x):
    loss, grads = value_and_grad(lambda m: (m(x) ** 2).mean())(m)
    return loss, grads

m, x = Chain({depth}), randn(8, 4)
begin = time.time()
while time.time() - begin < {seconds}:
    step(m, x)
"""


def run(t, env=None, **how):
    """Milliseconds that the script waited for the specialiser, by function, and those of the whole run."""
    trace = t.path("trace.json")
    t.write("script.ouro", SCRIPT.format(**how))
    t.run("run", f"--profile={trace}", "script.ouro",
          env={"OURO_COMPILE_AFTER": "100", "OURO_CHECK_PLANS": "0", **(env or {})})
    with open(trace) as f:
        events = json.load(f)["traceEvents"]
    spans = [e for e in events if e.get("cat") == "specialise"]
    ends = [e["ts"] + e.get("dur", 0) for e in events if "ts" in e]
    begins = [e["ts"] for e in events if "ts" in e]
    return [(e["name"], e["dur"] / 1e3) for e in spans], (max(ends, default=0) - min(begins, default=0)) / 1e3


@bits
def test_a_short_script_does_not_wait_for_large_steps(t):
    pauses, whole = run(t, mark="", depth=600, seconds=0.5)
    assert sum(ms for _, ms in pauses) <= 0.06 * whole + 10, (pauses, whole)


@bits
def test_a_marked_step_is_specialised_at_its_first_call(t):
    pauses, whole = run(t, mark="@jit", depth=50, seconds=0.3)
    assert any(name == "step" for name, _ in pauses), (pauses, whole)


@bits
def test_a_small_step_is_specialised_soon(t):
    pauses, whole = run(t, mark="", depth=3, seconds=2.5)
    assert pauses, whole


@bits
def test_a_large_step_is_specialised_in_slices(t):
    pauses, whole = run(t, mark="", depth=60, seconds=3)
    of_step = [ms for name, ms in pauses if name == "step"]
    assert len(of_step) > 5 and sorted(of_step)[len(of_step) // 2] < 2, (pauses, whole)


# What a step reads changes between two slices of its specialisation: a number, the length of a list, the keys of a dict, an
# object and its attributes, a global, the class of a layer.
CHANGES = """
from ouro import nn, value_and_grad

class Scale:
    def __init__(self, by):
        self.by = by
        self.seen = []

    def __call__(self, x):
        return x * self.by

class Shift(Scale):
    def __call__(self, x):
        return x + self.by

class Net(nn.Module):
    def __init__(self):
        self.layers = [nn.Linear(4, 4) for _ in range(40)]
        self.ends = {"first": Scale(0.5)}
        self.last = Scale(2.0)
        self.count = 0
        self.log = []

    def forward(self, x):
        for layer in self.layers:
            x = tanh(layer(x)) + factor * x
        for end in self.ends.values():
            x = end(x)
        self.count += 1
        return self.last(x) * (1.0 + 0.125 * (self.count % 2))

def step(net, x):
    loss, grads = value_and_grad(lambda net: (net(x) ** 2).mean())(net)
    for layer, g in zip(net.layers, grads.layers):
        layer.weight = layer.weight - 0.01 * g.weight
    net.log.append(loss.item())
    return loss

def shorter(net):
    kept = net.layers
    net.layers = kept[:20]
    kept.clear()

def with_dict(net):
    old = net.last
    net.last = Scale(1.5)
    old.__dict__["by"] = -1.0

manual_seed(0)
factor = 1.0
net, x = Net(), randn(8, 4)
changes = {
    12: lambda: net.ends.update(second=Shift(0.25)),
    15: lambda: setattr(net, "last", Shift(-0.5)),
    20: lambda: net.ends.pop("first"),
    24: lambda: shorter(net),
    28: lambda: with_dict(net),
    31: lambda: net.layers.append(nn.Linear(4, 4)),
    33: lambda: setattr(net.last, "more", 3),
}
for i in range(60):
    if i in changes:
        changes[i]()
    if i % 7 == 0:
        factor = 1.0 - 0.01 * i
    print(i, step(net, x).item(), net.count, len(net.log))
"""


@bits
def test_what_was_worth_it_is_specialised_at_once_in_the_next_run(t):
    env = {"OURO_CACHE": "on", "XDG_CACHE_HOME": t.path("cache")}
    how = {"mark": "", "depth": 30, "seconds": 3}
    first, _ = run(t, env, **how)
    t.check(len(first) > 3, f"in slices: {first}")
    second, _ = run(t, env, **how)
    slice_ = sorted(ms for _, ms in first)[len(first) // 2]
    t.check(second[0][0] == "step" and second[0][1] > 2.5 * slice_, f"in one piece: {second} beside {first}")
    # Another program learns by itself.
    other, _ = run(t, env, mark="", depth=31, seconds=3)
    t.check(len(other) > 3, f"in slices: {other}")


def test_another_plan_while_a_version_is_being_compiled_takes_the_same_program(t):
    t.write("other_plan.ouro", """from ouro import demand, jit

@jit
def f(x):
    for i in range(30):
        x = tanh(x * (1.0 + i)) + sin(x) * erf(x + i)
    return x

x = ones(4, 4)
f(x)
demand.set(precision="bf16")
f(x)
""")
    told = t.run("explain", "--json", "--mode=auto", "other_plan.ouro", env={"OURO_COMPILE_AFTER": "0", "OURO_CACHE": "off"})
    why = [v["why"] for v in json.loads(told.out)["functions"][0]["versions"]]
    t.equal((len(why), why[0], why[1].startswith("asked for")), (2, "first call", True))


def test_what_the_script_changes_between_two_slices_is_seen(t):
    t.write("changes.ouro", CHANGES)
    eager = t.run("--mode=eager", "changes.ouro").out
    t.check(eager.count("\n") == 60, eager)
    sliced = t.run("--mode=auto", "changes.ouro", env={"OURO_STRESS_SLICES": "1", "OURO_CACHE": "off"}).out
    t.equal(sliced, eager)


# The step is never compiled to its end: what it held goes when nobody else has it.
ENDS = """
from ouro import nn, optim, value_and_grad
from ouro.native.demand import instances

class Told:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("end of", self.name)

class Net(nn.Module):
    def __init__(self):
        self.layers = [nn.Linear(4, 4) for _ in range(40)]

    def forward(self, x):
        for layer in self.layers:
            x = tanh(layer(x)) + x
        return x

def train(name, told):
    net = Net()
    opt = optim.SGD(net, lr=0.01)
    if told:
        net.told = Told(name)
    file = open(name + ".txt", "w") if name == "c" else None

    def step(x):
        loss, grads = value_and_grad(lambda net: (net(x) ** 2).mean())(net)
        opt.update(grads)
        if file:
            file.write("x")
        return loss
    for i in range(4):
        step(ones(2, 4))

for name in "abc":
    train(name, name == "a")
    print(name, "left", len(instances(Net)), len(instances(optim.SGD)))
print(open("c.txt").read())
"""


def test_what_a_slice_has_seen_does_not_live_longer(t):
    t.write("ends.ouro", ENDS)
    eager = t.run("--mode=eager", "ends.ouro").out
    t.check("end of a\na left 0 0" in eager and eager.endswith("xxxx\n"), eager)
    sliced = t.run("--mode=auto", "ends.ouro", env={"OURO_STRESS_SLICES": "1", "OURO_CACHE": "off"}).out
    t.equal(sliced, eager)


# It ends before there is room for the specialisation of its step.
SHORT = """
from ouro import nn, value_and_grad

class Chain(nn.Module):
    def __init__(self, depth):
        self.w = [nn.Parameter(randn(4, 4) * 0.1) for _ in range(depth)]

    def forward(self, x):
        for w in self.w:
            x = tanh(x @ w) + x
        return x

def step(m, x):
    return value_and_grad(lambda m: (m(x) ** 2).mean())(m)

manual_seed(0)
m, x = Chain(300), randn(8, 4)
for k in range(50):
    loss, grads = step(m, x)
print(loss.item())
"""


@bits
def test_a_short_script_that_is_run_again_and_again_is_compiled(t):
    t.write("short.ouro", SHORT)
    env = {"OURO_COMPILE_AFTER": "100", "OURO_CHECK_PLANS": "0", "OURO_CACHE": "on", "XDG_CACHE_HOME": t.path("cache")}
    expected = t.run("--mode=eager", "short.ouro").out
    entries = []
    for _ in range(12):  # the compiling thread may have no core
        t.equal(t.run("short.ouro", env=env).out, expected)
        entries.append(int(t.run("cache", env=env).out.split("entries")[1].split()[0]))
        if entries[-1]:
            break
    t.check(entries[-1] > 0, f"nothing is compiled in {len(entries)} runs")
