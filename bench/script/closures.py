# title: functions: closures, lambdas, map and filter, keywords, stars
def counter():
    n = 0

    def step(by=1):
        nonlocal n
        n += by
        return n

    return step


def compose(*fs):
    def run(x):
        for f in fs:
            x = f(x)
        return x

    return run


def area(*, width, height=1, **more):
    return width * height + len(more)


def mean(*values):
    return sum(values) / len(values)


def guarded(i):
    try:
        if i % 5 == 0:
            raise ValueError(i)
        return i
    except ValueError:
        return -1
    finally:
        tick(2)


tick = counter()
f = compose(lambda x: x + 1, lambda x: x * 2, abs)
total = 0
for i in range(500000):
    total += f(i) + tick()
    total += area(width=i, height=2)
    total += mean(i, 2, 3)
    total += guarded(i)
print(total, tick())
print(sum(map(lambda x: x * 3, filter(lambda x: x % 2, range(1000000)))))
