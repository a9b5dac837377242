#!/usr/bin/env python3
"""Random functions that read numbers, flags and texts from outside, which change between the calls: the interpreter's bits.

    tests/fuzz/pins.py [--seed N] [--count N | --seconds N] [--keep FOLDER] ... (differential.py)

A program is one function of a tensor. It reads by attributes, items, captured and global variables, defaults, classes and
arguments, computes with what it reads, decides structure by it (sizes, axes, trips, branches) and writes to some of it; with
and without a gradient. Between the calls some places get another value: of the same type, of another one, a nan, another zero.
A program that differs is shrunk: statements go, changes go.
"""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from differential import SHOW, main  # noqa: E402

PRELUDE = SHOW + '''from math import nan
from ouro import jit, grad, value_and_grad


class Part:
    scale = 2

    def __init__(self):
        self.w, self.n, self.t, self.on, self.mode, self.none = ones(4) * 0.5, 2, 0.5, True, "a", None
        self.sizes, self.table, self.pair, self.count = [2, 2], {"k": 3, "t": 0.25}, (2, 0.5), 0

    def step(self, by):
        self.count += by
        return self.count


class Whole(Part):
    def __init__(self):
        super().__init__()
        self.part = Part()


'''
# Places of ints, floats, flags and texts; {k} is the program's number.
INTS = ["o.n", "o.part.n", "o.sizes[0]", "o.sizes[-1]", "o.table['k']", "o.pair[0]", "G{k}", "captured", "L{k}[0]", "D{k}['n']", "o.scale", "n", "o.count", "given"]
FLOATS = ["o.t", "o.part.t", "o.table['t']", "o.pair[1]", "F{k}", "D{k}['t']", "rate", "t"]
FLAGS = ["o.on", "o.part.on", "B{k}", "flag"]
TEXTS = ["o.mode", "o.part.mode", "T{k}", "name"]
# Expressions of a float from an int, a float.
NUMBERS = ["math.sqrt(abs({i}))", "max(1, {i})", "min({f}, 1.0)", "{i} * {f}", "math.exp(-abs({f}))", "float({i})", "{i} % 3", "{i} // 2 + {f}", "abs({f})",
           "{i} ** 2", "({i} if {b} else {f})", "len({s})", "round({f}, 1)", "sorted([{i}, 3, 1])[0]", "sum(({i}, {f}))", "({f} in [{f}, {i}])", "({i} in ({i}, {f}))", "(({f}, {i}) == ({f}, {i}))", "int({f})", "-{i}", "(1 if {i} == 2 else 2)"]
# Statements; x is [r, 4].
STATEMENTS = ["x = x * {e}", "x = x + {e}", "x = x / {f}", "x = copysign(x, {f})", "x = x / ({e} + 3)", "x = x.repeat(1 + {i} % 2, 1)[:x.shape[0]]", "a, b = x.split([1 + {i} % 3, 3 - {i} % 3], dim=1)\nx = x * a.sum() + b.sum()",
              "for q in range({i} % 4):\n    x = tanh(x) + q", "if {b}:\n    x = x * 2\nelse:\n    x = x - 1", "if {s} == 'a':\n    x = x + 1", "if {i} > 2:\n    x = x * 3",
              "if {f} > 0.4:\n    x = x + {f}", "x = x.reshape(2, -1).reshape(-1, 4) if {b} else x", "x = x.sum({i} % 2, keepdim=True) * ones(2, 4)",
              "x = x * one_hot(tensor([1, 0]), 2 + {i} % 3).sum()", "x = x + full((2, 4), {f})", "x = dropout(x, 0.5, {b})", "x = relu(x) if not {b} else x",
              "x = x * (o.none if o.none is not None else 1)", "x = x[:, ({i} % 4):({i} % 4) + 1] + x", "x = x * o.w", "x = x ** (1 + {i} % 2)", "k = {e}\nx = x * k + k",
              "x = x * {'a': 1.5, 'b': 2}.get({s}, 3)", "x = clamp(x, -{i} - 1, 5)", "while 100 * (1 + {i} % 2) < x.sum() < 1e9:\n    x = x / 2"]
WRITES = ["o.count += 1", "o.step({i} % 2)", "G{k} += 1", "L{k}[0] += 1", "D{k}['n'] = {i} + 1", "o.t = {f} * 0.9", "o.sizes[0] = {i} % 3 + 1", "o.on = not o.on", "captured += 1",
          "o.mode = 'b' if o.mode == 'a' else 'a'", "o.none = {i}", "F{k} = F{k} + 1"]
CHANGES = {"int": ["0", "1", "2", "3", "4", "5", "True", "2.0", "-1", "2**40", "2**70"], "float": ["0.25", "0.5", "0.75", "1.0", "-0.0", "0.0", "nan", "inf", "1", "0.1 * i"],
           "flag": ["True", "False", "True", "False", "1", "None"], "text": ["'a'", "'b'", "'a'", "'c'", "f's{i}'"]}
# Equal, and not the same.
ALIKE = {"int": ["[True, 1, 1.0][i % 3]", "[1, True][i % 2]", "[0, False][i // 3 % 2]"], "float": ["[0.0, -0.0][i % 2]", "[-0.0, 0.0][i // 2 % 2]", "[1.0, 1][i % 2]"],
         "flag": ["[True, 1][i % 2]", "[False, None, 0][i % 3]"], "text": ["[f's{i // 2}', 's0'][i % 2]"]}
PLACES = [("int", p) for p in ("o.n", "o.part.n", "o.sizes[0]", "o.sizes[1]", "o.table['k']", "G{k}", "L{k}[0]", "D{k}['n']", "Part.scale", "o.count", "o.part.count")] + \
    [("float", p) for p in ("o.t", "o.part.t", "o.table['t']", "F{k}", "D{k}['t']")] + [("flag", p) for p in ("o.on", "o.part.on", "B{k}")] + \
    [("text", p) for p in ("o.mode", "o.part.mode", "T{k}")] + [("int", "N{k}"), ("float", "R{k}"), ("flag", "FLAG{k}"), ("text", "NAME{k}"), ("float", "o.none"), ("pair", "o.pair")]
GIVEN = {"N{k}": " n ", "R{k}": " t ", "FLAG{k}": "flag", "NAME{k}": "name"}  # the arguments that they become


class Program:
    def __init__(self, seed):
        self.seed, rng = seed, random.Random(seed)
        self.rng = rng
        few = lambda places: rng.sample(places, min(len(places), rng.choice([1, 2, 3])))  # noqa: E731
        self.ints, self.floats, self.flags, self.texts = few(INTS), few(FLOATS), few(FLAGS), few(TEXTS)
        self.lines = [self.filled(rng.choice(STATEMENTS)) for _ in range(rng.choice([1, 2, 3, 4, 6]))]
        for _ in range(rng.choice([0, 0, 1, 2])):
            self.lines.insert(rng.randrange(len(self.lines) + 1), self.filled(rng.choice(WRITES)))
        self.grad = rng.random() < 0.5
        self.result = "x" if self.grad or rng.random() < 0.5 else self.filled("(x, {i}, {f}, {s})")
        self.changes = [self.change() for _ in range(rng.choice([0, 1, 2, 3, 5, 8]))]
        self.calls = rng.choice([4, 6, 12, 20])
        self.rows = rng.choice([["2"], ["2"], ["2", "3"]])

    def filled(self, text):
        pick = self.rng.choice
        for _ in range(2):
            text = text.replace("{e}", pick(NUMBERS))
        for slot, places in (("{i}", self.ints), ("{f}", self.floats), ("{b}", self.flags), ("{s}", self.texts)):
            while slot in text:
                text = text.replace(slot, pick(places), 1)
        return text.replace("{k}", str(self.seed))

    def change(self):
        read = " ".join([*self.lines, self.result]).replace(str(self.seed), "{k}") if self.rng.random() < 0.8 else ""
        kind, place = self.rng.choice([(kind, place) for kind, place in PLACES if GIVEN.get(place, place) in read] or PLACES)
        value = f"({self.rng.choice(CHANGES['int'])}, {self.rng.choice(CHANGES['float'])})" if kind == "pair" else self.rng.choice(CHANGES[kind])
        when = self.rng.choice(["i == 0", "i == 1", "i == 2", "i > 2", "i % 2 == 0", "i % 3 == 1", "i in (2, 5)"])
        if self.rng.random() < 0.2 and kind in ALIKE:
            return f"{place} = {self.rng.choice(ALIKE[kind])}".replace("{k}", str(self.seed))
        if self.rng.random() < 0.3 and kind in ("int", "float"):
            value = f"{place} + 1"
        return f"if {when}: {place} = {value}".replace("{k}", str(self.seed))

    def text(self):
        k = self.seed
        scalars = [f"G{k}", f"F{k}", f"B{k}", f"T{k}"]
        written = [g for g in scalars if any(line.startswith((f"{g} +=", f"{g} =")) for line in self.lines)]
        used = "\n".join(self.lines)
        out = [f"G{k}, F{k}, B{k}, T{k}, L{k}, D{k}, N{k}, R{k}, FLAG{k}, NAME{k} = 2, 0.5, True, 'a', [2], {{'n': 2, 't': 0.5}}, 2, 0.5, True, 'a'",
               f"o{k} = Whole()", f"def make{k}(o, captured, rate=0.5):", f"    def f(x, n, t, flag, name, *, given=3):"]
        body = ([f"global {', '.join(written)}"] if written else []) + (["nonlocal captured"] if "captured +=" in used else [])
        inner = body + [line for text in self.lines for line in text.split("\n")] + [f"return {self.result}"]
        out += ["        " + line for line in inner] + ["    return f", ""]
        if self.grad:
            out += [f"inner{k} = make{k}(o{k}, 2)", "@jit", f"def f{k}(x, n, t, flag, name):",
                    f"    return value_and_grad(lambda x: (inner{k}(x, n, t, flag, name) * arange(4)).sum())(x)", ""]
        else:
            out += [f"f{k} = jit(make{k}(o{k}, 2))", ""]
        out += [f"def calls{k}():", f"    global {', '.join(scalars)}, N{k}, R{k}, FLAG{k}, NAME{k}", f"    o = o{k}", f"    for i in range({self.calls}):"]
        for change in self.changes:
            out += ["        try:", f"            {change}", "        except TypeError:", "            pass"]
        rows = self.rows[0] if len(self.rows) == 1 else f"({self.rows[0]} if i % 4 else {self.rows[1]})"
        out += ["        manual_seed(i)", f"        x = (arange({rows} * 4.0).reshape({rows}, 4) - 3) / 4",
                f"        run(f'{k} {{i}}', lambda: f{k}(x, N{k}, R{k}, FLAG{k}, NAME{k}))",
                f"        show(f'{k} {{i}} state', {{'value': [o.n, o.t, o.on, o.mode, o.none, o.sizes, o.count, G{k}, F{k}, L{k}, D{k}['n'], D{k}['t']]}})", f"calls{k}()"]
        return "\n".join(out) + "\n"

    def smaller(self):
        for name, less in ([("calls", n) for n in (3, 4, 6, 12) if n < self.calls] + [("lines", self.lines[:i] + self.lines[i + 1:]) for i in reversed(range(len(self.lines)))] +
                           [("changes", self.changes[:i] + self.changes[i + 1:]) for i in reversed(range(len(self.changes)))] + [("grad", False), ("rows", ["2"])]):
            before = getattr(self, name)
            if before == less:
                continue
            setattr(self, name, less)
            yield lambda: setattr(self, name, before)


if __name__ == "__main__":
    sys.exit(main(Program, PRELUDE, __doc__))
