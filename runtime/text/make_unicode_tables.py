#!/usr/bin/python3
"""Writes unicode_tables.inc: character properties and case mappings, taken from CPython itself.

    /usr/bin/python3 runtime/text/make_unicode_tables.py > runtime/text/unicode_tables.inc

A two-stage table: code point >> 7 selects a block, the block selects a record. A record holds flags, the decimal
digit and four case mappings (upper, lower, title, fold). A mapping is a delta, or, with bit kLongCase, the place of a
sequence of code points (length first) in kLongCases.
"""
import sys
import unicodedata

FLAGS = ["alpha", "decimal", "digit", "numeric", "space", "printable", "id_start", "id_continue", "upper", "lower",
         "title", "cased", "ignorable"]


def flags(c):
    in_word = ("a" + c + "\u03a3").lower()[-1] == "\u03c2"      # Greek final sigma tells both properties
    first = ("-" + c + "\u03a3").lower()[-1] == "\u03c2"
    tests = [c.isalpha(), c.isdecimal(), c.isdigit(), c.isnumeric(), c.isspace(), c.isprintable(),
             c.isidentifier(), ("a" + c).isidentifier(), c.isupper(), c.islower(), unicodedata.category(c) == "Lt",
             first, in_word and not first]
    return sum(1 << i for i, t in enumerate(tests) if t)


long_cases, long_index = [], {}


def mapping(c, s):
    if len(s) == 1:
        return ord(s) - ord(c)
    if s not in long_index:
        long_index[s] = len(long_cases)
        long_cases.extend([len(s)] + [ord(x) for x in s])
    return (1 << 24) + long_index[s]


def record(i):
    c = chr(i)
    digit = unicodedata.decimal(c, -1)
    return (flags(c), int(digit), mapping(c, c.upper()), mapping(c, c.lower()), mapping(c, c.title()),
            mapping(c, c.casefold()))


def lines(numbers, per=24):
    for i in range(0, len(numbers), per):
        print("  " + ", ".join(map(str, numbers[i:i + per])) + ",")


records, record_of, blocks, block_of, first_stage = [], {}, [], {}, []
for start in range(0, 0x110000, 128):
    block = []
    for i in range(start, start + 128):
        r = record(i)
        if r not in record_of:
            record_of[r] = len(records)
            records.append(r)
        block.append(record_of[r])
    block = tuple(block)
    if block not in block_of:
        block_of[block] = len(blocks)
        blocks.append(block)
    first_stage.append(block_of[block])
print(f"// Made by make_unicode_tables.py from CPython {sys.version.split()[0]}, Unicode {unicodedata.unidata_version}. Do not edit.")
print(f"constexpr uint16_t kBlockOf[{len(first_stage)}] = {{")
lines(first_stage)
print(f"}};\nconstexpr uint16_t kRecordOf[{len(blocks)}][128] = {{")
for b in blocks:
    print("  {" + ",".join(map(str, b)) + "},")
print(f"}};\nconstexpr CharRecord kRecords[{len(records)}] = {{")
for r in records:
    print("  {%d, %d, %d, %d, %d, %d}," % r)
print(f"}};\nconstexpr uint32_t kLongCases[{len(long_cases)}] = {{")
lines(long_cases)
print("};")
