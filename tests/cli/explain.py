"""`ouro explain` in words and as JSON, `--strict`, `--profile`."""
import json
import os
import re

from harness.cli import bits
from harness.common import ROOT

STEP = """
from ouro import grad
def loss(w, x):
    y = (x @ w).tanh()
    print("mean", round(float(y.mean()), 2))
    return (y * y).mean()
def step(w, x):
    return w - 0.1 * grad(loss)(w, x)
def quiet(w, x):
    return (x @ w).tanh() * 2.0
def stays(x):
    import sys
    return sys._getframe(0).f_lineno, x + 1.0
w, x = ones(4, 4), ones(2, 4)
for i in range(N):
    w = step(w, x)
    q = quiet(w, x)
    stays(x)
"""


def report(t, *options, turns=6):
    t.write("step.ouro", STEP.replace("range(N)", f"range({turns})"))
    done = t.run("explain", "--json", "--cache=off", *options, "step.ouro")
    t.equal(done.out.count("\n"), 1)
    return json.loads(done.out), done.err


def test_json_is_all_of_standard_output(t):
    told, said = report(t, "--mode=graph")
    t.equal(said.count("mean"), 6)
    t.equal(told["mode"], "graph")
    functions = {f["name"]: f for f in told["functions"]}
    step, quiet, stays = functions["step"], functions["quiet"], functions["stays"]
    t.equal((step["compiled"], quiet["compiled"], stays["compiled"]), ("holes", "whole", "interpreted"))
    t.equal((step["line"], quiet["line"]), (7, 9))
    t.equal(quiet["compiled_calls"], 6)
    t.check(0 < quiet["compiled_seconds"] < told["seconds"] and 0 < quiet["share"] < 1, str(quiet))
    t.check(stays["failures"] and stays["interpreted_calls"] >= 5 and stays["interpreted_seconds"] > 0, str(stays))
    version = quiet["versions"][0]
    t.equal((version["state"], version["why"], version["calls"], version["holes"]), ("compiled", "first call", 6, []))


def test_holes_tell_their_line_and_time(t):
    told, _ = report(t, "--mode=graph")
    hole = next(h for h in told["holes"] if "print" in h["reason"])
    t.equal((hole["line"], hole["source"], hole["runs"]), (5, 'print("mean", round(float(y.mean()), 2))', 6))
    t.check(hole["seconds"] > 0, str(hole))
    times = [h["seconds"] for h in told["holes"]]
    t.equal(times, sorted(times, reverse=True))


def test_eager_has_nothing_to_tell(t):
    told, _ = report(t, "--mode=eager")
    t.equal((told["mode"], told["functions"], told["holes"]), ("eager", [], []))


def test_auto_times_what_it_compares(t):
    told, _ = report(t, "--mode=auto", turns=3000)
    quiet = next(f for f in told["functions"] if f["name"] == "quiet")
    t.check(quiet["interpreted_calls"] > 0 and quiet["interpreted_seconds"] > 0, str(quiet))
    t.check(quiet["compiled_calls"] + quiet["interpreted_calls"] > 2900, str(quiet))


def test_words(t):
    t.write("step.ouro", STEP.replace("range(N)", "range(6)"))
    told = t.run("explain", "--mode=graph", "--cache=off", "step.ouro").out
    t.check(re.search(r"^compiled code took \d+\.\d % of \d+\.\d+ s$", told, re.M), told)
    t.check(re.search(r"^  +\d+\.\d %  quiet \(\S+:9\): compiled whole; 6 calls compiled$", told, re.M), told)
    t.check(re.search(r"^  +\d+\.\d %  step \(\S+:7\): compiled but for 1 operation; 6 calls compiled$", told, re.M), told)
    t.check(re.search(r"^  +\d+\.\d %  stays \(\S+:11\): interpreted; \d+ calls$", told, re.M), told)


def test_each_reason_has_a_kind_and_most_what_to_write_instead(t):
    t.write("kinds.ouro", """
many = [i % 3 for i in range(2000)]
def by_number(x):
    return x.narrow(0, int(x[0].item()), 2) * 2.0
def by_unknown(x, i):
    return x[many[i]] + x[many[i + 1]]
def said(x):
    print("said")
    return x * 2.0
x = ones(5)
for i in range(4): by_number(x), by_unknown(x, i), said(x)
""")
    told = json.loads(t.run("explain", "--json", "--mode=graph", "--cache=off", "kinds.ouro").out)
    holes = {h["line"]: (h["kind"], "instead" in h) for h in told["holes"] if h["line"] > 2}
    t.equal(holes, {4: ("computed-number", True), 6: ("unknown-value", True), 8: ("call", False)})
    text = t.run("explain", "--mode=graph", "--cache=off", "kinds.ouro").out
    ranked = text[text.index("left to the interpreter"):].split("\n\n")[0]
    t.equal(ranked.count("instead: "), 2)  # once for each kind


def test_what_follows_from_a_hole_is_charged_to_it(t):
    t.write("slow.ouro", """
class Slow:
    def __init__(self, v): self.v = v
    def slow(self, x):
        s = 0
        for i in range(20000): s += i
        return x * self.v
many = [Slow(i % 3) for i in range(40000)]
def f(x, i):
    a = many[i]
    print("", end="")
    return a.slow(x) + 1.0
for i in range(5): f(ones(2), i)
""")
    told = json.loads(t.run("explain", "--json", "--mode=graph", "--cache=off", "slow.ouro").out)
    seconds = {h["line"]: h["seconds"] for h in told["holes"]}
    t.check(12 not in seconds and seconds[10] > 10 * seconds[11], seconds)


def test_the_document_has_every_kind_of_reason(t):
    with open(os.path.join(ROOT, "jit", "specialise", "reasons.cpp")) as f:
        rows = re.findall(r'\{R::\w+, "([^"]*)",\s*((?:"[^"]*"\s*)+)\}', f.read())
    with open(os.path.join(ROOT, "docs", "explain.md")) as f:
        told = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| ?([^|]*?) ?\|$", f.read(), re.M)
    t.check(len(rows) > 20, rows)
    t.equal(told, [(name, "".join(re.findall(r'"([^"]*)"', instead))) for name, instead in rows])


def test_strict(t):
    t.write("whole.ouro", "def f(x):\n    return x * 2.0\nfor i in range(4):\n    y = f(ones(3))\nprint(y)\n")
    done = t.run("run", "--strict", "--mode=graph", "whole.ouro")
    t.equal((done.out, done.err), ("tensor([2., 2., 2.])\n", ""))
    t.write("step.ouro", STEP.replace("range(N)", "range(6)"))
    done = t.run("run", "--strict", "--mode=graph", "step.ouro", status=1)
    t.has(done.err, "strict: these stay with the interpreter\n")
    t.has(done.err, "step.ouro:5: call of print")
    t.write("exits.ouro", STEP.replace("range(N)", "range(6)") + "raise SystemExit(7)\n")
    t.run("run", "--strict", "--mode=graph", "exits.ouro", status=7)


def test_profile(t):
    t.write("step.ouro", STEP.replace("range(N)", "range(6)") + "total = 0\nfor i in range(300000):\n    total += i * i\n")
    done = t.run("run", "--profile=where.json", "--mode=graph", "step.ouro")
    t.check(re.search(r"^ +\d+\.\d %  +\d+\.\d+ s  .*step\.ouro:2[01]  (for i in range\(300000\)|total \+= i)", done.err, re.M), done.err)
    t.check(re.search(r"^ +\d+\.\d+ s +6  matmul of (quiet|step), ", done.err, re.M), done.err)
    events = json.load(open(t.path("where.json")))["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    t.check({"compiled", "interpreted", "specialise", "compile", "operation"} <= {e["cat"] for e in spans}, str({e["cat"] for e in spans}))
    t.equal(len([e for e in spans if e["name"] == "quiet" and e["cat"] == "compiled"]), 6)
    t.check(all(e["ts"] >= 0 and e["dur"] >= 0 for e in spans), "a time is negative")
    inner = next(e for e in spans if e["name"] == "matmul")
    t.check(any(e["cat"] == "compiled" and e["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= e["ts"] + e["dur"] for e in spans), "an operation outside of a call")


def test_a_profile_of_wrong_scripts(t):
    t.write("raises.ouro", "x = ones(3)\nraise ValueError('no')\n")
    done = t.run("run", "--profile", "raises.ouro", status=1)
    t.has(done.err, "ValueError: no")
    t.has(done.err, "trace: trace.json")
    done = t.run("run", "--profile=no/such/folder.json", "-c", "print(1)", status=1)
    t.has(done.err, "cannot write the trace 'no/such/folder.json': No such file or directory")
    done = t.suite.execute(["bash", "-c", f"{t.ouro} explain --json -c 'print(1)' > /dev/full"], cwd=t.folder)
    t.equal((done.status, done.err), (1, "1\nouro: cannot write the report: No space left on device\n"))
    done = t.run("run", "--json", "raises.ouro", status=2)
    t.has(done.err, "--json is an option of explain")


@bits
def test_what_is_slower_than_the_interpreter_is_dropped_and_remembered(t):
    t.write("small.ouro", """import time
@jit
def f(n, a, b, c, d):
    return n + 1, [a, b], {"c": c, "d": d}
n = 0
for i in range(20000):
    n = f(n, i, i + 1, i + 2, i + 3)[0]
    if n % 1000 == 0:          # the compiler has its time, however busy the machine is
        time.sleep(0.15)
print(n)
""")
    # Not 0: then the script's loop would be translated again and again between the first calls, which have cold memory.
    env = {"OURO_CACHE": "on", "XDG_CACHE_HOME": t.path("cache"), "OURO_COMPILE_AFTER": "1"}
    reports = []
    for _ in range(2):
        done = t.run("explain", "--json", "--mode=auto", "small.ouro", env=env)
        t.equal(done.err, "20000\n")
        reports.append(json.loads(done.out)["functions"][0])
    first, second = reports
    t.check(first["versions"][-1]["slower_than_interpreter"] and first["interpreted_calls"] > 10000, str(first))
    t.equal(second["versions"][-1]["calls"], 0)   # (the first one, for n = 0, may have had its call)
    t.equal(second["versions"][-1]["error"], "it was slower than the interpreter in an earlier run")


def test_the_operation_is_named_that_keeps_the_others_from_being_left_in_place(t):
    t.write("boxes.ouro", """from ouro import jit
class Box:
    def __init__(self, v):
        self.v = v
@jit
def f(x, lengths):
    ends = [int(i) for i in lengths.cumsum(0).tolist()]
    seen = set(ends)
    y = x * len(seen)
    boxes = sorted([Box(i) for i in seen], key=lambda b: b.v)
    return y + boxes[0].v
f(ones(3), tensor([1, 2, 3]))
""")
    told = json.loads(t.run("explain", "--json", "--mode=graph", "boxes.ouro").out)["functions"][0]
    t.equal([h["line"] for h in told["failures"]], [10])


def test_a_loop_that_data_may_end_is_specialised_in_few_turns(t):
    t.write("ends.ouro", """
w1, w2 = randn(6, 6), randn(6, 2)
net = lambda x: (tanh(tanh(x @ w1) @ w1) @ w2).square().sum()

class Counted:
    def __init__(self): self.calls = 0
    def __call__(self, x):
        self.calls += 1
        return value_and_grad(net)(x)

counted, other = Counted(), Counted()

def evaluate(x):
    return other(x)

def search(x, most):
    low, high, step = 0.0, 1e9, 1.0
    for _ in range(most):
        v, g = counted(x - step * 0.1)
        if v.item() > 0.5: high = step
        elif g.sum().item() < -10.0: low = step
        else: break
        step = 2 * step if high == 1e9 else 0.5 * (low + high)
    return v

def rows(x):
    return stack([grad(lambda u: (grad(net)(u) * e).sum())(x) for e in eye(6)])

def newton(x, most):
    for i in range(most):
        x = x - 0.01 * (rows(x) @ x)
        if x.square().sum().item() < 1e-3: return x, i
    return x, most

evaluate(ones(6)), rows(ones(6)), search(ones(6), 12), newton(ones(6), 25)
print(counted.calls)
""")
    told = json.loads(t.run("explain", "--json", "--mode=graph", "--cache=off", "ends.ouro").out)
    steps = {f["name"]: f["versions"][0]["specialise_steps"] for f in told["functions"] if f["versions"]}
    # The turn that tells that data may end it, and those that find what its head has to be: not each of its turns.
    t.check(steps["newton"] < 3.5 * steps["rows"], steps)
    t.check(steps["search"] < 7 * steps["evaluate"], steps)


def test_plain_code_is_told(t):
    t.write("plain.py", """
def collatz(n):
    longest = 0
    for i in range(1, n):
        k, steps = i, 1
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        longest = max(longest, steps)
    return longest

def words(n):
    out = {}
    for i in range(n):
        text = str(i).replace("1", "one").strip()
        out[text[:2]] = out.get(text[:2], "") + text.upper()[:1]
    return len(out)

print(collatz(60000), words(60000))
""")
    as_users = {"OURO_COMPILE_AFTER": "100"}
    told = json.loads(t.run("explain", "--json", "plain.py", env=as_users).out)["plain"]
    by_name = {p["name"]: p for p in told if p["loop"]}
    numbers, texts = by_name["collatz"], by_name["words"]
    t.check(numbers["state"] in ("compiled", "still compiling") and numbers["native"] > 5 and numbers["steps"] == 0, numbers)
    t.check(texts["state"].startswith("left to the interpreter") and texts["steps"] > 3, texts)
    t.check(texts["step_lines"][0]["source"].startswith(("text =", "out[")), texts)
    text = t.run("explain", "plain.py", env=as_users).out
    t.check("plain code:\n" in text and "a loop of collatz (" in text, text)


def test_a_loop_with_a_schedule_stays_a_loop(t):
    t.write("schedule.ouro", """
from ouro import nn, optim
model = nn.Linear(6, 3)
opt = optim.SGD(model, lr=1e-2)
schedule = optim.lr_scheduler.CosineAnnealingLR(opt, 300)

def train(n, x, y):
    for _ in range(n):
        loss, g = value_and_grad(lambda m: cross_entropy(m(x), y))(model)
        opt.update(g)
        schedule.step()
    return loss

train(80, randn(20, 6), randint(0, 3, (20,)))
""")
    told = json.loads(t.run("explain", "--json", "--mode=graph", "--cache=off", "schedule.ouro").out)
    train = next(f for f in told["functions"] if f["name"] == "train")["versions"][0]
    t.check(train["operations"] < 400, train["operations"])  # one of its turns has about 80


def test_a_model_whose_dict_was_asked_for_is_compiled(t):
    t.write("cached.ouro", """
from functools import cached_property
from ouro import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
    @cached_property
    def mask(self): return tril(ones(4, 4))
    def forward(self, x): return self.f(x) * self.mask
net, x = Net(), ones(4, 4)
for i in range(20):
    loss, g = value_and_grad(lambda n: n(x).sum())(net)
""")
    told = json.loads(t.run("explain", "--json", "--mode=auto", "--cache=off", "cached.ouro").out)
    t.check(any("value_and_grad" in f["name"] and f["versions"] for f in told["functions"]), told["functions"])


def test_a_loop_that_logs_its_loss_stays_a_loop(t):
    t.write("log.ouro", """
class Run:
    def __init__(self): self.losses = []
def fit(w, x, n, run):
    log, rows = [], {"loss": []}
    for k in range(n):
        loss, g = value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
        w = w - 0.1 * g
        log.append((k, loss.item()))
        rows["loss"].append({"step": k, "loss": loss.item()})
        run.losses += [loss.item()]
    return log, rows

fit(randn(4), randn(8, 4), 200, Run())
""")
    told = json.loads(t.run("explain", "--json", "--mode=graph", "--cache=off", "log.ouro").out)
    fit = next(f for f in told["functions"] if f["name"] == "fit")["versions"][0]
    t.check(fit["operations"] < 100, fit["operations"])
    t.check(not fit["holes"], fit["holes"])


def test_a_number_that_decides_structure_is_found_in_one_whole_specialisation(t):
    t.write("structure.ouro", """
class Model:
    def __init__(self): self.rate, self.n, self.m = 0.5, 2, 1
model = Model()
def dynamics(x, u): return cat([x + 0.1 * u.sum(), tanh(u)])
def rows(f, x): return stack([grad(lambda z: f(z)[i])(x) for i in range(f(x).shape[0])])
def step(x):
    for i in range(10):
        F = rows(lambda z: dynamics(z[:model.n], z[model.n:]), x)
        H = F @ F.T + model.rate * eye(model.n + model.m)
        x = x + 0.1 * H[:, model.n]
        if x.square().sum().item() > 1e6: return None
    return x
for i in range(2):
    step(ones(model.n + model.m))
    model.rate, model.n = model.rate * 0.9, 3
""")
    told = json.loads(t.run("explain", "--json", "--mode=graph", "--cache=off", "structure.ouro").out)
    first, second = next(f for f in told["functions"] if f["name"] == "step")["versions"]
    each = [v["specialise_steps"] / v["operations"] for v in (first, second)]
    t.check(each[1] < 1.5 * each[0], each)


def test_gradients_of_loops_that_end_within_a_turn_are_compiled_whole(t):
    t.write("within.ouro", """
def trace(c, o):
    t = zeros(4)
    for i in range(24):
        d = o * t + c
        moving = (d < 3.0) & (t < 6.0)
        if not moving.any(): break
        t = where(moving, t + 0.3 * d, t)
    return t, i

def together(c):
    total = 0.0
    for o in (1.0, 2.0, 3.0):
        t, turns = trace(c, o)
        total = total + (t * c).sum() + (t.detach() * c).mean()
    return total

def apart(c):
    total = 0.0
    for o in (1.0, 2.0): total = total + (trace(c, o)[0].detach() * c).sum()
    return total

for f in (together, apart): print(grad(f)(ones(4)).sum().item() > 0)
""")
    t.equal(t.run("run", "--strict", "--mode=graph", "within.ouro").out, "True\nTrue\n")


def test_numbers_of_a_list_stay_data_when_its_length_changes(t):
    """For the third length the list itself is tried as data. Where that is worse, the numbers in it were constants again."""
    t.write("batches.ouro", """
import random
random.seed(1)
w = randn(4)
def loss(w, batch):
    s, a, r = stack([b[0] for b in batch]), tensor([b[1] for b in batch]), tensor([b[2] for b in batch])
    return ((s * w).gather(1, a[:, None]).squeeze(1) - r).square().mean()
for n in (3, 3, 3, 5, 5, 5, 4, 4, 4, 6, 6, 6):
    grad(loss)(w, [(randn(4), random.randrange(4), random.random()) for _ in range(n)])
""")
    told = json.loads(t.run("explain", "--json", "--mode=graph", "--cache=off", "batches.ouro").out)
    why = [v["why"] for v in next(f for f in told["functions"] if f["name"] == "grad(loss)")["versions"]]
    t.equal(why, ["first call", "args[1][0][1] changed"] + ["args[1] changed"] * 3)
