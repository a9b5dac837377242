"""Long programs: the time until one runs grows with its length, not with its square."""
import time


def seconds(t, lines):
    t.write("long.ouro", "def g(a, b): return a\n" + "".join(
        f"x{i % 7} = g({i}, [x{(i - 1) % 7}])\n" if i > 6 else f"x{i} = {i}\n" for i in range(lines)))
    begin = time.monotonic()
    t.run("run", "--mode=eager", "long.ouro")
    return time.monotonic() - begin


def test_a_module_of_many_statements_starts_in_linear_time(t):
    start, short, long = seconds(t, 10), seconds(t, 4000), seconds(t, 40000)
    t.check(long - start < 40 * (short - start), f"4,000 lines take {short:.2f} s, 40,000 take {long:.2f} s")
