"""The mode auto lets a script wait for the specialiser only as long as that is worth it (jit/pauses.h)."""
import json

from harness.cli import bits

# A step whose specialisation takes much longer than its call: a long chain of small layers.
SCRIPT = """
import time
from ouro import jit, nn, value_and_grad

class Chain(nn.Module):
    def __init__(self, depth):
        self.w = [nn.Parameter(randn(4, 4) * 0.1) for _ in range(depth)]

    def forward(self, x):
        for w in self.w:
            x = tanh(x @ w) + x
        return x

{mark}
def step(m, x):
    loss, grads = value_and_grad(lambda m: (m(x) ** 2).mean())(m)
    return loss, grads

m, x = Chain({depth}), randn(8, 4)
begin = time.time()
while time.time() - begin < {seconds}:
    step(m, x)
"""


def run(t, **how):
    """Milliseconds that the script waited for the specialiser, by function, and those of the whole run."""
    trace = t.path("trace.json")
    t.write("script.ouro", SCRIPT.format(**how))
    t.run("run", f"--profile={trace}", "script.ouro", env={"OURO_COMPILE_AFTER": "100", "OURO_CHECK_PLANS": "0"})
    with open(trace) as f:
        events = json.load(f)["traceEvents"]
    spans = [e for e in events if e.get("cat") == "specialise"]
    ends = [e["ts"] + e.get("dur", 0) for e in events if "ts" in e]
    begins = [e["ts"] for e in events if "ts" in e]
    return [(e["name"], e["dur"] / 1e3) for e in spans], (max(ends, default=0) - min(begins, default=0)) / 1e3


@bits
def test_a_short_script_does_not_wait_for_large_steps(t):
    pauses, whole = run(t, mark="", depth=600, seconds=0.5)
    assert sum(ms for _, ms in pauses) <= 0.06 * whole + 10, (pauses, whole)


@bits
def test_a_marked_step_is_specialised_at_its_first_call(t):
    pauses, whole = run(t, mark="@jit", depth=50, seconds=0.3)
    assert any(name == "step" for name, _ in pauses), (pauses, whole)


@bits
def test_a_small_step_is_specialised_soon(t):
    pauses, whole = run(t, mark="", depth=3, seconds=2.5)
    assert pauses, whole
