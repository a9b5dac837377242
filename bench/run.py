#!/usr/bin/env python3
"""Ouro beside PyTorch's CPU build and CPython: paired runs, medians, ratios.

    bench/run.py [FILTER] [--pairs N] [--ouro PATH]
    bench/run.py script[/NAME]         only the plain scripts, or one of them
    bench/run.py corpus                the scripts of tests/lang, process start included; not part of a run without FILTER
    bench/run.py modes[/NAME]          the mode auto beside eager: model programs, storms of changing numbers and shapes, scripts of
                                       the tests (bench/modes.py); likewise

bench/NAME.ouro and bench/NAME_torch.py are two programs that answer each line of input with the
seconds of one step (serve.ouro). They are asked in turn, so that whatever else the machine does
meets both; the ratio is the median of the pairs' ratios. Both have one thread. Comments of the
.ouro file give its title, its mode, the ratio aimed at, and the seconds its first step may take: where
nothing is in the disk cache of compiled code (first), and in the next process (second). One with depths
takes one of them as its argument: its step must be compiled whole at each, and a layer must not
take its first step longer the more there are (layers says how many a depth makes).
bench/script/*.py are plain scripts, interpreted beside CPython; what counts is the processor's time
of the whole run, and the geometric mean of the ratios.
PyTorch is Debian's python3-torch; without it only Ouro's own times are shown.
"""
import argparse
import glob
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from corpus import measure_corpus  # noqa: E402
from modes import measure_modes  # noqa: E402

CACHE = tempfile.TemporaryDirectory()  # empty at first
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
COMMENT = re.compile(r"^# (title|mode|target|first|second|depths|layers): *(.*)$", re.M)


def environment():
    env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
               PYTHONDONTWRITEBYTECODE="1")
    # Else glibc gives big blocks back to the system in some processes and not in others: PyTorch's
    # elementwise time then is 63 ms or 26 ms by chance. It gets the better one.
    env.update(MALLOC_MMAP_THRESHOLD_="4294967296", MALLOC_TRIM_THRESHOLD_="4294967296")
    env.update(OURO_CACHE="on", XDG_CACHE_HOME=CACHE.name)
    with open("/proc/cpuinfo") as f:
        if "avx512f" in f.read():
            env["OPENBLAS_CORETYPE"] = "SkylakeX"  # OpenBLAS does not know every AVX-512 CPU
    return env


class Side:
    """A program that is asked for times. first: the seconds of its first step."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=HERE, env=environment())
        line = self.process.stdout.readline().split()
        if not line or line[0] != "ready":
            self.process.kill()
            raise RuntimeError(f"{command[-1]} did not start")
        self.first = float(line[1])

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a program ended before its time")
        return float(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


class Command:
    """A command that is timed from start to end; by the time it keeps the processor busy, if cpu."""
    first = None

    def __init__(self, command, cpu=False):
        self.command, self.cpu = command, cpu

    def ask(self):
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(self.command, stdout=subprocess.DEVNULL, check=True, env=environment())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self.cpu:
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return time.perf_counter() - start

    def close(self):
        pass


def seconds(value):
    for unit, scale in (("s ", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if value * scale >= 1:
            break
    return f"{value * scale:7.2f} {unit}"


def measure(title, target, ouro, other, other_name, pairs, starts=(), ratios=None):
    """Prints one line; false when a target is missed. starts: (what, seconds, at most) of first steps;
    the ratio is added to ratios."""
    times = []
    if other:
        other.ask()
    ouro.ask()
    for i in range(pairs):  # who goes first changes, too
        if not other:
            times.append((ouro.ask(), float("nan")))
        elif i % 2:
            b = other.ask()
            times.append((ouro.ask(), b))
        else:
            times.append((ouro.ask(), other.ask()))
    ouro.close()
    mine = statistics.median(a for a, _ in times)
    text, good = f"{title:<52} ouro {seconds(mine)}", True
    if other:
        other.close()
        theirs = statistics.median(b for _, b in times)
        each = sorted(a / b for a, b in times)
        ratio, quarter = statistics.median(each), len(each) // 4
        good = ratio <= target
        if ratios is not None:
            ratios.append(ratio)
        text += (f"  {other_name} {seconds(theirs)}  ratio {ratio:.3f} "
                 f"[{each[quarter]:.3f} {each[-1 - quarter]:.3f}]  "
                 f"{'at most' if good else 'MISSES'} {target:g}")
    for what, took, most in starts:
        good = good and took <= most
        text += f"  {what} {seconds(took).strip()} ({'at most' if took <= most else 'MISSES'} {most:g} s)"
    print(text, flush=True)
    return good


def measure_depths(ouro, path, header):
    """Prints the first step's time by layers, nothing in the disk cache; false when more layers make a layer dearer."""
    layers, times = [], []
    command = [ouro, "explain", "--cache=off", "--threads=1", f"--mode={header['mode']}", path]
    for depth in header["depths"].split():
        layers.append(eval(header["layers"], {"depth": int(depth)}))
        told = [subprocess.run(command + [depth], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=HERE,
                               env=environment()).stdout for _ in range(3)]
        if not all(t.startswith("ready ") and ": compiled;" in t for t in told) or "interpreted" in told[0]:
            raise RuntimeError(f"{layers[-1]} layers are not compiled whole")
        times.append(min(float(t.split()[1]) for t in told))
    slopes = [(b - a) / (n - m) for a, b, m, n in zip(times, times[1:], layers, layers[1:])]
    grows = slopes[-1] / ((times[-2] - times[0]) / (layers[-2] - layers[0]))
    steps = ", ".join(f"{n}: {seconds(t).strip()}" for n, t in zip(layers, times))
    print(f"{header['title']:<52} first step by layers {steps}; of the last ones {seconds(slopes[-1]).strip()} each, "
          f"{grows:.2f} of those before ({'at most' if grows <= 1.5 else 'MISSES'} 1.5)", flush=True)
    return grows <= 1.5


def measure_host(program):
    """Prints what bench/host_call.cpp measured; false when a target is missed."""
    good = True
    done = subprocess.run([program], capture_output=True, text=True, env=environment())
    for line in done.stdout.splitlines():
        value, target, title = line.split(" ", 2)
        missed = float(value) > float(target)
        good = good and not missed
        bound = "" if target == "inf" else f"  {'MISSES' if missed else 'at most'} {seconds(float(target)).strip()}"
        print(f"host: {title:<55} {seconds(float(value))}{bound}", flush=True)
    if done.returncode:
        print(f"host_call failed: {done.stderr}")
    return good and done.returncode == 0


def measure_scripts(ouro, wanted, pairs):
    """Plain scripts beside CPython, and the geometric mean of their ratios; false when one is over 1.2 or that over 0.8."""
    ratios, good = [], True
    for path in sorted(glob.glob(os.path.join(HERE, "script", "*.py"))):
        with open(path) as f:
            header = dict(COMMENT.findall(f.read()))
        if wanted not in "script/" + os.path.basename(path):
            continue
        good &= measure(f"script/{os.path.basename(path)[:-3]:<14}{header['title'].split(':')[0]}", 1.2,
                        Command([ouro, "run", "--mode=eager", path], cpu=True),
                        Command([PYTHON, path], cpu=True), "python3", pairs, ratios=ratios)
    if len(ratios) > 1:
        mean = statistics.geometric_mean(ratios)
        good &= mean <= 0.8
        print(f"script: geometric mean of {len(ratios)} ratios {mean:.3f}  {'at most' if mean <= 0.8 else 'MISSES'} 0.8")
    return good


def has_torch():
    """Says what a fair comparison lacks. Debian's PyTorch runs on whatever libblas.so.3 is."""
    done = subprocess.run([PYTHON, "-c", "import torch; print(open('/proc/self/maps').read())"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print("PyTorch is not installed (python3-torch, libopenblas0-pthread): no ratios")
    elif "openblas" not in done.stdout:
        print("PyTorch runs on the reference BLAS: install libopenblas0-pthread to compare")
    return done.returncode == 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("filter", nargs="?", default="")
    p.add_argument("--pairs", type=int, default=21)
    p.add_argument("--ouro", default=os.path.join(os.path.dirname(HERE), "build", "ouro"))
    args = p.parse_args()
    ouro, good = os.path.abspath(args.ouro), True
    if args.filter in "startup":
        good &= measure("startup: -c 'print(1)'", 0.6, Command([ouro, "-c", "print(1)"]),
                        Command([PYTHON, "-c", "print(1)"]), "python3", 2 * args.pairs + 1)
    host = os.path.join(os.path.dirname(ouro), "bench_host_call")
    if args.filter in "host_call" and os.path.exists(host):
        good &= measure_host(host)
    if args.filter == "corpus":
        return 0 if measure_corpus(ouro, os.path.dirname(HERE), max(1, args.pairs // 7), environment()) else 1
    if args.filter.split("/")[0] == "modes":
        return 0 if measure_modes(ouro, args.filter.split("/")[1:], max(1, args.pairs // 7)) else 1
    good &= measure_scripts(ouro, args.filter, min(args.pairs, 5))
    if args.filter.startswith("script"):
        return 0 if good else 1
    torch = has_torch()
    for path in sorted(glob.glob(os.path.join(HERE, "*.ouro"))):
        name = os.path.basename(path)[:-len(".ouro")]
        with open(path) as f:
            header = dict(COMMENT.findall(f.read()))
        if "title" not in header or args.filter not in name:
            continue
        try:
            if "depths" in header:
                good &= measure_depths(ouro, path, header)
            command = [ouro, "run", "--threads=1", f"--mode={header.get('mode', 'auto')}", path]
            starts = []
            for key, what in (("first", "first step"), ("second", "in the next process")):
                mine = Side(command)
                if key in header:
                    starts.append((what, mine.first, float(header[key])))
                if key == "first":
                    mine.close()
            pair = os.path.join(HERE, name + "_torch.py")
            other = Side([PYTHON, pair]) if torch and os.path.exists(pair) else None
            good &= measure(header["title"], float(header.get("target", "inf")), mine, other,
                            "torch", args.pairs, starts)
        except RuntimeError as error:
            print(f"{header['title']}: {error}")
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
