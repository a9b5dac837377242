# title: objects: attributes, methods, inheritance, properties
class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def dot(self, other):
        return self.x * other.x + self.y * other.y


class Account:
    rate = 0.01

    def __init__(self, owner, balance=0.0):
        self.owner = owner
        self.balance = balance
        self.moves = 0

    @property
    def interest(self):
        return self.balance * self.rate

    def deposit(self, amount):
        self.balance += amount
        self.moves += 1
        return self


class Savings(Account):
    def __init__(self, owner, balance=0.0):
        super().__init__(owner, balance)
        self.log = []

    def deposit(self, amount):
        if amount > 90:
            self.log.append(amount)
        return super().deposit(amount)


class Node:
    __slots__ = ("value", "left", "right")

    def __init__(self, value):
        self.value = value
        self.left = self.right = None

    def insert(self, value):
        node = self
        while True:
            if value < node.value:
                if node.left is None:
                    node.left = Node(value)
                    return
                node = node.left
            else:
                if node.right is None:
                    node.right = Node(value)
                    return
                node = node.right

    def depth(self):
        return 1 + max(self.left.depth() if self.left else 0, self.right.depth() if self.right else 0)


v = Vector(0, 0)
step = Vector(1, 2)
for i in range(600000):
    v = v + step * (i % 3)
print(v.x, v.y, v.dot(step))
a = Savings("a")
total = 0.0
for i in range(500000):
    a.deposit(i % 100)
    total += a.interest
print(a.balance, a.moves, len(a.log), round(total, 3))
root = Node(50000)
x = 7
for _ in range(60000):
    x = (x * 16807) % 2147483647
    root.insert(x % 100000)
print(root.depth())
