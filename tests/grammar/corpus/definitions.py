def f(): pass
def f(): return
def f(): return 1
def f(): return 1, 2
def f(): return *a, b
def f(a): pass
def f(a, b): pass
def f(a, b,): pass
def f(a=1): pass
def f(a, b=1, *c, d, e=2, **g): pass
def f(a, /): pass
def f(a, /, b): pass
def f(a, b=1, /, c=2, *, d, e=3): pass
def f(*, a): pass
def f(*, a, b=1, c, **d): pass
def f(*a): pass
def f(**a): pass
def f(*a, b): pass
def f(a: int, b: str = 1, *c: int, d: x = 2, **e: y) -> z: pass
def f(*a: *b): pass
def f() -> a if b else c: pass
def f(a: lambda: 1 = 2): pass
def f(
    a,
    b=1,  # comment
    *,
    c,
):
    """doc"""
    x = 1
    return x


def g():
    yield
    yield 1
    yield 1, 2
    yield *a, b
    x = yield
    x = yield 1
    x = yield 1, 2
    x += yield 1
    x: int = yield 1
    yield from a
    x = yield from a
    (yield)
    (yield 1)
    f((yield))
    [(yield)]
    f(a, (yield 1), b=(yield from c))
    return (yield)


@a
def f(): pass
@a.b.c
@a(b)
@a[b]
@(a if b else c)
@a := b
@lambda f: f
def f(): pass


def outer():
    x = 1

    def inner():
        nonlocal x
        nonlocal y, z
        global w
        x = 2
        return lambda: x

    class C:
        nonlocal x
    return inner


class A: pass
class A(): pass
class A(B): pass
class A(B, C): pass
class A(B, *C, d=1, **e): pass
class A(B,): pass
class A:
    """doc"""
    x = 1
    y: int = 2

    def __init__(self, x):
        super().__init__()
        self.x = x
        self.__y = 1

    @property
    def z(self): return self.x

    @staticmethod
    def s(): pass

    class B:
        class C: pass


@a
@b(c)
class A(B): pass
