"""Scripts, each run in every mode (`ouro run --mode=M FILE`).

tests/lang   compared with CPython: output, status, and the last line of an uncaught exception
tests/run    `# expect: LINE` comments are the output, in order; all modes agree byte for byte
tests/error  `# error: TEXT` stands in what is printed on standard error, `# exit: N` (else 1)

In any other folder of tests/ a script is of the kind that its comments say, CPython when none does.
Comments a script may also carry: `# tags: jit threads`, `# modes: eager graph`, `# args: a b`,
`# timeout: 120`, `# data: fashion-mnist`, `# without: exits` (modes in which the script takes long;
only `--modes` runs them). {scratch} in args is an empty folder for the files that a script writes.
FILE.in is its standard input.
"""
import os
import re
import zlib

from . import oracle
from .common import EXITS_OR_EVERYTHING, ONE_MODE_OF, TESTS, Job, Result, describe, difference, tail, walk

COUNTS_AS = {"stress": "graph", "text": "eager", "everything": "graph", "exits": "graph"}  # in `# modes:`
HEADER = re.compile(r"^# (tags|modes|without|args|timeout|data|sanitizers): *(.*)$", re.M)
EXPECT = re.compile(r"# expect: ?(.*)$", re.M)
ERROR = re.compile(r"# error: *(.*?) *$", re.M)
EXIT = re.compile(r"^# exit: *(\d+)", re.M)
OTHER_KINDS = ("unit", "ir", "cli", "harness", "api", "fuzz", "models")


class Script:
    def __init__(self, path):
        self.path, self.name = path, os.path.relpath(path, TESTS)
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
            text = f.read()
        header = dict(HEADER.findall(text))
        self.tags = header.get("tags", "").split()
        self.modes = header.get("modes", "").split()
        self.without = header.get("without", "").split()
        self.arguments = header.get("args", "").split()
        self.timeout = float(header.get("timeout", 60))
        self.sanitizers = header.get("sanitizers", "yes") != "no"
        self.data = header.get("data", "").split()
        self.expect = EXPECT.findall(text)
        self.errors = ERROR.findall(text)
        exit_ = EXIT.search(text)
        self.status = int(exit_.group(1)) if exit_ else (1 if self.errors else 0)
        self.kind = self._kind()
        self.stdin = ""
        if os.path.exists(path + ".in"):
            with open(path + ".in", encoding="utf-8") as f:
                self.stdin = f.read()

    def _kind(self):
        folder = self.name.split(os.sep)[0]
        if folder in ("lang", "run", "error"):
            return folder
        return "error" if self.errors else "run" if self.expect else "lang"


def against_python(suite, script):
    want = oracle.expected(suite, script.path, script.arguments, script.stdin)

    def problem(done, first):
        text = difference(want.out, done.out, "python3", "ouro")
        if want.status != done.status:
            text += f"\npython3 {describe(want.status)}, ouro {describe(done.status)}\n" + tail(done.err)
        elif want.status == 1:
            text += difference(tail(want.err, 1), tail(done.err, 1), "python3 (error)", "ouro (error)")
        return text.strip()
    return problem


def against_comments(suite, script):
    want = "".join(line + "\n" for line in script.expect)

    def problem(done, first):
        text = difference(want, done.out, "expected", "ouro") if script.expect else ""
        if done.status != script.status:
            text += f"\nit {describe(done.status)}, not with {script.status}\n" + tail(done.err)
        for part in script.errors:
            if part not in done.err:
                text += f"\nstandard error has no {part!r}:\n" + tail(done.err)
        if not (script.expect or script.errors or done.out):
            text += "\nit expects nothing and prints nothing"
        if first is not None and not text:
            text = difference(first.out, done.out, "the first mode", "this mode")
        return text.strip()
    return problem


def run_script(suite, script, modes):
    problem = (against_python if script.kind == "lang" else against_comments)(suite, script)
    results, first = [], None
    for mode in modes:
        option, env = suite.tier(mode)
        done = suite.execute([suite.ouro, "run", option, script.path, *suite.arguments(script.arguments)],
                             stdin=script.stdin, cwd=os.path.dirname(script.path),
                             timeout=script.timeout, env=env)
        results.append(Result(f"{script.name}[{mode}]", problem(done, first)))
        first = first or done
    return results


def discover(suite):
    jobs = []
    for folder in sorted(os.listdir(TESTS)):
        if folder in OTHER_KINDS or not os.path.isdir(os.path.join(TESTS, folder)):
            continue
        for path in walk(folder, ".ouro"):
            script = Script(path)
            modes = [m for m in suite.modes_of(script.kind) if not script.modes or COUNTS_AS.get(m, m) in script.modes]
            if not suite.args.modes:
                modes = [m for m in modes if m not in script.without]
                if script.kind in ONE_MODE_OF.get(suite.sanitizer, ()) and len(modes) > 1:
                    modes = [modes[zlib.crc32(script.name.encode()) % len(modes)]]
                # exits is stress with more functions compiled: everything and stress, or exits alone.
                if "exits" in modes and "everything" in modes and script.kind in EXITS_OR_EVERYTHING:
                    modes.remove(("exits", "everything")[zlib.crc32(script.name.encode()) % 2])
                if "exits" in modes and "stress" in modes:
                    modes.remove("stress")
            modes = [m for m in modes or ([] if suite.args.modes else script.modes[:1]) if suite.wants(f"{script.name}[{m}]")]
            if not modes or not suite.tagged(script.tags) or not suite.has_data(script.data):
                continue
            if suite.sanitized and not script.sanitizers:
                continue
            if not suite.in_turn(script.kind, script.name):
                continue
            if not suite.ouro:
                return [Job("scripts", lambda: [Result("scripts", "ouro is not built")])]
            jobs.append(Job(script.name, lambda s=script, m=modes: run_script(suite, s, m),
                            weight=script.timeout / 60))
    return jobs
