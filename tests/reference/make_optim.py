#!/usr/bin/python3
"""Writes tests/run/optim/_optim_reference.ouro: what PyTorch's optimizers do to two parameters in twenty steps on a small f64
problem (tests/run/optim/_problem.ouro repeats it), and the learning rates of its schedules. Needs python3-torch:

    /usr/bin/python3 tests/reference/make_optim.py

A case is a text that both understand: `p` is what is optimised, `opt` an SGD with lr=0.5.
"""
import inspect
import os
import warnings

import torch
from torch.optim import nadam

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "run", "optim", "_optim_reference.ouro")
STEPS = 20
# PyTorch 1.13 has a momentum too much in NAdam's second term; later versions have what was published.
exec(inspect.getsource(nadam._single_tensor_nadam).replace("mu_product * mu * mu_next", "mu_product * mu_next"), vars(nadam))
OPTIMIZERS = """
SGD(p, lr=0.1)
SGD(p, lr=0.05, momentum=0.9)
SGD(p, lr=0.05, momentum=0.9, nesterov=True)
SGD(p, lr=0.05, momentum=0.5, weight_decay=0.1)
SGD(p, lr=0.05, momentum=0.9, dampening=0.5, maximize=True)
Adam(p, lr=0.05)
Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)
Adam(p, lr=0.05, amsgrad=True)
Adam(p, lr=0.05, maximize=True, weight_decay=0.01)
AdamW(p, lr=0.05)
AdamW(p, lr=0.05, weight_decay=0.2)
AdamW(p, lr=0.05, amsgrad=True, maximize=True)
Adamax(p, lr=0.05)
Adamax(p, lr=0.05, betas=(0.7, 0.9), eps=1e-5, weight_decay=0.1)
NAdam(p, lr=0.05)
NAdam(p, lr=0.05, weight_decay=0.1, momentum_decay=0.01)
RAdam(p, lr=0.05)
RAdam(p, lr=0.05, betas=(0.8, 0.9), weight_decay=0.1)
Adagrad(p, lr=0.1)
Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)
Adadelta(p)
Adadelta(p, lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1)
RMSprop(p, lr=0.02)
RMSprop(p, lr=0.02, alpha=0.9, centered=True)
RMSprop(p, lr=0.02, momentum=0.9, weight_decay=0.1)
Rprop(p, lr=0.02)
Rprop(p, lr=0.02, etas=(0.4, 1.3), step_sizes=(1e-4, 1.0))
ASGD(p, lr=0.05)
ASGD(p, lr=0.05, lambd=1e-2, alpha=0.6, t0=5.0, weight_decay=0.1)
""".strip().split("\n")
SCHEDULES = """
StepLR(opt, 3)
StepLR(opt, step_size=4, gamma=0.5)
MultiStepLR(opt, [2, 5, 11], gamma=0.3)
ConstantLR(opt, factor=0.25, total_iters=4)
LinearLR(opt, start_factor=0.1, end_factor=0.9, total_iters=6)
ExponentialLR(opt, 0.9)
PolynomialLR(opt, total_iters=8, power=2.0)
CosineAnnealingLR(opt, T_max=8, eta_min=0.01)
CosineAnnealingWarmRestarts(opt, T_0=3, T_mult=2, eta_min=0.02)
OneCycleLR(opt, max_lr=1.0, total_steps=20)
OneCycleLR(opt, max_lr=1.0, total_steps=20, pct_start=0.4, anneal_strategy='linear', three_phase=True)
CyclicLR(opt, base_lr=0.1, max_lr=0.7, step_size_up=4, mode='triangular2', cycle_momentum=False)
LambdaLR(opt, lambda epoch: 0.95 ** epoch)
MultiplicativeLR(opt, lambda epoch: 0.9)
SequentialLR(opt, [ConstantLR(opt, 0.1, 2), ExponentialLR(opt, 0.8)], milestones=[3])
ChainedScheduler([ConstantLR(opt, 0.5, 3), ExponentialLR(opt, 0.9)])
""".strip().split("\n")


def optimised(case):
    w = torch.tensor([[0.5, -1.0, 0.25], [1.5, 0.75, -0.5]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([0.1, -0.2], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[1.0, 2.0, -1.0], [0.5, -0.5, 1.5], [-2.0, 1.0, 0.5]], dtype=torch.float64)
    y = torch.tensor([[1.0, 0.0], [0.5, -1.0], [-1.0, 2.0]], dtype=torch.float64)
    optimizer = eval(case, vars(torch.optim) | {"p": [w, b]})
    for _ in range(STEPS):
        optimizer.zero_grad()
        (((x @ w.T + b).tanh() - y) ** 2).mean().backward()
        optimizer.step()
    return w.detach().reshape(-1).tolist() + b.detach().tolist()


def rates(case):
    opt = torch.optim.SGD([torch.zeros(1)], lr=0.5)
    schedule = eval(case, vars(torch.optim.lr_scheduler) | {"opt": opt})
    out = []
    for i in range(STEPS):
        out.append(opt.param_groups[0]["lr"])
        opt.step()
        if i + 1 < STEPS:
            schedule.step()
    return out


with open(OUT, "w") as f:
    f.write(f'"""What PyTorch {torch.__version__.split("a")[0]} computes; made by tests/reference/make_optim.py: name, what makes it, numbers."""\n')
    f.write("from ouro import optim\nfrom ouro.optim.lr_scheduler import *\n\noptimizers = [\n")
    for case in OPTIMIZERS:
        f.write(f"    ({case!r}, lambda p: optim.{case}, {optimised(case)!r}),\n")
    f.write("]\nschedules = [\n")
    for case in SCHEDULES:
        f.write(f"    ({case!r}, lambda opt: {case}, {rates(case)!r}),\n")
    f.write("]\n")
