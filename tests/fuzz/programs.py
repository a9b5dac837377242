#!/usr/bin/env python3
"""Random programs, compared with CPython in all modes; one that differs is shrunk and kept.

    tests/fuzz/programs.py [--seed N] [--count N | --seconds N] [--ouro build/ouro] [--keep FOLDER]

A program is a tree: statements hold bodies, expressions hold operands, and every node of either can stand alone, so
that shrinking only takes nodes away (greedily, to a fixed point, as in Zeller's delta debugging) or puts an operand in
the place of its operator. Expressions are drawn for a type, now and then for another one, so that most programs run and
some raise. Loops are bounded by construction; every statement at the top stands in a `try` that prints what it raised.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Beside the three modes: every function compiled, that with an exit at each instruction in turn, and the interpreter that
# reads the protocol of objects from its text (tests/harness/common.py: tier).
TIERS = {"everything": ("graph", {"OURO_COMPILE": "everything"}), "text": ("eager", {"OURO_PROTOCOL": "text"}),
         "exits": ("graph", {"OURO_COMPILE": "everything", "OURO_STRESS_EXITS": "1"})}
MODES = ("eager", "auto", "graph", *TIERS)
TYPES = ("int", "float", "str", "bool", "list", "tuple", "dict", "set", "bytes", "obj", "obj")

# Rows: type of the result, text, types of the operands ({} each). "any" is any type.
OPERATORS = [
    ("int", "({} + {})", "int int"), ("int", "({} - {})", "int int"), ("int", "({} * {})", "int int"),
    ("int", "({} // {})", "int int"), ("int", "({} % {})", "int int"), ("int", "({} & {})", "int int"),
    ("int", "({} | {})", "int int"), ("int", "({} ^ {})", "int int"), ("int", "(-{})", "int"), ("int", "(~{})", "int"),
    ("int", "({} << ({} & 40))", "int int"), ("int", "({} >> ({} & 40))", "int int"), ("int", "abs({})", "int"),
    ("int", "({} ** ({} & 7))", "int int"), ("int", "len({})", "str"), ("int", "len({})", "list"), ("int", "len({})", "dict"),
    ("int", "len({})", "set"), ("int", "int({})", "float"), ("int", "int({})", "bool"), ("int", "round({})", "float"),
    ("int", "sum({})", "list"), ("int", "max({}, {})", "int int"), ("int", "min({}, {}, {})", "int int int"),
    ("int", "{}.count({})", "list int"), ("int", "{}.index({})", "list int"), ("int", "{}.find({})", "str str"),
    ("int", "hash(value({}))", "int"), ("int", "{}[{}]", "list int"), ("int", "{}[{}]", "bytes int"),
    ("int", "{}.bit_length()", "int"), ("int", "pow({}, {} & 31, {})", "int int int"), ("int", "ord({}[0])", "str"),
    ("int", "int({}, {})", "str int"), ("int", "{}.get({}, {})", "dict str int"), ("int", "divmod({}, {})[1]", "int int"),
    ("float", "({} + {})", "float float"), ("float", "({} - {})", "float int"), ("float", "({} * {})", "float float"),
    ("float", "({} / {})", "int int"), ("float", "({} / {})", "float float"), ("float", "({} // {})", "float float"),
    ("float", "({} % {})", "float float"), ("float", "float({})", "int"), ("float", "round({}, {} & 3)", "float int"),
    ("float", "(-{})", "float"), ("float", "abs({})", "float"), ("float", "float({})", "str"), ("float", "max({}, {})", "float float"),
    ("str", "({} + {})", "str str"), ("str", "({} * ({} & 3))", "str int"), ("str", "str({})", "any"), ("str", "repr({})", "any"),
    ("str", "{}.upper()", "str"), ("str", "{}.title()", "str"), ("str", "{}[{}:{}]", "str int int"), ("str", "{}[::-1]", "str"),
    ("str", "{}[{}]", "str int"), ("str", "{}.join(map(str, {}))", "str list"), ("str", "{}.replace({}, {})", "str str str"),
    ("str", "'{{!r:>12}}'.format({})", "str"), ("str", "'%5d|%-6s' % ({}, {})", "int str"), ("str", "'{{:,}}'.format({})", "int"),
    ("str", "format({}, '.3f')", "float"), ("str", "format({}, {})", "int str"), ("str", "{}.center({} & 15, '*')", "str int"),
    ("str", "{}.strip({})", "str str"), ("str", "hex({})", "int"), ("str", "chr({} & 1023)", "int"), ("str", "type({}).__name__", "any"),
    ("str", "max({}, {}, key=len)", "str str"), ("str", "''.join(sorted({}))", "str"), ("str", "'%s %r' % ({}, {})", "any any"),
    ("bool", "({} < {})", "int int"), ("bool", "({} == {})", "any any"), ("bool", "({} <= {} < {})", "int float int"),
    ("bool", "({} in {})", "int list"), ("bool", "({} in {})", "str str"), ("bool", "(not {})", "any"), ("bool", "({} and {})", "bool bool"),
    ("bool", "({} or {})", "bool bool"), ("bool", "({} is None)", "any"), ("bool", "isinstance({}, {})", "any class"),
    ("bool", "any({})", "list"), ("bool", "all(v > {} for v in {})", "int list"), ("bool", "({} <= {})", "set set"), ("bool", "({} < {})", "list list"),
    ("bool", "({} < {})", "tuple tuple"), ("bool", "bool({})", "any"), ("bool", "{}.isalpha()", "str"), ("bool", "{}.startswith({})", "str str"),
    ("list", "[{}, {}, {}]", "int int int"), ("list", "({} + {})", "list list"), ("list", "sorted({})", "list"),
    ("list", "sorted({})", "set"), ("list", "[v + {} for v in {} if v % 3]", "int list"), ("list", "{}[{}:{}]", "list int int"),
    ("list", "{}[::{}]", "list int"), ("list", "list(range({} & 15, {} & 31))", "int int"), ("list", "list(map(lambda v: v * {}, {}))", "int list"),
    ("list", "[*{}, *{}]", "list tuple"), ("list", "list(reversed({}))", "list"), ("list", "[len(w) for w in {}.split({})]", "str str"),
    ("list", "list({}.values())", "dict"), ("list", "[a * b for a, b in zip({}, {})]", "list list"), ("list", "({} * ({} & 3))", "list int"),
    ("list", "[i for i, v in enumerate({}) if v > {}]", "list int"), ("list", "sorted({}, key=lambda v: (v % 5, -v))", "list"), ("list", "list({})", "bytes"),
    ("tuple", "({}, {})", "int int"), ("tuple", "tuple({})", "list"), ("tuple", "divmod({}, {})", "int int"), ("tuple", "({} + {})", "tuple tuple"),
    ("tuple", "({}, {})", "any any"), ("tuple", "{}[{}:]", "tuple int"), ("tuple", "tuple(v for v in {} if v)", "list"), ("tuple", "{}.partition({})", "str str"),
    ("dict", "{{{}: {}, {}: {}}}", "str int str int"), ("dict", "{{**{}, {}: {}}}", "dict str int"), ("dict", "({} | {})", "dict dict"),
    ("dict", "{{k: v + {} for k, v in {}.items()}}", "int dict"), ("dict", "dict(zip({}, {}))", "str list"), ("dict", "dict.fromkeys({}, {})", "str int"),
    ("set", "{{{}, {}}}", "int int"), ("set", "set({})", "list"), ("set", "({} | {})", "set set"), ("set", "({} - {})", "set set"),
    ("set", "({} ^ {})", "set set"), ("set", "{{v % 7 for v in {}}}", "list"), ("bytes", "{}.encode()", "str"), ("bytes", "({} + {})", "bytes bytes"),
    ("bytes", "bytes(v & 255 for v in {})", "list"), ("bytes", "({} & 0xffff).to_bytes(2, 'little')", "int"), ("bytes", "{}[{}:]", "bytes int"),
    ("any", "({} if {} else {})", "any bool any"), ("any", "({} or {})", "any any"), ("any", "(lambda a, b=2: [a, b])({})", "any"), ("any", "{}.pop({})", "list int"),
    ("any", "next(iter({}), {})", "list any"), ("any", "[{}, {}][{}]", "any any bool"), ("any", "{}.get({})", "dict str"),
]
# Objects: operators, comparisons, items, attributes and calls of classes that answer to all of them.
OPERATORS += [("obj", text, operands) for text, operands in [
    ("V({})", "int"), ("W({})", "int"), ("V({}, {})", "int obj"), ("N({})", "int"), ("N({}, {})", "int int"), ("S({})", "int"), ("H({})", "int"),
    ("({} + {})", "obj obj"), ("({} + {})", "obj int"), ("({} + {})", "int obj"), ("({} - {})", "obj obj"), ("({} * {})", "int obj"), ("({} * {})", "obj obj"),
    ("({} % {})", "obj int"), ("({} @ {})", "obj obj"), ("({} // {})", "obj obj"), ("({} ** {})", "obj int"), ("({} & {})", "obj obj"), ("({} << {})", "int obj"),
    ("(-{})", "obj"), ("(~{})", "obj"), ("abs({})", "obj"), ("{}.copy({})", "obj int"), ("type({})({})", "obj int"), ("{}.w", "obj"), ("{}.nd", "obj"),
    ("{}.shifted", "obj"), ("V.made({})", "int"), ("W.made({})", "int"), ("{}.made({})", "obj int"), ("sum([{}, {}], V(0))", "obj obj"),
    ("max([{}, {}], key=lambda o: repr(o))", "obj obj"), ("keeper({})", "obj"), ("counted({})()", "int")]]
OPERATORS += [
    ("bool", "({} == {})", "obj obj"), ("bool", "({} != {})", "obj obj"), ("bool", "({} < {})", "obj obj"), ("bool", "({} >= {})", "obj int"), ("bool", "({} in {})", "int obj"),
    ("bool", "bool({})", "obj"), ("bool", "(not {})", "obj"), ("bool", "isinstance({}, {})", "obj class"), ("bool", "hasattr({}, {})", "obj str"), ("bool", "callable({})", "obj"),
    ("bool", "({} is {})", "obj obj"), ("int", "len({})", "obj"), ("int", "{}[{}]", "obj int"), ("int", "{}({})", "obj int"), ("int", "{}.v", "obj"), ("int", "{}.d", "obj"),
    ("int", "{}.half", "obj"), ("int", "divmod({}, {})[0]", "obj obj"), ("int", "int({})", "obj"), ("int", "sum({})", "obj"), ("int", "V({}).count", "int"), ("int", "hash(V({}))", "int"),
    ("int", "next(iter({}), 9)", "obj"), ("int", "round({}, {})", "obj int"), ("list", "list({})", "obj"), ("list", "[*{}, {}]", "obj int"), ("list", "sorted({})", "obj"),
    ("list", "[x + {} for x in {}]", "int obj"), ("list", "list(It({}))", "int"), ("list", "list(reversed({}))", "obj"), ("tuple", "tuple({})", "obj"), ("tuple", "(lambda a, *b: (a, b))(*{})", "obj"),
    ("str", "'{{!r}} {{:>5}}'.format({}, {})", "obj obj"), ("str", "format({}, {})", "obj str"), ("str", "str({})", "obj"), ("str", "str(getattr({}, {}, 'none'))[:9]", "obj str"), ("any", "{}.missing", "obj"),
    ("any", "vars({})", "obj"), ("dict", "dict(zip('ab', {}))", "obj"), ("dict", "{{**{}.pairs()}}", "obj"), ("set", "set({})", "obj"), ("any", "{}[{}:{}]", "obj int int")]
# What classes say of attributes, of being made, and of how many items to expect.
OPERATORS += [(kind, f"(lambda o: {text})({{}})", "obj") for kind, text in [
    ("any", "(V.nd, type(o).nd, W.d.at)"), ("any", "(V.nd, o.nd)"), ("any", "o.mislaid"), ("any", "(o.mislaid, hasattr(o, 'mislaid'), getattr(o, 'mislaid', 1))"),
    ("any", "(hasattr(o, '__dict__'), hasattr(S(1), '__dict__'), hasattr(o, 'other'))"), ("any", "Undone()"), ("any", "Done().area(o)"),
    ("str", "attrgetter('__class__.__name__')(o)"), ("str", "attrgetter('__class__.__name__')(len(repr(o)))"), ("str", "attrgetter('copy.__class__.__name__')(o)"),
    ("any", "[isinstance(f, BuiltinMethodType) for f in ([].append, ''.join, len, keeper)]")]]
OPERATORS += [("any", f"(lambda n: {text})({{}})", "int") for text in ("list(Hint(n))", "[*Hint(n), n]", "tuple(Hint(n))", "length_hint(Hint(n), 3)", "[].extend(Hint(n))", "(lambda *a: a)(*Hint(n))",
    "(lambda o: (list(o), [*o, n], tuple(o), sorted(o), [*map(str, o)], n in o, (lambda *a: a)(*o, *o), o.asked))(Sized(n))")]
LITERALS = {
    "int": ["(0)", "(1)", "(-1)", "(2)", "(3)", "(7)", "(10)", "(255)", "(-12)", "(1000003)", "(2**31)", "(2**63)", "(-2**63)", "(10**20)", "True"],
    "float": ["0.0", "-0.0", "1.0", "0.5", "-2.75", "1e16", "1e-7", "3.14159", "float('inf')", "float('nan')", "123456.789"],
    "str": ["''", "'a'", "'abc'", "'Hello World'", "' x '", "'12'", "'-7'", "'é€'", "'a,b,c'", "'ABC def'", "'b'", "','", "'05d'", "'>6'"],
    "bool": ["True", "False"], "list": ["[]", "[1, 2, 3]", "[5, -1, 5, 0]", "list(range(6))", "[2**64, 3]"],
    "tuple": ["()", "(1,)", "(3, 'x')", "(1, 2, 3)"], "dict": ["{}", "{'a': 1}", "{'a': 1, 'b': 2, 'c': 3}"],
    "set": ["set()", "{1}", "{1, 2, 3}", "frozenset({2, 3})"], "bytes": ["b''", "b'ab'", "b'\\x00\\xff'", "bytearray(b'xyz')"],
    "class": ["int", "str", "(list, tuple)", "float", "dict", "A", "B", "V", "W", "(S, H)"], "obj": ["V(1)", "W(2)", "S(3)", "H(4)", "N(5)", "V(0)"],
}
PRELUDE = '''def value(x):  # the hash of None, of ... and of an object without one of its own is the address
    return 0 if x is None or x is ... or type(x).__hash__ is object.__hash__ else x
class A:
    kind = 'A'
    def __init__(self, v=0): self.v = v
    def __repr__(self): return f'{type(self).__name__}({self.v!r})'
    def __eq__(self, o): return isinstance(o, A) and self.v == o.v
    def __hash__(self): return hash(str(self.v))
    def __add__(self, o): return type(self)((self.v, o))
    def __radd__(self, o): return type(self)((o, self.v))
    def __lt__(self, o): return repr(self) < repr(o)
    def __getattr__(self, n):
        if n.startswith('x'): return n
        raise AttributeError(n)
    def step(self, w=1):
        self.v = [self.v, w]
        return self
class B(A):
    kind = 'B'
    def step(self, *a, **k):
        super().step(*a, **k)
        return self.v
    @property
    def twice(self): return (self.v, self.v)
    def __enter__(self): print('enter', self); return self
    def __exit__(self, t, e, tb): print('exit', t and t.__name__); return t is ValueError
class Data:
    def __set_name__(self, owner, name): self.at = '_' + name
    def __get__(self, o, t): return self if o is None else getattr(o, self.at, 0) + 1
    def __set__(self, o, v): setattr(o, self.at, v if isinstance(v, int) else 0)
class Shown:
    def __get__(self, o, t): return t.__name__ if o is None else V(o.v + 1)
from abc import ABC, abstractmethod
from operator import attrgetter, length_hint
from types import BuiltinMethodType
class Undone(ABC):
    @abstractmethod
    def area(self, o): return o
class Done(Undone):
    def area(self, o): return [super().area(o)]
class Hint:
    def __init__(self, n): self.n = n % 7
    def __iter__(self): return iter([self.n, 1])
    def __length_hint__(self):
        if self.n > 4: raise (TypeError, ValueError)[self.n - 5](self.n)
        return (1, -1, 'a', NotImplemented, 2)[self.n]
class Sized(Hint):
    asked = 0
    def __len__(self):
        self.asked += 1
        if self.asked == 3 + self.n: raise (TypeError, ValueError)[self.n % 2](self.n)
        return self.n
class It:
    def __init__(self, n): self.i, self.n = 0, n % 5
    def __iter__(self): return self
    def __next__(self):
        if self.i >= self.n: raise StopIteration
        self.i += 1
        return self.i * self.i
class V:
    d = Data()
    nd = Shown()
    count = 0
    def __init__(self, v, other=None):
        self.v = v % 100 if isinstance(v, int) else 7
        self.other = other
        self.d = self.v
    @classmethod
    def made(cls, n): return cls(n)
    @staticmethod
    def pairs(): return {'p': 1}
    @property
    def half(self): return self.v // 2
    @half.setter
    def half(self, n): self.v = n * 2
    @property
    def shifted(self): return type(self)(self.v + 10)
    @property
    def w(self): return W(self.v)
    @property
    def mislaid(self): return self.v.missing
    def copy(self, n): return self.__class__(self.v + n)
    def __repr__(self): return f'{type(self).__name__}<{self.v}>'
    def __add__(self, o): return V(self.v + o.v) if isinstance(o, V) else V(self.v + o) if isinstance(o, int) else NotImplemented
    def __radd__(self, o): return V(o + self.v) if isinstance(o, int) else NotImplemented
    def __sub__(self, o): return V(self.v - o.v) if isinstance(o, V) else NotImplemented
    def __mul__(self, o): return NotImplemented if isinstance(o, W) else V(self.v * (o.v if isinstance(o, V) else 2))
    def __rmul__(self, o): return V(self.v * 3)
    def __mod__(self, o): return V(self.v % o) if o else NotImplemented
    def __matmul__(self, o): return V(self.v, o)
    def __rlshift__(self, o): return V(self.v + 40)
    def __and__(self, o): return NotImplemented
    def __pow__(self, n): return V(self.v ** (n & 3))
    def __divmod__(self, o): return (self.v, 1) if isinstance(o, V) else NotImplemented
    def __neg__(self): return V(-self.v)
    def __abs__(self): return V(abs(self.v))
    def __round__(self, n=None): return self.v + (n or 0)
    def __int__(self): return self.v
    def __eq__(self, o): return self.v == o.v if isinstance(o, V) else NotImplemented
    def __lt__(self, o): return self.v < o.v if isinstance(o, V) else NotImplemented
    def __ge__(self, o): return self.v >= o if isinstance(o, int) else NotImplemented
    def __hash__(self): return self.v
    def __bool__(self): return self.v % 3 != 0
    def __len__(self): return self.v % 4
    def __contains__(self, k): return k == self.v
    def __getitem__(self, k): return self.v + k if isinstance(k, int) else k
    def __setitem__(self, k, n): self.v = (k, n)[1] if isinstance(n, int) else 1
    def __delitem__(self, k): self.v = 0
    def __iter__(self): return iter([self.v, 1, 2])
    def __reversed__(self): return iter([2, self.v])
    def __call__(self, n=1, *a, **k): return self.v + n + len(a) + len(k)
    def __format__(self, spec): return 'V:' + spec
    def __iadd__(self, o):
        if not isinstance(o, int): return NotImplemented
        self.v += o
        return self
    def __getattr__(self, n):
        if n.startswith('m'): return (n, self.v)
        raise AttributeError(n)
class W(V):
    def __radd__(self, o): return W(o.v + self.v + 1) if isinstance(o, V) else super().__radd__(o)
    def __and__(self, o): return W(1)
    def __rand__(self, o): return W(2)
    def __gt__(self, o): return 'gt'
    def __lt__(self, o): return super().__lt__(o)
    def __getitem__(self, k): return super().__getitem__(k) * 2
    def __ne__(self, o): return 'ne'
    count = property(lambda self: self.v)
class S:
    __slots__ = ('v', 'd', 'other')
    def __init__(self, v, *more): self.v = v if isinstance(v, int) else 0
    def __repr__(self): return f'S<{self.v}>'
    def __eq__(self, o): return isinstance(o, S)
    def __getitem__(self, i):
        if i > 2: raise IndexError(i)
        return self.v * i
    def __floordiv__(self, o): return S(self.v // 2)
class H:
    """Hooks."""
    log = 0
    def __init__(self, v, *more): self.v = v
    def __setattr__(self, n, v):
        H.log += 1
        object.__setattr__(self, n, v)
    def __getattribute__(self, n): return object.__getattribute__(self, n) if n != 'half' else 50
    def __delattr__(self, n): H.log += 100
    def __repr__(self): return f'H<{self.v!r}>'
    def __enter__(self): return self.v
    def __exit__(self, *a): return False
class N(V):
    def __new__(cls, v, *more):
        o = super().__new__(cls)
        o.made_by = v
        return o if v != 13 else V(v)
    def __init__(self, v, k=0): super().__init__(v + k)
def keeper(o):
    def set_(n):
        nonlocal o
        o = n
        return o
    set_(o if o else V(1))
    return o
def counted(n):
    total = n
    def step():
        nonlocal total
        total += 1
        return V(total)
    step()
    return step
def show(*a): print(*[sorted(x, key=repr) if isinstance(x, (set, frozenset)) else x for x in a])
q = None
'''


class Expr:
    """An operator with operands; `types` says what each was drawn for, the last what it gives."""

    def __init__(self, text, operands=(), kind="any"):
        self.text, self.operands, self.kind = text, list(operands), kind

    def render(self):
        return self.text.format(*[o.render() for o in self.operands]) if self.operands else self.text

    def smaller(self):
        """Ways to put something simpler in this place or in one below it: (apply, undo)."""
        for i, o in enumerate(self.operands):
            for simple in [*o.operands, Expr("(0)"), Expr("''"), Expr("None")]:
                if o.operands or len(o.text) > 4:
                    yield replace(self.operands, i, simple)
            yield from o.smaller()


class Stmt:
    """A head with expressions, and parts of (keyword line, body); no parts: a simple statement."""

    def __init__(self, head, exprs=(), parts=()):
        self.head, self.exprs, self.parts = head, list(exprs), [(k, b) for k, b in parts]

    def render(self, indent):
        pad = "    " * indent
        text = self.head.format(*[e.render() for e in self.exprs]) if self.exprs else self.head
        lines = [pad + text] if text else []
        for key, body in self.parts:
            if key:
                lines.append(pad + key)
            lines += [line for s in body for line in s.render(indent + 1)] or [pad + "    pass"]
        return lines

    def smaller(self):
        for key, body in self.parts:
            for i in range(len(body)):
                yield remove(body, i)
            for i, s in enumerate(body):
                for _, inner in s.parts:
                    yield splice(body, i, inner)
                yield from s.smaller()
        for i, e in enumerate(self.exprs):
            for simple in [*e.operands, Expr("(0)")]:
                if e.operands or len(e.text) > 4:
                    yield replace(self.exprs, i, simple)
            yield from e.smaller()


def replace(items, i, new):
    old = items[i]
    return (lambda: items.__setitem__(i, new)), (lambda: items.__setitem__(i, old))


def remove(items, i):
    old = items[i]
    return (lambda: items.pop(i)), (lambda: items.insert(i, old))


def splice(items, i, inner):
    old = items[i]
    n = len(inner)
    return (lambda: items.__setitem__(slice(i, i + 1), inner)), (lambda: items.__setitem__(slice(i, i + n), [old]))


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names = {}       # of variables in scope: type
        self.functions = []   # (text of a call, number of parameters)
        self.counter = 0
        self.in_function = self.in_generator = self.in_loop = False

    def fresh(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def expr(self, kind, depth=3):
        r = self.r
        if r.random() < 0.03:
            kind = "any"
        if kind == "any":
            kind = r.choice(TYPES) if r.random() < 0.9 else "any"
        known = [n for n, t in self.names.items() if t == kind]
        if known and r.random() < (0.4 if depth else 0.8):
            return Expr(r.choice(known), kind=kind)
        if depth and self.functions and r.random() < 0.08:
            name, count = r.choice(self.functions)
            return Expr(name.format(", ".join(["{}"] * count)), [self.expr("int", depth - 1) for _ in range(count)])
        if depth and r.random() < 0.05:
            return Expr(r.choice(["A({})", "B({})", "B({}).twice", "A({}).kind", "A({}).step()", "(A({}) + 1)", "A({}).xy", "[*B({}).v]"]),
                        [self.expr("any", depth - 1)])
        rows = [o for o in OPERATORS if o[0] in (kind, "any")] if depth and kind in TYPES else []
        if not rows or r.random() < 0.15:
            return Expr(r.choice(LITERALS.get(kind, ["None", "A(1)", "...", "range(4)"])), kind=kind)
        _, text, operands = r.choice(rows)
        return Expr(text, [self.expr(t, depth - 1) for t in operands.split()], kind)

    def body(self, depth, n=3):
        saved = dict(self.names)
        out = [self.statement(depth) for _ in range(self.r.randint(1, n))]
        self.names = saved
        return out

    def statement(self, depth):
        choices = [self.s_assign] * 5 + [self.s_show] * 3 + [self.s_augmented] * 3 + [self.s_unpack, self.s_item, self.s_method, self.s_raise, self.s_object, self.s_object]
        if depth:
            choices += [self.s_if] * 2 + [self.s_for] * 3 + [self.s_try] * 3 + [self.s_while, self.s_with, self.s_match, self.s_def, self.s_def, self.s_class]
        if self.in_loop:
            choices += [self.s_leave]
        if self.in_function:
            choices += [self.s_return]
        return self.r.choice(choices)(depth)

    def s_assign(self, _):
        kind = self.r.choice(TYPES)
        e = self.expr(kind)
        known = list(self.names)
        name = self.r.choice(known) if known and self.r.random() < 0.4 else self.fresh("v")
        self.names[name] = kind
        return Stmt(name + " = {}", [e])

    def s_show(self, _):
        return Stmt(self.r.choice(["show({}, {})", "show(q := {}, {})"]), [self.expr("any"), self.expr("any", 2)])

    def s_augmented(self, _):
        known = [n for n, t in self.names.items() if t in ("int", "float", "str", "list", "set", "tuple")]
        if not known:
            return self.s_assign(_)
        name = self.r.choice(known)
        kind = self.names[name]
        op = self.r.choice({"int": ["+", "-", "*", "//", "%", "&", "|", "^"], "float": ["+", "-", "*", "/"], "str": ["+"],
                            "list": ["+"], "set": ["|", "-", "&", "^"], "tuple": ["+"]}[kind])
        return Stmt(f"{name} {op}= {{}}", [self.expr(kind)])

    def s_unpack(self, _):
        a, b = self.fresh("v"), self.fresh("v")
        self.names[b] = "list"
        return Stmt(self.r.choice([f"{a}, *{b} = {{}}", f"*{b}, {a} = {{}}"]), [self.expr(self.r.choice(["list", "tuple", "str"]))])

    def s_item(self, _):
        known = [n for n, t in self.names.items() if t in ("list", "dict")]
        if not known:
            return self.s_show(_)
        name = self.r.choice(known)
        if self.names[name] == "dict":
            return Stmt(self.r.choice([f"{name}[{{}}] = {{}}", f"{name}[{{}}] += {{}}"]), [self.expr("str", 1), self.expr("int")])
        return Stmt(self.r.choice([f"{name}[{{}}] = {{}}", f"{name}[{{}}] += {{}}", f"{name}[{{}}:] = [{{}}]", f"del {name}[{{}}:{{}}]"]),
                    [self.expr("int", 1), self.expr("int")])

    def s_method(self, _):
        known = [n for n, t in self.names.items() if t == "list"]
        if not known:
            return self.s_show(_)
        return Stmt(self.r.choice(known) + self.r.choice([".append({})", ".extend([{}, 1])", ".insert(0, {})", ".remove({})", ".sort(key=lambda v: v * {})"]),
                    [self.expr("int", 2)])

    def s_object(self, _):
        known = [n for n, t in self.names.items() if t == "obj"]
        if not known:
            return self.s_show(_)
        name = self.r.choice(known)
        text, kinds = self.r.choice([(".v = {}", "int"), (".d = {}", "int"), (".half = {}", "int"), (".half += {}", "int"), ("[{}] = {}", "int int"), (" += {}", "int"), (" += {}", "obj"),
                                     (" *= {}", "obj"), (".other = {}", "obj"), (".v += {}", "int"), ("[{}] += {}", "int int"), (".nd = {}", "any"), (".extra = {}", "any"), (" &= {}", "obj")])
        if self.r.random() < 0.1:
            return Stmt(f"del {name}[{{}}]", [self.expr("int", 1)])
        return Stmt(name + text, [self.expr(k, 2) for k in kinds.split()])

    def s_raise(self, _):
        return Stmt("if {}: raise " + self.r.choice(["ValueError", "KeyError", "TypeError", "IndexError"]) + "({})", [self.expr("bool", 2), self.expr("any", 1)])

    def s_if(self, depth):
        parts = [("", self.body(depth - 1))]
        if self.r.random() < 0.5:
            parts.append(("else:", self.body(depth - 1)))
        return Stmt("if {}:", [self.expr("bool")], parts)

    def loop_body(self, depth):
        saved, self.in_loop = self.in_loop, True
        out = self.body(depth - 1)
        self.in_loop = saved
        return out

    def s_for(self, depth):
        name = self.fresh("i")
        saved = dict(self.names)
        if self.r.random() < 0.6:
            head, e, kind = f"for {name} in range({{}} & 7):", self.expr("int", 1), "int"
        else:
            head, e, kind = f"for {name} in list({{}})[:6]:", self.expr(self.r.choice(["list", "str", "obj"]), 2), "int"
        self.names[name] = kind
        parts = [("", self.loop_body(depth))]
        self.names = saved
        if self.r.random() < 0.25:
            parts.append(("else:", self.body(depth - 1, 1)))
        return Stmt(head, [e], parts)

    def s_while(self, depth):
        name = self.fresh("n")
        return Stmt(f"{name} = 0", [], [(f"while ({name} := {name} + 1) < 6:", self.loop_body(depth))])

    def s_try(self, depth):
        parts = [("", self.body(depth - 1))]
        if self.r.random() < 0.85:
            what = self.r.choice(["Exception", "(ValueError, TypeError)", "LookupError", "ZeroDivisionError", "ArithmeticError"])
            parts.append((f"except {what} as e:", [Stmt("show(type(e).__name__, e)")] + self.body(depth - 1, 1)))
            if self.r.random() < 0.3:
                parts.append(("else:", self.body(depth - 1, 1)))
        if len(parts) == 1 or self.r.random() < 0.4:
            parts.append(("finally:", self.body(depth - 1, 2)))
        return Stmt("try:", [], parts)

    def s_with(self, depth):
        return Stmt(self.r.choice(["with B({}) as b:", "with H({}) as b:"]), [self.expr("any", 1)], [("", self.body(depth - 1))])

    def s_match(self, depth):
        name = self.fresh("m")
        cases = ["case int(x) if x > 3:", "case [a, *rest]:", "case {'a': 1, **rest}:", "case str() | bytes():", "case (1 | 2) as w:", "case A(v=w):", "case V(v=int(w)) if w:", "case (a, b):", "case None:", "case _:"]
        picked = sorted(self.r.sample(cases, 3), key=cases.index)
        return Stmt(f"{name} = {{}}", [self.expr("any")], [(f"match {name}:", [Stmt(c, [], [("", self.body(depth - 1, 2))]) for c in picked])])

    def s_def(self, depth):
        name, count = self.fresh("f"), self.r.randint(0, 2)
        params = [self.fresh("p") for _ in range(count)]
        saved = (dict(self.names), list(self.functions), self.in_function, self.in_loop, self.in_generator)
        outer = {n: t for n, t in self.names.items()}
        self.names = outer
        self.names.update({p: "int" for p in params})
        self.in_function, self.in_loop = True, False
        self.in_generator = self.r.random() < 0.3
        head = f"def {name}({', '.join(p + ('=1' if k else '') for k, p in enumerate(params))}):"
        written = sorted(n for n in saved[0] if self.r.random() < 0.1)
        if not saved[2]:
            body = [Stmt("global " + ", ".join(written))] if written else []
        else:
            body = []
        hidden = [n for n in saved[0] if n not in written and n not in params]
        for n in hidden:  # assigned here, they would be unbound locals before: that is a test too, but not every time
            if self.r.random() < 0.8:
                self.names.pop(n, None)
        generator = self.in_generator
        body += self.body(depth - 1, 4)
        if generator:
            body.append(Stmt("yield {}", [self.expr("any", 1)]))
            body.append(Stmt("x = yield {}", [self.expr("any", 1)]))
        body.append(Stmt("return {}", [self.expr("any", 2)]))
        self.names, self.functions, self.in_function, self.in_loop, self.in_generator = saved
        self.functions.append((f"list({name}({{}}))" if generator else f"{name}({{}})", count))
        return Stmt(head, [], [("", body)])

    def s_class(self, depth):
        name = self.fresh("C")
        saved = dict(self.names)
        method = Stmt("def run(self, w):", [], [("", self.body(depth - 1) + [Stmt("return (self.v, w)")])])
        self.names = saved
        value = self.expr("any", 2)
        attribute = Stmt("attr = {}", [self.expr("any", 1)])
        return Stmt(f"class {name}({self.r.choice(['A', 'B'])}):", [], [("", [attribute, method])]) if self.r.random() < 0.5 else \
            Stmt("show(type('D', (A,), {{'attr': {}}})({}))", [self.expr("any", 1), value])

    def s_leave(self, _):
        return Stmt("if {}: " + self.r.choice(["break", "continue"]), [self.expr("bool", 1)])

    def s_return(self, _):
        return Stmt("if {}: return {}", [self.expr("bool", 1), self.expr("any", 2)])


class Program:
    def __init__(self, seed):
        g = Generator(seed)
        self.statements = []
        for _ in range(g.r.randint(8, 24)):
            self.statements.append(g.statement(g.r.choice([0, 1, 2, 3])))

    def render(self):
        body = []
        for s in self.statements:
            body += ["try:", *s.render(1), "except Exception as e:", "    print(type(e).__name__, e)"]
        text = "\n".join(body) + "\n"
        # What a failed statement would have bound.
        known = [f"{v} = 0" for v in sorted(set(re.findall(r"\bv\d+\b", text)))]
        known += [f"def {f}(*a): return [1]" for f in sorted(set(re.findall(r"\bf\d+\b", text)))]
        return PRELUDE + "\n".join(known) + "\n" + text

    def smaller(self):
        for i in reversed(range(len(self.statements))):
            yield remove(self.statements, i)
        for i, s in enumerate(self.statements):
            for _, inner in s.parts:
                yield splice(self.statements, i, inner)
            yield from s.smaller()


ENVIRONMENT = dict(os.environ, PYTHONHASHSEED="0", OURO_ABORT_ON_BUG="1", OURO_CACHE="off", OURO_COMPILE_AFTER="0")


def run(command, path, more=None):
    try:
        p = subprocess.run([*command, path], capture_output=True, timeout=20, env={**ENVIRONMENT, **(more or {})}, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "timeout", b"", b""
    return p.returncode, p.stdout, p.stderr.strip().split(b"\n")[-1] if p.returncode else b""


# What differs for another reason than a fault: where recursion ends says what was being done then; the order of a set of what is
# hashed by its address; a set of NaNs, which CPython tells apart by their addresses.
RECURSION = re.compile(rb"(maximum recursion depth exceeded)[^\n]*")
BY_ADDRESS = re.compile(rb"\{([^{}:]*\b(?:Ellipsis|None|nan)\b[^{}:]*)\}")
NANS = re.compile(rb"\bnan(?:, nan)+")


def told(answer):
    status, out, last = answer
    out = RECURSION.sub(rb"\1", out)
    out = BY_ADDRESS.sub(lambda m: b"{" + b", ".join(sorted(set(m.group(1).split(b", ")))) + b"}", out)
    return status, NANS.sub(b"nan", out), last


def difference(text, path, ouro, modes):
    """The first mode whose answer is not CPython's, with both answers; None if all agree."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    expected = run([sys.executable], path)
    if expected[0] == "timeout" or len(expected[1]) > 1_000_000 or b"MemoryError" in expected[1]:
        return None  # what a machine has memory for is its own
    for mode in modes:
        option, environment = TIERS.get(mode, (mode, None))
        got = run([ouro, "run", "--mode=" + option], path, environment)
        if b"MemoryError" in got[1] and ("<<" in text or "2**31" in text):
            return None  # gigabytes; an int of 2^31 bits or more: docs/language.md, Limits
        if told(got) != told(expected):
            return mode, expected, got
    return None


def shrink(program, path, ouro, mode, limit):
    end = time.monotonic() + limit
    again = True
    while again:
        again = False
        for apply, undo in program.smaller():
            if time.monotonic() > end:
                return
            apply()
            if difference(program.render(), path, ouro, [mode]):
                again = True
                break
            undo()


def report(seed, path, found):
    mode, expected, got = found
    return (f"seed {seed}, --mode={mode}: {path}\n--- python\n{expected[1].decode()}{expected[2].decode()}\n--- ouro\n"
            f"{got[1].decode(errors='replace')}{got[2].decode(errors='replace')}\n")


def check(seed, args):
    path = os.path.join(args.keep, f"program{seed}.py")
    program = Program(seed)
    found = difference(program.render(), path, args.ouro, args.modes.split(","))
    if not found:
        os.remove(path)
        return False
    shrink(program, path, args.ouro, found[0], args.shrink)
    mode, expected, got = difference(program.render(), path, args.ouro, [found[0]]) or found
    print(report(seed, path, (mode, expected, got)), flush=True)
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seed", type=int, default=0, help="of the first program")
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seconds", type=float, help="go on until then instead of counting")
    p.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    p.add_argument("--keep", default=".", help="folder for programs that differ")
    p.add_argument("--modes", default=",".join(MODES))
    p.add_argument("--shrink", type=float, default=60, help="seconds for shrinking one program")
    p.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    p.add_argument("--print", action="store_true", help="print the first program and stop")
    args = p.parse_args()
    if args.print:
        print(Program(args.seed).render(), end="")
        return 0
    os.makedirs(args.keep, exist_ok=True)
    end = time.monotonic() + args.seconds if args.seconds else None
    tried = differ = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        while (time.monotonic() < end) if end else (tried < args.count):
            seeds = range(args.seed + tried, args.seed + tried + 2 * args.jobs)
            differ += sum(pool.map(lambda s: check(s, args), seeds))
            tried += len(seeds)
    print(f"{tried - differ} passed, {differ} failed")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
