"""Tensors and training on a device (docs/devices.md). Skipped where no OpenCL device is, and under sanitizers, for which a
driver's compiler is not built."""
import os
import re

from _training import MODEL, until
from harness.cli import tags
from harness.common import ROOT

# PoCL compiles the many small kernels of eager code faster so.
QUICK = {"OURO_OPENCL_OPTIONS": "-cl-opt-disable"}


def needs_device(t):
    if t.suite.sanitized:
        t.skip("an OpenCL driver's own compiler is not built for sanitizers")
    done = t.run("--device=opencl", "-c", "print(1)", status=None)
    if done.status != 0:
        t.skip(done.err.strip())


PLACES = '''
x = tensor([[1.0, 2.0], [3.0, 4.0]])
y = x.to("opencl")
print(x.device, y.device, (y + y).device, y.sum().device, y.to(f64).device, y.cpu().device, x.to(y).device)
print((y * 2 + 1).tolist(), (y @ y).tolist(), y.T.tolist(), y[0].tolist(), y[tensor([1, 0])].tolist(), y[0, 1].item())
print((y + 1).device, (y * tensor(2.0)).tolist(), len(y), y.shape, float(y.sum()))


def tried(f):
    try:
        return f()
    except RuntimeError as e:
        return e


print(tried(lambda: x + y))
print(tried(lambda: y @ x.to("cpu")))
print(tried(lambda: cat([x, y])))
print(tried(lambda: x.to("gpu")))
f = jit(lambda a, b: a * b)
print(tried(lambda: f(x, y)), f(y, y).device, f(x, x).device, f(y, y).tolist())
z = y
z[0] = 5.0
print(z.tolist(), z.device, y.tolist())
z += 1
print(z.tolist(), z.device)

# Placed ones have a version of their own, and what is placed differently is the interpreter's.
g = jit(lambda a: a * (2 if a.device == "opencl" else 3))
print(g(y)[0, 0].item(), g(x)[0, 0].item(), g(y)[0, 0].item())
h = jit(lambda a, k: (a * 2, k + 1))
print([h(y, tensor(3))[1].device for _ in range(3)], h(x, tensor(3))[1].device)

# Operations written in Ouro make tensors on the way.
i = tensor([1, 0]).to("opencl")
print(one_hot(i, 3).tolist(), bincount(i).device, unique(i).tolist(), y.unfold(1, 1, 1).device, zeros(2).device)

# Gradients are where what they are gradients of is.
print(grad(lambda a: (a * a).sum())(y).device, grad(lambda a: (a.to("opencl") ** 2).sum())(x).device)
print(grad(lambda a: (a.to("opencl") ** 3).sum())(x).tolist(), grad(grad(lambda a: (a ** 3).sum()))(y[0, 0]).item())
print(grad(lambda a: sum([(a[i] * a[i].exp()).sum() for i in range(2)]))(y).device)
report = demand.report()["devices"]["opencl"]
print(report["launches"] > 10, report["bytes_in"] > 0, sorted(report["on_host"]))
'''


def test_tensors_are_where_they_were_placed(t):
    needs_device(t)
    t.write("places.ouro", PLACES)
    expected = """cpu opencl opencl opencl opencl cpu opencl
[[3.0, 5.0], [7.0, 9.0]] [[7.0, 10.0], [15.0, 22.0]] [[1.0, 3.0], [2.0, 4.0]] [1.0, 2.0] [[3.0, 4.0], [1.0, 2.0]] 2.0
opencl [[2.0, 4.0], [6.0, 8.0]] 2 (2, 2) 10.0
add: tensors on 'opencl' and on 'cpu'; bring one to the other's device with x.to('opencl')
matmul: tensors on 'opencl' and on 'cpu'; bring one to the other's device with x.to('opencl')
cat: tensors on 'opencl' and on 'cpu'; bring one to the other's device with x.to('opencl')
no device 'gpu'; there are: cpu, opencl, cuda
mul: tensors on 'opencl' and on 'cpu'; bring one to the other's device with x.to('opencl') opencl cpu [[1.0, 4.0], [9.0, 16.0]]
[[5.0, 5.0], [3.0, 4.0]] opencl [[1.0, 2.0], [3.0, 4.0]]
[[6.0, 6.0], [4.0, 5.0]] opencl
2.0 3.0 2.0
['cpu', 'cpu', 'cpu'] cpu
[[0, 1, 0], [1, 0, 0]] opencl [0, 1] opencl cpu
opencl cpu
[[3.0, 12.0], [27.0, 48.0]] 6.0
opencl
"""
    for mode in ("eager", "graph", "auto"):
        got = t.run(f"--mode={mode}", "places.ouro", env=QUICK).out
        t.equal(got[:len(expected)], expected)
        t.check(got[len(expected):].startswith("True True ["), got)


TRAIN = MODEL + '''
import sys
from ouro import demand
if "place" in sys.argv:
    model.to("opencl")
    opt = optim.Adam(model, lr=1e-3)  # its state is where the model is
    x, y = x.to("opencl"), y.to("opencl")
for i in range(20):
    print(f"{step(x, y).item():.9g}")
devices = demand.report()["devices"]
if "opencl" in devices:
    print(devices["opencl"]["launches"], devices["opencl"]["on_host"], devices["cpu"]["launches"], file=sys.stderr)
'''


@tags("jit")
def test_a_net_trains_there_and_nothing_is_left_on_the_host(t):
    needs_device(t)
    t.write("train.ouro", TRAIN)
    host = [float(line) for line in t.run("--mode=graph", "train.ouro").out.split()]
    for options, args in ((["--device=opencl"], []), ([], ["place"])):
        done = t.run("--mode=graph", *options, "train.ouro", *args)
        there = [float(line) for line in done.out.split()]
        t.check(len(there) == 20 and all(abs(a - b) < 1e-3 for a, b in zip(host, there)), done.out + done.err)
        launches, rest = done.err.split(" ", 1)
        t.check(int(launches) > 200 and rest.startswith("{} "), done.err)
        t.check(int(rest.split()[1]) < 40, done.err)  # what makes the model and the data, before the first step


FOLLOW = MODEL + until("device") + '''
for device in ("opencl", "cpu", "opencl"):
    demand.set(device=device)
    print(until(device), demand.report()["compiled"] - compiles)
    before = demand.report()["devices"]["opencl"]["launches"]
    step(x, y).item()
    print(demand.report()["devices"]["opencl"]["launches"] > before)
print(demand.report()["compile_wait_ns"] - waited, len(demand.report()["versions"]))
'''


@tags("jit", "threads")
def test_a_step_moves_to_a_device_and_back_without_waiting(t):
    needs_device(t)
    t.write("follow.ouro", FOLLOW)
    for mode in ("auto", "graph"):
        t.equal(t.run(f"--mode={mode}", "follow.ouro", timeout=120).out,
                "True 1\nTrue\nTrue 1\nFalse\nTrue 1\nTrue\n0 2\n")


@tags("jit")
def test_a_checkpoint_comes_back_to_where_the_model_is(t):
    needs_device(t)
    t.write("keep.ouro", MODEL + '''
model.to("opencl")
opt.to("opencl")
x, y = x.to("opencl"), y.to("opencl")
step(x, y)
nn.save("net.safetensors", model=model, opt=opt)
after = step(x, y).item()
nn.load("net.safetensors", model=model, opt=opt)
print(model.a.weight.device, opt.m[0].device, step(x, y).item() == after)
''')
    for mode in ("graph", "eager"):
        t.equal(t.run(f"--mode={mode}", "keep.ouro", env=QUICK, timeout=120).out, "opencl opencl True\n")


def test_the_document_tells_what_happens(t):
    needs_device(t)
    with open(os.path.join(ROOT, "docs", "devices.md"), encoding="utf-8") as f:
        block = re.search(r"```ouro skip\n(.*?)```", f.read(), re.S).group(1)
    t.write("shown.ouro", block)
    done = t.run("shown.ouro", status=1, env=QUICK)
    printed = re.search(r"# (opencl.*)", block).group(1) + "\n"
    t.equal(done.out, printed)
    t.equal(done.err.splitlines()[-1], re.search(r"# (RuntimeError.*)", block).group(1))


def test_a_device_that_is_not_there_is_refused(t):
    done = t.run("--device=cuda", "-c", "print(1)", status=2)
    t.check("ouro: device 'cuda': " in done.err, done.err)
    done = t.run("-c", "from ouro import tensor\ntensor([1.0]).to('cuda')", status=1)
    t.check("RuntimeError: device 'cuda': " in done.err, done.err)
