"""The demand and the response `optimizer`: another one takes over between two steps (docs/demand.md)."""
import json
import os
import signal
import time

from harness.cli import tags

SET_UP = '''
from ouro import demand, jit, nn, optim, value_and_grad
manual_seed(0)
model = nn.Sequential(%s)
opt = demand.optimizer(adam=lambda: optim.Adam(model, lr=1e-3), momentum=lambda: optim.SGD(model, lr=0.05, momentum=0.9), sgd=lambda: optim.SGD(model, lr=0.05))

@jit
def step(x, y):
    loss, grads = value_and_grad(lambda m: cross_entropy(m(x), y))(model)
    opt.update(grads)
    return loss

def train(n):
    for k in range(n):
        loss = step(x, y)
    return loss.item()

def train_until(done):
    # The compiling thread may have no core on a busy machine: as long as what comes is not there, further steps.
    train(30)
    for k in range(100):
        if done():
            return True
        train(10)
    return False

def met():
    return demand.report()["targets"]["memory"]["met"]
'''

# Much state beside few values.
WIDE = SET_UP % "nn.Linear(20, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)" + "x, y = randn(64, 20), randint(0, 10, (64,))\n"
# Many values beside little state.
DEEP = SET_UP % ("*[layer for k in range(10) for layer in (nn.Linear(32, 32), nn.Tanh())], nn.Linear(32, 10)") + "x, y = randn(4096, 32), randint(0, 10, (4096,))\n"


@tags("jit")
def test_an_optimizer_of_smaller_state_is_taken_for_memory_where_it_is_allowed(t):
    t.write("wide.ouro", WIDE + '''
train(6)
m = demand.report()["measures"]["memory"]
demand.set(memory=m - 1500000)
print(train_until(lambda: "cannot" in str(demand.report()["log"])), opt.name)
demand.set(optimizer="auto")                    # now it may
train_until(met)
report = demand.report()
print(opt.name, met(), [(d["goal"], d["value"]) for d in report["decisions"] if d["response"] == "optimizer"])
tried = [c for c in report["candidates"] if c["name"] == "optimizer"][0]
promised, came = m - tried["predicted"]["memory"], m - tried["measured"]["memory"]
print(tried["taken"], 0.8 < came / promised < 1.2)
demand.set(memory=m - 3500000)
train_until(met)
print(opt.name, met())
demand.set(memory="1M")
print(train_until(lambda: "the optimizer is sgd, which holds least" in demand.report()["targets"]["memory"]["why"]), opt.name)
demand.set(memory=None)                         # there is room for the preferred one
print(train_until(lambda: abs(demand.report()["measures"]["memory"] - m) < 200000), opt.name)
demand.set(memory=m - 1500000)
train_until(met)
print(opt.name)
demand.set(optimizer=None)
print(opt.name)
''')
    out = t.run("--mode=graph", "wide.ouro").out.splitlines()
    t.equal(out, ["True adam", "momentum True [('memory', 'optimizer=momentum')]", "True True", "sgd True", "True sgd", "True adam", "momentum", "adam"])


@tags("jit")
def test_what_changes_no_result_is_taken_first(t):
    t.write("deep.ouro", DEEP + '''
demand.set(optimizer="auto")
train(6)
demand.set(memory="75%")
train_until(met)
print(opt.name, met(), [d["response"] for d in demand.report()["decisions"]])
''')
    t.equal(t.run("--mode=graph", "deep.ouro").out, "adam True ['recompute']\n")


def test_a_floor_brings_the_optimizer_before_back(t):
    t.write("floor.ouro", WIDE + '''
def run(n):
    for k in range(n):
        with demand.step():
            train(1)
        demand.metric("accuracy", 1.0 if opt.name == "adam" else good)
    return opt.name

good = 0.9
demand.set(optimizer="auto", accuracy=0.8)
run(6)
m = demand.report()["measures"]["memory"] - 500000
demand.set(memory=m)
print(run(30), demand.report()["targets"]["memory"]["met"])
demand.set(accuracy=0.95)                       # memory is the main goal: it was asked for first
print(run(30))
demand.set(memory=None)
print(run(30))
demand.set(memory=m)                            # the floor is the main goal now
print(run(60), demand.report()["targets"]["accuracy"]["met"], demand.report()["targets"]["memory"]["met"])
changes = len(demand.report()["decisions"])
print(run(60), len(demand.report()["decisions"]) - changes)
''')
    out = t.run("--mode=eager", "floor.ouro").out.splitlines()
    t.equal(out, ["momentum True", "momentum", "adam", "adam True False", "adam 0"])


@tags("jit", "threads")
def test_the_optimizer_is_switched_from_outside(t):
    runtime = t.path("runtime")
    os.makedirs(runtime, mode=0o700, exist_ok=True)
    env = {"XDG_RUNTIME_DIR": runtime}
    t.write("outside.ouro", WIDE + '''
print("ready", flush=True)
last = None
while True:
    train(1)
    if opt.name != last:
        last = opt.name
        print(last, flush=True)
''')
    for mode in ("eager", "auto"):
        process = t.start(f"--mode={mode}", "outside.ouro", env=env)
        pid = str(process.pid)
        try:
            t.equal([process.stdout.readline() for k in range(2)], ["ready\n", "adam\n"])
            t.run("ctl", pid, "set", "optimizer=sgd", env=env)
            t.equal(process.stdout.readline(), "sgd\n")
            t.equal(t.run("ctl", pid, "set", "optimizer=lion", env=env, status=1).err, "ouro: optimizer is adam, momentum, sgd, or 'auto', not 'lion'\n")
            t.equal(json.loads(t.run("ctl", pid, "get", "--json", env=env).out)["choices"]["optimizer"]["value"], "sgd")
            t.run("ctl", pid, "set", "optimizer=none", env=env)
            t.equal(process.stdout.readline(), "adam\n")
            t.equal(t.run("attach", pid, "-c", "demand.set(optimizer='momentum'); print(opt.name)", env=env).out, "momentum\n")
            t.equal(process.stdout.readline(), "momentum\n")
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
