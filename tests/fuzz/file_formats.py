#!/usr/bin/env python3
"""Files that Ouro reads, truncated and mutated: checkpoints (safetensors), data sets (IDX, plain and gzip), pictures (PNG,
JPEG), arrays of NumPy, tables (CSV, JSON lines), entries of the code cache. A loader gives what is there, or an error that names the file; the cache's user gets the right number. Never a
crash, and no more memory than the limit.

    tests/fuzz/file_formats.py [--seed N] [--count N | --seconds N] [--ouro build/ouro] [--keep FOLDER]
"""
import argparse
import glob
import gzip
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXTREMES = [0, 1, 7, 8, 127, 255, 256, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
TOKENS = [b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"true", b"-1", b"1e99", b"1.5", b"99999999999999999999999", b'"F32"', b'"BOOL"', b'"__metadata__"',
          b'"shape"', b'"data_offsets"', b"\\ud800", b"\x00", b"\xff", b"\xed\xa0\x80", b'"ouro.rng"', b'"m.w"']

SAVE = """
from ouro import nn
class M:
    def __init__(self):
        self.w, self.b, self.flags, self.n, self.name = ones(3, 4), zeros(5), tensor([True, False]), 7, "text"
        self.parts = [ones(2) * 2.0, {"k": tensor([1, 2, 3])}]
nn.save("checkpoint", m=M(), step=3, done=False, text="é")
from ouro import data
data.write_npy("npy", arange(12).reshape(3, 4))
data.write_npz("npz", a=ones(3), b=arange(4))
"""
# Reads each file of its kind twice; the model must be whole after an error.
LOAD = """
import sys
from ouro import nn
from ouro import data
import ouro.native.idx as idx
import ouro.native.safetensors as safetensors
class M:
    def __init__(self):
        self.w, self.b, self.flags, self.n, self.name = zeros(3, 4), ones(5), tensor([False, False]), 1, "old"
        self.parts = [zeros(2), {"k": tensor([0, 0, 0])}]
def load_model(path):
    m = M()
    try:
        nn.load(path, m=m)
    except BaseException as e:
        if m.w.sum().item() != 0.0 or m.b.sum().item() != 5.0: print("changed by a failed load:", path, type(e).__name__, e)
        raise
    return m.w.sum().item(), m.parts
def load_all(path):
    tensors, scalars = safetensors.load(path)
    return [(t.dtype, t.shape, t.sum() if t.shape else t) for t in tensors.values()], repr(scalars)
def load_idx(path):
    t = idx.read(path)
    return t.shape, t.sum()
READ = {"checkpoint": (load_model, load_all), "idx": (load_idx,), "idx.gz": (load_idx,), "npy": (data.read_npy,), "npz": (data.read_npz,),
        "csv": (data.read_csv,), "jsonl": (data.read_jsonl,), "png": (data.read_image,), "palette.png": (data.read_image,), "jpg": (data.read_image,)}
for line in open("list"):
    kind, path = line.split()
    for f in READ[kind]:
        try:
            repr(f(path))
        except (ValueError, OSError, MemoryError) as e:
            if path not in str(e) and (not isinstance(e, MemoryError) or "png" in kind or kind == "jpg"): print("no name in:", path, type(e).__name__, e)
        except BaseException as e:
            print("not an error of files:", path, type(e).__name__, e)
    print("read", path, flush=True)
print("end")
"""
CACHED = "from ouro import jit\n@jit\ndef f(x): return (x * 2.0 + 1.0).sum(), x.sum(axis=0)\nprint(f(ones(4, 5))[0].item(), f(ones(4, 5))[1].tolist())\n"
RIGHT = "60.0 [4.0, 4.0, 4.0, 4.0, 4.0]\n"


def mutated(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        way, at = rng.randrange(9), rng.randrange(len(data) + 1)
        if way == 0:
            del data[at:]
        elif way == 1 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif way == 2 and at < len(data):
            data[at] = rng.randrange(256)
        elif way == 3:
            del data[at:at + rng.randrange(1, 64)]
        elif way == 4:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 16)))
        elif way == 5:
            data[at:at] = data[at:at + rng.randrange(1, 200)]
        elif way == 6:
            number = struct.pack(rng.choice(["<Q", ">Q"]), rng.choice(EXTREMES))
            at = rng.choice([0, 0, at])
            data[at:at + 8] = number if rng.randrange(2) else number[4:]
        elif way == 7:
            numbers = list(re.finditer(rb"\d+", data))
            if numbers:
                m = rng.choice(numbers)
                data[m.start():m.end()] = str(rng.choice(EXTREMES + [-1, 10**30])).encode()
        else:
            data[at:at + rng.randrange(3)] = rng.choice(TOKENS)
    return bytes(data)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, body) for kind, body in chunks)


# A picture of 5 by 4 in colours, and an interlaced one of 3 by 3 with a palette.
COLOURS = [(b"IHDR", struct.pack(">IIBBBBB", 5, 4, 8, 2, 0, 0, 0)), (b"tEXt", b"a text"),
           (b"IDAT", zlib.compress(b"".join(bytes([f, *range(15)]) for f in (0, 1, 2, 4)))), (b"IEND", b"")]
PALETTE = [(b"IHDR", struct.pack(">IIBBBBB", 3, 3, 8, 3, 0, 0, 1)), (b"PLTE", bytes(range(30))), (b"tRNS", b"\x80"),
           (b"IDAT", zlib.compress(bytes([0, 1, 0, 3, 0, 7, 9, 0, 2, 0, 8, 0, 4, 5, 6]))), (b"IEND", b"")]
PICTURES = {"png": COLOURS, "palette.png": PALETTE}
JPEG = bytes.fromhex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300020101010101020101010202020202040302020202050404030406050606060506060607090806070907060608"
    "0b08090a0a0a0a0a06080b0c0b0a0c090a0a0affc0000b080008000801011100ffc40014000100000000000000000000000000000003ffc4001a100000070000000000000000"
    "00000000000003060a3171c1ffda0008010100003f0036b3ca76cac1ffd9")


def mutated_png(rng, chunks):
    """What stands in it is damaged, its lengths and check sums are right; pixels are packed after they were damaged."""
    chunks = list(chunks)
    for _ in range(rng.choice([1, 1, 2])):
        if rng.randrange(8) == 0:
            chunks.insert(rng.randrange(len(chunks) + 1), rng.choice(chunks))
        if rng.randrange(8) == 0:
            chunks.pop(rng.randrange(len(chunks)))
        at = rng.randrange(max(1, len(chunks) - 1))
        if at >= len(chunks):
            break
        kind, body = chunks[at]
        if kind == b"IDAT" and rng.randrange(3):
            try:
                body = zlib.compress(mutated(rng, zlib.decompress(body)))
            except zlib.error:
                pass
        elif kind == b"IHDR" and rng.randrange(2):
            place = rng.choice([0, 4])
            body = body[:place] + struct.pack(">I", rng.choice(EXTREMES) % 2**32) + body[place + 4:]
        else:
            body = mutated(rng, body)
        chunks[at] = kind, body
    return png(chunks)


def idx(shape, data, kind=8):
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, kind, len(shape), *shape) + data


def run(given, folder, *arguments, env=None, timeout=120):
    return subprocess.run([given.ouro, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                          env=dict(os.environ, XDG_RUNTIME_DIR=folder, **env or {"OURO_CACHE": "off"}))


def told(done):
    return f"it ended with {done.returncode}\n{done.stdout.decode(errors='replace')[-600:]}\n{done.stderr.decode(errors='replace')[-2000:]}"


def check_files(given, rng, folder, whole):
    names = []
    for i in range(60):
        kind = rng.choice(sorted(whole))
        data = whole[kind]
        # The header of a checkpoint keeps its length, so that what stands in it is read.
        if kind == "checkpoint" and rng.randrange(2):
            size, = struct.unpack("<Q", data[:8])
            header = mutated(rng, data[8:8 + size])
            data = struct.pack("<Q", len(header)) + header + data[8 + size:]
        elif kind in PICTURES and rng.randrange(3):
            data = mutated_png(rng, PICTURES[kind])
        elif kind == "idx.gz" and rng.randrange(2):
            data = gzip.compress(mutated(rng, whole["idx"]), 1)
        else:
            data = mutated(rng, data)
        names.append((kind, f"{i}.{kind}"))
        with open(os.path.join(folder, names[-1][1]), "wb") as f:
            f.write(data)
    with open(os.path.join(folder, "list"), "w") as f:
        f.write("".join(f"{kind} {name}\n" for kind, name in names))
    done = run(given, folder, "run", "--memory=200M", "--mode=eager", "load.ouro")
    lines = [line for line in done.stdout.decode(errors="replace").splitlines() if not line.startswith("read ")]
    return "" if done.returncode == 0 and lines == ["end"] else told(done)


def check_cache(given, rng, folder, entries):
    """The entries of the code cache, damaged: the program's number stays right."""
    for path, data in entries.items():
        with open(path, "wb") as f:
            f.write(mutated(rng, data))
    done = run(given, folder, "run", "--mode=graph", "cached.ouro", env={"OURO_CACHE": "on", "XDG_CACHE_HOME": os.path.join(folder, "cache")})
    return "" if done.returncode == 0 and done.stdout.decode() == RIGHT else told(done)


def prepare(given, folder):
    for name, text in (("save.ouro", SAVE), ("load.ouro", LOAD), ("cached.ouro", CACHED)):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    done = run(given, folder, "run", "save.ouro")
    cached = run(given, folder, "run", "--mode=graph", "cached.ouro", env={"OURO_CACHE": "on", "XDG_CACHE_HOME": os.path.join(folder, "cache")})
    entries = {}
    for path in glob.glob(os.path.join(folder, "cache", "**"), recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                entries[path] = f.read()
    if done.returncode or cached.returncode or not entries:
        sys.exit(told(done) + told(cached))
    plain = idx((3, 4, 5), bytes(range(60)))
    whole = {"idx": plain, "idx.gz": gzip.compress(plain), "jpg": JPEG, "csv": b"a,b,c\n1,2.5,x\n2,3.5,y\n3,4e3,\"z\"\n",
             "jsonl": b'{"a": 1, "b": [1, 2]}\n{"a": 2, "b": null}\n'}
    for name in ("checkpoint", "npy", "npz"):
        with open(os.path.join(folder, name), "rb") as f:
            whole[name] = f.read()
    return {**whole, **{kind: png(chunks) for kind, chunks in PICTURES.items()}}, entries


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=10)
    options.add_argument("--seconds", type=float)
    options.add_argument("--most", type=int, default=10, help="stop after so many failures")
    options.add_argument("--keep")
    options.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    given = options.parse_args()
    given.ouro = os.path.abspath(given.ouro)
    end, seed, failures = time.time() + (given.seconds or 0), given.seed, 0
    with tempfile.TemporaryDirectory() as folder:
        whole, entries = prepare(given, folder)
        while failures < given.most and (time.time() < end if given.seconds else seed < given.seed + given.count):
            rng = random.Random(seed)
            for check, of in ((check_files, whole), (check_cache, entries)):
                try:
                    wrong = check(given, rng, folder, of)
                except subprocess.TimeoutExpired:
                    wrong = "it does not end"
                if wrong:
                    failures += 1
                    print(f"seed {seed}, {check.__name__}: {wrong}", flush=True)
                    if given.keep:
                        shutil.copytree(folder, os.path.join(given.keep, f"seed{seed}"), dirs_exist_ok=True)
            seed += 1
    print(f"{60 * (seed - given.seed)} files and {seed - given.seed} caches, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
