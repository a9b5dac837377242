"""The model programs of tests/models, which were written without a look at what compiles: they print what the interpreter prints, and their
functions are compiled whole. A program is found by its file and is a test of its own; it gets the number of its steps.

Those of LATER are right, and something of them stays with the interpreter today (a print is no such thing); one that is compiled whole by now fails the test, too.
"""
import functools
import glob
import json
import os

from harness.common import ROOT, difference

LATER = {"em_gmm", "wgan_gp"}
MANY_TURNS = {"hopfield"}  # of a loop on data: the checker of plans looks at each


def holes(told):
    """What the report says is left to the interpreter, but for prints; calls that a version had to give up, too."""
    versions = [v for f in told["functions"] for v in f["versions"]]
    found = [h for v in versions for h in v["holes"]] + [h for f in told["functions"] for h in f["failures"]]
    left = [f"{h['line']}: {h['reason']}" for h in found if not h["reason"].startswith("call of print")]
    return left + [f"{v['left']} calls were left: {v['left_because']}" for v in versions
                   if v["left"] and v["left_because"] != "raise"]  # what raises, the interpreter raises


def check(t, name, path):
    if t.suite.sanitized:
        t.skip("no sanitizers: the parts of a model have tests of their own")
    eager = t.run("--mode=eager", path, "2").out
    t.check(eager, "it prints nothing")
    done = t.suite.execute([*(["env", "-u", "OURO_CHECK_PLANS"] if name in MANY_TURNS else []), t.ouro, "explain", "--json", "--mode=graph", path, "2"], cwd=t.folder)
    t.equal(done.status, 0)
    t.check(done.err == eager, difference(eager, done.err, "eager", "graph"))
    left = holes(json.loads(done.out))
    t.check(bool(left) == (name in LATER), f"it is compiled whole by now: {name}" if name in LATER else "\n".join(left))


for path in sorted(glob.glob(os.path.join(ROOT, "tests", "models", "*.ouro"))):
    name = os.path.basename(path)[:-5]
    globals()["test_" + name] = functools.partial(check, name=name, path=path)
