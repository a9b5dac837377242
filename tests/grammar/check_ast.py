#!/usr/bin/env python3
"""Compares Ouro's AST with CPython's, node for node, positions included.

    check_ast.py AST_DUMP [FILE...]

AST_DUMP is the program made from ast_dump.cpp. Without files, all of corpus/. A file with a construct that Ouro refuses
counts as skipped; in the corpus nothing may be skipped. Exit status 1 if any tree differs.
"""
import ast
import pathlib
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
sys.setrecursionlimit(20000)
HERE = pathlib.Path(__file__).parent


def expected(source):
    tree = ast.parse(source)
    return ast.dump(tree), ast.dump(tree, include_attributes=True)


def ouro(program, stage, path):
    run = subprocess.run([program, f"--stage={stage}", str(path)], capture_output=True)
    text = run.stdout.decode("utf-8", "surrogateescape").removesuffix("---\n")
    if run.returncode < 0:
        text = f"ERROR crash\nsignal {-run.returncode}"
    return text.strip()


def first_difference(a, b):
    i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"    ouro:    ...{a[max(0, i - 150):i + 120]}\n    cpython: ...{b[max(0, i - 150):i + 120]}"


def main():
    program, files = sys.argv[1], sys.argv[2:]
    corpus = not files
    files = files or sorted((HERE / "corpus").glob("*.py"))
    same = skipped = bad = 0
    for path in files:
        source = pathlib.Path(path).read_bytes()
        try:
            want = expected(source)
        except (SyntaxError, ValueError) as e:  # the standard library holds wrong files on purpose
            if corpus:
                print(f"{path}: CPython refuses it: {e}")
                bad += 1
            continue
        got = ouro(program, "ast", path)
        if got.startswith("ERROR refused.") and not corpus:
            skipped += 1
            continue
        if not got.startswith("ERROR"):
            got = [got, ouro(program, "positions", path)]
            # A lone surrogate is printed by neither side as it is; all else must match to the byte.
            if list(want) == got:
                same += 1
                continue
            stage = 0 if want[0] != got[0] else 1
            print(f"{path}: {'tree' if stage == 0 else 'positions'} differ\n{first_difference(got[stage], want[stage])}")
        else:
            print(f"{path}: {got}")
        bad += 1
    print(f"{same} same, {skipped} with refused constructs, {bad} different")
    return 1 if bad or not same else 0


if __name__ == "__main__":
    sys.exit(main())
