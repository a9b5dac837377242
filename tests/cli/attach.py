"""`ouro attach PID`: statements in a running program, between two of its steps (docs/demand.md)."""
import os
import signal
import socket
import subprocess
import time

from harness.cli import tags

TRAINING = '''
from ouro import nn, optim, demand
import sys
model = nn.Linear(8, 1)
opt = optim.SGD(model, lr=0.01)
x = randn(32, 8)

@jit
def step(x):
    loss, grads = value_and_grad(lambda m: m(x).square().mean())(model)
    opt.update(grads)
    return loss

steps, stop, batch = 0, False, 16
print("ready", flush=True)
while not stop:
    loss = step(x[:batch])
    steps += 1
    if steps % 500 == 0:
        demand.report()
print("stopped", type(opt).__name__, opt.lr, batch, flush=True)
'''


def _running(t, text):
    runtime = t.path("runtime")
    os.makedirs(runtime, mode=0o700, exist_ok=True)
    env = {"XDG_RUNTIME_DIR": runtime}
    t.write("train.ouro", text)
    process = t.start("--threads=2", "train.ouro", env=env)
    t.check(process.stdout.readline() == "ready\n", "it does not start")
    path, until = os.path.join(runtime, "ouro", f"{process.pid}.sock"), time.monotonic() + 60
    while not os.path.exists(path) and time.monotonic() < until:  # it listens from its first operation on tensors that may use threads on
        time.sleep(0.02)
    return process, env


@tags("threads")
def test_a_run_is_seen_and_changed_between_its_steps(t):
    process, env = _running(t, TRAINING)
    pid = str(process.pid)

    def attached(text, **options):
        return t.run("attach", pid, "-c", text, env=env, **options).out

    try:
        t.equal(attached("1 + 1"), "2\n")
        first = int(attached("print(steps)"))
        until = time.monotonic() + 60
        while (later := int(attached("print(steps)"))) == first >= 0 and time.monotonic() < until:
            pass
        t.check(later > first >= 0, "it does not go on")
        # A whole session, as somebody types it: statements, a block, an error, which ends nothing.
        typed = "opt.lr\nfor i in range(2):\n    print(i)\n\nmissing\n?opt\n:explain step\n'again'\n"
        done = t.run("attach", pid, env=env, stdin=typed)
        told = done.out
        t.equal(done.err, "Only statements run there: help(x) tells what x is.\n" * 2)
        t.check(told.startswith("0.01\n0\n1\nTraceback (most recent call last):\n") and told.endswith("'again'\n"), told)
        t.has(told, "NameError: name 'missing' is not defined")
        t.equal(attached("opt = optim.Adam(model, lr=0.5)\nopt.lr = 0.25\nbatch = 4"), "")
        t.equal(attached("demand.set(precision='bf16', threads=1)"), "")
        t.equal(attached("raise KeyError('it')").splitlines()[-1], "KeyError: 'it'")
        t.equal(attached("raise KeyboardInterrupt").splitlines()[-1], "KeyboardInterrupt")
        t.equal(t.run("ctl", pid, "do", "recompute", env=env).out, "recompute is ordered for the next place between two steps; the log tells what comes of it\n")
        t.equal(attached("print(demand.report()['asked']['threads'])"), "('1', 'script')\n")
        t.equal(attached("1 +").splitlines()[-1].split(":")[0], "SyntaxError")
        t.equal(attached("print('ä'); stop = True"), "ä\n")
        t.equal(process.communicate(timeout=60)[0], "stopped Adam 0.25 4\n")
    finally:
        process.kill()
        process.communicate()


def test_what_a_client_wanted_who_has_gone_is_not_run(t):
    process, env = _running(t, '''
import time
from ouro import demand
x = randn(64, 64) @ randn(64, 64)
input("ready\\n")           # no place between two steps
until = time.monotonic() + 60
while "here" not in globals() and time.monotonic() < until:
    time.sleep(0.001)
print("gone" in globals(), "here" in globals(), flush=True)
''')
    path = os.path.join(env["XDG_RUNTIME_DIR"], "ouro", f"{process.pid}.sock")
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(b'run "gone = 1"\n')
            time.sleep(0.3)
        time.sleep(3 if t.suite.sanitized else 0.5)  # until the program has seen that it is gone
        process.stdin.write("\n")
        process.stdin.flush()
        t.equal(t.run("attach", str(process.pid), "-c", "here = 1", env=env).out, "")
        t.equal(process.communicate(timeout=60)[0], "False True\n")
    finally:
        process.kill()
        process.communicate()


def test_what_is_asked_wrongly_is_told(t):
    t.equal(t.run("attach", status=2).err, "ouro: attach needs the number of a process\nTry `ouro help'.\n")
    t.equal(t.run("attach", "x", status=2).err, "ouro: 'x' is not the number of a process\nTry `ouro help'.\n")
    t.equal(t.run("attach", "1", "y", status=2).err, "ouro: attach takes nothing else but -c CODE\nTry `ouro help'.\n")
    gone = subprocess.Popen(["true"])
    gone.wait()
    t.equal(t.run("attach", str(gone.pid), status=1).err, f"ouro: there is no process {gone.pid}\n")


def test_a_library_loop_is_visited_too_and_a_program_that_ends_answers_nobody(t):
    process, env = _running(t, '''
from ouro import nn, optim, train, data
x = randn(64, 8)
seen = []
print("ready", flush=True)
model = nn.Linear(8, 1)
train.fit(model, nn.MSELoss(), optim.SGD(model, lr=0.01), data.loader(data.TensorDataset(x, x.sum(1, keepdim=True)), 16, shuffle=True), epochs=1000000, show=False)
''')
    pid = str(process.pid)
    try:
        t.equal(t.run("attach", pid, "-c", "seen.append(7); print(seen, model.weight.shape)", env=env).out, "[7] (1, 8)\n")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    t.equal(t.run("attach", pid, "-c", "1", env=env, status=1).out, "")
