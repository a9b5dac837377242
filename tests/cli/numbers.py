"""The numbers' contract: the same bits in every mode, with any number of threads, with vectors of any width.

Tensors here are large enough to be split over threads, and of sizes that no vector and no block divides.
"""
from harness.cli import bits, tags

SCRIPT = r'''
import sys
from ouro import jit, grad, value_and_grad, nn, optim

manual_seed(3)
x, y = randn(257, 331), randn(257, 331)
wide, tall = randn(3, 70001), randn(70001, 3)
m, v = randn(331, 129), randn(331)
image, filters = randn(9, 3, 37, 41), randn(8, 3, 5, 3)
places = randint(0, 257, (1009,))
half = randn(301, 333).bfloat16()

# Differences of one bit in one element show in the digits of a weighted sum in f64.
def bits(t):
    t = t.double().flatten()
    return f"{((arange(t.numel()) % 1009).double() * t).sum().item():.17g}"

def in_blocks(t, r, c):
    return where((arange(257).reshape(257, 1) // r * 7 + arange(331) // c * 3) % 5 == 0, t, 0.0)

TABLE = {
    "chain": lambda: tanh(x * y + 0.5) * sigmoid(x) + exp(-y * y),
    "functions": lambda: sin(x) + cos(y) * erf(x) - log1p(abs(y)) + sqrt(abs(x)) + x ** 3,
    "broadcast": lambda: x * v + y.sum(0),
    "sum": lambda: x.sum(),
    "sums": lambda: x.sum(0) + (x * y).sum(0),
    "rows": lambda: wide.sum(1) + wide.mean(1),
    "columns": lambda: tall.sum(0) + tall.amax(0),
    "softmax": lambda: softmax(x, -1) + log_softmax(y, 0),
    "variance": lambda: x.var(1) + x.std(1),
    "matmul": lambda: x @ m,
    "matrix and vector": lambda: x @ v,
    "transposed": lambda: x.t() @ y,
    "sparse": lambda: to_sparse(prune(x, 0.9)) @ m + sparse_linear(m.t(), to_sparse(prune(y, 0.8))).t(),
    "gradient of a pruned product": lambda: grad(lambda w: ((to_sparse(w) @ m) ** 2).sum())(prune(x, 0.9)),
    "blocks": lambda: to_sparse(in_blocks(x, 8, 8), (8, 8)) @ m + sparse_linear(m.t(), to_sparse(in_blocks(y, 3, 5), (3, 5))).t(),
    "blocks of few rows": lambda: x[:9, :257] @ to_sparse(in_blocks(y, 8, 8), (8, 8)),
    "gradient of a product of blocks": lambda: grad(lambda w: ((to_sparse(w, 4) @ m) ** 2).sum())(in_blocks(x, 4, 4)),
    "convolution": lambda: conv2d(image, filters, None, 2, 1),
    "pooling": lambda: max_pool2d(image, 2) + avg_pool2d(image, 2),
    "gather": lambda: x[places],
    "cumulative": lambda: x.cumsum(1) + x.cumsum(0),
    "sorted": lambda: x.sort(1)[0] + x.argsort(0).float(),
    "half": lambda: (half * 3.0 + half.sum(0)).float(),
    "double": lambda: exp(x.double() * 0.1) @ m.double(),
    "random": lambda: rand(70001) + randn(70001),
    "gradient": lambda: grad(lambda a: (tanh(a @ m) * 0.1).sum())(x),
    "gradient of a convolution": lambda: grad(lambda w: (conv2d(image, w, None, 1, 2) ** 2).sum())(filters),
    "second order": lambda: grad(lambda a: (grad(lambda b: (sin(b) * y).sum())(a) ** 2).sum())(x),
    "layer norm": lambda: layer_norm(x, 331),
}
for name, f in TABLE.items():
    for repeat in range(2):
        print(name, bits(f()))

model = nn.Sequential(nn.Linear(331, 64), nn.ReLU(), nn.Linear(64, 10))
opt = optim.Adam(model, lr=1e-3)
labels = randint(0, 10, (257,))
@jit
def step(x, labels):
    loss, grads = value_and_grad(lambda m: cross_entropy(m(x), labels))(model)
    opt.update(grads)
    return loss
for i in range(6):
    print("step", f"{step(x, labels).item():.9g}")
'''


def check(t, *variants):
    t.write("numbers.ouro", SCRIPT)
    expected = t.run("--mode=eager", "--threads=1", "numbers.ouro").out
    t.check(expected.count("\n") == 64, expected)
    for options in variants:
        actual = t.run(*options, "numbers.ouro").out
        wrong = [f"{a}  not  {e}" for a, e in zip(actual.splitlines(), expected.splitlines()) if a != e]
        t.check(actual == expected, f"{' '.join(options)}:\n" + "\n".join(wrong))


@bits
@tags("threads")
def test_eager_bits_do_not_depend_on_threads(t):
    check(t, *(("--mode=eager", f"--threads={n}") for n in (2, 3, 7)))


@bits
@tags("threads", "jit")
def test_compiled_bits_are_eager_bits_with_any_number_of_threads(t):
    threads = (3,) if t.suite.sanitized else (1, 2, 3, 7)
    modes = ("graph",) if t.suite.sanitized else ("graph", "auto")
    check(t, *((f"--mode={mode}", f"--threads={n}") for mode in modes for n in threads))


@bits
def test_bits_do_not_depend_on_the_width_of_vectors(t):
    variants = [("--mode=graph", "--cpu=x86-64-v2"), ("--mode=graph", "--cpu=x86-64-v3"), ("--mode=eager", "--cpu=x86-64-v2"),
                ("--mode=eager", "--cpu=x86-64-v3")]
    check(t, *variants[:1 if t.suite.sanitized else None])


def test_an_unknown_processor_or_device_is_an_error(t):
    done = t.run("--cpu=x86-64-v9", "-c", "print(1)", status=2)
    t.has(done.err, "--cpu is native, x86-64-v2, x86-64-v3 or x86-64-v4, not 'x86-64-v9'")
    done = t.run("--device=tpu", "-c", "print(1)", status=2)
    t.has(done.err, "no device 'tpu'; there are: cpu, opencl, cuda")
