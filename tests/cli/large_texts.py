"""Texts with more than 65,535 of anything say what they say under CPython, or are refused with its words."""
import subprocess

N = 70_000
NAMES = [f"a{i}" for i in range(N)]
# What CPython prints, where it takes 10 to 20 seconds for a text.
SLOW = {"keyword-only parameters": f"(0, {N - 1})\n", "keyword arguments": f"({N}, {N - 1})\n",
        "captured variables": f"{N + 3} {N}\n", "nonlocal names": "(5, 1)\n"}


def programs():
    listed, ones = ", ".join(NAMES), ", ".join(["1"] * N)
    yield "parameters", f"def f({listed}): return a0, a{N - 1}\nprint(f(*range({N})))\n"
    yield "keyword-only parameters", f"def f(*, {listed}): return a0, a{N - 1}\nprint(f(**dict((f'a{{i}}', i) for i in range({N}))))\n"
    yield "defaults", f"def f({', '.join(f'{a}={i}' for i, a in enumerate(NAMES))}): return a0, a{N - 1}, a65536\nprint(f(), f(7), f(a65536=8))\n"
    yield "keyword-only defaults", f"def f(*, {', '.join(f'{a}={i}' for i, a in enumerate(NAMES))}): return a0, a{N - 1}\nprint(f(), f(a1=3))\n"
    yield "arguments", f"def f(*a): return len(a)\nprint(f({ones}))\n"
    yield "keyword arguments", f"def f(**k): return len(k), k['a{N - 1}']\nprint(f({', '.join(f'{a}={i}' for i, a in enumerate(NAMES))}))\n"
    yield "dicts of keywords", f"d, e = {{'x': 1}}, {{}}\ndef f(**k): return k\nprint(f({', '.join(['**e'] * N)}, **d))\n"
    yield "targets", f"{listed} = range({N})\nprint(a0, a65536, a{N - 1})\n"
    yield "targets behind a star", f"*s, {listed} = range({N + 3})\nprint(s, a0, a{N - 1})\n"
    yield "targets before a star", f"{listed}, *s = range({N + 3})\nprint(s, a0, a{N - 1})\n"
    yield "captured variables", ("def f():\n" + "".join(f"  {a} = {i}\n" for i, a in enumerate(NAMES)) + f"  def g(): return {' + '.join(NAMES[:3])} + len([{listed}])\n"
                                 "  return g, len(g.__closure__)\ng, n = f()\nprint(g(), n)\n")
    yield "nonlocal names", f"def f():\n  {' = '.join(NAMES)} = 1\n  def g():\n    nonlocal {listed}\n    a{N - 1} = 5\n  g()\n  return a{N - 1}, a0\nprint(f())\n"
    yield "global names", f"def f():\n  global {listed}\n  a{N - 1} = 5\nf()\nprint(a{N - 1})\n"
    yield "annotations", f"def f({', '.join(a + ': int' for a in NAMES)}): pass\nprint(len(f.__annotations__))\n"
    yield "items", f"print(len([{ones}]), len(({ones})), len({{{', '.join(map(str, range(N)))}}}), len({{{', '.join(f'{i}: 1' for i in range(N))}}}))\n"
    yield "deleted names", f"{listed} = range({N})\ndel {listed}\nprint('a0' in globals())\n"
    yield "handlers", "class E(Exception): pass\ntry: raise ValueError\n" + "except E: pass\n" * N + "except ValueError: print('here')\n"


def test_more_than_65535_of_anything(t):
    if t.suite.sanitized:
        t.skip("no sanitizers: these are large texts, which take them minutes")
    for what, text in programs():
        t.write("large.py", text)
        expected = SLOW.get(what)
        if expected is None:
            python = subprocess.run(["python3", t.path("large.py")], capture_output=True, text=True)
            expected = python.stdout or python.stderr.strip().splitlines()[-1]
        done = t.run("--mode=eager", "large.py", status=None, timeout=120)
        t.equal((what, done.out or done.err.strip().splitlines()[-1]), (what, expected))
