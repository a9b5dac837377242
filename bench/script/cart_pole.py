# title: cart-pole: methods, tuples, floats
import math
class CartPole:
    def __init__(self):
        self.gravity = 9.8; self.masscart = 1.0; self.masspole = 0.1; self.total = 1.1; self.length = 0.5
        self.force = 10.0; self.tau = 0.02; self.state = (0.0, 0.0, 0.01, 0.0); self.steps = 0
    def reset(self, s):
        self.state = (0.0, 0.0, s, 0.0)
        self.steps = 0
        return self.state
    def step(self, action):
        x, xd, th, thd = self.state
        force = self.force if action == 1 else -self.force
        c = math.cos(th); s = math.sin(th)
        temp = (force + self.masspole * self.length * thd * thd * s) / self.total
        tacc = (self.gravity * s - c * temp) / (self.length * (4.0 / 3.0 - self.masspole * c * c / self.total))
        xacc = temp - self.masspole * self.length * tacc * c / self.total
        x = x + self.tau * xd; xd = xd + self.tau * xacc
        th = th + self.tau * thd; thd = thd + self.tau * tacc
        self.state = (x, xd, th, thd)
        self.steps += 1
        done = x < -2.4 or x > 2.4 or th < -0.2 or th > 0.2
        return self.state, 1.0, done
def policy(s, w):
    return 1 if s[0] * w[0] + s[1] * w[1] + s[2] * w[2] + s[3] * w[3] > 0.0 else 0
env = CartPole()
w = [0.1, 0.2, 1.0, 0.5]
total = 0.0
for ep in range(15000):
    s = env.reset(0.01 + 0.0001 * (ep % 50))
    for t in range(200):
        s, r, done = env.step(policy(s, w))
        total += r
        if done: break
print(total, s)
