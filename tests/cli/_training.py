"""A small LeNet with Adam, and its training step under @jit: what several tests compile."""

MODEL = '''
from ouro import nn, optim, jit, value_and_grad

class Net(nn.Module):
    def __init__(self):
        self.c = nn.Conv2d(1, 4, 5, padding=2)
        self.a, self.b = nn.Linear(4 * 7 * 7, 16), nn.Linear(16, 10)
    def forward(self, x):
        x = max_pool2d(relu(self.c(x)), 4)
        return self.b(relu(self.a(x.flatten(1))))

manual_seed(0)
model = Net()
opt = optim.Adam(model, lr=1e-3)

@jit
def step(x, y):
    loss, grads = value_and_grad(lambda m: cross_entropy(m(x), y))(model)
    opt.update(grads)
    return loss

x, y = randn(8, 1, 28, 28), randint(0, 10, (8,))
'''


def until(demand):
    """until(VALUE): steps until the program runs under that; then a compiled step, and what was counted until now."""
    return f'''
import time
from ouro import demand

def until(value):
    for i in range(4000):
        step(x, y)
        if demand.report()["running"]["{demand}"] == value:
            return True
        time.sleep(0.005)

step(x, y)
while not demand.report()["versions"] or demand.report()["versions"][0]["state"] != "ready":
    step(x, y); time.sleep(0.005)
step(x, y)
waited, compiles = demand.report()["compile_wait_ns"], demand.report()["compiled"]
'''
