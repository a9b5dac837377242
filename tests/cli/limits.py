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


def test_a_long_chain_of_exceptions_is_told(t):
    chain = "e = None\nfor i in range(200000):\n  n = ValueError(i)\n  n.__{}__ = e\n  e = n\n"
    for link, words in (("context", "During handling of the above exception, another"), ("cause", "The above exception was the direct cause of the following")):
        start = time.monotonic()
        done = t.run("--mode=eager", "-c", chain.format(link) + "raise e", status=1)
        if not t.suite.sanitized:
            t.check(time.monotonic() - start < 10, f"{link}: {time.monotonic() - start} s")
        t.check(done.err.startswith(f"ValueError: 0\n\n{words} exception"), done.err[:200])
        t.check(done.err.endswith("raise e\nValueError: 199999\n"), done.err[-200:])
        t.equal(done.err.count("ValueError: "), 200000)
    start = time.monotonic()
    text = "import ouro.native.errors as errors\n" + chain.format("context") + "print('go', flush=True)\nwhile True: errors.exception_text(e)"
    done = t.run("--time=0.7", "-c", text, status=1)
    t.has(done.err, "TimeoutError: the time limit of 0.7 s is over")
    t.check(time.monotonic() - start < 20, str(time.monotonic() - start))
    text = chain.format("context").replace("200000", "1000000000") + "raise e"
    t.has(t.run("--memory=16M", "-c", text, status=1).err, "MemoryError")


def test_natives_of_long_texts_count_their_steps(t):
    """Beside the loop's own steps: a piece of a text is one."""
    for code in ("import csv, io\ncsv.writer(io.StringIO(), lineterminator='é' * 10**6).writerow(['x' * 10**7])",
                 "import csv, io\ncsv.writer(io.StringIO()).writerow([',' * 10**7])",
                 "import csv, io\ncsv.writer(io.StringIO(), lineterminator='é' * 10**7)",
                 "('é' * 10**7).encode('utf-16')", "(b'\\xff' * 10**7).decode('ascii', 'replace')", "(b'\\xff' * 10**7).decode('utf-8', 'replace')"):
        done = t.run("--mode=eager", "--steps=100", "-c", code, status=1)
        t.has(done.err, "TimeoutError: the limit of 100 steps is reached")


def test_a_long_line_terminator_is_looked_up_at_once(t):
    code = "import csv, io\nf = io.StringIO()\ncsv.writer(f, lineterminator='é' * 10**6).writerow(['è' * 10**6, 'é'])\nprint(len(f.getvalue()), f.getvalue()[10**6:10**6 + 5])"
    start = time.monotonic()
    t.equal(t.run("-c", code).out, "2000004 ,\"é\"é\n")
    t.check(time.monotonic() - start < 10, str(time.monotonic() - start))
