# title: a binary heap of tuples, by hand
class PQ:
    def __init__(self):
        self.items = []
    def push(self, key, value):
        items = self.items
        items.append((key, value))
        i = len(items) - 1
        while i > 0:
            p = (i - 1) // 2
            if items[p][0] <= items[i][0]: break
            items[p], items[i] = items[i], items[p]
            i = p
    def pop(self):
        items = self.items
        top = items[0]
        last = items.pop()
        n = len(items)
        if n == 0: return top
        items[0] = last
        i = 0
        while True:
            c = 2 * i + 1
            if c >= n: break
            if c + 1 < n and items[c + 1][0] < items[c][0]: c += 1
            if items[i][0] <= items[c][0]: break
            items[i], items[c] = items[c], items[i]
            i = c
        return top
q = PQ()
x = 12345
s = 0
for k in range(1000000):
    x = (x * 1103515245 + 12345) % 2147483648
    q.push(x, k)
    if k % 3 == 2:
        a, b = q.pop()
        s = (s + a * b) % 1000007
while q.items:
    a, b = q.pop()
    s = (s + a * 31 + b) % 1000007
print(s)
