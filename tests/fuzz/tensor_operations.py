"""What random tensor programs are made of: for each operation a rule that draws its operands and tells what comes out.

A rule is a function of the program under way (tensors.Program). It returns the statement's text, without the assignment,
the class of its result and its shape; or None where the program has no operands for it. Classes are f (float), i (i64)
and b (bool). A dim is a pair of sizes, for the two calls that a program gets: dims that differ between them are never
written as numbers. Names of rows that a rule stands for are in ROWS, so that a test can tell which rows have none.
"""
ROWS = {}
# Rows that no rule draws, and why.
NOT_DRAWN = {
    "axis_count": "a part of mean", "prod_others": "a part of prod's derivative",
    "segment_others": "a part of scatter_reduce's derivative", "tie_share": "a part of amax's derivative", "peak": "a part of softmax and logsumexp",
    "linear_scan": "a part of cumprod's derivative", "linear_scan_back": "a part of cumprod's derivative", "shifted": "a part of cumprod's derivative",
    "whole_in_range": "a part of ctc_loss",
    "extent": "a part of compiled programs with computed sizes", "pick": "a part of cross_entropy", "pick_rows": "a part of embedding and one_hot",
    "root": "a part of norm and std", "round_even": "a part of round", "cross_entropy_of_bit": "a part of binary_cross_entropy",
    "matmul_back_a": "a part of matmul's derivative", "matmul_back_b": "a part of matmul's derivative",
    "matmul_nt_back_a": "a part of matmul_nt's derivative", "matmul_nt_back_b": "a part of matmul_nt's derivative",
    "fitting_batches": "a part of solve", "hold_matrices": "a part of solve", "no_derivative": "refuses", "qr_basis": "has a derivative that is refused",
    "cholesky_along": "cholesky forward", "cofactors_along": "det forward", "eigh_along": "eigh forward", "pinv_along": "pinv forward",
    "qr_columns_along": "qr forward", "svd_along": "svd forward", "lstsq": "its residuals hang on the rank", "equal": "gives a bool",
    "allclose": "gives a bool", "poisson": "random, by rejection",
    "adaptive_pool_index": "a part of adaptive_max_pool with return_indices", "fractional_max_pool": "a part of fractional_max_pool2d and 3d",
    "empty_like": "holds anything", "where_put": "a part of index_put's derivative", "where_scattered": "a part of scatter's derivative",
    "next_draw": "a part of dropout in chunks", "rand_drawn": "a part of dropout in chunks", "randn_drawn": "a part of randn_like in chunks",
    **dict.fromkeys("to_sparse to_dense sparse_matmul sparse_linear pruned_linear linear_by_rows csr_product csr_sampled csr_take csr_put bsr_product bsr_sampled bsr_take bsr_put stored".split(),
                    "of a SparseMatrix: tests/run/tensor/sparse.ouro"),
    "prune": "piecewise", "smallest_magnitudes": "a part of prune", "nnz": "counts", "sparsity": "counts",
    "place": "where a tensor is", "place_like": "where a tensor is", "cpu": "where a tensor is",
}


def rule(names, weight=1.0, whole=True):
    """`whole`: a step with these operations and their derivatives compiles as one program."""
    def add(fn):
        for name in names.split():
            ROWS[name] = fn
        RULES.append((fn, weight, whole))
        return fn
    return add


RULES = []


def fixed(dim):
    return dim[0] == dim[1]


def dims_product(dims):
    n = (1, 1)
    for d in dims:
        n = (n[0] * d[0], n[1] * d[1])
    return n


def broadcast(a, b):
    """The shape of both together; None if they do not fit."""
    out = []
    for i in range(max(len(a), len(b))):
        x = a[len(a) - 1 - i] if i < len(a) else (1, 1)
        y = b[len(b) - 1 - i] if i < len(b) else (1, 1)
        if x != y and (1, 1) not in (x, y):
            return None
        out.append(y if x == (1, 1) else x)
    return tuple(reversed(out))


def axis_text(p, axis, rank):
    return str(axis - rank if p.chance(0.4) else axis)


# ---- elementwise
UNARY = {name: "{}" for name in """neg abs sign exp expm1 square sin cos tanh sinh cosh asinh atan erf erfc floor ceil round trunc
    frac sigmoid logsigmoid softplus relu relu6 elu selu celu gelu silu mish hardtanh hardsigmoid hardswish softsign""".split()}
UNARY |= {name: "({}.abs() + 0.2)" for name in "log log2 log10 sqrt rsqrt reciprocal lgamma digamma log1p exp2".split()}
UNARY |= {name: "(tanh({}) * 0.9)" for name in "tan asin acos atanh erfinv".split()}
UNARY |= {"acosh": "({}.abs() + 1.1)"}
METHODS = set("abs pow round sum min max prod mean all any var std norm amax amin argmax argmin".split())


@rule(" ".join(UNARY), 3)
def unary(p):
    x = p.some("f")
    name = p.choice(list(UNARY))
    inner = "{}" if p.chance(0.08) else UNARY[name]
    operand = inner.format(x.name)
    text = f"({operand}).{name}()" if name in METHODS or p.chance(0.3) else f"{name}({operand})"
    return (f"-({operand})" if name == "neg" and p.chance(0.5) else text), "f", x.shape


@rule("leaky_relu elu celu softplus hardtanh gelu_erf gelu_tanh nan_to_num clamp clamp_min clamp_max")
def unary_with_numbers(p):
    x = p.some("f")
    text = p.choice(["leaky_relu({}, 0.1)", "elu({}, 0.7)", "celu({}, 1.3)", "softplus({}, 2.0, 3.0)", "hardtanh({}, -0.5, 0.7)",
                     "gelu({}, approximate='tanh')", "nan_to_num({}, 0.5, 1.0, -1.0)", "clamp({}, -0.6, 0.8)", "clamp({}, min=-0.3)",
                     "{}.clamp(None, 0.4)", "ouro.clamp_min({}, 0.1)", "ouro.clamp_max({}, 0.2)", "{} ** 2", "{} ** 3",
                     "({}.abs() + 0.1) ** 0.5", "2.0 ** tanh({})", "{} * 0.5 + 1.5", "1.0 - {}", "1.0 / ({}.square() + 1)",
                     "{} // 0.3", "{} % 0.7"])
    return text.format(x.name), "f", x.shape


@rule("isnan isinf isfinite logical_not")
def predicate(p):
    x = p.some("f")
    return p.choice(["isnan({})", "isfinite(1.0 / {})", "isinf({})", "logical_not({})", "{} > 0", "{} <= 0.3", "{} != 0"]).format(x.name), "b", x.shape


def pair(p, cls="f"):
    """Two operands that broadcast, and their shape."""
    x = p.some(cls)
    fits = [v for v in p.values if v.cls == cls and broadcast(x.shape, v.shape)]
    if p.chance(0.25) and x.shape:
        k = p.range(len(x.shape))
        shape = x.shape[k:] if p.chance(0.5) else tuple((1, 1) if p.chance(0.4) else d for d in x.shape)
        y = p.tensor(cls, shape)
    else:
        y = p.choice(fits)
    return (x, y) if p.chance(0.5) else (y, x)


@rule("add sub mul div maximum minimum atan2 hypot logaddexp copysign xlogy remainder fmod floor_divide pow", 4)
def binary(p):
    x, y = pair(p)
    text = p.choice(["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} + {1}", "{0} * {1}", "{0} / ({1}.square() + 0.5)", "maximum({0}, {1})",
                     "minimum({0}, {1})", "atan2({0}, {1})", "hypot({0}, {1})", "logaddexp({0}, {1})", "copysign({0}, {1})",
                     "xlogy({0}, {1}.abs() + 0.1)", "{0} % ({1}.abs() + 0.5)", "fmod({0}, {1}.abs() + 0.5)", "{0} // ({1}.abs() + 0.5)",
                     "(tanh({0}).abs() + 0.1) ** tanh({1})"])
    return text.format(x.name, y.name), "f", broadcast(x.shape, y.shape)


@rule("eq ne lt le gt ge isclose logical_and logical_or logical_xor")
def comparison(p):
    x, y = pair(p)
    text = p.choice(["{0} < {1}", "{0} >= {1}", "{0} == {1}", "{0} != {1}", "{0} > {1}", "{0} <= {1}", "isclose({0}, {1})",
                     "logical_and({0} > 0, {1} > 0)", "logical_or({0} > 0, {1} > 0)", "logical_xor({0} > 0, {1} > 0)"])
    return text.format(x.name, y.name), "b", broadcast(x.shape, y.shape)


@rule("where lerp addcmul addcdiv masked_fill prelu prelu_scaled")
def ternary(p):
    x, y = pair(p)
    shape = broadcast(x.shape, y.shape)
    masks = [v for v in p.values if v.cls == "b" and broadcast(shape, v.shape) == shape]
    mask = p.choice(masks).name if masks and p.chance(0.6) else f"({x.name} > {y.name})"
    text = p.choice(["where({2}, {0}, {1})", "where({2}, {0}, 0.5)", "lerp({0}, {1}, 0.3)", "addcmul({0}, {1}, {0}, value=0.5)",
                     "addcdiv({0}, {1}, {0}.square() + 1)", "where({2}, sin({0}), {1} * {1})"])
    if p.chance(0.15) and mask and shape == x.shape:
        text = "{0}.masked_fill({2}, -0.5)"
    return text.format(x.name, y.name, mask), "f", shape


@rule("prelu prelu_scaled", 0.2)
def prelu(p):
    x = p.some("f", lambda v: len(v.shape) >= 2)
    if x:
        return f"prelu({x.name}, {p.tensor('f', (x.shape[1],)).name})", "f", x.shape


@rule("bitwise_not bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift", 0.7)
def integers(p):
    x = p.some("i")
    if not x:
        return None
    text = p.choice(["{0} + 1", "{0} * {0}", "{0} & 5", "{0} | 2", "{0} ^ 3", "~{0}", "{0} << 2", "{0} >> 1", "{0} // 3", "{0} % 3", "abs({0} - 2)",
                     "maximum({0}, 1)", "-{0}", "where({0} > 1, {0}, 0)"])
    return text.format(x.name), "i", x.shape


@rule("astype to float double half bfloat16 long int bool cast_back", 0.8, whole=False)
def casts(p):
    x = p.any()
    to, cls = p.choice([(".float()", "f"), (".double()", "f"), (".astype(f32)", "f"), (".to(f64)", "f"), (".long()", "i"), (".bool()", "b"),
                        (".half().float()", "f"), (".bfloat16().float()", "f"), (".half()", "f"), (".int().long()", "i")])
    source = f"({x.name} * 3)" if cls == "i" and x.cls == "f" else x.name
    if x.cls == "f" and cls == "i":
        source = f"nan_to_num({source}, 0.0, 1.0, -1.0).clamp(-9, 9)"
    return f"{source}{to}", cls, x.shape


@rule("detach clone stop_gradient", 0.4)
def identity(p):
    x = p.some("f")
    return p.choice(["{}.detach()", "{}.clone()", "stop_gradient({})", "+{}"]).format(x.name), "f", x.shape


# ---- reductions
def reduced(p, x, several=True):
    """Arguments `axis, keepdim` of a reduction over x, and the shape of its result."""
    rank = len(x.shape)
    if rank == 0 or p.chance(0.12):
        return "", ()
    axes = {p.range(rank)} if not several or p.chance(0.75) else set(p.sample(range(rank), p.range(rank) + 1))
    keep = p.chance(0.4)
    shape = tuple((1, 1) if a in axes else d for a, d in enumerate(x.shape) if keep or a not in axes)
    text = ", ".join(axis_text(p, a, rank) for a in sorted(axes))
    if len(axes) > 1:
        text = f"({text})"
    if keep:
        text += p.choice([", keepdim=True", ", keepdims=True", ", True"])
    return text, shape


@rule("sum mean prod amax amin logsumexp", 3)
def reduction(p):
    x = p.some("f", lambda v: p.rarely or len(v.shape) > 0)
    if not x:
        return None
    name = p.choice(["sum", "sum", "mean", "amax", "amin", "logsumexp", "prod"])
    args, shape = reduced(p, x)
    source = f"(tanh({x.name}) + 0.3)" if name == "prod" else x.name
    if name == "logsumexp" and not args:
        args, shape = ("0", x.shape[1:]) if x.shape else ("", ())
        if not x.shape:
            return None
    return f"{source}.{name}({args})", "f", shape


@rule("var std norm", 0.7, whole=False)
def spread(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    if p.chance(0.4):
        args, shape = reduced(p, x)
        p_text = p.choice(["2", "1", "3", "inf"])
        return f"norm({x.name}, {p_text}{', ' + args if args else ''})", "f", shape
    axis = p.range(len(x.shape))
    if x.shape[axis][0] < 2 or x.shape[axis][1] < 2:
        return None
    name = p.choice(["var", "std"])
    keep = p.chance(0.5)
    shape = tuple((1, 1) if a == axis else d for a, d in enumerate(x.shape) if keep or a != axis)
    return f"{x.name}.{name}({axis}, unbiased={p.chance(0.5)}, keepdim={keep})", "f", shape


@rule("any all count_nonzero argmax argmin", 0.8)
def indices(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    name, cls = p.choice([("any", "b"), ("all", "b"), ("argmax", "i"), ("argmin", "i"), ("count_nonzero", "i")])
    args, shape = reduced(p, x, several=name in ("any", "all"))
    if name == "count_nonzero" and "," in args:
        return None
    source = f"({x.name} > 0)" if name in ("any", "all", "count_nonzero") else x.name
    return f"{source}.{name}({args})", cls, shape


@rule("max min median sort topk cummax cummin", 0.8, whole=False)
def pairs(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    axis = p.range(len(x.shape))
    a = axis_text(p, axis, len(x.shape))
    name = p.choice(["max", "min", "median", "sort", "topk", "cummax", "cummin"])
    which = p.choice([0, 0, 1])
    cls = "if"[which == 0]
    if name == "topk":
        k = min(min(x.shape[axis]), p.range(3) + 1)
        return f"topk({x.name}, {k}, {a})[{which}]", cls, x.shape[:axis] + ((k, k),) + x.shape[axis + 1:]
    if name in ("max", "min", "median"):
        return f"{x.name}.{name}({a})[{which}]", cls, x.shape[:axis] + x.shape[axis + 1:]
    return f"{name}({x.name}, {a})[{which}]", cls, x.shape


@rule("cumsum cumprod argsort running_arg", 0.8)
def scan(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    axis = p.range(len(x.shape))
    name, cls = p.choice([("cumsum", "f"), ("cumprod", "f"), ("argsort", "i"), ("cumsum", "f")])
    source = f"(tanh({x.name}) + 1.2)" if name == "cumprod" else x.name
    return f"{name}({source}, {axis_text(p, axis, len(x.shape))})", cls, x.shape


@rule("softmax log_softmax glu", 2)
def normalised(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    axis = len(x.shape) - 1 if p.chance(0.6) else p.range(len(x.shape))
    a = axis_text(p, axis, len(x.shape))
    d = x.shape[axis]
    if p.chance(0.15) and d[0] % 2 == 0 and d[1] % 2 == 0:
        return f"glu({x.name}, {a})", "f", x.shape[:axis] + ((d[0] // 2, d[1] // 2),) + x.shape[axis + 1:]
    scale = p.choice(["", "", " * 0.25", f" * (1.0 / math.sqrt({x.name}.shape[{axis}]))"])
    return f"{p.choice(['softmax', 'softmax', 'log_softmax'])}({x.name}{scale}, {a})", "f", x.shape


# ---- shapes
def moved(p):
    return p.any() if p.chance(0.15) else p.some("f")


@rule("reshape flatten unflatten squeeze unsqueeze", 2)
def reshaped(p):
    x = moved(p)
    rank = len(x.shape)
    kind = p.range(6)
    if kind == 0:
        return f"{x.name}.reshape(-1)", x.cls, (dims_product(x.shape),)
    if kind == 1 and rank >= 2:
        k = p.range(rank - 1)
        return f"{x.name}.flatten({k}, {k + 1})", x.cls, x.shape[:k] + (dims_product(x.shape[k:k + 2]),) + x.shape[k + 2:]
    if kind == 2 and rank >= 2:
        if x.shape[0][0] * x.shape[0][1] == 0:
            return None
        return f"{x.name}.reshape({x.name}.shape[0], -1)", x.cls, (x.shape[0], dims_product(x.shape[1:]))
    if kind == 3:
        for k in p.sample(range(rank), rank):
            for f in (2, 3, 4):
                d = x.shape[k]
                if d[0] % f == 0 and d[1] % f == 0 and d[0] > f:
                    return f"unflatten({x.name}, {k}, ({f}, -1))", x.cls, x.shape[:k] + ((f, f), (d[0] // f, d[1] // f)) + x.shape[k + 1:]
    if kind == 4 and (1, 1) in x.shape:
        k = x.shape.index((1, 1))
        return f"{x.name}.squeeze({k})", x.cls, x.shape[:k] + x.shape[k + 1:]
    if rank < 4:
        k = p.range(rank + 1)
        return p.choice([f"{x.name}.unsqueeze({k})", f"unsqueeze({x.name}, {k - rank - 1})"]), x.cls, x.shape[:k] + ((1, 1),) + x.shape[k:]
    return None


@rule("permute transpose t movedim permute_back", 2.5)
def permuted(p):
    x = p.some("f", lambda v: len(v.shape) >= 2) if p.chance(0.9) else p.any()
    rank = len(x.shape) if x else 0
    if rank < 2:
        return None
    kind = p.range(3)
    if kind == 0:
        a, b = p.sample(range(rank), 2)
        s = list(x.shape)
        s[a], s[b] = s[b], s[a]
        return f"{x.name}.transpose({axis_text(p, a, rank)}, {axis_text(p, b, rank)})", x.cls, tuple(s)
    if kind == 1:
        order = p.sample(range(rank), rank)
        return f"permute({x.name}, {', '.join(map(str, order))})", x.cls, tuple(x.shape[a] for a in order)
    a, b = p.range(rank), p.range(rank)
    rest = [d for i, d in enumerate(x.shape) if i != a]
    rest.insert(b, x.shape[a])
    return f"movedim({x.name}, {a}, {b})", x.cls, tuple(rest)


@rule("t", whole=False)
def transposed(p):
    x = p.some("f", lambda v: len(v.shape) >= 2)
    return x and (f"{x.name}.T", "f", x.shape[::-1])


@rule("expand unreduce expand_as sum_to repeat tile", 1.2, whole=False)
def repeated(p):
    x = moved(p)
    rank = len(x.shape)
    ones = [k for k, d in enumerate(x.shape) if d == (1, 1)]
    if ones and p.chance(0.7):
        k = p.choice(ones)
        n = p.dim()
        if not fixed(n):
            return None
        sizes = ["-1"] * rank
        sizes[k] = str(n[0])
        return f"{x.name}.expand({', '.join(sizes)})", x.cls, x.shape[:k] + (n,) + x.shape[k + 1:]
    if rank and rank < 4 and p.numel(x.shape) < 3000:
        k = p.range(rank)
        times = [2 if a == k else 1 for a in range(rank)]
        name = p.choice(["repeat", "tile"])
        return f"{x.name}.{name}({', '.join(map(str, times))})", x.cls, tuple((d[0] * t, d[1] * t) for d, t in zip(x.shape, times))
    fits = [v for v in p.values if v.cls == x.cls and broadcast(x.shape, v.shape) == v.shape]
    y = p.choice(fits)
    return f"{x.name}.expand_as({y.name})", x.cls, y.shape


@rule("flip roll rot90 tril triu trace diagonal diag diagonal_back narrow narrow_back pad pad_constant pad_indices", 2)
def rearranged(p):
    x = moved(p)
    rank = len(x.shape)
    if rank == 0:
        return None
    axis = p.range(rank)
    d = x.shape[axis]
    least = min(d)
    kind = p.range(9)
    if kind == 0:
        axes = p.sample(range(rank), p.range(rank) + 1)
        return f"flip({x.name}, {', '.join(map(str, axes))})", x.cls, x.shape
    if kind == 1:
        return f"roll({x.name}, {p.range(5) - 2}, {axis_text(p, axis, rank)})", x.cls, x.shape
    if kind == 2 and rank == 2:
        k = p.range(4)
        return f"rot90({x.name}, {k})", x.cls, x.shape if k % 2 == 0 else x.shape[::-1]
    if kind == 3 and rank >= 2:
        return f"{p.choice(['tril', 'triu'])}({x.name}{p.choice(['', ', 1', ', -1'])})", x.cls, x.shape
    if kind == 4 and rank >= 2:
        a, b = sorted(p.sample(range(rank), 2))
        n = (min(x.shape[a][0], x.shape[b][0]), min(x.shape[a][1], x.shape[b][1]))
        rest = tuple(s for k, s in enumerate(x.shape) if k not in (a, b))
        return f"ouro.diagonal({x.name}, 0, {a}, {b})", x.cls, rest + (n,)
    if kind == 5:
        if rank == 1:
            return f"diag({x.name})", x.cls, (d, d)
        return (f"trace({x.name})", x.cls, ()) if rank == 2 else None
    if kind == 6 and least >= 2:
        start = p.range(least)
        n = p.range(least - start) + 1
        return f"narrow({x.name}, {axis}, {start}, {n})", x.cls, x.shape[:axis] + ((n, n),) + x.shape[axis + 1:]
    if kind == 7 and least >= 2:
        return f"narrow({x.name}, {axis}, 1, {x.name}.shape[{axis}] - 1)", x.cls, x.shape[:axis] + ((d[0] - 1, d[1] - 1),) + x.shape[axis + 1:]
    lo, hi = p.range(3), p.range(3)
    last = x.shape[-1]
    fill = p.choice(["", ", value=0.5" if x.cls == "f" else ""])
    if p.chance(0.25) and rank in (2, 3) and x.cls == "f" and min(last) > 2:
        fill = f", mode='{p.choice(['reflect', 'replicate', 'circular'])}'"
    return f"pad({x.name}, ({lo}, {hi}){fill})", x.cls, x.shape[:-1] + ((last[0] + lo + hi, last[1] + lo + hi),)


@rule("cat stack hstack vstack uncat", 1.2)
def joined(p):
    x = moved(p)
    rank = len(x.shape)
    same = [v for v in p.values if v.cls == x.cls and v.shape == x.shape]
    parts = [x] + [p.choice(same) for _ in range(p.range(2) + 1)]
    names = ", ".join(v.name for v in parts)
    if rank == 0 or (p.chance(0.4) and rank < 4):
        k = p.range(rank + 1)
        return f"stack([{names}], {k})", x.cls, x.shape[:k] + ((len(parts),) * 2,) + x.shape[k:]
    k = p.range(rank)
    others = [v for v in p.values if v.cls == x.cls and len(v.shape) == rank and all(a == k or v.shape[a] == x.shape[a] for a in range(rank))]
    y = p.choice(others)
    n = (x.shape[k][0] + y.shape[k][0], x.shape[k][1] + y.shape[k][1])
    return f"cat([{x.name}, {y.name}], {axis_text(p, k, rank)})", x.cls, x.shape[:k] + (n,) + x.shape[k + 1:]


@rule("split chunk unbind unfold meshgrid", 0.8, whole=False)
def taken_apart(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    k = p.range(len(x.shape))
    d = x.shape[k]
    kind = p.range(4)
    if kind == 0:
        i = p.range(min(min(d), 3))
        return f"unbind({x.name}, {k})[{i}]", "f", x.shape[:k] + x.shape[k + 1:]
    if kind == 1 and d[0] % 2 == 0 and d[1] % 2 == 0:
        return f"chunk({x.name}, 2, {k})[{p.range(2)}]", "f", x.shape[:k] + ((d[0] // 2, d[1] // 2),) + x.shape[k + 1:]
    if kind == 2 and min(d) >= 3 and fixed(d):
        n = p.range(d[0] - 1) + 1
        return f"split({x.name}, {n}, {k})[0]", "f", x.shape[:k] + ((n, n),) + x.shape[k + 1:]
    if min(d) >= 3 and len(x.shape) < 4:
        size, step = p.range(min(min(d), 4)) + 1, p.range(2) + 1
        n = ((d[0] - size) // step + 1, (d[1] - size) // step + 1)
        return f"unfold({x.name}, {k}, {size}, {step})", "f", x.shape[:k] + (n,) + x.shape[k + 1:] + ((size, size),)
    return None


# ---- indexing
def key_of(p, shape):
    """An index for a tensor of that shape: text, and the shape it picks; basic parts and at most one list of places."""
    parts, out, used = [], [], False
    axes = p.range(len(shape)) + 1
    skip = p.chance(0.2) and axes < len(shape)
    picked = list(shape[len(shape) - axes:] if skip else shape[:axes])
    for d in picked:
        least = min(d)
        kind = p.range(8)
        if least == 0:
            parts.append(":")
            out.append(d)
        elif kind == 0:
            parts.append(str(p.range(least) - (least if p.chance(0.3) else 0)))
        elif kind == 1 and not used:
            used = True
            n = p.range(4) + 1
            places = [p.range(least) for _ in range(n)]
            if not p.writing:
                parts.append(f"tensor({places})")
            else:
                places = sorted(set(places))
                n = len(places)
                parts.append(f"tensor({places})")
            out.append((n, n))
        elif kind <= 4:
            a, b, c = p.range(least), p.range(least) + 1, p.choice([1, 1, 2, -1, -2])
            text = p.choice([f"{a}:", f":{b}", f"{a}::{abs(c)}", "::-1", f"::{c}", f":-1" if least > 1 else ":"])
            start, stop, step = (int(t) if t else None for t in (text.split(":") + [""])[:3])
            lengths = tuple(len(range(*slice(start, stop, step).indices(n))) for n in d)
            parts.append(text)
            out.append(lengths)
        else:
            parts.append(":")
            out.append(d)
        if p.chance(0.08) and not p.writing and not used:
            parts.append("None")
            out.append((1, 1))
    rest = shape[:len(shape) - axes] if skip else shape[axes:]
    if used and any(t.lstrip("-").isdigit() for t in parts) and len(parts) > 1:
        return None  # an int beside a list of places is one, too: their order is NumPy's affair, and tested elsewhere
    if skip:
        return "..., " + ", ".join(parts), tuple(rest) + tuple(out)
    return ", ".join(parts), tuple(out) + tuple(rest)


@rule("getitem", 2.5, whole=False)
def indexed(p):
    x = moved(p)
    if not x.shape:
        return None
    p.writing = False
    key = key_of(p, x.shape)
    return key and (f"{x.name}[{key[0]}]", x.cls, key[1])


@rule("index_put index_accumulate", 1.5, whole=False)
def written(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    p.writing = True
    key = key_of(p, x.shape)
    if not key:
        return None
    fits = [v for v in p.values if v.cls == "f" and broadcast(v.shape, key[1]) == key[1]]
    value = p.choice(fits).name if fits and p.chance(0.6) else p.choice(["0", "0.5", f"{x.name}[{key[0]}] * 2"])
    op = p.choice(["=", "=", "+=", "*="])
    return ["{} = " + x.name, "{}[" + key[0] + f"] {op} {value}"], "f", x.shape


@rule("index_put masked_select nonzero unique", 0.8, whole=False)
def masked(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    kind = p.range(5)
    if kind == 0:
        return ["{} = " + x.name, "{}[" + x.name + " > 0.5] = 0.25"], "f", x.shape
    if kind == 1:
        return f"{x.name}[{x.name} > 0].sum()", "f", ()
    if kind == 2:
        return f"masked_select({x.name}, {x.name} < 0.3).square().sum()", "f", ()
    if kind == 3:
        return f"nonzero({x.name} > 0).sum()", "i", ()
    return f"unique(floor({x.name} * 2)).sum()", "f", ()


@rule("updates in place", 1.0)
def updated(p):
    x, y = pair(p)
    if broadcast(x.shape, y.shape) != x.shape:
        return None
    return ["{} = " + x.name + " * 1.0", "{} " + p.choice(["+=", "-=", "*="]) + f" {y.name}"], "f", x.shape


@rule("gather scatter scatter_add index_select index_add take_along_axis take", 1.5, whole=False)
def by_places(p):
    x = p.some("f", lambda v: len(v.shape) > 0)
    if not x:
        return None
    k = p.range(len(x.shape))
    d = x.shape[k]
    if min(d) == 0:
        return None
    index = f"argmax({x.name}, {k}, True)" if p.chance(0.3) else None
    kind = p.range(7)
    a = axis_text(p, k, len(x.shape))
    one = x.shape[:k] + ((1, 1),) + x.shape[k + 1:]
    if kind == 0:
        return f"gather({x.name}, {a}, {index or f'argsort({x.name}, {k})'})", "f", one if index else x.shape
    if kind == 1:
        source = p.tensor("f", one) if index else p.tensor("f", x.shape)
        return f"{p.choice(['scatter', 'scatter_add'])}({x.name}, {a}, {index or f'argsort({x.name}, {k})'}, {source.name})", "f", x.shape
    n = p.range(4) + 1
    places = [p.range(min(d)) for _ in range(n)]
    picked = x.shape[:k] + ((n, n),) + x.shape[k + 1:]
    if kind in (2, 3):
        return f"index_select({x.name}, {a}, tensor({places}))", "f", picked
    if kind == 4:
        return f"index_add({x.name}, {a}, tensor({places}), {p.tensor('f', picked).name})", "f", x.shape
    if kind == 5:
        total = min(p.numel(x.shape), 50)
        return f"take({x.name}, tensor({[p.range(total) for _ in range(n)]}))", "f", ((n, n),)
    return f"take_along_axis({x.name}, {f'argmin({x.name}, {k}, True)'}, {a})", "f", one


@rule("embedding one_hot bincount searchsorted histogram arange linspace logspace full zeros ones empty eye zeros_like ones_like full_like "
      "hann_window hamming_window blackman_window bartlett_window kaiser_window", 1.0, whole=False)
def made(p):
    kind = p.range(8)
    if kind == 0:
        ids = [p.range(5) for _ in range(p.range(4) + 2)]
        w = p.tensor("f", ((5, 5), p.dim()))
        return f"embedding(tensor({ids}), {w.name})", "f", ((len(ids),) * 2, w.shape[1])
    if kind == 1:
        i = p.some("i", lambda v: len(v.shape) in (1, 2))
        return i and (f"one_hot({i.name}.clamp(0, 3), 4).float()", "f", i.shape + ((4, 4),))
    if kind == 2:
        x = p.some("f", lambda v: len(v.shape) > 0)
        return x and (f"searchsorted(linspace(-1, 1, 5), {x.name}.float())", "i", x.shape)
    if kind == 3:
        x = p.some("f", lambda v: len(v.shape) > 0)
        return x and (f"histogram({x.name}, 4, -1.0, 1.0).float()", "f", ((4, 4),))
    if kind == 4:
        x = p.some("f", lambda v: len(v.shape) > 0)
        return x and (f"arange({x.name}.shape[-1]).float() * 0.1", "f", x.shape[-1:])
    if kind == 5:
        n = p.dim()
        return fixed(n) and (p.choice([f"eye({n[0]})", f"ones({n[0]}, {n[0]})", f"full(({n[0]}, {n[0]}), 0.3)"]), "f", (n, n))
    if kind == 6:
        n = p.dim()
        return fixed(n) and (p.choice([f"linspace(-1, 1, {n[0]})", f"zeros({n[0]})", f"logspace(-1, 0, {n[0]})",
                                       f"{p.choice(['hann', 'hamming', 'blackman', 'bartlett', 'kaiser'])}_window({n[0]}, {p.chance(0.5)})"]), "f", (n,))
    x = p.some("f")
    return p.choice(["zeros_like({0})", "ones_like({0})", "full_like({0}, 0.7)"]).format(x.name), "f", x.shape


# ---- contractions
@rule("matmul linear bmm mm mv dot inner outer matmul_nt matmul_tn", 4)
def product(p):
    x = p.some("f", lambda v: 1 <= len(v.shape) <= 3)
    if not x:
        return None
    k = x.shape[-1]
    kind = p.range(7)
    scale = p.choice(["", " * 0.3", " * 0.1"])
    if kind <= 2:
        n = p.dim()
        y = p.tensor("f", (k, n))
        text = f"mm({x.name}, {y.name})" if len(x.shape) == 2 and p.chance(0.2) else f"{x.name} @ {y.name}"
        return f"{text}{scale}", "f", x.shape[:-1] + (n,)
    if kind == 3 and len(x.shape) >= 2:
        m = x.shape[-2]
        y = p.tensor("f", (p.dim(), k))
        if p.chance(0.3):
            return f"inner({x.name}, {y.name}){scale}", "f", x.shape[:-1] + (y.shape[0],)
        return f"{x.name} @ transpose({y.name}, 0, 1){scale}", "f", x.shape[:-1] + (y.shape[0],)
    if kind == 4 and len(x.shape) == 3:
        n = p.dim()
        y = p.tensor("f", (x.shape[0], k, n))
        return f"bmm({x.name}, {y.name}){scale}", "f", x.shape[:-1] + (n,)
    if kind == 5:
        n = p.dim()
        w = p.tensor("f", (n, k))
        b = f", {p.tensor('f', (n,)).name}" if p.chance(0.6) else ""
        return f"linear({x.name}, {w.name}{b}){scale}", "f", x.shape[:-1] + (n,)
    if len(x.shape) == 1:
        y = p.tensor("f", (k,) if p.chance(0.5) else (p.dim(),))
        if y.shape == (k,) and p.chance(0.5):
            return f"dot({x.name}, {y.name})", "f", ()
        return f"outer({x.name}, {y.name})", "f", (k, y.shape[0])
    return f"{x.name} @ {p.tensor('f', (k,)).name}", "f", x.shape[:-1]


@rule("matmul in a square", 1.5)
def square_product(p):
    x = p.some("f", lambda v: len(v.shape) >= 2 and v.shape[-1] == v.shape[-2])
    return x and (p.choice(["{0} @ {0}", "{0} @ {0}.transpose(-1, -2)", "softmax({0}, -1) @ {0}", "{0}.transpose(-2, -1) @ {0}"]).format(x.name) + " * 0.2", "f", x.shape)


@rule("einsum tensordot kron cross bilinear", 0.7, whole=False)
def contraction(p):
    x = p.some("f", lambda v: len(v.shape) == 2)
    if not x:
        return None
    a, b = x.shape
    kind = p.range(5)
    if kind == 0:
        y = p.tensor("f", (b, p.dim()))
        return f"einsum('ij,jk->ki', {x.name}, {y.name})", "f", (y.shape[1], a)
    if kind == 1:
        y = p.tensor("f", (a, b))
        return f"einsum('ij,ij->i', {x.name}, {y.name})", "f", (a,)
    if kind == 2:
        y = p.tensor("f", (b, p.dim()))
        return f"tensordot({x.name}, {y.name}, 1)", "f", (a, y.shape[1])
    if kind == 3 and p.numel(x.shape) < 300:
        return f"kron({x.name}, ones(2, 2))", "f", ((a[0] * 2, a[1] * 2), (b[0] * 2, b[1] * 2))
    y = p.tensor("f", (a, (3, 3)))
    return f"cross({y.name}, {y.name} * 0.5 + 1)", "f", y.shape


# ---- linear algebra of a small square
SQUARES = ["inv({0} * 0.1 + {1} * 2)", "det({0} * 0.3 + {1}) * {0}", "slogdet({0} * 0.1 + {1})[1] + {0}", "logdet({0} * 0.1 + {1} * 2) * {0}",
           "solve({0} * 0.1 + {1}, {0})", "cholesky({0} @ {0}.transpose(-1, -2) * 0.1 + {1})", "matrix_exp({0} * 0.2)", "matrix_power({0} * 0.3, 3)",
           "cholesky_solve({0}, {0} * 0.1 + {1} * 2)", "cholesky_inverse({0} * 0.1 + {1} * 2)", "triangular_solve({0}, {0} * 0.1 + {1} * 2)[0]",
           "solve_triangular({0} * 0.1 + {1} * 2, {0}, upper=False)", "qr({0} * 0.1 + {1})[1]", "eigvalsh({0} * 0.05 + {2})",
           "svdvals({0} * 0.05 + {2})", "pinv({0} * 0.1 + {1} * 2)", "matrix_norm({0})", "vector_norm({0}, 3) * {0}", "cond({0} * 0.05 + {2}) + {0}",
           "svd({0} * 0.05 + {2})[0].square()", "eigh({0} * 0.05 + {2})[1].square()", "matrix_rank({0} * 0.1 + {1} * 2) * {0}",
           "householder_product({0}, {0}[0] * 0.3)", "multi_dot([{0}, {0}, {0}]) * 0.1", "addmm({0}, {0}, {0}, beta=0.5, alpha=0.1)", "addr({0}, {0}[0], {0}[1])", "corrcoef({0} + {1})"]


@rule("inv det slogdet logdet solve cholesky matrix_exp matrix_power cholesky_solve cholesky_inverse triangular_solve solve_triangular qr eigvalsh eigh svdvals "
      "svd pinv matrix_norm vector_norm cond matrix_rank householder_product multi_dot addmm addr corrcoef solve_square solve_back triangular triangle_times triangular_back "
      "cholesky_lower cholesky_back cofactors cofactors_back logabsdet det_sign qr_columns qr_columns_back eigh_packed eigh_back svd_packed svd_back "
      "pinv_cut pinv_back", 0.5, whole=False)
def square(p):
    n = p.range(2) + 2
    x = p.some("f", lambda v: v.shape == ((n, n), (n, n))) or p.tensor("f", ((n, n), (n, n)))
    text = p.choice(SQUARES)
    apart = f"diag(tensor([{', '.join(str(3.0 * k + 2) for k in range(n))}]))"
    shape = ((n, n),) if "vals" in text else () if "matrix_norm" in text else x.shape
    if "cond(" in text or "matrix_rank" in text:
        shape = x.shape
    return text.format(f"tanh({x.name})", f"(eye({n}) * 3)", apart), "f", shape


# ---- rows and columns of a matrix
MATRICES = [("cdist({0}, {0} * 0.5)", "aa"), ("cov({0})", "aa"), ("normalize({0})", "ab"), ("renorm({0}, 2, 0, 1.0)", "ab"), ("dist({0}, {0} * 0.5)", ""),
            ("quantile({0}, 0.3, 1)", "a"), ("nanquantile({0}, 0.7, 0)", "b"), ("kthvalue({0}, 1, 1)[0]", "a"), ("mode({0}, 1)[0]", "a"),
            ("nanmedian({0}, 0)[0]", "b"), ("aminmax({0}, axis=1)[0]", "a"), ("msort({0})", "ab"), ("nansum({0}, 1)", "a"), ("nanmean({0}, 0)", "b"),
            ("std_mean({0}, 1, False)[0]", "a"), ("var_mean({0}, 0, False)[1]", "b"), ("logcumsumexp({0}, 1)", "ab"), ("trapezoid({0}, axis=0)", "b"),
            ("select({0}, 0, -1)", "b"), ("select_scatter({0}, {0}[0], 0, 0)", "ab"), ("slice_scatter({0}, {0}[:1], 0, 0, 1)", "ab"),
            ("diagonal_scatter({0}, diagonal({0}) * 2)", "ab"), ("index_copy({0}, 0, tensor([0]), {0}[:1] * 2)", "ab"),
            ("index_fill({0}, 1, tensor([0]), 0.5)", "ab"), ("masked_scatter({0}, {0} > 0, {0} * 2)", "ab"), ("fliplr({0})", "ab"), ("flipud({0})", "ab"),
            ("addmv({0}.sum(1), {0}, {0}[0])", "a"), ("scatter_reduce({0}, 0, zeros({0}.shape, dtype=i64), {0}, 'amax')", "ab"),
            ("scatter_reduce({0}, 0, zeros({0}.shape, dtype=i64), {0} * 0.3, 'mean')", "ab"), ("take_along_axis({0}, argsort({0}, 1), 1)", "ab"),
            ("atleast_2d({0})", "ab"), ("block_diag({0})", "ab"), ("broadcast_tensors({0}, {0}[0])[1]", "ab"), ("vsplit({0}, (0,))[1]", "ab"),
            ("hsplit({0}, (0,))[1]", "ab"), ("tensor_split({0}, (0,))[1]", "ab"), ("column_stack([{0}])", "ab"), ("diff({0}, 0)", "ab"),
            ("pixel_unshuffle({0}[None, None, None], 1)[0, 0]", "1ab"), ("triplet_margin_with_distance_loss({0}, {0} * 0.5, tanh({0}))", ""),
            ("{0}.scatter(0, zeros({0}.shape, dtype=i64), {0}, reduce='add')", "ab"), ("{0}.scatter(1, argsort({0}, 1), tanh({0}), reduce='multiply')", "ab"),
            ("{0}.index_put((tensor([0, 0]), tensor([0, 0])), {0}[0, :1] * 2, accumulate=True)", "ab"), ("index_put({0}, ({0} > 0,), 0.5)", "ab"),
            ("{0}[nonzero({0} > 0, as_tuple=True)].sum()", ""), ("{0}[where({0} > 0)].square().sum()", "")]


@rule("cdist cov normalize renorm dist quantile nanquantile quantile_by kthvalue mode nanmedian aminmax msort nansum nanmean std_mean var_mean logcumsumexp "
      "trapezoid cumulative_trapezoid select select_scatter slice_scatter diagonal_scatter index_copy index_fill masked_scatter fliplr flipud addmv "
      "scatter_reduce scatter_combine scatter_combine_back scatter_shares atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors vsplit hsplit dsplit "
      "tensor_split column_stack dstack diff pixel_unshuffle triplet_margin_with_distance_loss scatter_reduced index_written nonzero_places", 0.8, whole=False)
def matrix(p):
    x = p.some("f", lambda v: len(v.shape) == 2 and min(min(d) for d in v.shape) > 0 and p.numel(v.shape) < 400)
    if not x:
        return None
    text, shape = p.choice(MATRICES)
    dims = {"a": x.shape[0], "b": x.shape[1], "1": (1, 1)}
    return text.format(x.name), "f", tuple(dims[c] for c in shape)


# ---- vectors, elements
VECTORS = ["segment_sum({0}, arange({0}.shape[0]) // 2)", "segment_mean({0}, arange({0}.shape[0]) // 2)", "segment_max({0}, arange({0}.shape[0]) // 2)",
           "segment_min({0}, arange({0}.shape[0]) // 2)", "segment_prod({0}, arange({0}.shape[0]) // 2)", "pdist({0}[:, None])",
           "repeat_interleave({0}, 2)", "vander(tanh({0}), 3)", "combinations({0}[:3])", "cartesian_prod({0}[:2], {0}[:3])", "diag_embed({0})", "diagflat({0})",
           "unique_consecutive({0})", "tril_indices(3, 4) * {0}.sum()", "triu_indices(3, 4) * {0}.sum()", "addbmm({0}[:1, None], {0}[None, :1, None], {0}[None, None, :1])",
           "baddbmm({0}[:1, None, None], {0}[:1, None, None], {0}[:1, None, None])", "bucketize({0}, tensor([-0.5, 0.5])) * {0}"]


@rule("segment_sum segment_mean segment_max segment_min segment_prod pdist repeat_interleave vander combinations cartesian_prod diag_embed diagflat "
      "unique_consecutive tril_indices triu_indices addbmm baddbmm bucketize", 0.4, whole=False)
def vector(p):
    x = p.some("f", lambda v: len(v.shape) == 1 and min(v.shape[0]) > 2)
    return x and (f"{p.choice(VECTORS).format(x.name)}.square().sum() + {x.name}", "f", x.shape)


ELEMENTS = ["sinc({0})", "logit(sigmoid({0}), 1e-3)", "i0(tanh({0}))", "i1(tanh({0}))", "mvlgamma({0}.abs() + 2, 2)", "xlog1py({0}, {0}.abs())",
            "heaviside({0}, 0.5) * {0}", "float_power({0}.abs() + 0.2, 1.5).astype({0}.dtype)", "fmax({0}, 0.1)", "fmin({0}, 0.2)", "ldexp({0}, -1)", "signbit({0}) * {0}",
            "deg2rad({0})", "rad2deg({0})", "isposinf({0}) + {0}", "isneginf({0}) + {0}", "positive({0})", "logaddexp2({0}, 0.3)", "erfcinv(sigmoid({0}) + 0.3)",
            "polygamma(1, {0}.abs() + 0.5)", "isin({0}, tensor([0.0])) * 1.0 + {0}", "gcd(floor({0}).long(), 6) + {0}", "lcm(floor({0}).long(), 4) + {0}",
            "gumbel_softmax({0}[None], axis=0)[0] + {0}", "exponential(0.1) + {0}", "{0}.add({0}.abs(), alpha=0.5)", "ouro.sub(0.3, {0}, alpha=2)",
            "{0}.div({0}.square() + 1, rounding_mode='floor') + {0}", "div({0}, 0.3, rounding_mode='trunc') + {0}", "div({0}, 2.5)", "where({0} > 0, {0}, {0} * 2)",
            "{0}.reshape(-1).reshape_as({0})", "{0}.type_as({0} > 0).type_as({0}) + {0}", "{0} / (numel({0}) + 1)",
            "{0}.new_zeros({0}.shape) + {0}", "{0}.new_ones({0}.shape) * {0}", "{0}.new_full({0}.shape, 0.3) + {0}", "{0}.new_empty({0}.shape) + {0}", "{0} - {0}.new_tensor([0.5])"]


@rule("sinc logit i0 i1 bessel_i bessel_i_slope mvlgamma xlog1py heaviside float_power ldexp fmax fmin signbit deg2rad rad2deg isposinf isneginf positive logaddexp2 "
      "erfcinv polygamma isin gcd lcm same_gcd gumbel_softmax exponential add_scaled sub_scaled div_rounded where_chosen reshape_as type_as numel new_zeros new_ones "
      "new_full new_empty new_tensor", 0.5, whole=False)
def element(p):
    x = p.some("f", lambda v: len(v.shape) <= 3)
    return x and (p.choice(ELEMENTS).format(x.name), "f", x.shape)


# ---- images
IMAGES = ["im2col({0}, 2, 1, 1, 1)", "fold(im2col({0}, 2, 1, 1, 1), {0}.shape[2:], 2, 1, 1, 1)", "grid_sample({0}, affine_grid(ones({0}.shape[0], 2, 3) * 0.4, (-1 + 1 + {0}.shape[0], 1, 3, 2)))",
          "lp_pool2d({0}.abs() + 0.1, 2, 1)", "channel_shuffle({0}, 1)", "adaptive_avg_pool1d({0}[0], 2)", "adaptive_max_pool1d({0}[0], 2)",
          "adaptive_avg_pool3d({0}[None], 2)", "adaptive_max_pool3d({0}[None], 2)", "lp_pool1d({0}[0].abs() + 0.1, 2, 1)",
          "max_unpool2d({0}, zeros({0}.shape, dtype=i64), 1)", "max_unpool1d({0}[0], zeros({0}.shape[1:], dtype=i64), 1)",
          "max_unpool3d({0}[None], zeros(({0}.shape[0],) + tuple({0}.shape[1:]), dtype=i64)[None], 1)", "interpolate({0}, (3, 4), mode='bicubic')",
          "multilabel_margin_loss({0}[0, 0], (floor({0}[0, 0] * 0.3) * 0).long())", "fractional_max_pool2d({0}, 2, 1)", "fractional_max_pool2d({0}[0], 2, output_ratio=0.5)",
          "fractional_max_pool3d(stack([{0}, {0} * 0.5], 2), 2, 1)"]


@rule("im2col fold grid_sample affine_grid lp_pool lp_pool2d lp_pool1d channel_shuffle adaptive_pool adaptive_avg_pool1d adaptive_max_pool1d adaptive_avg_pool3d "
      "adaptive_max_pool3d max_unpool max_unpool1d max_unpool2d max_unpool3d multilabel_margin_loss fractional_max_pool2d fractional_max_pool3d", 0.4, whole=False)
def image(p):
    x = p.some("f", lambda v: len(v.shape) == 4 and min(min(d) for d in v.shape) > 1 and p.numel(v.shape) < 1000)
    if not x:
        c = p.range(3) + 2
        x = p.tensor("f", ((2, 2), (c, c), (3, 3), (4, 4)))
    return f"{p.choice(IMAGES).format(x.name)}.square().sum() * 0.1", "f", ()


# ---- networks
@rule("layer_norm rms_norm group_norm instance_norm batch_norm batch_norm_statistics", 1.5)
def norms(p):
    x = p.some("f", lambda v: len(v.shape) >= 2)
    if not x:
        return None
    kind = p.range(5)
    d = x.shape[-1]
    if kind <= 1 and fixed(d):
        extra = f", {p.tensor('f', (d,)).name}, {p.tensor('f', (d,)).name}" if p.chance(0.5) else ""
        return f"layer_norm({x.name}, ({d[0]},){extra})", "f", x.shape
    if kind == 2 and fixed(d):
        return f"rms_norm({x.name}, ({d[0]},))", "f", x.shape
    if len(x.shape) >= 3 and p.chance(0.5):
        return f"instance_norm({x.name})" if p.chance(0.5) else f"group_norm({x.name}, 1)", "f", x.shape
    c = x.shape[1]
    if p.chance(0.2) and min(dims_product(x.shape)) > max(c):
        return f"batch_norm_statistics({x.name}, zeros({x.name}.shape[1]), ones({x.name}.shape[1]), 0.2)[{p.range(2)}]", "f", (c,)
    if p.chance(0.7) and min(dims_product(x.shape)) > max(c):
        return f"batch_norm({x.name}, None, None, training=True)", "f", x.shape
    return f"batch_norm({x.name}, zeros({x.name}.shape[1]), ones({x.name}.shape[1]))", "f", x.shape


@rule("conv1d conv2d conv_transpose1d conv_transpose2d convolve convolve_input convolve_weight conv_any conv_transpose_any tuple_of", 1.2)
def convolution(p):
    n = p.choice([1, 2, 2])
    x = p.some("f", lambda v: len(v.shape) == n + 2) if p.chance(0.6) else None
    if not x:
        c = p.choice([1, 2, 3, 4])
        x = p.tensor("f", (p.dim(4), (c, c)) + tuple(p.dim(9) for _ in range(n)))
    if not fixed(x.shape[1]) or x.shape[1][0] > 16 or p.numel(x.shape) > 4000 or min(min(d) for d in x.shape) == 0:
        return None
    c, o, k = x.shape[1][0], p.choice([1, 2, 3, 4]), p.range(3) + 1
    stride, padding = p.range(2) + 1, p.range(2)
    if p.chance(0.25):
        w = p.tensor("f", (x.shape[1], (o, o)) + ((k, k),) * n)
        size = [tuple((s - 1) * stride - 2 * padding + k for s in d) for d in x.shape[2:]]
        if min(min(s) for s in size) < 1:
            return None
        return f"conv_transpose{n}d({x.name}, {w.name}, stride={stride}, padding={padding})", "f", (x.shape[0], (o, o)) + tuple(size)
    groups = c if p.chance(0.15) else 1
    o = o * groups
    w = p.tensor("f", ((o, o), (c // groups,) * 2) + ((k, k),) * n)
    b = f", {p.tensor('f', ((o, o),)).name}" if p.chance(0.5) else ""
    size = [tuple((s + 2 * padding - k) // stride + 1 for s in d) for d in x.shape[2:]]
    if min(min(s) for s in size) < 1 or min(s + 2 * padding - k for d in x.shape[2:] for s in d) < 0:
        return None
    return f"conv{n}d({x.name}, {w.name}{b}, stride={stride}, padding={padding}, groups={groups})", "f", (x.shape[0], (o, o)) + tuple(size)


@rule("conv3d conv_transpose3d max_pool3d avg_pool3d", 0.1)
def volumes(p):
    x = p.tensor("f", ((2, 2), (2, 2), (3, 3), (4, 4), (4, 4)))
    kind = p.range(4)
    if kind == 0:
        return f"{p.choice(['max', 'avg'])}_pool3d({x.name}, 2).flatten(2)", "f", ((2, 2), (2, 2), (4, 4))
    if kind == 1:
        w = p.tensor("f", ((2, 2), (2, 2), (2, 2), (2, 2), (2, 2)))
        return f"conv_transpose3d({x.name}, {w.name}).flatten(2)", "f", ((2, 2), (2, 2), (100, 100))
    w = p.tensor("f", ((2, 2), (2, 2), (2, 2), (2, 2), (2, 2)))
    return f"conv3d({x.name}, {w.name}).flatten(2)", "f", ((2, 2), (2, 2), (18, 18))


@rule("max_pool1d max_pool2d avg_pool1d avg_pool2d max_pool avg_pool max_pool_index pool_gather pool_scatter avg_pool_back adaptive_avg_pool2d adaptive_max_pool2d "
      "local_response_norm interpolate pixel_shuffle", 1.0)
def pooling(p):
    x = p.some("f", lambda v: len(v.shape) in (3, 4) and min(min(d) for d in v.shape) > 0)
    if not x or p.numel(x.shape) > 4000:
        return None
    n = len(x.shape) - 2
    space = x.shape[2:]
    kind = p.range(6)
    if kind <= 2:
        k, s = p.range(3) + 1, p.range(2) + 1
        pad = p.range(k // 2 + 1)
        size = [tuple((e + 2 * pad - k) // s + 1 for e in d) for d in space]
        if min(min(e) for e in size) < 1 or min(e + 2 * pad - k for d in space for e in d) < 0:
            return None
        return f"{p.choice(['max_pool', 'avg_pool'])}{n}d({x.name}, {k}, stride={s}, padding={pad})", "f", x.shape[:2] + tuple(size)
    if n != 2:
        return None
    if kind == 3:
        return f"adaptive_{p.choice(['avg', 'max'])}_pool2d({x.name}, (2, 1))", "f", x.shape[:2] + ((2, 2), (1, 1))
    if kind == 4:
        return f"interpolate({x.name}, (5, 4), mode='{p.choice(['nearest', 'bilinear'])}')", "f", x.shape[:2] + ((5, 5), (4, 4))
    c = x.shape[1]
    if fixed(c) and c[0] % 4 == 0:
        return f"pixel_shuffle({x.name}, 2)", "f", (x.shape[0], (c[0] // 4,) * 2) + tuple((d[0] * 2, d[1] * 2) for d in space)
    return f"local_response_norm({x.name}, 2)", "f", x.shape


@rule("scaled_dot_product_attention", 0.8)
def attention(p):
    q = p.some("f", lambda v: len(v.shape) in (2, 3, 4))
    if not q or p.numel(q.shape[:-1] + q.shape[-2:-1]) > 10**6:  # its scores
        return None
    k = p.tensor("f", q.shape)
    causal = p.choice(["", ", is_causal=True"])
    return f"scaled_dot_product_attention({q.name}, {k.name}, {p.choice([q, k]).name}{causal})", "f", q.shape


@rule("lstm_cell gru_cell rnn_cell", 0.6)
def cells(p):
    x = p.some("f", lambda v: len(v.shape) == 2)
    if not x or max(x.shape[1]) > 40:
        return None
    b, i = x.shape
    h = p.dim(16)
    if not fixed(h):
        return None
    name, n = p.choice([("lstm_cell", 4), ("gru_cell", 3), ("rnn_cell", 1)])
    state = p.tensor("f", (b, h))
    wi, wh = p.tensor("f", ((h[0] * n,) * 2, i)), p.tensor("f", ((h[0] * n,) * 2, h))
    if name == "lstm_cell":
        return f"lstm_cell({x.name}, ({state.name}, {state.name}), {wi.name}, {wh.name})[{p.range(2)}]", "f", (b, h)
    return f"{name}({x.name}, {state.name}, {wi.name}, {wh.name})", "f", (b, h)


@rule("mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div cross_entropy nll_loss hinge_embedding_loss "
      "cosine_similarity triplet_margin_loss reduce_loss", 0.8)
def losses(p):
    x = p.some("f", lambda v: len(v.shape) == 2)
    if not x:
        return None
    y = p.tensor("f", x.shape)
    kind = p.range(6)
    if kind <= 1:
        name = p.choice(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
        how = p.choice(["mean", "sum", "none"])
        return f"{name}({x.name}, {y.name}, reduction='{how}')", "f", x.shape if how == "none" else ()
    if kind == 2:
        return p.choice(["binary_cross_entropy(sigmoid({0}), sigmoid({1}))", "binary_cross_entropy_with_logits({0}, sigmoid({1}))",
                         "kl_div(log_softmax({0}), softmax({1}))", "triplet_margin_loss({0}, {1}, {0} * 0.5)",
                         "hinge_embedding_loss({0}, sign({1}))"]).format(x.name, y.name), "f", ()
    if kind == 3:
        return f"cosine_similarity({x.name}, {y.name})", "f", (x.shape[0],)
    smooth = p.choice(["", ", label_smoothing=0.1"])
    return f"cross_entropy({x.name}, argmax({y.name}, 1){smooth})", "f", ()


@rule("margin_ranking_loss cosine_embedding_loss poisson_nll_loss gaussian_nll_loss soft_margin_loss multilabel_soft_margin_loss multi_margin_loss "
      "pairwise_distance ctc_loss lengths_tensor", 0.3)
def more_losses(p):
    x = p.some("f", lambda v: len(v.shape) == 2 and min(min(d) for d in v.shape) > 1)
    if not x:
        return None
    if p.chance(0.15):
        scores = p.tensor("f", ((5, 5), (2, 2), (4, 4)))
        return f"ctc_loss(log_softmax({scores.name}, 2), tensor([[1, 2], [3, 0]]), [5, 4], [2, 1])", "f", ()
    y = p.tensor("f", x.shape)
    text = p.choice(["margin_ranking_loss({0}, {1}, sign({1}) + 0.5)", "cosine_embedding_loss({0}, {1}, sign({1}.sum(1)))",
                     "poisson_nll_loss({0}, {1} * {1})", "gaussian_nll_loss({0}, {1}, {1} * {1} + 0.5)", "soft_margin_loss({0}, sign({1}))",
                     "multilabel_soft_margin_loss({0}, sigmoid({1}))", "multi_margin_loss({0}, argmax({1}, 1))",
                     "pairwise_distance({0}, {1}).sum()"])
    return text.format(x.name, y.name), "f", ()


@rule("dropout bernoulli rand_like randn_like rand randn normal uniform multinomial randint randint_like randperm random_int", 0.5)
def random(p):
    x = p.some("f")
    text = p.choice(["dropout({0}, 0.4)", "{0} + rand_like({0}) * 0.1", "{0} * randn_like({0})", "{0} * bernoulli(sigmoid({0}))", "{0} + rand(()) * 0.2", "{0} * randint_like({0}, 1, 4)"])
    return text.format(x.name), "f", x.shape


# ---- out of tensors and back, control
@rule("numbers out of tensors", 1.5, whole=False)
def numbers(p):
    x, y = p.some("f"), p.some("f")
    text = p.choice(["{0} * {1}.mean().item()", "{0} + float({1}.sum())", "{0} / {0}.numel()", "{0} * len(str({1}.ndim))", "{0} * ({1}.abs().sum().item() + 1.0)",
                     "{0} - {1}.sum().item() * 0.01", "{0} * (1 if {1}.sum().item() > 0 else 2)", "{0} * sum({1}.shape)", "{0} * max(0.5, {1}.mean().item())"])
    if p.numel(y.shape) == 0:
        return None
    return text.format(x.name, y.name), "f", x.shape


@rule("loops and branches", 1.2, whole=False)
def control(p):
    x = p.some("f")
    y = p.choice([v for v in p.values if v.cls == "f" and broadcast(x.shape, v.shape) == x.shape])
    return p.choice([
        ["{} = " + x.name, "for i in range(3):", "    {} = tanh({} * 0.5 + " + y.name + " * i)"],
        ["if " + y.name + ".sum().item() > 0:", "    {} = " + x.name + " * 2", "else:", "    {} = " + x.name + " - 1"],
        ["{} = " + x.name, "for w in [" + y.name + ", " + y.name + " * 0.5]:", "    {} = {} + w * sigmoid({})"],
        ["parts = [" + f"{x.name}, {y.name} * 2, {x.name} * {y.name}" + "]", "{} = " + x.name, "for w in parts:", "    {} = {} * 0.5 + w"],
        ["def inner(v, k=0.5):", "    return v * k + " + y.name, "{} = inner(inner(" + x.name + "), 0.25)"],
        ["table = {'x': " + x.name + ", 'y': " + y.name + "}", "{} = sum([v.sum() for v in table.values()]) * table['x']"],
    ]), "f", x.shape


# ---- numbers from outside: n, a small integer that differs between the calls, and c, a float
@rule("numbers from outside", 1.2)
def outside(p):
    x = p.some("f")
    text = p.choice(["{0} * c", "{0} + n", "{0} * (c if c > 0 else -c)", "{0} - c * n", "{0} * (1.0 / (n + 1))", "clamp({0}, -abs(c), n + 0.5)", "{0} ** n",
                     "where({0} > c, {0}, c)", "{0} * math.exp(-abs(c))", "lerp({0}, {0} * {0}, min(1.0, abs(c)))", "leaky_relu({0}, c)", "{0} % (n + 1.5)",
                     "full_like({0}, c) + {0}", "{0} * [0.5, 1.5, 2.5][n % 3]", "{0} if n > 2 else {0} * 2", "{0} * max(n, 2) + min(c, 0.5)"])
    return text.format(x.name), "f", x.shape


@rule("numbers from outside that choose", 0.8, whole=False)
def chosen(p):
    x = p.some("f", lambda v: len(v.shape) > 0 and min(min(d) for d in v.shape) >= 2)
    if not x:
        return None
    k = p.range(len(x.shape))
    rest = x.shape[:k] + x.shape[k + 1:]
    kind = p.range(4)
    if kind == 0:
        return f"x_[n % 2]".replace("x_", x.name), "f", x.shape[1:]
    if kind == 1:
        return f"{x.name}.sum(n % {len(x.shape)}).sum()", "f", ()
    if kind == 2:
        return f"roll({x.name}, n, {k})", "f", x.shape
    return f"{x.name}.select({k}, n % 2)" if False else f"narrow({x.name}, {k}, n % 2, 1).squeeze({k})", "f", rest


@rule("loops whose length is a number from outside", 1.0, whole=False)
def repeated_by_number(p):
    x = p.some("f")
    y = p.choice([v for v in p.values if v.cls == "f" and broadcast(x.shape, v.shape) == x.shape])
    return p.choice([
        ["{} = " + x.name, "for i in range(n):", "    {} = tanh({} * 0.5 + " + y.name + ")"],
        ["{} = " + x.name, "for i in range(n + 1):", "    {} = {} * 0.9 + " + y.name + " * i * c"],
        ["{} = " + x.name, "i = 0", "while i < n:", "    {} = {} + sin({}) * " + y.name, "    i += 1"],
        ["{} = " + x.name + " * 1.0", "turns = 0", "while turns < 6 and {}.abs().sum().item() > 0.5:", "    {} = {} * 0.4", "    turns += 1"],
        ["parts = []", "for i in range(n):", "    parts.append(" + x.name + " * i)", "{} = " + y.name + " + " + x.name, "for w in parts:", "    {} = {} + w * 0.1"],
        ["{} = " + x.name, "for i in range(5):", "    if i == n:", "        break", "    {} = {} * 0.7 + " + y.name],
        ["{} = " + x.name, "for i in range(4):", "    if i % 2 == n % 2:", "        continue", "    {} = sigmoid({}) + " + y.name],
    ]), "f", x.shape
