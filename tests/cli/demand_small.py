"""Blocks of steps, sizes of batches, what is told of orders, and what an attached text raises."""


def test_a_step_in_a_step_is_a_part_of_it(t):
    t.write("nested.ouro", """
for k in range(3):
    with demand.step():
        with demand.step(): pass
try:
    with demand.step(): raise ValueError("x")
except ValueError: pass
with demand.step(): pass
print(demand.report()["steps"])
""")
    t.equal(t.run("nested.ouro").out, "4\n")


def test_batches_of_tensors_follow_the_demand(t):
    t.write("batches.ouro", """
from ouro import data
b = data.batches(arange(10), size=demand.batch(4))
print([len(x) for x in b], len(b))
demand.set(batch=5)
print([len(x) for x in b], len(b))
""")
    t.equal(t.run("batches.ouro").out, "[4, 4, 2] 3\n[5, 5] 2\n")


def test_zeros_are_not_known_where_nobody_asks_for_sparsity(t):
    t.write("zeros.ouro", """
from ouro import nn, optim
m = nn.Linear(20, 10)
opt = optim.SGD(m, lr=0.1)
demand.set(sparsity=0.5)
print(demand.report()["sensors"]["zeros"])
demand.set(sparsity=None)
print(demand.report()["sensors"]["zeros"])
""")
    t.equal(t.run("zeros.ouro").out, "0.5\nNone\n")


def test_sparse_layers_work_on_a_part_of_the_batch(t):
    """Products with a sparse matrix keep the rows of a batch apart, or are sums over them."""
    t.write("sparse.ouro", """
from ouro import nn, optim
import sys
manual_seed(0)
m = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
opt = optim.SGD(m, lr=0.05)
X, Y = randn(256, 64), randint(0, 10, (256,))
@jit
def step(x, y):
    loss, grads = value_and_grad(lambda m: cross_entropy(m(x), y))(m)
    opt.update(grads)
    return loss
block = (4, 4) if len(sys.argv) > 2 else None
demand.set(sparsity=0.9, block=block) if block else demand.set(sparsity=0.9)
demand.set(micro_batch=int(sys.argv[1]) or None)
for k in range(20): loss = step(X, Y)
print(f"{loss.item():.5g}", [v["micro_batch"] for v in demand.report()["versions"] if v["calls"] and "micro_batch" in v])
""")
    for block in ((), ("block",)):
        whole = t.run("--mode=graph", "sparse.ouro", "0", *block).out.split()[0]
        t.equal(t.run("--mode=graph", "sparse.ouro", "64", *block).out, f"{whole} ['64 of 256 rows of the batch at a time']\n")
