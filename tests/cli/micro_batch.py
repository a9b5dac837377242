"""Micro-batches: training steps that work on a part of the batch at a time, beside the same steps without (docs/demand.md)."""
import os

from _training import MODEL, until
from harness.cli import bits, tags

# `steps` trains a model and prints the losses, sums of its parameters afterwards, and what came of the demand.
STEPS = '''
import sys
from ouro import nn, optim, jit, value_and_grad, demand

def steps(model, batches, loss_of, make=lambda m: optim.SGD(m, lr=0.1, momentum=0.9)):
    opt = make(model)

    @jit
    def step(x, y):
        loss, grads = value_and_grad(loss_of)(model, x, y)
        opt.update(grads)
        return loss

    for x, y in batches:
        print(repr(step(x, y).item()))
    for _, p in model.named_parameters():
        print(repr(p.sum().item()), repr(p.square().sum().item()))
    for v in demand.report()["versions"]:
        if v["function"].endswith("step"):
            print("#", v.get("micro_batch"))

manual_seed(0)
if sys.argv[1] != "0":
    demand.set(micro_batch=int(sys.argv[1]))
'''

MLP = STEPS + '''
batches = [(randn(n, 20), randint(0, 10, (n,))) for n in (24, 24, 24)]
steps(nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 10)), batches, lambda m, x, y: cross_entropy(m(x), y))
'''

CONVOLUTIONS = STEPS + '''
class Net(nn.Module):
    def __init__(self):
        self.a = nn.Conv2d(1, 6, 3, padding=1)
        self.n = nn.GroupNorm(2, 6)
        self.b = nn.Conv2d(6, 8, 3)
        self.out = nn.Linear(8 * 3 * 3, 10)

    def forward(self, x):
        h = max_pool2d(relu(self.n(self.a(x))), 2)
        h = avg_pool2d(relu(self.b(h)), 2, 1)
        return self.out(h.reshape(h.shape[0], -1))

batches = [(randn(10, 1, 12, 12), randint(0, 10, (10,))) for _ in range(3)]
steps(Net(), batches, lambda m, x, y: cross_entropy(m(x), y, label_smoothing=0.1))
'''

TRANSFORMER = STEPS + '''
class GPT(nn.Module):
    def __init__(self):
        self.embed = nn.Embedding(30, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, activation="gelu", batch_first=True, norm_first=True, rotary=True)
        self.layers = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(16))
        self.out = nn.Linear(16, 30)

    def forward(self, ids):
        return self.out(self.layers(self.embed(ids), is_causal=True))

def loss_of(model, x, y):
    scores = model(x)
    return cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))

batches = [(randint(0, 30, (6, 12)), randint(0, 30, (6, 12))) for _ in range(3)]
steps(GPT(), batches, loss_of, lambda m: optim.Adam(m, lr=1e-3))
'''


def numbers(out):
    return [float(word) for line in out.splitlines() if not line.startswith("#") for word in line.split()]


def told(out):
    return [line[2:] for line in out.splitlines() if line.startswith("#")]


def check_same(t, text, sizes, rows, tolerance=1e-6):
    t.write("steps.ouro", text)
    whole = t.run("--mode=graph", "steps.ouro", "0").out
    t.equal(told(whole), ["None"])
    for size in sizes:
        chunks = t.run("--mode=graph", "steps.ouro", str(size)).out
        t.equal(told(chunks), [f"{size} of {rows} rows of the batch at a time"])
        far = [(a, b) for a, b in zip(numbers(whole), numbers(chunks), strict=True) if abs(a - b) > tolerance * max(1, abs(a))]
        t.equal(far, [])


def test_a_network_of_layers_learns_the_same(t):
    check_same(t, MLP, (5,), 24)


@bits
def test_convolutions_learn_the_same(t):
    check_same(t, CONVOLUTIONS, (3,), 10)


@bits
def test_a_transformer_with_dropout_learns_the_same(t):
    check_same(t, TRANSFORMER, (4,), 6, tolerance=3e-6)


BATCH_NORM = STEPS + '''
class Net(nn.Module):
    def __init__(self):
        self.a, self.n, self.b = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 4)

    def forward(self, x):
        return self.b(relu(self.n(self.a(x))))

batches = [(randn(12, 6), randint(0, 4, (12,))) for _ in range(3)]
steps(Net(), batches, lambda m, x, y: cross_entropy(m(x), y))
'''


def test_a_batch_norm_is_refused_by_name_and_learns_as_before(t):
    t.write("steps.ouro", BATCH_NORM)
    whole, chunks = (t.run("--mode=graph", "steps.ouro", size).out for size in ("0", "4"))
    t.equal(numbers(chunks), numbers(whole))
    [text] = told(chunks)
    t.check(text.startswith("the whole batch at once: the mean mixes the rows of the batch (in batch_norm, "), text)
    explained = t.run("explain", "--mode=graph", "steps.ouro", "4").out
    t.check("the mean mixes the rows of the batch (in batch_norm, " in explained, explained)


@bits
def test_a_last_batch_of_another_size_is_done_in_chunks_too(t):
    check = MLP.replace("(24, 24, 24)", "(24, 10, 7, 24, 3)")
    t.write("steps.ouro", check)
    whole, chunks = (t.run("--mode=graph", "steps.ouro", size).out for size in ("0", "4"))
    t.equal([(a, b) for a, b in zip(numbers(whole), numbers(chunks), strict=True) if abs(a - b) > 1e-6 * max(1, abs(a))], [])
    t.equal(sorted(told(chunks)), ["4 of 24 rows of the batch at a time", "4 rows of the batch at a time"])


# A step that is asked for half of the memory while it runs, once the program may choose micro-batches and once not.
GOAL = MODEL + until("micro_batch").replace('["micro_batch"]', '.get("micro_batch")') + '''
import sys
x, y = randn(64, 1, 28, 28), randint(0, 10, (64,))
if sys.argv[1] == "auto":
    demand.set(micro_batch="auto")
for i in range(12):
    step(x, y)
demand.set(memory="60%")
for i in range(2000):
    step(x, y)
    if any(d["outcome"] != "taking effect" for d in demand.report()["decisions"]):
        break
    time.sleep(0.005)
print(demand.report()["decisions"][0]["response"])
rows = demand.report()["running"].get("micro_batch")
print(rows is not None and rows < 64)
demand.set(memory=None, micro_batch=None)
print(until(None))
'''


@tags("jit")
def test_the_goal_memory_chooses_chunks_only_where_last_bits_may_change(t):
    t.write("goal.ouro", GOAL)
    t.equal(t.run("--mode=graph", "goal.ouro", "auto").out.splitlines(), ["micro_batch", "True", "True"])
    t.equal(t.run("--mode=graph", "goal.ouro", "no").out.splitlines()[1], "False")


LISTENS = MODEL + '''
from ouro import demand
while True:
    step(x, y)
    print(demand.report()["running"].get("micro_batch"), flush=True)
'''


@tags("jit", "threads")
def test_ctl_asks_for_chunks_and_is_told_what_came_of_it(t):
    t.write("listens.ouro", LISTENS)
    runtime = t.path("runtime")
    os.makedirs(runtime, mode=0o700)
    env = {"XDG_RUNTIME_DIR": runtime}
    process = t.start("--threads=2", "--mode=graph", "listens.ouro", env=env)
    try:
        def wait(text):
            return next((True for line in process.stdout if line.strip() == text), False)

        t.check(wait("None"), "it does not start")
        for size in ("4", "none"):
            t.equal(t.run("ctl", str(process.pid), "set", f"micro_batch={size}", env=env).out, "")
            t.check(wait(size.replace("none", "None")), f"micro_batch={size} is not followed")
        got = t.run("ctl", str(process.pid), "get", env=env).out
        t.check("micro_batch=auto (default)" in got and "step: 4 of 8 rows of the batch at a time" in got, got)
    finally:
        process.kill()
        process.wait()


def test_what_is_no_number_of_rows_is_refused(t):
    t.write("wrong.ouro", """from ouro import demand
for rows in (0, -1, 2.5, "some"):
    try:
        demand.set(micro_batch=rows)
    except ValueError as e:
        print(e)
demand.set(micro_batch="auto")
print(demand.report()["asked"])
demand.set(micro_batch=None)
print(demand.report()["asked"])
""")
    lines = t.run("wrong.ouro").out.splitlines()
    t.equal(lines[0], "micro_batch is a number of rows from 1 on, or 'auto', not '0'")
    t.equal(lines[4:], ["{'micro_batch': ('auto', 'script')}", "{}"])
