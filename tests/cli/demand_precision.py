"""The error contract of a lower precision, seen beside the steps that run (docs/demand.md)."""
from _training import MODEL

WATCH = MODEL + '''
import sys
from ouro import demand

def run(steps):
    for i in range(steps):
        loss = step(x, y)
    r = demand.report()
    return r["targets"].get("error"), r["running"]["precision"], [d["value"] for d in r["decisions"] if d["response"] == "precision"]
'''


def test_a_contract_that_bf16_keeps_leaves_it_and_one_that_it_breaks_steps_back(t):
    t.write("kept.ouro", WATCH + '''
demand.set(precision="bf16", error=1e-1)
target, precision, taken = run(60)
print(0 < target["measured"] < 1e-1, target["met"], precision, taken)
demand.set(error=1e-9)
target, precision, taken = run(60)
print(target["measured"], target["met"], precision, taken)
demand.set(error=1e-1)      # a wide one again: enough samples in a row bring bf16 back
target, precision, taken = run(1500)
print(0 < target["measured"] < 1e-1, precision, taken)
demand.set(error=1e-9, precision="f32")
target, precision, taken = run(20)
print(precision, taken)
demand.set(error=None, precision="bf16")
target, precision, taken = run(20)
print(target, precision, len(demand.report()["decisions"]))
''')
    t.equal(t.run("--mode=graph", "kept.ouro", timeout=120).out,
            "True True bf16 []\n0.0 True f32 ['f32']\nTrue bf16 ['f32', 'bf16']\nf32 ['f32', 'bf16']\nNone bf16 2\n")


def test_a_shadow_run_changes_no_bit_of_the_run(t):
    t.write("same.ouro", MODEL + '''
import sys
from ouro import demand
drop = nn.Dropout(0.2)
@jit
def noisy(x, y):
    loss, grads = value_and_grad(lambda m: cross_entropy(m(drop(x)), y))(model)
    opt.update(grads)
    return loss
demand.set(precision="bf16")
if len(sys.argv) > 1:
    demand.set(error=0.5)
import time
for i in range(120):
    loss = noisy(x, y)
    if i % 10 == 9:
        print(f"{loss.item():.9g}")
        time.sleep(0.1)     # the version for the other precision is compiled meanwhile
print(len(sys.argv) == 1 or demand.report()["targets"]["error"]["measured"] > 0)
''')
    t.equal(t.run("--mode=graph", "same.ouro", "watched").out, t.run("--mode=graph", "same.ouro").out)


def test_what_cannot_be_measured_is_told(t):
    t.write("told.ouro", WATCH + '''
demand.set(precision="bf16", error=1e-2)
print(demand.report()["targets"]["error"]["why"])
for i in range(3):
    with demand.step():
        step(x, y)
print(demand.report()["targets"]["error"]["why"], demand.report()["targets"]["error"]["measured"])
try:
    demand.set(error=0)
except ValueError as e:
    print(e)
''')
    t.equal(t.run("--mode=eager", "told.ouro").out, '''no step has ended since it was asked for; a step is a call of a compiled function that changes a model or something else that it is given, or a block `with demand.step():`
no compiled step has run in both precisions yet, without other effects, and returned numbers None
error is a number above 0, such as 1e-2, or 'auto', not '0'
''')


def test_a_contract_alone_permits_bf16_for_a_time_that_is_missed(t):
    t.write("time.ouro", WATCH + '''
demand.set(step_time="1us", error=0.5)
run(80)
r = demand.report()
tried = [(d["goal"], d["value"]) for d in r["decisions"] if d["response"] == "precision"]
print(("step_time", "bf16") in tried, r["targets"]["step_time"]["met"], bool(r["targets"]["step_time"]["why"]))
demand.set(step_time=None)
run(80)
print(demand.report()["running"]["precision"])
''')
    t.equal(t.run("--mode=graph", "time.ouro", timeout=120).out, "True False True\nf32\n")
