#!/usr/bin/env python3
"""Checks the sources without building: `./dev check [--fix]`.

- clang-format (every tracked C++ file; --fix rewrites)
- layers: a folder includes only what stands to its left in LAYERS, and a room of a layer likewise in ROOMS
- LLVM's and ANTLR's headers stay in the folders that own them
- headers start with #pragma once; files over 500 lines are listed
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAYERS = ["support", "ir", "grammar", "frontend", "runtime", "backends", "jit", "stdlib", "include",
          "tools"]
# The same inside of a layer. What stands in the folder itself puts the rooms together, and sees all of them.
ROOMS = {
    "jit": ["cache", "plan", "specialise", "versions", "report"],
    "runtime": ["machine", "text", "demand", "object", "types", "protocol", "interpreter", "model", "tensor", "autodiff"],
}
# What acts on a session, though its room is one that sessions are made of: the loop and the responses of demands.
ACTS = ("runtime/demand/loop.cpp", "runtime/demand/loop_promises.cpp", "runtime/demand/response")
# Headers that only these folders may see.
OWNED = {
    "llvm/": ("backends/host/", "backends/llvm/", "backends/ptx/", "jit/emit/", "jit/cache/digest.cpp"),
    "antlr4-runtime": ("grammar/",),
    "OuroParser": ("grammar/",),
    "OuroLexer": ("grammar/",),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
LONG, TOO_LONG = 500, 1000
FILES_A_PROCESS = 30


def sources():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.cpp", "*.h"],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [name for name in listed if os.path.exists(os.path.join(ROOT, name))]


def check_includes(name, text):
    folder = name.split("/")[0]
    for target in INCLUDE.findall(text):
        for header, owners in OWNED.items():
            if target.startswith(header) and folder != "tests" and not name.startswith(owners):
                yield f"{name}: includes {target}, which stays in {', '.join(owners)}"
        first = target.split("/")[0]
        if folder in LAYERS and first in LAYERS and "/" in target:
            if LAYERS.index(first) > LAYERS.index(folder):
                yield f"{name}: includes {target}: {first} stands to the right of {folder}"
        rooms = ROOMS.get(folder, [])
        here, there = name.split("/")[1], target.split("/")[1] if first == folder else ""
        if there in rooms and here in rooms and rooms.index(there) > rooms.index(here) and not name.startswith(ACTS):
            yield f"{name}: includes {target}: {there} stands to the right of {here}"
        if first == folder and here in rooms and there not in rooms:
            yield f"{name}: includes {target}, which stands above the rooms of {folder}"


def badly_formatted(names, fix):
    """Those of `names` that clang-format would change, or could not change."""
    command = ["clang-format", "-i"] if fix else ["clang-format", "--dry-run", "-Werror"]
    done = subprocess.run([*command, *names], cwd=ROOT, capture_output=True)
    if done.returncode == 0 or len(names) == 1:
        return names if done.returncode else []
    return [bad for name in names for bad in badly_formatted([name], fix)]


def main():
    fix, names = "--fix" in sys.argv[1:], sources()
    problems, long_files = [], []
    for name in names:
        with open(os.path.join(ROOT, name), encoding="utf-8") as f:
            text = f.read()
        problems += check_includes(name, text)
        if name.endswith(".h") and "#pragma once" not in text and "ouro_c.h" not in name:
            problems.append(f"{name}: has no #pragma once")
        lines = text.count("\n")
        if lines > TOO_LONG:
            problems.append(f"{name}: has {lines} lines")
        elif lines > LONG:
            long_files.append((lines, name))
    # Many files a process: one takes longer to start than to read a file.
    parts = [names[i:i + FILES_A_PROCESS] for i in range(0, len(names), FILES_A_PROCESS)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for bad in pool.map(lambda part: badly_formatted(part, fix), parts):
            problems += [f"{name}: is not formatted (./dev check --fix)" for name in bad]
    for lines, name in sorted(long_files, reverse=True):
        print(f"note: {name} has {lines} lines")
    print("\n".join(problems) if problems else f"{len(names)} files, nothing to mend")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
