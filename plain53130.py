import math


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


def kept(a, b=2, *, c=None):
    return (a, b) if c is None else (b, c, a)


def f0(a, b, left):
    global G, H, spent
    spent += 1
    if left < 0 or spent > 60: return a
    i, c, d = 0, 0, 1.0
    a = b
    if isinstance(a, int) <= objects[i % 3].depth():
        for i in range(5):
            b = H
            try:
                d = floats[i]
                b = [b for v in ints][0]
            except (TypeError, ZeroDivisionError, OverflowError, ValueError): b = 1
            a = f0((objects[1] + H).x, p.x, left - 1)
        for d in [v * 2 for v in ints]:
            c = G
        for d in counts.copy():
            if (H - H) < int(c):
                b = b
            if d.both(i)[1] >= a:
                a = b
    else:
        if b is None:
            for i in ints:
                a = int(c.made(d).x)
                counts[i % 4] += p.n
                p.y = b
            objects[i % 3] = objects[0].made(i)
        else:
            try:
                if [True, H][-1] != D() and 1 and not (d, d)[0]: return H
                c = floats[i]
            except (TypeError, ZeroDivisionError, OverflowError, ValueError): b = 1
            for d, i in pairs:
                objects[1].n = (objects[1] + D() and 1).x
                b += b
        for d in [v * 2 for v in ints]:
            for d, c in list(counts.items()):
                if f'{a}{i}' == ((a) % 1009 ** 1) ** 0.5: continue
                b += f0((-d), len(floats), left - 1)
                a = ((0.1 + b) * 0)
            d = [(H * 0.1) for v in ints][0]
            a, b = b, f0(H, b, left - 1)
            for d in [v * 2 for v in ints]:
                a = ((-a) / ints[0])
        if (int(a) << i) != p.y or not b:
            p.fresh = objects[0].pair[1]
    if a == a: return float(255)
    for i, (d, c) in enumerate(zip(ints, floats)):
        if D() and 1 != math.fabs(b):
            d = ints[i]
        for i in range(10):
            for i in range(-4, 6):
                if i > 4 and a: break
            a = (objects[0].made(a).x - c)
            for i in range(11):
                a, b = b, ints[i % 5 - 2]
            for d in words[i % 5]:
                b = a.made(ints[-1]).x
    return (-G)


for k in range(8):
    spent = 0
    try: print(0, f0(True, 3, 3), state())
    except Exception as e: print(0, type(e).__name__, str(e)[:80], state())
    if k == 5: G, H = H, G
    if k == 6: ints[2] = 0.5; p.n = None
    if k == 3: objects.reverse()
x, y, t = 0, 1, 1.5
for i in range(40):
    x = x * 3 + i
    t = t * 1.25 - x % 7
    y = (y * 5 + 54) % 1000003
    H += 0.5
print(x, y, t, H)
