"""The model programs of tests/models, which were written without a look at what compiles: they print what the interpreter prints, and their
functions are compiled whole. A program is found by its file and is a test of its own; it gets the number of its steps.

Those of LATER are right, and something of them stays with the interpreter today (a print is no such thing); one that is compiled whole by now fails the test, too.
"""
import functools
import glob
import os
import re

from harness.common import ROOT, difference

LATER = {"ctc", "em_gmm", "gnn_scatter", "pinn_heat", "simclr", "wgan_gp"}
MANY_TURNS = {"hopfield"}  # of a loop on data: the checker of plans looks at each


def holes(told):
    """What `explain` says is left to the interpreter, but for prints."""
    left = re.findall(r"^  stays interpreted: (.*)$", told, re.M)
    for part in re.findall(r"^  (?:interpreted in place|not compiled because|left to the interpreter)[^\n]*:\n((?:    .*\n)+)", told, re.M):
        left += [reason for reason in re.findall(r"^    \S+:\d+: (.*)$", part, re.M) if not reason.startswith("call of print")]
    return left


def check(t, name, path):
    if t.suite.sanitized:
        t.skip("no sanitizers: the parts of a model have tests of their own")
    eager = t.run("--mode=eager", path, "2").out
    t.check(eager, "it prints nothing")
    done = t.suite.execute([*(["env", "-u", "OURO_CHECK_PLANS"] if name in MANY_TURNS else []), t.ouro, "explain", "--mode=graph", path, "2"], cwd=t.folder)
    told = done.out
    t.equal(done.status, 0)
    t.check(told.startswith(eager), difference(eager, told[:len(eager)], "eager", "graph"))
    left = holes(told[len(eager):])
    t.check(bool(left) == (name in LATER), f"it is compiled whole by now: {name}" if name in LATER else "\n".join(left))


for path in sorted(glob.glob(os.path.join(ROOT, "tests", "models", "*.ouro"))):
    name = os.path.basename(path)[:-5]
    globals()["test_" + name] = functools.partial(check, name=name, path=path)
