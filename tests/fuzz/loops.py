#!/usr/bin/env python3
"""Random functions with loops whose turns data decides, and their gradients: the interpreter's bits.

    tests/fuzz/loops.py [--seed N] [--count N | --seconds N] [--keep FOLDER] ... (differential.py)

The programs of branches.py, in which most loops are a `while` on a tensor, with `break`, `continue`, `return` and `else`, in branches, in each
other and in loops over lists, with none, one or several turns; what the turns leave is of all kinds.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import branches  # noqa: E402
from differential import configs, main  # noqa: E402


class Program(branches.Program):
    whiles = 0.35


if __name__ == "__main__":
    sys.exit(main(Program, branches.PRELUDE, __doc__, lambda args: [*configs(args), "everything --mode=graph", "exits --mode=graph"]))
