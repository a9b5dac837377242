"""Every layer of nn, alone and in pairs: forward, gradient and a step of each optimizer, compiled, with the interpreter's
bits; with a batch as large as the features, and at other sizes.

LAYERS makes each from a number of features; a class of nn that is not in it, or an optimizer, fails the test.
"""
import ast

# Layers from [batch, n] to [batch, n], by the class of nn that they show.
LAYERS = {
    "Linear": "nn.Linear({n}, {n})",
    "LayerNorm": "nn.LayerNorm({n})",
    "ReLU": "nn.ReLU()",
    "Sequential": "nn.Sequential(nn.Linear({n}, {n}), tanh)",
    "Conv2d": "Images({n}, nn.Conv2d({n}, {n}, 3, padding=1))",
    "MaxPool2d": "Images({n}, nn.MaxPool2d(2))",
    "Flatten": "nn.Sequential(lambda x: x.unsqueeze(2), nn.Flatten())",
    "Embedding": "Lookup({n})",
}
# Each with every layer.
OPTIMIZERS = {
    "SGD": ["lr=0.05", "lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01"],
    "Adam": ["lr=0.01"],
    "AdamW": ["lr=0.01"],
}
# Each with a model that has parameters of every shape.
MORE_OPTIMIZERS = {
    "SGD": ["lr=0.05, momentum=0.9, dampening=0.5, maximize=True"],
    "ASGD": ["lr=0.05, t0=1.0"],
    "Adam": ["lr=0.01, amsgrad=True, weight_decay=0.1"],
    "AdamW": ["lr=0.01, amsgrad=True, maximize=True"],
    "Adamax": ["lr=0.01"],
    "NAdam": ["lr=0.01"],
    "RAdam": ["lr=0.01, betas=(0.9, 0.8)"],
    "Adagrad": ["lr=0.01, lr_decay=0.1"],
    "Adadelta": [""],
    "RMSprop": ["lr=0.01", "lr=0.01, momentum=0.9, centered=True, weight_decay=0.1"],
    "Rprop": [""],
    "Adafactor": ["lr=0.01, weight_decay=0.1"],
    "LAMB": ["lr=0.01, weight_decay=0.1"],
    "Lion": ["lr=0.01, weight_decay=0.1"],
    "Muon": ["lr=0.01", "lr=0.01, nesterov=False, adjust_lr_fn='match_rms_adamw'"],
}
EVERY_SHAPE = "nn.Sequential(nn.Linear({n}, {n}), tanh, nn.LayerNorm({n}), " + LAYERS["Conv2d"] + ", Lookup({n}))"
NO_LAYER = {"Module": "the base of layers"}
NO_OPTIMIZER = {"Optimizer": "the base of optimizers", "LBFGS": "takes a function, with numbers that decide: tests/run/optim/lbfgs.ouro",
                "Accumulate": "tests/run/optim/accumulation_and_loss_scaling.ouro", "GradScaler": "tests/run/optim/accumulation_and_loss_scaling.ouro"}

PRELUDE = '''
from ouro import nn, optim, jit, grad, value_and_grad


class Images(nn.Module):
    """Features as channels of 4 by 4 pixels, and back."""

    def __init__(self, n, inner):
        self.n, self.inner = n, inner

    def forward(self, x):
        y = self.inner(x.reshape(-1, self.n, 1, 1).expand(-1, self.n, 4, 4) * self.pixels())
        return y.mean((2, 3))

    def pixels(self):
        return linspace(-1, 1, 16).reshape(4, 4)


class Lookup(nn.Module):
    """Rows of a table, by which features are largest."""

    def __init__(self, n):
        self.table = nn.Embedding(n, n)

    def forward(self, x):
        return x + self.table(argmax(x, 1))


def show(tag, box):
    print(tag, [v.tolist() if v.numel() < 300 else ((v.double() * cos(arange(v.numel(), dtype=f64) * 0.7).reshape(v.shape)).sum().item(), v.double().sum().item())
                for v in box["value"]])


'''


# Functions of their own for each case: one that is called with many models would stop being compiled.
TRAIN = '''
@jit
def forward{k}(model, x):
    return model(x)


@jit
def gradient{k}(model, x):
    return grad(lambda m: m(x).square().mean())(model)


manual_seed({k})
model, x = {make}, randn({batch}, {n})
for _ in range(2):
    show("{name} {batch} {n} forward", {{"value": [forward{k}(model, x)]}})
    if nn.parameter_count(model):
        show("{name} {batch} {n} gradient", {{"value": [g for _, g in nn.parameters(gradient{k}(model, x))]}})
'''
FIT = '''
manual_seed({k})
model, x, y = {make}, randn({batch}, {n}), randn({batch}, {n})
opt = {optimizer}


@jit
def step{k}(x, y):
    loss, g = value_and_grad(lambda m: mse_loss(m(x), y))(model)
    opt.update(g)
    return loss


for _ in range(3):
    print("{name} {batch} {n}", step{k}(x, y).item())
show("{name} {batch} {n} state", {{"value": [p for _, p in nn.parameters(model)]}})
'''


def names(t, module):
    """The classes of a module of the library."""
    out = t.run("-c", f"from ouro import {module}\nprint([k for k, v in vars({module}).items() if isinstance(v, type) and not k.startswith('_')])").out
    return ast.literal_eval(out)


def alike(t, script):
    t.write("layers.ouro", PRELUDE + script)
    expected = t.run("--mode=eager", "--threads=1", "layers.ouro", timeout=300).out
    t.check(len(expected.splitlines()) > 20, expected)
    for options in (["--mode=graph"], ["--mode=graph", "--threads=3"], ["--mode=auto"]):
        actual = t.run(*options, "layers.ouro", timeout=300).out
        wrong = [f"{a[:300]}\n  not  {e[:300]}" for a, e in zip(actual.splitlines(), expected.splitlines()) if a != e]
        t.check(actual == expected, f"{' '.join(options)}: {len(wrong)} lines\n" + "\n".join(wrong[:5]))
    told = t.run("explain", "--mode=graph", "layers.ouro", timeout=300).out
    t.check("stays interpreted" not in told, "\n".join(line for line in told.splitlines() if "stays interpreted" in line))


def test_every_layer_alone_and_in_pairs_has_the_interpreters_bits(t):
    t.equal(sorted(set(names(t, "nn")) - set(NO_LAYER)), sorted(LAYERS))
    cases = []
    for a, make in LAYERS.items():
        cases += [(a, make, batch, n) for batch, n in ((16, 16), (5, 16))]
        cases += [(f"{a} {b}", f"nn.Sequential({make}, {other})", 8, 8) for b, other in LAYERS.items()]
    alike(t, "".join(TRAIN.format(k=k, name=name, make=make.format(n=n), batch=batch, n=n) for k, (name, make, batch, n) in enumerate(cases)))


def test_a_step_of_each_optimizer_has_the_interpreters_bits_for_every_layer(t):
    t.equal(sorted(set(names(t, "optim")) - set(NO_OPTIMIZER)), sorted(set(OPTIMIZERS) | set(MORE_OPTIMIZERS)))
    # A layer by itself may have no parameters: a linear one stands before it.
    cases = [(f"{optimizer} {a}", f"nn.Sequential(nn.Linear({{n}}, {{n}}), {make})", f"optim.{optimizer}(model, {variant})", batch)
             for optimizer, variants in OPTIMIZERS.items() for variant in variants for a, make in LAYERS.items() for batch in (8, 3)]
    cases += [(optimizer, EVERY_SHAPE, f"optim.{optimizer}(model, {variant})", 3) for optimizer, variants in MORE_OPTIMIZERS.items() for variant in variants]
    alike(t, "".join(FIT.format(k=k, name=name, make=make.format(n=8), optimizer=optimizer, batch=batch, n=8)
                     for k, (name, make, optimizer, batch) in enumerate(cases)))
