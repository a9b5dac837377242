#!/usr/bin/env python3
"""Scripts whose special methods change what is being worked on, compared with CPython; one that differs is cut down to the
case that does.

    tests/fuzz/reentry.py [--seed N] [--count N | --seconds N] [--ouro build/ouro] [--keep FOLDER] [--modes eager,graph,everything]

A program is a row of cases. A case fills the containers (a list, dict, set, bytearray with a view, deque, objects, a class), writes
down what the next calls of special methods shall do (nothing, or clear, grow, shrink, rebind, delete one of the containers), and does
one to three operations on them with operands whose every special method takes the next of these; then it prints what came out and what
is left. The answers are CPython's, to the message of the exception. Every third program writes to tensors in variables, attributes and items,
every sixth does what CPython 3.11 dies of: these must say the same in all modes. A process that dies is a failure.

How often CPython asks for a hash is its own business where it counts, or copies into a dict that keeps its order (`unplanned`): there the
methods do nothing. A lookup in a dict begins anew, and asks for `==` again, where the table was made anew meanwhile; at which length a dict
makes a larger table is CPython's own business too, so what makes one grow adds more keys than any table has room for. Python has 1 GB of
memory, and so has the program where Python is no judge: what grows without end is not compared.
"""
import argparse
import os
import random
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIERS = {"everything": ("graph", {"OURO_COMPILE": "everything"}), "text": ("eager", {"OURO_PROTOCOL": "text"}),
         "exits": ("graph", {"OURO_COMPILE": "everything", "OURO_STRESS_EXITS": "1"})}
MODES = ("eager", "graph", "everything")
CASES = 24

PRELUDE = '''import bisect, collections, copy, functools, heapq, itertools, json, math, operator
plan = []  # what the next calls of special methods do
def act():
    if plan:
        what = plan.pop(0)
        if what: what()
class H:
    """An object whose every method does what the plan says."""
    def __init__(self, n): self.n = n
    def __index__(self): act(); return self.n
    def __int__(self): act(); return self.n
    def __float__(self): act(); return float(self.n)
    def __bool__(self): act(); return self.n > 1
    def __len__(self): act(); return self.n
    def __hash__(self): act(); return self.n & 3
    def __eq__(self, o): act(); return self.n == number(o)
    def __ne__(self, o): act(); return self.n != number(o)
    def __lt__(self, o): act(); return self.n < number(o)
    def __le__(self, o): act(); return self.n <= number(o)
    def __gt__(self, o): act(); return self.n > number(o)
    def __ge__(self, o): act(); return self.n >= number(o)
    def __add__(self, o): act(); return self.n + number(o)
    def __radd__(self, o): act(); return number(o) + self.n
    def __iadd__(self, o): act(); return H(self.n + number(o))
    def __mul__(self, o): act(); return self.n * number(o)
    def __rmul__(self, o): act(); return self.n * number(o)
    def __or__(self, o): act(); return NotImplemented
    def __ror__(self, o): act(); return H(self.n)
    def __neg__(self): act(); return -self.n
    def __call__(self, *a): act(); return self.n
    def __iter__(self): act(); return It(self.n)
    def __contains__(self, o): act(); return o == self.n
    def __getitem__(self, i):
        act()
        if type(i) is int and i >= 3: raise IndexError(i)
        return i
    def __repr__(self): act(); return f'H{self.n}'
    def __str__(self): act(); return f's{self.n}'
    def __format__(self, spec): act(); return f'f{self.n}{spec}'
    def __getattr__(self, name):
        act()
        if name.startswith('_'): raise AttributeError(name)
        return name
    def __enter__(self): act(); return self.n
    def __exit__(self, *a): act(); return self.n > 2
    def keys(self): act(); return [self.n, 1]
class It:
    """An iterator that the plan interrupts."""
    def __init__(self, n): self.left = n
    def __iter__(self): act(); return self
    def __next__(self):
        act()
        if self.left <= 0: raise StopIteration
        self.left -= 1
        return self.left
    def __length_hint__(self): act(); return 1
class Finalised:
    def __init__(self, n): self.n = n
    def __del__(self): act()
    def __repr__(self): return f'F{self.n}'
def unplanned(f):
    kept = plan[:]
    plan.clear()
    try: return f()
    finally: plan[:] = kept
def number(o): return o.n if isinstance(o, H) else o if isinstance(o, (int, float)) else -1
def gen(n, made=int):
    for i in range(n):
        act()
        yield made(i)
    act()
def key(x): act(); return number(x)
def pair(i): return (i, i)
def texts(i): return 'abc'[i % 3]
class LL(list):
    pass
class DD(dict):
    def __missing__(self, k): act(); return k
class Descriptor:
    def __get__(self, o, t): act(); return 5
    def __set__(self, o, v): act()
    def __delete__(self, o): act()
class P:
    d = Descriptor()
    def __init__(self): self.a, self.b = [1, 2, 3], {1: 2}
    @property
    def p(self): act(); return self.a
    @p.setter
    def p(self, v): act(); self.a = v
    def m(self, *a, x=1, **k): act(); return [a, x]
class R(P):
    pass
class Slots:
    __slots__ = ('a', 'b')
    def __init__(self): self.a, self.b = [1, 2, 3], {1: 2}
class Hooked(P):
    def __getattribute__(self, name): act(); return object.__getattribute__(self, name)
    def __setattr__(self, name, v): act(); object.__setattr__(self, name, v)
    def __delattr__(self, name): act(); object.__delattr__(self, name)
def plain(n): return H(n) if n % 3 == 0 else n
def reset(kind):
    global L, D, E, S, F, B, M, Q, O, C, X, K
    n, kind = kind % 7 + 1, kind % 12
    L = (list, LL, list)[kind % 3](plain(i + kind) for i in range(n))
    D = (dict, dict, DD)[kind % 3]((plain(i + kind), i) for i in range(n))
    E = {plain(i): H(i) for i in range(3)}
    S = {plain(i + kind) for i in range(n)}
    F = frozenset(plain(i) for i in range(3))
    B = bytearray(b'abcabc'[:n])
    M = memoryview(B) if kind % 4 == 0 else None
    Q = collections.deque((plain(i) for i in range(n)), 5 if kind % 5 == 0 else None)
    O = (P, R, Slots, Hooked)[kind % 4]()
    class C(P):
        n = 3
        def f(self): act(); return 7
    X = [0, [1, 2, 3], {'a': [1, 2]}]
    def K(x, y=(1, 2), *, z=3): act(); return [x, y, z]
def state():
    left = globals()
    for name in 'LDSBQOXE':
        if name not in left: print(name, 'gone'); continue
        v = left[name]
        if name == 'O': v = [type(v).__name__, getattr(v, 'a', 'no a'), getattr(v, 'b', 'no b')]
        if name == 'L' and isinstance(v, list): v = list(v)
        if name == 'D' and isinstance(v, dict): v = dict(v)
        print(name, shown(v))
def shown(r):
    if isinstance(r, (memoryview, type(gen(0)), map, filter, zip, enumerate, type(iter([])))): return type(r).__name__
    return re_address(repr(r))
def re_address(t):
    at = t.find(' at 0x')
    return t if at < 0 else t[:at]
def run(n, kind, actions, case):
    reset(kind)
    plan[:] = actions
    try:
        r = case()
        plan.clear()
        print(n, shown(r))
    except Exception as e:
        plan.clear()
        print(n, type(e).__name__, re_address(str(e)))
    r = None
    state()
'''

# What a special method may do meanwhile. Those of several statements are made functions.
ACTIONS = """L.clear()
L.append(4)
L.append(H(6))
L.insert(0, 9)
L.pop()
L.reverse()
L[:] = [1, 2]
L[:] = range(20)
L.extend(range(12))
del L[:]
del L[1:]
L.sort(key=lambda x: -number(x))
L.remove(L[0])
L = []
L = [5, 6, 7, 8]
L = None
del L
D.clear()
D.update(dict.fromkeys(range(9, 150), 1))
D.update(dict.fromkeys(range(150), 1))
D[H(8)] = D.update(dict.fromkeys(range(100, 250), 1))
D.pop(next(iter(D)), None)
D.popitem()
D.update(dict.fromkeys(range(40), 0))
D = {}
D = {7: 1, 1: 2}
del D
E.clear()
E.update({20: 1, 21: 2})
del E[1]
S.clear()
S.add(11)
S.add(H(7))
S.update(range(30))
S.pop()
S.discard(1)
S = set()
S = {4, 5}
del S
B.clear()
B.extend(b'xyz' * 9)
B[:] = b'q'
del B[1:]
B.append(7)
B = bytearray()
B = bytearray(b'long' * 9)
M.release()
Q.clear()
Q.append(3)
Q.appendleft(2)
Q.popleft()
Q.rotate(1)
Q.extend(range(9))
Q = collections.deque()
del O.a
O.a = None
O.a = [7, 8]
O.a = H(2)
O.a.clear()
O.b.clear()
O.b = {}
del O.b
O.c = 4
O.__dict__.clear()
O.__dict__ = {'a': [5]}
O.__class__ = R
O = P()
del O
del C.f
C.f = None
C.f = lambda self: 8
C.n = 4
C.__bases__ = (R,)
del C
X[1].clear()
X[1] = [9]
X.clear()
X[2].clear()
X = [0, [4], {'a': [3]}]
K.__defaults__ = None
K.__kwdefaults__ = None
K.__kwdefaults__ = {H(1): 2, 'z': 5}
K = H(3)
plan.clear()
raise ValueError('meant')
raise KeyError(1)
raise StopIteration
raise IndexError('meant')""".split("\n")

# {h}: an operand whose methods follow the plan, {n}: a number, {i}: an iterable that does.
EXPRESSIONS = """L[{h}]
L[{h}:{h}]
L[{h}:{h}:{h}]
L.index({h})
L.index({n}, {h}, {h})
L.count({h})
{h} in L
{n} in L
L == [{n}, {h}]
L < [{n}, {h}, {n}]
L != list(L)
L + L
L * {h}
L.pop({h})
L.copy()
sorted(L)
sorted(L, key=key)
sorted(L, reverse={h})
min(L)
max(L, key=key)
max(L, default=1)
min({h}, {n}, {h})
sum(L)
sum({i})
any(L)
all(L)
tuple(L)
list({i})
tuple({i})
set({i})
frozenset(L)
dict.fromkeys(L)
dict.fromkeys({i}, 1)
[*L, *{i}]
(*{i}, {h})
{{*L, {h}}}
[x for x in L if x]
[key(x) for x in L]
{{x: key(x) for x in L}}
list(map(key, L))
list(map(operator.add, L, {i}))
list(filter(None, L))
list(filter(key, {i}))
list(zip(L, {i}))
list(zip({i}, L, strict=True))
list(enumerate({i}, {h}))
list(reversed(L))
list(reversed({h}))
list(iter(K, {n}))
next(iter({i}), {h})
functools.reduce(operator.add, L)
functools.reduce(lambda a, b: key(b), {i}, 0)
heapq.heappop(L)
heapq.nsmallest(2, L)
heapq.nlargest(2, L, key=key)
heapq.heappushpop(L, {h})
heapq.heapreplace(L, {h})
list(heapq.merge(L, {i}))
bisect.bisect(L, {h})
bisect.bisect_left(L, {n}, {h}, {h})
bisect.bisect(L, {n}, key=key)
list(itertools.chain(L, {i}))
list(itertools.islice(L, {h}))
list(itertools.islice({i}, {n}, {h}))
list(itertools.accumulate(L))
list(itertools.groupby(L, key))
list(itertools.takewhile(key, L))
list(itertools.product(L, repeat=2))[:3]
list(itertools.zip_longest(L, {i}))
list(itertools.compress(L, {i}))
','.join(gen(3, texts))
','.join(map(str, L))
repr(L)
str(L)
hash(tuple(L))
copy.copy(L)
json.dumps([1, {h}], default=key)
json.dumps({{1: {h}, 2: {h}}}, default=key)
json.dumps(X, default=key)
D[{h}]
D.get({h})
D.get({h}, {h})
D.pop({h})
D.pop({h}, {h})
D.setdefault({h}, {n})
{h} in D
D.popitem()
D == E
D == dict(D)
D | E
{{**D, {h}: 1}}
{{{h}: {h}, {n}: {h}}}
dict(D)
dict({i})
dict(gen(3, pair))
dict({h})
dict(E, **{{'k': 1}})
D.copy()
list(D)
list(D.items())
[(k, act()) for k in D]
[(k, act()) for k in reversed(D)]
[(v, act()) for v in D.values()]
[(v, act()) for k, v in D.items()]
D.keys() & S
D.keys() | L
D.keys() - S
D.keys() == E.keys()
D.items() == E.items()
D.items() & E.items()
D.keys().isdisjoint({i})
({h}, {n}) in D.items()
{h} in D.values()
repr(D)
len({h})
K(**D)
K(1, **{{'z': {h}}})
K({h}, z={h})
K(*{i})
K({h})
unplanned(lambda: collections.Counter(L))
unplanned(lambda: collections.Counter({i}).most_common(1))
collections.ChainMap(D, E)[{h}]
unplanned(lambda: collections.OrderedDict(D)) == E
{h} in S
S | F
S & F
S - F
S ^ F
S == F
S <= F
S < F
S.union({i}, L)
S.intersection({i})
S.difference({i}, L)
S.symmetric_difference({i})
S.issubset(L)
S.issuperset({i})
S.isdisjoint({i})
S.isdisjoint(F)
S.pop()
[(x, act()) for x in S]
sorted(S, key=key)
hash(F)
F == S
repr(S)
{h} in F
B[{h}]
B[{h}:{h}]
B * {h}
B.replace(b'a', b'xy', {h})
B.split(b'b', {h})
B.rsplit(None, {h})
B.center({h}, b'*')
B.zfill({h})
B.expandtabs({h})
B.hex(':', {h})
B.pop({h})
B.join([b'1', B])
{h} in B
B == bytes(B)
B + B
bytes(L)
bytes({i})
bytearray({i})
bytes({h})
list(B)
[(x, act()) for x in B]
int.from_bytes({i}, 'big')
M[{h}]
M[{h}:{h}].tolist()
[(x, act()) for x in M]
list(Q)
Q[{h}]
Q.index({h})
Q.count({h})
{h} in Q
Q == collections.deque([{h}, {n}])
Q.pop()
Q + Q
Q * {h}
[(x, act()) for x in Q]
[(x, act()) for x in reversed(Q)]
collections.deque({i}, 2)
collections.deque({i}, {h})
Q.copy()
O.p
O.a
O.d
O.a[{h}]
O.a.index({h})
O.b[{h}]
O.b.get({h})
O.m({h}, x={h})
O.m(*{i})
getattr(O, 'a', {h})
hasattr(O, 'p')
vars(O)
C().f()
C.f(O)
C.n
C().m(*L)
[C().f() for x in {i}]
X[1][{h}]
X[2]['a'][{h}]
X[{h}][{h}]
operator.itemgetter({h}, {h})(L)
operator.attrgetter('a', 'p')(O)
operator.indexOf(L, {h})
operator.countOf({i}, {h})
operator.index({h})
range({h})
list(range({h}, {h}, {n}))
range(9)[{h}]
{h} in range(5)
range(9).index({h})
slice({h}, {h}).indices({h})
'abcdef'[{h}]
'abcdef'[{h}:{h}]
'abc' * {h}
'abcabc'.find('c', {h}, {h})
'abcabc'.replace('a', 'x', {h})
'abcabc'.split('b', {h})
'%d %s %r' % ({h}, {h}, {h})
'%*d' % ({n}, {h})
'%(a)s' % {h}
'{{}} {{}}'.format({h}, {h})
'{{0[1]}} {{0.x}}'.format({h})
'{{:{{}}}}'.format({h}, {h})
f'{{{h}}} {{{h}!r:>5}} {{{n}:{{{n}}}}}'
format({h}, 'x')
'abc'.center({h})
'ab'.translate({h})
'ab'.translate(D)
str({h})
int({h})
float({h})
bool({h})
round({h})
abs({h})
divmod({h}, {n})
pow({n}, {h}, 7)
chr({h})
math.floor({h})
math.gcd({h}, {h})
math.prod(L)
math.fsum({i})
math.hypot({h}, {h})
math.dist({i}, {i})
math.sqrt({h})
math.isclose({h}, {h})
{h} + {h}
{h} < {h} < {h}
{h} == {h}
not {h}
{h} and {h}
{h} if {h} else {n}
-{h}
{h}({i})
{n} + {h}
hash(({h}, {h}))
({h}, {n}) == ({n}, {h})
({h}, {n}) < ({h}, {h})
[{h}] == [{h}]
{h} in ({n}, {h})
(L[0], L[{h}])
L[key(1)] if L else {h}
[L, {h} in L, L]
(lambda *a, **k: len(a))(*{i}, **D)
print(L, {h}, D, sep='-')
print({h}, {h})""".split("\n")

STATEMENTS = """L[{h}] = {n}
L[{h}] = {h}
L[{h}] += {h}
L[{h}] += {n}
L[{h}:{h}] = {i}
L[{h}:{h}] = L
L[::2] = {n},
L[1:] = gen(4)
del L[{h}]
del L[{h}:{h}]
del L[::{h}]
L.append({h})
L.extend({i})
L += {i}
L += L
L *= {h}
L.insert({h}, {h})
L.remove({h})
L.sort()
L.sort(key=key)
L.sort(key=key, reverse={h})
L.__init__({i})
heapq.heapify(L)
heapq.heappush(L, {h})
bisect.insort(L, {h})
bisect.insort(L, {h}, key=key)
D[{h}] = {h}
D[{n}] = {h}
D[{h}] += {n}
D[{n}] += {h}
del D[{h}]
D.update(E)
D.update(gen(3, pair))
D.update({h})
D.update(D, k={h})
D |= E
D |= gen(3, pair)
D.__init__(E)
S.add({h})
S.discard({h})
S.remove({h})
S.update({i}, L)
S |= F
S &= F
S -= F
S ^= F
S.intersection_update({i})
S.difference_update(F, {i})
S.symmetric_difference_update({i})
S.__init__({i})
B[{h}:{h}] = b'12'
B[{h}:{h}] = {i}
B[{h}:{h}] = B
B[::{h}] = {i}
del B[{h}]
del B[{h}:{h}]
B.append({h})
B.extend({i})
B.insert({h}, {h})
B.remove({h})
B += b'x'
B *= {h}
B.__init__({i})
M[{h}:{h}] = b'1'
Q[{h}] = {h}
Q[{h}] += {h}
del Q[{h}]
Q.extend({i})
Q.extendleft({i})
Q += {i}
Q *= {h}
Q.insert({h}, {h})
Q.remove({h})
Q.rotate({h})
Q.append({h})
O.a = {h}
O.a += {h}
O.a += {i}
O.a[{h}] = {n}
O.a[{h}] = {h}
O.a[{h}] += {h}
O.a[{h}:{h}] = {i}
O.b[{h}] = {h}
O.b[{h}] += {n}
O.p = {h}
O.p += {i}
O.p[{h}] = {n}
O.p[{h}] += {n}
O.d = {h}
O.d += {h}
del O.a[{h}]
del O.b[{h}]
del O.a, O.b
del O.d
O.c = {h}
O.a, O.b = {i}
O.a, L[{h}] = {i}
L[{h}], L[{h}] = {h}, {h}
L[{h}], O.a, D[{h}] = gen(3)
x, *L[{h}:{h}] = {i}
x, *y = {i}
x, y = {i}
x = y = L[{h}]
x, L[x] = {i}
C.n += {h}
C.f = {h}
X[1][{h}] = {n}
X[1][{h}] += {h}
X[1][{h}:{h}] = {i}
X[2]['a'][{h}] = {h}
X[2]['a'][{h}] += {h}
X[{h}][{h}] = {n}
X[{h}][{h}] += {n}
X[1] += {i}
X[2]['b'] = {h}
X[2] |= E
for x in L: act()
for x in list(L): L.remove(x)
for x in D: act(); key(x)
for L[0] in {i}: act()
for O.a in {i}: pass
for k, v in D.items(): act()
for x in S: act()
for x in {i}: L.append(x)
for x, y in zip(L, {i}): act()
for i, x in enumerate(L): L[i] = key(x)
while {h} in L: L.pop()
with {h} as O.a: act()
with {h} as L[{h}]: act()
if {h}: L.append(1)
assert {h}, {h}
raise {h}
class L(P): x, y = {h}, {h} + {n}
class L(P, metaclass={h}): pass
setattr(O, 'a', {h})
delattr(O, 'b')
vars(O).update(E)
O.__dict__[{h}] = 1
O.__dict__.update({{'a': {h}}})
L[0] = Finalised(1); L[0] = 2
D[1] = Finalised(1); D[1] = {h}
L.append(Finalised(1)); L.clear()
L.append(Finalised(1)); del L[{h}:]
X[1] = Finalised(1); X[1] = {h}
O.a = Finalised(1); O.a = {h}
O.a = Finalised(1); del O.a
D[{h}] = Finalised(1); D.clear()
S.add(Finalised(1)); S.clear()
x = Finalised(1); x = {h}; act()
L[:] = [Finalised(1), Finalised(2)]; L[:] = {i}
Q.append(Finalised(1)); Q.clear()
match L:\\n    case [a, *b] if {h}: x = b
match {h}:\\n    case H(n=1, missing=2): x = 1
match D:\\n    case {{1: x, **rest}}: x = rest
try:\\n    L[{h}]\\nexcept KeyError: pass\\nfinally: L.append({n})""".split("\n")

# Where CPython 3.11 goes on in memory that was freed: what comes out is not compared, only that nothing dies.
UNJUDGED = """r = B.find(b'c', {h}, {h})
r = B.rfind({h})
r = B.rfind(b'', {h}, {h})
r = B.count(b'a', {h})
r = B.index(b'a', {h})
r = B.index(B, {h})
r = B.startswith(b'a', {h}, {h})
r = B.endswith(b'c', {h})
r = bytearray(b'%s %d') % ({h}, {h})
r = bytearray(b'%d-%c-%s' * 2) % ({h}, {h}, B, 1, 2, B)
B[:] = b'%s-%d' * 9; r = B % ({h}, {h})
B[{h}] = {h}
B[{h}] += {h}
r = Q.index({n}, {h})
r = B.replace(b'', B, {h})
M[{h}] = {h}
L[::{h}] = {i}
L[{h}:{h}:{h}] = {i}""".split("\n")

# Places of tensors: what is written, and what is done meanwhile.
TENSOR_PLACES = ["x", "o.x", "o.l[0]", "s.x", "l[0]", "d['x']", "d[k]", "l[1][0]", "o.d['x']", "p.x"]
TENSOR_STATEMENTS = """{p}[{h}] = {n}
{p}[{h}] += {n}
{p}[{h}:] = {n}
{p}[:{h}] *= 2
{p}[{h}] = {h}
{p}[{h}:{h}] = gen(2)
{p}[:] = gen(4)
{p}[{h},] = {n}
{p}[..., {h}] = {n}
{p}[[{n}, 0]] = {n}
{p}[{h}][()] = {n}
{p} += {n}
{p} = {p} * {p}[{h}]
{p}[{h}], y = {n}, {h}
for {p} in (zeros(3), ones(4)): act()
for {p}[{h}] in (1.0, 2.0): act()
{p}[{h}] = {p}[{h}]
{p}[{h}] = {p}.sum()
y = {p}[{h}:{h}]
y = {p}[{h}, None]
y = {p}.sum({h})
y = {p}.reshape({h}, {h})
y = {p} + {h}
y = tensor([{h}, 1])
y = tensor(gen(3))
y = zeros({h}, {h})
y = stack([{p}, {p}])
y = cat(gen_t(2))
y = [v for v in {p}]
y = max({p}, key=key)
y = sorted(list({p}), key=key)
y = {p}.index_select(0, tensor([0]))
del {p}""".split("\n")
TENSOR_ACTIONS = """{p} = zeros(3)
{p} = ones(5)
{p} = None
{p} = [1, 2, 3, 4]
{p}[0] = 5
{p} += 1
{p} = {p}[:2]
del {p}
l.clear()
l.insert(0, zeros(2))
l[1].clear()
d.clear()
d.update(dict.fromkeys(range(40), 1))
o.__dict__.clear()
o.l.clear()
o.d.clear()
o.__dict__ = {{'x': zeros(2)}}
o.__class__ = R
x = None
o = None
l = None
d = None
k = 'y'
raise ValueError('meant')""".split("\n")
TENSOR_PRELUDE = '''
class TO: pass
class TR(TO): pass
R = TR
class TS:
    __slots__ = ('x',)
class TP:
    def __init__(self): self.t = ones(4)
    @property
    def x(self): act(); return self.t
    @x.setter
    def x(self, v): act(); self.t = v
def gen_t(n):
    for i in range(n):
        act()
        yield ones(2) * i
def key(v): act(); return v.item() if isinstance(v, tensor) else number(v)
def told(v):
    if isinstance(v, tensor): return v.tolist()
    if isinstance(v, list): return [told(i) for i in v]
    if isinstance(v, dict): return {k: told(i) for k, i in v.items()}
    return shown(v)
def reset(kind):
    global x, o, s, l, d, k, p, y
    x, o, s, p, k, y = ones(4), TO(), TS(), TP(), 'x', None
    o.x, o.l, o.d, s.x = ones(4), [ones(3)], {'x': ones(2)}, ones(3)
    l, d = [ones(4), [ones(3)], 7], {'x': ones(4), 'y': 2}
def state():
    left = globals()
    for name in ('x', 'l', 'd', 'k', 'y'): print(name, told(left[name]) if name in left else 'gone')
    for name in ('o', 's', 'p'):
        v = left.get(name)
        print(name, type(v).__name__, told(getattr(v, 'x', 'no x')), told(getattr(v, 'l', 'no l')), told(getattr(v, 'd', 'no d')))
'''


class Case:
    """An operation or up to three, and what the calls on the way do; with tensors, of places."""

    def __init__(self, r, seed):
        tensors = seed % 3 == 2
        self.kind, self.tensors, self.judged = r.randrange(84), tensors, not tensors and seed % 6 != 1
        self.actions, self.lines = [], []
        place = r.choice(TENSOR_PLACES) if tensors else None
        for _ in range(r.choice([1, 1, 1, 2, 3])):
            if tensors:
                text = r.choice(TENSOR_STATEMENTS).replace("{p}", place)
            elif not self.judged and r.random() < 0.4:
                text = r.choice(UNJUDGED)
            else:
                text = r.choice(STATEMENTS) if r.random() < 0.5 else "RESULT " + r.choice(EXPRESSIONS)
            self.lines.append(self.fill(r, text))
        for _ in range(r.randint(1, 4)):
            self.actions += [None] * r.choice([0, 0, 0, 1, 1, 2, 3, 5])
            self.actions.append(r.choice(TENSOR_ACTIONS).replace("{p}", place).replace("{{", "{").replace("}}", "}") if tensors else r.choice(ACTIONS))
        self.again = r.choice([1, 1, 3])  # in a loop: what is hot is compiled

    def fill(self, r, text):
        text = text.replace("{{", "\1").replace("}}", "\2")
        drawn = {"{h}": lambda: f"H({r.choice([0, 1, 1, 2, 2, 3, 4, -1, 7])})", "{n}": lambda: str(r.choice([0, 1, 2, 3, -1, 5])),
                 "{i}": lambda: r.choice(["It(2)", "It(3)", "It(1)", "gen(2)", "gen(3)", "gen(5, H)", "H(2)", "L", "map(key, [1, 2])"])}
        return re.sub(r"\{[hni]\}", lambda m: drawn[m.group()](), text).replace("\1", "{").replace("\2", "}").replace("\\n", "\n")

    def render(self, n):
        names = "x, o, s, l, d, k, p, y" if self.tensors else "L, D, E, S, F, B, M, Q, O, C, X, K"
        out, actions = [], []
        for i, a in enumerate(self.actions):
            if a is None:
                actions.append("None")
                continue
            out += [f"def a{n}_{i}():", f"    global {names}", f"    {a}"]
            actions.append(f"a{n}_{i}")
        out += [f"def case{n}():", f"    global {names}", "    r = None"]
        for line in self.lines:
            line = "r = [" + line[7:] + ", r]" if line.startswith("RESULT ") else line
            out += ["    " + part for part in line.split("\n")]
        out += ["    return r", f"for _ in range({self.again}): run({n}, {self.kind}, [{', '.join(actions)}], case{n})"]
        return "\n".join(out) + "\n"


ALONE = "# CPython is no judge of this\n"


def program(cases):
    first = cases[0]
    return ("" if first.judged else ALONE) + PRELUDE + (TENSOR_PRELUDE if first.tensors else "") + "".join(c.render(n) for n, c in enumerate(cases))


ENVIRONMENT = dict(os.environ, PYTHONHASHSEED="0", OURO_ABORT_ON_BUG="1", OURO_CACHE="off", OURO_COMPILE_AFTER="0")


def little_memory():
    """A list that grows without end is soon a MemoryError, after which nothing is compared."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def run(command, path, more=None, limit=None):
    try:
        p = subprocess.run([*command, path], capture_output=True, timeout=60, env={**ENVIRONMENT, **(more or {})}, stdin=subprocess.DEVNULL, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return "timeout", b"", b""
    return p.returncode, p.stdout, p.stderr[-1500:] if p.returncode else b""


def answers(given, text, path):
    """(name, answer) of CPython, where it is the judge, then of each mode."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    if not text.startswith(ALONE):
        yield "python3", run([given.python], path, limit=little_memory)
    # Where CPython has not told already what grows without end, it is the first mode that runs out of memory.
    memory = ["--memory=1G"] if text.startswith(ALONE) else []
    for mode in given.modes.split(","):
        option, environment = TIERS.get(mode, (mode, None))
        yield mode, run([given.ouro, "run", *memory, "--mode=" + option], path, environment)


def difference(given, text, path):
    """(mode, what was expected, what came) of the first that differs from the first answer, or that died; else None."""
    expected = None
    for mode, got in answers(given, text, path):
        if mode == "python3" and (got[0] == "timeout" or got[0] < 0):
            return None  # CPython itself dies of some
        if expected is None and b"MemoryError" in got[1] + got[2]:
            return None
        died = got[0] != 0
        if expected is None:
            expected = got
            if mode != "python3" and died:
                return mode, got, got
        elif died or got[1] != expected[1]:
            return mode, expected, got
    return None


def shrink(given, cases, path, found, limit):
    """The cases that still differ, as few and as short as there is time for."""
    end = time.monotonic() + limit
    modes, given.modes = given.modes, found[0] if cases[0].judged else given.modes
    def differs(trial):
        return bool(trial) and time.monotonic() < end and difference(given, program(trial), path)
    for c in cases:
        if differs([c]):
            cases = [c]
            break
    again = True
    while again and time.monotonic() < end:
        again = False
        for at in range(len(cases)):
            if len(cases) > 1 and differs(cases[:at] + cases[at + 1:]):
                del cases[at]
                again = True
                break
        for c in cases:
            for row in (c.lines, c.actions):
                for at in reversed(range(len(row))):
                    gone = row.pop(at)
                    if (row is c.actions or row) and differs(cases):
                        again = True
                    else:
                        row.insert(at, gone)
            if c.again > 1:
                c.again, before = 1, c.again
                if not differs(cases):
                    c.again = before
    given.modes = modes
    return cases


def check(seed, given):
    r = random.Random(seed)
    cases = [Case(r, seed) for _ in range(CASES)]
    path = os.path.join(given.keep, f"reentry{seed}." + ("ouro" if cases[0].tensors else "py"))
    found = difference(given, program(cases), path)
    if not found:
        os.remove(path)
        return False
    cases = shrink(given, cases, path, found, given.shrink)
    found = difference(given, program(cases), path) or found
    mode, expected, got = found
    print(f"seed {seed}, {mode}: {path}\n--- expected\n{expected[1].decode(errors='replace')[-3000:]}--- {mode} (status {got[0]})\n"
          f"{got[1].decode(errors='replace')[-3000:]}{got[2].decode(errors='replace')}\n--- the cases\n{''.join(c.render(n) for n, c in enumerate(cases))}", flush=True)
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seed", type=int, default=0, help="of the first program")
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--seconds", type=float, help="go on until then instead of counting")
    p.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    p.add_argument("--python", default="/usr/bin/python3")
    p.add_argument("--keep", default=".", help="folder for programs that differ")
    p.add_argument("--modes", default=",".join(MODES))
    p.add_argument("--shrink", type=float, default=60, help="seconds for shrinking one program")
    p.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    p.add_argument("--print", action="store_true", help="print the first program and stop")
    given = p.parse_args()
    if given.print:
        r = random.Random(given.seed)
        print(program([Case(r, given.seed) for _ in range(CASES)]), end="")
        return 0
    os.makedirs(given.keep, exist_ok=True)
    end = time.monotonic() + given.seconds if given.seconds else None
    tried = differ = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        while (time.monotonic() < end) if end else (tried < given.count):
            some = 2 * given.jobs if end else min(2 * given.jobs, given.count - tried)
            seeds = range(given.seed + tried, given.seed + tried + some)
            differ += sum(pool.map(lambda s: check(s, argparse.Namespace(**vars(given))), seeds))
            tried += len(seeds)
    print(f"{tried - differ} passed, {differ} failed")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
