"""Every layer of nn, alone and in pairs: forward, gradient and a step of each optimizer, compiled, with the interpreter's
bits; with a batch as large as the features, and at other sizes.

LAYERS makes each from a number of features; a class of nn that is not in it, or an optimizer, fails the test.
"""
import ast
import re

from harness.cli import bits, some

# Layers from [batch, n] to [batch, n], n a multiple of 4, by the class of nn that they show.
LAYERS = {
    "Linear": "nn.Linear({n}, {n})",
    "Bilinear": "Pairs(nn.Bilinear({n}, {n}, {n}))",
    "Identity": "nn.Identity()",
    "LayerNorm": "nn.LayerNorm({n})",
    "RMSNorm": "nn.RMSNorm({n})",
    "GroupNorm": "Images({n}, nn.GroupNorm(2, {n}))",
    "BatchNorm1d": "nn.BatchNorm1d({n})",
    "BatchNorm2d": "Images({n}, nn.BatchNorm2d({n}, momentum=None))",
    "InstanceNorm1d": "Images({n}, nn.InstanceNorm1d({n}, affine=True), (16,))",
    "InstanceNorm2d": "Images({n}, nn.InstanceNorm2d({n}, track_running_stats=True))",
    "LocalResponseNorm": "Images({n}, nn.LocalResponseNorm(2))",
    "ReLU": "nn.ReLU()",
    "Sequential": "nn.Sequential(nn.Linear({n}, {n}), tanh)",
    "ModuleList": "nn.Sequential(*nn.ModuleList([nn.Linear({n}, {n}), nn.Tanh()]))",
    "Conv1d": "Images({n}, nn.Conv1d({n}, {n}, 3, padding='same', padding_mode='reflect'), (16,))",
    "Conv2d": "Images({n}, nn.Conv2d({n}, {n}, 3, padding=1))",
    "Conv3d": "Images({n}, nn.Conv3d({n}, {n}, 2, groups=2), (2, 2, 4))",
    "ConvTranspose1d": "Images({n}, nn.ConvTranspose1d({n}, {n}, 3, stride=2), (16,))",
    "ConvTranspose2d": "Images({n}, nn.ConvTranspose2d({n}, {n}, 2, 2, 1, 1))",
    "MaxPool1d": "Images({n}, nn.MaxPool1d(3, 2, 1), (16,))",
    "MaxPool2d": "Images({n}, nn.MaxPool2d(2))",
    "AvgPool1d": "Images({n}, nn.AvgPool1d(2), (16,))",
    "AvgPool2d": "Images({n}, nn.AvgPool2d(3, 1, 1))",
    "AdaptiveAvgPool1d": "Images({n}, nn.AdaptiveAvgPool1d(3), (16,))",
    "AdaptiveAvgPool2d": "Images({n}, nn.AdaptiveAvgPool2d((2, 3)))",
    "AdaptiveMaxPool2d": "Images({n}, nn.AdaptiveMaxPool2d(3))",
    "AdaptiveAvgPool3d": "Images({n}, nn.AdaptiveAvgPool3d((2, 1, 3)), (2, 2, 4))",
    "MaxUnpool2d": "Images({n}, Unpooled(nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)))",
    "FractionalMaxPool2d": "Images({n}, nn.FractionalMaxPool2d(2, output_ratio=0.7))",
    "Unfold": "Images({n}, nn.Sequential(nn.Unfold(2, 1, 1, 2), nn.Fold((4, 4), 2, 1, 1, 2)))",
    "Flatten": "nn.Sequential(lambda x: x.unsqueeze(2), nn.Flatten())",
    "Unflatten": "nn.Sequential(nn.Unflatten(1, (2, -1)), nn.Flatten())",
    "Upsample": "Images({n}, nn.Upsample(scale_factor=2, mode='bilinear'))",
    "PixelShuffle": "nn.Sequential(nn.Unflatten(1, (4, 1, -1)), nn.PixelShuffle(2), nn.Flatten())",
    "PixelUnshuffle": "nn.Sequential(nn.Unflatten(1, (1, 2, -1)), nn.PixelUnshuffle(2), nn.Flatten())",
    "ReflectionPad2d": "Images({n}, nn.ReflectionPad2d(2))",
    "Embedding": "Lookup({n})",
    "EmbeddingBag": "Bags({n})",
    "Dropout": "nn.Dropout(0.25)",
    "Dropout2d": "Images({n}, nn.Dropout2d(0.25))",
    "RNN": "Steps(nn.RNN({n}, {n}, bias=False))",
    "LSTM": "Steps(nn.LSTM({n}, {n}, 2, dropout=0.5))",
    "GRU": "Steps(nn.GRU({n}, {n} // 2, bidirectional=True), True)",
    "RNNCell": "nn.RNNCell({n}, {n})",
    "LSTMCell": "Cells(nn.LSTMCell({n}, {n}))",
    "GRUCell": "nn.GRUCell({n}, {n})",
    "MultiheadAttention": "Attends(nn.MultiheadAttention({n}, 2, rotary=True))",
    "TransformerEncoder": "nn.Sequential(Stack(), nn.TransformerEncoder(nn.TransformerEncoderLayer({n}, 2, 8), 1), Last())",
    "TransformerDecoder": "Decodes(nn.TransformerDecoder(nn.TransformerDecoderLayer({n}, 2, 8, norm_first=True), 1, nn.LayerNorm({n})))",
}
ACTIVATIONS = ["CELU()", "ELU(0.5)", "GELU()", "GELU('tanh')", "Hardshrink()", "Hardsigmoid()", "Hardswish()", "Hardtanh()", "LeakyReLU(0.1)", "LogSigmoid()",
               "LogSoftmax(1)", "Mish()", "PReLU()", "RReLU()", "ReLU6()", "SELU()", "SiLU()", "Sigmoid()", "Softmax(-1)", "Softmin()", "Softplus(2)",
               "Softshrink()", "Softsign()", "Tanh()", "Tanhshrink()", "Threshold(0.1, 0.5)", "AlphaDropout()"]
# Losses of two tensors [batch, n], or of those and what is named here.
LOSSES = {
    "MSELoss": "", "L1Loss": "", "SmoothL1Loss": "", "HuberLoss": "", "BCEWithLogitsLoss": "", "PoissonNLLLoss": "", "SoftMarginLoss": "",
    "MultiLabelSoftMarginLoss": "", "MultiLabelMarginLoss": "x, argsort(y, 1)", "BCELoss": "sigmoid(x), sigmoid(y)", "KLDivLoss": "log_softmax(x, 1), softmax(y, 1)",
    "CrossEntropyLoss": "x, argmax(y, 1)", "NLLLoss": "log_softmax(x, 1), argmax(y, 1)", "MultiMarginLoss": "x, argmax(y, 1)",
    "HingeEmbeddingLoss": "x, sign(y)", "CosineSimilarity": "", "PairwiseDistance": "", "GaussianNLLLoss": "x, y, x * x + 0.1",
    "CosineEmbeddingLoss": "x, y, sign(y[:, 0])", "MarginRankingLoss": "x, y, sign(y)", "TripletMarginLoss": "x, y, y * y",
    "TripletMarginWithDistanceLoss": "x, y, y * y", "CTCLoss": "log_softmax(x.unsqueeze(0).expand(9, -1, -1), 2), argmax(y, 1).unsqueeze(1) * 0 + 1, x.shape[0] * [9], x.shape[0] * [1]",
}
# With options that decide what is computed.
LOSS_OPTIONS = {
    "SmoothL1Loss": ["beta=0.5"], "HuberLoss": ["delta=0.3"], "PairwiseDistance": ["p=1", "3.0, keepdim=True", "p=float('inf')"],
    "CrossEntropyLoss": ["label_smoothing=0.1", "label_smoothing=0.2, ignore_index=1, reduction='sum'", "weight=ramp(8), label_smoothing=0.1", "ignore_index=2"],
    "NLLLoss": ["weight=ramp(8)"], "MultiMarginLoss": ["p=2, margin=0.5", "weight=ramp(8)"], "CosineEmbeddingLoss": ["margin=0.2"],
    "TripletMarginLoss": ["p=2", "margin=0.5, p=2, swap=True", "p=1"], "TripletMarginWithDistanceLoss": ["distance_function=nn.PairwiseDistance()"],
    "BCEWithLogitsLoss": ["pos_weight=ramp(8)", "weight=ramp(8)"], "BCELoss": ["weight=ramp(8)"], "MultiLabelSoftMarginLoss": ["weight=ramp(8)"],
    "CTCLoss": ["blank=2, zero_infinity=True"], "KLDivLoss": ["reduction='batchmean', log_target=True"], "GaussianNLLLoss": ["full=True"],
    "PoissonNLLLoss": ["log_input=False, full=True"],
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
NO_OPTIMIZER = {"Optimizer": "the base of optimizers", "LBFGS": "takes a function, with numbers that decide: tests/run/optim/lbfgs.ouro",
                "Accumulate": "tests/run/optim/accumulation_and_loss_scaling.ouro", "GradScaler": "tests/run/optim/accumulation_and_loss_scaling.ouro"}
NO_LAYER = {"Module": "the base of layers", "Layer": "the base of the library's layers", "EMA": "an average", "KeyValueCache": "a state", "Parameters": "a view",
            "RotaryEmbedding": "in MultiheadAttention", "ModuleDict": "a dict", "ParameterDict": "a dict", "ParameterList": "a list",
            "TransformerEncoderLayer": "in TransformerEncoder", "TransformerDecoderLayer": "in TransformerDecoder", "Transformer": "of the two",
            "GLU": "half the features", "AdaptiveLogSoftmaxWithLoss": "tests/run/nn/adaptive_softmax.ouro", "Softmax2d": "Softmax", "ChannelShuffle": "a reshape"}
# Forms of others, for another number of axes.
for _name in ("BatchNorm3d", "InstanceNorm3d", "ConvTranspose3d", "MaxPool3d", "AvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool3d", "MaxUnpool1d", "MaxUnpool3d",
              "FractionalMaxPool3d", "Fold", "LPPool1d", "LPPool2d", "Dropout1d", "Dropout3d",
              "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ZeroPad2d", "ReflectionPad1d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
              "ReplicationPad3d", "UpsamplingBilinear2d", "UpsamplingNearest2d"):
    NO_LAYER[_name] = "a form of another one"

PRELUDE = '''
from ouro import nn, optim, jit, grad, value_and_grad


def ramp(n):
    return linspace(0.5, 1.5, n)


class Images(nn.Module):
    """Features as channels of 16 pixels, and back."""

    def __init__(self, n, inner, shape=(4, 4)):
        self.n, self.inner, self.size = n, inner, shape

    def forward(self, x):
        y = self.inner(x.reshape((-1, self.n) + (1,) * len(self.size)) * linspace(-1, 1, 16).reshape(self.size))
        return y.flatten(2).mean(2)


class Unpooled(nn.Module):
    def __init__(self, pool, unpool):
        self.pool, self.unpool = pool, unpool

    def forward(self, x):
        y, places = self.pool(x)
        return self.unpool(y, places, x.shape)


class Pairs(nn.Module):
    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        return self.inner(x, tanh(x))


class Stack(nn.Module):
    """Three steps out of one."""

    def forward(self, x):
        return stack([x, x * 0.5, tanh(x)])


class Last(nn.Module):
    def forward(self, x):
        return x[-1]


class Steps(nn.Module):
    """The last of three steps, the last one but for every other example when lengths are given."""

    def __init__(self, inner, lengths=False):
        self.inner, self.lengths = inner, lengths

    def forward(self, x):
        y, state = self.inner(stack([x, x * 0.5, tanh(x)]), None, arange(x.shape[0]) % 2 + 2 if self.lengths else None)
        return y.sum(0)


class Cells(nn.Module):
    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        h, c = self.inner(x, self.inner(x))
        return h + c


class Attends(nn.Module):
    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        s = stack([x, x * 0.5, tanh(x)])
        y, w = self.inner(s, s, s, is_causal=True)
        return y.sum(0) + w.sum()


class Decodes(nn.Module):
    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        s = stack([x, x * 0.5, tanh(x)])
        return self.inner(s, s * s, tgt_is_causal=True)[0]


class Bags(nn.Module):
    def __init__(self, n):
        self.table = nn.EmbeddingBag(n, n, padding_idx=0)

    def forward(self, x):
        return x + self.table(stack([argmax(x, 1), argmin(x, 1)], 1))


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
for _ in range(4):
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


for _ in range(4):
    print("{name} {batch} {n}", step{k}(x, y).item())
show("{name} {batch} {n} state", {{"value": [p for _, p in nn.parameters(model)]}})
'''


def names(t, module):
    """The classes of a module of the library."""
    out = t.run("-c", f"from ouro import {module}\nfor names in getattr({module}, 'LATER', {{}}).values():\n    for name in names.split():\n"
                      f"        getattr({module}, name)\n"
                      f"print([k for k, v in vars({module}).items() if isinstance(v, type) and not k.startswith('_')])").out
    return ast.literal_eval(out)


def left_out(told):
    """What explain tells of functions that are not compiled, or not whole: it does so when several calls have been made."""
    parts = [part for part in re.split(r"\n(?=\S)", told) if re.match(r"(forward|gradient|step|loss)\d+ \(", part)]
    return [part for part in parts if "interpreted" in part or "not compiled" in part]


def fewer(t, cases, step=3):
    """Under sanitizers one of `step`."""
    return cases[::step] if t.suite.sanitized else cases


def alike(t, script, auto=False):
    """The same lines in every mode, and nothing stays interpreted; under sanitizers in the mode that runs most of the program's parts."""
    t.write("layers.ouro", PRELUDE + script)
    expected = t.run("--mode=eager", "--threads=1", "layers.ouro", timeout=300).out
    t.check(len(expected.splitlines()) > 20, expected)
    for options in [["--mode=graph", "--threads=3"]] + ([["--mode=auto", "--threads=1"]] if auto and not t.suite.sanitized else []):
        actual = t.run(*options, "layers.ouro", timeout=300).out
        wrong = [f"{a[:300]}\n  not  {e[:300]}" for a, e in zip(actual.splitlines(), expected.splitlines()) if a != e]
        t.check(actual == expected, f"{' '.join(options)}: {len(wrong)} lines\n" + "\n".join(wrong[:5]))
    if not t.suite.sanitized:
        t.equal(left_out(t.run("explain", "--mode=graph", "layers.ouro", timeout=300).out), [])


LOSS = '''
@jit
def loss{k}(model, x, y):
    return model({arguments})


@jit
def gradient{k}(model, x, y):
    return grad(lambda x: model({arguments}).sum())(x)


manual_seed({k})
model, x, y = nn.{make}, randn({batch}, {n}), rand({batch}, {n})
for _ in range(4):
    show("{make} {batch} {n}", {{"value": [loss{k}(model, x, y), gradient{k}(model, x, y)]}})
'''


def test_every_layer_of_nn_is_here(t):
    shown = set(LAYERS) | set(a.split("(")[0] for a in ACTIVATIONS) | set(LOSSES)
    t.equal(sorted(set(names(t, "nn")) - set(NO_LAYER)), sorted(shown))


def trained(cases):
    return "".join(TRAIN.format(k=k, name=name, make=make.format(n=n), batch=batch, n=n) for k, (name, make, batch, n) in enumerate(cases))


def test_every_layer_alone_has_the_interpreters_bits(t):
    cases = [(a, make, batch, n) for a, make in LAYERS.items() for batch, n in ((16, 16), (5, 16))]
    alike(t, trained(fewer(t, cases)), auto=True)


@bits
def test_every_activation_behind_a_linear_layer_has_the_interpreters_bits(t):
    alike(t, trained([(a, f"nn.Sequential(nn.Linear({{n}}, {{n}}), nn.{a})", batch, 8) for a in ACTIVATIONS for batch in (8, 3)]), auto=True)


@bits
def test_every_loss_has_the_interpreters_bits(t):
    cases = [(f"{a}({o})", arguments or "x, y", batch) for a, arguments in LOSSES.items() for batch in (8, 3)
             for o in (["", "reduction='sum'"] if a.endswith("Loss") else [""]) + (LOSS_OPTIONS.get(a, []) if batch == 8 else [])]
    alike(t, "".join(LOSS.format(k=k, make=make, arguments=arguments, batch=batch, n=8) for k, (make, arguments, batch) in enumerate(fewer(t, cases))), auto=True)


# What is built of several others, in pairs: one of each kind with every other.
PAIRED = ["Linear", "LayerNorm", "BatchNorm1d", "ReLU", "Conv2d", "MaxPool2d", "Embedding", "Dropout", "GRU", "MultiheadAttention"]


@bits
def test_layers_in_pairs_have_the_interpreters_bits(t):
    pairs = [(a, b) for a in PAIRED for b in PAIRED]  # every third has each of them
    alike(t, trained([(f"{a} {b}", f"nn.Sequential({LAYERS[a]}, {LAYERS[b]})", 8, 8) for a, b in some(pairs, 3)]))


@bits
def test_every_layer_between_others_has_the_interpreters_bits(t):
    alike(t, trained([(f"{a} between", f"nn.Sequential(nn.Linear({{n}}, {{n}}), {make}, nn.LayerNorm({{n}}))", 8, 8)
                      for a, make in fewer(t, list(LAYERS.items()))]))


@bits
def test_a_step_of_each_optimizer_has_the_interpreters_bits_for_every_layer(t):
    t.equal(sorted(set(names(t, "optim")) - set(NO_OPTIMIZER)), sorted(set(OPTIMIZERS) | set(MORE_OPTIMIZERS)))
    # A layer by itself may have no parameters: a linear one stands before it.
    kinds = [(optimizer, variant) for optimizer, variants in OPTIMIZERS.items() for variant in variants]
    cases = [(f"{optimizer} {a}", f"nn.Sequential(nn.Linear({{n}}, {{n}}), {LAYERS[a]})", f"optim.{optimizer}(model, {variant})", batch)
             for optimizer, variant in kinds for a in PAIRED for batch in (8, 3)]
    optimizer, variant = kinds[0]
    cases += [(f"{optimizer} {a}", f"nn.Sequential(nn.Linear({{n}}, {{n}}), {make})", f"optim.{optimizer}(model, {variant})", 8)
              for a, make in LAYERS.items() if a not in PAIRED]
    cases += [(optimizer, EVERY_SHAPE, f"optim.{optimizer}(model, {variant})", 3) for optimizer, variants in MORE_OPTIMIZERS.items() for variant in variants]
    alike(t, "".join(FIT.format(k=k, name=name, make=make.format(n=8), optimizer=optimizer, batch=batch, n=8)
                     for k, (name, make, optimizer, batch) in enumerate(some(cases, 3))))
