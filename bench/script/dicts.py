# title: dicts: counting, looking up, going through
def count(n):
    seen = {}
    x = 12345
    for _ in range(n):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        key = x % 5000
        if key in seen:
            seen[key] += 1
        else:
            seen[key] = 1
    return seen


def group(n):
    groups = {}
    for i in range(n):
        groups.setdefault("k" + str(i % 1000), []).append(i)
    return sum(len(v) * len(k) for k, v in groups.items())


def memo(limit):
    lengths = {1: 1}
    for i in range(2, limit):
        n, steps = i, []
        while n not in lengths:
            steps.append(n)
            n = n // 2 if n % 2 == 0 else 3 * n + 1
        length = lengths[n]
        for m in reversed(steps):
            length += 1
            lengths[m] = length
    return max(lengths.values())


d = count(2500000)
print(len(d), sum(k * v for k, v in d.items()), group(600000), memo(200000))
