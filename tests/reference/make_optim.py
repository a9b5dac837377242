#!/usr/bin/python3
"""Writes tests/run/optim/_optim_reference.ouro: what PyTorch's optimizers do to two parameters in
twenty steps on a small f64 problem (tests/run/optim/_problem.ouro repeats it). Needs python3-torch.
"""
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "run", "optim", "_optim_reference.ouro")
CASES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.5, weight_decay=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-6,
                                             weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05),
    "adamw_decay": lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.2),
}


def run(make):
    w = torch.tensor([[0.5, -1.0, 0.25], [1.5, 0.75, -0.5]], dtype=torch.float64,
                     requires_grad=True)
    b = torch.tensor([0.1, -0.2], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[1.0, 2.0, -1.0], [0.5, -0.5, 1.5], [-2.0, 1.0, 0.5]], dtype=torch.float64)
    y = torch.tensor([[1.0, 0.0], [0.5, -1.0], [-1.0, 2.0]], dtype=torch.float64)
    optimizer = make([w, b])
    for _ in range(20):
        optimizer.zero_grad()
        (((x @ w.T + b).tanh() - y) ** 2).mean().backward()
        optimizer.step()
    return w.detach().reshape(-1).tolist() + b.detach().tolist()


with open(OUT, "w") as f:
    f.write('"""What PyTorch %s computes; made by tests/reference/make_optim.py."""\n' %
            torch.__version__)
    f.write("parameters = {\n")
    for name, make in CASES.items():
        f.write(f"    {name!r}: {run(make)!r},\n")
    f.write("}\n")
