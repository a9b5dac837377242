# title: vectors with operators: an object for each result
class V:
    def __init__(self, x, y):
        self.x = x
        self.y = y
    def __add__(self, o):
        return V(self.x + o.x, self.y + o.y)
    def scale(self, k):
        return V(self.x * k, self.y * k)
    def dot(self, o):
        return self.x * o.x + self.y * o.y
p = V(0.0, 0.0)
v = V(1.0, 0.5)
e = 0.0
for k in range(3000000):
    p = p + v.scale(0.001)
    e += p.dot(v)
print(p.x, p.y, e)
