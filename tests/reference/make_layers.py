#!/usr/bin/python3
"""Writes tests/run/nn/_layers_reference.ouro: outputs and gradients of PyTorch's layers and losses in f64. Needs python3-torch:

    /usr/bin/python3 tests/reference/make_layers.py

A case is a layer and the shapes of its inputs (a tuple: float; with "i": class numbers), in texts that both understand. Parameters and
inputs come from formulas, which tests/run/nn/as_pytorch.ouro repeats. Stored are the output, the gradients of sum(output * cos(0, 1, 2, …))
by the first input and by each parameter.
"""
import math
import os

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "run", "nn", "_layers_reference.ouro")
CASES = """
Linear(4, 3) | (2, 4)
Linear(4, 3, bias=False) | (2, 3, 4)
Bilinear(3, 4, 2) | (2, 3) (2, 4)
Conv1d(2, 4, 3, padding=1) | (2, 2, 7)
Conv1d(4, 4, 3, stride=2, dilation=2, groups=2, bias=False) | (1, 4, 11)
Conv1d(2, 2, 3, padding=2, padding_mode='circular') | (1, 2, 6)
Conv2d(2, 3, 3) | (2, 2, 5, 6)
Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2) | (1, 2, 6, 7)
Conv2d(1, 2, 3, padding='same', padding_mode='replicate') | (1, 1, 5, 5)
Conv3d(1, 2, 2, stride=2) | (1, 1, 4, 4, 4)
ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1) | (1, 2, 4)
ConvTranspose2d(2, 4, 3, stride=2, groups=2, dilation=2) | (1, 2, 3, 4)
ConvTranspose3d(1, 2, 2) | (1, 1, 2, 3, 2)
MaxPool1d(3, 2, 1) | (1, 2, 8)
MaxPool2d((2, 3), stride=(1, 2), padding=(1, 1), dilation=(1, 1)) | (1, 2, 5, 6)
MaxPool2d(3, 2, ceil_mode=True) | (1, 1, 6, 6)
MaxPool3d(2) | (1, 1, 4, 4, 4)
AvgPool1d(3, 2, 1) | (1, 2, 8)
AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False) | (1, 2, 6, 6)
AvgPool2d(2, divisor_override=3) | (1, 2, 4, 4)
AvgPool3d(2, 1) | (1, 1, 3, 3, 3)
LPPool2d(2.0, 2) | (1, 2, 4, 4)
AdaptiveAvgPool1d(3) | (1, 2, 7)
AdaptiveAvgPool2d((2, 3)) | (1, 2, 5, 7)
AdaptiveMaxPool2d(3) | (1, 2, 7, 5)
LayerNorm(4) | (3, 4)
LayerNorm((2, 3), eps=1e-3) | (2, 2, 3)
GroupNorm(2, 4) | (2, 4, 3)
InstanceNorm1d(3, affine=True) | (2, 3, 5)
InstanceNorm2d(2) | (2, 2, 3, 4)
BatchNorm1d(4) | (5, 4)
BatchNorm1d(3, momentum=0.3) | (4, 3, 2)
BatchNorm2d(2, eps=1e-2) | (3, 2, 2, 2)
LocalResponseNorm(3, alpha=0.1, beta=0.5, k=2.0) | (1, 5, 3, 3)
RNN(3, 4) | (5, 2, 3)
RNN(3, 4, 2, nonlinearity='relu', bidirectional=True, batch_first=True) | (2, 4, 3)
LSTM(3, 4) | (5, 2, 3)
LSTM(3, 4, 2, bidirectional=True) | (4, 2, 3)
LSTM(3, 4, proj_size=2) | (4, 2, 3)
GRU(3, 4, bias=False) | (5, 2, 3)
GRU(3, 4, 2, batch_first=True, bidirectional=True) | (2, 4, 3)
RNNCell(3, 4) | (2, 3)
LSTMCell(3, 4) | (2, 3)
GRUCell(3, 4) | (2, 3)
MultiheadAttention(4, 2) | (3, 2, 4) (5, 2, 4) (5, 2, 4)
MultiheadAttention(4, 2, bias=False, batch_first=True) | (2, 3, 4) (2, 3, 4) (2, 3, 4)
MultiheadAttention(4, 2, kdim=3, vdim=5) | (3, 2, 4) (4, 2, 3) (4, 2, 5)
MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True) | (3, 2, 4) (5, 2, 4) (5, 2, 4)
TransformerEncoderLayer(4, 2, 6, dropout=0.0) | (3, 2, 4)
TransformerEncoderLayer(4, 2, 6, dropout=0.0, activation='gelu', norm_first=True, batch_first=True) | (2, 3, 4)
TransformerDecoderLayer(4, 2, 6, dropout=0.0) | (3, 2, 4) (5, 2, 4)
PReLU(3, init=0.1) | (2, 3, 2)
ELU(0.7) | (3, 4)
GELU() | (3, 4)
GELU('tanh') | (3, 4)
GLU(1) | (3, 4)
Hardshrink(0.3) | (3, 4)
Hardsigmoid() | (3, 4)
Hardswish() | (3, 4)
Hardtanh(-0.4, 0.6) | (3, 4)
LeakyReLU(0.2) | (3, 4)
LogSigmoid() | (3, 4)
LogSoftmax(0) | (3, 4)
Mish() | (3, 4)
SELU() | (3, 4)
SiLU() | (3, 4)
Softmax(1) | (3, 4)
Softmin(1) | (3, 4)
Softplus(2, 1.5) | (3, 4)
Softshrink(0.3) | (3, 4)
Softsign() | (3, 4)
Tanhshrink() | (3, 4)
Threshold(0.1, 5.0) | (3, 4)
CELU(0.6) | (3, 4)
Upsample(scale_factor=2, mode='bilinear', align_corners=True) | (1, 2, 3, 3)
Upsample(size=(5, 4), mode='nearest') | (1, 2, 3, 3)
PixelShuffle(2) | (1, 4, 2, 3)
PixelUnshuffle(2) | (1, 1, 4, 6)
ReflectionPad2d((1, 2, 0, 1)) | (1, 1, 3, 4)
ReplicationPad1d((2, 1)) | (1, 2, 3)
ConstantPad2d(1, 2.5) | (1, 1, 2, 3)
Flatten() | (2, 3, 4)
Unflatten(1, (2, 3)) | (2, 6)
CosineSimilarity(dim=1) | (3, 4) (3, 4)
PairwiseDistance(p=2.0) | (3, 4) (3, 4)
CrossEntropyLoss() | (4, 3) (4,)i
CrossEntropyLoss(label_smoothing=0.2, ignore_index=1) | (4, 3) (4,)i
CrossEntropyLoss(reduction='sum') | (2, 3, 2) (2, 2)i
NLLLoss(reduction='none') | (4, 3) (4,)i
MSELoss() | (3, 4) (3, 4)
L1Loss(reduction='sum') | (3, 4) (3, 4)
SmoothL1Loss(beta=0.4) | (3, 4) (3, 4)
HuberLoss(delta=0.3) | (3, 4) (3, 4)
BCEWithLogitsLoss() | (3, 4) (3, 4)
KLDivLoss(reduction='batchmean', log_target=True) | (3, 4) (3, 4)
PoissonNLLLoss() | (3, 4) (3, 4)
SoftMarginLoss() | (3, 4) (3, 4)
MultiMarginLoss(p=2, margin=0.7) | (4, 3) (4,)i
MarginRankingLoss(margin=0.1) | (5,) (5,) (5,)
HingeEmbeddingLoss() | (3, 4) (3, 4)
TripletMarginLoss(p=1.0, swap=True) | (3, 4) (3, 4) (3, 4)
""".strip().split("\n")


def numbers(shape, stream):
    n = math.prod(shape)
    return torch.tensor([math.sin(0.7 * i + 1.3 * stream + 0.2) for i in range(n)], dtype=torch.float64).reshape(shape)


def classes(shape):
    return (torch.arange(math.prod(shape)) * 2 % 3).reshape(shape)


def flat(y):
    return [v for part in y for v in flat(part)] if isinstance(y, (tuple, list)) else [] if y is None else y.reshape(-1).tolist()


def weighted(y, start=0):
    """sum(y * cos(0, 1, 2, …)) over all tensors of the output."""
    if isinstance(y, (tuple, list)):
        total = 0.0
        for part in y:
            if part is not None:
                total = total + weighted(part, start)
        return total
    return (y.reshape(-1) * torch.cos(torch.arange(y.numel(), dtype=torch.float64))).sum()


def inputs(text):
    out = []
    for i, part in enumerate(text.replace(") (", ")|(").replace("i (", "i|(").split("|")):
        out.append(classes(eval(part[:-1])) if part.endswith("i") else numbers(eval(part), 10 + i))
    return out


def short(values):
    return "[" + ", ".join(f"{v:.12g}" for v in values) + "]"


def main():
    with open(OUT, "w") as f:
        f.write(f'"""What PyTorch {torch.__version__.split("a")[0]} computes; made by tests/reference/make_layers.py: what makes a layer, the shapes of its inputs\n'
                '(True: class numbers), its output, the gradient of the first input, those of the parameters by name."""\nfrom ouro import nn\n\ncases = [\n')
        for case in CASES:
            made, shapes = case.split(" | ")
            layer = eval("nn." + made).double()
            with torch.no_grad():
                for k, (name, p) in enumerate(layer.named_parameters()):
                    p.copy_(numbers(p.shape, k) * 0.5)
            xs = inputs(shapes)
            xs[0].requires_grad_()
            y = layer(*xs)
            weighted(y).backward()
            told = [(tuple(x.shape), not x.is_floating_point()) for x in xs]
            grads = "{" + ", ".join(f"{name!r}: ({tuple(p.shape)}, {short(flat(p.grad))})" for name, p in layer.named_parameters()) + "}"
            f.write(f"    ({made!r}, lambda: nn.{made}, {told!r}, {short(flat(y))}, {short(flat(xs[0].grad))}, {grads}),\n")
        f.write("]\n")


main()
