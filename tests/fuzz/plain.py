#!/usr/bin/env python3
"""Random functions of numbers, called and turned often enough to be machine code (docs/design/plain_code.md), compared with CPython.

    tests/fuzz/plain.py [--seed N] [--count N | --seconds N] [--ouro build/ouro] [--keep FOLDER]

A program has functions that call each other and themselves, a list of ints, one of floats, one of lists, objects with number fields,
methods, links and operators, tuples, a dict, texts and two global numbers. Loops are bounded; ints grow beyond a machine word, variables change between int, float, bool and None, lists
get another kind of item, globals another kind of value, and operations raise: after each call what it gave or raised is printed, and
the whole state.
"""
import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs  # noqa: E402

PRELUDE = '''import math


class P:
    def __init__(self, x=1.5, next=None):
        self.x, self.y, self.n, self.next = x, -2.25, 3, next
        self.pair = (1, 0.5)

    def bump(self, by):
        self.n = (self.n + by) if by else self.n
        return self.n

    def both(self, o):
        self.pair = (o, self.x)
        return self.pair

    def made(self, o):
        q = P(o)
        q.next = self if self.next is None else self.next
        return q

    def depth(self):
        return 0 if self.next is None else 1 + self.next.depth()

    def __add__(self, o):
        return P(self.x + (o.x if isinstance(o, P) else o))

    def __lt__(self, o):
        return self.x < (o.x if isinstance(o, P) else o)

    def __repr__(self):
        return f"P({self.x}, {self.n}, {self.pair})"


class Q(P):
    def bump(self, by):
        self.y = by
        return by * 2


class D:
    def __del__(self):
        global ended
        ended += 1


ended = 0
objects = [P(), Q(2.5), P(0.5, P(7.0))]
words = ["ab", "c", "", "abc", "é"]
counts = {"ab": 1, "c": 2.5, 3: 4}
pairs = [(1, 0.5), (2, "c"), (3, None)]


ints, floats, rows, p = [3, -1, 4, 1, -5, 9], [0.5, -1.25, 3.0, 2.5], [[1.0, 2.0], [3.0, 4.5], [-1.0, 0.25]], P()
G, H = 7, 0.125
spent = 0


def state():
    return repr((ints, floats, rows, p, G, H, ended, objects, counts, pairs))[:900]
'''
VARS = ["a", "b", "c", "d"]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.functions = self.r.randrange(1, 4)

    def pick(self, *of):
        return self.r.choice(of)

    def number(self):
        return self.pick("0", "1", "2", "3", "-1", "7", "0.5", "1.5", "-2.0", "1e3", "True", str(self.r.randrange(-50, 50)), str(2**self.r.randrange(20, 64)),
                         "0.1", "1e300", "255")

    def expr(self, depth=2):
        if depth == 0 or self.r.random() < 0.2:
            return self.pick(*VARS, *VARS, self.number(), "i", "G", "H")
        e = lambda: self.expr(depth - 1)  # noqa: E731
        k = self.r.randrange(34)
        if k >= 22:
            o = self.pick("p", "objects[0]", "objects[i % 3]", "objects[1]", self.pick(*VARS))
            w = self.pick("words[i % 5]", "words[0]", "'xyz'", "str(i)", self.pick(*VARS))
            return self.pick(f"{o}.bump({e()})", f"{o}.both({e()})[{self.pick('0', '1', 'i % 2')}]", f"{o}.made({e()}).x", f"{o}.depth()",
                             f"({o} + {e()}).x", f"({o} < {self.pick('p', 'objects[0]', e())})", f"{o}.pair[{self.pick('0', '1')}]",
                             f"counts[{w}]", f"counts.get({w}, {e()})", f"({w} in counts)", f"len({w})", f"len({w} + {w})", f"ord({w}[{self.pick('0', '-1', 'i')}])",
                             f"({w} == {w})", f"({w}[{self.pick('0', '1')}:] + 'q')", f"pairs[i % 3][{self.pick('0', '1')}]", f"({e()}, {e()})[{self.pick('0', '1', 'i % 2')}]",
                             f"[{e()}, {e()}][-1]", f"sum([u for u, _ in pairs])", f"f'{{{self.pick(*VARS)}}}{{i}}'", "(D() and 1)", f"isinstance({self.pick(*VARS)}, int)",
                             f"(lambda u: u)({e()})", f"words[i % 5].upper()", f"[{e()} for v in ints][0]", f"{o}.next.x", f"kept({e()}, {e()}, c={e()})")
        if k < 9:
            op = self.pick('+', '-', '*', '+', '-', '*', '/', '//', '%')  # products of variables grow beyond all bounds
            return f"({e()} {op} {self.number() if op == '*' else e()})"
        if k == 9:
            return f"(int({e()}) {self.pick('&', '|', '^', '<<', '>>')} {self.pick('3', '5', 'i')})"
        if k == 10:
            return f"ints[{self.index()}]"
        if k == 11:
            return f"floats[{self.index()}]"
        if k == 12:
            return f"rows[{self.pick('0', '1', 'i % 3')}][{self.pick('0', '1', 'i % 2')}]"
        if k == 13:
            return self.pick("p.x", "p.y", "p.n")
        if k == 14:
            return f"{self.pick('abs', 'int', 'float')}({e()})"
        if k == 15:
            return f"{self.pick('min', 'max')}({e()}, {e()})"
        if k == 16:
            return f"math.{self.pick('sqrt', 'sin', 'exp', 'floor', 'fabs')}({e()})"
        if k == 17:
            return f"({e()} if {self.cond()} else {e()})"
        if k == 18:
            return f"(({e()}) % 1009 ** {self.pick('1', '2')}) ** {self.pick('2', '3', '0.5', '-1')}"
        if k == 19:
            return f"f{self.r.randrange(self.functions)}({e()}, {e()}, left - 1)"
        if k == 20:
            return f"len({self.pick('ints', 'floats', 'rows')})"
        return f"(-{e()})"

    def index(self):
        return self.pick("i % 4", "0", "-1", "i", "a", "i % 5 - 2")

    def cond(self):
        e = lambda: self.expr(1)  # noqa: E731
        k = self.r.randrange(8)
        if k < 5:
            return f"{e()} {self.pick('<', '<=', '>', '>=', '==', '!=')} {e()}"
        if k == 5:
            return e()
        if k == 6:
            return f"{self.pick(*VARS)} is {self.pick('None', 'not None')}"
        return f"{self.cond()} {self.pick('and', 'or')} not {e()}"

    def target(self):
        if self.r.random() < 0.2:
            return self.pick("counts[i % 4]", "counts['ab']", "objects[i % 3].x", "objects[0].y", "objects[1].n", "p.pair", "pairs[i % 3]", "counts[words[i % 5]]", "p.fresh")
        return self.pick(*VARS, *VARS, "ints[i % 6]", "floats[i % 4]", "rows[i % 3][i % 2]", "p.x", "p.y", "p.n", "G", "H", f"ints[{self.index()}]")

    def block(self, depth, inside, pad):
        return "".join([self.statement(depth, inside, pad) for _ in range(self.r.randrange(1, 5))])

    def statement(self, depth, inside, pad):
        k = self.r.randrange(17)
        if depth == 0:
            k %= 7
        if k == 14:
            return pad + self.pick("a, c = pairs[i % 3]", "(a, b), c = p.both(i), i", f"a, b = objects[0].both({self.expr(1)})", f"floats.append({self.expr(1)}); floats.pop(0)",
                                   "[D() for v in (1, 2)]", f"counts.pop('q', None); counts['q'] = {self.expr(1)}", "objects[i % 3] = objects[0].made(i)", "b = [i] * 3; b.append(a); c = b[-1]",
                                   "P.bump, Q.bump = Q.bump, P.bump", "objects[2].bump = f0 if i % 2 else abs", "del objects[2].bump", "a = kept", f"objects[i % 3].next = {self.pick('None', 'p', 'objects[0]', '3')}",
                                   "words[1] += 'x' * (i % 2); words[1] = words[1][-3:]") + "\n"
        if k > 14:
            head = self.pick("for i, d in enumerate(floats)", "for d, i in pairs", "for d in words", "for d in objects", "for d in counts.copy()", "for d, c in list(counts.items())",
                             "for i, (d, c) in enumerate(zip(ints, floats))", "for d in (u * 2 for u in ints)", "for d in words[i % 5]", "for i in range(3)", "for d in kept(0, 1)")
            return f"{pad}{head}:\n{self.block(depth - 1, True, pad + '    ')}"
        if k < 4:
            return f"{pad}{self.pick(*VARS)} = {self.expr()}\n"
        if k < 6:
            return f"{pad}{self.target()} {self.pick('=', '+=', '-=', '=')} {self.expr()}\n"
        if k == 6:
            return pad + self.pick(f"if {self.cond()}: {self.pick(*VARS)} = None", f"if {self.cond()}: return {self.expr(1)}", f"a, b = b, {self.expr(1)}",
                                   *(["if i > 4 and a: break", f"if {self.cond()}: continue"] if inside else [])) + "\n"
        if k < 9:
            other = f"{pad}else:\n{self.block(depth - 1, inside, pad + '    ')}" if self.r.random() < 0.5 else ""
            return f"{pad}if {self.cond()}:\n{self.block(depth - 1, inside, pad + '    ')}{other}"
        if k < 12:
            head = self.pick(f"for i in range({self.r.randrange(3, 14)})", f"for i in range({self.pick('12, 0, -1', '0, 20, 3', '-4, 6')})", "for d in floats", "for i in ints",
                             "for d in [v * 2 for v in ints]")
            return f"{pad}{head}:\n{self.block(depth - 1, True, pad + '    ')}"
        if k == 12:
            w = f"w{depth}"
            step = self.pick("{} += 1", "{} = {} + 1.5", "{} += 2").replace("{}", w)
            return f"{pad}{w} = 0\n{pad}while {w} < {self.r.randrange(5, 25)}:\n{pad}    {step}\n{self.block(depth - 1, False, pad + '    ')}"
        return f"{pad}try:\n{self.block(depth - 1, False, pad + '    ')}{pad}except (TypeError, ZeroDivisionError, OverflowError, ValueError): b = 1\n"

    def render(self):
        out = PRELUDE
        out += "\n\ndef kept(a, b=2, *, c=None):\n    return (a, b) if c is None else (b, c, a)\n"
        for f in range(self.functions):
            out += (f"\n\ndef f{f}(a, b, left):\n    global G, H, spent\n    spent += 1\n    if left < 0 or spent > 60: return {self.pick('a', '1', '0.5', 'None')}\n"
                    f"    i, c, d = 0, 0, 1.0\n{self.block(3, False, '    ')}    return {self.expr(1)}\n")
        out += "\n\nfor k in range(8):\n"
        args = [self.pick("k", "k * 0.5", "3", "1.5", "-k", "True", "2 ** 62", "None" if self.r.random() < 0.2 else "k") for _ in range(8)]
        for f in range(self.functions):
            out += (f"    spent = 0\n    try: print({f}, f{f}({args[2 * f]}, {args[2 * f + 1]}, 3), state())\n"
                    f"    except Exception as e: print({f}, type(e).__name__, str(e)[:80], state())\n")
        out += ("    if k == 5: G, H = H, G\n    if k == 6: ints[2] = 0.5; p.n = None\n    if k == 3: objects.reverse()\n"
                f"x, y, t = 0, 1, 1.5\nfor i in range(40):\n    x = x * 3 + i\n    t = t * 1.25 - x % 7\n    y = (y * 5 + {self.r.randrange(1, 99)}) % 1000003\n    H += 0.5\nprint(x, y, t, H)\n")
        return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seconds", type=float, default=0)
    p.add_argument("--ouro", default="build/ouro")
    p.add_argument("--keep", default=".")
    p.add_argument("--modes", default="auto")
    args = p.parse_args()
    passed = failed = 0
    end = time.time() + args.seconds
    seed = args.seed
    while time.time() < end if args.seconds else seed < args.seed + args.count:
        path = os.path.join(args.keep, f"plain{seed}.py")
        found = programs.difference(Maker(seed).render(), path, os.path.abspath(args.ouro), args.modes.split(","))
        if found and b"complex" not in found[1][1]:  # there are no complex numbers (docs/language.md)
            failed += 1
            print(programs.report(seed, path, found), flush=True)
        else:
            passed += 1
            os.remove(path)
        seed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
