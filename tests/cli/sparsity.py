"""The demand `sparsity` from outside, before there is anything to prune, and while another version of the step is compiled (docs/demand.md)."""
import json
import os

from _training import MODEL

RUNNING = MODEL + '''
import time
from ouro import demand

def zeros():
    return f"{sparsity(model.c.weight).item():.3f} {sparsity(model.a.weight).item():.3f} {sparsity(model.b.weight).item():.3f}"

print("ready", flush=True)
seen = None
while True:
    step(x, y)
    if zeros() != seen:
        seen = zeros()
        print(seen, flush=True)
    if demand.report()["asked"].get("batch"):
        break
    time.sleep(0.001)
step(x, y)
print(demand.report()["targets"]["sparsity"]["met"], "sparsity" in demand.report()["measures"]["metrics"])
'''


def until_zeros(p, c, a, b):
    """Reads what the program prints until so much of each weight, at least, is zero; of None next to nothing."""
    for line in p.stdout:
        if all(z < 0.4 if least is None else z >= least for z, least in zip(map(float, line.split()), (c, a, b))):
            return True
    return False


def test_ctl_prunes_a_running_program(t):
    t.write("running.ouro", RUNNING)
    env = {"XDG_RUNTIME_DIR": t.path("runtime")}
    os.makedirs(env["XDG_RUNTIME_DIR"], mode=0o700)
    p = t.start("--threads=2", "running.ouro", env=env)
    pid = str(p.pid)
    try:
        t.equal(p.stdout.readline(), "ready\n")
        t.check(until_zeros(p, None, None, None), "it does not begin without zeros")
        t.equal(t.run("ctl", pid, "set", "sparsity=0.9", "of=a", env=env).out, "")
        t.check(until_zeros(p, None, 0.9, None), "0.9 of a")
        t.run("ctl", pid, "set", "sparsity=0.5,0.75:b", env=env)
        t.check(until_zeros(p, 0.5, 0.5, 0.75), "0.5 of all, and 0.75 of b")
        state = json.loads(t.run("ctl", pid, "get", "--json", env=env).out)
        t.equal(state["targets"]["sparsity"]["measured"], state["sensors"]["zeros"])
        t.equal(state["asked"]["sparsity"], {"by": "ctl", "value": "0.5,0.75:b"})
        t.run("ctl", pid, "set", "sparsity=0.9", "of=zz*", env=env)
        t.check(until_zeros(p, None, None, None), "weights do not grow again")
        state = json.loads(t.run("ctl", pid, "get", "--json", env=env).out)
        t.equal(state["targets"]["sparsity"]["why"], "no weight is called 'zz*'; there are: c.weight, a.weight, b.weight")
        t.has(t.run("ctl", pid, "get", env=env).out, "cannot be met, because no weight is called")
        t.has(t.run("ctl", pid, "set", "sparsity=1.5", env=env, status=1).err, "sparsity is a share from 0 to below 1")
        t.run("ctl", pid, "set", "sparsity=0.5", "batch=1", env=env)
        out, _ = p.communicate(timeout=60)
        t.equal(out.splitlines()[-1], "True True")
    finally:
        p.kill()


def test_what_is_trained_later_is_pruned_too_and_a_module_without_an_optimizer(t):
    t.write("later.ouro", '''
from ouro import demand
demand.set(sparsity=0.8)
print(demand.report()["targets"]["sparsity"]["why"])
''' + MODEL + '''
print(round(sparsity(model.a.weight).item(), 2), demand.report()["targets"]["sparsity"]["met"])
with demand(sparsity=0):
    for i in range(3):
        step(x, y)
alone = nn.Linear(20, 30)
with demand(sparsity=0.9, of=alone):
    print(round(sparsity(alone.weight).item(), 2), alone.pattern is not None, demand.report()["targets"]["sparsity"]["target"])
print(alone.pattern is None, demand.report()["asked"]["sparsity"][0])
for i in range(3):
    print(f"{step(x, y).item():.9g}", round(sparsity(model.a.weight).item(), 2))
''')
    outs = [t.run(f"--mode={mode}", "later.ouro").out for mode in ("eager", "graph", "auto")]
    t.equal(outs[0].splitlines()[:4], ["no optimizer moves a weight, and no module was named", "0.8 True", "0.9 True 0.9", "True 0.8"])
    t.equal(outs[1], outs[0])
    t.equal(outs[2], outs[0])


def test_a_step_pruned_in_blocks_has_few_versions(t):
    t.write("blocks.ouro", '''
from ouro import nn, optim, jit, value_and_grad, demand
manual_seed(0)
model = nn.Sequential(nn.Linear(60, 50), nn.ReLU(), nn.Linear(50, 10))
opt = optim.Adam(model, lr=1e-3)

@jit
def step(x, y):
    loss, grads = value_and_grad(lambda m: cross_entropy(m(x), y))(model)
    opt.update(grads)
    return loss

x, y = randn(64, 60), randint(0, 10, (64,))
for amount in (None, 0.8, 0.85, 0.9, None, 0.95, 0.85):
    demand.set(sparsity=amount, block=None if amount is None else (4, 4))
    for i in range(3):
        loss = step(x, y)
    print(f"{loss.item():.9g}", round(sparsity(model[0].weight).item(), 2), model[0].pattern is not None)
''')
    told = t.run("explain", "--mode=graph", "blocks.ouro").out
    out = told[:told.index("\n\ncompiled code took ") + 1]
    t.equal([line.split()[2] for line in out.splitlines()], ["False", "True", "True", "True", "False", "True", "True"])
    # dense, the sizes of the first pattern, sizes that are symbols, and a size of 1 or 0 if there is one
    t.check(told.count(": compiled;") <= 4, told)
    t.equal(t.run("--mode=eager", "blocks.ouro").out, out)
