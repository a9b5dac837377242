"""Sessions in documents: blocks marked `pycon`, lines after `>>> ` (and `... ` for those that go on) with what they print.

All of a document's are one script, so that a page of examples is one process: each statement runs in a `try`, and an expression's value is shown by
its repr, as at a prompt. An exception is shown by its last line alone.
"""
import ast
import json
import re
import textwrap

BLOCK = re.compile(r"^```pycon([^\n]*)\n(.*?)^```", re.M | re.S)
MARK = "\x1e"


def statements(body):
    """[(source, shown output)] of a block."""
    found = []
    for line in body.splitlines():
        if line.startswith(">>> "):
            found.append([[line[4:]], []])
        elif found and not found[-1][1] and (line.startswith("... ") or line == "..."):
            found[-1][0].append(line[4:])
        elif found:
            found[-1][1].append(line)
    return [("\n".join(source), "\n".join(shown).rstrip()) for source, shown in found]


def script(sources):
    """The program that runs statements and writes a mark before the output of each."""
    out = ["def _shown(value):", "    if value is not None:", "        print(repr(value))", ""]
    for source in sources:
        one = ast.parse(source).body
        value = len(one) == 1 and isinstance(one[0], ast.Expr)
        out += [f"print({MARK!r})", "try:", textwrap.indent(f"_shown(({source.strip()}))" if value else source, "    "),
                "except Exception as _error:", "    print(f'{type(_error).__name__}: {_error}')"]
    return "\n".join(out) + "\n"


def answers(suite, sources, folder, option="--mode=auto", env=None, timeout=120):
    """(what each statement printed, or None where the program ended before, and how it ended)."""
    path = f"{folder}/session.ouro"
    with open(path, "w", encoding="utf-8") as f:
        f.write(script(sources))
    done = suite.execute([suite.ouro, "run", "--cache=off", option, path], cwd=folder, env=env, timeout=timeout)
    parts = [p.removeprefix("\n").rstrip() for p in done.out.split(MARK)[1:]]
    return parts + [None] * (len(sources) - len(parts)), done


def asked(suite, program):
    """What a program that prints JSON says."""
    done = suite.execute([suite.ouro, "-c", program])
    if done.status != 0:
        raise RuntimeError(done.err)
    return json.loads(done.out)
