# title: ints: sieve of Eratosthenes, trial division
def sieve(n):
    is_prime = [True] * (n + 1)
    is_prime[0] = is_prime[1] = False
    i = 2
    while i * i <= n:
        if is_prime[i]:
            for j in range(i * i, n + 1, i):
                is_prime[j] = False
        i += 1
    return [i for i, p in enumerate(is_prime) if p]


def factors(n):
    out = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            out.append(d)
            n //= d
        d += 1
    if n > 1:
        out.append(n)
    return out


primes = sieve(5000000)
print(len(primes), primes[-1])
print(sum(len(factors(n)) for n in range(2, 60000)))
