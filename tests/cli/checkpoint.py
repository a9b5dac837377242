"""Checkpoints and data files: whole or not at all, and what is damaged is refused by name."""
import gzip
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _idx
import _safetensors

SAVE = """
import sys
from ouro import nn, optim
manual_seed(1)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
opt = optim.Adam(model)
nn.save(sys.argv[1], model=model, opt=opt, epoch=3, note='a "b" ü', big=2**70, third=1/3, no=None, yes=True,
        mask=tensor([True, False, True]), half=tensor([1.5, -2.0], dtype=f16), brain=tensor([0.5], dtype=bf16),
        byte=tensor([255, 0], dtype=u8), i=tensor([-1, 2**40]), d=tensor(0.1, dtype=f64), none=zeros(0, 5), inf=float('inf'))
"""
LOAD = """
import sys
from ouro import nn, optim
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
opt = optim.Adam(model)
at = nn.load(sys.argv[1], model=model, opt=opt)
"""


def saved(t, name="m.safetensors"):
    t.write("save.ouro", SAVE)
    t.run("run", "save.ouro", name)
    return t.path(name)


def test_another_reader_opens_the_file(t):
    tensors, metadata = _safetensors.read(saved(t))
    t.equal({k for k in tensors if k.startswith("model")},
            {f"model.{i}.{n}" for i in (0, 2) for n in ("weight", "bias")})
    t.equal(tensors["model.0.weight"][:2], ("F32", (4, 3)))
    t.check(all(abs(v) <= 3 ** -0.5 for v in _safetensors.floats(tensors["model.0.weight"])),
            "weights out of bounds")
    t.equal(tensors["mask"], ("BOOL", (3,), b"\1\0\1"))
    t.equal(tensors["half"], ("F16", (2,), struct.pack("<2e", 1.5, -2.0)))
    t.equal(tensors["brain"], ("BF16", (1,), b"\x00\x3f"))
    t.equal(tensors["byte"], ("U8", (2,), b"\xff\0"))
    t.equal(tensors["i"], ("I64", (2,), struct.pack("<2q", -1, 2 ** 40)))
    t.equal(tensors["d"], ("F64", (), struct.pack("<d", 0.1)))
    t.equal(tensors["none"], ("F32", (0, 5), b""))
    t.equal((metadata["epoch"], metadata["note"], metadata["big"], metadata["no"], metadata["yes"]),
            ("3", '"a \\"b\\" ü"', str(2 ** 70), "null", "true"))
    t.equal(float(metadata["third"]), 1 / 3)
    t.check(not any("_model" in k or "_places" in k for k in [*tensors, *metadata]),
            "the optimizer's model is stored twice")


def test_everything_comes_back(t):
    saved(t)
    t.write("load.ouro", LOAD + """
manual_seed(1)
other = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
print(all([(a == b).all().item() for (_, a), (_, b) in zip(nn.parameters(model), nn.parameters(other))]))
print(at["epoch"], at["note"], at["big"] == 2**70, at["third"] == 1/3, at["no"], at["yes"], at["inf"])
print(at["mask"].tolist(), at["half"].tolist(), at["brain"].tolist(), at["byte"].tolist(), at["i"].tolist(), at["d"].item(), at["none"].shape)
print([at[k].dtype for k in ["mask", "half", "brain", "byte", "i", "d"]])
""")
    done = t.run("run", "load.ouro", "m.safetensors")
    t.equal(done.out.splitlines(), [
        "True", 'a "b" ü'.join(["3 ", " True True None True inf"]),
        "[True, False, True] [1.5, -2.0] [0.5] [255, 0] [-1, 1099511627776] 0.1 (0, 5)",
        "[bool, f16, bf16, u8, i64, f64]"])


def test_the_random_state_comes_back(t):
    t.write("a.ouro", "from ouro import nn\nmanual_seed(7)\nrand(3)\nnn.save('r', x=1)\n"
                      "print(rand(4).tolist())\n")
    t.write("b.ouro", "from ouro import nn\nnn.load('r')\nprint(rand(4).tolist())\n")
    t.equal(t.run("run", "a.ouro").out, t.run("run", "b.ouro").out)


def test_checkpoint_of_another_model(t):
    saved(t)
    t.write("other.ouro", """
from ouro import nn
model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2), nn.Linear(2, 2))
before = model[0].bias
try:
    nn.load("m.safetensors", model=model)
except ValueError as e:
    print(e)
print((model[0].bias == before).all().item(), model[0].in_features)
""")
    done = t.run("run", "other.ouro")
    t.has(done.out, "m.safetensors is a checkpoint of another model: ")
    t.has(done.out, "model.0.weight is f32[4, 3] in the file, f32[5, 3] here")
    t.has(done.out, "more)")
    t.equal(done.out.splitlines()[1], "True 3")


def test_damaged_checkpoints_are_refused(t):
    path = saved(t)
    with open(path, "rb") as f:
        whole = f.read()
    t.write("load.ouro", LOAD)
    size, = struct.unpack("<Q", whole[:8])
    cases = {"empty": b"", "short": whole[:5], "header": whole[:100], "data": whole[:-1],
             "long": whole + b"x", "text": b"hello, this is some text file\n" * 9,
             "json": whole[:8] + b"{" * size + whole[8 + size:],
             "no text": whole.replace(b'"F64"', b'"F\xd7\x34"'), "dtype": whole.replace(b'"F64"', b'"Q64"')}
    for name, content in cases.items():
        t.write(name, content)
        done = t.run("run", "load.ouro", name, status=1)
        t.has(done.err, f"ValueError: {name}: ")
    t.has(t.run("run", "load.ouro", "nowhere", status=1).err,
          "FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'")
    t.has(t.run("run", "load.ouro", ".", status=1).err, "IsADirectoryError")


def test_a_full_disk_keeps_the_old_checkpoint(t):
    path = saved(t)
    with open(path, "rb") as f:
        before = f.read()
    t.write("large.ouro", "from ouro import nn\ntry:\n    nn.save('m.safetensors', w=zeros(100000))\n"
                          "except OSError as e:\n    print(type(e).__name__, e)\nprint('on')\n")
    files = sorted(os.listdir(t.folder))
    done = t.suite.execute(["bash", "-c", f"ulimit -f 16; exec '{t.ouro}' run large.ouro"],
                           cwd=t.folder)
    t.equal((done.status, done.out),
            (0, "OSError [Errno 27] File too large: 'm.safetensors'\non\n"))
    with open(path, "rb") as f:
        t.check(f.read() == before, "the old checkpoint is damaged")
    t.equal(sorted(os.listdir(t.folder)), files)
    t.write("nowhere.ouro", "from ouro import nn\nnn.save('no/such/m', w=zeros(1))\n")
    t.has(t.run("run", "nowhere.ouro", status=1).err,
          "FileNotFoundError: [Errno 2] No such file or directory: 'no/such/m'")


FASHION = "from ouro import data\ntrain, test = data.fashion_mnist()\nprint(train[0].shape)\n"


def fashion(t, text=FASHION):
    t.write("f.ouro", text)
    return t.suite.execute([t.ouro, "run", "f.ouro"], cwd=t.folder,
                           env={"XDG_CACHE_HOME": t.path("cache")})


def test_missing_data_says_how_to_fetch_it(t):
    done = fashion(t)
    t.equal(done.status, 1)
    t.has(done.err, "FileNotFoundError")
    t.has(done.err, "./dev data fashion-mnist")
    t.has(done.err, t.path("cache"))


def test_damaged_data_is_refused(t):
    folder = _idx.write_fashion(t.path("cache"), 20, 20)
    t.equal(fashion(t).out, "(20, 1, 28, 28)\n")
    path = os.path.join(folder, "train-images-idx3-ubyte.gz")
    with open(path, "rb") as f:
        packed = f.read()
    raw = gzip.decompress(packed)
    cases = {"truncated": packed[:len(packed) // 2], "no end": packed[:-4], "empty": b"",
             "damaged": packed[:200] + bytes([packed[200] ^ 255]) + packed[201:],
             "plain, truncated": raw[:-1], "plain, too long": raw + b"\0", "text": b"not a data set",
             "huge": struct.pack(">BBBB3I", 0, 0, 8, 3, 2 ** 32 - 1, 2 ** 32 - 1, 2 ** 32 - 1)}
    for name, content in cases.items():
        with open(path, "wb") as f:
            f.write(content)
        done = fashion(t)
        t.check(done.status == 1, f"{name}: status {done.status}")
        t.has(done.err, "ValueError: " + path)
    with open(path, "wb") as f:
        f.write(raw)
    t.equal(fashion(t).out, "(20, 1, 28, 28)\n")
    with open(path, "wb") as f:
        f.write(_idx.idx((10, 28, 28), bytes(7840)))
    t.has(fashion(t).err, "train has images [10, 28, 28] and labels [20]")
    with open(path, "wb") as f:
        f.write(_idx.idx((20, 28, 27), bytes(20 * 28 * 27)))
    t.has(fashion(t).err, "train has images [20, 28, 27]")
