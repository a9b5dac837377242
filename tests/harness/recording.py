"""docs/prompt.md: what its blocks marked `terminal NAME` show is recorded here, on a terminal, in one session of the prompt (and one more, for its history).

A block shows the rows of the screen that its section has added, those that a key has changed once more. The page is written by
`tests/run.py --bless docs/prompt.md`; the test records anew and compares, but for times, sizes of code, and where in a
loop Ctrl-C came.
"""
import os
import re
import signal
import time

from .terminal import Terminal

BLOCK = re.compile(r"^```terminal (\w+)\n(.*?)^```", re.M | re.S)
VARIES = [(re.compile(r"\^CTraceback(.|\n)*?(?=KeyboardInterrupt)"), "where Ctrl-C came "), (re.compile(r"\b\d[\d.]* (s|ms|us|ns)\b"), "TIME"), (re.compile(r"\b\d+ bytes of"), "SIZE bytes of"), (re.compile(r", \d+ left to the interpreter.*"), "")]
COLUMNS = 100


class Typist:
    """Somebody at the terminal, and a camera."""

    def __init__(self, t, home):
        self.t, self.home, self.shown = t, home, []
        self.sit_down()

    def sit_down(self):
        runtime = os.path.join(self.home, "run")  # without one the program tells that nobody can reach it
        os.makedirs(runtime, mode=0o700, exist_ok=True)
        env = {"NO_COLOR": "", "XDG_RUNTIME_DIR": runtime}
        self.p = Terminal(self.t, "--threads=2", "--cache=off", home=self.home, kind="xterm-256color", columns=COLUMNS, env=env)
        self.p.screen.columns = 10 ** 6  # rows as they were written: where a long one ends is the viewer's
        self.p.wait_for_line(">>> ")
        self.begin()

    def stand_up(self):
        if self.p.end() != 0:
            raise RuntimeError("the prompt ended with an error")

    def begin(self):
        self.first, self.shown = self.p.screen.y, []

    def enter(self, *lines):
        """Lines with Enter behind each, at the pace of somebody who waits for the answer."""
        for line in lines:
            self.p.answer(line, r"(>>>|\.\.\.) +", seconds=30)

    def keys(self, keys, line):
        """Keys, until what stands before the cursor fits `line`."""
        self.p.type(keys)
        self.p.wait_for_line(line)

    def paste(self, text, shown):
        self.p.type("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")
        self.p.wait_for(shown)
        self.p.wait_for_line(">>> ")

    def look(self):
        """Keeps what the screen shows now: it will change."""
        while self.p.read(0.2):
            pass
        self.shown += [row.rstrip() for row in self.p.screen.rows[self.first:]]

    def begin_again(self):
        self.first = self.p.screen.y

    def picture(self):
        """The rows since begin(), without the prompt that waits at the end."""
        rows = self.shown + [row.rstrip() for row in self.p.screen.rows[self.first:self.p.screen.y]]
        self.begin()
        return "\n".join(rows).rstrip() + "\n"


def hello(r):
    r.first = 0
    r.enter("6 * 7", "_ + 1")


def indentation(r):
    r.enter("def scale(x, by=2):", '"""x, so many times."""', "if by == 1:", "return x", "return x * by", "", "scale(arange(4.0))")


def completion(r):
    r.enter("from ouro import nn, plot")
    r.keys("nn.Conv\t", r">>> nn\.Conv")
    r.p.wait(lambda: "ConvTranspose3d" in r.p.screen.text(), "the names", 10)
    r.keys("1\t(2, 3, 5)", r">>> nn\.Conv1d\(2, 3, 5\)")
    r.enter("")


def pasted(r):
    r.paste('class Counter:\n    """Counts."""\n\n    def __init__(self):\n        self.n = 0\n\n    def up(self):\n        self.n += 1\n        return self\n\nCounter().up().up().n\n', r"\n2\r\n")


def question(r):
    r.enter("?relu", "scale?", "?rela")


def picture(r):
    r.enter("plot.line([(x / 10) ** 2 for x in range(-20, 21)], title='a parabola')")


def long(r):
    r.enter("{n: n * n for n in range(1000)}", "{'weight': randn(64, 32), 'bias': zeros(4)}", "zeros(1000, 1000)")


def timed(r):
    r.enter(":time sum(range(100000))")


def compiled(r):
    r.enter(":mode graph", "def settle(x, turns):", "for i in range(turns):", "x = x * 0.5 + 1")
    r.keys("\x7f", r"\.\.\.     ")
    r.enter("return x", "", "settle(zeros(3), 100)", "settle(zeros(3), 200)", ":explain settle")


def interrupted(r):
    r.p.type("settle(zeros(3), 10 ** 12)\n")
    time.sleep(1)
    r.p.type("\x03")
    r.p.wait_for("KeyboardInterrupt")
    r.p.wait_for_line(">>> ")
    r.enter("settle(zeros(3), 3)")


def stages(r):
    r.enter(":ir scale", ":ir settle loops")


def modes(r):
    r.enter(":mode", ":mode auto", ":mode fast")


def loaded(r):
    r.t.write("fit.ouro", "def error(w):\n    return ((w - 3) ** 2).sum()\n\nw = zeros(2)\nfor step in range(50):\n    w = w - 0.1 * grad(error)(w)\n")
    r.enter(":load fit.ouro", "w", ":load fti.ouro", ":lod")


def history(r):
    r.stand_up()
    r.sit_down()
    r.p.type("\x12scale(")
    r.p.wait(lambda: ">>> scale(arange(4.0))" in r.p.screen.text().split("Ouro ")[-1], "the line that was searched", 10)
    r.look()
    r.p.type("\x03")
    r.p.wait_for("KeyboardInterrupt\r\n>>> ")
    r.begin_again()


SECTIONS = (hello, indentation, completion, pasted, question, picture, long, timed, compiled, interrupted, stages, modes, loaded, history)


class Place:
    """What Terminal asks of a test."""

    def __init__(self, suite, folder):
        self.suite, self.ouro, self.folder = suite, suite.ouro, folder

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def check(self, condition, text):
        if not condition:
            raise RuntimeError(text)


def record(suite, folder):
    """{section: what the screen showed}"""
    home = os.path.join(folder, "home")
    os.makedirs(home, exist_ok=True)
    typist = Typist(Place(suite, folder), home)
    found = {}
    try:
        for section in SECTIONS:
            section(typist)
            found[section.__name__] = typist.picture().replace(os.path.realpath(folder), "/home/me")
        typist.stand_up()
    finally:
        if typist.p.process.poll() is None:
            typist.p.process.send_signal(signal.SIGKILL)
            typist.p.process.wait()
    return found


def masked(text):
    for pattern, by in VARIES:
        text = pattern.sub(by, text)
    return text


def page(suite, text, folder):
    """The page with what was recorded now; blocks in which only times and sizes differ stay."""
    found = record(suite, folder)
    used = set()

    def block(m):
        used.add(m.group(1))
        now = found[m.group(1)]
        return m.group() if masked(now) == masked(m.group(2)) else f"```terminal {m.group(1)}\n{now}```"
    made = BLOCK.sub(block, text)
    if used != set(found):
        raise RuntimeError(f"sections that the page does not show: {sorted(set(found) - used)}")
    return made
