from __future__ import annotations, division
import a
import a.b.c
import a as b, c.d as e
from a import b
from a.b import c as d, e
from a import (b, c as d,)
from a import (
    b,
    c,
)
from . import a
from .. import b
from ... import c
from .... import d
from .a import b
from ...a.b import c as d
from a import *
pass
pass; pass
pass; pass;
x = 1; y = 2
x = y = z = 1
x, y = y, x
x, *y = z
*x, = y
[x, y] = (z, w) = 1, 2
(x) = 1
((x)) = 1
(x, (y, z)), [w, *v] = a
x.y = x[0] = x[1:2] = 1
x[a, b], x.c = 1, 2
() = x
[] = x
x += 1
x -= 1
x *= 1
x /= 1
x //= 1
x %= 1
x **= 1
x @= 1
x &= 1
x |= 1
x ^= 1
x <<= 1
x >>= 1
x.y += 1, 2
x[0] += yield_
(x) += 1
x: int
x: int = 1
(x): int = 1
x.y: int
x[0]: int = 1
x: a if b else c = d
x: int = 1, 2
x: tuple = *a, b
assert a
assert a, b
assert (a, b)
del a
del a, b
del a,
del (a, b)
del (a), [b, c]
del a.b, a[0], a[1:2]
del ()
raise
raise a
raise a from b
global g1
global g2, g3
if a: pass
if a: b; c
if a:
    b
elif c:
    d
elif e: f
else:
    g
if a:
    b
else: c
if (n := 10) > 5: pass
if n := 10: pass
while a: b
while a:
    break
    continue
else:
    c
while x := f(): pass
for x in y: pass
for x in y:
    pass
else:
    pass
for x, y in z: pass
for x, in z: pass
for (x, y) in z: pass
for [x, y] in z: pass
for x.y in z: pass
for x[0], *y in z: pass
for x in *a, b: pass
for x in a, b: pass
for x in a if b else c: pass
for x in lambda: 1, 2: pass
try: a
except: b
try:
    a
except B:
    c
except (D, E) as f:
    g
except H as i: j
else:
    k
finally:
    l
try:
    a
finally:
    b
try:
    a
except:
    b
else:
    c
with a: pass
with a as b: pass
with a as b, c as d, e: pass
with a as (b, c): pass
with a as [b, *c], d: pass
with a as b.c, d as e[0]: pass
with (a): pass
with (a, b): pass
with (a, b,): pass
with (a as b): pass
with (a as b, c as d,): pass
with (a, b as c): pass
with (a) as b: pass
with (a, b) as c: pass
with (a), (b): pass
with (a, b) as c, d: pass
with (a).b as c: pass
with (a)(b): pass
with (a, b)[0]: pass
with (yield_): pass
with (a := b): pass
with (a, *b): pass
with (): pass
with (open(a) as b,
      open(c) as d):
    pass
with (f(a, b=(c, d)) as e): pass
with a if b else c as d: pass
if 1:
    if 2:
        if 3:
            pass
    pass
if 1:
        pass
if 1:
	pass
if 1:
    pass

    # comment at another depth
  # and another
    pass
# end
