"""The installed package: `cmake --install`, find_package(Ouro), and a host program for each snippet of
docs/embedding.md that is built against it."""
import os
import re

from harness.cli import Failure

BLOCK = re.compile(r"^```(cpp|cmake|text)\n(.*?)^```", re.M | re.S)
HEADERS = ("ouro.h", "error.h", "session.h", "value.h")


def snippets(t):
    """{file: text} of the document, and {program: what it prints}."""
    with open(os.path.join(t.root, "docs", "embedding.md"), encoding="utf-8") as f:
        blocks = BLOCK.findall(f.read())
    files, outputs, last = {}, {}, None
    for kind, body in blocks:
        if kind == "text":
            outputs[last] = body
            continue
        name = re.match(r"(?://|#) file: *(\S+)", body).group(1)
        files[name], last = body, name.removesuffix(".cpp")
    return files, outputs


def readme_program(t):
    """The README's snippet as a program: what is not an include stands in main()."""
    with open(os.path.join(t.root, "README.md"), encoding="utf-8") as f:
        (body,) = [body for kind, body in BLOCK.findall(f.read()) if kind == "cpp"]
    includes = [line for line in body.splitlines() if line.startswith("#include")]
    rest = [line for line in body.splitlines() if not line.startswith("#include")]
    return "\n".join(["#include <vector>", *includes, "int main() {", *rest, "}", ""])


def execute(t, *command, **options):
    options.setdefault("timeout", 300)
    done = t.suite.execute(list(command), cwd=t.folder, **options)
    if done.status != 0:
        raise Failure(f"{' '.join(command)} ended with {done.status}\n{done.out[-3000:]}{done.err[-3000:]}")
    return done.out


def has_library(t):
    """Only the release build makes one."""
    there = os.path.exists(os.path.join(t.suite.folder, "libouro.so"))
    t.check(there or t.suite.name != "build", "libouro.so is not built")
    return there


def test_programs_of_the_document_run_against_the_installed_package(t):
    if not has_library(t):
        return
    files, outputs = snippets(t)
    t.equal(sorted(outputs), sorted(n.removesuffix(".cpp") for n in files if n.endswith(".cpp")))
    for name, text in files.items():
        t.write(name, text)
    execute(t, "cmake", "--install", t.suite.folder, "--prefix", t.path("prefix"))
    flags = "-Wall -Wextra -Wpedantic -Werror"
    execute(t, "cmake", "-G", "Ninja", "-S", ".", "-B", "host", "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_PREFIX_PATH=" + t.path("prefix"), "-DCMAKE_CXX_FLAGS=" + flags)
    execute(t, "cmake", "--build", "host")
    for name, expected in outputs.items():
        t.equal(execute(t, t.path("host/" + name)), expected)
    # Each header stands alone, also where exceptions are off.
    alone = [f"#include <ouro/{header}>\n" for header in HEADERS]
    for text in (*alone, readme_program(t)):
        source = t.write("alone.cpp", text)
        execute(t, "g++", "-std=c++20", "-fno-exceptions", "-fsyntax-only", *flags.split(),
                "-I", t.path("prefix/include"), source)
    t.equal(execute(t, t.path("prefix/bin/ouro"), "-c", "print(6 * 7)"), "42\n")


def test_the_library_shows_its_own_interface_and_no_other(t):
    if not has_library(t):
        return
    library = os.path.join(t.suite.folder, "libouro.so")
    lines = execute(t, "nm", "-DC", "--defined-only", library).splitlines()
    others = [line for line in lines if " ouro::v0::" not in line]
    t.check(len(lines) > 40, f"only {len(lines)} symbols")
    t.equal(others, [])
    needed = re.findall(r"NEEDED.*\[(.*)\]", execute(t, "readelf", "-d", library))
    for name in needed:
        t.check(name.startswith(("libc.", "libm.", "libstdc++.", "libgcc_s.", "ld-linux", "libantlr4-", "libjpeg.")), f"it needs {name}")
