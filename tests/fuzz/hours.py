#!/usr/bin/env python3
"""The fuzzers for hours, in sanitized builds, side by side; what each did is a line of a table.

    tests/fuzz/hours.py [--hours 2] [--side 2] [--seed N] [--folder DIR] [NAMES...]

Runs those named (all: RUNS), `--side` of them at a time, each for so long. Seeds start at --seed, in steps of 10 million for
each, so that another run with another seed adds to this one. Output and what was found lie in the folder, one subfolder each.
Needs `./dev build asan` and `./dev build tsan`.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
SANITIZERS = {
    "ASAN_OPTIONS": "intercept_tls_get_addr=0:detect_leaks=0:abort_on_error=0:handle_segv=1:exitcode=86:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=86",
    "TSAN_OPTIONS": "intercept_tls_get_addr=0:halt_on_error=1:exitcode=86:allocator_may_return_null=1",
}


def script(name, *options, build="build-asan"):
    return [sys.executable, os.path.join(HERE, name + ".py"), "--ouro", os.path.join(ROOT, build, "ouro"), *options]


# name: (command, whether it takes --keep). Every one takes --seed and --seconds.
RUNS = {
    "api": ([os.path.join(ROOT, "build-asan", "api_fuzz")], False),
    "api_threads": ([os.path.join(ROOT, "build-tsan", "api_fuzz")], False),
    "natives": (script("natives"), False),
    "natives_compiled": (script("natives", "--modes=graph"), False),
    "arguments": (script("arguments", "--alone", "--batch=50", "--jobs=1", "--config=--mode=eager --threads=1 --memory=64M"), True),
    "pins": (script("pins", "--jobs=1", "--shrink=0"), True),
    "branches": (script("branches", "--jobs=1", "--shrink=0"), True),
    "loops": (script("loops", "--jobs=1", "--shrink=0"), True),
    "arguments_compiled": (script("arguments", "--jobs=1", "--shrink=0"), True),
    "memory": (script("memory", "--sanitized"), True),
    "control_socket": (script("control_socket", "--slowest=10"), False),
    "file_formats": (script("file_formats"), True),
}


def go(name, seed, args):
    folder = os.path.join(args.folder, name)
    os.makedirs(folder, exist_ok=True)
    command, keeps = RUNS[name]
    told = [f"--seed={seed}", f"--seconds={args.hours * 3600:.0f}"] + ([f"--keep={folder}"] if keeps else [])
    start = time.monotonic()
    with open(os.path.join(folder, "output"), "w") as out:
        running = subprocess.Popen(command + told, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env=dict(os.environ, OURO_ABORT_ON_BUG="1", **SANITIZERS))
        _, ended, used = os.wait4(running.pid, 0)  # with what its own processes used
    running.returncode = status = os.waitstatus_to_exitcode(ended)
    with open(os.path.join(folder, "output"), errors="replace") as f:
        last = (f.read().strip().splitlines() or [""])[-1]
    hours, busy = (time.monotonic() - start) / 3600, (used.ru_utime + used.ru_stime) / 3600
    line = f"{name:20} from seed {seed}: {hours:.2f} h ({busy:.2f} h of a core), status {status}: {last[:160]}"
    print(line, flush=True)
    return line, status


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("names", nargs="*", help=", ".join(RUNS))
    p.add_argument("--hours", type=float, default=2)
    p.add_argument("--side", type=int, default=os.cpu_count() or 1, help="how many at a time")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--folder", default="fuzz-hours")
    args = p.parse_args()
    for name in args.names:
        if name not in RUNS:
            p.error(f"there is no {name}; there are: {', '.join(RUNS)}")
    names = args.names or list(RUNS)
    with concurrent.futures.ThreadPoolExecutor(args.side) as pool:
        lines = list(pool.map(lambda n: go(n, args.seed + 10_000_000 * list(RUNS).index(n), args), names))
    with open(os.path.join(args.folder, "table"), "a") as f:
        f.write("\n".join(line for line, _ in lines) + "\n")
    return 1 if any(status for _, status in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
