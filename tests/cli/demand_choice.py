"""Choices of the script: a cheaper way for a time, a more exact one for a metric (docs/demand.md)."""
import json
import os
import time

WAYS = '''
import time
from ouro import demand
TIMES = {"slow": 0.006, "middle": 0.003, "fast": 0.0}
RIGHT = {"slow": 1.0, "middle": 0.9, "fast": 0.5}
way = demand.choice("way", list(TIMES))

def run(steps):
    """What was in force at the end, and how often it changed."""
    before, changes = way.value, 0
    for q in range(steps):
        with demand.step():
            time.sleep(TIMES[way.value])
            right = RIGHT[way.value]
        demand.metric("accuracy", right)
        changes += way.value != before
        before = way.value
    r = demand.report()
    return way.value, changes, {name: t["met"] for name, t in r["targets"].items()}

print(run(10), way, demand.report()["choices"])
'''


def test_a_cheaper_way_is_taken_for_a_time_and_a_more_exact_one_for_a_floor(t):
    t.write("ways.ouro", WAYS + '''
demand.set(step_time=0.0045)
print(run(60))
demand.set(accuracy=0.95, step_time=0.0045)     # the first that is named is the main one
print(run(60))
demand.set(step_time=0.0045, accuracy=0.95)
print(run(60))
demand.set(accuracy=None, step_time=0.0005)
print(run(80)[0])
demand.set(step_time=None)
print(run(40))
for wrong in (lambda: demand.choice("way", [1]), lambda: demand.choice(1, [1, 2])):
    try:
        wrong()
    except (ValueError, TypeError) as e:
        print(type(e).__name__, e)
''')
    out = t.run("--mode=eager", "ways.ouro").out.splitlines()
    t.equal(out[0], "('slow', 0, {}) <choice way='slow'> {'way': {'value': \"'slow'\", 'ways': [\"'slow'\", \"'middle'\", \"'fast'\"]}}")
    t.equal(out[1], "('middle', 1, {'step_time': True})")
    t.equal(out[2], "('slow', 1, {'accuracy': True, 'step_time': False})")
    t.equal(out[3], "('middle', 1, {'accuracy': False, 'step_time': True})")
    t.equal(out[4], "fast")
    t.equal(out[5], "('slow', 1, {})")
    t.equal(out[6:], ["ValueError choice 'way': from 2 to 64 ways are expected, not 1", "TypeError the name of a demand is a str, not int"])


def test_a_decision_is_in_the_log_as_text_and_json_and_in_the_trace(t):
    runtime = t.path("runtime")
    os.makedirs(runtime, mode=0o700)
    env = {"XDG_RUNTIME_DIR": runtime}
    t.write("long.ouro", WAYS + '''
randn(64, 64) @ randn(64, 64)     # it listens from here on
print("ready", flush=True)
while not os.path.exists("end"):
    run(1)
'''.replace("randn", "import os\nrandn", 1))
    process = t.start("run", "--profile", "long.ouro", env=env)
    try:
        while process.stdout.readline() not in ("ready\n", ""):
            pass
        pid, log, until = str(process.pid), "", time.monotonic() + 60
        while not os.path.exists(os.path.join(runtime, "ouro", f"{pid}.sock")) and time.monotonic() < until:
            time.sleep(0.02)
        t.run("ctl", pid, "set", "step_time=4.5ms", env=env)
        while "promised" not in log and time.monotonic() < until:
            time.sleep(0.05)
            log = t.run("ctl", pid, "log", "--json", env=env).out
        decision = json.loads(log.splitlines()[0])
        t.equal((decision["goal"], decision["response"], decision["value"]), ("step_time", "choice", "way='middle'"))
        t.check(t.run("ctl", pid, "log", env=env).out.count("choice way='middle', for step_time: step_time ") == 1, "its text")
        t.write("end", "")
        process.communicate(timeout=60)
        with open(t.path("trace.json"), encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
        t.equal([e["name"] for e in events if e.get("cat") == "demand"][0], "choice way='middle'")  # a busy machine may take the next one, too
    finally:
        process.kill()
        process.communicate()
