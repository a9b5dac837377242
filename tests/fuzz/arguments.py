"""Hostile arguments: whatever an operation is given, it answers or raises, in the same words in every mode.

    tests/fuzz/arguments.py [--seed N] [--count N | --seconds N] [--config OPTIONS] ... (differential.py)

A program is sixty calls. An operation of the tables is drawn, and for each parameter a value that its kind lets through
(`axis: axes?`, ir/ops/param_kinds.h), or one near the edge of it, or one of any kind at all; tensors of all dtypes and
shapes, empty ones and places that lie outside among them. The calls are compiled where the mode says so: each is a
function of its tensors. Every fifteenth call is one of JUDGED, whose arguments fit or miss by a little: that it is refused
where it does not fit, and only there, is told by itself. Compared are what comes out, to the bit, and the exception's type and text (of MemoryError the
type). With a program that is built for the address sanitizer a read outside of memory ends the run.
"""
import random
import subprocess
import sys

import differential

CALLS = 60
MEMORY = "--memory=64M"  # what is allocated beyond that is refused: sizes are drawn without a bound

PRELUDE = '''import math
from math import inf, nan
import ouro.native.tensors as native
operations = native.operations()


class Thing:
    pass


around = []
around.append(around)


def T(dtype, what, *shape):
    """A tensor: `count` has 0, 1, ... in it, `normal` normal numbers, others the number itself."""
    n = 1
    for d in shape:
        n = n * d
    if what == "count":
        x = arange(n)
    elif what == "normal":
        x = randn(n)
    else:
        x = full((n,), what)
    return x.astype(dtype).reshape(shape)


def text(v, depth):
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join([text(i, depth - 1) for i in v[:70]]) + "]" if depth > 0 else "..."
    if not is_tensor(v):
        return type(v).__name__ if isinstance(v, Thing) or callable(v) else ascii(v)
    if v.numel() <= 200:
        return f"{v.dtype} {tuple(v.shape)} {v.tolist()}"
    return f"{v.dtype} {tuple(v.shape)} {v.reshape(-1)[:100].tolist()} {v.reshape(-1)[-100:].tolist()}"


def words(e):
    """The exception's text without the addresses of what it shows: they are others in each run."""
    parts = str(e).split(" at 0x")
    return parts[0] + "".join([p.lstrip("0123456789abcdef") for p in parts[1:]])


def call(tag, f, *tensors):
    manual_seed(7)
    box = []
    try:
        box.append(f(*tensors))
        shown = text(box, 4)
    except MemoryError:
        print(tag, "| MemoryError", flush=True)
    except Exception as e:
        print(tag, "|", type(e).__name__ + ":", ascii(words(e))[:300], flush=True)
    else:
        print(tag, "|", shown, flush=True)


def judged(tag, fits, f, *tensors):
    """Whether f refuses its arguments: a program that takes what does not fit, or refuses what does, ends with status 1."""
    try:
        f(*tensors)
    except Exception as e:
        if fits:
            raise
        print(tag, "|", type(e).__name__ + ":", e, flush=True)
    else:
        if not fits:
            raise SystemExit(f"{tag}: taken, though it does not fit")
        print(tag, "| taken", flush=True)


'''

EDGES = ["-1", "0", "1", "2", "3", "-2", "-3", "5", "64", "65", "-64", "2**31 - 1", "2**31", "2**32", "-2**31", "2**47", "2**48 + 1", "2**53",
         "2**61", "2**62", "2**62 + 1", "2**63 - 1", "2**63 - 3", "-2**63", "2**63", "2**64", "2**64 - 1", "-2**64", "10**30", "-10**400"]
FLOATS = ["0.0", "-0.0", "0.5", "1.0", "-1.5", "2.0", "1e18", "-1e19", "1e308", "inf", "-inf", "nan"]
DTYPES = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]
ODD = ["None", "True", "False", "''", "'mean'", "'fro'", "'same'", "'\\ud800'", "'x' * 300", "b'y'", "Thing()", "Thing", "[]", "()", "{}", "{1: 2}", "around",
       "len", "f32", "'f64'", "int", "slice(None)", "slice(5, -9, -2)", "...", "range(3)", "'cpu'", "'tpu'", "lambda: 0"]


# Parameters that say how much is computed. Compiled code holds nothing of it in memory, and would compute for hours.
COUNTS = {("mvlgamma", "p")}
# Each draws arguments, and gives the tensors (t0, t1, ...), the call and whether they fit.
JUDGED = []


def judge(fn):
    JUDGED.append(fn)
    return fn


@judge
def weight_of_classes(p):
    n, c, w = p.small(1, 4), p.small(1, 5), p.shape_near((p.small(1, 5),))
    loss = p.some(["cross_entropy", "nll_loss", "multi_margin_loss"])
    return [f"T(f32, 'normal', {n}, {c})", f"T(i64, 'count', {n}) % {c}", f"T(f32, 1, {p.sizes(w)})"], f"{loss}(t0, t1, t2)", w == (c,)


@judge
def bias_of_channels(p):
    c, b, turned = p.small(1, 4), p.shape_near((p.small(1, 4),)), p.chance(0.5)
    call = "conv_transpose1d(t0, t1, t2)" if turned else "conv1d(t0, t1, t2)"
    return [f"T(f32, 'normal', 2, 3, 5)", f"T(f32, 'normal', {f'3, {c}' if turned else f'{c}, 3'}, 2)", f"T(f32, 1, {p.sizes(b)})"], call, b == (c,)


@judge
def bits(p):
    a = (p.small(1, 3), p.small(1, 3))
    b = p.shape_near(a)
    loss = p.some(["binary_cross_entropy", "binary_cross_entropy_with_logits"])
    return [f"T(f32, 0.5, {p.sizes(a)})", f"T(f32, 1, {p.sizes(b)})"], f"{loss}(t0, t1)", a == b


@judge
def lengths_of_ctc(p):
    t, n, c, s = p.small(1, 4), p.small(1, 3), p.small(2, 4), p.small(1, 3)
    long, short = [p.small(-1, t + 1) if p.chance(0.2) else t for _ in range(n)], [p.small(-1, s + 1) if p.chance(0.2) else p.small(0, s) for _ in range(n)]
    flat, blank = p.chance(0.4), p.some([0, 0, 0, c - 1, c])
    size = max(0, sum(short) + p.some([0, 0, 1, -1])) if flat else n * s
    targets = f"(T(i64, 'count', {size}) % {c}){'' if flat else f'.reshape({n}, {s})'}"
    fits = all(0 <= k <= t for k in long) and all(0 <= k <= (size if flat else s) for k in short) and blank < c and (not flat or sum(short) == size)
    in_tensors = p.chance(0.5)
    tensors = [f"T(f32, 'normal', {t}, {n}, {c})", targets] + ([f"tensor({long})", f"tensor({short})"] if in_tensors else [])
    return tensors, f"ctc_loss(t0, t1, {'t2, t3' if in_tensors else f'{long}, {short}'}, blank={blank})", fits


@judge
def repeats(p):
    n = p.small(1, 4)
    each = [p.some([0, 1, 2, 3]) for _ in range(n)]
    if p.chance(0.3):
        each[p.small(0, n - 1)] = p.some([-1, 2**62, 2**63 - 1, -2**63])
    told = p.some([None, None, sum(each), p.small(0, 6)])
    return [f"T(f32, 1, {n})", f"tensor({each}, dtype=i64)"], f"repeat_interleave(t0, t1{'' if told is None else f', output_size={told}'})", (
        all(0 <= k < 2**62 for k in each) and told in (None, sum(each)))


@judge
def padding(p):
    n, left, right = p.small(0, 4), p.small(-2, 5), p.small(-2, 5)
    mode = p.some(["circular", "reflect", "replicate", "constant"])
    most = {"circular": n, "reflect": n - 1 if n else 0}.get(mode, 9)
    fits = n + left + right >= 0 and max(left, right) <= most and (n > 0 or mode == "constant" or max(left, right) <= 0)
    return [f"T(f32, 'normal', 2, 2, {n})"], f"pad(t0, ({left}, {right}), {mode!r})", fits


@judge
def norms_of_pools(p):
    norm, axes = p.some(["0", "0.0", "-0.0", "1", "2.0", "-1", "3"]), p.small(1, 2)
    return [f"T(f32, 1, 1, 2, {', '.join(['4'] * axes)})"], f"lp_pool{axes}d(t0, {norm}, 2)", float(norm) != 0


class Program:
    """Calls; the rows of the tables are RAW: name, signature, parameters, names of the inputs."""

    def __init__(self, seed):
        self.seed = seed
        self.dice = random.Random(f"arguments {seed}")
        self.calls = [self.judged(k) if k % 15 == 14 else self.call(k) for k in range(CALLS)]

    def text(self):
        return "".join(f"{how}lambda {names}: {body}{''.join(', ' + t for t in tensors)})\n" for how, names, body, tensors in self.calls)

    def smaller(self):
        """Halves, then single calls."""
        size = max(1, len(self.calls) // 2)
        while size and len(self.calls) > 1:
            for start in range(0, len(self.calls), size):
                kept = self.calls
                self.calls = kept[:start] + kept[start + size:]
                if self.calls:
                    def undo(kept=kept):
                        self.calls = kept
                    yield undo
                else:
                    self.calls = kept
            size //= 2

    # ---- values
    def chance(self, p):
        return self.dice.random() < p

    def some(self, values):
        return self.dice.choice(values)

    def small(self, low=0, high=5):
        return self.dice.randint(low, high)

    def shape(self):
        kind = self.dice.random()
        if kind < 0.7:
            return tuple(self.small(0 if self.chance(0.2) else 1, 5) for _ in range(self.small(0, 4)))
        if kind < 0.9:
            return (self.small(1, 4),) * self.small(1, 4)
        return tuple(self.some([1, 1, 2]) for _ in range(self.small(4, 9))) if self.chance(0.7) else (self.some([0, 1]),) * self.some([63, 64])

    def tensor(self, integers=False):
        """The text of one."""
        dtype = "i64" if integers and self.chance(0.85) else self.some(DTYPES + ["f32"] * 8)
        what = self.some(["'count'", "'normal'", "'normal'", "1", "0"])
        if self.chance(0.2):
            what = self.some(["-1", "2**62", "-2**63", "7"] if dtype == "i64" else ["-1", "3"] if dtype[0] in "ui" else FLOATS)
        return f"T({dtype if dtype != 'bool' else repr('bool')}, {what}{''.join(', ' + str(n) for n in self.shape())})"

    def integer(self, low=-2, high=5):
        return str(self.small(low, high)) if self.chance(0.85) else self.some(EDGES)

    def several(self, low, high, lengths=(0, 4)):
        if self.chance(0.5):
            return self.integer(low, high)
        items = [self.integer(low, high) for _ in range(self.small(*lengths))]
        return ("(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")") if self.chance(0.6) else "[" + ", ".join(items) + "]"

    def anything(self):
        kind = self.dice.random()
        if kind < 0.3:
            return self.some(EDGES)
        if kind < 0.45:
            return self.some(FLOATS)
        if kind < 0.6:
            return self.several(-3, 5)
        if kind < 0.7:
            return "[" + ", ".join(self.some(ODD + EDGES) for _ in range(self.small(1, 4))) + "]"
        return self.some(ODD)

    def of_kind(self, kind):
        if "|" in kind:
            return repr(self.some(kind.split("|")))
        if kind in ("axis", "new_axis", "axis_or_tensor"):
            return self.integer(-5, 5)
        if kind in ("axes", "repeated_axes"):
            return self.several(-4, 4)
        if kind in ("flag",):
            return self.some(["True", "False", "1", "0"])
        if kind in ("size", "positive", "int", "offset"):
            return self.integer(-1, 6)
        if kind in ("number", "number_or_tensor", "probability", "norm"):
            return self.some(FLOATS + ["0.5", "2", "1", "0.25"] * 3)
        if kind == "numbers":
            return self.some(["0.5", "[0.5, 2]", "(1, 2, 3)", "[inf, nan]"])
        if kind == "dtype":
            return self.some(DTYPES[1:] + ["None", "'bool'", "int", "float"])
        if kind == "text":
            return self.some(["'ij,jk->ik'", "'ii->i'", "'...j->...'", "'ij->ji'", "'i,i->'", "'a'", "','", "'->'"])
        if kind == "key":
            return self.key()
        if kind in ("padding", "sizes", "shape", "positives", "some_positives", "naturals", "ints", "offsets", "last_axes"):
            return self.several(0 if self.chance(0.9) else -1, 4)
        return self.anything()

    def key(self):
        one = lambda: self.some([self.integer(-4, 4), f"slice({self.integer(-4, 6)}, {self.integer(-4, 6)})", "slice(None, None, -1)", "None", "...",
                                 f"slice(None, {self.integer()}, {self.integer(-3, 3)})", "tensor([0, 1])", "tensor([-1, 5])", "tensor([True, False])", "[0, 1]", "True"])
        return one() if self.chance(0.5) else "(" + ", ".join(one() for _ in range(self.small(1, 3))) + ",)"

    def shape_near(self, shape):
        """The shape, or one of other sizes or with an axis of 1 more."""
        kind = self.dice.random()
        return shape if kind < 0.5 else tuple(self.small(1, 5) for _ in shape) if kind < 0.9 else (1, *shape)

    def sizes(self, shape):
        return ", ".join(map(str, shape))

    # ---- calls
    def judged(self, k):
        tensors, body, fits = self.some(JUDGED)(self)
        return f"judged('{self.seed} {k}', {fits}, ", ", ".join(f"t{i}" for i in range(len(tensors))), body, tensors

    def call(self, k):
        name, signature, parameters, inputs = self.some(ROWS)
        classes = [part.strip()[0] for part in signature.split("->")[0].replace("], ", "]; ").split(";") if part.strip()]
        many = "+[" in signature
        tensors, words = [], []

        def new_tensor(cls):
            tensors.append(self.tensor(cls == "i"))
            return f"t{len(tensors) - 1}"
        positional = True
        for p, (kind, default, star) in parameters.items():
            if p in inputs:
                if many and p == inputs[0]:
                    value = "[" + ", ".join(new_tensor("f") for _ in range(self.small(0, 3))) + "]"
                elif self.chance(0.92):
                    at = inputs.index(p)
                    value = tensors and self.chance(0.25) and self.some([f"t{i}" for i in range(len(tensors))]) or new_tensor(classes[at] if at < len(classes) else "f")
                else:
                    value = self.anything()
            elif default and self.chance(0.4):
                positional = False
                continue
            elif kind in ("tensor", "tensors"):
                value = new_tensor("f") if kind == "tensor" else "[" + new_tensor("f") + "]"
            else:
                value = self.of_kind(kind) if self.chance(0.8) else self.anything()
                if (name, p) in COUNTS and len(value) > 3:
                    value = "70"
            if star:
                words.append(f"*{value}" if value.startswith(("(", "[")) else value)
                positional = False
            else:
                words.append(value if positional else f"{p}={value}")
        if self.chance(0.02):
            words.append(self.anything() if positional else f"nothing={self.anything()}")
        if self.chance(0.02) and words:
            words.pop(0)
        body = f"operations.{name}({', '.join(words)})"
        return f"call('{self.seed} {k}', ", ", ".join(f"t{i}" for i in range(len(tensors))), body, tensors


def read_rows(ouro):
    """name, signature, {parameter: (kind, has a default, takes all that is left)}, names of the inputs."""
    script = "import ouro.native.tensors as n\nimport ouro\nfor r in n.rows():\n  print(repr([r[0], r[1], r[2], r[3]]))"
    out = subprocess.run([ouro, "-c", script], capture_output=True, check=True, text=True).stdout
    rows = []
    for line in out.splitlines():
        name, signature, text, inputs = eval(line)
        parameters, depth, quote, word, words = {}, 0, "", "", []
        for c in text + ",":
            if c == "," and not depth and not quote:
                words.append(word.strip())
                word = ""
                continue
            quote = "" if quote == c else quote or (c if c in "'\"" else "")
            depth += 0 if quote else (c in "([") - (c in ")]")
            word += c
        for w in words:
            if not w or w == "*":
                continue
            head, _, default = w.partition("=")
            label, _, kind = head.partition(":")
            label = label.strip().lstrip("@")
            parameters[label.lstrip("*")] = (kind.strip().rstrip("?"), bool(default), label.startswith("*"))
        for i in inputs:
            parameters.setdefault(i, ("", False, False))
        rows.append((name, signature, parameters, list(inputs)))
    return rows


ROWS = []
CONFIGS = [f"{c} {MEMORY}" for c in ("--mode=graph --threads=1", "--mode=eager --threads=3", "--mode=auto --threads=2", "stress --mode=graph --threads=2")]

if __name__ == "__main__":
    def program(seed):
        if not ROWS:
            given = [a.split("=", 1)[1] for a in sys.argv if a.startswith("--ouro=")]
            ROWS.extend(read_rows(given[0] if given else sys.argv[sys.argv.index("--ouro") + 1] if "--ouro" in sys.argv else differential.DEFAULT))
        return Program(seed)
    sys.exit(differential.main(program, PRELUDE, __doc__, lambda args: CONFIGS))
