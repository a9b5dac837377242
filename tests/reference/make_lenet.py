#!/usr/bin/python3
"""Writes tests/run/train/_lenet_reference.ouro: what PyTorch computes for LeNet.

Weights, images, labels and the order of batches come from formulas that tests/run/train/_lenet.ouro
repeats, so that only results are stored. Needs python3-torch and ./dev data fashion-mnist:

    tests/reference/make_lenet.py
"""
import gzip
import os

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "run", "train", "_lenet_reference.ouro")
DATA = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                    "ouro/data/fashion-mnist")
SHAPES = [("c1.weight", (6, 1, 5, 5)), ("c1.bias", (6,)), ("c2.weight", (16, 6, 5, 5)),
          ("c2.bias", (16,)), ("f1.weight", (120, 400)), ("f1.bias", (120,)),
          ("f2.weight", (84, 120)), ("f2.bias", (84,)), ("f3.weight", (10, 84)), ("f3.bias", (10,))]
BOUNDS = [0.2, 0.2, 0.08, 0.08, 0.05, 0.05, 0.09, 0.09, 0.1, 0.1]


def noise(n, stream):
    """n numbers in [0, 1): a multiplicative hash of (index, stream)."""
    out = []
    for i in range(n):
        h = (i * 2654435761 + stream * 40503) % 4294967296
        h = ((h >> 16) ^ h) * 73244475 % 4294967296
        h = ((h >> 16) ^ h) * 73244475 % 4294967296
        out.append(((h >> 16) ^ h) / 4294967296)
    return out


def weights(dtype):
    out = {}
    for k, ((name, shape), bound) in enumerate(zip(SHAPES, BOUNDS)):
        values = [(v - 0.5) * (2 * bound) for v in noise(int(np.prod(shape)), k)]
        out[name] = torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype)
        out[name].requires_grad_()
    return out


def synthetic(n, stream, dtype):
    x = torch.tensor(noise(n * 784, stream), dtype=torch.float64).reshape(n, 1, 28, 28)
    return (x * 2 - 1).to(dtype), torch.tensor([(7 * i + i // 3) % 10 for i in range(n)])


def forward(w, x):
    x = F.max_pool2d(F.relu(F.conv2d(x, w["c1.weight"], w["c1.bias"], padding=2)), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, w["c2.weight"], w["c2.bias"])), 2)
    x = x.flatten(1)
    x = F.relu(F.linear(x, w["f1.weight"], w["f1.bias"]))
    x = F.relu(F.linear(x, w["f2.weight"], w["f2.bias"]))
    return F.linear(x, w["f3.weight"], w["f3.bias"])


def fashion():
    def read(name, skip):
        with gzip.open(os.path.join(DATA, name)) as f:
            return np.frombuffer(f.read(), dtype=np.uint8, offset=skip)
    images = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    labels = read("train-labels-idx1-ubyte.gz", 8).astype(np.int64)
    order = np.array([(k * 7919 + 12345) % 60000 for k in range(50 * 64)])
    x = (torch.tensor(images[order]).to(torch.float64) / 255.0 - 0.286) / 0.353
    return x, torch.tensor(labels[order])


def losses(x, y, size):
    w = weights(torch.float64)
    optimizer = torch.optim.Adam(w.values(), lr=1e-3)
    out = []
    for k in range(0, len(x), size):
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(w, x[k:k + size]), y[k:k + size])
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


def gradients():
    """name -> (norm, 16 elements evenly spaced) in f32."""
    w = weights(torch.float32)
    x, y = synthetic(64, 100, torch.float32)
    loss = F.cross_entropy(forward(w, x), y)
    loss.backward()
    out = {}
    for name, p in w.items():
        flat = p.grad.reshape(-1)
        step = max(1, len(flat) // 16)
        out[name] = (flat.double().norm().item(), flat[::step][:16].tolist())
    return loss.item(), out


def write(f, name, values):
    f.write(f"{name} = [\n")
    for v in values:
        f.write(f"    {v!r},\n")
    f.write("]\n")


def main():
    with open(OUT, "w") as f:
        f.write('"""What PyTorch %s computes; made by tests/reference/make_lenet.py."""\n' %
                torch.__version__)
        write(f, "fashion_losses", losses(*fashion(), 64))
        x, y = synthetic(80, 200, torch.float64)
        write(f, "synthetic_losses", losses(torch.cat([x, x]), torch.cat([y, y]), 8))
        loss, grads = gradients()
        f.write(f"gradient_loss = {loss!r}\n")
        f.write("# name: (norm, 16 elements evenly spaced), f32\n")
        f.write("gradients = {\n")
        for name, (norm, values) in grads.items():
            f.write(f"    {name!r}: ({norm!r}, {values!r}),\n")
        f.write("}\n")


main()
