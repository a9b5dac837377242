# title: big integers: digits of pi, factorials, powers
def pi_digits(n):
    q, r, t, k, m, x = 1, 0, 1, 1, 3, 3
    out = []
    while len(out) < n:
        if 4 * q + r - t < m * t:
            out.append(m)
            q, r, m = 10 * q, 10 * (r - m * t), (10 * (3 * q + r)) // t - 10 * m
        else:
            q, r, t, k, m, x = q * k, (2 * q + r) * x, t * x, k + 1, (q * (7 * k + 2) + r * x) // (t * x), x + 2
    return "".join(map(str, out))


def factorial(n):
    r = 1
    for i in range(2, n + 1):
        r *= i
    return r


def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


print(pi_digits(3500)[-10:])
print(factorial(6000) % (10 ** 9 + 7), fib(60000) % 1000003)
print(sum(pow(i, i + 3, 1000000007) for i in range(100000)), pow(3, 20000) % 10 ** 12)
