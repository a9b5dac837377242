# title: Levenshtein distance of two texts
def lev(a, b):
    prev = list(range(len(b) + 1))
    for i, ca in enumerate(a):
        cur = [i + 1]
        for j, cb in enumerate(b):
            cost = 0 if ca == cb else 1
            cur.append(min(prev[j + 1] + 1, cur[j] + 1, prev[j] + cost))
        prev = cur
    return prev[-1]
a = "kitten sitting on the mitten " * 8
b = "sitting kitten in the kitchen " * 8
t = 0
for k in range(200): t += lev(a, b[k % 20:])
print(t)
