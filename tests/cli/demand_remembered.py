"""What was measured of responses serves the next run of the same program (docs/design/loop.md, What was measured is remembered)."""
import glob
import os

WAYS = '''
import sys, time
way = demand.choice("way", ["exact", "middle", "near"])
demand.set(step_time="12ms", accuracy=0.8)
takes = {"exact": (0.04, 1.0), "middle": (0.022, 0.95), "near": (0, 0.9)}
remembered = None
for k in range(40):
    with demand.step():
        takes_now, right = takes[way.value]
        time.sleep(takes_now)
        demand.metric("accuracy", right)
    for c in demand.report()["candidates"]:
        if c["remembered"] and remembered is None:
            remembered = sorted(c["remembered"]), round(c["remembered"]["accuracy"], 2)
print([d["value"][5:-1] for d in demand.report()["decisions"]], remembered)
'''
FIRST = "['middle', 'near'] None\n"
SECOND = "['near'] (['accuracy', 'energy', 'latency', 'memory', 'step_time'], 0.9)\n"


def entries(t):
    return sorted(glob.glob(t.path("cache") + "/ouro/code/*.code"))


def test_a_second_process_takes_at_once_what_the_first_found_by_trying(t):
    t.write("ways.ouro", WAYS)
    env = {"OURO_CACHE": "on", "XDG_CACHE_HOME": t.path("cache")}
    t.equal(t.run("ways.ouro", env=env).out, FIRST)
    kept = entries(t)
    t.equal(len(kept), 1)
    t.equal(t.run("ways.ouro", env=env).out, SECOND)
    t.equal(t.run("ways.ouro", "other", env=env).out, FIRST)      # other arguments are another program
    # One that is damaged is made anew.
    with open(kept[0], "r+b") as f:
        f.seek(-9, os.SEEK_END)
        f.write(b"\x00\xff{")
    t.equal(t.run("ways.ouro", env=env).out, FIRST)


def test_nothing_is_kept_where_no_cache_is_wanted(t):
    t.write("ways.ouro", WAYS)
    for turn in range(2):
        t.equal(t.run("ways.ouro", env={"OURO_CACHE": "off", "XDG_CACHE_HOME": t.path("cache")}).out, FIRST)
    t.check(not os.path.exists(t.path("cache")), "something was written")
