"""The disk cache of compiled code: found by the next process, bounded, and never in the way."""
import os
import re
import shutil
import subprocess

from _training import MODEL
from harness.cli import bits, tags

STEP = "def f(x): return (x * 2.0 + 1.0).sum()\nfor i in range(3): print(f(linspace(0, 1, 1000)).item())\n"
STEPS = MODEL + '''
for i in range(8): print(f"{step(x, y).item():.9g}")
'''


def variables(t, **more):
    """An empty variable counts as one that is not set: the cache is on, in the test's own folder."""
    return dict(OURO_CACHE="", OURO_CACHE_BYTES="", XDG_CACHE_HOME=t.path("home"), **more)


def folder(t):
    return t.path("home/ouro/code")


def entries(t):
    return sorted(n for n in os.listdir(folder(t)) if n.endswith(".code")) if os.path.isdir(folder(t)) else []


def explain(t, script, *options, status=0, **env):
    return t.run("explain", "--mode=graph", *options, script, status=status, env={**variables(t), **env})


def counters(done):
    """(compiled, loaded), as `ouro explain` tells."""
    found = re.search(r"^disk cache (?:on|off): (\d+) compiled, (\d+) loaded$", done.out, re.M)
    return (int(found[1]), int(found[2])) if found else None


def printed(done):
    return done.out[:done.out.index("\n\n")]


def read(path):
    with open(path, "rb") as f:
        return f.read()


@tags("jit")
def test_the_second_process_compiles_nothing(t):
    t.write("model.ouro", STEPS)
    first, second = explain(t, "model.ouro"), explain(t, "model.ouro")
    t.equal(counters(first), (1, 0))
    t.equal(counters(second), (0, 1))
    t.check("ms, compiled in" in first.out and "ms, loaded in" in second.out, second.out)
    t.equal(first.err + second.err, "")
    t.equal(len(entries(t)), 1)


@bits
@tags("jit")
def test_all_ways_to_the_code_give_the_same_bits(t):
    t.write("model.ouro", STEPS)
    off = explain(t, "model.ouro", "--cache=off")
    t.equal((counters(off), os.path.exists(t.path("home"))), ((1, 0), False))
    runs = [off, explain(t, "model.ouro"), explain(t, "model.ouro")]
    t.equal([counters(r) for r in runs[1:]], [(1, 0), (0, 1)])
    eager = t.run("run", "--mode=eager", "model.ouro").out.rstrip("\n")
    for r in runs:
        t.equal(printed(r), eager)


@tags("jit")
def test_code_compiled_in_the_background_is_kept(t):
    t.write("step.ouro", STEP)
    for _ in range(2):  # `ir` waits for the compiler
        t.run("ir", "--stage=loops", "--mode=auto", "step.ouro", env=variables(t))
    t.equal(len(entries(t)), 1)
    t.equal(counters(explain(t, "step.ouro")), (0, 1))


def test_what_is_damaged_is_removed_and_made_anew(t):
    t.write("step.ouro", STEP)
    expected = printed(explain(t, "step.ouro"))
    path = os.path.join(folder(t), entries(t)[0])
    good = read(path)

    def flipped(at):
        return good[:at] + bytes([good[at] ^ 0x40]) + good[at + 1:]

    header = {"magic": 0, "format": 8, "key": 20, "length": 48, "high length": 55, "checksum": 60}
    damaged = {name: flipped(at) for name, at in header.items()}
    damaged.update({f"cut at {n}": good[:n] for n in (0, 7, 87, 88, len(good) // 2, len(good) - 1)})
    damaged.update({f"body at {n}": flipped(n) for n in (88, 100, len(good) // 2, len(good) - 1)})
    damaged["more behind it"] = good + b"x"
    damaged["another program's"] = b"#!/bin/sh\n" * 1000
    for name, content in damaged.items():
        with open(path, "wb") as f:
            f.write(content)
        again, after = explain(t, "step.ouro"), explain(t, "step.ouro")
        t.check((counters(again), counters(after)) == ((1, 0), (0, 1)), f"{name}: {again.out}{after.out}")
        t.equal((printed(again), again.err), (expected, ""))
        t.check(read(path) == good, f"{name}: the same code is not the same bytes")


def test_what_is_no_file_of_the_users_is_not_read(t):
    t.write("step.ouro", STEP)
    explain(t, "step.ouro")
    path = os.path.join(folder(t), entries(t)[0])
    good = read(path)

    def symlink():
        t.write("elsewhere", good)
        os.symlink(t.path("elsewhere"), path)

    def open_to_others():
        with open(path, "wb") as f:
            f.write(good)
        os.chmod(path, 0o666)

    def of_another():
        with open(path, "wb") as f:
            f.write(good)
        os.chown(path, 65534, 65534)

    cases = [symlink, open_to_others, lambda: os.mkfifo(path)] + ([of_another] if os.geteuid() == 0 else [])
    for case in cases:
        os.unlink(path)
        case()
        t.equal(counters(explain(t, "step.ouro")), (1, 0))
        t.equal(counters(explain(t, "step.ouro")), (0, 1))
    os.unlink(path)
    os.mkdir(path)  # cannot be replaced: compiled each time
    for _ in range(2):
        t.equal(counters(explain(t, "step.ouro")), (1, 0))


def test_other_processors_code_is_another_entry(t):
    t.write("step.ouro", STEP)
    expected = printed(explain(t, "step.ouro"))
    for expected_counters in ((1, 0), (0, 1)):
        older = explain(t, "step.ouro", "--cpu=x86-64-v2")
        t.equal((counters(older), printed(older)), (expected_counters, expected))
    t.equal(len(entries(t)), 2)
    t.equal(counters(explain(t, "step.ouro")), (0, 1))


def test_the_key_knows_no_names_and_no_lines(t):
    t.write("step.ouro", STEP)
    t.write("other.ouro", "\n# The same loops.\n" + STEP.replace("f(", "another("))
    t.equal(counters(explain(t, "step.ouro")), (1, 0))
    t.equal(counters(explain(t, "other.ouro")), (0, 1))


def test_the_folder_is_the_users_alone(t):
    t.write("step.ouro", STEP)
    explain(t, "step.ouro")
    t.equal(oct(os.stat(folder(t)).st_mode & 0o7777), "0o700")
    os.chmod(folder(t), 0o755)  # readable: closed again
    t.equal(counters(explain(t, "step.ouro")), (0, 1))
    t.equal(oct(os.stat(folder(t)).st_mode & 0o7777), "0o700")
    os.chmod(folder(t), 0o770)
    refused = explain(t, "step.ouro")
    t.equal((counters(refused), refused.err), ((1, 0), ""))
    note = f"ouro: no disk cache: others may write to {folder(t)} (mode 0770, not 0700)\n"
    t.equal(explain(t, "step.ouro", "--cache=on").err, note)
    t.equal(explain(t, "step.ouro", OURO_CACHE="on").err, note)
    t.equal(t.run("cache", status=1, env=variables(t)).err, note)
    t.equal(t.run("cache", "clear", status=1, env=variables(t)).err, note)
    os.chmod(folder(t), 0o700)
    t.equal(counters(explain(t, "step.ouro")), (0, 1))
    if os.geteuid() == 0:
        os.chown(folder(t), 65534, 65534)
        t.equal(counters(explain(t, "step.ouro")), (1, 0))
        t.has(explain(t, "step.ouro", "--cache=on").err, "belongs to another user (mode 0700)")
        os.chown(folder(t), 0, 0)


def test_without_a_folder_everything_works(t):
    t.write("step.ouro", STEP)
    t.write("file", "")
    nowhere = {
        "no home": dict(XDG_CACHE_HOME="", HOME=""),
        "not absolute": dict(XDG_CACHE_HOME="here", HOME="there"),
        "cannot be made": dict(XDG_CACHE_HOME="/proc/ouro"),
        "below a file": dict(XDG_CACHE_HOME=t.path("file")),
    }
    for name, env in nowhere.items():
        for _ in range(2):
            done = explain(t, "step.ouro", **env)
            t.check((counters(done), done.err) == ((1, 0), ""), f"{name}: {done.out}{done.err}")
        t.has(explain(t, "step.ouro", "--cache=on", **env).err, "ouro: no disk cache: ")
    t.equal(sorted(os.listdir(t.folder)), ["file", "step.ouro"])


def test_what_cannot_be_written_is_not_kept(t):
    t.write("step.ouro", STEP)
    command = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", t.ouro, "explain", "--mode=graph", "step.ouro"]
    for _ in range(2):
        done = t.suite.execute(command, cwd=t.folder, env=variables(t))
        t.equal((done.status, counters(done), done.err), (0, (1, 0), ""))
    t.equal(os.listdir(folder(t)), [])


@tags("jit")
def test_many_processes_start_at_once_on_an_empty_cache(t):
    processes = 4 if t.suite.sanitized else 10
    t.write("model.ouro", STEPS)
    env = {**t.suite.environment(), **variables(t)}
    running = [subprocess.Popen([t.ouro, "explain", "--mode=graph", "--threads=1", "model.ouro"], cwd=t.folder, env=env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(processes)]
    ends = [(*p.communicate(timeout=300), p.returncode) for p in running]
    t.equal([(err, status) for _, err, status in ends], [("", 0)] * processes)
    t.equal(len({out[:out.index("\n\n")] for out, _, _ in ends}), 1)
    t.equal(sorted(os.listdir(folder(t))), entries(t) + ["lock"])
    t.equal(len(entries(t)), 1)
    t.equal(counters(explain(t, "model.ouro")), (0, 1))


def steps(t, count):
    """Scripts with different kernels, and the size of the largest entry."""
    names = []
    for i in range(count):
        names.append(f"step{i}.ouro")
        t.write(names[-1], STEP.replace("2.0", f"{i + 2}.5"))
        explain(t, names[-1])
    sizes = [os.path.getsize(os.path.join(folder(t), n)) for n in entries(t)]
    t.equal(len(sizes), count)
    shutil.rmtree(folder(t))
    return names, max(sizes)


def test_the_least_recently_used_goes_first(t):
    (a, b, c), size = steps(t, 3)
    limit = dict(OURO_CACHE_BYTES=str(2 * size + size // 2))
    for script, expected in ((a, (1, 0)), (b, (1, 0)), (a, (0, 1)), (c, (1, 0)), (a, (0, 1)), (c, (0, 1)), (b, (1, 0)),
                             (c, (0, 1)), (a, (1, 0))):
        t.equal((script, counters(explain(t, script, **limit))), (script, expected))
        t.check(len(entries(t)) <= 2, str(entries(t)))
    t.equal(counters(explain(t, b, f"--cache-bytes={size - size // 2}")), (1, 0))  # larger than all that may be kept


def test_the_bound_holds_for_many_processes(t):
    names, size = steps(t, 8)
    env = {**t.suite.environment(), **variables(t), "OURO_CACHE_BYTES": str(3 * size + size // 2)}
    for _ in range(3):
        running = [subprocess.Popen([t.ouro, "--mode=graph", n], cwd=t.folder, env=env, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True) for n in names]
        t.equal([(p.communicate(timeout=300)[1], p.returncode) for p in running], [("", 0)] * len(names))
        t.check(len(entries(t)) == 3, str(entries(t)))


def test_what_writers_left_behind_is_removed(t):
    t.write("step.ouro", STEP)
    t.write("model.ouro", STEPS)
    explain(t, "step.ouro")
    for name, age in (("0123456789abcdef.tmp", 7200), ("fedcba9876543210.tmp", 5), ("notes.txt", 7200)):
        path = os.path.join(folder(t), name)
        with open(path, "w") as f:
            f.write("unfinished")
        os.utime(path, (os.stat(path).st_mtime - age,) * 2)
    explain(t, "model.ouro")
    t.equal(sorted(n for n in os.listdir(folder(t)) if "." in n and not n.endswith(".code")),
            ["fedcba9876543210.tmp", "notes.txt"])
    t.run("cache", "clear", env=variables(t))
    t.equal(sorted(os.listdir(folder(t))), ["lock", "notes.txt"])


def test_ouro_cache_shows_and_clears(t):
    empty = f"folder   {folder(t)}\nentries  0\nbytes    0 of at most 268435456\n"
    t.equal(t.run("cache", env=variables(t)).out, empty)
    t.check(not os.path.exists(t.path("home")), "showing makes no folder")
    t.equal(t.run("cache", "clear", env=variables(t)).out, "removed 0 entries, 0 bytes\n")
    t.write("step.ouro", STEP)
    explain(t, "step.ouro")
    size = os.path.getsize(os.path.join(folder(t), entries(t)[0]))
    shown = t.run("cache", env=variables(t)).out
    t.check(re.fullmatch(re.escape(f"folder   {folder(t)}\nentries  1\nbytes    {size} of at most 268435456\nused     ") +
                         r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", shown), shown)
    t.has(t.run("cache", env={**variables(t), "OURO_CACHE_BYTES": "1K"}).out, "of at most 1024\n")
    t.has(t.run("cache", env={**variables(t), "OURO_CACHE": "off"}).out, "off      by the environment\n")
    t.equal(t.run("cache", "clear", env=variables(t)).out, f"removed 1 entries, {size} bytes\n")
    t.equal(entries(t), [])
    t.equal(counters(explain(t, "step.ouro")), (1, 0))


def test_a_command_line_that_says_nothing_sensible_is_refused(t):
    t.write("step.ouro", STEP)

    def refused(*arguments, **env):
        return t.run(*arguments, status=2, env={**variables(t), **env}).err.splitlines()[0]

    wrong = "ouro: `ouro cache' shows the cache, `ouro cache clear' empties it; there is no "
    t.equal(refused("cache", "drop"), wrong + "'drop'")
    t.equal(refused("cache", "clear", "all"), wrong + "'all'")
    t.equal(refused("--cache=maybe", "step.ouro"), "ouro: --cache is on or off, not 'maybe'")
    t.equal(refused("--cache", "step.ouro"), "ouro: --cache needs a value: --cache=...")
    for number in ("", "x", "-1", "1T", "1MX", "99999999999G", "1e9"):
        t.equal(refused(f"--cache-bytes={number}", "step.ouro"),
                f"ouro: --cache-bytes is a number of bytes (64M, 1G), not '{number}'")
    t.equal(refused("step.ouro", OURO_CACHE="yes"), "ouro: OURO_CACHE is on or off, not 'yes'")
    t.equal(refused("step.ouro", OURO_CACHE_BYTES="much"),
            "ouro: OURO_CACHE_BYTES is a number of bytes (64M, 1G), not 'much'")


def test_options_come_before_the_environment(t):
    t.write("step.ouro", STEP)
    explain(t, "step.ouro")
    t.equal(counters(explain(t, "step.ouro", "--cache=on", OURO_CACHE="off")), (0, 1))
    t.equal(counters(explain(t, "step.ouro", OURO_CACHE="off")), (1, 0))
    t.equal(counters(explain(t, "step.ouro", "--cache=off", OURO_CACHE="on")), (1, 0))
    t.equal(counters(explain(t, "step.ouro", "--cache-bytes=1G", OURO_CACHE_BYTES="0")), (0, 1))
    t.equal(counters(explain(t, "step.ouro", OURO_CACHE_BYTES="0")), (1, 0))


def test_a_program_that_compiles_nothing_touches_no_folder(t):
    t.write("plain.ouro", "print(sum(range(10)), ones(3).sum().item())\n")
    t.run("--mode=graph", "plain.ouro", env=variables(t))
    t.check(not os.path.exists(t.path("home")), "a folder was made")
