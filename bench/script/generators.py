# title: generators: pipelines, yield from, generator expressions
def numbers(n):
    for i in range(n):
        yield i


def squares(items):
    for x in items:
        yield x * x


def even(items):
    return (x for x in items if x % 2 == 0)


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)


def permutations(items):
    if len(items) <= 1:
        yield items
        return
    for i in range(len(items)):
        for rest in permutations(items[:i] + items[i + 1:]):
            yield [items[i]] + rest


def average():
    total, n = 0, 0
    value = None
    while True:
        value = yield value
        total += value
        n += 1
        value = total / n


print(sum(even(squares(numbers(3000000)))))
print(sum(tree(17)))
print(sum(1 for p in permutations(list(range(8))) if p[0] < p[-1]))
a = average()
next(a)
for i in range(500000):
    r = a.send(i)
print(r, sum(x * y for x, y in zip(range(500000), range(500000, 0, -1))))
