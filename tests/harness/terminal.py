"""A program on a pseudo-terminal, for tests that type: what it wrote, and what the screen shows of that.

Terminal runs the program as the leader of a session of its own, so that Ctrl-C reaches it as from a keyboard. Screen follows what the program
writes: the escapes that a line editor needs (ECMA-48), of which colours are dropped.
"""
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """Rows of characters that only grow; the cursor moves among the last ones."""

    def __init__(self, columns):
        self.columns, self.rows, self.x, self.y = columns, [""], 0, 0
        self.rest, self.decoder = "", codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data):
        text = self.rest + self.decoder.decode(data)
        self.rest = ""
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                found = ESCAPE.match(text, at)
                if found:
                    self.control(found.group()[2:-1], found.group()[-1])
                    at = found.end()
                    continue
                if len(text) - at < 16:
                    self.rest = text[at:]
                    return
            at += 1
            if c == "\r":
                self.x = 0
            elif c == "\n":
                self.y += 1
            elif c == "\b":
                self.x = max(0, self.x - 1)
            elif c == "\t":
                self.x = self.x // 8 * 8 + 8
            elif c >= " ":
                if self.x == self.columns:
                    self.x, self.y = 0, self.y + 1
                row = self.row().ljust(self.x)
                self.rows[self.y] = row[:self.x] + c + row[self.x + 1:]
                self.x += 1

    def row(self):
        while len(self.rows) <= self.y:
            self.rows.append("")
        return self.rows[self.y]

    def control(self, numbers, what):
        if numbers.startswith("?") or what == "m":
            return
        n = int(numbers.split(";")[0] or 1) if numbers.split(";")[0].isdigit() or not numbers else 1
        row = self.row()
        if what in "CD":
            self.x = max(0, min(self.columns - 1, self.x + (n if what == "C" else -n)))
        elif what in "AB":
            self.y = max(0, self.y + (n if what == "B" else -n))
        elif what == "G":
            self.x = n - 1
        elif what == "K":
            self.rows[self.y] = row[:self.x]
        elif what == "J":
            self.rows[self.y:] = [row[:self.x]]
        elif what == "P":
            self.rows[self.y] = row[:self.x] + row[self.x + n:]
        elif what == "@":
            self.rows[self.y] = row[:self.x].ljust(self.x) + " " * n + row[self.x:]

    def text(self):
        return "\n".join(row.rstrip() for row in self.rows)

    def line(self):
        """The one of the cursor, up to it."""
        return self.row().ljust(self.x)[:self.x]


class Terminal:
    """`ouro ARGUMENTS` on a terminal of a kind; what is typed to it is never read by anybody else."""

    def __init__(self, t, *arguments, home=None, kind="xterm", columns=80, env=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        home = home or t.folder
        env = {**t.suite.environment(), "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state"), "TERM": kind, "COLUMNS": "", **(env or {})}

        def session():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen([t.ouro, *arguments], stdin=slave, stdout=slave, stderr=slave, env=env, cwd=t.folder, preexec_fn=session)
        os.close(slave)
        self.t, self.text, self.raw = t, "", b""
        self.screen = Screen(columns)
        self.scale = 6 if t.suite.sanitized else 1

    def fail(self, text):
        self.process.kill()
        self.t.check(False, text)

    def read(self, seconds):
        """What it has written by then, or more; None: nothing, b"": it has ended."""
        ready, _, _ = select.select([self.master], [], [], max(0, seconds))
        if not ready:
            return None
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        self.raw += data
        self.screen.feed(data)
        self.text += ESCAPE.sub("", data.decode(errors="replace"))
        return data

    def wait_for(self, pattern, seconds=10):
        """Reads until `pattern` shows in what is new; returns that text."""
        self.wait(lambda: re.search(pattern, self.text), pattern, seconds)
        text, self.text = self.text, ""
        return text

    def wait_for_line(self, pattern, seconds=10):
        """Reads until `pattern` fits what stands before the cursor."""
        self.wait(lambda: re.fullmatch(pattern, self.screen.line()), pattern, seconds)

    def wait(self, there, what, seconds):
        end = time.monotonic() + seconds * self.scale
        while not there():
            data = self.read(end - time.monotonic())
            if data is None:
                self.fail(f"no {what!r} in {self.text!r}; the line is {self.screen.line()!r}")
            elif not data:
                self.t.check(False, f"it ended without {what!r}: {self.text!r}")

    def type(self, text):
        os.write(self.master, text.encode())

    def answer(self, text, prompt=r">>> ", seconds=10):
        """Types a line, waits for the next prompt; returns the rows of the screen between them."""
        before = self.screen.y
        self.type(text + "\n")
        self.wait(lambda: self.screen.y > before and re.fullmatch(prompt, self.screen.line()), prompt, seconds)
        return "\n".join(row.rstrip() for row in self.screen.rows[before + 1:self.screen.y])

    def worked(self):
        """Seconds that the process has run: those of a clock also pass while others have the processor."""
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.type("\x04")
        status = self.process.wait(timeout=20 * self.scale)
        os.close(self.master)
        return status
