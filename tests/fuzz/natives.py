#!/usr/bin/env python3
"""Everything that scripts can call, internal names too, called with hostile arguments (_hostile_calls.ouro): no crash, no
refusal to be interrupted, no error of the sanitizers.

    tests/fuzz/natives.py [--seed N] [--batches N | --seconds N] [--calls N] [--each] [--descriptors] [--modes eager,graph] [--ouro build/ouro]

A batch is one process with thousands of calls, all drawn from its seed. A call that works for long (a walk over all objects
there are) is interrupted, as Ctrl-C would, and the batch goes on; one that goes on regardless is a failure.
"""
import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_hostile_calls.ouro")
LONG, DEAF = 4, 40  # seconds without another call: then it is interrupted; and after which it does not listen
START = 120  # seconds until the first call, on a machine that does much else


def last_line(path):
    try:
        with open(path, "rb") as f:
            f.seek(max(os.path.getsize(path) - 600, 0))
            return f.read().decode("ascii", "replace").rstrip("\n").rpartition("\n")[2]
    except OSError:
        return ""


def batch(given, seed, mode):
    """(seed, what is wrong or "", calls, interrupts)."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        command = [given.ouro, "run", "--memory=400M", f"--mode={mode}", "--threads=1", *given.options.split(), SCRIPT, str(seed), str(given.calls), log]
        if given.each or given.descriptors:
            command.append("each" if given.each else "descriptors")
        with open(os.path.join(folder, "errors"), "w+b") as errors:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                       env=dict(os.environ, XDG_RUNTIME_DIR=folder, OURO_CACHE="off"))
            size, changed, interrupts, asked, problem = 0, time.time(), 0, 0, ""
            while process.poll() is None:
                time.sleep(0.05)
                now = os.path.getsize(log) if os.path.exists(log) else 0
                if now != size:
                    size, changed, asked = now, time.time(), 0
                idle = time.time() - changed
                if size and idle > LONG * (asked + 1):
                    asked += 1
                    interrupts += 1
                    process.send_signal(signal.SIGINT)
                if idle > (DEAF if size else START):
                    problem = f"it works for {DEAF} seconds and takes no interrupt" if size else f"it made no call in {START} seconds"
                    process.kill()
            last = last_line(log)
            if not problem and not last.startswith("done"):
                errors.seek(0)
                told = errors.read().decode("utf-8", "replace").strip().splitlines()
                shown = [line for line in told if "ERROR: " in line or "runtime error" in line or "Assertion" in line or line.lstrip().startswith("#")]
                problem = f"it ended with {process.returncode}\n" + "\n".join((shown or told)[:14])
    calls = given.calls if last.startswith("done") else int(last.split(" ")[0] or 0) if last.split(" ")[0].isdigit() else 0
    return seed, problem and f"seed {seed}, mode {mode}: {problem}\n  at call {last}", calls, interrupts


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--batches", type=int, default=4)
    options.add_argument("--calls", type=int, default=3000)
    options.add_argument("--seconds", type=float)
    options.add_argument("--each", action="store_true")
    options.add_argument("--descriptors", action="store_true", help="those of built-in classes on objects of every kind: 16 batches are all")
    options.add_argument("--options", default="", help="more options for the program, such as --time=2")
    options.add_argument("--modes", default="eager")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--most", type=int, default=10, help="stop after so many failures")
    options.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    given = options.parse_args()
    given.ouro = os.path.abspath(given.ouro)
    end = time.time() + (given.seconds or 0)
    modes = given.modes.split(",")
    failures, calls, interrupts, seed = [], 0, 0, given.seed
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        while len(failures) < given.most and (time.time() < end if given.seconds else seed < given.seed + given.batches):
            last = seed + given.jobs if given.seconds else min(seed + given.jobs, given.seed + given.batches)
            for _, problem, done, asked in pool.map(lambda n: batch(given, n, modes[n % len(modes)]), range(seed, last)):
                calls += done
                interrupts += asked
                if problem:
                    failures.append(problem)
                    print(problem, flush=True)
            seed = last
    print(f"{calls} calls in {seed - given.seed} batches, {interrupts} interrupts, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
