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


def test_long_literals_of_other_bases_are_read_in_linear_time(t):
    """200,000 digits took 4.6 s. The values are those that int() makes of the text."""
    for prefix, base, digits in (("0x", 16, "3fA9"), ("0o", 8, "5217"), ("0b", 2, "1011")):
        literal = prefix + "_".join([digits * 50] * 1000)
        t.write("literal.ouro", f"x = {literal}\ny = -{literal}\nassert x == int('{literal}', {base}) == -y and x % 1000003 == "
                                f"{int(literal, base) % 1000003}\nprint('read')\n")
        begin = time.monotonic()
        t.equal(t.run("run", "literal.ouro").out, "read\n")
        t.check(time.monotonic() - begin < 3, f"{prefix}: {time.monotonic() - begin:.1f} s")
