"""What a person can do wrong on the command line: a clear message, CPython's exit status."""
import signal
import time


def test_missing_file(t):
    done = t.run("run", "nowhere.ouro", status=2)
    t.has(done.err, "nowhere.ouro")
    t.has(done.err, "No such file or directory")


def test_a_folder_is_no_script(t):
    t.has(t.run("run", "/", status=1).err, "is a directory")


def test_unknown_option_and_command(t):
    for arguments in (["run", "--mode=fast", "x.ouro"], ["run", "--nonsense", "x.ouro"]):
        done = t.run(*arguments, status=2)
        t.has(done.err, arguments[1].split("=")[0])
    t.has(t.run("--mode", "eager", "x.ouro", status=2).err, "--mode needs a value: --mode=...")


def test_syntax_error(t):
    t.write("bad.ouro", "x = 1\nif x\n    pass\n")
    done = t.run("run", "bad.ouro", status=1)
    t.equal(done.out, "")
    for part in ['File "', 'bad.ouro", line 2', "if x\n", "^", "SyntaxError: expected ':'"]:
        t.has(done.err, part)


def test_twenty_thousand_parentheses(t):
    t.write("deep.ouro", "print('before')\nx = " + "(" * 20000 + ")" * 20000 + "\n")
    done = t.run("run", "deep.ouro", status=1)
    t.equal(done.out, "")
    t.has(done.err, "SyntaxError: too many nested parentheses")
    t.write("deeper.ouro", "x = " + "-" * 20000 + "1\n")
    t.run("run", "deeper.ouro", status=None)
    t.write("attributes.ouro", "try:\n    x" + ".a" * 20000 + "\nexcept NameError: print(1)\n")
    t.run("run", "attributes.ouro", status=None)


def test_a_file_that_is_not_text(t):
    t.write("raw.ouro", b"x = '\xff\xfe'\n")
    done = t.run("run", "raw.ouro", status=1)
    t.has(done.err, "SyntaxError: Non-UTF-8 code starting with '\\xff' in file ")
    t.write("nul.ouro", b"x = 1\0\n")
    t.has(t.run("run", "nul.ouro", status=1).err, "null bytes")
    for inside in (b"x = 'a\0b'\n", b"x = 1  # a\0b\n", b'x = f"""\n\0"""\n'):
        t.write("nul.ouro", inside)
        t.has(t.run("run", "nul.ouro", status=1).err, "source code cannot contain null bytes")


def test_closed_standard_files_do_not_become_others(t):
    t.write("out.ouro", "f = open('data', 'w')\nprint('out')\nf.write('kept')\nf.close()\n1/0\n")
    done = t.suite.execute(["bash", "-c", f"'{t.ouro}' out.ouro <&- >&- 2>&-"], cwd=t.folder)
    t.equal(done.status, 1)
    with open(t.path("data")) as f:
        t.equal(f.read(), "kept")
    t.equal(t.suite.execute(["bash", "-c", f"'{t.ouro}' -c 'print(1)' >&-"], cwd=t.folder).status, 0)


def interrupt(t, text, after="go", arguments=()):
    """Runs a script, sends Ctrl-C a moment after it printed `after`; returns (status, out, err)."""
    t.write("loop.ouro", text)
    process = t.start("run", *arguments, "loop.ouro")
    line = process.stdout.readline()
    t.has(line, after)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_ctrl_c_ends_a_script_as_in_cpython(t):
    status, out, err = interrupt(t, "print('go', flush=True)\nwhile True:\n    pass\n")
    t.equal(status, -signal.SIGINT)
    t.has(err, "KeyboardInterrupt")
    t.has(err, 'line 3, in <module>' if 'line 3' in err else 'line 2, in <module>')


def test_ctrl_c_at_the_end_of_a_loop_is_caught_in_the_same_function(t):
    loops = {
        "one operation": "    try:\n        while True:\n            k += 1\n",
        "nothing": "    try:\n        while True: pass\n",
        "a condition": "    try:\n        while k < 10**18:\n            k += 1\n",
        "an inner loop": "    for i in [1]:\n        try:\n            for j in range(10**15): k += j\n",
    }
    for what, loop in loops.items():
        handler = "except KeyboardInterrupt:\n{0}    print('caught')\n{0}finally:\n{0}    print(k >= 0)\n"
        indent = "        " if loop.startswith("    for") else "    "
        text = "def f():\n    k = 0\n    print('go', flush=True)\n" + loop + indent + handler.format(indent)
        for mode in dict.fromkeys(t.suite.tier(mode)[0] for mode in t.suite.modes):
            status, out, err = interrupt(t, text + "f()\n", arguments=[mode])
            t.equal((what, mode, status, out, err), (what, mode, 0, "caught\nTrue\n", ""))


def test_ctrl_c_runs_finally_and_can_be_caught(t):
    status, out, err = interrupt(t, "def spin():\n    while True:\n        pass\n"
                                    "print('go', flush=True)\ntry:\n    spin()\n"
                                    "except KeyboardInterrupt:\n    print('caught')\n"
                                    "finally:\n    print('finally')\n")
    t.equal((status, out), (0, "caught\nfinally\n"))


def test_ctrl_c_in_the_middle_of_an_epoch(t):
    text = """
from ouro import nn, optim, jit, value_and_grad
model = nn.Linear(20, 5)
opt = optim.Adam(model)
x, y = randn(32, 20), randint(0, 5, (32,))

@jit
def step(x, y):
    loss, grads = value_and_grad(lambda m: cross_entropy(m(x), y))(model)
    opt.update(grads)
    return loss


def epoch():
    while True:
        step(x, y)

step(x, y)
print('go', flush=True)
try:
    epoch()
except KeyboardInterrupt:
    print(opt.t > 0, step(x, y).item() > 0)
"""
    for mode in ("eager", "auto", "graph"):
        status, out, err = interrupt(t, text, arguments=[t.suite.tier(mode)[0]])
        t.equal((status, out, err), (0, "True True\n", ""))


def test_too_much_memory_is_an_exception(t):
    t.write("big.ouro", "try:\n    zeros(10**9, 10**9)\nexcept (MemoryError, RuntimeError) as e:\n"
                        "    print(type(e).__name__)\nprint(zeros(2).tolist())\n")
    for mode in ("eager", "auto", "graph"):
        done = t.run("run", f"--mode={mode}", "big.ouro")
        t.equal(done.out, "MemoryError\n[0.0, 0.0]\n")


def test_infinite_recursion_leaves_the_program_usable(t):
    t.write("deep.ouro", "def f(n):\n    return f(n + 1) + 1\ntry:\n    f(0)\n"
                         "except RecursionError as e:\n    print(e)\nprint('on')\n")
    for mode in ("eager", "auto", "graph"):
        t.equal(t.run("run", f"--mode={mode}", "deep.ouro").out,
                "maximum recursion depth exceeded\non\n")
