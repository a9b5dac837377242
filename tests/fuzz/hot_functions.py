#!/usr/bin/env python3
"""Random functions that are called while what they work on changes: CPython's answers, with a tensor the interpreter's.

    tests/fuzz/hot_functions.py [--seed N] [--count N | --seconds N] [--keep FOLDER] ... (differential.py)

A program is a state (lists of numbers and of objects, a dict, objects of four classes, a global, a captured variable, a list that
contains itself) and one to three functions, most of them under `jit`, each called six times and more. The functions read and write that
state by arguments, captures and globals, before, in and behind branches that are taken never, sometimes or always and that print, call,
raise, return; in nested loops of compound conditions with `break`, `continue` and `else`. In loops and between calls ints become floats
and texts, objects get another class, classes other methods, lists another length. The whole state is printed after every call.

One batch of four gives a tensor to every function and is compared with the interpreter. Statements are trees, shrunk as in programs.py.
"""
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from differential import BATCH, main  # noqa: E402
from programs import Expr, Stmt, remove, replace, splice  # noqa: E402

PRELUDE = '''import copy
import json
try:
    jit
except NameError:  # CPython
    def jit(f): return f
    class Tensor: pass
else: Tensor = type(tensor(1.0))


def said(e):
    """An exception's text, which may be of what contains itself."""
    try: return str(e)
    except RecursionError: return "..."


def told(v, seen=()):
    """A text of all that can be reached from v, of what contains itself once."""
    if isinstance(v, Tensor): return str(v.tolist())
    if isinstance(v, (int, float, str, type(None))): return repr(v)
    for s in seen:
        if v is s: return "..."
    seen = (*seen, v)
    if isinstance(v, (list, tuple)): return type(v).__name__[0] + "[" + ", ".join([told(i, seen) for i in v]) + "]"
    if isinstance(v, dict): return "{" + ", ".join([told(k, seen) + ": " + told(w, seen) for k, w in v.items()]) + "}"
    if callable(v): return "callable"
    names = sorted(vars(v)) if hasattr(v, "__dict__") else [n for n in type(v).__slots__ if hasattr(v, n)]
    return type(v).__name__[0] + "(" + ", ".join([n + "=" + told(getattr(v, n), seen) for n in names]) + ")"


class Guard:
    """A context that does something at both ends and swallows a ValueError."""
    def __init__(self, o): self.o = o
    def __enter__(self):
        self.o.v += 1
        return self.o.v
    def __exit__(self, kind, e, trace):
        self.o.v -= 2
        return kind is ValueError


'''

# The state of a program; $S is its list, $k its number.
STATE = '''$LOG = []
def $note(v):
    $LOG.append(v)
    if len($LOG) > 3: del $LOG[0]
    return v
class $A:
    kind = 1
    def __init__(self, v=0): self.v, self.items, self.other = v, [v, 1], None
    def __repr__(self): return f"{type(self).__name__[0]}<{self.v!r}>"
    def step(self, n=1):
        self.v += n
        if self.v > 999: self.v = 0
        return self.v
    def get(self): return self.v
    def __lt__(self, o): return self.v < o.v
class $B($A):
    kind = 2.5
    def step(self, n=1): return super().step(n) * 2
    @property
    def half(self): return self.v / 2
class $C($A):
    seen = 0
    def __getattr__(self, name):
        if name == "half": return 3
        raise AttributeError(name)
    def __bool__(self):
        self.seen += 1
        return self.v > 2
    def __setattr__(self, name, v): object.__setattr__(self, name, 4 if v is None and name != "other" else v)
class $E:
    __slots__ = ("v", "items", "other", "extra")
    kind = 4
    __init__, __repr__, get = $A.__init__, $A.__repr__, $A.get
    def step(self, n=1):
        self.v = n
        return n
$S, $D, $N = [1, 2, 3], {"a": 1, "b": 2.5}, 0
$o, $p = $A(1), $B(2)
$O = [$o, $A(3), $A(4), $p]
$R = [1, [2]]
$R.append($R)
def $other(self, n=1):
    self.v = self.v - n
    return n
def $state():
    print($k, told([$S, $D, $N, $O, $o, $p, $LOG]), $R, $A.kind)
'''

# Rows: texts with operands, <n> a number, <s> a small one, <b> a condition, <c> a simple one. $S, $D, $N, $O, $o, $p, $R are the state as a
# function reaches it, c its captured variable, v, w, q, u its locals, x its argument. Nothing grows faster than the number of
# turns. What a compiled function cannot hold begins with !: two functions of three go without.
NUMBERS = ["(<n> + <s>)", "(<n> - <s>)", "(<n> + <n>) % 97", "(<n> * <n> % 97)", "(<n> // 3)", "(<n> / 2)", "(<n> % 5)", "(-<n>)", "!abs(<n>)", "max(<n>, <n>)", "min(<n>, <n>, 2.5)", "(<n> if <b> else <n>)",
           "(<n> or <n>)", "(<n> and <n>)", "!int(<n>)", "!round(<n>, 1)", "$o.step(<n>)", "$p.get()", "$O[1].step()", "getattr($o, 'half', <n>)", "$p.half", "$note(<n>)", "sum($S) % 101", "!sum([z.v for z in $O]) % 101",
           "!len([z for z in $S if z > <n>])", "!$S[int(<n>) % 3]", "!$S[<c>]", "![<n>, <n>][<c>]", "!divmod(<n>, 7)[1]", "(lambda z: z + <s>)(<n>)", "!next((z for z in $S if z > <n>), <n>)", "$o.kind", "$O[-1].kind",
           "$A.kind", "$o.items[0]", "$p.items[-1]", "$D.get('z', <n>)", "(w := <n>)", "<call>", "<call>", "!sum(map(lambda z: z + <s>, $S)) % 101", "!max($O, key=lambda z: z.v).v"]
SMALL = ["x", "x", "1", "2", "3", "7", "-1", "0.5", "2.5", "len($S)", "len($O)", "u", "0"]
ATOMS = SMALL + ["x", "v", "v", "w", "q", "$S[0]", "$S[-1]", "$S[1]", "$D['a']", "$D['b']", "$N", "c", "$o.v", "$p.v", "$O[0].v"]
SIMPLE = ["x > 1000", "x > -1000", "x % 3 == 1", "x > 3", "v < 2", "$S[0] % 2", "$o.v % 4 == 1", "$N > 10", "c % 2", "'z' in $D", "isinstance($o, $B)", "!$o is $O[0]", "$S", "not $D", "!hasattr($o, 'extra')", "x == 2.5",
          "!type(x) is int", "!$o < $p", "!v is None", "q > 2", "len($S) > 3", "x < -1e9", "x not in (7, 8)"]
CONDITIONS = ["<n> < <n>", "<n> <= <n>", "<n> == <n>", "<n> != <n>", "<n> < <n> < <n>", "<n> <= <n> > <n>", "0.1 < <n> < 0.9", "(not <b>)", "(not <n> < <n> < <n>)", "(<b> and <b>)", "(<b> or <b>)", "(<b> or <b> or <b>)",
              "(<b> or <b> and not <b>)", "(<b> and (<b> or <b>))", "!<n> in $S", "!<n> not in $S", "!any(z > <n> for z in $S)", "!all([z < <n> for z in $S])", "<n>", "$o", "!$O[0]", "bool($p)", "$note(<b>)", "(w := <n>) > <n>",
              "!(<n>) is None", "(<b>) == (<b>)", "not $note(<c>)", "$R"]
SELF = ["$R", "repr($R)", "str($R)", "f'{$R}'", "len($R)", "$R[2][2][0]", "$R[-1] is $R", "$R == $R", "copy.deepcopy($R)", "copy.copy($R)", "(lambda z: (z[2] is z, z is $R))(copy.deepcopy($R))", "json.dumps($R)",
        "json.dumps($D)", "'%s %r' % ($R, $D)", "$R[:]", "[$R, $R]", "($R, 1)", "{'r': $R}", "copy.deepcopy({'r': [$R]})", "$R in $R[2:]", "!$R.index($R[0])", "copy.deepcopy($O)", "[*$R]", "repr([$D])", "copy.deepcopy($o.items)"]
# Statements without a body. (What a sort that raises leaves of a list is nobody's to say.)
PLAIN = {
    "write": ["$S[0] = <n>", "$S[0] += <s>", "$S[-1] -= <s>", "$S[1] = $S[0]", "$D['a'] = <n>", "$D['a'] += <s>", "$D['b'] = $D['a']", "$D['z'] = <n>", "$N += <s>", "$N = <n>", "c += <s>", "c = <n>", "$o.v = <n>",
              "$o.v += <s>", "$p.v -= <s>", "$o.items[0] += <s>", "$p.items[-1] = <n>", "$O[0].v += 1", "$O[-1].v = <n>", "$O[1].items[0] = <n>", "!$o.extra = <n>", "$S[0], $o.v = $o.v, <n>"],
    "local": ["v = <n>", "v += <s>", "v = v + <s>", "w = <n>", "w -= <s>", "v, w = w, <n>", "q = <n>", "!v = $o", "!v = [<n>]", "!w = None", "l = [<n>, $o, [<n>]]\nv = l[0]\nl[0] = <n>\nw = l[2][0]"],
    "effect": ["print($k, 'p', <n>)", "$note(<n>)", "print($k, $S, $o)", "$other($o, <s>)", "$o.step()", "if <c>: raise ValueError(<n>)", "if <c>: raise KeyError(x)", "assert <b>, x", "if <b>: return <n>", "!$S.sort(key=str)", "!$S[:] = sorted($S)",
               "print($k, told($D))", "<call>", "if <c>: print($k, 'q', v)"],
    "shape": ["!if len($S) < 9: $S.append(<n>)", "!if len($S) > 2: $S.pop()", "!if len($S) < 9: $S[1:2] = [<n>, <n>]", "!$S.reverse()", "!$D.pop('z', None)", "!if 'z' in $D: del $D['z']", "!$D[x] = <n>\nif len($D) > 6: $D.clear()",
              "!$O[0], $O[1] = $O[1], $O[0]", "!$O[-1] = $B(<n>)", "!$O[1] = $C(<n>)", "!$O[2] = $E(<n>)", "!$O[0] = $o", "!if len($O) < 7: $O.insert(0, $A(<n>))", "!if len($O) > 3: del $O[0]", "!$o.other = $p", "!$o.items = $S",
              "!if len($S) < 9: $S.insert(0, 0.5)", "!$S.extend([<n>])\nif len($S) > 8: del $S[3:]", "!$D.update(a=<n>)", "!$D.setdefault('z', <n>)", "!if hasattr($o, 'extra'): del $o.extra"],
    "class": ["!$o.__class__ = $B", "!$o.__class__ = $C", "!$o.__class__ = $A", "!$O[1].__class__ = $B", "!$p.__class__ = $C", "!$o.__class__ = $E", "!$A.step = $other", "!$B.step = $other", "!if <c>: del $A.step", "!$A.kind = <n>",
              "!$o.step = lambda n=1: <s>", "!if <c>: del $o.v", "$o.kind = <n>", "!if <c>: del $o.step", "!$A.step = lambda self, n=1: n", "!$B.half = <n>", "!$A.get = lambda self: 5", "!setattr($p, 'kind', <n>)", "!if <c>: $o.v = 'a'",
              "$S[0] = 0.5", "!if <c>: $S[1] = 'a'", "!if <c>: $S[-1] = None", "$D['a'] = 1.5", "$o.v = True", "for z in $O: z.v += 0.5", "!for z in $O[1:]: z.__class__ = $C"],
    "self": ["print($k, <self>)", "v = len(str(<self>))", "r = [<n>]\nr.append(r)\nprint($k, r, len(r))\nr[0] = x", "r = {'n': <n>}\nr['r'] = [r]\nif <b>: print($k, r)\nv = r['r'][0]['n']",
             "$R[0] = <n>", "$R[1].append($R)\nprint($k, $R)\n$R[1].pop()", "!r = copy.deepcopy($R)\nr[0] = <n>\nprint($k, r[2] is r, $R[0])", "!$D['d'] = $D\nprint($k, $D, len($D))\ndel $D['d']",
             "!$o.other = $o\nv = told(copy.deepcopy($o))\nprint($k, v)\n$o.other = None", "!$O.append($O)\nprint($k, $O)\n$O.pop()", "$note(<self>)", "!if <c>: return <self>"],
    "tensor": ["t = t * <s>", "t = t + <n>", "t = t - t[0] * <s>", "v = t.sum().item()", "v = float(t[1])", "t = where(t > <n>, t, -t)", "$S[0] = t.sum()", "$o.v = t[0].item()", "print($k, t)", "$o.extra = t", "v = t.sum()", "if <c>: return t",
               "if t.sum() > <n>: t = t * 0.5", "while t.sum() > <s> and t[0] > 1: t = t / 2"],
    # Loops that nothing but their condition ends.
    "loop": ["while not 0.1 < v < 0.9: v = 0.5", "q = <n>\nwhile q > 9 or q < -9: q //= 2", "!q = int(<n>) % 50\nwhile q > 3 and q % 7 or q == 21: q -= 1", "!w = abs(<n>) + 1.0\nwhile w > 2.0 or w == 1.5 or w < 1.0: w = w / 2 if w > 2.0 else 1.75",
             "q = 0\nwhile q < <s> and not q * q > 30 and (q != 4 or <c>): q += 1", "q = 5\nwhile q and (<c> or q > 2): q -= 1", "for z in $S:\n    while not 0 <= z < 3: z = 1\n    v = z"],
}
# Heads of statements with bodies: the first, then those that follow it.
BLOCKS = {
    "if": ["if <b>:", "if <c>:", "if <c>:", "if <c>:", "if <b>:|else:", "if <c>:|else:", "if <b>:|elif <b>:|else:"],
    "for": ["for u in range(<few>):", "for u in range(<few>):|else:", "for u in $S:", "for u in $S[:]:|else:", "for u in $O:", "for u in list($O):", "for u, q in enumerate($S):", "for u, q in list($D.items()):", "!for u in $D:",
            "for u, q in zip($S, $O):", "for u in [<n>, <n>, <n>]:", "for u in reversed($S):", "!for u in (z for z in $S if <b>):", "!for u in [z for z in $O if <c>]:|else:", "!for u in sorted($O)[:3]:", "for u in range(len($S), 6, 2):"],
    "while": ["<b>", "<b>", "<b> or <c>", "<c> or <b> and not <c>", "not <n> < <n> < <n>|else:", "<b> and <c>|else:", "True", "(q := <n>) < <n>"],
    "try": ["try:|except ValueError as e:", "try:|except (ValueError, TypeError, AttributeError) as e:", "try:|except Exception as e:|else:", "try:|finally:", "try:|except KeyError:|finally:", "with Guard($o) as v:", "with Guard($p):"],
}
FEW = ["2", "3", "5", "!int(x) % 4", "x", "7", "len($S)"]
# What ends a `while` that would not end: an earlier statement, the head, the first statement of the body; {n} counts, {m} is the most, {b} the condition.
BOUNDS = [("{n} = 0", "while {b}:", "{n} += 1\nif {n} > {m}: break"), ("{n} = 0", "while {b}:", "{n} += 1\nif {n} > {m}: return -1"), ("{n} = 0", "while ({n} := {n} + 1) < {m} and ({b}):", ""),
          ("{n} = {m}", "while ({b}) and {n}:", "{n} -= 1"), ("", "for {n} in range({m}):", "if not ({b}): break")]
# What is done to the state between the calls, beside the rows "class" and "shape".
CHANGES = ["$o = $B(x)", "$o = $C(2.5)", "$S = [0.5, 1, 2]", "$S = [x, 2.5]", "$N = 0.5", "$D = {'a': 2.5, 'b': x}", "$p = $o", "$S[0] = x", "$o.v = x", "!$O[0] = $o", "$S = []", "$D['a'] = 3", "$o.v = 2.5", "$N = 0"]
WHEN = ["i == 2", "i == 3", "i == 4", "i == 5", "i == 6", "i in (2, 5)", "i % 3 == 1"]
ARGUMENTS = ["1 2 3 4 5 0 3 1", "1 2 3 4 2.5 0.5 3 1", "1 1 1 1 1 1 1 1", "0 1 2 True False 2 7 9", "0.5 0.1 1.5 2.5 3.5 0.0 4.5 1.0", "-3 -2 -1 0 1 2 3 4", "1 2 3 1.5 4 5 6 2.5 7 8 9", "5 4 3 2 1 0 -1 -2 0.25 0.5"]
# What a function is made of: kinds of plain statements, and of those with bodies.
KINDS = ["write effect local", "write effect local", "write effect local class shape", "write class shape local", "local write effect self", "local write shape", "write local loop", "loop local effect write class"]
BODIES = ["if", "if", "if for while try", "if for", "while for if", "while for", "if try"]
REACHED = ["S", "D", "O", "o", "p", "R"]  # by a global, an argument or a captured variable; all else is global
WAYS = ["global", "argument", "global argument capture", "global capture"]
OPERAND = re.compile("<(n|s|b|c|self|call|few)>")
TENSOR_BATCH = 3  # of four
# In turn; their number has no divisor in common with four.
CONFIGS = ["--mode=graph", "--mode=auto", "everything --mode=graph", "stress --mode=graph", "--mode=eager", "exits --mode=graph", "plain --mode=graph"]


class Node(Stmt):
    """Lines, then heads, each with a body that begins with fixed lines."""

    def __init__(self, lines, heads=(), bodies=(), fixed=""):
        super().__init__("", [*lines, *heads], list(zip(heads, bodies)))
        self.lines, self.fixed = len(lines), fixed

    def render(self, indent):
        pad = "    " * indent
        out = [pad + e.render() for e in self.exprs[:self.lines] if e.text]
        for i, (_, body) in enumerate(self.parts):
            out.append(pad + self.exprs[self.lines + i].render())
            inner = [pad + "    " + line for line in self.fixed.split("\n") if line] if i == 0 else []
            inner += [line for s in body for line in s.render(indent + 1)]
            out += inner or [pad + "    pass"]
        return out

    def smaller(self):
        if len(self.parts) > 1:
            yield remove(self.parts, len(self.parts) - 1)
        for _, body in self.parts:
            yield from smaller_body(body)
        for e in self.exprs:  # a line or head stays, its operands may go
            yield from e.smaller()


def smaller_body(body):
    for i in reversed(range(len(body))):
        yield remove(body, i)
    for i, s in enumerate(body):
        for _, inner in s.parts:
            yield splice(body, i, inner)
        yield from s.smaller()


class Writer:
    """Makes expressions and statements; `reached` says which names of the state are not global."""

    def __init__(self, r, k, reached=(), helpers=(), kinds=(), bodies=(), level="wild"):
        self.r, self.k, self.reached, self.helpers, self.kinds, self.bodies, self.level = r, k, reached, helpers, kinds, bodies, level
        self.rows = {}  # of each table, by its id
        self.loops = self.counters = 0

    def choice(self, rows):
        """One of the rows that this function has: a few of all, so that many functions lack what another cannot do without
        (swarm testing)."""
        mine = self.rows.get(id(rows))
        if not mine:
            allowed = [row for row in rows if self.level == "wild" or row[0] != "!"] or rows
            mine = self.rows[id(rows)] = self.r.sample(allowed, max(1, int(len(allowed) * self.r.choice([0.1, 0.2, 0.4, 1.0]))))
        return self.r.choice(mine).removeprefix("!")

    def spelled(self, text):
        return re.sub(r"\$(\w+)", lambda m: m.group(1) if m.group(1) in self.reached else str(self.k) if m.group(1) == "k" else f"{m.group(1)}{self.k}", text)

    def fill(self, text, depth):
        """A text whose operands are trees."""
        parts = OPERAND.split(text)
        operands = [self.operand(kind, depth - 1) for kind in parts[1::2]]
        texts = [self.spelled(part) for part in parts[::2]]
        return Expr("{}".join(t.replace("{", "{{").replace("}", "}}") for t in texts), operands) if operands else Expr(texts[0])

    def operand(self, kind, depth):
        r = self.r
        if kind == "call" and self.helpers:
            helper = r.choice(self.helpers)
            return Expr(helper.call_by(self), [self.operand("n", min(depth, 1))])
        depth -= self.level == "small" and r.random() < 0.7
        if kind == "b" and depth > 0 and r.random() < 0.7:
            return self.fill(self.choice(CONDITIONS), depth)
        if kind in ("b", "c"):
            return self.fill(self.choice(SIMPLE), 1)
        if kind in ("n", "call") and depth > 0 and r.random() < 0.5:
            return self.fill(self.choice(NUMBERS), depth)
        return self.fill(self.choice({"s": SMALL, "few": FEW, "self": SELF}.get(kind, ATOMS)), 1)

    def plain(self, rows):
        return Node([self.fill(line, 2) for line in self.choice(rows).split("\n")])

    def statement(self, depth, leave=False):
        r = self.r
        if "effect" in self.kinds and r.random() < 0.3:
            return self.beside_effect()
        if leave and r.random() < 0.2:
            return Node([self.fill("if <b>: " + r.choice(["break", "continue"]), 2)])
        kind = r.choice(self.bodies) if depth > 0 and r.random() < 0.65 else None
        if not kind or (kind in ("for", "while") and self.loops == 2):
            return self.plain(PLAIN[r.choice(self.kinds)])
        texts, before, fixed = self.choice(BLOCKS[kind]).split("|"), "", ""
        loop = kind in ("for", "while")
        if kind == "while":
            self.counters += 1
            before, texts[0], fixed = self.bound(texts[0])
        heads = [self.fill(text, 3) for text in texts]
        if fixed:
            fixed = self.fill(fixed, 3).render()
        self.loops += loop
        bodies = [[self.statement(depth - 1, leave or (loop and i == 0)) for _ in range(r.choice([1, 1, 2, 3]))] for i in range(len(heads))]
        self.loops -= loop
        return Node([Expr(before)], heads, bodies, fixed)

    def beside_effect(self):
        """A branch that does something that shows, among writes."""
        r = self.r
        writes = [[self.plain(PLAIN["write"]) for _ in range(r.choice(some))] for some in ([1, 2], [0, 0, 1], [0, 0, 1], [0, 1])]
        shows = self.fill(r.choice(["print($k, 'e', <n>)"] * 4 + ["print($k, 'e')", "$note(<n>)", "raise ValueError(<n>)", "print($k, $S)", "$o.step()"]), 1)
        branch = Node([], [self.fill("if <c>:", 2)], [[*writes[1], Node([shows]), *writes[2]]])
        return Node([], [Expr("if True:")], [[*writes[0], branch, *writes[3]]])

    def bound(self, condition):
        most = self.r.choice([3, 6, 12])
        return [text.replace("{n}", f"n{self.counters}").replace("{m}", str(most)).replace("{b}", condition) for text in self.r.choice(BOUNDS)]


class Function:
    def __init__(self, r, k, number, helpers, tensor):
        ways = r.choice(WAYS).split()
        self.ways = {n: r.choice(ways) for n in REACHED}
        kinds = r.choice(KINDS).split() + ["tensor"] * (2 * tensor)
        self.name, self.k, self.tensor, self.jit, self.hot = f"f{k}_{number}", k, tensor, r.random() < 0.8, False
        level = r.choice(["small", "small", "tame", "wild"])
        w = Writer(r, k, [n for n in REACHED if self.ways[n] != "global"], helpers, kinds, r.choice(BODIES).split(), level)
        turns = r.choice([30, 200]) if r.random() < 0.12 and not any(h.hot for h in helpers) else 0
        self.statements = [w.statement(r.choice([0, 1, 2, 3] if not turns else [0, 1, 2])) for _ in range(r.choice([1, 2, 3, 4] if level == "tame" else [2, 3, 4, 6]))]
        self.hot = turns > 0
        if turns:
            self.statements = [Node([], [Expr(f"for h in range({turns}):")], [self.statements])]
        self.result = [w.fill(r.choice(["<n>", "(<n>, <n>)", "[v, w]", "v", "<self>" if "self" in kinds else "<n>"]), 2)]

    def named(self, way):
        return [n for n in REACHED if self.ways[n] == way]

    def call_by(self, caller=None):
        """A call with a place for x, by another function or from outside."""
        given = [n if caller and n in caller.reached else f"{n}{self.k}" for n in self.named("argument")]
        return f"{self.name}({', '.join(['{}'] + ['t'] * self.tensor + given)})"

    def render(self):
        body = [line for s in self.statements for line in s.render(1)] + ["    return " + self.result[0].render()]
        text = "\n".join(body)
        scopes = [f"    global N{self.k}"] * bool(re.search(rf"\bN{self.k} \+?=", text)) + ["    nonlocal c"] * bool(re.search(r"\bc \+?= ", text))
        inner = ["@jit"] * self.jit + [f"def f({', '.join(['x'] + ['t'] * self.tensor + self.named('argument'))}):", *scopes, "    v = w = q = u = 1", *body]
        captured = self.named("capture")
        return [f"def make_{self.name}({', '.join(['c', *captured])}):", *["    " + line for line in inner], "    return f, lambda: c",
                f"{self.name}, c_of_{self.name} = make_{self.name}({', '.join(['1'] + [n + str(self.k) for n in captured])})"]

    def smaller(self):
        yield from smaller_body(self.statements)
        if self.result[0].text != "0":
            yield replace(self.result, 0, Expr("0"))
        yield from self.result[0].smaller()


class Program:
    def __init__(self, seed):
        self.seed, r = seed, random.Random(seed)
        tensor = seed // BATCH % 4 == TENSOR_BATCH
        self.by_python = not tensor
        self.functions = []
        for number in range(r.choice([1, 1, 2, 3])):
            self.functions.append(Function(r, seed, number, list(self.functions), tensor))
        self.arguments = r.choice(ARGUMENTS).split() * r.choice([1, 1, 1, 3])
        w = Writer(r, seed)
        self.changes = []
        for _ in range(r.choice([0, 0, 0, 1, 2, 4])):
            body = w.plain(r.choice([CHANGES, CHANGES, PLAIN["class"], PLAIN["shape"]]))
            self.changes.append(Node([], [Expr(f"if {r.choice(WHEN)}:")], [[body]]))

    def text(self):
        k = self.seed
        failed = f"    except Exception as e: print({k}, i, type(e).__name__, said(e))"
        out = [Writer(random.Random(), k).spelled(STATE) + f"c{k} = v{k} = 1"]
        for f in self.functions:
            out += f.render()
        for f in self.functions:
            out += [f"c = v = w = u = q = 1\nfor i, x in enumerate([{', '.join(self.arguments)}]):"]
            out += ["    t = tensor([0.5, 1.5], dtype=f64)"] * f.tensor
            for change in self.changes:
                out += ["    try:", *change.render(2), failed]
            out += [f"    try: print({k}, i, told({f.call_by().format('x')}))", failed, f"    print({k}, told(c_of_{f.name}()))", f"    state{k}()"]
        return "\n".join(out) + "\n"

    def smaller(self):
        def all_ways():
            for i in reversed(range(len(self.functions))):
                if len(self.functions) > 1 and not any(self.functions[i].name in "\n".join(g.render()) for g in self.functions[i + 1:]):
                    yield remove(self.functions, i)
            for i in reversed(range(len(self.arguments))):
                yield remove(self.arguments, i)
            yield from smaller_body(self.changes)
            for f in self.functions:
                yield from f.smaller()
        for apply, undo in all_ways():
            apply()
            yield undo


if __name__ == "__main__":
    sys.exit(main(Program, PRELUDE, __doc__, lambda _: CONFIGS))
