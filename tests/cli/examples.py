"""Every example that has `--smoke`, in every mode: a tiny run on its data that prints the same, and writes the same files, as the interpreter's.

An example is found by its file, `examples/NAME.ouro` or `examples/demand/NAME.ouro`, and is a test of its own. Those whose `# data:` was not fetched are left out.
"""
import functools
import glob
import os
import re

from harness.common import ROOT, difference

# Arguments other than `--smoke`.
ARGUMENTS = {}


def aliases():
    """Names of `./dev data` that stand for a part of a set: {"digits": "sklearn", …}."""
    with open(os.path.join(ROOT, "dev"), encoding="utf-8") as f:
        found = re.findall(r"^ +([a-z0-9 |-]+)\) .*\bwant=([a-z0-9-]+) ;;", f.read(), re.M)
    return {name: whole for names, whole in found for name in names.split(" | ")}


def data_of(text):
    names = [name for line in re.findall(r"^# data: *(.*)$", text, re.M) for name in line.replace(",", " ").split()]
    return [aliases().get(name, name) for name in names]


def files_in(folder):
    """{path: bytes} of what a run wrote."""
    found = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(top, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


def check(t, name, path, text):
    if t.suite.sanitized:
        t.skip("no sanitizers: the parts of an example have tests of their own")
    if not t.suite.has_data(data_of(text)):
        t.skip("its data was not fetched")
    done = {}
    for mode in ("eager", "graph", "auto"):
        folder = t.path(mode)
        os.mkdir(folder)
        done[mode] = t.run("run", f"--mode={mode}", path, *ARGUMENTS.get(name, ["--smoke"]), cwd=folder), files_in(folder)
    eager, files = done["eager"]
    t.check(eager.out, "it prints nothing")
    for mode in ("graph", "auto"):
        other, written = done[mode]
        t.check(other.out == eager.out, difference(eager.out, other.out, "eager", mode))
        t.check(written == files, f"{mode} writes other files than eager: {sorted(k for k in written.keys() | files.keys() if written.get(k) != files.get(k))}")


for path in sorted(glob.glob(os.path.join(ROOT, "examples", "*.ouro")) + glob.glob(os.path.join(ROOT, "examples", "demand", "*.ouro"))):
    with open(path, encoding="utf-8") as source:
        text = source.read()
    name = os.path.relpath(path, os.path.join(ROOT, "examples"))[:-5].replace("/", "_")
    if name in ARGUMENTS or '"--smoke"' in text:
        globals()["test_" + name] = functools.partial(check, name=name, path=path, text=text)
