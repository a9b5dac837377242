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

x = ones(1000000)
loop(x, 10)
loop(x, 10)
print("ready", flush=True)
loop(x, 1000000)
print("the end", flush=True)
'''


def worked(pid):
    """Nanoseconds that each thread but the first has run."""
    out = {}
    for file in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        thread = int(file.split("/")[4])
        if thread != pid:
            try:
                with open(file) as f:
                    out[thread] = int(f.read().split()[0])
            except OSError:  # it has ended
                pass
    return out


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

        def busy(least, seconds):
            """Has a worker run so many nanoseconds more?"""
            before, end = worked(process.pid), time.monotonic() + seconds
            while time.monotonic() < end:
                if any(ns > before.get(thread, 0) + least for thread, ns in worked(process.pid).items()):
                    return True
                time.sleep(0.01)
            return False

        for turn in range(2):
            t.check(busy(20e6, 30), "the loop does not use its second thread")
            t.equal(t.run("ctl", str(process.pid), "set", "threads=1", env=env).out, "")
            time.sleep(0.1)
            t.check(not busy(20e6, 0.5), "the second thread goes on though one was asked for")
            t.equal(t.run("ctl", str(process.pid), "set", "threads=2", env=env).out, "")
        t.check(busy(20e6, 30), "the second thread did not come back")
        t.check(process.poll() is None, "the loop was at its end before all was seen")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
