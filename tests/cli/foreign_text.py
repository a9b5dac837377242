"""Bytes that are no UTF-8, from the system: arguments, names of files and folders, variables of the environment. They
enter and leave as in CPython (surrogateescape)."""
import os
import subprocess

ODD = b"caf\xe9\xff"


def environment(t, options):
    own = {os.fsencode(name): os.fsencode(value) for name, value in t.suite.environment().items()}
    return {**own, **options.pop("env", {})}


def execute(t, *arguments, **options):
    done = subprocess.run([os.fsencode(t.suite.ouro), *arguments], capture_output=True, timeout=120, cwd=t.folder,
                          env=environment(t, options), **options)
    return done.returncode, done.stdout, done.stderr


def as_python(t, *arguments, **options):
    done = subprocess.run([b"/usr/bin/python3", *arguments], capture_output=True, timeout=120, cwd=t.folder,
                          env={**environment(t, options), b"PYTHONUTF8": b"1"}, **options)
    return done.returncode, done.stdout, done.stderr


def put(t, folder, name, text):
    path = os.path.join(os.fsencode(t.folder), folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text)
    return path


def test_arguments_enter_as_in_python(t):
    code = b"import sys\na = sys.argv[1]\nprint(ascii(a), len(a), a.encode('utf-8', 'surrogateescape'), a == a + '', {a: 1}[a])"
    for argument in (ODD, b"\xed\xa0\x80", b"\xc3", b"ok\xc3\xa9", b"\xf5\x80", b""):
        t.equal(execute(t, b"-c", code, argument), as_python(t, b"-c", code, argument))


def test_what_cannot_be_encoded_is_no_output(t):
    code = b"import sys\ntry: print(sys.argv[1])\nexcept UnicodeEncodeError as e: print(ascii(str(e)))\n" \
           b"try: print('a', 'b', sep=sys.argv[1])\nexcept UnicodeEncodeError: print('sep')\n" \
           b"try: print('a', end=sys.argv[1])\nexcept UnicodeEncodeError: print('end')\n" \
           b"try: input(sys.argv[1])\nexcept UnicodeEncodeError: print('input')\n" \
           b"print('kept', file=sys.stderr)\nprint(sys.argv[1], file=sys.stderr)\nraise ValueError(sys.argv[1])"
    status, out, err = execute(t, b"-c", code, ODD)
    t.equal(status, 1)
    t.check(b"'utf-8' codec can't encode character '\\\\udce9' in position 3: surrogates not allowed" in out, out.decode())
    t.equal([line[-5:] for line in out.splitlines()[1:]], [b"sep", b"aend", b"input"])
    t.check(b"kept\ncaf\\udce9\\udcff\n" in err, ascii(err))
    t.check(err.endswith(b"ValueError: caf\\udce9\\udcff\n"), ascii(err))


def test_such_files_are_opened_and_named_in_errors(t):
    code = b"import sys\nn = sys.argv[1]\nopen(n, 'w').write('x')\nprint(open(n).read(), open(n.encode('utf-8', 'surrogateescape')).read())\n" \
           b"for odd in (n + 'missing', b'missing\\xff', '\\ud800', 'a\\0b'):\n  try: open(odd)\n" \
           b"  except (OSError, ValueError) as e: print(type(e).__name__, ascii(str(e)), ascii(getattr(e, 'filename', None)))"
    t.equal(execute(t, b"-c", code, ODD), as_python(t, b"-c", code, ODD))
    t.check(ODD in os.listdir(os.fsencode(t.folder)), "no such file")
    from_library = b"import ouro.native.files as files, ouro.native.safetensors as safetensors, ouro.native.idx as idx\nimport sys\nprint(files.exists(sys.argv[1]))\n" \
                   b"safetensors.save(sys.argv[1], {'a': ones(2)}, {})\nprint(safetensors.load(sys.argv[1])[0]['a'].sum().item())\n" \
                   b"for f in (safetensors.load, idx.read):\n  for n in (sys.argv[1] + '2', sys.argv[2]):\n" \
                   b"    try: f(n)\n    except (OSError, ValueError) as e: print(ascii(str(e)))"
    put(t, b"", b"bad\xff", b"nothing")
    status, out, err = execute(t, b"-c", from_library, ODD, b"bad\xff")
    t.equal((status, err), (0, b""))
    t.equal(out.splitlines()[:2], [b"True", b"2.0"])
    t.check(out.count(b"udcff2") == 2 and out.count(b"bad\\udcff") == 2, out.decode())


def test_scripts_and_modules_in_such_folders(t):
    put(t, ODD, b"beside.ouro", b"def fail(): return 1 / 0\nname = __file__")
    script = put(t, ODD, b"main\xff.ouro", b"import beside, sys\nprint(ascii(beside.name[-18:]), ascii(__file__[-14:]))\n"
                                          b"assert sys.path[0] in __file__\nprint(ascii(repr(beside)[-22:]))\nbeside.fail()")
    for path in (script, os.path.relpath(script, os.fsencode(t.folder))):
        status, out, err = execute(t, path)
        t.equal(status, 1)
        t.check(b"beside.ouro'" in out and b"main\\udcff.ouro'" in out and b"caf\\udce9\\udcff/" in out, ascii(out))
        t.check(b"caf\\udce9\\udcff/main\\udcff.ouro\", line 5, in <module>" in err, ascii(err))
        t.check(b"ZeroDivisionError" in err, ascii(err))
    broken = put(t, ODD, b"broken.ouro", b"x = = 1")
    status, out, err = execute(t, broken)
    t.equal((status, out), (1, b""))
    t.check(b"SyntaxError" in err and b"caf\\udce9\\udcff/broken.ouro" in err, ascii(err))
    status, out, err = execute(t, b"missing\xff.ouro")
    t.equal((status, out), (2, b""))
    status, out, err = execute(t, b"-c", b"import beside\nprint(ascii(beside.name))", env={b"OUROPATH": os.path.dirname(script)})
    t.check(status == 0 and b"caf\\udce9\\udcff/beside.ouro" in out, ascii(out + err))
    home = os.path.join(os.fsencode(t.folder), b"home\xff")
    status, out, err = execute(t, b"-c", b"import ouro.native.files as files\nprint(ascii(files.cache_folder('x')))",
                               env={b"XDG_CACHE_HOME": home})
    t.check(status == 0 and b"home\\udcff/ouro/x" in out, ascii(out + err))


def test_code_that_is_no_text_is_a_syntax_error(t):
    status, out, err = execute(t, b"-c", b"x = '\xff'")
    t.equal((status, out), (1, b""))
    t.check(b"SyntaxError" in err and b"\\xff" in err, ascii(err))
