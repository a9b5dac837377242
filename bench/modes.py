"""The mode auto beside eager: whole scripts, process start included, in paired runs. A script is never to be slower in auto: at most 1.05 times
eager's time and 5 ms. Each runs with the disk cache of compiled code empty, and once more with what that run left."""
import glob
import os
import statistics
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MOST_RATIO, MOST_MS = 1.05, 5.0
MOST_SECONDS = 600


def scripts(filters):
    """[(name, path)]: the model programs, the storms, the scripts of tests/run and tests/lang."""
    found = []
    for folder in ("tests/models", "bench/storm", "tests/run", "tests/lang"):
        for path in sorted(glob.glob(os.path.join(ROOT, folder, "**", "*.ouro"), recursive=True)):
            if not os.path.basename(path).startswith("_"):
                found.append((os.path.relpath(path, ROOT), path))
    return [f for f in found if not filters or any(part in f[0] for part in filters)]


def seconds(ouro, mode, path, cache):
    env = dict(os.environ, XDG_CACHE_HOME=cache, OURO_CACHE="on")
    start = time.monotonic()
    process = subprocess.Popen([ouro, f"--mode={mode}", path], cwd=os.path.dirname(path), env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stop = threading.Timer(MOST_SECONDS, process.kill)
    stop.start()
    status = process.wait()  # without a timeout: with one, Python looks every 50 ms only
    stop.cancel()
    return time.monotonic() - start if status == 0 else None


def measure(ouro, path, pairs):
    """Medians of eager, of auto with nothing compiled before, and with everything; None where it fails."""
    eager, first, second = [], [], []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as cache:
            for times, mode in ((eager, "eager"), (first, "auto"), (second, "auto")):
                t = seconds(ouro, mode, path, cache)
                if t is None:
                    return None
                times.append(t)
    return [statistics.median(times) for times in (eager, first, second)]


def measure_modes(ouro, filters, pairs):
    """Prints each script's times; false when one is slower than it may be."""
    rows = []
    for name, path in scripts(filters):
        times = measure(ouro, path, pairs)
        if times is None:
            continue
        rows.append((name, *times))
        eager, first, second = times
        slower = first > MOST_RATIO * eager + MOST_MS / 1e3
        print(f"{name:44} eager {eager * 1e3:9.1f} ms   auto {first * 1e3:9.1f} ms ({first / eager:5.2f}x)   again {second * 1e3:9.1f} ms ({second / eager:5.2f}x)"
              f"{'   SLOWER' if slower else ''}", flush=True)
    slower = [r for r in rows if r[2] > MOST_RATIO * r[1] + MOST_MS / 1e3]
    again = [r for r in rows if r[3] > MOST_RATIO * r[1] + MOST_MS / 1e3]
    total = [sum(r[k] for r in rows) for k in (1, 2, 3)]
    print(f"{len(rows)} scripts: eager {total[0]:.1f} s, auto {total[1]:.1f} s, auto again {total[2]:.1f} s; "
          f"slower than {MOST_RATIO}x and {MOST_MS:.0f} ms: {len(slower)} at first, {len(again)} again")
    return not slower
