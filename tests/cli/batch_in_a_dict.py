"""In auto a function is compiled if its arguments hold a tensor: also where they are a batch in a dict."""
import json

SCRIPT = """
class Model:
    def __init__(self):
        self.w = ones(4, 2)


m = Model()


def step(batch):
    def loss(w):
        return ((batch["x"] @ w - batch["y"]) ** 2).mean()
    l, g = value_and_grad(loss)(m.w)
    m.w = m.w - 0.01 * g
    return l


def settings(of):
    return of["a"] + of["b"]


x, y, n = ones(3, 4), ones(3, 2), 0
for _ in range(4000):
    l = step({"name": "train", "x": x, "y": y})
    n += settings({"a": 1, "b": 2})
print(l, n)
"""


def test_a_step_on_a_dict_is_looked_at(t):
    t.write("batch.ouro", SCRIPT)
    done = t.run("explain", "--json", "--mode=auto", "batch.ouro", env={"OURO_COMPILE_AFTER": "0", "OURO_CACHE": "off"})
    told = {f["name"]: f for f in json.loads(done.out)["functions"]}
    t.check("step" in told and told["step"]["versions"], done.out)
    t.check("settings" not in told, done.out)
