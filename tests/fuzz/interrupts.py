#!/usr/bin/env python3
"""Programs interrupted at random moments: how soon each answers, and whether the session is right afterwards.

    tests/fuzz/interrupts.py [--seed N] [--moments N] [--ouro build/ouro] [--jobs N] [--limit MS] [--longest MS] [NAME ...]

A program is three texts: what is prepared, the work, which never ends by itself or is begun again and again, and a
check, an expression whose value is taken before the first interrupt and compared after every one. The process is kept
for all moments of its program. At each, it is told to begin, works for a random while (at most --longest) and gets SIGINT; it says when its
own `except` was reached, by the clock that this program uses too. A program fails whose check differs, which does not
go on, whose memory grows, or whose answers are later than the limit (a quarter of a second unless told; 1 in 100 may
be up to four times later, as other processes run on the machine too).
"""
import argparse
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Name: mode, what is prepared, the work, the check.
PROGRAMS = {
    # Loops of compiled steps, in their forms.
    "for": ("graph", "@jit\ndef f(x, n):\n    for i in range(n): x = x * 1.0000001\n    return x\nx = tensor(1.0)", "f(x, 10**10)", "f(x, 9).item()"),
    "while": ("graph", "@jit\ndef f(x, n):\n    i = 0\n    while i < n:\n        x = x + 1.0\n        i += 1\n    return x\nx = tensor(1.0)",
              "f(x, 10**10)", "f(x, 9).item()"),
    "numbers": ("graph", "@jit\ndef f(x, n):\n    s = 0\n    for i in range(n): s = s * 3 % 1000003 + i\n    return x + s\nx = tensor(1.0)",
                "f(x, 10**10)", "f(x, 9).item()"),
    "nested": ("graph", "@jit\ndef f(x, n):\n    for i in range(n):\n        for j in range(50): x = x * 0.9 + i\n    return x\nx = ones(8)",
               "f(x, 10**9)", "f(x, 9).sum().item()"),
    "gradient": ("graph", "def f(x, n):\n    for i in range(n): x = x * 1.0000001\n    return x\n@jit\ndef g(x, n): return grad(lambda v: f(v, n))(x)\n"
                 "x = tensor(1.0)", "g(x, 10**5)", "g(x, 9).item()"),
    "hot": ("auto", "def f(x, n):\n    for i in range(n): x = x * 1.0000001\n    return x\nx = tensor(1.0)\nfor i in range(50): f(x, 9)",
            "f(x, 10**10)", "f(x, 9).item()"),
    "place": ("graph", "@jit\ndef f(x, n):\n    for i in range(n): x[i % 100] = x[(i + 1) % 100] + 1\n    return x\nx = ones(100)",
              "f(x, 10**9)", "f(x, 9).sum().item()"),
    "training": ("graph", "class Box: pass\nb = Box()\nb.w = ones(300, 300)\n@jit\ndef f(b, n):\n    for i in range(n): b.w = b.w * 0.5 + 1\n"
                 "def check():\n    b.w = ones(300, 300)\n    f(b, 5)\n    return b.w.sum().item()", "f(b, 10**9)", "check()"),
    # One kernel, for long.
    "map": ("graph", "@jit\ndef f(x):\n    for i in range(12): x = tanh(x) + exp(-x)\n    return x\nx = ones(3 * 10**7)", "f(x)", "f(ones(9)).sum().item()"),
    "fold": ("graph", "@jit\ndef f(x): return (exp(x) * sin(x)).sum()\nx = ones(5 * 10**7)", "f(x)", "f(ones(9)).item()"),
    "rows": ("graph", "@jit\ndef f(x): return softmax(x, -1)\nx = ones(10**6, 30)", "f(x)", "f(ones(9, 3)).sum().item()"),
    "columns": ("graph", "@jit\ndef f(x): return exp(x).sum(0)\nx = ones(3000, 10**4)", "f(x)", "f(ones(9, 3)).sum().item()"),
    "pairs": ("graph", "@jit\ndef f(x): return ((x[:, None] - x[None, :])**2).sum(1)\nx = ones(5 * 10**4)", "f(x)", "f(ones(9)).sum().item()"),
    # Operations of tensors, each by itself.
    "matmul": ("eager", "x = ones(3000, 3000)", "x @ x", "(ones(3, 3) @ ones(3, 3)).sum().item()"),
    "matmul of f64": ("eager", "x = ones(2000, 2000).to(float64)", "x @ x", "(ones(3, 3) @ ones(3, 3)).sum().item()"),
    "convolution": ("eager", "x = ones(1, 16, 1000, 1000); w = ones(32, 16, 3, 3)", "conv2d(x, w)", "conv2d(ones(1, 1, 4, 4), ones(1, 1, 3, 3)).sum().item()"),
    "gather": ("eager", "x = ones(10**7); i = randint(0, 10**7, (10**7,))", "x[i]", "x[tensor([1, 2])].sum().item()"),
    "mask": ("eager", "x = randn(3 * 10**7); m = x > 0", "x[m]", "x[:5][m[:5]].numel()"),
    "sort": ("eager", "x = randn(10**7)", "sort(x)", "sort(tensor([3.0, 1.0]))[0].tolist()"),
    "permutation": ("eager", "", "randperm(2 * 10**7)", "sort(randperm(9))[0].sum().item()"),
    "updates in place": ("eager", "x = ones(4 * 10**7); i = randint(0, 10**6, (10**6,)); m = x[:10**7] > 0",
                         "global x; x += 1.0; x **= 0.5; x[:] = 2.0; x[::3] += 1.0; x[i] += 1.0; y = x[:10**7]; y[m] = 1.0", "x.shape"),
    "tolist": ("eager", "x = zeros(10**7)", "x.tolist()", "x[:3].tolist()"),
    # Waits for a device: nothing ends a kernel there, the script goes on without it.
    "device kernel": ("graph --device=opencl", "@jit\ndef f(x):\n    for i in range(12): x = tanh(x) + exp(-x)\n    return x.sum()\nx = ones(5 * 10**6); f(x).item()",
                      "f(x).item()", "f(ones(9)).item()"),
    "device loop": ("auto --device=opencl", "x = ones(1000)\ndef f(n):\n    y = x\n    for i in range(n): y = y * 1.0000001\n    return y",
                    "f(10**9)", "f(9).sum().item()"),
    "device matmul": ("eager --device=opencl", "x = ones(800, 800)", "(x @ x @ x).sum().item()", "(ones(3, 3) @ ones(3, 3)).sum().item()"),
    "device copies": ("eager --device=opencl", "x = ones(3 * 10**6)", "y = x + 1; y[0].item(); y.tolist()", "(ones(3) + 1).tolist()"),
    # Natives.
    "text": ("auto", "x = 'ab' * 10**8", "x.replace('a', 'cd'), x.find('aa'), x.count('ba')", "'abab'.replace('a', 'cd')"),
    "format": ("auto", "", "f'{1:1000000000}'", "f'{1:10}'"),
    "big": ("auto", "x = 7**300000", "pow(x, 9), x * x, x // 3**9999", "7**90 % 1000"),
    "gcd": ("auto", "import math\nx = 3**500000; y = 5**340000", "math.gcd(x, y)", "math.gcd(12, 18)"),
    "containers": ("auto", "x = list(range(10**7))", "y = set(x); z = dict.fromkeys(x); tuple(x) == tuple(x)", "sorted({3, 1})"),
    "strings": ("auto", "x = [str(i) for i in range(10**6)]", "sorted(x, reverse=True); ' '.join(x).split()", "' '.join(x[:3])"),
    "cycles": ("auto", "x = []", "y = [[x] for i in range(10**6)]; y[0].append(y)", "len(x)"),
    # What waits.
    "input": ("auto", "import sys", "input()", "2 + 2"),
    "iteration": ("auto", "import sys", "for line in sys.stdin: pass", "2 + 2"),
    "fifo": ("auto", "import sys\npath = sys.argv[1]", "open(path).read()", "2 + 2"),
    "sleep": ("auto", "import time", "time.sleep(60)", "2 + 2"),
}
SCRIPT = """
import sys as _sys, time as _time
{before}
def _work():
    while True:
        {work}
print('ready', repr({check}), flush=True)
while _sys.stdin.readline() == 'go\\n':
    try:
        print('begun', flush=True)
        _work()
    except KeyboardInterrupt:
        _answer = _time.monotonic()
    print('answered', repr(_answer), flush=True)
    print('check', repr({check}), flush=True)
"""


def script_of(name):
    _, before, work, check = PROGRAMS[name]
    return SCRIPT.format(before=before, work=work.replace("\n", "\n        "), check=check)


class Failed(Exception):
    pass


class Absent(Exception):
    """The device is not on this machine."""


def memory_of(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Process:
    """A program at work. Its lines come one by one, or not in time."""

    def __init__(self, ouro, name, folder, environment):
        mode = PROGRAMS[name][0]
        self.name = name
        path = os.path.join(folder, "program.ouro")
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        with open(path, "w", encoding="utf-8") as f:
            f.write(script_of(name))
        environment = {k: v for k, v in (environment or os.environ).items() if k != "OURO_CHECK_PLANS"}  # the checker takes seconds
        self.errors = open(os.path.join(folder, "errors"), "w+", encoding="utf-8")
        self.p = subprocess.Popen([ouro, "run", *f"--mode={mode}".split(), path, fifo], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                  env=environment)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.p.stdout, selectors.EVENT_READ)
        self.waiting = b""

    def line(self, word, timeout):
        end = time.monotonic() + timeout
        while b"\n" not in self.waiting:
            left = end - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                raise Failed(f"no '{word}' in {timeout} s")
            piece = os.read(self.p.stdout.fileno(), 65536)
            if not piece:
                self.p.wait()
                self.errors.seek(0)
                if "OpenCL" in (said := self.errors.read()) and self.p.returncode == 2:
                    raise Absent(said)
                self.errors.seek(0)
                raise Failed(f"it ended with status {self.p.returncode}: {self.errors.read()[-2000:]}")
            self.waiting += piece
        line, self.waiting = self.waiting.split(b"\n", 1)
        text = line.decode()
        if not text.startswith(word):
            raise Failed(f"'{text}' where '{word}' was expected")
        return text[len(word) + 1:]

    def begin(self):
        self.p.stdin.write(b"go\n")
        self.p.stdin.flush()

    def close(self):
        self.p.kill()
        self.p.wait()
        self.errors.close()


def run(ouro, name, moments, seed, environment=None, longest=0.15):
    """The latencies, in seconds. Raises Failed."""
    draw = random.Random(f"{seed} {name}")
    taken, first_memory = [], None
    with tempfile.TemporaryDirectory() as folder:
        process = Process(ouro, name, folder, environment)
        try:
            right = process.line("ready", 300)
            for moment in range(moments):
                process.begin()
                process.line("begun", 30)
                time.sleep(draw.random() ** 2 * longest)
                start = time.monotonic()
                process.p.send_signal(signal.SIGINT)
                taken.append(float(process.line("answered", 60)) - start)
                value = process.line("check", 60)
                if value != right:
                    raise Failed(f"after moment {moment} (seed {seed}) the check gives {value}, before it gave {right}")
                if moment == moments // 3:
                    first_memory = memory_of(process.p.pid)
            grown = memory_of(process.p.pid) - first_memory
            if moments >= 9 and grown > max(first_memory, 200 << 20):
                raise Failed(f"its memory grew by {grown >> 20} MB")
        finally:
            process.close()
    return taken


def part(sorted_times, share):
    return sorted_times[min(len(sorted_times) - 1, int(len(sorted_times) * share))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=250, help="milliseconds")
    parser.add_argument("--longest", type=float, default=150, help="milliseconds that a program works before it is interrupted")
    args = parser.parse_args()
    failed, everything = [], []

    def one(name):
        try:
            return name, sorted(run(args.ouro, name, args.moments, args.seed, longest=args.longest / 1000)), None
        except Failed as problem:
            return name, [], problem
        except Absent:
            return name, [], None

    print(f"{'milliseconds':20} {'50 %':>8} {'99 %':>8} {'all':>8}")
    with ThreadPoolExecutor(args.jobs) as pool:
        for name, taken, problem in pool.map(one, args.names or PROGRAMS):
            everything += taken
            late = taken and (part(taken, 0.985) * 1000 > args.limit or taken[-1] * 1000 > 4 * args.limit)
            if not taken and not problem:
                print(f"{name:20} no such device", flush=True)
                continue
            if problem or late:
                failed.append(name)
            shown = " ".join(f"{part(taken, q) * 1000:8.1f}" for q in (0.5, 0.99, 1)) if taken else problem
            print(f"{name:20} {shown}{'  late' if late else ''}", flush=True)
    everything.sort()
    if everything:
        print(f"{'together':20} " + " ".join(f"{part(everything, q) * 1000:8.1f}" for q in (0.5, 0.99, 1)))
    print(f"{len(everything)} moments, seed {args.seed}: {'failed: ' + ', '.join(failed) if failed else 'all answered and went on'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
