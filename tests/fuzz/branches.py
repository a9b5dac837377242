#!/usr/bin/env python3
"""Random functions whose branches on data leave what no parameter stands for, and their gradients: the interpreter's bits.

    tests/fuzz/branches.py [--seed N] [--count N | --seconds N] [--keep FOLDER] ... (differential.py)

A branch sets variables, attributes, items, captured variables and globals to None, a tensor, a number, a tuple, a list of some length, a
dict with some keys, a function, an object of one of two classes; it appends, pops, returns, breaks or goes on with the next turn. What
follows asks what is there (`is None`, isinstance, `in`, len), or uses it as it is, and may raise. Conditions are of data, of structure, or
of what an earlier branch left. Called are the function, its value and gradient by a tensor, a list of tensors and an object, and the
gradient of its gradient, under jit, with operands that go both ways.
"""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from differential import SHOW, configs, main  # noqa: E402

PRELUDE = SHOW + '''from ouro import jit, grad, value_and_grad


class A:
    k = 2.0

    def __init__(self, v, n=None):
        self.v, self.n = v, n

    def use(self, x):
        return x * self.v if self.n is None else x + self.v


class B(A):
    def use(self, x):
        self.n = x
        return tanh(x) - self.v


class W:
    def __init__(self):
        self.w, self.b, self.items, self.extra = tensor([0.5, -1.0, 2.0, 0.25]), tensor(0.5), [tensor([1.0, 2.0, 0.5, -1.0])], None


def told(v, depth=4):
    if depth == 0 or callable(v): return "?"
    if isinstance(v, A): return [type(v).__name__, told(v.v, depth - 1), told(v.n, depth - 1)]
    if isinstance(v, dict): return [[k, told(i, depth - 1)] for k, i in v.items()]
    if isinstance(v, (list, tuple)): return [told(i, depth - 1) for i in v]
    return v


'''
TESTS = ["{x}.sum() > {c}", "{x}.mean() > {x}.max() - {p}", "{x}[0].item() > {c}", "({x} * {x}).sum() > {p}", "{x}.max() > {p}", "not {x}.sum() > {c}", "{x}.sum() > {c} and {x}.min() < {c}",
         "{x}.sum() > {c} or {x}.max() > {p}", "{x}.argmax() == 1", "({x} > 0).any()", "flag", "flag and {x}.sum() > {c}"]
STRUCTURE = ["u is None", "u is not None", "len(l) > 1", "'k' in d", "isinstance(o, B)", "len(t) == 2", "h is not None", "o.n is None", "w.extra is not None", "q == 1", "isinstance(u, float)", "is_tensor(u)",
             "type(o) is A", "l", "g is None"]
TENSORS = ["x", "x", "y", "y", "w.w", "x * {f}", "tanh({x})", "{x} * {x}", "{x} + {x}", "{x}.sum() * {x}", "relu({x})", "{x} - {x}.mean()", "(u if is_tensor(u) else x)", "(l[-1] if l else y)", "d.get('k', x)", "o.use({x})", "o.v * {x}",
           "(h(x) if h is not None else x)", "t[0] * {x}", "w.items[-1] + {x}", "exp(-{x} * {x})", "({x} if w.extra is None else w.extra)", "sum(l, {x})", "(g if g is not None else {x})", "where({x} > 0, {x}, {x} * {f})", "{x}[:4]"]
VALUES = ["None", "{x}", "{x}", "{x}.sum()", "{f}", "3", "({x}, {x})", "({x},)"]
WRITES = ["u = {v}", "u = {v}", "x = {x}", "y = {x}", "x = {x}", "l.append({x})", "l.append({x})", "l = [{x}]", "l = []", "l.pop() if l else None", "d['k'] = {x}", "d['m'] = {x}", "d.pop('k', None)", "t = ({x}, {x})", "t = ({x},)", "t = ({x}, {f}, {x})",
          "h = lambda z: z * {x}", "h = None", "h = lambda z: z + {f}", "h = tanh", "o = A({x})", "o = B({x})", "o = A({x}, {f})", "o.v = {x}", "o.n = {v}", "del o.n; o.n = None", "w.extra = {v}", "w.w = w.w * {f}", "w.items.append({x})", "w.items[0] = {x}",
          "q = 1", "q = 2", "q += 1", "flag = not flag", "g = {v}", "y = x if {c} > 0 else y", "l[0] = {x}", "l = l + [{x}]", "d = {'k': {x}}", "x, y = y, x", "u = l", "u = o", "print(end='')"]
ENDS = ["return {x}.sum()", "return {x}.sum() * {f}", "raise ValueError('no')"]
LOOPS = ["for z in list(l):", "for z in [x, y]:", "for z in (x, y, x):", "for i in range(3):", "for z in t:", "for k, z in d.items():"]
IN_LOOP = ["break", "continue", "x = x + z if is_tensor(z) else x", "l.append(z)", "u = z"]
IN_WHILE = ["break", "continue", "x = x * {f} + y", "x, y = y, x * {f}", "y = tanh({x})"]


class Program:
    whiles = 0.0  # how many of its loops have turns that data decides (loops.py)

    def __init__(self, seed):
        self.seed = seed
        self.counters = 0
        self.rng = random.Random(seed)
        self.lines = self.block(self.rng.choice([2, 3, 4, 5]), 0, False)
        self.result = self.filled(self.rng.choice(["{x}.sum()", "({x} * {x}).sum()", "{x}.sum() + {x}.sum()", "{x}.mean() * (2.0 if u is None else 3.0)", "{x}.sum() * q"]))
        self.way = self.rng.choice(["call", "grad", "grad", "grad", "list", "object", "object", "twice"])
        self.calls = 6

    def filled(self, text, depth=2):
        r = self.rng
        while "{v}" in text:
            text = text.replace("{v}", r.choice(VALUES), 1)
        while "{x}" in text:
            depth -= 1
            text = text.replace("{x}", r.choice(TENSORS) if depth > 0 else r.choice(["x", "y"]), 1)
        for slot, choices in (("{f}", ["0.5", "2.0", "-1.5"]), ("{c}", ["0.0", "0.5", "-1.0", "1.0"]), ("{p}", ["0.25", "1.0", "2.0"])):
            while slot in text:
                text = text.replace(slot, r.choice(choices), 1)
        return text

    def statement(self, loop):
        r = self.rng
        choices = WRITES + ((IN_WHILE if self.whiles else IN_LOOP) * (8 if self.whiles else 3) if loop else [])
        return [line for line in self.filled(r.choice(choices)).split("; ")]

    # It ends after some turns, whatever its condition says.
    def loop_on_data(self, depth):
        r = self.rng
        n, most = f"n{self.counters}", r.choice([0, 1, 2, 3, 5])
        self.counters += 1
        tests = [self.filled(r.choice(TESTS if r.random() < 0.85 else STRUCTURE)) for _ in range(r.choice([1, 1, 1, 2]))]
        body = self.block(r.choice([1, 2, 3]), depth + 1, True)

        def somewhere(first):  # not in front of an elif or else
            return r.choice([i for i in range(first, len(body) + 1) if i == len(body) or not (isinstance(body[i], list) and body[i][0].startswith("el"))])
        body.insert(somewhere(0) if r.random() < 0.3 and not any("continue" in line for line in self.texts(body, "")) else 0, f"{n} += 1")
        if r.random() < 0.25:
            body.insert(somewhere(1), [f"if {n} > {most} or {tests[0]}:", [r.choice(["break", "break", "return {x}.sum()"]).replace("{x}", r.choice("xy"))]])
            condition = f"{n} < 9"
        else:
            condition = r.choice([" and ", " and ", " or "]).join(tests)
            condition = r.choice([f"({condition}) and {n} < {most}", f"{n} < {most} and ({condition})"])
        return [f"{n} = 0", [f"while {condition}:", body]] + ([["else:", self.block(1, depth + 1, False)]] if r.random() < 0.1 else [])

    def block(self, n, depth, loop):
        r, out = self.rng, []
        for _ in range(n):
            if self.whiles and depth < 2 and r.random() < self.whiles:
                out += self.loop_on_data(depth)
                continue
            kind = r.random()
            if depth < 3 and kind < 0.45:
                out.append(["if " + self.filled(r.choice(TESTS if r.random() < 0.65 else STRUCTURE)) + ":", self.block(r.choice([1, 1, 2, 3]), depth + 1, loop)])
                for _ in range(r.choice([0, 0, 0, 1, 2])):
                    out.append(["elif " + self.filled(r.choice(TESTS if r.random() < 0.65 else STRUCTURE)) + ":", self.block(r.choice([1, 1, 2]), depth + 1, loop)])
                if r.random() < 0.5:
                    out.append(["else:", self.block(r.choice([1, 1, 2]), depth + 1, loop)])
            elif depth < 2 and kind < 0.55:
                out.append([r.choice(LOOPS), self.block(r.choice([1, 2]), depth + 1, True)])
            elif depth > 0 and kind < 0.62:
                out.append(self.filled(r.choice(ENDS[:2] if r.random() < 0.8 else ENDS)))
            else:
                out += self.statement(loop)
        return out or ["pass"]

    @staticmethod
    def texts(lines, indent):
        for line in lines:
            if isinstance(line, list):
                yield indent + line[0]
                yield from Program.texts(line[1] or ["pass"], indent + "    ")
            else:
                yield indent + line

    def text(self):
        k = self.seed
        body = "\n".join(self.texts(self.lines, "        "))
        uses_global = "g = " in body
        out = [f"w{k} = W()", "g = None", f"def make{k}(w, q=0, h=None):", "    c = 0.5", "    def f(x, y, flag):"]
        out += ["        global g"] if uses_global else []
        out += ["        u, l, d, t, o = None, [x], {'m': y}, (x, y), A(y)"]
        out += ["        q, h = 0, None"]
        out += [body, f"        return {self.result}", "    return f"]
        f = f"make{k}(w{k})"
        if self.way == "call":
            out += [f"f{k} = jit({f})"]
        elif self.way == "grad":
            out += [f"f{k} = jit(value_and_grad({f}, argnums=(0, 1)))"]
        elif self.way == "list":
            out += [f"s{k} = {f}", f"v{k} = jit(value_and_grad(lambda both, flag: s{k}(both[0], both[1], flag)))", f"def f{k}(x, y, flag): return v{k}([x, y], flag)"]
        elif self.way == "object":
            out += [f"s{k} = make{k}", f"v{k} = jit(value_and_grad(lambda w, x, y, flag: s{k}(w)(x, y, flag)))",
                    f"def f{k}(x, y, flag):", f"    value, grads = v{k}(w{k}, x, y, flag)", "    return value, [grads.w, grads.b, grads.items]"]
        else:
            out += [f"s{k} = {f}", f"f{k} = jit(grad(lambda x, y, flag: (grad(s{k})(x, y, flag) * y).sum()))"]
        out += [f"def calls{k}():", "    global g", f"    for i in range({self.calls}):", "        g = None", f"        w{k}.__init__()",
                "        x, y = (tensor([0.5, 1.5, -0.25, 1.0]) * (1 if i % 2 else -1)), (tensor([1.0, -0.5, 0.75, 0.25]) * (i - 2))",
                f"        run(f'{k} {{i}}', lambda: f{k}(x, y, i % 3 == 0))",
                f"        show(f'{k} {{i}} state', {{'value': told([w{k}.w, w{k}.items, w{k}.extra, g])}})", f"calls{k}()"]
        return "\n".join(out) + "\n"

    def places(self, lines=None):
        lines = self.lines if lines is None else lines
        for i in reversed(range(len(lines))):
            yield lines, i
            if i < len(lines) and isinstance(lines[i], list):
                yield from self.places(lines[i][1])

    def smaller(self):
        for lines, i in list(self.places()):
            if i >= len(lines) or (isinstance(lines[i], str) and lines[i].endswith(" += 1") and lines[i][0] == "n"):
                continue
            before = lines[:]
            opens = isinstance(lines[i], list) and not lines[i][0].startswith(("elif", "else")) and i + 1 < len(lines) and isinstance(lines[i + 1], list) and lines[i + 1][0].startswith(("elif", "else"))
            if opens:
                continue
            del lines[i]
            yield lambda lines=lines, before=before: lines.__setitem__(slice(None), before)
        for name, less in (("way", "call"), ("way", "grad"), ("calls", 1), ("calls", 2), ("calls", 3), ("result", "x.sum()")):
            before = getattr(self, name)
            if before == less:
                continue
            setattr(self, name, less)
            yield lambda name=name, before=before: setattr(self, name, before)


if __name__ == "__main__":
    sys.exit(main(Program, PRELUDE, __doc__, lambda args: [*configs(args), "everything --mode=graph", "exits --mode=graph"]))
