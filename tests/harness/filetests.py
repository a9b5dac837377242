"""tests/ir/**/*.anf through the program `filetest`, which prints `ok PATH` or `FAIL PATH` a file."""
import os

from .common import TESTS, Job, Result, describe, tail, walk

FILES_PER_JOB = 100


def run_files(suite, program, files):
    bless = ["--bless"] if suite.args.bless else []
    done = suite.execute([program, *bless, *files], timeout=120)
    state, text = {}, {}
    last = None
    for line in done.out.splitlines():
        word, _, path = line.partition(" ")
        path = path.strip()
        if word in ("ok", "FAIL") and path.endswith(".anf"):
            last = os.path.abspath(path)
            state[last], text[last] = word, []
        elif last:
            text[last].append(line)
    results = []
    for path in files:
        name = os.path.relpath(path, TESTS)
        if state.get(path) == "ok":
            results.append(Result(name))
        elif path in state:
            results.append(Result(name, "\n".join(text[path][:40]) or tail(done.err) or "failed"))
        else:
            results.append(Result(name, f"no verdict: filetest {describe(done.status)}\n"
                                  + tail(done.err)))
    return results


def discover(suite):
    program = suite.program("filetest")
    files = [f for f in walk("ir", ".anf") if suite.wants(os.path.relpath(f, TESTS))]
    if suite.tags or not files:
        return []
    if not program:
        return [Job("ir", lambda: [Result("ir", "filetest is not built")])]
    return [Job(f"ir/{at}", lambda part=files[at:at + FILES_PER_JOB]:
                run_files(suite, program, part), weight=20)
            for at in range(0, len(files), FILES_PER_JOB)]
