"""What the prompt has beside statements: indentation, commands, questions, results, colours; on a terminal, a dumb one, and none."""
import os
import re
import signal
import time

from harness.terminal import Terminal

KINDS = ("xterm-256color", "dumb")


def prompt(t, kind="xterm-256color", **options):
    p = Terminal(t, kind=kind, **options)
    p.wait_for_line(">>> ")
    return p


def piped(t, text):
    done = t.run("-i", stdin=text)
    t.check("\x1b" not in done.out + done.err, "an escape without a terminal")
    return done


def answers(t, text):
    """What a piped prompt says to lines, errors too."""
    done = piped(t, text)
    return done.out + done.err


def test_the_banner_tells_version_threads_device_and_help(t):
    version = t.run("version").out.split()[1]
    for kind in KINDS:
        p = Terminal(t, "--threads=2", kind=kind)
        p.wait_for_line(">>> ")
        t.has(p.screen.text(), f"Ouro {version}, 2 threads, device cpu. :help and ?name give help, Ctrl-D ends.\n")
        t.equal(p.end(), 0)
    t.check("Ouro" not in piped(t, "1\n").out, "a banner without a terminal")


def test_indentation_goes_on_by_itself(t):
    for kind in KINDS:
        p = prompt(t, kind)
        for typed, next_line in (("def f(x):", r"\.\.\.     "), ("if x:", r"\.\.\.         "), ("return 'yes'", r"\.\.\.     "), ("return 'no'", r"\.\.\. ")):
            p.answer(typed, next_line)
        p.answer("")
        t.equal(p.answer("f(1), f(0)"), "('yes', 'no')")
        # An empty line ends the block, with the blanks that nobody has typed.
        p.answer("for i in range(2):", r"\.\.\.     ")
        p.answer("print(i)", r"\.\.\.     ")
        t.equal(p.answer(""), "0\n1")
        # One step back by the backspace key, one further by Tab.
        p.answer("while True:", r"\.\.\.     ")
        p.answer("if 1:", r"\.\.\.         ")
        p.type("\x7f")
        p.wait_for_line(r"\.\.\.     ")
        p.type("\t")
        p.wait_for_line(r"\.\.\.         ")
        p.answer("break", r"\.\.\.     ")
        p.answer("")
        # In brackets and in texts there is none.
        p.answer("if True:", r"\.\.\.     ")
        p.answer("a = [1,", r"\.\.\. ")
        p.answer("2]", r"\.\.\. " + "    ")
        p.answer('b = """x:', r"\.\.\. ")
        p.answer('y"""', r"\.\.\. " + "    ")
        p.answer("")
        t.equal(p.answer("a, b"), "([1, 2], 'x:\\ny')")
        t.equal(p.end(), 0)


def test_who_types_his_own_blanks_is_not_indented_twice(t):
    """As an editor that sends lines, or a hand that always did so."""
    for kind in KINDS:
        p = prompt(t, kind)
        p.answer("def f(x):", r"\.\.\.     ")
        p.answer("    if x:", r"\.\.\.         ")
        p.answer("        return 'in'", r"\.\.\.     ")
        p.answer("    return 'out'", r"\.\.\. ")
        p.answer("")
        t.equal(p.answer("f(1), f(0)"), "('in', 'out')")
        t.equal(p.end(), 0)


CLASS = """class Account:
    \"\"\"Money.\"\"\"

    def __init__(self, owner):
        self.owner = owner
        self.sum = 0

    def add(self, n):
        if n < 0:
            raise ValueError(n)

        self.sum += n
        return self

    kind = 'plain'

print(Account('a').add(3).add(4).sum, Account.kind)
"""


def test_a_pasted_class_with_empty_lines_stays_as_it_is(t):
    for kind, begin, end in (("xterm-256color", "\x1b[200~", "\x1b[201~"), ("xterm-256color", "", ""), ("dumb", "", "")):
        p = prompt(t, kind)
        p.type(begin + CLASS.replace("\n", "\r" if begin else "\n") + end)
        p.wait_for(r"\n7 plain\r\n")
        p.wait_for_line(">>> ")
        t.check("SyntaxError" not in p.screen.text() and "IndentationError" not in p.screen.text(), p.screen.text())
        for line in CLASS.splitlines():
            rows = [row[4:].rstrip() for row in p.screen.rows if row[:4] in (">>> ", "... ")]
            t.check(line in rows, f"{line!r} is not in {rows}")
        t.equal(p.end(), 0)


def test_text_pasted_behind_the_indentation(t):
    """With blanks of its own it keeps them; without, it stands where the cursor is."""
    for pasted in ("    y = x * 2\r\r    return y\r", "y = x * 2\rreturn y\r", "y = x * 2\r    return y\r"):
        p = prompt(t)
        p.answer("def f(x):", r"\.\.\.     ")
        p.type("\x1b[200~" + pasted + "\x1b[201~")
        p.wait_for_line(r"\.\.\. ")
        p.answer("")
        t.equal(p.answer("f(4)"), "8")
        t.equal(p.end(), 0)


def test_lines_that_come_slowly_are_not_indented_twice(t):
    """A paste that nobody marks, over a slow line."""
    p = prompt(t, "dumb")
    for line in "class C:\n    def f(self):\n        x = 1\n        return x\n    def g(self):\n        return 2\n".splitlines():
        p.type(line + "\n")
        time.sleep(0.06)
    p.type("\n'do' 'ne'\n")
    p.wait_for("'done'\r\n>>> ")
    t.equal(p.answer("C().f(), C().g()"), "(1, 2)")
    t.equal(p.end(), 0)


def test_history_is_searched(t):
    for kind in KINDS:
        home = t.path(kind)
        os.mkdir(home)
        p = prompt(t, kind, home=home)
        for line in ("first = 6 * 7", "second = 8", "third = 9"):
            p.answer(line)
        t.equal(p.end(), 0)
        p = prompt(t, kind, home=home)
        p.type("\x12firs")
        p.wait_for("first = 6")
        p.type("\n'do' 'ne'\n")
        p.wait_for("'done'")
        p.wait_for_line(">>> ")
        t.equal(p.answer("first"), "42")
        p.type("\x1b[A\x1b[A\x1b[A\x1b[A")  # above: first, 'do' 'ne', first = 6 * 7, third
        p.wait_for("third = 9")
        p.type("\x15")
        p.wait_for_line(">>> ")
        t.equal(p.end(), 0)


def test_tab_completes_commands_and_their_arguments(t):
    t.write("own_script.ouro", "loaded_value = 11\n")
    os.mkdir(t.path("own_folder"))
    t.write("own_folder/inside.py", "inside = 12\n")
    p = prompt(t)
    p.answer("def some_function(x): return x", r"\.\.\. ")
    p.answer("")
    for typed, whole in ((":ex\t some_f\t", ":explain some_function"), (":mode gr\t", ":mode graph"), (":load own_s\t", ":load own_script.ouro"),
                         (":load own_folder/\t", ":load own_folder/inside.py"), (":help ti\t", ":help time"), ("?some_f\t", "?some_function"), (":nope x\t", ":nope x"), (":load own_script.ouro \t", ":load own_script.ouro ")):
        p.type(typed)
        p.wait_for_line(">>> " + re.escape(whole))
        p.type("\x15")
        p.wait_for_line(">>> ")
    p.type(":\t\t")
    p.wait_for("explain(.|\n)*time")
    p.type("\x15")
    t.equal(p.end(), 0)


def test_a_question_tells_signature_text_and_source(t):
    said = answers(t, "?relu\n")
    t.equal(said, "relu(x): built-in function\n    max(x, 0).\n    Operation n[*s] -> n[*s]; differentiable.\nsource, for each element:\nmax(x0, 0)\n")
    said = answers(t, "gelu?\n")  # an operation in Ouro
    for part in ("gelu(x, approximate='none'): built-in function", "source, ouro/ops/elementwise.ouro:", '@row("f[*s] -> f[*s]")\ndef gelu(x', "return ouro.gelu_erf(x)\n"):
        t.has(said, part)
    t.check("def round" not in said, said)
    said = answers(t, "from ouro import nn\n?nn.Linear\nnn.Linear.forward?\n")
    for part in ("nn.Linear(in_features, out_features, bias=True, device=None, dtype=None): class of ouro.nn.linear", "Methods: extra_repr, forward",
                 "class Linear(Layer):", "nn.Linear.forward(self, input): function of ouro.nn.linear", "\ndef forward(self, input):\n    weight ="):
        t.has(said, part)
    t.equal(said.count("class Linear(Layer)"), 1)


def test_a_question_about_what_was_typed(t):
    said = answers(t, "import math\nclass Base: pass\n@staticmethod\ndef other(): pass\nclass Point(Base):\n    '''A place.'''\n    x = 1\n\n    y = 2\np = Point()\n"
                      "def twice(x, *, by=2):\n    '''By two.'''\n    return x * by\n\nhalf = lambda x: x / 2\nn = 5\n"
                      "?Point\ntwice?\n?half\nn ?\n? math.sqrt\n?math\n?p\n??twice\n?Point.x\n")
    for part in ("Point(): class\n    A place.\nsource, <cell 4>:1:\nclass Point(Base):\n    '''A place.'''\n    x = 1\n\n    y = 2\nt",
                 "twice(x, *, by=2): function\n    By two.\nsource, <cell 6>:1:\ndef twice(x, *, by=2):\n    '''By two.'''\n    return x * by\nh",
                 "half = lambda x: x / 2", "n: int\n    5\n", "math.sqrt(x, /): built-in function of math\n    Square root.\n", "math: module math\n    It has acos,", "p: Point\n    <", "Point.x: int\n    1\n"):
        t.has(said, part)
    t.equal(said.count("def twice"), 2)
    # In a file, other definitions stand before and behind it.
    t.write("several.ouro", "class A:\n    a = 1\n\nclass B(\n    A,\n):\n    # a comment\n    def f(self):\n        return 1\n\n    b = 2\n\nclass AB:\n    def g(self): pass\ndef h(x=[1,\n      2]):\n    return x\nz = 1\n")
    said = answers(t, ":load several.ouro\n?B\n?B.f\n?h\n").replace(os.path.realpath(t.folder) + "/", "")
    t.equal(said, "B(): class\n    Methods: f\nsource, several.ouro:4:\nclass B(\n    A,\n):\n    # a comment\n    def f(self):\n        return 1\n\n    b = 2\n"
                  "B.f(self): function\nsource, several.ouro:8:\ndef f(self):\n    return 1\nh(x=[1, 2]): function\nsource, several.ouro:15:\ndef h(x=[1,\n      2]):\n    return x\n")
    t.has(answers(t, "x = zeros(2, 3)\n?x\n"), "x: tensor f32 [2, 3]\n    tensor([[0., 0., 0.],\n            [0., 0., 0.]])\n")
    t.equal(answers(t, "?while\n"), "keyword while\n    while x: as long as x is true. Under grad and jit it is a real loop.\n")
    t.has(answers(t, "?None\n"), "keyword None\n")
    said = answers(t, "?zeros\n?argmax\n?tensor\n")
    for part in ("    Operation -> $[@].\n", "; no derivative (", "more: Tab"):
        t.has(said, part)


def test_a_question_about_nothing_says_what_is_meant(t):
    for asked, said in (("?nothing", "nothing is not defined. Tab completes the names that are.\n"),
                        ("relo?", "relo is not defined. Did you mean relu?\n"),
                        ("?statistics", "statistics is not defined. There is a module of that name: import statistics\n"),
                        ("?nn", "nn is not defined. There is a module of that name: from ouro import nn\n"),
                        ("?relu(3)", "? takes a name, such as ?relu or ?nn.Linear, and relu(3) is none.\n"),
                        ("?1x", "? takes a name, such as ?relu or ?nn.Linear, and 1x is none.\n")):
        done = piped(t, asked + "\n1 + 1\n")
        t.equal((done.err, done.out), (said, "2\n"))
    said = answers(t, "from ouro import nn\n?nn.Liner\n?nn.qqqqq.x\n")
    t.equal(said, "nn has no Liner. Did you mean Linear?\nnn has no qqqqq. Tab behind nn. tells what it has.\n")
    t.check("Commands" in answers(t, "?\n"), "a question mark alone is :help")
    # A property that raises is told as an exception.
    said = answers(t, "class C:\n    def __repr__(self): raise ValueError('no text')\nc = C()\n?c\n2\n")
    t.has(said, "ValueError: no text")
    t.has(said, "2\n")


def test_every_name_of_the_library_has_an_answer(t):
    names = t.run("-c", "import builtins, ouro\nfrom ouro import nn, optim, data, plot, distributions, metrics, linalg, train\n"
                  "print(*[n for n in dir(builtins) if n[0] != '_'], *['ouro.' + n for n in dir(ouro) if n[0] != '_'])\n"
                  "for m in (nn, nn.functional, optim, data, plot, distributions, metrics, linalg, train):\n"
                  "    print(*[m.__name__[5:] + '.' + n for n in dir(m) if n[0] != '_'])\nprint(*['x.' + n for n in dir(zeros(1))])").out.split()
    t.check(len(names) > 1500, len(names))
    done = piped(t, "from ouro import nn, optim, data, plot, distributions, metrics, linalg, train\nimport ouro\nx = zeros(2, 2)\n" + "".join(f"?{n}\n" for n in names))
    t.equal(done.err.splitlines()[:5], [])
    heads = re.findall(r"^(?:keyword )?([\w.]+)(?=[:(]|$)", done.out, re.M)
    t.equal(sorted(set(names) - set(heads))[:5], [])


def test_wrong_commands_say_what_there_is(t):
    t.write("odd.ouro", "x = = 1\n")
    for typed, said in ((":nope", "There is no command :nope. There are :help, :time, :explain, :ir, :mode, :load.\n"),
                        (":tim", "There is no command :tim. Did you mean :time?\n"),
                        (":", "A colon is followed by a command: :help, :time, :explain, :ir, :mode, :load.\n"),
                        (":help nope", "There is no command :nope. There are :help, :time, :explain, :ir, :mode, :load.\n"),
                        (":time", "Usage: :time STATEMENT: run a statement and tell how long it took.\n"),
                        (":load", "Usage: :load FILE: run a script here, and keep its names.\n"),
                        (":ir", "Usage: :ir FUNCTION [STAGE]: a function in the intermediate representation, or in another stage: code, typed, loops, ….\n"),
                        (":load missing.ouro", f"There is no file missing.ouro in {os.path.realpath(t.folder)}.\n"),
                        (":load .", ". is a folder; :load takes a script.\n"),
                        (":mode fast", "There is no mode fast. There are eager, graph and auto.\n"),
                        (":explain nothing", "nothing is not defined. Tab completes the names that are.\n"),
                        (":explain f(1)", ":explain takes the name of a function, and f(1) is none.\n"),
                        (":explain relu", "relu is built in: it is compiled as a part of the functions that call it.\n"),
                        (":explain C", "C is a class; :explain takes a function, such as one of its methods: C.NAME.\n"),
                        (":ir n", "n is of the class int; :ir takes a function.\n"),
                        (":ir f nope", "There is no stage nope. There are anf (what :ir NAME prints), code, typed, plan, loops, llvm, asm, cl, ptx.\n")):
        done = piped(t, "n = 5\nclass C: pass\ndef f(x): return x\n" + typed + "\n'still here'\n")
        t.equal((done.err, done.out), (said, "'still here'\n"))
    said = answers(t, ":load odd.ouro\n3\n")
    t.has(said, "SyntaxError: invalid syntax")
    t.has(said, "odd.ouro")
    t.has(said, "3\n")


def test_help_tells_every_command(t):
    said = answers(t, ":help\n")
    for part in ("?name, name?", ":time STATEMENT", ":explain [FUNCTION]", ":ir FUNCTION [STAGE]", ":mode [eager|graph|auto]", ":load FILE", "Ctrl-R", "Ctrl-D"):
        t.has(said, part)
    t.equal(answers(t, ":help load\n"), "  :load FILE                run a script here, and keep its names\n")
    t.equal(answers(t, ":help :load\n"), answers(t, ":help load\n"))


def test_time_runs_a_statement(t):
    said = answers(t, ":time 6 * 7\n_\n:time for i in range(2):\n    print('turn', i)\n:time 1 / 0\nk = 1\n:time k = k + 1\nk\n")
    t.equal(len(re.findall(r"^took [0-9.]+ (s|ms|us|ns); the processors worked for [0-9.]+ (s|ms|us|ns)$", said, re.M)), 4)
    for part in ("42\ntook", "42\nturn 0\nturn 1\ntook", "ZeroDivisionError: division by zero", "\n2\n"):
        t.has(said, part)
    t.equal(answers(t, ":time exit()\n1\n"), "")


def test_explain_tells_of_one_function(t):
    text = ("def loss(w):\n    print('seen')\n    return (w * w).sum()\n@jit\ndef step(w): return w - grad(loss)(w)\ndef plain(x): return x\n"
            "w = step(ones(3))\nw = step(w)\nplain(1)\n:explain step\n:explain plain\n:explain loss\n")
    said = answers(t, text)
    for part in ("step (<cell 2>:2)\n  version 1: compiled; made because: first call", "<cell 1>:2: call of print",
                 "plain (<cell 3>:1) is interpreted: 1 call so far.\nIn the mode auto a function"):
        t.has(said, part)
    t.check("plain" not in said.split("step (<cell")[1].split("plain (")[0], said)
    t.has(answers(t, ":mode eager\ndef f(x): return x\n:explain f\n:explain\n"), "f (<cell 1>:1) is interpreted: it was not called yet.\nThe mode is eager, in which nothing is compiled.\n")


def test_explain_of_a_method_and_of_a_gradient(t):
    said = answers(t, ":mode graph\nclass Net:\n    def forward(self, x): return (x * x).sum()\nnet = Net()\nnet.forward(ones(3)).item()\n:explain net.forward\n"
                      "def loss(w): return (w * w).sum()\ng = grad(loss)\nfor i in range(3): y = g(ones(3))\n:explain loss\n:explain g\n")
    for part in ("Net.forward (<cell 1>:2)\n  version 1: compiled", "grad(loss) (<cell 4>:1)\n  version 1: compiled"):
        t.has(said, part)
    t.equal(said.count("grad(loss) (<cell"), 2)


def test_ir_prints_stages_of_a_function(t):
    said = answers(t, "def f(x, k=2): return x * k\n:ir f\n")
    t.equal(said, "func @f(%0.x, %1.k) {\n^0:\n  %2 = op.mul %0, %1\n  return %2\n}\n")
    t.has(answers(t, "def f(x, k=2): return x * k\n:ir f code\n"), "0: mul ")
    said = answers(t, ":mode graph\ndef f(x): return x * x + 1\ndef h(x): return x - 1\nf(ones(4)).sum().item(), h(ones(2)).sum().item()\n:ir f typed\n:ir f loops\n:ir f nothing\n")
    for part in ("; f, version 1\n", "// f, version 1\nkernel(", "There is no stage nothing."):
        t.has(said, part)
    t.check("h, version" not in said, said)
    t.has(answers(t, "def f(x): return x\n:ir f loops\n"), "nothing was compiled\n")


def test_mode_changes_how_functions_run(t):
    text = ("def f(x): return x * 2\ndef r(): f(ones(3)).sum().item()\n:mode\n:mode eager\nr()\nr()\n:explain f\n:mode graph\nr()\n:explain f\n:mode eager\nr()\n:explain f\n:mode\n")
    said = answers(t, text)
    parts = re.split(r"^mode ", said, flags=re.M)
    t.equal([p.split(":")[0] for p in parts[1:]], ["auto", "eager", "graph", "eager", "eager"])
    t.has(parts[2], "interpreted: 2 calls so far")
    t.has(parts[3], "f (<cell 1>:1)\n  version 1: compiled; made because: first call")
    t.has(parts[3], "    1 call")
    t.has(parts[4], "    1 call")
    t.has(parts[4], "(The mode is eager now: no version is used.)")
    done = t.run("-i", "--mode=eager", stdin=":mode\ndef f(x): return x * 2\ny = f(ones(3))\n:mode graph\ny = f(ones(3))\n:explain f\n")
    t.has(done.out, "mode eager")
    t.has(done.out, "version 1: compiled")


def test_load_runs_a_script_here(t):
    t.write("part.ouro", "import beside\nvalue = beside.given + 1\ndef f(): return value\nif __name__ == '__main__': print('main')\n5\n")
    os.mkdir(t.path("inner"))
    t.write("inner/part.ouro", "import beside\nvalue = beside.given * 3\nprint(1 / 0)\n")
    t.write("inner/beside.ouro", "given = 20\n")
    said = answers(t, ":load inner/part.ouro\nvalue\n")
    for part in ("60\n", "inner/part.ouro\", line 3, in <module>", "ZeroDivisionError"):
        t.has(said, part)
    t.write("beside.ouro", "given = 10\n")
    t.equal(answers(t, ":load part.ouro\nvalue\nf()\n_\n"), "main\n11\n11\n11\n")
    # One that ends its program ends itself alone.
    t.write("ends.ouro", "import sys\na = 1\nsys.exit(3)\n")
    t.write("done.ouro", "b = 2\nexit()\n")
    t.equal(answers(t, ":load ends.ouro\n:load done.ouro\na, b\n"), "(1, 2)\nends.ouro has ended with status 3.\n")


def test_long_results_are_shortened(t):
    said = answers(t, "list(range(1000))\n{i: str(i) for i in range(500)}\n(1,)\n[]\n{}\nset()\n'x' * 5000\nzeros(1000, 1000)\n"
                      "{'weight': zeros(100, 100), 'bias': zeros(3), 'sizes': list(range(100))}\nx = [1]; x.append(x); x\n(2 ** 70, None, [])\n"
                      "[['a' * 30] * 3] * 2\nlen(_)\n")
    for part in ("[0, 1, 2,", " 39,\n ... 960 more]", "{0: '0', 1: '1',", "... 460 more}", "(1,)\n[]\n{}\nset()\n", "x'... (5000 characters)", "tensor([[0., 0., 0.,  ..., 0., 0., 0.],",
                 "'weight': <tensor f32 [100, 100]>,\n 'bias': tensor([0., 0., 0.]),\n 'sizes': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 90 more]}", "[1, [...]]", "(1180591620717411303424, None, [])",
                 "[['a"):
        t.has(said, part)
    t.check(max(map(len, said.splitlines())) <= 1100 and len(said.splitlines()) < 60, said)
    # Containers in one another, however deep and wide.
    said = answers(t, "def nest(n): return 1 if n == 0 else [nest(n - 1)] * 60\nx = nest(4)\nx\ny = []\nfor i in range(900): y = [y]\ny\n'end'\n")
    t.check(len(said.splitlines()) < 90 and said.endswith("'end'\n") and "Error" not in said and " lines more" in said, said)
    # print() writes all, and the value is whole.
    t.check(len(answers(t, "x = list(range(1000))\nx\nprint(_)\n")) > 4000, "print() is shortened")
    # A class of one's own says what it says.
    t.equal(answers(t, "class L(list):\n    def __repr__(self): return 'mine'\nL([1])\n"), "mine\n")


def test_a_result_is_as_wide_as_the_terminal(t):
    for columns in (40, 120):
        p = prompt(t, columns=columns)
        rows = p.answer("list(range(30))").split("\n")
        t.check(max(map(len, rows)) <= columns and len(rows) == (3 if columns == 40 else 1), rows)
        t.equal(p.end(), 0)


def test_a_picture_is_a_result(t):
    text = "from ouro import plot\nplot.line([1.0, 4.0, 2.0], title='a line')\np = plot.Panel()\nplot.Figure([plot.bars(['a', 'b'], [1, 2]), plot.heat(arange(6.0).reshape(2, 3))], title='both')\n"
    said = answers(t, text)
    for part in ("a line\n", "⠊", "┤", "└", "█", "both\n", "▒"):
        t.has(said, part)
    t.check("Panel object" not in said and "Figure object" not in said, said)
    for kind, env, escape in (("xterm-256color", {"COLORTERM": ""}, b"\x1b[38;5;"), ("xterm-256color", {"COLORTERM": "truecolor"}, b"\x1b[38;2;"), ("dumb", {}, None), ("xterm-256color", {"NO_COLOR": "1"}, None)):
        p = prompt(t, kind, env=env)
        p.answer("from ouro import plot")
        shown = p.answer("plot.line([1.0, 4.0, 2.0])")
        t.has(shown, "⠊")
        t.equal(b"\x1b[38;" in p.raw, escape is not None)
        t.check(escape is None or escape in p.raw, p.raw)
        t.equal(p.end(), 0)


COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


def test_colours_where_the_terminal_has_them(t):
    typed = ("1 / 0", ":nope", "def f(x): return 'text'  # why", "", "?f", ":help")
    for kind, env, on in (("xterm-256color", {}, True), ("xterm-256color", {"NO_COLOR": "1"}, False), ("dumb", {}, False)):
        p = prompt(t, kind, env=env)
        for line in typed:
            p.answer(line, r"(>>>|\.\.\.) ")
        t.equal(bool(COLOUR.search(p.raw)), on)
        if on:
            for part in (b"\x1b[1;32m>>>", b"\x1b[1;31mZeroDivisionError: division by zero", b"\x1b[1;31mThere is no command :nope", b"\x1b[34mdef\x1b[0m f(x)", b"\x1b[32m'text'\x1b[0m", b"\x1b[2m# why"):
                t.check(part in p.raw, f"{part} is not in {p.raw}")
        if kind == "dumb":
            t.check(b"\x1b" not in p.raw, f"an escape on a dumb terminal: {p.raw}")
        t.equal(p.end(), 0)


def test_ctrl_c_in_a_loop_keeps_the_state(t):
    for kind in KINDS:
        p = prompt(t, kind)
        p.answer("k = 7")
        p.answer("def spin():", r"\.\.\.     ")
        p.answer("global k", r"\.\.\.     ")
        p.answer("while True: k += 1", r"\.\.\.     ")
        p.answer("")
        p.type("print('star' 'ted'); spin()\n")
        p.wait_for("started")
        time.sleep(0.3)
        p.type("\x03")
        p.wait_for("KeyboardInterrupt")
        p.wait_for_line(">>> ")
        t.equal(p.answer("k > 1000"), "True")
        t.equal(p.end(), 0)


def test_ctrl_c_in_a_compiled_loop_keeps_the_state(t):
    for kind in KINDS:
        p = prompt(t, kind)
        p.answer(":mode graph")  # each call waits for its version
        p.answer("kept = ones(3)")
        p.answer("def spin(x, n):", r"\.\.\.     ")
        p.answer("for i in range(n): x = x * 0.5 + 1", r"\.\.\.     ")
        p.answer("return x", r"\.\.\. ")
        p.answer("")
        t.equal(p.answer("spin(kept, 3)"), "tensor([1.8750, 1.8750, 1.8750])")
        t.equal(p.answer("y = spin(kept, 5); y = spin(kept, 6)"), "")
        t.has(p.answer(":explain spin"), "version 2: compiled; made because: n changed")
        p.type("print('star' 'ted'); spin(kept, 10 ** 12)\n")
        p.wait_for("started")
        time.sleep(0.3)
        p.type("\x03")
        p.wait_for("KeyboardInterrupt")
        p.wait_for_line(">>> ")
        t.equal(p.answer("kept, spin(kept, 3)"), "(tensor([1., 1., 1.]), tensor([1.8750, 1.8750, 1.8750]))")
        t.has(p.answer(":explain spin"), "version 2: compiled;")
        t.equal(p.end(), 0)


def test_a_signal_and_ctrl_c_end_what_a_command_does(t):
    p = prompt(t)
    p.answer("class Slow:", r"\.\.\.     ")
    p.answer("def __repr__(self):", r"\.\.\.         ")
    p.answer("print('star' 'ted')", r"\.\.\.         ")
    p.answer("while True: pass", r"\.\.\.         ")
    p.answer("")
    for typed in ("Slow()", "?s", ":time Slow()"):
        p.answer("s = Slow()")
        p.type(typed + "\n")
        p.wait_for("started")
        time.sleep(0.1)
        p.process.send_signal(signal.SIGINT) if typed == "?s" else p.type("\x03")
        p.wait_for("KeyboardInterrupt")
        p.wait_for_line(">>> ")
    t.equal(p.answer("1 + 1"), "2")
    t.equal(p.end(), 0)


def test_ctrl_d_and_exit_end_it(t):
    for kind in KINDS:
        t.equal(prompt(t, kind).end(), 0)
        p = prompt(t, kind)
        p.type("äbc\x01\x04\x04")  # in a line it deletes
        p.wait_for_line(r">>> ")
        p.type("\x0542\n")
        p.wait_for("NameError: name 'c42'")
        p.wait_for_line(">>> ")
        p.answer("def f():", r"\.\.\.     ")
        p.type("\x04")  # the statement ends, as by an empty line
        p.wait_for("(Syntax|Indentation)Error(.|\n)*>>> ")
        t.equal(p.end(), 0)
        for typed, status in (("exit()", 0), ("import sys; sys.exit(3)", 3)):
            p = prompt(t, kind)
            p.type(typed + "\n")
            t.equal(p.process.wait(timeout=20 * p.scale), status)
