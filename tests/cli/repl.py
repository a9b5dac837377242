"""The prompt, through a pipe and on a terminal: statements, keys, pasted text, history. Its commands are in prompt.py."""
import os
import time

from harness.terminal import Terminal


def piped(t, text, status=0):
    return t.run("-i", stdin=text, status=status)


def test_values_are_shown_and_kept(t):
    done = piped(t, "1 + 1\n_ * 10\n'a' 'b'\nNone\n_\nx = 5\nx\n[1, _]\n")
    t.equal(done.out.splitlines(), ["2", "20", "'ab'", "'ab'", "5", "[1, 5]"])


def test_statements_over_several_lines(t):
    done = piped(t, "def f(x):\n    y = x * 2\n\n    return y\nif f(1) == 2:\n    print('two')\n"
                    "else:\n    print('other')\nprint((f(2) +\n       1))\ns = '''a\nb'''\ns\n"
                    "class A:\n    def g(self): return 7\nA().g()\n@staticmethod\ndef h():\n"
                    "    return 3\nfor i in range(2): print(i)\n")
    t.equal(done.out.splitlines(), ["two", "5", "'a\\nb'", "7", "0", "1"])
    t.equal(done.err, "")


def test_values_in_blocks_are_shown_as_at_the_top(t):
    done = piped(t, "if True: 5\nfor i in range(3):\n    i * 2\n    None\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    'caught'\n"
                    "def f():\n    6\nf()\nclass C:\n    7\n_\n1; 2\nwith open('x', 'w') as out: out.write('abc')\n")
    t.equal(done.out.splitlines(), ["5", "0", "2", "4", "'caught'", "'caught'", "1", "2", "3"])
    t.equal(done.err, "")


def test_values_go_through_the_display_hook(t):
    done = piped(t, "import sys\nsys.displayhook = lambda v: print('<', v, '>')\n1 + 1\nNone\nsys.displayhook = sys.__displayhook__\n3\n_\n")
    t.equal(done.out.splitlines(), ["< 2 >", "< None >", "3", "3"])


def test_errors_never_end_it(t):
    done = piped(t, "1/0\nx = = 1\nundefined\nraise KeyError('k')\nprint('still here')\n")
    t.equal(done.out, "still here\n")
    for part in ["ZeroDivisionError: division by zero", "SyntaxError: invalid syntax",
                 "NameError: name 'undefined' is not defined", "KeyError: 'k'"]:
        t.has(done.err, part)


def test_a_traceback_shows_the_lines_of_its_cells(t):
    done = piped(t, "def f(x):\n    return 1 / x\nf(0)\n")
    for part in ['File "<cell 2>", line 1, in <module>', "f(0)", 'File "<cell 1>", line 2, in f',
                 "return 1 / x"]:
        t.has(done.err, part)


def test_exit_status(t):
    t.equal(piped(t, "1\nexit()\n2\n").out, "1\n")
    t.equal(piped(t, "import sys\nsys.exit(3)\nprint('no')\n", status=3).out, "")
    t.equal(piped(t, "raise SystemExit('bye')\n", status=1).err, "bye\n")


def test_tensors_and_redefinition(t):
    done = piped(t, "f = lambda x: x + 1\ng = lambda x: f(x) * 2\ng(tensor([1.0])).tolist()\n"
                    "f = lambda x: x - 1\ng(tensor([1.0])).tolist()\n")
    t.equal(done.out.splitlines(), ["[4.0]", "[0.0]"])


def test_a_terminal_gets_prompts_and_ctrl_d_ends_it(t):
    p = Terminal(t)
    p.wait_for(">>> $")
    p.type("6*7\n")
    p.wait_for(r"42\r\n>>> $")
    p.type("def f():\n")
    p.wait_for(r"\.\.\. +$")
    p.type("    return 'done'\n")
    p.wait_for(r"\.\.\. +$")
    p.type("\n")
    p.wait_for(">>> $")
    p.type("f()\n")
    p.wait_for(r"'done'\r\n>>> $")
    p.type("ü = 'ä€😀'\n")
    p.wait_for(r">>> $")
    p.type("ü * 2\n")
    p.wait_for(r"'ä€😀ä€😀'\r\n>>> $")
    t.equal(p.end(), 0)


def test_ctrl_c_stops_the_statement_only(t):
    p = Terminal(t)
    p.wait_for(">>> $")
    p.type("k = 0\n")
    p.wait_for(">>> $")
    p.type("while True: k += 1 if k != 5 else print('started') is None\n")
    p.wait_for(r"\.\.\. +$")
    p.type("\n")
    p.wait_for(r"started\r\n")
    p.type("\x03")
    p.wait_for(r"KeyboardInterrupt[^>]*>>> $")
    p.type("k > 0\n")
    p.wait_for(r"True\r\n>>> $")
    p.type("abc")
    p.wait_for("abc$")
    p.type("\x03")
    p.wait_for(r"KeyboardInterrupt\r\n>>> $")
    p.type("def f(:\n")
    p.wait_for(r"\.\.\. +$")
    p.type("\x03")
    p.wait_for(r">>> $")
    p.type("1+2\n")
    p.wait_for(r"3\r\n>>> $")
    p.type("import time; print('asleep', flush=True); time.sleep(60)\n")
    p.wait_for(r"asleep\r\n")
    p.type("\x03")
    p.wait_for(r"KeyboardInterrupt[^>]*>>> $")
    t.equal(p.end(), 0)


def test_tab_completes_names_and_attributes(t):
    p = Terminal(t)
    p.wait_for(">>> $")
    p.type("some_long_name = 'x1'\n")
    p.wait_for(r">>> $")
    p.type("some_l\t.isalph\t()\n")
    p.wait_for(r"False\r\n>>> $")
    p.type("def f():\n")
    p.wait_for(r"\.\.\. +$")
    p.type("\treturn 'tab'\n")
    p.wait_for(r"\.\.\. +$")
    p.type("\n")
    p.wait_for(r">>> $")
    p.type("f()\n")
    p.wait_for(r"'tab'\r\n>>> $")
    p.type("some_long_name.is\t\t")
    p.wait_for("isdigit(.|\n)*isupper")
    p.type("\x15")
    t.equal(p.end(), 0)


def test_a_completion_without_end_is_ended_by_ctrl_c_and_by_itself(t):
    p = Terminal(t)
    p.wait_for(">>> $")
    for line in ("class Stubborn:", "    def __getattr__(self, name):", "        while True:", "            try:", "                while True: pass", "            except: pass"):
        p.type(line + "\n")
        p.wait_for(r"\.\.\. +$")
    for typed in ("    def __dir__(self): return map(str, iter(int, 1))\n\n", "class Plain:\n    def __getattr__(self, name):\n        while True: pass\n\n", "s, c = Stubborn(), Plain()\n"):
        p.type(typed)
        p.wait_for(r">>> $")
    p.type("c.a.b\t")
    time.sleep(0.3)
    start = p.worked()
    p.type("\x03")
    p.wait_for(r"KeyboardInterrupt[^>]*>>> $")
    worked = p.worked() - start
    t.check(worked < 0.5 * p.scale, f"{worked} s")
    for endless in ("c.a.b\t", "s.a.b\t", "s.a\t"):
        start = p.worked()
        p.type(endless + "\x15'still', 'here'\n")
        p.wait_for(r"\('still', 'here'\)\r\n>>> $")
        worked = p.worked() - start
        t.check(worked < 2 * p.scale, f"{endless!r}: {worked} s")
    t.equal(p.end(), 0)


def test_tab_completes_modules_and_what_they_have(t):
    t.write("own_module.py", "value_of_mine = 5\n")
    p = Terminal(t)
    p.wait_for(">>> $")
    for typed, shown in (("import mat\t\n", r">>> $"), ("math.floo\t(2.5)\n", r"2\r\n>>> $"), ("from mat\t imp\t flo\t as low; low(3.5)\n", r"3\r\n>>> $"), ("\x15import own_mo\t\n", ">>> $"),
                         ("own_module.val\t\n", r"5\r\n>>> $"), ("from own_module import val\t as v; v + 1\n", r"6\r\n>>> $"),
                         ("import ouro.n\t\t", "nn"), ("\x15from ouro.nn import Lin\t\n", ">>> $"), ("Linear.__name__\n", r"'Linear'\r\n>>> $"),
                         ("import \t", r"math(.|\n)*own_module(.|\n)*time"), ("\x15import ouro\n", ">>> $"), ("ouro.opt\t.__name__\n", r"'ouro.optim'\r\n>>> $"),
                         ("import stati\t\n", ">>> $"), ("statistics.__name__\n", r"'statistics'\r\n>>> $"), ("from collections.a\t imp\t Seq\t\n", ">>> $"), ("Sequence.__name__\n", "'Sequence'\r\n>>> $")):
        p.type(typed)
        p.wait_for(shown)
    t.equal(p.end(), 0)


FUNCTION = "def f(x):\n    a = 1\n\n    if x:\n\t\ta = 2\n\n    return a\nf(0), f(1)\nclass C:\n    u = 1\n\n    v = 2\nC.u + C.v\n"


def test_pasted_text_may_have_blank_lines(t):
    for begin, end, newline in (("\x1b[200~", "\x1b[201~", "\r"), ("\x1b[200~", "\x1b[201~", "\n"), ("", "", "\n")):
        p = Terminal(t)
        p.wait_for(">>> $")
        p.type(begin + FUNCTION.replace("\t\t", "        ").replace("\n", newline) + end)
        shown = p.wait_for(r"\n3\r\n>>> $")
        t.check("(1, 2)" in shown and "Error" not in shown, shown)
        p.type("1 + " + begin + "40 + 1" + end + "\n")
        p.wait_for(r"42\r\n>>> $")
        t.equal(p.end(), 0)


def test_tabs_and_an_open_end_of_a_marked_paste_stay(t):
    p = Terminal(t)
    p.wait_for(">>> $")
    p.type("\x1b[200~def f():\r\treturn 'a\tb'\rf()\r[1,\r\r2] + [\x1b[201~")
    p.wait_for(r"'a\\tb'(.|\n)*2\] \+ \[$")
    p.type("3]\n")
    p.wait_for(r"\[1, 2, 3\]\r\n>>> $")
    p.type("\x1b[200~def g():\r    return 7\x1b[201~")
    p.wait_for("return 7$")
    p.type("\n")
    p.wait_for(r"\.\.\. +$")
    p.type("\n")
    p.wait_for(">>> $")
    p.type("g()\n")
    p.wait_for(r"7\r\n>>> $")
    t.equal(p.end(), 0)


def test_history_is_kept_between_sessions(t):
    home = os.path.join(t.folder, "home")
    os.mkdir(home)
    p = Terminal(t, home=home)
    p.wait_for(">>> $")
    p.type("7 * 11\n")
    p.wait_for(r"77\r\n>>> $")
    t.equal(p.end(), 0)
    with open(os.path.join(home, "state", "ouro", "history")) as f:
        t.equal(f.read(), "7 * 11\n")
    p = Terminal(t, home=home)
    p.wait_for(">>> $")
    p.type("\x1b[A\n")
    p.wait_for(r"77\r\n>>> $")
    t.equal(p.end(), 0)
