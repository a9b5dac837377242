"""What every kind of test shares: the suite, the job, running a program, the report."""
import difflib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TESTS = os.path.join(ROOT, "tests")

# The modes that scripts run in (Suite.tier) where --modes names none. A sanitizer sees the interpreter and one way through
# the compiler: code that it makes is not instrumented, and a script without tensors is compiled in `everything` alone.
# Some kinds of tests take fewer modes. Rows of operations are under jit, which auto compiles as graph does. Scripts of tests/run
# have few classes: tests/lang and the random programs test the protocol of classes in Ouro (text). In stress and exits a
# function goes on in the interpreter from the instruction where it left, so the interpreter is tested, too.
MODES = "eager graph auto stress text everything exits".split()
PLAIN_MODES = {"run": [m for m in MODES if m != "text"], "ops": ["eager", "graph", "stress"]}
SANITIZED_MODES = {"asan": {"lang": ["eager", "everything"], "run": ["stress"], "ops": ["stress"], "": ["eager", "stress"]},
                   "tsan": {"run": ["auto"], "": ["graph", "auto"]}}
# Scripts of these kinds run in one of the modes above each, which their names decide.
ONE_MODE_OF = {"asan": ("lang",)}
# Of tests of these kinds one in so many runs. Their names and the commit decide which: after some commits all have run. Tests
# that are asked for by name run, and with OURO_ALL_CASES all do.
ONE_IN = {} if "OURO_ALL_CASES" in os.environ else {"asan": {"run": 3, "cli": 3}}
# Scripts of these kinds run in exits or in everything, which their names decide: either compiles much of the library.
EXITS_OR_EVERYTHING = ("run",)
SHARED_CACHE = {"OURO_CACHE": "on", "OURO_CACHE_BYTES": "4G"}


@functools.cache
def commit():
    """A number for the commit that is tested; 0 where there is no repository."""
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
    return int(done.stdout[:8], 16) if done.returncode == 0 else 0


@dataclass
class Done:
    """How a program ended. status is negative for a signal, "timeout" when it was stopped."""
    status: object
    out: str
    err: str


@dataclass
class Result:
    """One test. problem is empty when it passed; skipped says why it did not run."""
    name: str
    problem: str = ""
    skipped: str = ""


@dataclass
class Job:
    """A unit of work for one thread: run() gives the results of one or more tests."""
    name: str
    run: object
    weight: float = 1.0


@dataclass
class Suite:
    folder: str
    tags: list
    args: object
    scratch: str = field(init=False)

    def __post_init__(self):
        self.name = os.path.basename(self.folder)
        self.sanitizer = self.name[-4:] if self.name.endswith(tuple(SANITIZED_MODES)) else ""
        self.sanitized = bool(self.sanitizer)
        self.modes = self.modes_of("")
        self.scratch = os.path.join(self.folder, "test-scratch")
        if self.args.list:
            return
        shutil.rmtree(self.scratch, ignore_errors=True)
        if os.path.isdir(self.folder):
            os.makedirs(os.path.join(self.scratch, "cache", "ouro"))
            self._link_data()

    def _link_data(self):
        """Tests have a cache folder of their own, with the user's data sets in it."""
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        data = os.path.join(home, "ouro", "data")
        if os.path.isdir(data):
            os.symlink(data, os.path.join(self.scratch, "cache", "ouro", "data"))

    def has_data(self, names):
        """Are these data sets in the cache? What needs others is left out."""
        return all(os.path.isdir(os.path.join(self.scratch, "cache", "ouro", "data", name))
                   for name in names)

    def stand_in_gpu(self):
        """The environment in which programs find the stand-in for NVIDIA's driver (tests/gpu); with OURO_REAL_GPU, the
        machine's own."""
        return {} if "OURO_REAL_GPU" in os.environ else {"LD_LIBRARY_PATH": os.path.abspath(os.path.join(self.folder, "gpu"))}

    @property
    def ouro(self):
        return os.path.abspath(self.args.ouro) if self.args.ouro else self.program("ouro")

    def program(self, name):
        """The path of a built program, or None."""
        path = os.path.join(self.folder, name)
        return path if os.access(path, os.X_OK) and not os.path.isdir(path) else None

    def modes_of(self, kind):
        """In which modes tests of this kind run ("lang", …)."""
        if self.args.modes:
            return [m for m in self.args.modes.split(",") if m]
        table = SANITIZED_MODES.get(self.sanitizer, PLAIN_MODES)
        return table.get(kind) or table.get("") or MODES

    def in_turn(self, kind, name):
        """Is it this test's turn, where only one in so many of its kind runs?"""
        n = ONE_IN.get(self.sanitizer, {}).get(kind, 1)
        return n == 1 or self.args.filter or (zlib.crc32(name.encode()) // 2 + commit()) % n == 0

    def wants(self, name):
        return not self.args.filter or any(f in name for f in self.args.filter)

    def tagged(self, tags):
        return not self.tags or any(t in self.tags for t in tags)

    def environment(self):
        env = dict(os.environ, PYTHONHASHSEED="0", LC_ALL="C.UTF-8", TERM="dumb",
                   XDG_CACHE_HOME=os.path.join(self.scratch, "cache"),
                   XDG_RUNTIME_DIR=os.path.join(self.scratch, "runtime"))
        env.pop("CI", None)
        env["OURO_CACHE"] = "off"  # execute() turns it on in the mode graph
        env.pop("OURO_CACHE_BYTES", None)
        env["OURO_CHECK_PLANS"] = "1"  # jit/plan/check follows every plan; memory without a value is poisoned
        env["OURO_COMPILE_AFTER"] = "0"  # the mode auto compiles what is called twice, however short the script
        env["OURO_ABORT_ON_BUG"] = "1"  # a bug of the compiler is no fallback here
        # Leaks are not looked for: the prompt leaves memory behind when it ends.
        # Where a block of thread-local storage begins 16 bytes into a page the sanitizers take what lies before it for
        # glibc 2.19's header, and clear as many bytes as it happens to say: intercept_tls_get_addr=0 keeps them off.
        env["ASAN_OPTIONS"] = "intercept_tls_get_addr=0:detect_leaks=0:abort_on_error=0:handle_segv=1:exitcode=86:allocator_may_return_null=1"
        env["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1:exitcode=86"
        # atexit_sleep_ms: a process of several threads would wait a whole second when it ends.
        env["TSAN_OPTIONS"] = "intercept_tls_get_addr=0:halt_on_error=1:exitcode=86:allocator_may_return_null=1:atexit_sleep_ms=20"
        return env

    def temporary(self):
        return tempfile.mkdtemp(dir=self.scratch)

    def arguments(self, given):
        """A script's own: {scratch} is an empty folder, another one at each run."""
        return [a.replace("{scratch}", self.temporary()) if "{scratch}" in a else a for a in given]

    @staticmethod
    def tier(mode):
        """The option and the environment of a mode. `stress` is graph mode in which a compiled function leaves to the
        interpreter at its first instruction, the next time at its second, and so on. `text` is the interpreter with the
        protocol of script objects as it is written in Ouro (stdlib/protocol.ouro) instead of its own copy. `everything`
        compiles each function at its first call, with or without tensors, the library's, too; `exits` is that and stress."""
        if mode == "stress":
            return "--mode=graph", {"OURO_STRESS_EXITS": "1"}
        if mode == "everything":
            return "--mode=graph", {"OURO_COMPILE": "everything"}
        if mode == "exits":
            return "--mode=graph", {"OURO_COMPILE": "everything", "OURO_STRESS_EXITS": "1"}
        if mode == "text":
            return "--mode=eager", {"OURO_PROTOCOL": "text"}
        return f"--mode={mode}", {}

    def execute(self, command, *, stdin="", cwd=None, timeout=60, env=None):
        """Runs a command to its end; never raises for what the command does. In the mode graph, commands share the disk
        cache of the suite, so that LLVM compiles a kernel once for all modes of a script. In the mode auto they have no
        cache: it would also remember which versions were slower than the interpreter, and later tests would not run them."""
        limit = timeout * (6 if self.sanitized else 1)
        variables = self.environment()
        if "--mode=graph" in command:
            variables.update(SHARED_CACHE)
        variables.update(env or {})
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=cwd or ROOT, env=variables,
                                   start_new_session=True)
        try:
            out, err = process.communicate(stdin.encode(), timeout=limit)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            status = "timeout"
        return Done(status, out.decode(errors="replace"), err.decode(errors="replace"))


def describe(status):
    if status == "timeout":
        return "ran out of time"
    if isinstance(status, int) and status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def difference(expected, actual, expected_name, actual_name):
    """A short unified diff, or "" when both are equal."""
    if expected == actual:
        return ""
    lines = list(difflib.unified_diff(expected.splitlines(), actual.splitlines(),
                                      expected_name, actual_name, lineterm="", n=1))
    if len(lines) > 16:
        lines = lines[:16] + [f"... {len(lines) - 16} more lines"]
    return "\n".join(lines) or "they differ in the last newline"


def tail(text, lines=6):
    return "\n".join(text.rstrip().splitlines()[-lines:])


def walk(folder, ending):
    """Test files below tests/FOLDER, sorted; names that start with _ are helpers, not tests."""
    found = []
    for top, folders, files in os.walk(os.path.join(TESTS, folder)):
        folders[:] = [f for f in folders if not f.startswith(("_", "."))]
        found += [os.path.join(top, f) for f in files if f.endswith(ending) and f[0] != "_"]
    return sorted(found)


def known_failures():
    """Names (prefixes, one a line, `#` comments) of tests that fail for a known reason: tests/known_failures.txt."""
    path = os.path.join(ROOT, "tests", "known_failures.txt")
    if not os.path.exists(path):
        return []
    with open(path) as lines:
        return [name for name in (line.split("#")[0].strip() for line in lines) if name]


class Report:
    def __init__(self, args):
        self.args, self.lock = args, threading.Lock()
        self.passed = self.failed = self.known = 0
        self.expected = known_failures()
        self.failures, self.times = [], []
        self.terminal = sys.stderr.isatty()

    def run(self, suite, job):
        start = time.monotonic()
        try:
            results = job.run()
        except Exception as error:  # a fault of the runner is a failed test, not the end of all
            results = [Result(job.name, f"the test runner failed: {error!r}")]
        with self.lock:
            self.times.append((time.monotonic() - start, f"{suite.name}/{job.name}"))
            for result in results:
                self._add(suite, result)

    def _add(self, suite, result):
        if result.problem and any(result.name.startswith(name) for name in self.expected):
            self.known += 1
            print(f"known failure: {suite.name}/{result.name}", flush=True)
        elif result.problem:
            self.failed += 1
            name = f"{suite.name}/{result.name}"
            self.failures.append(name)
            self._clear()
            print(f"FAIL {name}\n    " + result.problem.replace("\n", "\n    "), flush=True)
        elif result.skipped:
            self.known += 1
            print(f"skipped: {suite.name}/{result.name}: {result.skipped}", flush=True)
        else:
            self.passed += 1
        if self.terminal:
            sys.stderr.write(f"\r{self.passed} passed, {self.failed} failed ")
            sys.stderr.flush()

    def _clear(self):
        if self.terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def _print_parts(self):
        """How long the jobs of each suite and kind took, the longest first: summed over the workers, so that two of them that
        are never idle take half of it."""
        parts = {}
        for seconds, name in self.times:
            suite, kind = name.split("/")[:2]
            whole, count = parts.get((suite, kind), (0.0, 0))
            parts[suite, kind] = whole + seconds, count + 1
        for (suite, kind), (seconds, count) in sorted(parts.items(), key=lambda part: -part[1][0]):
            print(f"{seconds:7.0f} s  {suite}/{kind} ({count} jobs)")

    def finish(self):
        self._clear()
        for seconds, name in sorted(self.times, reverse=True)[:self.args.slow]:
            print(f"{seconds:7.2f} s  {name}")
        if self.args.parts:
            self._print_parts()
        if len(self.failures) > 1:
            print("failed:\n  " + "\n  ".join(self.failures))
        skipped = f", {self.known} skipped" if self.known else ""
        print(f"{self.passed} passed, {self.failed} failed{skipped}", flush=True)
        return 0 if self.failed == 0 and self.passed > 0 else 1
