"""tests/cli/*.py: what needs more than one script and its output, such as signals and files.

Every function test_NAME(t) is a test; t is a Cli. It fails when it raises. A function with
`@tags("threads")` (from harness.cli) also runs under the thread sanitizer. One with `@bits` does not run under the address
sanitizer: it compares bits or counts of compiled code, which no sanitizer sees, and shorter tests go through the same compiler.
"""
import glob
import importlib.util
import os
import shutil
import subprocess
import traceback

from .common import ROOT, TESTS, Job, Result, describe, tail


def tags(*names):
    def mark(function):
        function.tags = names
        return function
    return mark


def some(cases, step):
    """One of `step` cases, always the same; all of them with OURO_ALL_CASES."""
    cases = list(cases)
    return cases if "OURO_ALL_CASES" in os.environ else cases[::step]


def bits(function):
    function.bits = True
    return function


class Failure(Exception):
    pass


class Skipped(Exception):
    pass


class Cli:
    """The program under test and an empty folder."""

    def __init__(self, suite):
        self.suite, self.ouro, self.root = suite, suite.ouro, ROOT
        self.folder = suite.temporary()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "wb" if isinstance(text, bytes) else "w") as f:
            f.write(text)
        return path

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, status=0, **options):
        """Runs `ouro ARGUMENTS` in the folder; status None means any that is not a crash."""
        options.setdefault("cwd", self.folder)
        done = self.suite.execute([self.ouro, *arguments], **options)
        crashed = done.status == "timeout" or done.status < 0 or done.status == 86
        if crashed or (status is not None and done.status != status):
            raise Failure(f"ouro {' '.join(arguments)}: it {describe(done.status)}, not with "
                          f"{status}\n{tail(done.out)}\n{tail(done.err)}")
        return done

    def start(self, *arguments, env=None, **options):
        """A running `ouro ARGUMENTS`, for tests that send signals or talk to it."""
        return subprocess.Popen([self.ouro, *arguments], cwd=self.folder, text=True,
                                env=dict(self.suite.environment(), **env or {}), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def check(self, condition, text):
        if not condition:
            raise Failure(text)

    def skip(self, why):
        raise Skipped(why)

    def equal(self, actual, expected):
        if actual != expected:
            raise Failure(f"expected {expected!r}\n     got {actual!r}")

    def has(self, text, part):
        if part not in text:
            raise Failure(f"{part!r} is not in\n{tail(text, 12)}")


def run_function(suite, name, function):
    t = Cli(suite)
    skipped = ""
    try:
        function(t)
        problem = ""
    except Skipped as reason:
        problem, skipped = "", str(reason)
    except Failure as failure:
        problem = str(failure)
    except Exception:
        problem = traceback.format_exc()
    shutil.rmtree(t.folder, ignore_errors=True)
    return [Result(name, problem, skipped)]


def discover(suite):
    jobs = []
    for path in sorted(glob.glob(os.path.join(TESTS, "cli", "*.py"))):
        module_name = os.path.basename(path)[:-3]
        spec = importlib.util.spec_from_file_location("cli_" + module_name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, function in vars(module).items():
            full = f"cli/{module_name}/{name[5:]}"
            if not name.startswith("test_") or not suite.wants(full):
                continue
            if not suite.tagged(getattr(function, "tags", ())) or suite.sanitizer == "asan" and hasattr(function, "bits"):
                continue
            if not suite.in_turn("cli", full):
                continue
            if not suite.ouro:
                return [Job("cli", lambda: [Result("cli", "ouro is not built")])]
            jobs.append(Job(full, lambda n=full, f=function: run_function(suite, n, f), weight=3))
    return jobs
