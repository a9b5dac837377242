"""What README.md and docs/ show works: their code blocks are run, in a folder per document.

```ouro          is run and must end with status 0; `# file: NAME` as its first line also leaves it
                 in the folder under that name. In the modes that compile everything it prints the same
```console       each `$ COMMAND` is run, and what follows it is compared with what it printed;
                 `...` stands for any text in a line, alone in a line for any lines
```pycon         `>>> STATEMENT` and what it prints: all of a document's in one program (session.py), in the same modes
The pages that are made by the tests (pages.py) must be what they are made of.
Blocks marked `skip` (```console skip) are left alone: those that install, download or take long.
"""
import glob
import os
import re
import shutil

from . import pages, session
from .common import ROOT, Job, Result, describe, difference, tail

BLOCK = re.compile(r"^```(ouro|console)([^\n]*)\n(.*?)^```", re.M | re.S)


def commands(text):
    """[(command, expected output)]"""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]  # the command goes on, as in a shell
        elif found:
            found[-1][1].append(line)
    return [(command, "\n".join(lines).rstrip()) for command, lines in found]


def matches(expected, actual):
    lines = [".*" if line.strip() == "..." else
             "[^\n]*".join(re.escape(part) for part in line.rstrip().split("..."))
             for line in expected.splitlines()]
    pattern = "\n".join(lines)
    return re.fullmatch(pattern, actual.rstrip(), re.S) is not None


def run_sessions(suite, name, text, folder, env):
    """The statements of all `pycon` blocks: they print what is shown, in every mode that compiles everything, too."""
    found = [(f"{name}:{text.count(chr(10), 0, m.start()) + 1}", *one) for m in session.BLOCK.finditer(text) if "skip" not in m.group(1).split()
             for one in session.statements(m.group(2))]
    results = []
    for mode in [m for m in dict.fromkeys(("auto", *suite.modes)) if found and m in ("auto", "everything", "exits")]:
        if mode == "auto" and name in pages.PAGES:
            continue  # its outputs are just made
        option, how = suite.tier(mode)
        printed, done = session.answers(suite, [source for _, source, _ in found], folder, option, env | how, timeout=240)
        wrong = [f"{place}: {source}\n" + difference(shown, out or "", "shown", "printed")
                 for (place, source, shown), out in zip(found, printed) if out is None or not matches(shown, out)]
        if done.status != 0:
            wrong.insert(0, f"it {describe(done.status)}\n" + tail(done.err))
        results.append(Result(f"{name} sessions[{mode}]", "\n".join(wrong[:10])))
    return results


def run_document(suite, path):
    name = os.path.relpath(path, ROOT)
    folder = suite.temporary()
    for shown in ("examples", "bench"):
        os.symlink(os.path.join(ROOT, shown), os.path.join(folder, shown))
    bin_ = os.path.join(folder, ".bin")
    os.mkdir(bin_)
    os.symlink(suite.ouro, os.path.join(bin_, "ouro"))
    cache = os.path.join(folder, ".cache")  # a user's own: for commands the disk cache is on, and empty at first
    os.makedirs(os.path.join(cache, "ouro"))
    os.symlink(os.path.join(suite.scratch, "cache", "ouro", "data"), os.path.join(cache, "ouro", "data"))
    env = {"PATH": bin_ + os.pathsep + os.environ.get("PATH", ""), "XDG_CACHE_HOME": cache, "OURO_CACHE": ""}
    with open(path, encoding="utf-8") as f:
        text = f.read()
    results = []
    if name in pages.PAGES:
        results.append(Result(f"{name} is what it is made of", pages.check(suite, name, folder)))
        with open(path, encoding="utf-8") as f:
            text = f.read()  # --bless may have written it
    results += run_sessions(suite, name, text, folder, env)
    for match in BLOCK.finditer(text):
        kind, info, body = match.groups()
        place = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
        if "skip" in info.split():
            continue
        if kind == "ouro":
            file = re.match(r"# file: *(\S+)", body)
            script = os.path.join(folder, file.group(1) if file else "block.ouro")
            with open(script, "w", encoding="utf-8") as f:
                f.write(body)
            done = suite.execute([suite.ouro, "run", "--cache=off", script], cwd=folder, env=env, timeout=120)
            results.append(Result(place, "" if done.status == 0 else
                                  f"it {describe(done.status)}\n" + tail(done.err)))
            for mode in [m for m in suite.modes if m in ("everything", "exits")]:
                option, how = suite.tier(mode)
                again = suite.execute([suite.ouro, "run", "--cache=off", option, script], cwd=folder, env=env | how, timeout=240)
                same = again.status == done.status and again.out == done.out
                results.append(Result(f"{place}[{mode}]", "" if same else
                                      f"it {describe(again.status)}\n" + tail(again.err) + difference(done.out, again.out, "auto", mode)))
            continue
        for command, expected in commands(body):
            done = suite.execute(["bash", "-c", command + " 2>&1"], cwd=folder, env=env, timeout=120)
            good = matches(expected, done.out)
            results.append(Result(f"{place} $ {command.splitlines()[0]}", "" if good else
                                  difference(expected, done.out.rstrip(), "shown", "printed")
                                  or f"it {describe(done.status)}"))
    shutil.rmtree(folder, ignore_errors=True)
    return results


def discover(suite):
    paths = [os.path.join(ROOT, "README.md")]
    paths += sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))
    jobs = []
    for path in paths:
        name = os.path.relpath(path, ROOT)
        if suite.tags or suite.sanitized or not os.path.exists(path) or not suite.wants(name):
            continue
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if not BLOCK.search(text) and not session.BLOCK.search(text) and name not in pages.PAGES:
            continue
        if not suite.ouro:
            return [Job("docs", lambda: [Result("docs", "ouro is not built")])]
        jobs.append(Job(name, lambda p=path: run_document(suite, p), weight=5))
    return jobs
