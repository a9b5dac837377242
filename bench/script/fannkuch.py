# title: permutations: pancake flips (fannkuch)
def fannkuch(n):
    perm1 = list(range(n))
    count = [0] * n
    most, check, m, r = 0, 0, 0, n
    while True:
        while r != 1:
            count[r - 1] = r
            r -= 1
        flips = 0
        perm = perm1[:]
        k = perm[0]
        while k:
            perm[:k + 1] = perm[k::-1]
            flips += 1
            k = perm[0]
        most = max(most, flips)
        check += flips if m % 2 == 0 else -flips
        while True:
            if r == n:
                return check, most
            perm1.insert(r, perm1.pop(0))
            count[r] -= 1
            if count[r] > 0:
                break
            r += 1
        m += 1


print(fannkuch(9))
