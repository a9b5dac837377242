#!/usr/bin/env python3
"""Random differentiable programs over objects: derivatives against differences, and the same bits in every mode.

    tests/fuzz/gradients.py [--seed N] [--count N] [--ouro build/ouro] [--keep FOLDER] [--modes eager,graph,...]

A program is a function of one number made of smooth operations on numbers, lists, dicts, closures, generators, exceptions, managers and
objects of classes with special methods, descriptors, properties, hooks and contexts; steps may end and operators may raise, once they
have done something. Each prints its value, first and second derivative at two points, with what central differences say of them, and
gradients of a tensor, interpreted and under jit.
"""
import argparse
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import TIERS  # noqa: E402

MODES = ("eager", "graph", "auto", *TIERS)
BATCH = 8

PRELUDE = '''class Scaled:
    def __set_name__(self, owner, name): self.at = "_" + name
    def __get__(self, o, t): return self if o is None else getattr(o, self.at) * 1.5
    def __set__(self, o, v): setattr(o, self.at, v * 0.5)
class Shadowed:
    def __get__(self, o, t): return o.a * 2.0
class P:
    s = Scaled()
    n = Shadowed()
    k = 2.0
    def __init__(self, a, b=1.0):
        self.a, self.b = a, b
        self.s = a * b
    def __add__(self, o): return P(self.a + o.a, self.b + o.b) if isinstance(o, P) else P(self.a + o, self.b)
    def __radd__(self, o): return P(o + self.a, self.b * 2.0)
    def __sub__(self, o): return P(self.a - o.a, self.b) if isinstance(o, P) else NotImplemented
    def __mul__(self, o): return P(self.a * o.b, self.b * o.a) if type(o) is P else NotImplemented
    def __rmul__(self, o): return P(self.a * (o.a if isinstance(o, P) else o), self.b)
    def __neg__(self): return P(-self.a, self.b)
    def __matmul__(self, o): return self.a * o.a + self.b * o.b
    def __iadd__(self, o):
        self.a = self.a + (o.b if isinstance(o, P) else o)
        return self
    def __call__(self, x, y=0.5): return self.a * x + self.b * y
    def __getitem__(self, i): return self.a if i == 0 else self.b
    def __setitem__(self, i, v):
        if i == 0: self.a = v
        else: self.b = v
    def __len__(self): return 2
    def __iter__(self): return iter([self.a, self.b])
    def __divmod__(self, o): return self.a * o, self.b
    def __abs__(self): return self.a * self.a
    def __enter__(self): return self.a * 2.0
    def __exit__(self, *e): self.b = self.b + self.a
    def __getattr__(self, name):
        if name.startswith("twice_"): return getattr(self, name[6:]) * 2.0
        raise AttributeError(name)
    @property
    def area(self): return self.a * self.b
    @area.setter
    def area(self, v): self.b = v * 0.25
    @classmethod
    def made(cls, x): return cls(x, x * 0.5)
    @staticmethod
    def soft(x): return x / (1.0 + x * x)
class Q(P):
    def __rmul__(self, o): return P(self.a * o * 3.0, self.b) if not isinstance(o, P) else P(o.a * self.b, o.b)
    def __radd__(self, o): return P(self.a * 0.5 + o.a, self.b) if isinstance(o, P) else super().__radd__(o)
    def __call__(self, x, y=0.25): return super().__call__(x * 2.0, y=y)
class N(P):
    def __new__(cls, a, b=1.0):
        o = object.__new__(cls)
        o.c = a * b
        return o
class H(P):
    def __setattr__(self, name, v): object.__setattr__(self, name, v * 1.25 if name == "b" else v)
    def __getattribute__(self, name):
        v = object.__getattribute__(self, name)
        return v * 0.5 if name == "a" else v
class Carried(Exception):
    def __init__(self, v):
        self.v = v * v
class Steps:
    def __init__(self, v, n=3): self.v, self.n = v, n
    def __iter__(self): return self
    def __next__(self):
        if self.n == 0: raise StopIteration
        self.n = self.n - 1
        self.v = self.v * 0.5 + 0.1
        return self.v
class Indexed:
    def __init__(self, v): self.v = v
    def __getitem__(self, i):
        if i > 2: raise IndexError(i)
        return self.v * (i + 1)
    def __len__(self): return 3
class Match:
    __match_args__ = ("u", "w")
    def __init__(self, u, w): self.u, self.w = u, w
    @property
    def both(self): return self.u * self.w
def yields(v, n):
    for i in range(n): yield v * (i + 1)
    yield from [v, v * v]
def stops(v):
    yield v
    raise Carried(v * 2.0)
def low(v, k=1.0):
    if isinstance(v, float) and v < 0.0: return v * k
    raise ValueError(v * k, v)
def deep(v, *, o):
    o.a = o.a * v
    w = low(v * 0.5, k=o.b) * 2.0
    return w
def within(v):
    t = [v]
    try: t.append(low(v))
    except KeyError: t.append(0.0)
    finally: t[0] = t[0] * 1.5
    return t[0]
class Ends:
    """Its last step does something, too."""
    def __init__(self, o, n=2, wrong=False): self.o, self.n, self.wrong = o, n, wrong
    def __iter__(self): return self
    def __next__(self):
        self.n = self.n - 1
        self.o.a = P.soft(self.o.a) + self.o.b
        if self.n < 0: raise ValueError(self.o.a) if self.wrong else StopIteration(self.o.a * 2.0)
        return self.o.a
class Raises:
    """Operators, items and attributes that do something and then raise."""
    def __init__(self, o): self.o = o
    def done(self, k):
        self.o.b = P.soft(self.o.b * k) + self.o.a
        raise ValueError(self.o.b * k)
    def __add__(self, k): return self.done(k)
    def __rmul__(self, k): return self.done(k)
    def __neg__(self): return self.done(self.o.a)
    def __getitem__(self, k): return self.done(k)
    def __setitem__(self, k, v): self.done(v)
    def __iter__(self): return self.done(self.o.a)
    def __enter__(self): return self.done(self.o.a)
    def __exit__(self, *e): return False
    @property
    def p(self): return self.done(self.o.b)
    @p.setter
    def p(self, v): self.done(v)
    def __getattr__(self, name):
        self.o.a = P.soft(self.o.a) * 1.5
        raise AttributeError(self.o.a)
class Asked:
    """What built-in operations ask does something."""
    def __init__(self, o): self.o = o
    def said(self, r, k=0.5):
        self.o.a = P.soft(self.o.a * k) + self.o.b
        return r
    def __len__(self): return self.said(2)
    def __contains__(self, k): return self.said(False, k)
    def __eq__(self, k): return self.said(True, k)
    def __lt__(self, k): return self.said(True, k)
    def __hash__(self): return self.said(1)
    def __bool__(self): return self.said(True)
    def __str__(self): return self.said("s")
    def __index__(self): return self.said(1)
    def __float__(self): return self.said(1.5)
    def __delattr__(self, name): self.said(None)
    def draws(self):
        yield self.said("a")
        self.said(None, self.o.b)
from contextlib import contextmanager, ExitStack, suppress
@contextmanager
def around(o, k):
    o.a = o.a * k
    yield o.a
    o.b = P.soft(o.b + o.a * k)
@contextmanager
def guarding(o):
    try: yield o
    except ValueError as e: o.a = P.soft(o.a * e.args[0])
    finally: o.b = P.soft(o.a) + o.b
def gives(o, k):
    sent = yield o.a * k
    o.b = P.soft(o.b * k) + (0.0 if sent is None else sent)
    return o.b * 2.0
def passes(o, k):
    r = yield from gives(o, k)
    o.a = P.soft(o.a + r)
    yield r
    return r * o.a
def guards(o, k):
    try: yield o.a
    except ValueError as e:
        o.a = P.soft(o.a * e.args[0])
        yield o.a * k
    finally: o.b = P.soft(o.b) + k
def last(g, first=None):
    """What a generator returns: all that it yields before is added."""
    total = 0.0
    try:
        total = total + g.send(None)
        total = total + g.send(first)
        while True: total = total + next(g)
    except StopIteration as e: return total + (0.5 if e.value is None else e.value)
def check(name, f):
    for x in (0.6, 1.1):
        e = 1e-5
        v, g = f(x), grad(f)(x)
        d = (f(x + e) - f(x - e)) / (2 * e)
        h = grad(grad(f))(x)
        n = (grad(f)(x + e) - grad(f)(x - e)) / (2 * e)
        print(name, repr(v), repr(g), repr(h), "ok" if abs(g - d) <= 1e-5 * (1 + abs(d)) else f"BAD first: {d}", "ok" if abs(h - n) <= 1e-3 * (1 + abs(n)) else f"BAD second: {n}", flush=True)
    t = tensor([0.3, 0.9, 0.75], dtype=f64)
    loss = lambda t: (f(t) * tensor([1.0, 2.0, 0.5], dtype=f64)).sum()
    both = lambda t: value_and_grad(loss)(t)
    fast = jit(lambda t: both(t))
    plain = both(t)
    for _ in range(3):
        v, g = fast(t)
        print(name, v.item(), g.tolist(), "ok" if v.item() == plain[0].item() and (g == plain[1]).all().item() else "BAD bits", flush=True)
'''

NUMBERS = ["{} * {}", "{} + {}", "{} - {} * 0.5", "P.soft({})", "{} / (2.0 + {} * {})", "({} + 1.0) ** 2", "{}.area", "{}.s", "{}.n", "{}.a", "{}.b", "{}.twice_a", "{}[0]", "{}[1]", "({} @ {})",
           "{}({})", "{}({}, y={})", "sum(list({}))", "abs({})", "divmod({}, {})[0]", "getattr({}, 'a')", "getattr({}, 'zz', {})", "sum([v * v for v in {}])", "N({}, b={}).c",
           "(lambda u, w: u * w)({}, {})", "len({}) * {}", "[{}, {}][0]", "{{'p': {}, 'q': {}}}['q']", "sum({{'p': {}, 'q': {}}}.values())"]
OBJECTS = ["P({}, {})", "Q({}, b={})", "H({}, {})", "N({})", "P.made({})", "{} + {}", "{} * {}", "({} + {})", "{} - {}", "-{}", "{} + {}n", "{}n + {}", "{}n * {}"]
KINDS = {"{}.area": "o", "{}.s": "o", "{}.n": "o", "{}.a": "o", "{}.b": "o", "{}.twice_a": "o", "{}[0]": "o", "{}[1]": "o", "({} @ {})": "oo", "{}({})": "on", "{}({}, y={})": "onn", "sum(list({}))": "o",
         "abs({})": "o", "divmod({}, {})[0]": "on", "getattr({}, 'a')": "o", "getattr({}, 'zz', {})": "on", "sum([v * v for v in {}])": "o", "len({}) * {}": "on"}
STATEMENTS = ["v{i} = {n}", "v{i} = {n}", "o{i} = {o}", "o{i} = {o}", "{O} += {n}", "{O} += {o}", "{O}[0] = {n}", "{O}[1] += {n}", "{O}.a = {n}", "{O}.area = {n}", "{O}.s = {n}", "{O}.n = {n}", "{O}.b *= {n}",
              "v{i}, w = {o}", "v{i}, *w = [*{o}, {n}]", "with {O} as v{i}: w = v{i} * {n}", "v{i} = 0.0\n    for w in {o}:\n        v{i} = v{i} + w * {n}",
              "try:\n        raise Carried({n})\n    except Carried as e:\n        v{i} = e.v", "try:\n        raise ValueError({n})\n    except ValueError as e:\n        v{i} = e.args[0] * {n}",
              "def inner(u, *more, k=0.5): return u * {n} + k * sum(more, 0.0)\n    v{i} = inner({n}, {n}, k={n})", "v{i} = 0.0\n    def add(u):\n        nonlocal v{i}\n        v{i} = v{i} + u * u\n    add({n})\n    add({n})",
              "l = [{n}, {n}]\n    l.append({n})\n    l[0] = l[1] * l[2]\n    v{i} = l[0] + l.pop()", "d = {{'a': {n}}}\n    d['b'] = d['a'] * {n}\n    v{i} = d['b'] + d.get('c', {n})", "{O}.extra = {n}\n    v{i} = {O}.extra * {n}",
              "setattr({O}, 'a', {n})\n    v{i} = getattr({O}, 'a') * 2.0", "v{i} = {n} if len({O}) == 2 else 0.0",
              "v{i} = 0.0\n    for w in Steps({n}):\n        v{i} = v{i} + w * {n}", "v{i} = sum([u * w for u, w in zip(Steps({n}), Indexed({n}))])", "v{i} = sum([k * w for k, w in enumerate(Steps({n}, 2), 1)])",
              "u, *w = Steps({n})\n    v{i} = u * w[0]", "v{i} = sum(Steps({n})) * sum(Indexed({n}))", "it = iter(Steps({n}))\n    v{i} = next(it) * next(it)", "v{i} = sum(yields({n}, 2)) * {n}",
              "v{i} = 0.0\n    try:\n        for w in stops({n}): v{i} = v{i} + w\n    except Carried as e:\n        v{i} = v{i} * e.v",
              "l = [{n}, {n}, {n}]\n    l[0:2] = [{n}, l[2] * {n}, {n}]\n    l += Steps({n}, 1)\n    v{i} = l[0] + l[-1] * l[2]", "l = [{n}, {n}]\n    l *= 2\n    del l[1:3]\n    l.extend(Steps({n}, 2))\n    l.reverse()\n    v{i} = l[0] * l[-1]",
              "match Match({n}, {n}):\n        case Match(u, w=w, both=b): v{i} = u * w + b", "match {{'k': {n}, 'l': {n}}}:\n        case {{'k': u, **w}}: v{i} = u * w['l']", "match [{n}, {o}]:\n        case [u, P(a=w)]: v{i} = u * w",
              "try:\n        v{i} = low({n}, k={n})\n    except ValueError as e:\n        v{i} = e.args[0] * 0.5 + e.args[1] * {n}", "try:\n        v{i} = deep({n}, o={O})\n    except ValueError as e:\n        v{i} = e.args[0] + {n}",
              "try:\n        v{i} = within({n})\n    except ValueError as e:\n        v{i} = e.args[0] * e.args[1]", "try:\n        v{i} = (lambda u: low(u * {n}))({n})\n    except (KeyError, ValueError) as e:\n        v{i} = sum(e.args)",
              "with around({O}, {n}) as w:\n        v{i} = w * {O}.b", "with around({O}, {n}), guarding({O}) as w:\n        v{i} = w.a * {n}\n        raise ValueError(v{i})",
              "with guarding({O}):\n        v{i} = {n}\n        {O}.a = {n}", "with suppress(ValueError, AttributeError):\n        v{i} = {n}\n        {O}.b = low({n}, k={n})",
              "with ExitStack() as s:\n        v{i} = s.enter_context(around({O}, {n}))\n        s.enter_context(guarding({O}))\n        s.callback(setattr, {O}, 'a', {n})",
              "it = Ends({O})\n    v{i} = next(it) * next(it)\n    try: next(it)\n    except StopIteration as e: v{i} = v{i} + e.value * {n}", "v{i} = sum(Ends({O})) + next(Ends({O}, 0), {n})",
              "v{i} = {n}\n    try:\n        for w in Ends({O}, wrong=True): v{i} = v{i} + w\n    except ValueError as e: v{i} = v{i} + e.args[0]", "v{i} = last(gives({O}, {n}), {n})", "v{i} = last(passes({O}, {n}))",
              "g = guards({O}, {n})\n    v{i} = next(g) * g.throw(ValueError({n}))\n    g.close()", "g = guards({O}, {n})\n    v{i} = next(g)\n    g.close()", "v{i} = getattr(Raises({O}), 'zz', {n})",
              *[f"v{{i}} = {{n}}\n    r = Raises({{O}})\n    try:\n        {do}\n    except (ValueError, AttributeError) as e: v{{i}} = v{{i}} + e.args[0]" for do in
                ("r + {n}", "{n} * r", "-r", "r[{n}]", "r[0] = {n}", "r.p", "r.p = {n}", "r.zz", "u, w = r", "u = [*r]", "r.done(P.soft({n}))", "with r: pass", "sum(r)", "getattr(r, 'p')", "setattr(r, 'p', {n})",
                 "r[{n}] += {n}", "[*map(r.done, [{n}])]", "max([{n}, {n}], key=r.done)")],
              *[f"q = Asked({{O}})\n    v{{i}} = {{n}}\n    {do}\n    v{{i}} = v{{i}} * {{O}}.a" for do in
                ("v{i} = v{i} + len(q)", "if q: v{i} = v{i} + {n}", "v{i} = v{i} + (q == {n})", "v{i} = v{i} + (q < {n})", "v{i} = v{i} + ({n} in q)", "w = f'{{q}}' + str(q)", "v{i} = v{i} + float(q)",
                 "del q.some", "any(q.draws())", "w = {{*q.draws()}}", "','.join(q.draws())", "w = 3 in q.draws()", "v{i} = v{i} + len([0] * q)", "w = [3, q].index(7)", "v{i} = v{i} + len(list(range(q)))",
                 "w = not q", "w = 5 in [q]", "w = print(*q.draws(), end='')")],
              "d = dict(a={n}, b={n})\n    d |= {{'c': {n}}}\n    k, w = d.popitem()\n    v{i} = w * d.pop('a') + d.setdefault('e', {n})"]


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.numbers, self.objects = ["x"], ["o0"]
        lines = ["o0 = P(x, x * 0.5)"]
        for i in range(1, self.r.randint(5, 11)):
            text = self.r.choice(STATEMENTS)
            target = self.r.choice(self.objects)
            text = text.replace("{O}", target).replace("{i}", str(i))
            while "{n}" in text or "{o}" in text:
                if "{n}" in text:
                    text = text.replace("{n}", self.number(2), 1)
                if "{o}" in text:
                    text = text.replace("{o}", self.object(1), 1)
            lines.append(text.replace("{{", "{").replace("}}", "}"))
            if f"v{i}" in text:
                self.numbers.append(f"v{i}")
            if text.startswith(f"o{i}"):
                self.objects.append(f"o{i}")
        self.name = f"program{seed}"
        self.text = f"def {self.name}(x):\n    " + "\n    ".join(lines) + f"\n    return P.soft({self.numbers[-1]}) + {self.objects[-1]}.a * 0.1 + {self.number(1)}\n\n\ncheck('{self.name}', {self.name})\n"

    def fill(self, text, kinds, depth):
        for k in kinds:
            text = text.replace("{}", self.number(depth - 1) if k == "n" else self.object(depth - 1), 1)
        return text.replace("{{", "{").replace("}}", "}")

    def number(self, depth):
        if depth <= 0 or self.r.random() < 0.3:
            return self.r.choice(self.numbers + ["x", "0.75"])
        text = self.r.choice(NUMBERS)
        return "(" + self.fill(text, KINDS.get(text, "n" * text.count("{}")), depth) + ")"

    def object(self, depth):
        if depth <= 0 or self.r.random() < 0.4:
            return self.r.choice(self.objects)
        text = self.r.choice(OBJECTS)
        if "{}n" in text:
            kinds = "no" if text.startswith("{}n") else "on"
            return "(" + self.fill(text.replace("{}n", "{}"), kinds, depth) + ")"
        call = "(" in text and text[0] in "PQHN"
        return "(" + self.fill(text, ("n" if call else "o") * text.count("{}"), depth) + ")"


def run(ouro, mode, path):
    option, environment = TIERS.get(mode, (mode, {}))
    p = subprocess.run([ouro, "run", "--cache=off", f"--mode={option}", path], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                       env={**os.environ, "OURO_ABORT_ON_BUG": "1", "OURO_CHECK_PLANS": "1", "OURO_COMPILE_AFTER": "0", **environment})
    return p.returncode, p.stdout, p.stderr[-500:] if p.returncode else ""


def wrong(ouro, modes, path, text):
    with open(path, "w") as f:
        f.write(PRELUDE + text)
    first = run(ouro, modes[0], path)
    bad = [line for line in first[1].splitlines() if "BAD" in line]
    if bad or first[0]:
        return modes[0], "\n".join(bad) + first[2]
    for mode in modes[1:]:
        got = run(ouro, mode, path)
        if got != first:
            pairs = [f"{a}\n{b}" for a, b in zip(first[1].splitlines(), got[1].splitlines()) if a != b][:1]
            return mode, "\n".join(pairs) + got[2]
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--count", type=int, default=80)
    p.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    p.add_argument("--keep", default=".")
    p.add_argument("--modes", default=",".join(MODES))
    p.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    args = p.parse_args()
    os.makedirs(args.keep, exist_ok=True)
    modes = args.modes.split(",")

    def batch(first):
        """How many programs of a batch are wrong."""
        programs = [Program(s) for s in range(first, min(first + BATCH, args.seed + args.count))]
        path = os.path.join(args.keep, f"batch{first}.ouro")
        if not wrong(args.ouro, modes, path, "\n".join(q.text for q in programs)):
            os.remove(path)
            return 0
        found = 0
        for q in programs:
            alone = os.path.join(args.keep, f"{q.name}.ouro")
            problem = wrong(args.ouro, modes, alone, q.text)
            if problem:
                found += 1
                print(f"{alone}, {problem[0]}:\n{problem[1]}\n", flush=True)
            else:
                os.remove(alone)
        os.remove(path)
        return found
    with ThreadPoolExecutor(args.jobs) as pool:
        differ = sum(pool.map(batch, range(args.seed, args.seed + args.count, BATCH)))
    print(f"{args.count - differ} passed, {differ} failed")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
