#!/usr/bin/env python3
"""Random models: layers composed as people compose them, trained for a few steps, with the interpreter's bits.

    tests/fuzz/models.py [--seed N] [--count N | --seconds N] [--keep FOLDER] ... (differential.py)

A model is two to six blocks (linear, feed-forward, residual, layer norm, attention, gate, skip, activation, and over images
convolution and pooling), then a head and a loss; sizes of batch, features, hidden and sequence are equal more often than
not. Run are the forward pass, the gradient, and steps of an optimizer under @jit, at one batch size and at another one.
A model that differs is shrunk: blocks go.
"""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from differential import SHOW, main  # noqa: E402

SIZES = [4, 8, 8, 16, 16, 16, 32, 33, 64, 64]
ACTIVATIONS = ["relu", "tanh", "sigmoid", "gelu", "silu", "elu", "softplus", "mish", "leaky_relu", "hardswish"]
OPTIMIZERS = ["optim.Adam(model, lr=0.01)", "optim.AdamW(model, lr=0.01, weight_decay=0.1)", "optim.SGD(model, lr=0.05)",
              "optim.SGD(model, lr=0.05, momentum=0.9)", "optim.SGD(model, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)",
              "optim.Adam(model, lr=0.01, weight_decay=0.1)"]

PRELUDE = SHOW + '''from ouro import nn, optim, jit, value_and_grad, grad


class Residual(nn.Module):
    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class FeedForward(nn.Module):
    def __init__(self, n, hidden, act):
        self.up, self.down, self.act = nn.Linear(n, hidden), nn.Linear(hidden, n), act

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Gate(nn.Module):
    def __init__(self, n):
        self.g, self.h = nn.Linear(n, n), nn.Linear(n, n)

    def forward(self, x):
        return sigmoid(self.g(x)) * self.h(x)


class Attention(nn.Module):
    def __init__(self, n):
        self.q, self.k, self.v, self.o = nn.Linear(n, n), nn.Linear(n, n), nn.Linear(n, n), nn.Linear(n, n)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return self.o(softmax((q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1])), -1) @ v)


class Heads(Attention):
    def __init__(self, n, heads):
        super().__init__(n)
        self.heads = heads

    def forward(self, x):
        b, t, n = x.shape
        split = lambda a: a.reshape(b, t, self.heads, n // self.heads).transpose(1, 2)
        y = scaled_dot_product_attention(split(self.q(x)), split(self.k(x)), split(self.v(x)), is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, t, n))


class Skip(nn.Module):
    """Two paths, joined and brought back."""

    def __init__(self, n, act):
        self.a, self.b, self.join, self.act = nn.Linear(n, n), nn.Linear(n, n, bias=False), nn.Linear(2 * n, n), act

    def forward(self, x):
        return self.join(cat([self.act(self.a(x)), self.b(x)], -1))


class Act(nn.Module):
    def __init__(self, f):
        self.f = f

    def forward(self, x):
        return self.f(x)


class Scale(nn.Module):
    def __init__(self, n):
        self.gain, self.shift = ones(n), zeros(n)

    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 0.001) * self.gain + self.shift


class Drop(nn.Module):
    def forward(self, x):
        return dropout(x, 0.25)


'''


class Model:
    def __init__(self, seed):
        self.seed, self.rng = seed, random.Random(seed)
        pick = self.rng.choice
        n = pick(SIZES)
        same = lambda share: n if self.rng.random() < share else pick(SIZES)  # noqa: E731
        self.images = self.rng.random() < 0.15
        self.n, self.hidden, self.classes = n, same(0.4), pick([2, 3, 10, n])
        self.batches = [same(0.6)]
        self.batches.append(self.batches[0] if self.rng.random() < 0.4 else pick(SIZES))
        self.sequence = None if self.rng.random() < 0.5 or self.images else same(0.5) if n <= 33 else 8
        self.blocks = [self.block() for _ in range(self.rng.randrange(5) + 2)]
        self.optimizer = pick(OPTIMIZERS)
        self.loss = pick(["cross_entropy(model(x), t)", "mse_loss(model(x), y)", "model(x).square().mean()", "(model(x) * y).sum()",
                          "smooth_l1_loss(model(x), y)", "binary_cross_entropy_with_logits(model(x), sigmoid(y))"])
        if self.sequence and self.loss.startswith("cross_entropy"):
            self.loss = "cross_entropy(model(x).reshape(-1, model(x).shape[-1]), t.reshape(-1))"
        self.marked = pick(["@jit\n", "@jit\n", ""])
        self.parts = {"forward", "gradient", "steps"}

    def block(self):
        pick, n = self.rng.choice, self.n
        act = pick(ACTIVATIONS)
        kinds = ["linear", "feed", "residual", "norm", "gate", "skip", "act", "scale", "attention", "drop"]
        kind = pick(kinds)
        inner = {"linear": f"nn.Linear({n}, {n})", "feed": f"FeedForward({n}, {self.hidden}, {act})", "norm": f"nn.LayerNorm({n})",
                 "gate": f"Gate({n})", "skip": f"Skip({n}, {act})", "act": f"Act({act})", "scale": f"Scale({n})", "drop": "Drop()"}
        heads = pick([0, 2, 4]) if self.sequence and n % 4 == 0 else 0
        inner["attention"] = f"Heads({n}, {heads})" if heads else f"Attention({n})"
        if kind == "residual":
            within = pick([k for k in kinds if k not in ("residual", "act")])
            return f"Residual(nn.Sequential(nn.LayerNorm({n}), {inner[within]}))" if self.rng.random() < 0.5 else f"Residual({inner[within]})"
        return inner[kind]

    def model(self):
        if self.images:
            c = self.rng.choice([2, 4])
            stem = [f"nn.Conv2d(1, {c}, 3, padding=1)", "Act(relu)", "nn.MaxPool2d(2)", f"nn.Conv2d({c}, {c}, 3, padding=1)", "Act(tanh)", "nn.Flatten()",
                    f"nn.Linear({c * 16}, {self.n})"]
        else:
            stem = []
        return f"nn.Sequential({', '.join(stem + self.blocks + [f'nn.Linear({self.n}, {self.classes})'])})"

    def shape(self, batch):
        if self.images:
            return f"{batch}, 1, 8, 8"
        return f"{batch}, {self.sequence}, {self.n}" if self.sequence else f"{batch}, {self.n}"

    def text(self):
        k, rows = self.seed, ", " + str(self.sequence) if self.sequence else ""
        self.rng = random.Random(k)  # the same text each time
        out = [f"manual_seed({k % 1000})", f"model = {self.model()}", f"opt = {self.optimizer}", "", "",
               f"{self.marked}def forward{k}(model, x):", "    return model(x)", "", "",
               f"{self.marked}def gradient{k}(model, x, y, t):", f"    return grad(lambda model: {self.loss})(model)", "", "",
               f"{self.marked}def step{k}(x, y, t):", f"    value, g = value_and_grad(lambda model: {self.loss})(model)",
               "    opt.update(g)", "    return value", "", ""]
        for call, batch in enumerate(self.batches):
            out += [f"x = randn({self.shape(batch)})", f"y = randn({batch}{rows}, {self.classes})", f"t = randint(0, {self.classes}, ({batch}{rows},))"]
            if "forward" in self.parts:
                out += [f'run("{k} forward {call}", lambda: (manual_seed({call}), forward{k}(model, x))[1])'] * 2
            if "gradient" in self.parts:
                out += [f'run("{k} gradient {call}", lambda: (manual_seed({call}), [v for _, v in nn.parameters(gradient{k}(model, x, y, t))])[1])'] * 2
            if "steps" in self.parts:
                out += [f'for i in range(4):\n    run("{k} step {call}", lambda: (manual_seed(i), step{k}(x, y, t))[1])',
                        f'show("{k} state {call}", {{"value": [v for _, v in nn.parameters(model)]}})']
        return "\n".join(out) + "\n"

    def smaller(self):
        for name, less in ([("parts", self.parts - {p}) for p in sorted(self.parts) if len(self.parts) > 1] + [("batches", self.batches[:1])] +
                           [("blocks", self.blocks[:i] + self.blocks[i + 1:]) for i in reversed(range(len(self.blocks)))] +
                           [("optimizer", OPTIMIZERS[2]), ("loss", "model(x).square().mean()")]):
            before = getattr(self, name)
            if before == less:
                continue
            setattr(self, name, less)
            yield lambda: setattr(self, name, before)


if __name__ == "__main__":
    sys.exit(main(Model, PRELUDE, __doc__))
