"""Functions that nothing calls, found by counting words: a part of `./dev check`.

A name counts as used if it stands anywhere else than where functions of that name are declared or defined, comments apart. So a method
that shares its name with a used function is not found; what is found is unused but for what ALLOWED names.

- C++: all functions and methods of headers and sources, but for those of tests/
- Ouro and Python: functions at the beginning of a line without a decorator; in the library those whose name begins with `_`, or all of a
  module that is not a public one
"""
import collections
import os
import re

WORD = re.compile(r"[A-Za-z_]\w*")
C_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
C_FUNCTION = re.compile(
    r"^(?:  )*(?:template <[^>]*>\s*)?(?:(?:static|inline|constexpr|explicit|\[\[nodiscard\]\]|consteval) )*"
    r"(?!return|else|case|using|struct|class|enum|namespace|typedef|public|goto|throw|delete|new|if|for|while|switch|do|friend|virtual|const )"
    r"([A-Za-z_][\w:<>,*& ]*?[\w>*&]) [*&]*((?:\w+::)*)(\w+)\(([^;{}]*)\)\s*(const)?\s*(noexcept)?\s*[;{]", re.M)
FUNCTION = re.compile(r"^((?:@[^\n]*|[ )][^\n]*\))\n)?(?:def|class) +(\w+)", re.M)  # behind a decorator, of one line or several
# Names that something else than a call in this repository asks for, and why. A name that ends in `*` is a file or folder.
ALLOWED = {
    "commute": "rule A1 in code: what a pass that moves operations has to ask",
    "grammar/raw_lexer.cpp*": "ANTLR calls these by its interfaces",
    "grammar/tree_parser*": "ANTLR calls these by its interfaces",
    "stdlib/native/json_reader.cpp*": "RapidJSON calls these of its streams and handlers",
    "stdlib/native/safetensors_file.cpp*": "the JSON library calls these of its handler",
    "support/format_library.cpp*": "an instantiation of fmt",
    "deallocate": "allocators of containers have it",
    "include/*": "the interface of hosts",
}
PUBLIC = ("stdlib/python/", "stdlib/nn/", "stdlib/distributions/constraints", "stdlib/ops/")
SCRIPTS_OF_TESTS = ("tests/lang/", "tests/run/", "tests/error/", "tests/grammar/", "tests/lower/", "tests/ir/", "tests/models/", "examples/", "bench/")


def allowed(path, name):
    return name in ALLOWED or any(path.startswith(key[:-1]) for key in ALLOWED if key.endswith("*"))


def functions(root, listed):
    """["FILE:LINE: nothing calls NAME"]"""
    texts = {}
    for path in listed("*.cpp", "*.h", "*.inc", "*.g4", "*.ouro", "*.py", "*CMakeLists.txt", "dev"):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            text = f.read()
        blank = (lambda m: "\n" * m.group(0).count("\n"))
        texts[path] = C_COMMENT.sub(blank, text) if path.endswith((".cpp", ".h", ".inc")) else re.sub(r"#[^\n]*", "", text)
    count = collections.Counter()
    for text in texts.values():
        count.update(WORD.findall(text))
    return [*of_cpp(texts, count), *of_scripts(texts, count)]


def of_cpp(texts, count):
    first, declared = {}, collections.Counter()
    for path, text in texts.items():
        if not path.endswith((".cpp", ".h")):
            continue
        for m in C_FUNCTION.finditer(text):
            declared[m.group(3)] += 1
            if not path.startswith("tests/"):
                first.setdefault(m.group(3), (path, text.count("\n", 0, m.start(3)) + 1, m.group(1)))
    for name, (path, line, kind) in first.items():
        object_ = kind.split("::")[-1][0].isupper() and path.endswith(".cpp") and count[name] == 1  # `ResultOffer offer(s, v);`
        if count[name] <= declared[name] and not allowed(path, name) and not object_:
            yield f"{path}:{line}: nothing calls {name} (tests/unused.py)"


def of_scripts(texts, count):
    for path, text in texts.items():
        if not path.endswith((".ouro", ".py")) or path.startswith(SCRIPTS_OF_TESTS):
            continue
        for m in FUNCTION.finditer(text):
            name = m.group(2)
            hidden = name.startswith("_") or not path.startswith(PUBLIC)
            test = name.startswith(("test_", "visit_")) or name.startswith("__")
            if count[name] <= 1 and hidden and not m.group(1) and not test and not allowed(path, name):
                yield f"{path}:{text.count(chr(10), 0, m.start(2)) + 1}: nothing calls {name} (tests/unused.py)"
