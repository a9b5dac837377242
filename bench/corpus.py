"""The scripts that CPython is the oracle of (tests/lang), process start included: Ouro beside CPython."""
import glob
import os
import statistics
import subprocess
import time

PYTHON = "/usr/bin/python3"
MODES = ("eager", "auto")
GOAL = 0.7
MOST = 5  # seconds of CPython: one script must not be the total


def timed(command, folder, environment):
    """(seconds, status)"""
    start = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          cwd=folder, env=environment, timeout=120)
    return time.perf_counter() - start, done.returncode


def runs(path):
    """Scripts with arguments, input, or modules of their own beside them (which CPython looks for as .py) are left out."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    return not ("\n# args:" in text or text.startswith("# args:") or "import _" in text or "from _" in text
                or os.path.exists(path + ".in"))


def measure_corpus(ouro, root, rounds, environment):
    """Prints the ratio of the totals of each mode; false when one is over the goal. The least of `rounds` for each script
    and program: what else the machine does only adds to it."""
    folder, sides = os.path.join(root, "tests", "lang"), ("python3", *MODES)
    paths = sorted(p for p in glob.glob(os.path.join(folder, "**", "*.ouro"), recursive=True)
                   if not os.path.basename(p).startswith("_") and runs(p))
    times, left_out = {}, 0
    for path in paths:
        commands = {"python3": [PYTHON, path], **{m: [ouro, "run", f"--mode={m}", path] for m in MODES}}
        each, status = {side: [] for side in sides}, {}
        for i in range(rounds):
            for side in sides[i % 3:] + sides[:i % 3]:  # who goes first changes
                seconds, status[side] = timed(commands[side], os.path.dirname(path), environment)
                each[side].append(seconds)
        if len(set(status.values())) == 1 and min(each["python3"]) <= MOST:
            times[path] = {side: min(values) for side, values in each.items()}
        else:
            left_out += 1
    total = {side: sum(t[side] for t in times.values()) for side in sides}
    good = bool(times)
    for mode in MODES:
        ratio = total[mode] / total["python3"]
        median = statistics.median(t[mode] / t["python3"] for t in times.values())
        good &= ratio <= GOAL
        print(f"corpus, {mode:<5} {len(times)} scripts   ouro {total[mode]:.2f} s  python3 {total['python3']:.2f} s  "
              f"ratio {ratio:.3f}  {'at most' if ratio <= GOAL else 'MISSES'} {GOAL}; median of the scripts' {median:.3f}",
              flush=True)
    if left_out:
        print(f"  left out, as they do not end alike or take CPython over {MOST} s: {left_out}")
    longest = max(times, key=lambda p: times[p]["python3"])
    print(f"  the longest of CPython: {os.path.relpath(longest, folder)}, {times[longest]['python3']:.2f} s")
    worst = sorted(times, key=lambda p: times[p]["eager"] - times[p]["python3"])[-5:]
    for path in reversed(worst):
        t = times[path]
        print(f"  {os.path.relpath(path, folder):<44} eager {t['eager']:.3f}  auto {t['auto']:.3f}  python3 {t['python3']:.3f}")
    return good
