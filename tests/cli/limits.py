"""`--time` and `--steps`: what is over its limit ends, whatever the script does against it."""
import time

ENDLESS = "while True:\n  try:\n    while True: pass\n  except: pass\n  finally: pass"


def test_a_time_limit_ends_the_program(t):
    for mode in ("eager", "graph", "auto"):
        start = time.monotonic()
        done = t.run(f"--mode={mode}", "--time=0.3", "-c", ENDLESS, status=1)
        t.equal(done.out, "")
        t.check(done.err.endswith("TimeoutError: the time limit of 0.3 s is over\n"), done.err)
        t.check(0.29 < time.monotonic() - start < 20, str(time.monotonic() - start))
    t.equal(t.run("--time=60", "-c", "print(sum(range(1000)))").out, "499500\n")


def test_a_step_limit_is_the_same_in_each_run(t):
    code = "import sys\nn = 0\nwhile True:\n  n += 1\n  if n % 100 == 0: print(n, flush=True)"
    runs = {t.run("--mode=eager", "--steps=5000", "-c", code, status=1).out for _ in range(3)}
    t.equal(len(runs), 1)
    done = t.run("--steps=5000", "-c", ENDLESS, status=1)
    t.check(done.err.endswith("TimeoutError: the limit of 5000 steps is reached\n"), done.err)
    t.equal(t.run("--steps=5000", "-c", "for i in range(1000): pass\nprint(i)").out, "999\n")


def test_an_end_is_handled_by_nobody(t):
    hook = "import sys\nsys.excepthook = lambda *a: print('hook')\nclass D:\n  def __del__(self):\n    while True: pass\nd = D()\n"
    start = time.monotonic()
    done = t.run("--time=0.2", "-c", hook + "while True: pass", status=1)
    t.equal(done.out, "")
    t.has(done.err, "TimeoutError: the time limit of 0.2 s is over")
    t.check(time.monotonic() - start < 20, "the finalizer was waited for")


def test_limits_that_are_none_are_refused(t):
    for option in ("--time=x", "--time=0", "--time=-1", "--time=nan", "--time=inf", "--time=", "--steps=0", "--steps=-5",
                   "--steps=1.5", "--steps=x", "--steps=99999999999999999999", "--time", "--steps"):
        done = t.run(option, "-c", "print(1)", status=2)
        t.equal(done.out, "")
        t.has(done.err, option.split("=")[0])
