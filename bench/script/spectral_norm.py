# title: floats: spectral norm
def eval_a(i, j):
    return 1.0 / ((i + j) * (i + j + 1) // 2 + i + 1)


def times(v, transposed):
    n = len(v)
    if transposed:
        return [sum(eval_a(j, i) * v[j] for j in range(n)) for i in range(n)]
    return [sum([eval_a(i, j) * v[j] for j in range(n)]) for i in range(n)]


def main(n):
    u = [1.0] * n
    for _ in range(4):
        v = times(times(u, False), True)
        u = times(times(v, False), True)
    vbv = vv = 0
    for ue, ve in zip(u, v):
        vbv += ue * ve
        vv += ve * ve
    return (vbv / vv) ** 0.5


print(f"{main(500):.9f}")
