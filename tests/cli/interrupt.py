#!/usr/bin/env python3
"""Ctrl-C inside long natives: how soon it is a KeyboardInterrupt that the script can catch.

    tests/cli/interrupt.py build/ouro [NAME]     measures: the longest of five, in milliseconds, for docs/performance.md
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

# Name: what comes before, and the statement that is interrupted a while after it has begun. It takes a second or more.
CASES = {
    "sort of floats": ("import math\nx = [math.sin(i) for i in range(3 * 10**6)]", "sorted(x)"),
    "sort of texts": ("x = [str(i * 7919 % 1000003) for i in range(10**6)]", "for i in range(9): sorted(x)"),
    "sort by a key": ("x = list(range(10**7))", "x.sort(key=lambda v: -v)"),
    "sort by a native key": ("x = list(range(2 * 10**7))", "x.sort(key=str)"),
    "sum of a range": ("", "sum(range(10**10))"),
    "list of a range": ("", "list(range(3 * 10**8))"),
    "set of a range": ("", "set(range(3 * 10**7))"),
    "dict of a range": ("", "dict.fromkeys(range(3 * 10**7))"),
    "tuple of a map": ("", "tuple(map(str, range(10**8)))"),
    "min, max": ("", "min(range(10**9)), max(range(10**9))"),
    "any, all": ("", "any(map(bool, iter([0] * 10**8)))"),
    "zip, filter": ("", "list(filter(None, zip(range(10**8), range(10**8))))"),
    "enumerate": ("", "list(enumerate(range(10**8)))"),
    "in a list": ("x = [1.5] * (3 * 10**7)", "for i in range(100): 'a' in x"),
    "in a range of floats": ("", "1.5 in (i for i in range(10**9))"),
    "count, index": ("x = ['b'] * 10**7", "for i in range(100): x.count('a'), x.count('c')"),
    "comparison of lists": ("x = list(range(10**7)); y = list(range(10**7))", "for i in range(100): x == y"),
    "list repeated": ("", "for i in range(10): [0] * 10**8"),
    "list comprehension": ("", "[i for i in range(10**9)]"),
    "dict comprehension": ("", "{i: i for i in range(10**9)}"),
    "text repeated": ("", "for i in range(99): 'x' * 10**9"),
    "replace": ("x = 'ab' * (5 * 10**7)", "x.replace('a', 'cde')"),
    "split": ("x = 'a ' * (5 * 10**7)", "x.split()"),
    "split by lines": ("x = 'a\\n' * (5 * 10**7)", "x.splitlines()"),
    "join": ("x = ['abc'] * (3 * 10**7)", "for i in range(50): '-'.join(x)"),
    "upper": ("x = 'äb' * (5 * 10**7)", "x.upper()"),
    "find": ("x = 'ab' * (5 * 10**8)", "for i in range(50): x.find('aa'), x.count('ba')"),
    "reversed text": ("x = 'ä' * 10**8", "x[::-1]"),
    "encode": ("x = 'ä' * 10**8", "for i in range(50): x.encode('utf-16')"),
    "decode": ("x = b'a' * 10**8", "for i in range(50): x.decode('latin-1')"),
    "repr of a text": ("x = 'a\\n' * (5 * 10**7)", "repr(x)"),
    "translate": ("x = 'ab' * (5 * 10**7)", "x.translate({97: 'c'})"),
    "format": ("x = list(range(10**7))", "'%r %r' % (x, x)"),
    "repr of a list": ("x = list(range(3 * 10**7))", "repr(x)"),
    "repr of nested lists": ("x = []\nfor i in range(30): x = [x, x]", "repr(x)"),
    "comparison of shared dicts": ("x, y = {}, {}\nfor i in range(40): x, y = {1: x, 2: x}, {1: y, 2: y}", "x == y"),
    "hash of shared aliases": ("x = int\nfor i in range(40): x = dict[x, x]", "hash(x)"),
    "class test of shared tuples": ("x = str\nfor i in range(40): x = (x, x)", "isinstance(1, x)"),
    "print of a list": ("x = list(range(3 * 10**7))", "print(x, file=open('/dev/null', 'w'))"),
    "hash of a tuple": ("x = (1.5,) * 10**7", "for i in range(100): hash(x)"),
    "product of big ints": ("import sys\nx = 7 ** 10**6 * 3", "for i in range(20): x * (x + i)"),
    "power of big ints": ("", "7 ** (2 * 10**7)"),
    "modular power": ("x = (1 << 20000) - 3", "pow(3, x - 1, x)"),
    "division of big ints": ("x = (1 << 4 * 10**6) - 3; y = (1 << 2 * 10**6) + 7", "x // y"),
    "square root of a big int": ("import math\nx = 1 << 3 * 10**6", "math.isqrt(x + 3)"),
    "gcd of big ints": ("import math\nx = (1 << 10**6) - 3; y = (1 << 10**6) + 7", "math.gcd(x, y)"),
    "factorial": ("import math", "math.factorial(10**6)"),
    "digits of a big int": ("import sys\nsys.set_int_max_str_digits(0)\nx = 7 ** 10**6", "str(x)"),
    "big int of digits": ("import sys\nsys.set_int_max_str_digits(0)\nx = '7' * 10**6", "int(x)"),
    "dict copied": ("x = dict.fromkeys(range(10**7))", "for i in range(9): y = dict(x); y |= x"),
    "set copied": ("x = set(range(10**7))", "for i in range(9): set(x) | x"),
    "list dropped": ("", "for i in range(99): x = list(map(str, range(3 * 10**6))); x = None"),
    "dict dropped": ("", "for i in range(99): x = dict(enumerate(map(str, range(2 * 10**6)))); x.clear()"),
    "frames with lists left": ("def f():\n    x = [0] * 10**8\n    while True: pass", "f()"),
    "cycles collected": ("x = [[[]] for i in range(2 * 10**6)]", "for i in range(99): y = [[x] for i in range(10**6)]"),
    "loop": ("", "while True: pass"),
    "sleep": ("import time", "time.sleep(30)"),
}
TENSORS = {
    "product of matrices": ("x = randn(4096, 4096)", "for i in range(9): x @ x"),
    "elementwise": ("x = randn(4096, 4096)", "for i in range(99): tanh(x)"),
    "sum of a tensor": ("x = randn(4096, 8192)", "for i in range(99): x.sum(0)"),
    "sort of a tensor": ("x = randn(10**7)", "sort(x)"),
    "random numbers": ("", "for i in range(99): randn(4096, 4096)"),
    "gather": ("x = randn(8, 16, 65536); i = randint(0, 65536, (8, 1, 262144)).expand((8, 16, 262144))", "for k in range(99): gather(x, 2, i)"),
    "tolist": ("x = zeros(3 * 10**7)", "x.tolist()"),
    "update in place": ("x = ones(10**8)", "for i in range(99): x += 1.5"),
    "power in place": ("x = ones(10**8) * 1.5", "x **= 1.7; x **= 1.7; x **= 1.7"),
    "write to all places": ("x = ones(10**8)", "for i in range(99): x[:] = 1.5"),
    "write to a row of places": ("x = ones(10**4, 10**4); y = ones(10**4)", "for i in range(99): x[:] = y"),
    "write to masked places": ("x = ones(3 * 10**7); m = x > 0", "for i in range(99): x[m] = 1.5"),
    "addition at places": ("x = ones(2000, 10**4); i = randint(0, 2000, (10**4,))", "for k in range(99): x[i] += 1.5"),
    "addition at places in f16": ("x = ones(2 * 10**7, dtype=f16); i = randperm(10**7)", "for k in range(99): x[i] += 1.5"),
    "index_add": ("x = ones(2000, 10**4); i = randint(0, 2000, (10**4,)); y = ones(10**4, 10**4)", "for k in range(99): x = x.index_add(0, i, y)"),
    "scatter_add": ("x = ones(10**7); i = randperm(10**7); y = ones(10**7)", "for k in range(99): x = x.scatter_add(0, i, y)"),
    "tensor of a list": ("x = [1.5] * (3 * 10**7)", "tensor(x)"),
}
# Compiled steps, in mode graph: loops of plans in their forms, and what one kernel or one call of a library does for
# long. The first call, which compiles, comes before.
COMPILED = {
    "compiled loop": ("@jit\ndef f(x, n):\n    for i in range(n): x = x * 1.0000001\n    return x\nx = tensor(1.0); f(x, 3)",
                      "f(x, 10**10)"),
    "compiled while": ("@jit\ndef f(x, n):\n    i = 0\n    while i < n:\n        x = x + 1.0\n        i += 1\n    return x\n"
                       "x = tensor(1.0); f(x, 3)", "f(x, 10**10)"),
    "compiled loop of numbers": ("@jit\ndef f(x, n):\n    s = 0\n    for i in range(n): s = s * 3 % 1000003 + i\n    return x + s\n"
                                 "x = tensor(1.0); f(x, 3)", "f(x, 10**10)"),
    "loop in a loop": ("@jit\ndef f(x, n):\n    for i in range(n):\n        for j in range(100): x = x * 0.9 + i\n    return x\n"
                       "x = ones(8); f(x, 3)", "f(x, 10**9)"),
    "gradient of a loop": ("def f(x, n):\n    for i in range(n): x = x * 1.0000001\n    return x\n@jit\ndef g(x, n):\n"
                           "    return grad(lambda v: f(v, n))(x)\nx = tensor(1.0); g(x, 3)", "g(x, 10**6)"),
    "step of a step": ("@jit\ndef f(x, n):\n    for i in range(n): x = x * 1.0000001\n    return x\n@jit\ndef g(x, n):\n"
                       "    for i in range(n): x = f(x, 2) + 1\n    return x\nx = ones(3); g(x, 3)", "g(x, 10**10)"),
    "plain loop without an end": ("", "s = 5\nwhile True: s = s ^ 3".replace("\n", "\n    ")),
    "plain loop of floats": ("def f(n, s):\n    for i in range(n): s = s * 0.5 + 1.0\n    return s", "f(10**15, 1.0)"),
    "plain recursion": ("def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)", "fib(100)"),
    "loop of a hot function": ("def f(x, n):\n    for i in range(n): x = x * 1.0000001\n    return x\nx = tensor(1.0)\n"
                               "for i in range(99): f(x, 3)", "f(x, 10**10)"),
    "map of one kernel": ("@jit\ndef f(x):\n    for i in range(30): x = tanh(x) + exp(-x)\n    return x\nx = ones(5 * 10**7); f(ones(8))",
                          "f(x)"),
    "sum of one kernel": ("@jit\ndef f(x): return ((x[:, None] - x[None, :])**2).sum()\nx = ones(10**5); f(ones(8))", "f(x)"),
    "sum of columns": ("@jit\ndef f(x): return (((x[:, None] - x[None, :])**2)).sum(0)\nx = ones(10**5); f(ones(8))", "f(x)"),
}
# What waits for others: {fifo} is a named pipe that nobody opens, and nothing comes on standard input.
WAITS = {
    "input": ("", "input()"),
    "read": ("import sys", "sys.stdin.read()"),
    "read of bytes": ("import sys", "sys.stdin.buffer.read(3)"),
    "readline": ("import sys", "sys.stdin.readline()"),
    "lines": ("import sys", "list(sys.stdin)"),
    "opening a pipe to read": ("", "open('{fifo}')"),
    "opening a pipe to write": ("", "open('{fifo}', 'w')"),
    "writing to a full pipe": ("f = open('{fifo}', 'r+')", "f.write('x' * 10**7); f.flush()"),
    "sleep": ("import time", "time.sleep(60)"),
}
SCRIPT = """
{before}
print('go', flush=True)
try:
    {statement}
    print('ended', flush=True)
except KeyboardInterrupt:
    print('caught', flush=True)
print('on', flush=True)
while True: pass
"""


def seconds_to_stop(command, name, env=None, wait=0.3):
    """From the signal to the script's own `except`; None when it had ended before."""
    before, statement = {**CASES, **TENSORS, **COMPILED, **WAITS}[name]
    text = SCRIPT.replace("{before}", before).replace("{statement}", statement)
    folder = tempfile.TemporaryDirectory()
    fifo = os.path.join(folder.name, "fifo")
    os.mkfifo(fifo)
    text = text.replace("{fifo}", fifo)
    process = subprocess.Popen([*command, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        if process.stdout.readline() != "go\n":
            raise RuntimeError(f"{name}: {process.stderr.read()}")
        time.sleep(wait)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        line = process.stdout.readline()
        taken = time.monotonic() - start
        if line not in ("caught\n", "ended\n"):
            raise RuntimeError(f"{name}: {line!r} {process.stderr.read()}")
        if process.stdout.readline() != "on\n":
            raise RuntimeError(f"{name}: it did not go on: {process.stderr.read()}")
        return taken if line == "caught\n" else None
    finally:
        process.kill()
        process.communicate()
        folder.cleanup()


def stops(t, cases, mode, step=1):
    from harness.cli import some  # not there where this file is run by itself
    if t.suite.sanitized:
        t.skip("what takes a second takes a minute")
    for name in some(cases, step):
        env = t.suite.environment()
        del env["OURO_CHECK_PLANS"]  # the checker takes seconds for large sizes
        taken = seconds_to_stop([t.ouro, f"--mode={mode}"], name, env=env)
        t.check(taken is None or taken < 1, f"{name}: {taken and round(taken, 2)} s")


def test_long_natives_stop(t):
    stops(t, CASES, "auto", step=2)


def test_long_operations_of_tensors_stop(t):
    stops(t, TENSORS, "eager", step=2)


def test_an_update_in_place_is_finished_or_left_in_the_middle(t):
    """A short one is finished; of a long one each element has its old value or its new one. The place keeps the tensor."""
    if t.suite.sanitized:
        t.skip("what takes a second takes a minute")
    places = {"x": "x = {}", "o.x": "class O: pass\no = O()\no.x = {}", "l[1]": "l = [0, {}]", "d['a']": "d = dict(a={})"}
    for place, make in places.items():
        for update, size, check in ((f"{place} += 1.0", 10**6, f"bool(({place} == {place}[0]).all())"),
                                    (f"{place}[:] = {place}[0] + 1.0", 10**6, f"bool(({place} == {place}[0]).all())"),
                                    (f"{place} **= 3.0", 2 * 10**8, f"bool((({place} == 1.5) | ({place} == 3.375)).all())")):
            if size > 10**6 and place not in ("x", "d['a']"):
                continue
            again = "while True: " if size == 10**6 else ""
            text = f"""
{make.format(f'full(({size},), 1.5)')}
print('go', flush=True)
try:
    {again}{update}
    print('ended', flush=True)
except KeyboardInterrupt: print('caught', flush=True)
print({place}.shape, {check})
"""
            process = subprocess.Popen([t.ouro, "run", "--mode=eager", "-c", text], stdout=subprocess.PIPE, text=True, env=t.suite.environment())
            t.equal(process.stdout.readline(), "go\n")
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            word, shown = process.communicate(timeout=300)[0].splitlines()
            t.check(word == "caught" or not again, f"{update}: {word}")
            t.equal(shown, f"({size},) True")


def test_compiled_steps_stop(t):
    stops(t, COMPILED, "graph")
    stops(t, ["loop of a hot function", "plain loop without an end", "plain loop of floats", "plain recursion"], "auto")


def test_what_waits_stops(t):
    stops(t, WAITS, "auto")


def test_output_that_nobody_reads_is_not_waited_for(t):
    """The script gets its interrupt, says so, and the process ends; what the pipe did not take is dropped."""
    for code in ("while True: print('x' * 1000)", "import sys\nsys.stdout.write('x' * 10**7)", "import sys\nwhile True: sys.stderr.write('x' * 100)"):
        reading, writing = os.pipe()
        process = subprocess.Popen([t.ouro, "-c", code], stdout=writing, stderr=writing, env=t.suite.environment())
        time.sleep(0.5)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        t.equal(process.wait(timeout=60), -signal.SIGINT)
        if not t.suite.sanitized:
            t.check(time.monotonic() - start < 2, f"{code}: {time.monotonic() - start}")
        os.close(reading)
        os.close(writing)


def test_input_goes_on_after_an_interrupt(t):
    text = "for i in range(2):\n    print('go', flush=True)\n    try: print('got', input(), flush=True)\n    except KeyboardInterrupt: print('caught', flush=True)"
    process = subprocess.Popen([t.ouro, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=t.suite.environment())
    t.equal(process.stdout.readline(), "go\n")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    t.equal(process.stdout.readline() + process.stdout.readline(), "caught\ngo\n")
    process.stdin.write("a line\n")
    process.stdin.flush()
    t.equal(process.stdout.readline(), "got a line\n")
    process.stdin.close()
    t.equal(process.wait(timeout=60), 0)


def test_a_named_pipe_is_read_when_its_writer_comes(t):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fifo")
        os.mkfifo(path)
        reader = subprocess.Popen([t.ouro, "-c", f"with open('{path}') as f: print(f.read())"], stdout=subprocess.PIPE, text=True, env=t.suite.environment())
        time.sleep(0.2)
        writer = t.run("-c", f"with open('{path}', 'w') as f: f.write('what was written')")
        t.equal(writer.status, 0)
        t.equal(reader.communicate(timeout=60)[0], "what was written\n")


def main():
    for name in sys.argv[2:] or [*CASES, *TENSORS, *COMPILED, *WAITS]:
        mode = "graph" if name in COMPILED else "auto"
        taken = [seconds_to_stop([sys.argv[1], f"--mode={mode}"], name, wait=0.2 + 0.1 * i) for i in range(5)]
        shown = [x * 1000 for x in taken if x is not None]
        print(f"{name:28} {max(shown):8.0f}" if shown else f"{name:28}    ended", flush=True)


if __name__ == "__main__":
    main()
