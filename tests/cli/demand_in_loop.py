"""What is asked for in the middle of a compiled loop holds from its next turn on (docs/demand.md, What happens)."""
import glob
import os
import signal
import time

from harness.cli import tags

LOOP = '''
@jit
def loop(x, n):
    for i in range(n):
        x = x * 1.0000001 + 0.5
    return x

x = ones(2000000)
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
