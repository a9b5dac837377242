"""Every operator, precedence, and display."""
a + b - c * d / e // f % g @ h ** i
-a ** -b ** ~c
+a, -a, ~a, not a
- - -a
not not a
a ** b ** c
(a + b) * (c - (d))
a << b >> c & d ^ e | f
a < b <= c > d >= e == f != g is h is not i in j not in k
not a in b
not a == b and c or d and not e
(a and b) and c
a and (b and c)
a or b or (c or d)
a if b else c if d else e
(a if b else c) if d else e
lambda: 0
lambda x: x
lambda x, y=1, *a, z, w=2, **k: (x, y, a, z, w, k)
lambda x, /, y, *, z: 0
lambda *a: 0
lambda **k: 0
lambda x=lambda: 1: x
lambda: (yield)
a if b else lambda: c if d else e
(x := 1)
[x := 1, y := 2]
{x := 1, y}
f(x := 1)
a[x := 1]
a[x := 1, y]
()
(a,)
(a, b)
(a, b,)
a,
a, b
a, b,
(*a, b)
*a, b
*a,
[]
[a]
[a,]
[a, *b, c]
{}
{a}
{a, b,}
{*a, *b}
{a: b}
{a: b, **c, d: e,}
{**a}
{a: b if c else d, lambda: 1: 2}
[x for x in y]
[x for x in y if z]
[x for x in y if z if w for a, b in x for *c, d in b]
[x for x, in y]
[(x, y) for x in a for y in b]
{x for x in y}
{x: y for x, y in z if x}
(x for x in y)
f(x for x in y)
f((x for x in y), 1)
f(1)(x for x in y)
[[x for x in y] for y in z]
[x for x in a or b]
[x for x in (a if b else c)]
[lambda: x for x in y]
f()
f(a, b,)
f(a, *b, c, *d, e=1, *f, g=2, **h, i=3, **j)
f(*a or b, **c or d)
f(a if b else c, x=a if b else c)
a.b.c.d
a.b(c).d[e](f)[g].h
a[b]
a[b, c]
a[b,]
a[:]
a[b:]
a[:b]
a[b:c]
a[::]
a[b::]
a[:b:]
a[::c]
a[b:c:d]
a[b:c, ::d, ..., None]
a[*b]
a[*b, c]
a[b, *c,]
a[lambda: 1:2]
a[b if c else d:e]
a [ b ] . c ( d )
...
None, True, False, Ellipsis
print((yield_) if yield_ else (await_))
(
    a
    + b  # comment
    * c
)
a = b = (
    1,
    2,
)
x = a if (
    b
) else c
1 if a else 2
1if a else 2
[1for a in b]
1 .real
1..real
1.0.real
(1).real
match
match.x
match[1]
match(x)
match (x)
match - 1
match * a, b
match, case
match = case = type = _ = 1
case
case(1)
type
type(x)
type.x
type = 1
_ = _
match: int
match: int = 1
type: int
