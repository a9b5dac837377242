"""docs/operations.md and docs/library.md (and docs/prompt.md, by recording.py): written by this file from what the program says of itself, checked by the tests.

A page is its own list of contents and of examples: what stands before the first `## `, the text under a heading of a group, the order of the
entries and the lines after `>>> ` are kept, all else is made: signatures and texts from rows and docstrings, outputs by running the examples.
`tests/run.py --bless docs/operations.md` writes it. What is public and has no entry gets one, an operation under "## Other" with an example of its
row's tests; what is gone loses its own.
"""
import difflib
import os
import re

from . import recording, session
from .common import ROOT

OPERATIONS = '''
import json, ouro, ouro.help as help, ouro.native.tensors as tensors
T, ops = type(zeros(1)), tensors.operations()
cases = {r[0]: (r[6], r[3]) for r in tensors.rows()}
found = {}
for name, (sig, alias, function, method, differentiable, why, row) in tensors.documentation().items():
    call = hasattr(ouro, name) and not isinstance(getattr(ouro, name), type)
    if call or name in dir(T):
        op = getattr(ops, row)
        found[name] = {"signature": help.signature(getattr(ouro, name) if call else getattr(T, name)), "doc": help.doc(op),
                       "types": sig, "also": [a for a in alias.split() if a != name], "function": call and function, "python": call and not function,
                       "method": method and name in dir(T), "differentiable": differentiable, "why": why, "cases": cases[row]}
aliases = {a for op in found.values() for a in op["also"]}
for name, x in [("tensor", T), *T.__dict__.items()]:
    if name not in found and name not in aliases and not name.startswith("__"):
        what = "class" if x is T else "method" if callable(x) else "attribute"
        how = "" if what == "attribute" else "(data, dtype=None)" if x is T else help.signature(getattr(zeros(1), name))
        found[name] = {"signature": how, "doc": help.doc(x), "types": "", "also": [], "what": what, "cases": None}
print(json.dumps(found))
'''

LIBRARY = '''
import json, ouro, ouro.help as help
from ouro import nn, optim, data, train, metrics, plot, distributions, linalg, demand, progress, jit
import ouro.nn.functional, ouro.nn.init, ouro.nn.utils.rnn, ouro.nn.utils.parametrizations, ouro.nn.utils.parametrize, ouro.optim.lr_scheduler

def members(cls):
    out = []
    for name, group, base, x in help.attributes(cls):
        inner = name in ("extra_repr", "forward") or cls.__module__.startswith("ouro.nn") and group == "Static methods"
        if base is cls and not name.startswith("_") and not inner:
            called = group in ("Methods", "Class methods", "Static methods")
            how = help.signature(getattr(cls, name)) if called else ""
            about = help.doc(x if group != "Static methods" and group != "Class methods" else getattr(cls, name))
            if about and group != "Data and other attributes":
                out.append([name + how, about])
    return out

def told(x):
    above = help.doc(x.__mro__[1]) if isinstance(x, type) and len(x.__mro__) > 2 else ""
    return {"signature": "" if isinstance(x, type) and help.listed(x) is None else help.signature(x), "doc": help.doc(x) or above,
            "members": members(x) if isinstance(x, type) else []}

found = {}
for title, module in MODULES:
    entries = {}
    for name in help.public_names(module):
        x = getattr(module, name)
        home = getattr(x, "__module__", None)
        if help.kind(x) == "module" or not callable(x) or not isinstance(home, str) or not home.startswith("ouro"):
            continue
        entries[name] = told(x)
    found[title] = {"doc": help.doc(module), "entries": entries}
found["ouro"] = {"doc": "", "entries": {n: told(getattr(ouro, n)) for n in NAMES if n not in ("demand", "progress")}
                 | {"progress": told(progress), "demand": {"signature": "", "doc": help.clean(demand.__doc__), "members": members(type(demand))}}}
print(json.dumps(found))
'''
MODULES = ["nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrizations", "nn.utils.parametrize", "optim", "optim.lr_scheduler", "data", "train", "metrics", "plot", "distributions", "linalg"]
NAMES = ["grad", "value_and_grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "vmap", "custom_vjp", "custom_jvp", "checkpoint", "stop_gradient", "jit", "demand", "progress", "manual_seed", "get_rng_state",
         "set_rng_state", "tree_map", "tree_leaves", "is_tensor", "result_type", "finfo", "iinfo", "finfo_max", "finfo_eps"]

ENTRY = re.compile(r"^### `([\w.]+)", re.M)
PLACE = re.compile(r"\b([fb])\[([0-9, ]*)\]")


def parse(text):
    """(what stands before the first group, [(title, its text, [(entry, [statements])])])."""
    head, *groups = re.split(r"^## ", text, flags=re.M)
    found = []
    for group in groups:
        title, _, rest = group.partition("\n")
        intro, *entries = re.split(r"^(?=### `)", rest, flags=re.M)
        found.append((title.strip(), intro.strip(),
                      [(ENTRY.match(e).group(1), [s for m in session.BLOCK.finditer(e) for s, _ in session.statements(m.group(2))]) for e in entries]))
    return head.strip(), found


def tensor_of(match):
    """f[2,3] of a row's test case as an expression of a script."""
    sizes = [int(n) for n in match.group(2).split(",") if n.strip()]
    count = 1
    for n in sizes:
        count *= n
    if match.group(1) == "b":
        return f"(arange({count}) % 2 == 0).reshape({tuple(sizes)})"
    return f"(arange({count}.0) / {count}).reshape({tuple(sizes)})"


def example_of(name, op):
    """A call of the row's tests, for an operation that nobody wrote an example for."""
    if not op["cases"]:
        return [f"zeros(2, 3).{name}"]
    case = op["cases"][0].split(" | ")[0] or ", ".join(["f[3]"] * len(op["cases"][1]))
    return [f"{'' if op['function'] else 'ouro.native.tensors.operations().'}{name}({PLACE.sub(tensor_of, case)})"]


def example_block(sources, outputs):
    out = ["```pycon"]
    for source, shown in zip(sources, outputs):
        first, *more = source.split("\n")
        out += [">>> " + first, *["... " + m for m in more], *([shown] if shown else [])]
    return "\n".join([*out, "```"])


def operation_entry(name, op):
    text = " ".join(op["doc"].split())
    if "what" in op:  # of the class tensor, and no operation
        return f"### `{name}{op['signature']}`\n\n{text}\n\n{op['what'].capitalize()}."
    ways = (["a function"] if op["function"] else ["`ouro." + name + "`"] if op["python"] else []) + (["a method"] if op["method"] else [])
    also = "; also " + ", ".join(f"`{a}`" for a in op["also"]) if op["also"] else ""
    slope = "differentiable" if op["differentiable"] else f"no derivative ({op['why']})" if op["why"] else "no derivative (of integers)"
    if op["types"].startswith("->"):
        slope = ""
    return f"### `{name}{op['signature']}`\n\n{text}\n\n`{op['types']}`; {' and '.join(ways)}{also}{'; ' + slope if slope else ''}."


def text_of(doc):
    """A docstring as Markdown: paragraphs with indented lines are blocks of text."""
    out = []
    for part in re.split(r"\n\s*\n", doc):
        lines = part.split("\n")
        margin = min(len(line) - len(line.lstrip()) for line in lines)
        if any(line.startswith("    ") for line in lines):
            part = "```text\n" + "\n".join(line[margin:] for line in lines) + "\n```"
        out.append(part)
    return "\n\n".join(out)


def plain(signature):
    """Without the addresses of functions that are default values."""
    return re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", signature)


def library_entry(name, entry):
    out = [f"### `{name}{plain(entry['signature'])}`"]
    if entry["doc"]:
        out.append(text_of(entry["doc"]))
    if entry["members"]:
        out.append("\n".join(f"- `{plain(how)}`: " + " ".join(about.split()) for how, about in entry["members"]))
    return "\n\n".join(out)


def write(head, groups, entry_of, suite, folder):
    """The page: entries in the order of the groups, with the examples' outputs, also of those in the texts between them."""
    texts = [head, *(intro for _, intro, _ in groups)]
    sources = [s for text, (_, _, entries) in zip(texts, [("", "", []), *groups])
               for s in [s for m in session.BLOCK.finditer(text) for s, _ in session.statements(m.group(2))] + [s for _, own in entries for s in own]]
    outputs, done = session.answers(suite, sources, folder)
    if done.status != 0:
        raise RuntimeError(f"the examples ended with status {done.status}: {done.err}")
    given = iter(outputs)

    def answered(text):
        def block(m):
            own = [s for s, _ in session.statements(m.group(2))]
            return example_block(own, [next(given) for _ in own])
        return session.BLOCK.sub(block, text)

    out = [answered(head)]
    for title, intro, entries in groups:
        out += ["## " + title] + ([answered(intro)] if intro else [])
        for name, own in entries:
            out.append(entry_of(title, name))
            if own:
                out.append(example_block(own, [next(given) for _ in own]))
    return "\n\n".join(out) + "\n"


def operations(suite, text, folder):
    ops = session.asked(suite, OPERATIONS)
    head, groups = parse(text)
    groups = [(title, intro, [(n, own or example_of(n, ops[n])) for n, own in entries if n in ops]) for title, intro, entries in groups]
    there = {n for _, _, entries in groups for n, _ in entries}
    missing = [(n, example_of(n, op)) for n, op in ops.items() if n not in there]
    if missing:
        if not groups or groups[-1][0] != "Other":
            groups.append(("Other", "", []))
        groups[-1][2].extend(missing)
    return write(head, groups, lambda _, name: operation_entry(name, ops[name]), suite, folder)


def library(suite, text, folder):
    modules = "[" + ", ".join(f"({m!r}, ouro.{m})" for m in MODULES) + "]"
    told = session.asked(suite, LIBRARY.replace("MODULES", modules).replace("NAMES", repr(NAMES)))
    head, groups = parse(text)
    named = {title.strip("`").removeprefix("ouro.") or "ouro": (intro, entries) for title, intro, entries in groups}
    found = []
    for module in ["ouro", *MODULES]:
        intro, entries = named.get(module, ("", []))
        mine = told[module]["entries"]
        kept = [(n, own) for n, own in entries if n in mine]
        there = {n for n, _ in kept}
        found.append(("`ouro" + ("" if module == "ouro" else "." + module) + "`", intro, kept + [(n, []) for n in mine if n not in there]))
    return write(head, found, lambda title, name: library_entry(name, told[title.strip("`").removeprefix("ouro.")]["entries"][name]), suite, folder)


PAGES = {"docs/operations.md": operations, "docs/library.md": library, "docs/prompt.md": recording.page}


def check(suite, name, folder):
    """What is wrong with a page, in words; with --bless it is written instead."""
    path = os.path.join(ROOT, name)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    made = PAGES[name](suite, text, folder)
    if made == text:
        return ""
    if suite.args.bless:
        with open(path, "w", encoding="utf-8") as f:
            f.write(made)
        return ""
    changed = list(difflib.unified_diff(text.splitlines(), made.splitlines(), "the page", "what it is made of", lineterm="", n=1))
    return f"write it anew with tests/run.py --bless {name}:\n" + "\n".join(changed[:60])
