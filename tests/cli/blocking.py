"""What would wait in the kernel for ever: `--time` ends it, and so does Ctrl-C, from which a script goes on."""
import os
import signal
import subprocess
import tempfile
import time

# {fifo}: a named pipe that nobody opens. FULL fills it: `f` is a file on it
# that HELD lets hold some text.
FULL = """import os
q = os.open('{fifo}', os.O_RDWR)
w = os.open('{fifo}', os.O_WRONLY | os.O_NONBLOCK)
try:
    while True: os.write(w, b'x' * 4096)
except BlockingIOError: w = os.open('{fifo}', os.O_WRONLY)
f = open('{fifo}', {mode})
"""
WRITER, BOTH = FULL.replace("{mode}", "'w'"), FULL.replace("{mode}", "'r+'")
HELD = ("s = f.fileno(); t = os.open('/dev/null', os.O_WRONLY); k = os.dup(s); os.dup2(t, s); f.write('x'); f.write('text'); os.dup2(k, s)\n")
CASES = {
    "os.open to read": ("import os", "os.open('{fifo}', os.O_RDONLY)"),
    "os.open to write": ("import os", "os.open('{fifo}', os.O_WRONLY)"),
    "open with a number": ("import os", "open('{fifo}', opener=lambda p, n: os.open(p, n))"),
    "close": (WRITER + HELD, "f.close()"),
    "flush": (WRITER + HELD, "f.flush()"),
    "seek": (WRITER + HELD, "f.seek(0)"),
    "truncate": (WRITER + HELD, "f.truncate(0)"),
    "with": (WRITER + HELD, "with f: pass"),
    "read behind a write": (BOTH + HELD, "os.read(q, 70000); os.read(q, 70000); f.read(100000)"),
    "output on a full pipe": (WRITER + "print('x' * 9000, flush=True); k = os.dup(1)\n",
                              "try: os.dup2(w, 1); print('x' * 9000, flush=True)\n    finally: os.dup2(k, 1)"),
    "a file that became a full pipe": (WRITER + "g = open(os.path.join(os.path.dirname('{fifo}'), 'plain'), 'w'); g.write('x' * 9000); g.flush()\n",
                                       "os.dup2(w, g.fileno()); g.write('x' * 90000)"),
}
SCRIPT = """
{before}
print('go', flush=True)
try:
    {statement}
    print('ended', flush=True)
except KeyboardInterrupt:
    print('caught', flush=True)
"""


def started(t, before, statement, folder, *options):
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    text = SCRIPT.replace("{before}", before).replace("{statement}", statement).replace("{fifo}", fifo)
    return subprocess.Popen([t.ouro, *options, "-c", text], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=t.suite.environment())


def outcome(process, name):
    """Its lines, and what it says of errors."""
    try:
        out, err = process.communicate(timeout=20)
        return [line for line in out.splitlines() if not line.startswith("x")], err
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return [f"{name} waits"], ""


def all_started(t, folder, *options):
    """A list of (name, process), one for each case. They run side by side, for they only wait."""
    processes = []
    for name, (before, statement) in CASES.items():
        own = os.path.join(folder, str(len(processes)))
        os.mkdir(own)
        processes.append((name, started(t, before, statement, own, *options)))
    return processes


def test_an_interrupt_ends_what_waits(t):
    with tempfile.TemporaryDirectory() as folder:
        processes = all_started(t, folder)
        begun = {name: next(line for line in process.stdout if line[0] != "x") for name, process in processes}
        for i in range(3):  # what the end of the program would write to the pipe waits, too
            time.sleep(0.3)
            for _, process in processes:
                process.send_signal(signal.SIGINT)
        for name, process in processes:
            t.equal((name, [begun[name], *outcome(process, name)[0]]), (name, ["go\n", "caught"]))


def test_the_time_limit_ends_what_waits(t):
    limit = "5" if t.suite.sanitized else "1.5"  # they have to begin before, on a busy machine, too
    with tempfile.TemporaryDirectory() as folder:
        for name, process in all_started(t, folder, f"--time={limit}"):
            lines, err = outcome(process, name)
            t.equal((name, lines), (name, ["go"]))
            t.has(err, f"TimeoutError: the time limit of {limit} s is over")


def test_the_end_of_a_program_waits_for_no_longer_than_the_time(t):
    for statement in ("pass", "del f", "import sys; sys.exit(3)"):
        with tempfile.TemporaryDirectory() as folder:
            process = started(t, WRITER + HELD, statement, folder, "--time=1")
            t.equal(outcome(process, statement)[0], ["go", "ended"] if statement == "pass" else ["go"])


def test_a_file_that_is_not_regular_is_no_module(t):
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(os.path.join(folder, "pipe.ouro"))
        os.symlink("/dev/zero", os.path.join(folder, "endless.py"))
        os.mkdir(os.path.join(folder, "package"))
        os.mkfifo(os.path.join(folder, "package", "__init__.py"))
        for name in ("pipe", "endless"):
            done = t.run("-c", f"import {name}", status=1, env=dict(t.suite.environment(), OUROPATH=folder), timeout=20)
            t.has(done.err, f"ModuleNotFoundError: No module named '{name}'")


def test_data_of_a_named_pipe_is_refused(t):
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        for call in (f"import ouro.nn as nn\nnn.load({fifo!r})", f"import ouro.native.idx as idx\nidx.read({fifo!r})"):
            t.has(t.run("-c", call, status=1, timeout=20).err, "not a regular file")


def test_a_number_opened_to_read_waits_for_a_writer(t):
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        reader = subprocess.Popen([t.ouro, "-c", f"import os\nn = os.open({fifo!r}, os.O_RDONLY)\nprint(os.read(n, 99))"], stdout=subprocess.PIPE, text=True,
                                  env=t.suite.environment())
        time.sleep(0.2)
        t.run("-c", f"import os\nn = os.open({fifo!r}, os.O_WRONLY)\nos.write(n, b'what was written')")
        t.equal(reader.communicate(timeout=60)[0], "b'what was written'\n")


def test_what_a_reader_takes_late_is_whole(t):
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        writer = subprocess.Popen([t.ouro, "-c", f"f = open({fifo!r}, 'w')\nfor i in range(50000): f.write(str(i) + '\\n')"], env=t.suite.environment())
        with open(fifo) as f:
            time.sleep(1.5)
            t.equal(f.read(), "".join(f"{i}\n" for i in range(50000)))
        t.equal(writer.wait(timeout=60), 0)
