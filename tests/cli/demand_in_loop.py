"""What is asked for in the middle of a compiled loop holds from its next turn on (docs/demand.md, What happens)."""
import glob
import json
import os
import signal
import time

from harness.cli import bits, some, tags
from harness.common import TESTS

LOOP = '''
@jit
def loop(x, n):
    for i in range(n):
        x = x * 1.0000001 + 0.5
    return x

x = ones(6000000)
for n in (10, 11, 12):
    loop(x, n)
print("ready", flush=True)
loop(x, 1000000)
print("the end", flush=True)
'''


def worked(pid):
    """Milliseconds that the first thread has run, and the busiest of the others."""
    first, others = 0, [0]
    for file in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(file) as f:
                ms = int(f.read().split()[0]) / 1e6
        except OSError:  # it has ended
            continue
        if int(file.split("/")[4]) == pid:
            first = ms
        else:
            others.append(ms)
    return first, max(others)


@tags("jit", "threads")
def test_threads_change_in_the_middle_of_a_compiled_loop(t):
    if not os.path.exists("/proc/self/schedstat"):
        t.skip("the system does not tell what its threads do")
    runtime = t.path("runtime")
    os.makedirs(runtime, mode=0o700)
    env = {"XDG_RUNTIME_DIR": runtime}
    t.write("loop.ouro", LOOP)
    process = t.start("--threads=2", "--mode=graph", "loop.ouro", env=env)
    try:
        t.equal(process.stdout.readline(), "ready\n")

        # Time is what the first thread has run: however busy the machine is, both are measured by the same turns of the loop.
        def second(while_first_runs):
            """Milliseconds that the second thread runs while the first one does."""
            first, other = worked(process.pid)
            end = time.monotonic() + 60
            while worked(process.pid)[0] < first + while_first_runs and time.monotonic() < end:
                time.sleep(0.01)
            return worked(process.pid)[1] - other

        for turn in range(2):
            second(100)
            # Where others keep the processors busy it may find no work left for a while.
            t.check(any(second(150) > 15 for _ in range(20)), "the loop does not use its second thread")
            t.equal(t.run("ctl", str(process.pid), "set", "threads=1", env=env).out, "")
            second(30)
            alone = second(150)
            t.check(alone < 15, f"the second thread goes on though one was asked for: {alone} ms")
            t.equal(t.run("ctl", str(process.pid), "set", "threads=2", env=env).out, "")
        t.check(process.poll() is None, "the loop was at its end before all was seen")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


# As a bf16 number 1 + 1/512 is 1: then a turn adds nothing, and the sum tells how many turns were done in f32.
PRODUCTS = '''
import sys

@jit
def loop(x, y, n):
    for i in range(n):
        y = y + ((x + 0 * y) @ x - 128)
    return y

x = full((128, 128), 1 + 1 / 512)
for n in (10, 11, 12):
    loop(x, zeros(128, 128), n)
each = loop(x, zeros(128, 128), 1)[0, 0].item()
print("ready", flush=True)
print("done", loop(x, zeros(128, 128), {turns})[0, 0].item() / each / {turns}, flush=True)
'''


def state(t, process, env):
    return json.loads(t.run("ctl", str(process.pid), "get", "--json", env=env).out)


@tags("jit", "threads")
def test_the_precision_changes_in_the_middle_of_a_compiled_loop(t):
    """Part of the turns is done in f32, the rest in bf16, and the call does not begin again. What waits for its end does not hold the rest up."""
    runtime = t.path("runtime")
    os.makedirs(runtime, mode=0o700)
    env = {"XDG_RUNTIME_DIR": runtime, "OURO_CHECK_PLANS": "0"}
    t.write("loop.ouro", PRODUCTS.format(turns=60000))
    process = t.start("--threads=1", "--mode=graph", "loop.ouro", env=env)
    try:
        t.equal(process.stdout.readline(), "ready\n")
        time.sleep(0.1)
        t.equal(t.run("ctl", str(process.pid), "set", "precision=bf16", "micro_batch=16", env=env).out, "")
        end = time.monotonic() + 120
        while "loop: in the middle of a loop" not in t.run("ctl", str(process.pid), "get", env=env).out:
            t.check(process.poll() is None and time.monotonic() < end, "the loop has ended in the old precision")
            time.sleep(0.01)
        t.equal(t.run("ctl", str(process.pid), "set", "precision=none", env=env).out, "")
        out, err = process.communicate(timeout=300)
        done, share = out.split()
        t.equal((done, err), ("done", ""))
        alone = t.run("--threads=1", "--mode=graph", "loop.ouro", env=env).out.split()[2]
        t.check(0.0 < float(share) < float(alone), f"of the turns in f32: {share}, in a run of its own {alone}")
    finally:
        process.kill()
        process.communicate()


LOOPS = ("run/compiled/*loop*", "run/grad/*loop*", "run/compiled/items_by_data*", "run/nn/recurrent*", "run/demand/*")


@bits
def test_runs_go_on_in_another_plan_at_each_head_with_the_same_bits(t):
    """Stress mode: at the head of each loop of the program the run goes on in the other one of two plans, of which one computes again what it can."""
    paths = sorted(p for pattern in LOOPS for p in glob.glob(os.path.join(TESTS, pattern + ".ouro")))
    t.check(len(paths) > 7, paths)
    for path in some(paths, 3):
        def output(**env):
            done = t.run("--mode=graph", path, cwd=os.path.dirname(path), env=env, status=None)
            return done.status, done.out
        t.equal(output(OURO_STRESS_MOVES="1"), output())


TRAINING = '''
import sys
from ouro import grad

@jit
def train(ws, x, n):
    for i in range(n):
        def loss(ws):
            h = x
            for w in ws:
                h = (h @ w).tanh() + h * 0.5
            return (h ** 2).mean()
        ws = tuple([w - 0.05 * d for w, d in zip(ws, grad(loss)(ws))])
    return ws

manual_seed(3)
x = randn(1024, 64)
ws = tuple([randn(64, 64) * 0.1 for _ in range(12)])
train(ws, x, 1)
print("ready", flush=True)
print("done", *[w.sum().item() for w in train(ws, x, {turns})], flush=True)
'''


def memory_given_back(t, turns):
    """What a loop of so many turns said, in which a goal of memory was met and taken back; None where it ended before that."""
    runtime = t.path(f"runtime{turns}")
    os.makedirs(runtime, mode=0o700)
    env = {"XDG_RUNTIME_DIR": runtime, "OURO_CHECK_PLANS": "0"}
    t.write("loop.ouro", TRAINING.format(turns=turns))
    process = t.start("--threads=1", "--mode=graph", "loop.ouro", env=env)

    def asked(memory, seen):
        """Asks for so much, and waits until it is seen that this holds; False where the loop is at its end."""
        if t.run("ctl", str(process.pid), "set", f"memory={memory}", env=env, status=None).status != 0:
            t.check(process.wait(60) == 0, f"memory={memory} was refused")
            return False
        end = time.monotonic() + 120
        while True:
            done = t.run("ctl", str(process.pid), "get", "--json", env=env, status=None)
            if done.status != 0:
                t.check(process.wait(60) == 0, f"memory={memory}: {done.err}")
                return False
            if seen(json.loads(done.out)):
                return True
            t.check(time.monotonic() < end, f"memory={memory}: nothing came of it")
            time.sleep(0.01)

    try:
        t.equal(process.stdout.readline(), "ready\n")
        # The first looks at memory are those of the call itself, once it has gone on for a while.
        if not (asked("2G", lambda s: s["measures"]["memory"] > 0)
                and asked("45%", lambda s: s["running"].get("temporaries") and s["targets"]["memory"]["met"])
                and asked("none", lambda s: not s["running"].get("temporaries"))):
            return None
        in_the_middle = process.poll() is None
        out, err = process.communicate(timeout=300)
        t.equal(err, "")
        return out if in_the_middle and out.startswith("done") else None
    finally:
        process.kill()
        process.communicate()


@bits
def test_memory_is_given_back_in_the_middle_of_a_compiled_loop(t):
    """A goal is met, and taken back, while one call goes on; the result has the same bits."""
    # On a machine that is slow at compiling and fast at loops the shorter ones end before the goal is met.
    for turns in (500, 1000, 2500):
        said = memory_given_back(t, turns)
        if said:
            t.equal(said, t.run("--mode=graph", "loop.ouro").out.replace("ready\n", ""))
            return
    t.check(False, "the loop was at its end before the goal was met and taken back")
