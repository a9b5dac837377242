match x:
    case 1: pass
    case -1: pass
    case 1.5 | -2.5: pass
    case 'a': pass
    case 'a' 'b': pass
    case b'a': pass
    case None: pass
    case True | False: pass
    case a.b: pass
    case a.b.c: pass
    case [a]: pass
    case [a, b]: pass
    case [a, *b]: pass
    case [a, *_]: pass
    case []: pass
    case (): pass
    case (a): pass
match x:
    case (a,): pass
    case (a, b): pass
    case a, b: pass
    case a,: pass
    case *a, b: pass
    case a, *b,: pass
    case [(1 | 2) as y, [z]]: pass
    case {}: pass
    case {'a': 1}: pass
    case {'a': b, **c}: pass
    case {'a': b, 2: c, None: d, e.f: g, -1: h, True: i,}: pass
    case {**a}: pass
    case {**a,}: pass
    case A(): pass
    case A(a): pass
    case A(a, b,): pass
    case A(a, b=c): pass
    case a.B(c=d, e=f): pass
    case A(B(c), d=[e, *f], g={'h': i}): pass
    case 1 | 2 | 3: pass
    case (1 | 2) as a: pass
    case 1 as a: pass
    case [1, 2] as a: pass
    case A(b=1) | C(d=2) as e: pass
    case a if b: pass
    case a if b > c: pass
    case [a] if (b := a): pass
    case _ if a: pass
    case _: pass
match a, b:
    case _: pass
match a,:
    case _: pass
match *a, b:
    case _: pass
match (a, b):
    case c: pass
match [a]:
    case _: pass
match {a: b}:
    case _: pass
match -a:
    case _: pass
match -a + b:
    case _: pass
match not a:
    case _: pass
match lambda: a:
    case _: pass
match (a):
    case _: pass
match (a).b:
    case _: pass
match a := b:
    case _: pass
match f(a):
    case _: pass
match match:
    case case: pass
match case:
    case match: pass
match x:
    case 1:
        match y:
            case 2:
                case = 1
                match = case
            case _:
                pass
    case _:
        case(1)
        match(2)
if 1:
    match x:
        case 1: pass
    case = 2
match = 1
match[x] = 2
match.y = 3
match (x)
match (x).y
print(match (x))
for match in case: pass
match x:

    # comment

    case 1:

        pass

    # comment
    case 2: pass
