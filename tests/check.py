#!/usr/bin/env python3
"""Checks the sources without building: `./dev check [--fix]`.

- clang-format (every tracked C++ file; --fix rewrites), and comments no wider than the code
- walls: a folder includes only what stands to its left in LAYERS, a room of a layer likewise in ROOMS, and CLOSED headers stay closed
- LLVM's and ANTLR's headers stay in the folders that own them
- headers start with #pragma once; files over 500 lines are listed, files over 1000 lines are refused: C++, Ouro and Python alike
- documents that a source or a document names are in the repository
- functions that nothing calls (tests/unused.py)
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import unused  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAYERS = ["support", "ir", "grammar", "frontend", "runtime", "backends", "jit", "stdlib", "include",
          "tools"]
# The same inside of a layer. What stands in the folder itself puts the rooms together, and sees all of them; but for BASE, where it is what the
# rooms are built on.
ROOMS = {
    "ir": ["ops", "grad", "opt", "loops"],
    "runtime": ["machine", "text", "demand", "object", "types", "protocol", "interpreter", "model", "tensor", "autodiff"],
    "backends": ["reference", "contract", "llvm", "host", "device", "opencl", "ptx", "cuda"],
    "jit": ["cache", "plan", "specialise", "emit", "versions", "report"],
}
BASE = ("ir",)
# The modules of the library, by what they import when they are loaded (an import inside of a function is a later step). A row may import from
# itself and from the rows above it.
LIBRARY = [["python", "protocol"], ["grad_rules"], ["autodiff", "trees", "help"], ["ops", "sparse", "number_limits"], ["nn"],
           ["optim", "data", "distributions", "linalg", "metrics", "plot", "progress_bar", "demand", "prompt"], ["train"]]
# What acts on a session, though its room is one that sessions are made of: the loop and the responses of demands.
ACTS = ("runtime/demand/loop.cpp", "runtime/demand/loop_promises.cpp", "runtime/demand/response")
# Headers that only these folders may see.
OWNED = {
    "llvm/": ("backends/host/", "backends/llvm/", "backends/ptx/", "jit/emit/", "jit/cache/digest.cpp"),
    "antlr4-runtime": ("grammar/",),
    "OuroParser": ("grammar/",),
    "OuroLexer": ("grammar/",),
}
# Folders that must not share code with others: (folder, what it may not include, but for these).
CLOSED = [
    ("jit/plan/check/", "ir/loops/", ("ir/loops/loop_ir.h",)),  # the proof of a plan asks none of the compiler's analyses
    ("ir/loops/", "ir/grad/", ()),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
IMPORT = re.compile(r"^(?:from|import) +ouro(?:\.(\w+))?(?:[\w.]*)(?: +import +(.*))?", re.M)
LONG, TOO_LONG, WIDE = 500, 1000, 120
# Files over TOO_LONG lines, and why they are one.
ONE_FILE = {
    "stdlib/python/typing.ouro": "CPython's module, class by class in its order",
    "tests/cli/ways.py": "one table of programs",
    "tests/fuzz/tensor_operations.py": "one table of operations",
}
DOCUMENT = re.compile(r"(?<![\w/.@{}-])((?:[\w-]+/)*[\w-]+\.md)\b")
# The same by a name in capitals, as in "NOTES A3".
CHAPTER = re.compile(r"\b((?:RULES|DESIGN|STYLE|LESSONS|LANGUAGE|OPS) (?:[A-G]\d*\b|\d+\b|\"))")
# Names of tests' own files.
WRITTEN = {"c.md"}
FILES_A_PROCESS = 30


def listed(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in out.split() if os.path.exists(os.path.join(ROOT, name))]


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as f:
        return f.read()


def check_includes(name, text):
    folder = name.split("/")[0]
    for target in INCLUDE.findall(text):
        for header, owners in OWNED.items():
            if target.startswith(header) and folder != "tests" and not name.startswith(owners):
                yield f"{name}: includes {target}, which stays in {', '.join(owners)}"
        for closed, from_, but in CLOSED:
            if name.startswith(closed) and target.startswith(from_) and target not in but:
                yield f"{name}: includes {target}: {closed} shares nothing with {from_}"
        first = target.split("/")[0]
        if folder in LAYERS and first in LAYERS and "/" in target:
            if LAYERS.index(first) > LAYERS.index(folder):
                yield f"{name}: includes {target}: {first} stands to the right of {folder}"
        rooms = ROOMS.get(folder, [])
        here, there = name.split("/")[1], target.split("/")[1] if first == folder else ""
        if there in rooms and here in rooms and rooms.index(there) > rooms.index(here) and not name.startswith(ACTS):
            yield f"{name}: includes {target}: {there} stands to the right of {here}"
        if folder in BASE:
            if there in rooms and here not in rooms:
                yield f"{name}: includes {target}, which stands above what stands in {folder} itself"
        elif first == folder and here in rooms and there not in rooms:
            yield f"{name}: includes {target}, which stands above the rooms of {folder}"


def check_imports(name, text):
    """Of a file of the library: what it imports when it is loaded."""
    rows = {room: i for i, row in enumerate(LIBRARY) for room in row}
    here = name.split("/")[1].removesuffix(".ouro")
    if here not in rows:
        yield f"{name}: {here} has no place in LIBRARY (tests/check.py)"
        return
    for module, names in IMPORT.findall(text):
        for there in [module] if module else re.findall(r"\w+", names):
            if there in rows and rows[there] > rows[here]:
                yield f"{name}: imports ouro.{there}, which stands above {here}"


def check_documents(name, text, documents):
    """Documents that are named and not there: by their path from the repository's root, from the file's folder, or in docs/ and its folders."""
    folder = os.path.dirname(name)
    for m in DOCUMENT.finditer(text):
        target = m.group(1)
        ways = (target, os.path.normpath(os.path.join(folder, target)), "docs/" + target, "docs/design/" + target)
        if os.path.basename(target) not in WRITTEN and not any(way in documents for way in ways):
            yield f"{name}:{text.count(chr(10), 0, m.start()) + 1}: names {target}, which is not in the repository"
    for m in CHAPTER.finditer(text):
        yield f"{name}:{text.count(chr(10), 0, m.start()) + 1}: names {m.group(1)}, which is no document of the repository"


def badly_formatted(names, fix):
    """Those of `names` that clang-format would change, or could not change."""
    command = ["clang-format", "-i"] if fix else ["clang-format", "--dry-run", "-Werror"]
    done = subprocess.run([*command, *names], cwd=ROOT, capture_output=True)
    if done.returncode == 0 or len(names) == 1:
        return names if done.returncode else []
    return [bad for name in names for bad in badly_formatted([name], fix)]


def main():
    fix, names = "--fix" in sys.argv[1:], listed("*.cpp", "*.h")
    scripts, documents = listed("*.ouro", "*.py"), set(listed("*.md"))
    texts = {name: read(name) for name in [*names, *scripts]}
    problems, long_files = [], []
    for name, text in texts.items():
        if name.endswith((".cpp", ".h")):
            problems += check_includes(name, text)
            problems += [f"{name}:{i}: a comment is wider than {WIDE} columns" for i, line in enumerate(text.split("\n"), 1)
                         if len(line) > WIDE and line.lstrip().startswith("//") and "http" not in line]
        elif name.startswith("stdlib/"):
            problems += check_imports(name, text)
        if name.endswith(".h") and "#pragma once" not in text and "ouro_c.h" not in name:
            problems.append(f"{name}: has no #pragma once")
        lines = text.count("\n")
        if lines > TOO_LONG and name not in ONE_FILE:
            problems.append(f"{name}: has {lines} lines")
        elif lines > LONG:
            long_files.append((lines, name))
        problems += check_documents(name, text, documents)
    for name in [*documents, *listed("CMakeLists.txt", "*/CMakeLists.txt", "*.inc", "*.g4", "dev", "packages.txt")]:
        problems += check_documents(name, read(name), documents)
    problems += unused.functions(ROOT, listed)
    # Many files a process: one takes longer to start than to read a file.
    parts = [names[i:i + FILES_A_PROCESS] for i in range(0, len(names), FILES_A_PROCESS)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for bad in pool.map(lambda part: badly_formatted(part, fix), parts):
            problems += [f"{name}: is not formatted (./dev check --fix)" for name in bad]
    for lines, name in sorted(long_files, reverse=True):
        print(f"note: {name} has {lines} lines")
    print("\n".join(problems) if problems else f"{len(texts)} files, nothing to mend")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
