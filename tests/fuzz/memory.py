#!/usr/bin/env python3
"""Random programs that take memory, at random limits and with a request that fails: every value is right or a MemoryError,
nothing crashes, and what the process takes stays within the limit and a constant.

    tests/fuzz/memory.py [--seed N] [--count N | --seconds N] [--ouro build/ouro] [--keep FOLDER]

A program is a row of steps. Each makes something of a random size, prints a number that follows from it or "MemoryError",
and may keep it; so the lines of a run without a limit say what is right. Then it runs at a few limits (`--memory`) and with
the N-th request of memory failing (OURO_FAIL_ALLOCATION=N, runtime/machine/memory.h), for a few N.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
LIMITS = (6, 10, 16, 24, 40, 64)  # MiB
# What the program itself takes (its code, the compiler's), and what lies beside the count: buffers kept for the next use,
# what the C library keeps, stacks.
BESIDE = 130 * MIB

# name: (text of an expression of n, the largest n). It gives (value, number).
STEPS = {
    "list": ("x = [0] * n\nr = len(x)", 3_000_000),
    "comprehension": ("x = [i * 2 for i in range(n)]\nr = x[-1]", 500_000),
    "pairs": ("x = [(i, str(i)) for i in range(n)]\nr = len(x[-1][1])", 200_000),
    "dict": ("x = {i: i + 1 for i in range(n)}\nr = len(x)", 300_000),
    "dict copy": ("x = dict(dict.fromkeys(range(n), 1))\nr = len(x)", 300_000),
    "set": ("x = {i % 99991 for i in range(n)} | set(range(n))\nr = len(x)", 300_000),
    "text": ("x = 'ab' * n\nr = x.count('b')", 10_000_000),
    "join": ("x = ','.join(str(i) for i in range(n))\nr = len(x)", 400_000),
    "grown": ("x = ''\nfor i in range(n): x += 'abcdefgh' * 64\nr = len(x)", 20_000),
    "split": ("x = ('ab ' * n).split()\nr = len(x)", 500_000),
    "replace": ("x = ('ab' * n).replace('a', 'xyz' * 5)\nr = len(x)", 500_000),
    "upper": ("x = ('straße' * n).upper()\nr = len(x)", 500_000),
    "format": ("x = '%*d|%s' % (n, 7, 'é' * n)\nr = len(x)", 3_000_000),
    "f-string": ("y = 'q' * n\nx = f'{y:>{n + 10}}|{y!r}'\nr = len(x)", 3_000_000),
    "encode": ("x = ('aé€' * n).encode('utf-16')\nr = len(x)", 1_000_000),
    "decode": ("x = (b'a\\xe9' * n).decode('latin-1')\nr = len(x)", 2_000_000),
    "bytes": ("x = bytes(i & 255 for i in range(n))\nr = x[-1]", 1_000_000),
    "bytearray": ("x = bytearray(b'abc' * n)\nx += bytes(x)\nx.reverse()\nr = len(x)", 3_000_000),
    "big int": ("x = 1 << n\nx = x * 3 + x // 7\nr = x.bit_length()", 20_000_000),
    "power": ("x = 3 ** (n // 64)\nr = x.bit_length()", 4_000_000),
    "sorted": ("x = sorted(range(n), key=lambda v: -v)\nr = x[0]", 300_000),
    "sort": ("x = [str(i * 7919 % 10007) for i in range(n)]\nx.sort()\nr = len(x[-1])", 200_000),
    "reversed": ("x = list(range(n))\ndel x[::3]\nx[1:1] = x\nr = x[-1]", 500_000),
    "zip": ("x = list(zip(range(n), reversed(range(n))))\nr = x[-1][0]", 200_000),
    "objects": ("class C:\n    def __init__(self, v): self.v, self.w = v, [v]\nx = [C(i) for i in range(n)]\nr = x[-1].w[0]", 100_000),
    "cycles": ("x = None\nfor i in range(n):\n    x = [i]\n    x.append(x)\nr = x[0]", 200_000),
    "repr": ("x = repr([['x' * 50] * 50] * n)\nr = len(x)", 2_000),
    "file": ("x = open(DATA, 'rb').read()[:n]\nr = len(x)", 4_000_000),
    "text file": ("x = open(DATA).read()\nr = len(x)", 10),
    "lines": ("x = open(DATA).readlines()\nr = len(x)", 10),
    "endless": ("x = open('/dev/zero', 'rb').read(n)\nr = len(x)", 60_000_000),
    "endless line": ("x = open('/dev/zero').readline(n)\nr = len(x)", 60_000_000),
    "write": ("f = open(OUT, 'w')\nx = f.write('aé' * n)\nf.close()\nr = x", 3_000_000),
    "recursion": ("def deep(k): return 0 if k == 0 else 1 + deep(k - 1)\nx = None\nr = deep(n)", 300_000),
    "generators": ("def g(i): yield [i]\nx = [g(i) for i in range(n)]\nr = sum(next(k)[0] for k in x)", 50_000),
    "exceptions": ("x = []\nfor i in range(n):\n    try: 1 / 0\n    except ZeroDivisionError as e: x.append(e)\nr = len(x)", 50_000),
    "arguments": ("def f(*a, **k): return len(a)\nx = None\nr = f(*range(n))", 500_000),
    "hypot": ("import math\nx = math.hypot(*[1.0] * n)\nr = round(x * x)", 500_000),
    "zeros": ("x = zeros(n) + 1.0\nr = x.sum().item()", 10_000_000),
    "product": ("x = ones(n // 200 + 1, 64) @ ones(64, 200)\nr = x.sum().item()", 2_000_000),
    "mask": ("x = arange(n)\nx = x[x % 3 == 0]\nr = x.shape[0]", 2_000_000),
    "index": ("i = arange(n) % 7\nx = arange(10)[i]\nr = x.sum().item()", 2_000_000),
    "nonzero": ("x = (arange(n) % 2 == 0).nonzero()\nr = x.shape[0]", 2_000_000),
    "tensor sort": ("x = (arange(n) * 7919 % 10007).sort()[0]\nr = x[0].item()", 1_000_000),
    "cat": ("x = cat([ones(n // 4 + 1) for i in range(5)])\nr = x.shape[0]", 4_000_000),
    "tensor of list": ("x = tensor([float(i) for i in range(n)])\nr = x[-1].item()", 300_000),
    "tolist": ("x = arange(n).tolist()\nr = x[-1]", 500_000),
    "sum axis": ("x = ones(n // 10 + 1, 10).sum(axis=0)\nr = x[3].item()", 4_000_000),
    "conv": ("x = conv2d(ones(1, 4, n // 1000 + 8, 64), ones(8, 4, 3, 3))\nr = x[0, 0, 1, 1].item()", 500_000),
    "conv of large kernels": ("x = conv2d(ones(2, 2, n // 100 + 20, 40), ones(2, 2, 9, 9), padding=4)\nr = x[0, 0, 8, 8].item()", 40_000),
    "conv of a line": ("x = conv1d(ones(1, 8, n + 31), ones(2, 8, 31))\nr = x[0, 0, 0].item()", 60_000),
    "conv in bf16": ("with demand(precision='bf16'): x = conv2d(ones(1, 4, n // 100 + 8, 64), ones(8, 4, 5, 5))\nr = x[0, 1, 1, 1].item()", 60_000),
    "conv gradient": ("x = conv_step(ones(17, 2, n // 400 + 8, 20), ones(4, 2, 5, 5))\nr = x[1][0, 0, 2, 2].item()", 40_000),
    "product transposed": ("x = ones(40, n // 500 + 1, dtype=f64) @ ones(500, n // 500 + 1, dtype=f64).T\nr = x[0, 0].item()", 1_000_000),
    "argsort rows": ("x = (arange(n // 4 * 4) * 7919 % 10007).reshape(4, n // 4).argsort(axis=1)\nr = x.sum().item()", 1_000_000),
    "pool gradient": ("x = grad(lambda a: avg_pool2d(a, 3, stride=1).sum())(ones(1, 1, n // 100 + 4, 100))\nr = x[0, 0, 2, 2].item()", 1_000_000),
    "grad": ("x = grad(lambda a: (a * a * a).sum())(ones(n))\nr = x[0].item()", 1_000_000),
    "compiled": ("x = step(ones(n))\nr = x.shape[0]", 3_000_000),
    "compiled loop": ("x = loop(n)\nr = x", 300_000),
}
HEAD = """
import sys
sys.setrecursionlimit(10**6)
DATA, OUT = sys.argv[1:3]
kept = []

def step(a):
    b = a * 2.0 + 1.0
    c = b @ b
    return cat([b, b - c * 0.0, b])

conv_step = grad(lambda x, w: conv2d(x, w, padding=2).sum(), argnums=(0, 1))

def loop(n):
    s = []
    for i in range(n): s.append(i * 1.5)
    return len(s)
"""


def program(rng):
    parts = [HEAD]
    for i in range(rng.randrange(4, 12)):
        name = rng.choice(sorted(STEPS))
        text, most = STEPS[name]
        n = max(1, int(most * 2 ** -rng.uniform(0, 8)))
        body = text.replace("\n", "\n    ")
        parts.append(f"def step{i}(n):\n    {body}\n    return x, r\n")
        parts.append(f"try:\n    value, number = step{i}({n})\n")
        parts.append("    kept.append(value)\n" if rng.randrange(3) == 0 else "    value = None\n")
        parts.append(f"    print({i}, number)\n")  # last: a request that fails in `append` is to leave one line, not two
        parts.append(f"except MemoryError: print({i}, 'MemoryError')\n")
        if rng.randrange(4) == 0:
            parts.append("kept.clear()\n")
    parts.append("value = None\nkept.clear()\nfor turn in range(2):  # one may be the request that fails\n    try: end = len([0] * 1000), (ones(100) * 2.0).sum().item()\n    except MemoryError: pass\nprint('end', *end)\n")
    return "".join(parts)


def run(given, folder, options, fail=None, timeout=240):
    """(lines, status, errors, bytes that were resident at most)."""
    env = dict(os.environ, OURO_CACHE="off", XDG_RUNTIME_DIR=folder)
    if fail:
        env["OURO_FAIL_ALLOCATION"] = str(fail)
    with open(os.path.join(folder, "out"), "w+") as out, open(os.path.join(folder, "err"), "w+", errors="replace") as err:
        process = subprocess.Popen([given.ouro, "run", "--threads=1", *options, "program.ouro", "data", "written"], cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env)
        watch = threading.Timer(timeout, process.kill)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # it is gone: nobody else is to wait for it
        watch.cancel()
        out.seek(0)
        err.seek(0)
        return out.read().splitlines(), process.returncode, err.read(), usage.ru_maxrss * 1024


def problem_of(right, got, status, errors, peak, limit, fail):
    if fail and status == 1 and errors.rstrip().endswith("MemoryError"):
        return ""  # in a line of the program's own, outside of any step
    if status != 0:
        return f"it ended with {status}\n{errors[-1500:]}"
    if len(got) != len(right):
        return f"{len(got)} lines, not {len(right)}"
    for mine, expected in zip(got, right):
        if mine != expected and mine != expected.split(" ")[0] + " MemoryError":
            return f"{mine!r} is not {expected!r}"
    if limit and peak > limit * MIB + BESIDE:
        return f"{peak / MIB:.0f} MiB were resident"
    return ""


def check(given, seed, folder):
    rng = random.Random(seed)
    text = program(rng)
    with open(os.path.join(folder, "program.ouro"), "w") as f:
        f.write(text)
    right, status, errors, _ = run(given, folder, ["--mode=eager"])
    if status != 0 or any("MemoryError" in line for line in right):
        return f"seed {seed}: without a limit it ended with {status}: {right}\n{errors[-1500:]}", text, 0
    refused = 0
    ways = [(limit, 0) for limit in rng.sample(LIMITS, 2)] + [(0, int(2 ** rng.uniform(0, 11))) for _ in range(3)]
    for limit, fail in ways:
        mode = rng.choice(["eager", "eager", "auto", "graph"])
        options = [f"--mode={mode}"] + ([f"--memory={limit}M"] if limit else [])
        got, status, errors, peak = run(given, folder, options, fail)
        refused += sum(line.endswith("MemoryError") for line in got)
        wrong = problem_of(right, got, status, errors, 0 if given.sanitized else peak, limit, fail)
        if wrong:
            shown = f"OURO_FAIL_ALLOCATION={fail} " if fail else ""
            return f"seed {seed}: {shown}ouro {' '.join(options)}: {wrong}", text, refused
    return "", text, refused


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=20)
    options.add_argument("--seconds", type=float)
    options.add_argument("--most", type=int, default=10, help="stop after so many failures")
    options.add_argument("--sanitized", action="store_true", help="do not look at resident memory")
    options.add_argument("--keep")
    options.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    given = options.parse_args()
    given.ouro = os.path.abspath(given.ouro)
    end, seed, failures, refused = time.time() + (given.seconds or 0), given.seed, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "data"), "w") as f:
            f.write("some line of text\n" * 200_000)
        while failures < given.most and (time.time() < end if given.seconds else seed < given.seed + given.count):
            wrong, text, errors = check(given, seed, folder)
            refused += errors
            if wrong:
                failures += 1
                print(wrong, flush=True)
                if given.keep:
                    os.makedirs(given.keep, exist_ok=True)
                    with open(os.path.join(given.keep, f"memory{seed}.ouro"), "w") as f:
                        f.write(text)
            seed += 1
    print(f"{seed - given.seed} programs, {refused} values refused, {failures} failures")
    return 1 if failures or not refused else 0


if __name__ == "__main__":
    sys.exit(main())
