# title: lists of lists: matrix products, transposes, determinants
def matmul(a, b):
    n, m, k = len(a), len(b[0]), len(b)
    c = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            s = 0
            for t in range(k):
                s += a[i][t] * b[t][j]
            c[i][j] = s
    return c


def matmul2(a, b):
    bt = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, col)) for col in bt] for row in a]


def determinant(m):
    m = [row[:] for row in m]
    n, det = len(m), 1.0
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(m[r][i]))
        if m[p][i] == 0:
            return 0.0
        if p != i:
            m[i], m[p] = m[p], m[i]
            det = -det
        det *= m[i][i]
        for r in range(i + 1, n):
            f = m[r][i] / m[i][i]
            for c in range(i, n):
                m[r][c] -= f * m[i][c]
    return det


n = 180
a = [[(i * j) % 7 + 1 for j in range(n)] for i in range(n)]
b = [[(i + j) % 5 - 2 for j in range(n)] for i in range(n)]
c = matmul(a, b)
print(c == matmul2(a, b), sum(map(sum, c)))
d = [[float((i * 7 + j * 3) % 11) + (20.0 if i == j else 0.0) for j in range(120)] for i in range(120)]
print(f"{determinant(d):.6e}")
