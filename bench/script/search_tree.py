# title: a binary search tree: objects with links that may be None
class Node:
    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None
def insert(root, key):
    node = root
    while True:
        if key < node.key:
            if node.left is None:
                node.left = Node(key)
                return
            node = node.left
        else:
            if node.right is None:
                node.right = Node(key)
                return
            node = node.right
def depth(node):
    if node is None: return 0
    a = depth(node.left)
    b = depth(node.right)
    return 1 + (a if a > b else b)
def total(node):
    return 0 if node is None else total(node.left) + node.key + total(node.right)
x = 99
root = Node(500000)
for k in range(60000):
    x = (x * 1103515245 + 12345) % 1000003
    insert(root, x)
s = 0
for r in range(100): s += total(root)
print(depth(root), s)
