#!/usr/bin/env python3
"""Random tensor programs: the compiler's numbers are the interpreter's, bit for bit.

    tests/fuzz/tensors.py [--seed N] [--count N | --seconds N] [--keep FOLDER] ... (differential.py)

A program is a function of a few tensors, made of operations of every row (tensor_operations.py). Run are its value, its
gradient, the gradient of a number made of its gradient, and three steps in which an object's attributes are updated; each
with two sets of sizes, several times, so that kept buffers, symbolic sizes and dying arguments all occur. Sizes are equal to
each other more often than not. A program that differs is shrunk: statements go, operands become arguments.
"""
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from differential import SHOW, main  # noqa: E402
from tensor_operations import RULES, broadcast, dims_product  # noqa: E402

SIZES = [1, 2, 3, 4, 5, 7, 8, 8, 16, 16, 16, 17, 32, 33, 64, 64, 65]
MOST_ELEMENTS = 20_000
WHOLE = 0.6  # share of programs that compile whole, derivatives included
WIDE = 0.04  # share of programs whose tensors are big enough for several threads

PRELUDE = SHOW + '''class State:
    pass


'''


class Var:
    def __init__(self, name, cls, shape):
        self.name, self.cls, self.shape = name, cls, shape


class Statement:
    def __init__(self, var, lines):
        self.var, self.lines = var, lines
        self.uses = set(re.findall(r"\b[at]\d+\b", " ".join(lines))) - {var.name}


class Program:
    def __init__(self, seed):
        self.seed = seed
        self.rng = random.Random(seed)
        self.inputs, self.statements, self.values = [], [], []
        self.writing = self.rarely = False
        self.parts = {"value", "gradient", "steps"} | ({"second"} if self.chance(0.4) else set())
        self.calls = 2
        self.dtype = self.choice(["f32"] * 8 + ["f64", "f16", "bf16"])
        self.wide = self.chance(WIDE)
        self.draw_sizes()
        self.draw_statements(self.range(14) + 12)
        self.draw_loss()

    # ---- chance
    def chance(self, x):
        return self.rng.random() < x

    def choice(self, xs):
        return self.rng.choice(xs)

    def sample(self, xs, n):
        return self.rng.sample(list(xs), n)

    def range(self, n):
        """A number from 0 to n - 1; 0 where there is none: what comes of it then is left out, or an exception in all modes."""
        return self.rng.randrange(max(1, n))

    # ---- sizes
    def draw_sizes(self):
        n = self.choice([256, 300, 512]) if self.wide else self.choice(SIZES)
        self.dims = []
        for _ in range(3):
            d = n if self.chance(0.65) else self.choice(SIZES)
            self.dims.append((d, d))
        if self.chance(0.5):  # the second call has another size
            k = self.range(3)
            self.dims[k] = (self.dims[k][0], self.choice(SIZES))
        if self.chance(0.05):
            self.dims[self.range(3)] = (0, 2)

    def dim(self, most=None):
        fits = [d for d in self.dims if most is None or max(d) <= most]
        if not fits or self.chance(0.1):
            n = self.choice([s for s in SIZES if most is None or s <= most])
            return (n, n)
        return self.choice(fits)

    @staticmethod
    def numel(shape):
        return max(dims_product(shape))

    # ---- operands
    def some(self, cls, fits=None):
        """A tensor there is, of late ones rather; without condition there always is a float."""
        self.rarely = self.chance(0.1)
        there = [v for v in self.values if v.cls == cls and (fits is None or fits(v))]
        if not there:
            return self.new_input(cls) if cls == "f" and fits is None else None
        return there[-1 - min(int(self.rng.expovariate(0.45)), len(there) - 1)]

    def any(self):
        return self.choice(self.values) if self.values else self.some("f")

    def tensor(self, cls, shape):
        """A tensor of that shape: one there is, or a new argument."""
        there = [v for v in self.values if v.cls == cls and v.shape == tuple(shape)]
        if there and (self.chance(0.65) or len(self.inputs) > 5):
            return self.choice(there)
        return self.new_input(cls, tuple(shape))

    def new_input(self, cls, shape=None):
        if shape is None:
            rank = self.choice([1, 2, 2, 2, 3, 3, 4]) if not self.wide else 2
            shape = tuple(self.dim(16 if rank > 2 else None) for _ in range(rank))
        v = Var(f"a{len(self.inputs)}", cls, shape)
        self.inputs.append(v)
        self.values.append(v)
        return v

    # ---- the program
    def draw_statements(self, n):
        for _ in range(self.range(2) + 1):
            self.new_input("f")
        if self.chance(0.15):
            self.new_input("i", (self.dim(),))
        chosen = [r for r in RULES if r[2]] if self.chance(WHOLE) else RULES
        rules, weights = [r[0] for r in chosen], [r[1] for r in chosen]
        tries = 0
        while len(self.statements) < n and tries < 20 * n:
            tries += 1
            known = len(self.inputs)
            made = self.rng.choices(rules, weights)[0](self)
            if not made or len(made[2]) > 5 or self.numel(made[2]) > MOST_ELEMENTS * (20 if self.wide else 1):
                self.values = [v for v in self.values if v not in self.inputs[known:]]
                del self.inputs[known:]
                continue
            text, cls, shape = made
            v = Var(f"t{len(self.statements)}", cls, shape)
            lines = [f"{{}} = {text}"] if isinstance(text, str) else text
            self.statements.append(Statement(v, [line.replace("{}", v.name) for line in lines]))
            self.values.append(v)

    def draw_loss(self):
        """What the function gives: everything no statement takes, and some more; and one number of all that is float."""
        used = set().union(*[s.uses for s in self.statements])
        self.results = [s.var.name for s in self.statements if s.var.name not in used or self.chance(0.1)]
        self.terms = {s.var.name: self.choice(["{}.sum()", "({} * {}).sum()", "{}.square().mean()", "sin({}).sum()", "{}.sum() * 0.3"])
                      for s in self.statements if s.var.cls == "f"}

    def text(self):
        k, names = self.seed, [v.name for v in self.inputs]
        args = ", ".join(names + ["n", "c"])
        floats = [i for i, v in enumerate(self.inputs) if v.cls == "f"]
        classes = {s.var.name: s.var.cls for s in self.statements}
        out = [f"def value{k}({args}):"]
        out += ["    " + line for s in self.statements for line in s.lines]
        out += [f"    return [{', '.join(self.results)}]", "", "", f"def loss{k}({args}):", f"    r = value{k}({args})"]
        terms = [self.terms[n].replace("{}", f"r[{i}]") for i, n in enumerate(self.results) if classes[n] == "f"]
        out += [f"    return {' + '.join(terms) if terms else '0.0'}", "", ""]
        by = f"({', '.join(map(str, floats))},)"
        first = f"({floats[0]},)" if floats else "()"
        out += [f"def gradient{k}({args}):", f"    return grad(loss{k}, {by})({args})", "", "",
                f"def slope{k}({args}):", f"    d = grad(loss{k}, {by})({args})",
                "    return " + " + ".join(f"(d[{i}] * d[{i}]).sum()" for i in range(len(floats))), "", "",
                f"def second{k}({args}):", f"    return grad(slope{k}, {first})({args})", "", "",
                f"def step{k}(s, {args}):"]
        inner = ", ".join(f"s.{v.name}" if v.cls == "f" else v.name for v in self.inputs)
        out += [f"    value, d = value_and_grad(lambda s: loss{k}({inner}, n, c))(s)"]
        out += [f"    s.{v.name} = s.{v.name} - 0.01 * d.{v.name}" for v in self.inputs if v.cls == "f"]
        out += ["    return value", "", ""]
        for call in range(self.calls):
            out += self.call(call, args, floats)
        return "\n".join(out) + "\n"

    def make(self, v, call):
        shape = f"({', '.join(str(d[call]) for d in v.shape)}{',' if len(v.shape) == 1 else ''})"
        if v.cls == "i":
            return f"{v.name} = randint(0, 4, {shape})"
        return f"{v.name} = randn({shape}).astype({self.dtype})"

    def call(self, call, args, floats):
        k = self.seed
        out = [f"n, c = {(k + 2 * call) % 5}, {((k * 7 + call * 3) % 11 - 4) / 4}", f"manual_seed({k % 1000 + call})"] + [self.make(v, call) for v in self.inputs]
        tag = lambda what: f'run("{k} {what} {call}", lambda: '  # noqa: E731
        seeded = f"(manual_seed({call}), "
        if "value" in self.parts:
            out += [f"{tag('value')}{seeded}value{k}({args}))[1])", f"{tag('again')}{seeded}value{k}({args}))[1])"]
            dying = ", ".join([f"{v.name} * 1" for v in self.inputs] + ["n", "c"])
            out += [f"{tag('dying')}{seeded}value{k}({dying}))[1])"]
        if floats and "gradient" in self.parts:
            out += [f"{tag('gradient')}{seeded}gradient{k}({args}))[1])", f"{tag('gradient again')}{seeded}gradient{k}({args}))[1])"]
        if floats and "second" in self.parts:
            out += [f"{tag('second')}{seeded}second{k}({args}))[1])"]
        if floats and "steps" in self.parts:
            out += ["s = State()"] + [f"s.{v.name} = {v.name}" for v in self.inputs if v.cls == "f"]
            out += [f"for i in range(3):\n    {tag('step')}{seeded}step{k}(s, {args}))[1])"]
            out += [f'show("{k} state {call}", {{"value": [{", ".join(f"s.{v.name}" for v in self.inputs if v.cls == "f")}]}})']
        return out

    # ---- smaller programs that may differ still: each change is made, tried, and taken back
    def smaller(self):
        for part in sorted(self.parts):
            if len(self.parts) > 1:
                yield from self.attempt(lambda: setattr(self, "parts", self.parts - {part}))
        if self.calls == 2:
            yield from self.attempt(lambda: setattr(self, "calls", 1))
        for name in list(self.results):
            if len(self.results) > 1:
                yield from self.attempt(lambda: setattr(self, "results", [r for r in self.results if r != name]))
        yield from self.attempt(self.prune)
        for s in reversed(list(self.statements)):
            yield from self.attempt(lambda: self.to_input(s))
            for other in self.inputs + [t.var for t in self.statements]:
                if other is s.var:
                    break
                if other.cls == s.var.cls and other.shape == s.var.shape:
                    yield from self.attempt(lambda: self.replace(s, other))
        yield from self.attempt(self.drop_inputs)
        for d in [d for d in {d for v in self.inputs for d in v.shape} if d[0] != d[1]]:
            yield from self.attempt(lambda: self.resize(d, (d[0], d[0])))
        for n in sorted({v for name, v in self.terms.items() if name in self.results}):
            if n != "{}.sum()":
                yield from self.attempt(lambda: setattr(self, "terms", {k: "{}.sum()" if v == n else v for k, v in self.terms.items()}))

    def attempt(self, change):
        before = (list(self.inputs), list(self.statements), list(self.results), dict(self.terms), set(self.parts), self.calls,
                  [(s.lines, s.uses) for s in self.statements], [v.shape for v in self.inputs])
        change()

        def undo():
            self.inputs, self.statements, self.results, self.terms, self.parts, self.calls = before[:6]
            for s, (lines, uses) in zip(self.statements, before[6]):
                s.lines, s.uses = lines, uses
            for v, shape in zip(self.inputs, before[7]):
                v.shape = shape
        if self.results and self.inputs:
            yield undo
        else:
            undo()

    def prune(self):
        """Without statements that nothing takes."""
        wanted = set(self.results)
        for s in reversed(list(self.statements)):
            if s.var.name in wanted:
                wanted |= s.uses
            else:
                self.statements.remove(s)

    def drop_inputs(self):
        used = set().union(*[s.uses for s in self.statements])
        self.inputs = [v for v in self.inputs if v.name in used]

    def to_input(self, s):
        if s.var.cls == "b" or any(s.var.name == r for r in self.results):
            self.results = [r for r in self.results if r != s.var.name]
            if s.var.cls == "b":
                return self.replace(s, None)
        self.statements.remove(s)
        self.inputs.append(s.var)
        used = set().union(*[t.uses for t in self.statements])
        if s.var.name not in used:
            self.inputs.remove(s.var)

    def replace(self, s, other):
        if other is None:
            return
        self.statements.remove(s)
        self.results = [r for r in self.results if r != s.var.name]
        for t in self.statements:
            if s.var.name in t.uses:
                t.lines = [re.sub(rf"\b{s.var.name}\b", other.name, line) for line in t.lines]
                t.uses = (t.uses - {s.var.name}) | {other.name}

    def resize(self, old, new):
        for v in self.inputs:
            v.shape = tuple(new if d == old else d for d in v.shape)


if __name__ == "__main__":
    sys.exit(main(Program, PRELUDE, __doc__))
