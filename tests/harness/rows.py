"""Tests that are made of the rows of tensor operations: `ops/NAME` is every differentiable row's own test, `ops/op.NAME`
that of an operator between tensors and numbers, whose rule is its own.

The program tells its rows (ouro.native.tensors.rows); each of their test cases becomes a call in a script, which compares
in f64 the gradient with central differences along random directions, the gradient of the gradient with differences of the
gradient, and the value in f32 with that in f64. The number that is differentiated is no linear function of the result, so
that the cotangent, too, depends on the inputs. Run in every mode, with the call and its gradient under jit: all modes give
the same bits.
"""
import ast
import math
import os
import re

from .common import Job, Result, describe, difference, tail

LIST_ROWS = "import ouro.native.tensors as tensors\nprint(tensors.rows())"
SIZES = {"m": 3, "k": 4, "n": 2, "b": 2, "a": 2, "c": 3, "d": 2, "s": "3,4", "": "3,4"}
PLACE = re.compile(r"\b([fb])\[([0-9, ]*)\]")
NO_TEST = dict.fromkeys("float half bfloat16 long int bool".split(), "another dtype, as astype") | {
    "cpu": "placed on a device: tests/cli/device.py",
    "place": "placed on a device: tests/cli/device.py",
    "histogram": "counts",
    "count_nonzero": "counts",
    "unique": "is piecewise constant in its size",
    "unique_consecutive": "is piecewise constant in its size",
    "qr_basis": "has a derivative that is refused",
    "no_derivative": "refuses",
    "hold_matrices": "refuses",
    "matrix_rank": "counts",
    "adaptive_pool_index": "gives places",
    "randint_like": "is random",
    "to_sparse": "gives a SparseMatrix: tested with to_dense",
    "nnz": "counts",
    "sparsity": "counts",
    "uncat": "takes the tensors that cat took",
    "tie_share": "is constant where it is not a jump",
    "nonzero_places": "gives places",
    "numel": "counts",
    "bernoulli": "random",
    "multinomial": "random",
    "poisson": "random",
    "gumbel_softmax": "random",
    "allclose": "gives a bool",
    "equal": "gives a bool",
    "heaviside": "a jump",
    "bucketize": "counts",
    "isin": "a predicate",
    "signbit": "a predicate",
    "isposinf": "a predicate",
    "isneginf": "a predicate",
}

# Operators, by the name of their rule: expressions, and the domains of their inputs.
OPERATORS = {
    "neg": (["-f[3,4]"], []),
    "add": (["f[3,4] + f[4]", "f[3,1] + f[]", "float(f[]) + f[3]"], []),
    "sub": (["f[3,4] - f[4]", "f[3,1] - f[]", "float(f[]) - f[3]"], []),
    "mul": (["f[3,4] * f[4]", "f[3,1] * f[]", "float(f[]) * f[3]"], []),
    "truediv": (["f[3,4] / f[4]", "f[3] / float(f[])", "float(f[]) / f[3]"], [(-2.0, 2.0), (0.5, 3.0)]),
    "mod": (["f[3,4] % f[4]", "f[3] % float(f[])", "float(f[]) % f[3]"], [(-5.9, -5.6), (1.5, 1.8)]),
    "pow": (["f[3,4] ** f[4]", "f[3] ** float(f[])", "float(f[]) ** f[3]", "f[3] ** 3", "f[3,4] ** arange(4)",
             "f[] ** arange(3)", "arange(1, 4) ** f[3]", "arange(1, 4) ** f[]", "f[3] ** (arange(3) > 0)"], [(0.3, 2.0), (-2.0, 2.0)]),
    "matmul": (["f[3,4] @ f[4,2]", "f[4] @ f[4]", "f[4] @ f[4,2]", "f[3,4] @ f[4]", "f[2,3,4] @ f[4,2]", "f[4] @ f[2,4,3]",
                "f[2,1,3,4] @ f[5,4,2]", "f[2,3,4] @ f[4]"], []),
}
# Shapes that broadcast, for rows whose inputs do; the last input is a number where the row takes one.
BROADCAST = {2: ["f[3,1], f[4]", "f[], f[2,3]"], 3: ["f[3,1], f[4], f[]", "f[4], f[3,4], f[2,1,1]"]}

SCRIPT = '''
import ouro.native.tensors as tensors
ops = tensors.operations()


def weights(y, at):
    return cos(arange(y.numel(), dtype=f64) * 1.7 + at).reshape(y.shape).astype(y.dtype)


def scalar(y):
    """A number that depends on every float element of the result."""
    if is_tensor(y):
        return (y * (weights(y, 0.3) + y * 0.25)).sum() if y.is_floating_point() else None
    if isinstance(y, (list, tuple)):
        total = None
        for part in y:
            t = scalar(part)
            if t is not None:
                total = t if total is None else total + t
        return total
    return None


def draw(shape, lo, hi):
    return rand(shape, dtype=f64) * (hi - lo) + lo


def close(a, b, scale):
    return abs(a - b) <= 2e-6 * max(1.0, abs(b), scale) or (a != a and b != b)


def listed(y):
    return [listed(v) for v in y] if isinstance(y, (list, tuple)) else y.tolist() if is_tensor(y) else y


def flat(y):
    return [v for part in y for v in flat(part)] if isinstance(y, (list, tuple)) else [y]


def moved(xs, k, v, h):
    return [x + v * h if i == k else x for i, x in enumerate(xs)]


def along(f, xs, k, v):
    h = 1e-6
    return (f(*moved(xs, k, v, h)) - f(*moved(xs, k, v, -h))).item() / (2 * h)


def compare(what, f, g, xs, wrong):
    """g gives the gradient of the scalar function f by each of xs."""
    d = g(*xs)
    for k, x in enumerate(xs):
        for turn in range(2):
            v = draw(x.shape, -1.0, 1.0)
            exact, measured = (d[k] * v).sum().item(), along(f, xs, k, v)
            scale = (d[k] * v).abs().sum().item()
            if not close(exact, measured, scale):
                wrong.append(f"{what} by input {k}: {exact!r}, by differences {measured!r}")


def check(name, f, shapes, domains, tol):
    wrong = []
    xs = [draw(s, lo, hi) for s, (lo, hi) in zip(shapes, domains)]
    everywhere = tuple(range(len(xs)))

    def value(*xs):
        return scalar(f(*xs))

    gradient = grad(value, everywhere)
    compare("gradient", value, gradient, xs, wrong)

    def slope(*xs):
        total = (xs[0] * 0.0).sum()
        for d in gradient(*xs):
            total = total + (d * weights(d, 0.9)).sum()
        return total

    compare("second order", slope, grad(slope, everywhere), xs, wrong)
    single = flat(listed(f(*[x.astype(f32) for x in xs])))
    double = flat(listed(f(*[x.astype(f32).astype(f64) for x in xs])))
    for a, b in zip(single, double):
        if isinstance(a, float) and not abs(a - b) <= max(tol, 2e-6) * 20 * max(1.0, abs(b)) and not (a != a and b != b) and a != b:
            wrong.append(f"in f32: {a!r}, in f64 {b!r}")
            break
    print(name, "|", "; ".join(wrong) or "ok", "|", listed(jit(f)(*xs)), listed(jit(gradient)(*xs)))


def attempt(name, *arguments):
    manual_seed(7)
    try:
        check(name, *arguments)
    except Exception as e:
        print(name, "|", f"{type(e).__name__}: {e}", "|")


'''


def default_case(sig, inputs, params):
    """A call made of the signature, or None: indices and required parameters need a case in the row."""
    dtypes = re.findall(r"([a-z0-9$]+)([?+]?)\[([^\]]*)\]", sig.split("->")[0])
    required = [p.strip() for p in params.split(",")] if params else []
    if any("=" not in p and p.lstrip("@") not in inputs for p in required if p not in ("*", "/", "")):
        return None
    parts = []
    for (cls, mark, dims) in dtypes:
        if mark == "?":
            break
        if cls not in ("t", "n", "f", "b") or mark == "+":
            return None
        shape = ",".join(str(SIZES[d.strip().lstrip("*")]) for d in dims.split(",") if dims)
        parts.append(f"{'b' if cls == 'b' else 'f'}[{shape}]")
    return ", ".join(parts)


def broadcast_cases(sig):
    """Cases in which the inputs broadcast against each other, for a row of elementwise inputs."""
    inputs, result = sig.split(" -> ")
    inputs = re.sub(r"^b\[\*s\], ", "", inputs)
    n = inputs.count("[*s]")
    if result.count("[*s]") != 1 or n != len(inputs.split(", ")) or n not in BROADCAST:
        return []
    mask = "" if inputs == sig.split(" -> ")[0] else "b[3,4], "
    return [mask + case for case in (["f[4], f[3,1]", "f[2,1,1], f[]"] if mask else BROADCAST[n])]


def lambda_of(case):
    """(a function's text, shapes of its float inputs)."""
    shapes = []

    def place(match):
        dims = [int(d) for d in match[2].split(",") if d.strip()]
        shape = f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"
        if match[1] == "b":
            return f"(cos(arange({' * '.join(map(str, dims)) or 1}) * 2.1).reshape({shape}) > 0)"
        shapes.append(shape)
        return f"x{len(shapes) - 1}"

    text = PLACE.sub(place, case)
    return f"lambda {', '.join(f'x{i}' for i in range(len(shapes)))}: {text}", shapes


def line_of(name, case, domains, tol):
    text, shapes = lambda_of(case)
    spans = [domains[i] if i < len(domains) else (-2.0, 2.0) for i in range(len(shapes))]
    return f"attempt({name!r}, {text}, [{', '.join(shapes)}], {spans}, {tol})\n"


def modes_of(suite):
    return [m for m in suite.modes_of("ops") if m in ("eager", "graph", "auto", "stress")]


def wanted(suite, name):
    return any(suite.wants(f"ops/{name}[{mode}]") for mode in modes_of(suite))


def script_of(rows, suite, only=None):
    lines, names, problems = [SCRIPT], [], {}
    for name, sig, params, inputs, domains, tol, written, differentiable in rows:
        if not differentiable or name in NO_TEST or not wanted(suite, name) or (only and name not in only):
            continue
        names.append(name)
        case = written or default_case(sig, inputs, params)
        if not case:
            problems[name] = "its row has no test case and its signature alone makes no call"
            continue
        cases = case.split(" | ")
        if cases == ["f[3,4]"] and "[*s] -> " in sig and sig.endswith("[*s]"):
            cases += ["f[1]", "f[]", "f[0]"]
        if not written:
            cases += broadcast_cases(sig)
        lines += [line_of(name, f"ops.{name}({one})", domains, tol) for one in cases]
    for operator, (cases, domains) in OPERATORS.items():
        if wanted(suite, f"op.{operator}") and (not only or f"op.{operator}" in only):
            names.append(f"op.{operator}")
            lines += [line_of(f"op.{operator}", one, domains, 1e-5) for one in cases]
    return "".join(lines), names, problems


def run_rows(suite, job):
    listing = suite.execute([suite.ouro, "-c", LIST_ROWS])
    if listing.status != 0:
        return [Result("ops", f"the rows: ouro {describe(listing.status)}\n{tail(listing.err)}")]
    text, names, problems = script_of(ast.literal_eval(listing.out), suite)
    if not names:
        return []
    path = suite.temporary() + "/rows.ouro"
    with open(path, "w") as f:
        f.write(text)
    results, first = [], None
    for mode in modes_of(suite):
        option, env = suite.tier(mode)
        done = suite.execute([suite.ouro, "run", option, path], timeout=300, env=env)
        said = said_in(done.out)
        first = first or said
        for name in names:
            wrong = [v for v, _ in said.get(name, []) if v != "ok"]
            problem = problems.get(name) or "\n".join(wrong)
            if name not in said and not problem:
                problem = f"it was not reached: ouro {describe(done.status)}\n{tail(done.err)}"
            if not problem and said[name] != first.get(name):
                problem = "other bits than in the first mode\n" + difference(
                    "\n".join(n for _, n in first[name]), "\n".join(n for _, n in said[name]), modes_of(suite)[0], mode)
            results.append(Result(f"ops/{name}[{mode}]", problem))
    return results + run_on_devices(suite, names, first)


def run_on_devices(suite, names, host):
    """The same on devices, where contractions have other bits than the host's: every eightieth row on an OpenCL device, all
    of them with OURO_ALL_KERNELS (a driver's compiler takes four seconds for a row, and is not built for sanitizers); all on the
    stand-in for a GPU, every seventh under sanitizers."""
    every = "OURO_ALL_KERNELS" in os.environ or len(names) < 20
    results = []
    for device, env, step in (("opencl", {"OURO_OPENCL_OPTIONS": "-cl-opt-disable"}, 80),
                              ("cuda", suite.stand_in_gpu(), 7 if suite.sanitized else 1)):
        there = suite.execute([suite.ouro, f"--device={device}", "-c", "print(1)"], env=env).status == 0
        if not there or (device == "opencl" and suite.sanitized):
            results.append(Result(f"ops/{device}", "", f"no device '{device}', or one that is not built for this"))
        else:
            results += run_on_device(suite, device, env, names if every else names[::step], host)
    return results


def run_on_device(suite, device, env, chosen, host):
    rows = ast.literal_eval(suite.execute([suite.ouro, "-c", LIST_ROWS]).out)
    text, _, _ = script_of(rows, suite, set(chosen))
    path = suite.temporary() + "/device.ouro"
    with open(path, "w") as f:
        f.write(text)
    done = suite.execute([suite.ouro, "run", "--mode=eager", f"--device={device}", path], timeout=1500, env=env)
    there = said_in(done.out)
    results = []
    for name in chosen:
        problem = "\n".join(v for v, _ in there.get(name, []) if v != "ok")
        if name not in there:
            problem = f"it was not reached: ouro {describe(done.status)}\n{tail(done.err)}"
        elif not problem and (len(host[name]) != len(there[name]) or not all(near(a, b) for (_, a), (_, b) in zip(host[name], there[name]))):
            problem = "other numbers than on the host"
        results.append(Result(f"ops/{name}[{device}]", problem))
    return results


NUMBER = re.compile(r"-?(?:nan|inf|[0-9.]+(?:e[-+]?[0-9]+)?)")


def near(a, b):
    """The numbers in two texts, to the tolerance of f32's sums."""
    x, y = [[float(n) for n in NUMBER.findall(t)] for t in (a, b)]
    return len(x) == len(y) and all(
        p == q or (math.isnan(p) and math.isnan(q)) or abs(p - q) <= 1e-5 * max(1.0, abs(p)) for p, q in zip(x, y))


def said_in(out):
    """Verdicts and numbers by row."""
    said = {}
    for line in out.splitlines():
        name, _, rest = line.partition(" | ")
        verdict, _, numbers = rest.partition("|")
        said.setdefault(name, []).append((verdict.strip(), numbers))
    return said


def discover(suite):
    if suite.tags or not suite.ouro:
        return []
    return [Job("ops/rows", lambda: run_rows(suite, None), weight=30)]
