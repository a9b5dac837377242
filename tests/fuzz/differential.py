"""Running random programs of Ouro: each configuration beside the interpreter, bit for bit, or beside CPython.

Programs go to the interpreter in batches, one process a batch, and then to each configuration. What differs, in a line
printed, in the exit status, or in the exception that a call raised, is shrunk and left in a folder.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFAULT = os.path.join(ROOT, "build", "ouro")
BATCH = 10
REFERENCE = "--mode=eager --threads=1"
PYTHON = "python3"  # the reference of programs that say that CPython is their judge (`by_python`)
# On a device contractions have other bits than the host's: what is compared with is the interpreter there. The stand-in
# for a GPU (tests/gpu) takes part where it is built beside the program.
STAND_IN = "--mode=graph --device=cuda"
# What programs are compared in, beside the interpreter: a batch in one of them, in turn. "plain": as a user runs them,
# without checks and poison; "stress": every exit is taken.
CONFIGS = ["--mode=graph --threads=1", "--mode=graph --threads=2", "--mode=graph --threads=3 --cpu=x86-64-v3", "--mode=graph --threads=7",
           "plain --mode=graph --threads=1 --cpu=x86-64-v2", "plain --mode=graph --threads=2", "--mode=auto --threads=2", "stress --mode=graph --threads=2",
           "plain --mode=graph --threads=2 --cpu=x86-64-v3", "--mode=eager --threads=3 --cpu=x86-64-v2", "plain --mode=graph --threads=1",
           "--mode=eager --threads=7 --cpu=x86-64-v3"]

SHOW = '''import math
from math import inf
import ouro


def show(tag, box):
    """Every bit of what is in the box, by numbers that hold them. No tensor is an argument: nothing is compiled."""
    out, todo = [], [box["value"]]
    while todo:
        v = todo.pop(0)
        if isinstance(v, (list, tuple)):
            todo = list(v) + todo
        elif not is_tensor(v):
            out.append(repr(v))
        elif v.numel() <= 400:
            out.append(f"{v.dtype} {tuple(v.shape)} {v.tolist()}")
        else:
            d = v.double().reshape(-1)
            d = where(d < inf, where(d > -inf, d, -1e30), where(d == inf, 1e30, 0.5))
            w = cos(arange(d.numel(), dtype=f64) * 0.7)
            out.append(f"{v.dtype} {tuple(v.shape)} {d.sum().item()!r} {(d * w).sum().item()!r} {v.isnan().sum().item() if v.is_floating_point() else 0}")
    print(tag, "|", "; ".join(out), flush=True)


def run(tag, thunk):
    try:
        value = thunk()
    except Exception as e:
        print(tag, "|", type(e).__name__ + ":", str(e).replace("\\n", " "), flush=True)
    else:
        show(tag, {"value": value})
'''


# ---- running
# Plans are checked (jit/plan/check), memory without a value is poisoned, and a bug of the compiler ends the process.
ENVIRONMENT = dict(os.environ, OURO_CHECK_PLANS="1", OURO_ABORT_ON_BUG="1", OURO_COMPILE_AFTER="0")
ENVIRONMENTS = {"stress": dict(ENVIRONMENT, OURO_STRESS_EXITS="1"), "plain": dict(os.environ, OURO_ABORT_ON_BUG="1", OURO_COMPILE_AFTER="0"),
                "everything": dict(ENVIRONMENT, OURO_COMPILE="everything"), "exits": dict(ENVIRONMENT, OURO_COMPILE="everything", OURO_STRESS_EXITS="1")}


def reference_of(config, programs):
    if all(getattr(p, "by_python", False) for p in programs):
        return PYTHON
    return " ".join([REFERENCE] + [option for option in config.split() if option.startswith(("--device=", "--memory="))])


def configs(args):
    """All that batches are compared in, in turn."""
    stand_in = os.path.join(os.path.dirname(os.path.abspath(args.ouro)), "gpu")
    if os.path.exists(os.path.join(stand_in, "libcuda.so.1")):
        for environment in [ENVIRONMENT, *ENVIRONMENTS.values()]:
            environment["LD_LIBRARY_PATH"] = stand_in
        return CONFIGS + [STAND_IN]
    return CONFIGS


def run(ouro, config, path, timeout):
    env = ENVIRONMENT
    options = config.split()
    if config != PYTHON and not options[0].startswith("--"):
        env = ENVIRONMENTS[options.pop(0)]
    command = [sys.executable, path] if config == PYTHON else [ouro, "run", "--cache=off", *options, path]
    try:
        p = subprocess.run(command, capture_output=True, timeout=timeout, env=env, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "timeout", []
    # What was being done when the stack ended depends on how deep each tier's own calls are.
    text, errors = (re.sub("(maximum recursion depth exceeded)[^\n]*", r"\1", b.decode(errors="replace")) for b in (p.stdout, p.stderr))
    return (p.returncode if p.returncode == 0 else f"status {p.returncode}: {errors[-600:]}"), text.splitlines()


def write(path, programs):
    with open(path, "w") as f:
        f.write(programs[0].prelude + "\n".join(p.text() for p in programs))


def difference(programs, path, ouro, config, timeout, reference=None):
    """None, or (seeds that differ, what happened)."""
    write(path, programs)
    expected = reference or run(ouro, reference_of(config, programs), path, timeout)
    got = run(ouro, config, path, timeout)
    if expected[0] == "timeout" or (expected[0] != 0 and reference_of(config, programs) == PYTHON):
        return None  # a program that CPython does not take is one that shrinking has broken
    if got == expected:
        return None
    seeds = {line.split(" ", 1)[0] for a, b in zip(expected[1], got[1]) if a != b for line in (a, b)}
    if got[0] != expected[0]:
        behind = expected[1][len(got[1])] if len(got[1]) < len(expected[1]) else "0"
        seeds.add(behind.split(" ", 1)[0])
    first = next(((a, b) for a, b in zip(expected[1], got[1]) if a != b), ("", ""))
    return seeds, f"{config}\n--- {reference_of(config, programs)}: {expected[0]}\n{first[0][:1500]}\n--- {config}: {got[0]}\n{first[1][:1500]}\n"


def shrink(program, path, ouro, config, limit, timeout=30):
    end = time.monotonic() + limit
    again = True
    while again and time.monotonic() < end:
        again = False
        for undo in program.smaller():
            if time.monotonic() > end:
                undo()
                break
            if difference([program], path, ouro, config, timeout):
                again = True
                break
            undo()


def check(batch, args):
    """The seeds of a batch; those that differ are shrunk and reported. How many differ."""
    first, count = batch
    path = os.path.join(args.keep, f"batch{first}.ouro")
    programs = [args.program(seed) for seed in range(first, first + count)]
    for p in programs:
        p.prelude = args.prelude
    write(path, programs)
    timeout = 240 + 20 * count
    config = args.config or args.configs[first // count % len(args.configs)]
    if args.alone:
        return check_alone(programs, path, config, timeout, args)
    base = reference_of(config, programs)
    reference = run(args.ouro, base, path, timeout)
    failed = {}
    if reference[0] != 0:
        failed = {p.seed: (base, f"{reference[0]}\n{reference[1][-1:]}") for p in programs
                  if (run_one := single(p, args, base)) and run_one[0] != 0}
    known = reference if reference[0] == 0 else None
    if difference(programs, path, args.ouro, config, timeout, known):
        for p in programs:
            if p.seed in failed:
                continue
            alone = os.path.join(args.keep, f"program{p.seed}.ouro")
            found = difference([p], alone, args.ouro, config, 60)
            if found:
                failed[p.seed] = (config, found[1])
            else:
                os.remove(alone)
    for p in programs:
        if p.seed in failed:
            config, what = failed[p.seed]
            alone = os.path.join(args.keep, f"program{p.seed}.ouro")
            if args.shrink and config != base:
                shrink(p, alone, args.ouro, config, args.shrink)
                what = (difference([p], alone, args.ouro, config, 60) or (0, what))[1]
            write(alone, [p])
            print(f"seed {p.seed}: {alone}\n{what}", flush=True)
    os.remove(path)
    return len(failed)


def check_alone(programs, path, config, timeout, args):
    """One run, compared with nothing: it ends, and by itself. How many programs do not."""
    status = run(args.ouro, config, path, timeout)[0]
    os.remove(path)
    if status == 0:
        return 0
    found = [(p.seed, one[0]) for p in programs if (one := single(p, args, config)) and one[0] != 0]
    for seed, what in found or [(f"{programs[0].seed} and those behind it", status)]:
        print(f"seed {seed}: {config}\n{what}", flush=True)
    return max(1, len(found))


def single(program, args, config):
    path = os.path.join(args.keep, f"program{program.seed}.ouro")
    write(path, [program])
    result = run(args.ouro, config, path, 60)
    if result[0] == 0:
        os.remove(path)
    return result


def main(program, prelude, about, configs=configs):
    """`program(seed)` has text(), smaller() (changes that may be taken back) and seed; `prelude` stands before all of a batch."""
    p = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seed", type=int, default=0, help="of the first program")
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seconds", type=float, help="go on until then instead of counting")
    p.add_argument("--ouro", default=DEFAULT)
    p.add_argument("--keep", default=".", help="folder for programs that differ")
    p.add_argument("--config", help="options of the one configuration to compare with, instead of all in turn")
    p.add_argument("--alone", action="store_true", help="only run in that configuration: for crashes, many times as fast")
    p.add_argument("--batch", type=int, default=BATCH)
    p.add_argument("--shrink", type=float, default=60, help="seconds for shrinking one program; 0: none")
    p.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    p.add_argument("--print", action="store_true", help="print the first program and stop")
    args = p.parse_args()
    args.program, args.prelude, args.configs = program, prelude, configs(args)
    if args.print:
        print(prelude + program(args.seed).text(), end="")
        return 0
    os.makedirs(args.keep, exist_ok=True)
    end = time.monotonic() + args.seconds if args.seconds else None
    tried = differ = 0
    running = set()
    with ThreadPoolExecutor(args.jobs) as pool:
        while running or ((time.monotonic() < end) if end else (tried < args.count)):
            while len(running) < args.jobs and ((time.monotonic() < end) if end else (tried < args.count)):
                running.add(pool.submit(check, (args.seed + tried, args.batch), args))
                tried += args.batch
            done, running = wait(running, return_when=FIRST_COMPLETED)
            differ += sum(f.result() for f in done)
    print(f"{tried - differ} passed, {differ} failed")
    return 1 if differ else 0

