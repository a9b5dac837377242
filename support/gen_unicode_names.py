#!/usr/bin/env python3
"""Writes unicode_names_table.inc from Python's own Unicode database, so that Ouro and CPython agree on names.

    /usr/bin/python3 support/gen_unicode_names.py > support/unicode_names_table.inc
"""
import sys
import unicodedata as u

LAST = 0x110000
HANGUL = range(0xAC00, 0xD7A4)


def ranges(pred):
    out, start = [], None
    for c in range(LAST + 1):
        inside = c < LAST and not 0xD800 <= c < 0xE000 and pred(chr(c))
        if inside and start is None:
            start = c
        elif not inside and start is not None:
            out.append((start, c - 1))
            start = None
    return out


def show(name, typ, rows):
    print(f"constexpr {typ} {name}[] = {{")
    line = " "
    for r in rows:
        cell = " {" + ",".join(f"0x{v:X}" if v > 9 else str(v) for v in r) + "}," if isinstance(r, tuple) else f" 0x{r:X},"
        if len(line) + len(cell) > 118:
            print(line)
            line = " "
        line += cell
    print(line + "\n};")


start = ranges(str.isidentifier)
cont = ranges(lambda c: ("a" + c).isidentifier())
printable = ranges(str.isprintable)
rows, text = [], []
for lo, hi in cont:
    for c in range(lo, hi + 1):
        d = u.normalize("NFKD", chr(c))
        if c not in HANGUL and d != chr(c):
            rows.append((c, len(text), len(d)))
            text += map(ord, d)
ccc = []
for c in range(LAST):
    k = u.combining(chr(c))
    if k and ccc and ccc[-1][2] == k and ccc[-1][1] == c - 1:
        ccc[-1] = (ccc[-1][0], c, k)
    elif k:
        ccc.append((c, c, k))
pairs = []
for c in range(LAST):
    d = u.decomposition(chr(c)).split()
    if len(d) == 2 and not d[0].startswith("<") and u.normalize("NFC", chr(c)) == chr(c):
        pairs.append((int(d[0], 16), int(d[1], 16), c))
pairs.sort()
print(f"// Made by gen_unicode_names.py from Unicode {u.unidata_version} (Python {sys.version.split()[0]}); do not edit.")
print("// clang-format off")
show("kXidStart", "Range", start)
show("kXidContinue", "Range", cont)
show("kPrintable", "Range", printable)
show("kDecompositions", "Decomposition", rows)
show("kDecomposedText", "uint32_t", text)
show("kCombining", "CombiningRange", ccc)
show("kComposites", "Composite", pairs)
