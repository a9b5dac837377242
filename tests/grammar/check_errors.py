#!/usr/bin/env python3
"""Compares what Ouro says about wrong programs with what `python3 FILE` prints, to the caret.

    check_errors.py AST_DUMP [CASES]

Cases stand in errors.txt, separated by lines `===`. A first line `## why` marks a case that is known to differ:
    own place     same message, but Ouro points at the mistake itself
    text          another message for the same mistake
    needs scopes  found later, when names are resolved
    refused       CPython accepts it, Ouro does not have it
A marked case must differ in just that way, so that marks do not outlive their reason.
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def cpython(path):
    text = subprocess.run(["/usr/bin/python3", path], capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr
    return text if text.startswith("  File") else ""


def ouro(program, path):
    run = subprocess.run([program, path], capture_output=True, text=True)
    text = run.stdout.removesuffix("---\n")
    if run.returncode < 0:
        return f"crash: signal {-run.returncode}\n"
    return text.split("\n", 1)[1] if text.startswith("ERROR") else ""


def verdict(want, got):
    if want == got:
        return ""
    if want and got and want.splitlines()[-1] == got.splitlines()[-1]:
        return "own place"
    if not want:
        return "refused"
    return "needs scopes" if not got else "text"


def main():
    program = sys.argv[1]
    text = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "errors.txt").read_text()
    bad = count = 0
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "t.py")
        for case in text.rstrip("\n").split("\n===\n"):
            mark = ""
            if case.startswith("## "):
                mark, case = case[3:].split("\n", 1)
            source = case.strip("\n") + "\n"
            pathlib.Path(path).write_text(source)
            want, got = cpython(path), ouro(program, path)
            count += 1
            if verdict(want, got) != mark:
                bad += 1
                print(f"----- {source!r}: expected {mark or 'the same'!r}, is {verdict(want, got)!r}")
                print(f"cpython:\n{want or '(accepted)'}\nouro:\n{got or '(accepted)'}")
    print(f"{count} cases, {bad} unexpected")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
