#!/usr/bin/env python3
"""Writes torch_reference.ouro: calls of tensor operations with the values that PyTorch gives for them.

    python3 tests/ops/make_torch_reference.py > tests/ops/torch_reference.ouro

Needs PyTorch (Debian's python3-torch, 1.13); the file that it writes does not. The calls stand in torch_cases.txt, one a line, in words that both
understand. Where Ouro goes another way than PyTorch on purpose (indexing is NumPy's), there is no case.
"""
import builtins
import math
import os
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONAL = """softplus gelu silu mish elu selu celu leaky_relu hardtanh hardsigmoid hardswish softsign logsigmoid relu6 pad
one_hot embedding linear conv2d conv1d conv_transpose2d max_pool2d avg_pool2d adaptive_avg_pool2d max_pool1d batch_norm layer_norm
group_norm instance_norm local_response_norm cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
binary_cross_entropy_with_logits kl_div cosine_similarity triplet_margin_loss hinge_embedding_loss glu interpolate pixel_shuffle
prelu bilinear softmax log_softmax grid_sample affine_grid fold lp_pool1d lp_pool2d adaptive_avg_pool1d adaptive_max_pool1d
adaptive_max_pool2d adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d max_pool3d pixel_unshuffle channel_shuffle
multilabel_margin_loss multi_margin_loss multilabel_soft_margin_loss soft_margin_loss margin_ranking_loss cosine_embedding_loss
poisson_nll_loss gaussian_nll_loss normalize pairwise_distance pdist"""
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "bool": "bool", "uint8": "u8"}


def numbers(*shape):
    return torch.round(torch.randn(*shape) * 1.3 * 64) / 64


def inputs():
    return dict(A=numbers(3, 4), B=numbers(3, 4), P=torch.round(torch.rand(3, 4) * 64) / 64 + 0.25, C=numbers(2, 2, 4),
                X=numbers(2, 2, 6, 6), W=numbers(3, 2, 3, 3), W2=numbers(4, 1, 3, 3), Wt=numbers(2, 3, 3, 3), bias2=numbers(3),
                Wb=numbers(2, 4, 4), I=torch.tensor([[0, 1], [3, 0], [2, 2]]))


def flat(x):
    return [y for part in x for y in flat(part)] if isinstance(x, list) else [x]


def shown(v):
    if isinstance(v, builtins.float):
        if math.isnan(v) or math.isinf(v):
            return f"float('{v}')"
        return f"{v:.8g}"
    return repr(v)


def main():
    cases = [line.strip() for line in open(os.path.join(HERE, "torch_cases.txt")) if line.strip()]
    env = {k: getattr(torch, k) for k in dir(torch) if not k.startswith("_")}
    env.update({k: getattr(F, k) for k in FUNCTIONAL.split()})
    env.update(torch=torch, abs=abs, float=builtins.float)
    env["scaled_dot_product_attention"] = lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1) @ v
    env["im2col"] = F.unfold  # the name of Tensor.unfold is taken
    env.update(solve=torch.linalg.solve, multi_dot=torch.linalg.multi_dot)
    env.update(inputs())
    out = ["# Values of tensor operations by PyTorch " + torch.__version__.split("a")[0] + ". Written by make_torch_reference.py.",
           "import ouro as torch", "", "bad = []", "count = 0", "", ""]
    out.append('''def flat(x):
    return [y for part in x for y in flat(part)] if isinstance(x, list) else [x]


def close(a, b):
    if a == b or (a != a and b != b):
        return True
    return isinstance(a, float) and abs(a - b) <= 3e-6 + 2e-5 * abs(b)


def check(text, f, dtype, shape, want):
    global count
    count += 1
    try:
        r = f()
    except Exception as e:
        bad.append(text)
        print(f"{text}: {type(e).__name__}: {e}")
        return
    got = flat(r.tolist())
    if str(r.dtype) != dtype or tuple(r.shape) != shape or len(got) != len(want) or not all([close(a, b) for a, b in zip(got, want)]):
        bad.append(text)
        print(f"{text}\\n  is    {r.dtype} {tuple(r.shape)} {got}\\n  not   {dtype} {shape} {want}")

''')
    for name, value in inputs_like(env).items():
        out.append(f"{name} = tensor({value.tolist()})")
    out.append("")
    for case in cases:
        r = eval(case, env)
        values = ", ".join(shown(v) for v in flat(r.tolist()))
        out.append(f"check({case!r}, lambda: {case}, {NAMES[str(r.dtype)[6:]]!r}, {tuple(r.shape)}, [{values}])")
    out.append('print(f"{count} checked, {len(bad)} wrong")')
    out.append(f"# expect: {len(cases)} checked, 0 wrong")
    print("\n".join(out))


def inputs_like(env):
    return {k: env[k] for k in ("A", "B", "P", "C", "X", "W", "W2", "Wt", "bias2", "Wb", "I")}


if __name__ == "__main__":
    sys.exit(main())
