"""The example, on a small data set of the same form: modes, threads, a checkpoint at any moment."""
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _idx
import _safetensors
from harness.cli import bits, tags


class Runs:
    def __init__(self, t, train=640, test=200):
        self.t, self.cache = t, t.path("cache")
        _idx.write_fashion(self.cache, train, test)
        self.example = os.path.join(t.root, _idx.EXAMPLE)
        self.env = dict(t.suite.environment(), XDG_CACHE_HOME=self.cache)

    def run(self, *arguments, mode="auto", options=(), timeout=120):
        return self.t.suite.execute(
            [self.t.ouro, "run", f"--mode={mode}", *options, self.example, *arguments],
            cwd=self.t.folder, env=self.env, timeout=timeout)

    def good(self, *arguments, **options):
        done = self.run(*arguments, **options)
        self.t.check(done.status == 0, f"status {done.status}\n{done.err[-2000:]}")
        return done

    def bytes(self, name):
        with open(self.t.path(name), "rb") as f:
            return f.read()


@tags("jit")
def test_modes_and_threads_give_the_same_bits(t):
    runs = Runs(t, *(256, 80) if t.suite.sanitized else ())
    outputs = {}
    for name, mode, options in [("eager", "eager", []), ("graph", "graph", []), ("auto", "auto", []),
                                ("two", "graph", ["--threads=2"]),
                                ("one", "eager", ["--threads=1"])]:
        done = runs.good("--epochs", "1", "--checkpoint", name, "--every", "3", mode=mode,
                         options=options)
        outputs[name] = (done.out, runs.bytes(name))
    for name, output in outputs.items():
        t.check(output[0] == outputs["eager"][0], f"{name} prints something else than eager")
        t.check(output[1] == outputs["eager"][1], f"{name} has other weights than eager")
    last = outputs["eager"][0].splitlines()[-1]
    t.check(re.fullmatch(r"test accuracy: \d\.\d{4}", last), last)


@bits
def test_it_learns(t):
    runs = Runs(t, 1280, 300)
    done = runs.good("--epochs", "3")
    t.check(float(done.out.split()[-1]) > 0.9, done.out)
    tensors, metadata = _safetensors.read(t.path("fashion_mnist.safetensors"))
    t.equal(metadata["epoch"], "3")
    t.equal(len([name for name in tensors if name.startswith("model.")]), 10)
    t.equal(len([name for name in tensors if name.startswith("opt.")]), 20)


def test_killed_at_any_moment_it_resumes_with_the_same_bits(t):
    runs = Runs(t)
    arguments = ["--epochs", "2", "--every", "1", "--checkpoint"]
    whole = runs.good(*arguments, "whole")

    def written():
        try:
            return os.stat(t.path("part")).st_mtime_ns
        except FileNotFoundError:
            return 0

    chance = random.Random(5)
    killed = 0
    for _ in range(8):
        resume = ["--resume"] if os.path.exists(t.path("part")) else []
        process = subprocess.Popen([t.ouro, "run", runs.example, *arguments, "part", *resume],
                                   cwd=t.folder, env=runs.env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        last, left = written(), chance.randint(1, 3)  # checkpoints, and a moment more
        while left and process.poll() is None:
            if written() != last:
                last, left = written(), left - 1
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.01))
        if process.poll() is None:
            killed += 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        if os.path.exists(t.path("part")):
            _safetensors.read(t.path("part"))  # whole
    t.check(killed > 0, "it was never killed")
    done = runs.good(*arguments, "part", *(["--resume"] if os.path.exists(t.path("part")) else []))
    t.equal(done.out.splitlines()[-1], whole.out.splitlines()[-1])
    t.check(runs.bytes("part") == runs.bytes("whole"), "the resumed run has other bits")


def test_ctrl_c_leaves_the_last_checkpoint_whole(t):
    runs = Runs(t)
    process = subprocess.Popen([t.ouro, "run", runs.example, "--epochs", "1000", "--every", "1",
                                "--checkpoint", "c"], cwd=t.folder, env=runs.env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if os.path.exists(t.path("c")):
            break
        time.sleep(0.1)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    t.equal(process.returncode, -signal.SIGINT)
    t.has(err, "KeyboardInterrupt")
    _safetensors.read(t.path("c"))
    t.equal(sorted(os.listdir(t.folder)), ["c", "cache"])


def test_progress_is_plain_lines_without_a_terminal(t):
    runs = Runs(t)
    done = runs.good("--epochs", "1")
    t.check("\r" not in done.out + done.err and "\x1b" not in done.out + done.err,
            "control characters without a terminal")
