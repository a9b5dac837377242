"""Tensors and training on devices (docs/devices.md): on an OpenCL device where there is one, and on the stand-in for an
NVIDIA GPU (tests/gpu; with OURO_REAL_GPU in the environment, on a real one)."""
import os
import re

from _training import MODEL, until
from harness.cli import tags
from harness.common import ROOT


class Device:
    """One kind of device for a test: its name, the environment programs need for it."""

    def __init__(self, t, name):
        self.t, self.name = t, name
        # PoCL compiles the many small kernels of eager code faster so.
        self.env = {"OURO_OPENCL_OPTIONS": "-cl-opt-disable"} if name == "opencl" else t.suite.stand_in_gpu()
        if name == "opencl" and t.suite.sanitized:
            t.skip("an OpenCL driver's own compiler is not built for sanitizers")
        done = self.run(f"--device={name}", "-c", "print(1)", status=None)
        if done.status != 0:
            t.skip(done.err.strip())

    def run(self, *arguments, **options):
        return self.t.run(*arguments, env=dict(self.env, **options.pop("env", {})), **options)

    def write(self, name, text):
        """With this device's name in place of the other's."""
        self.t.write(name, self.of(text))

    def of(self, text):
        return text.replace("opencl", self.name)


def on_devices(function):
    """The test for each kind of device: function(t, device)."""
    for kind in ("opencl", "cuda"):
        def run(t, kind=kind):
            function(t, Device(t, kind))
        run.tags = getattr(function, "tags", ())
        globals()[f"test_{function.__name__}_{kind}"] = run
    return function


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


@on_devices
def tensors_are_where_they_were_placed(t, d):
    d.write("places.ouro", PLACES)
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
    # The list of what there is names all kinds.
    expected = d.of(expected).replace(f"cpu, {d.name}, cuda", "cpu, opencl, cuda")
    for mode in ("eager", "graph", "auto"):
        got = d.run(f"--mode={mode}", "places.ouro").out
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


@on_devices
def a_net_trains_there_and_nothing_is_left_on_the_host(t, d):
    d.write("train.ouro", TRAIN)
    host = [float(line) for line in t.run("--mode=graph", "train.ouro").out.split()]
    for options, args in (([f"--device={d.name}"], []), ([], ["place"])):
        done = d.run("--mode=graph", *options, "train.ouro", *args, timeout=120, env={"OURO_OPENCL_OPTIONS": ""})
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


@on_devices
@tags("jit", "threads")
def a_step_moves_to_a_device_and_back_without_waiting(t, d):
    d.write("follow.ouro", FOLLOW)
    for mode in ("auto",) if t.suite.sanitized else ("auto", "graph"):
        t.equal(d.run(f"--mode={mode}", "follow.ouro", timeout=120, env={"OURO_OPENCL_OPTIONS": ""}).out,
                "True 1\nTrue\nTrue 1\nFalse\nTrue 1\nTrue\n0 2\n")


@on_devices
@tags("jit")
def a_step_is_compiled_for_the_device_before_it_runs_there(t, d):
    d.write("switch.ouro", """
import sys, time
from ouro import demand, jit
a, b = tensor([[1.0] * 64] * 64), tensor([[2.0] * 64] * 64)
@jit
def step(a, b): return ((a * 2.0 + 1.0) @ b) @ (a * 3.0)
def there(): return demand.report()["devices"].get("opencl", {"launches": 0, "on_host": {}})
for i in range(int(input())):
    step(a, b)
    time.sleep(0.01)
waited = demand.report()["compile_wait_ns"]
demand.set(device="opencl")
taken, left = [], 20
for i in range(20000):
    if demand.report()["running"]["device"] == "opencl": left -= 1
    if left == 0: break
    before = there()["launches"]
    begin = time.perf_counter()
    step(a, b).tolist()
    taken.append(time.perf_counter() - begin)
    if demand.report()["running"]["device"] == "cpu" and there()["launches"] > before: print("interpreted there", i)
    time.sleep(0.005)
print(step(a, b).tolist()[3][4], demand.report()["running"]["device"], there()["launches"] > 0, there()["on_host"], demand.report()["compile_wait_ns"] - waited)
print(sorted(taken)[len(taken) // 2], max(taken), file=sys.stderr)
""")
    for mode in ("auto", "graph"):
        # A driver that has nothing on disk: PoCL would make a kernel's machine code in its first launch.
        empty = os.path.join(t.folder, "driver-" + mode)
        os.mkdir(empty)
        done = d.run(f"--mode={mode}", "switch.ouro", stdin="20\n", timeout=120, env={"OURO_OPENCL_OPTIONS": "", "POCL_CACHE_DIR": empty})
        t.equal(done.out, d.of("73728.0 opencl True {} 0\n"))
        median, longest = map(float, done.err.split())
        t.check(longest < max(10 * median, 3.0 if t.suite.sanitized else 0.3), done.err)


@on_devices
def what_runs_on_the_host_is_counted_and_named(t, d):
    d.write("host.ouro", """
from ouro import demand
i = tensor([1, 2, 3, 4, 5])
i % 3; i // 3; i % 4
print(demand.report()["devices"]["opencl"]["on_host"])
""")
    done = d.run(f"--device={d.name}", "--verbose", "host.ouro", timeout=120)
    t.equal(done.out, "{'floor_divide': 1, 'remainder': 2}\n")
    for name in ("floor_divide", "remainder"):
        t.equal(done.err.count(f"has no kernel for {name}, which runs on the host"), 1)
    t.has(d.run("explain", f"--device={d.name}", "host.ouro", timeout=120).out, "run on the host: floor_divide 1, remainder 2")


@on_devices
def a_checkpoint_comes_back_to_where_the_model_is(t, d):
    d.write("keep.ouro", MODEL + '''
model.to("opencl")
opt.to("opencl")
x, y = x.to("opencl"), y.to("opencl")
step(x, y)
nn.save("net.safetensors", model=model, opt=opt)
after = step(x, y).item()
nn.load("net.safetensors", model=model, opt=opt)
print(model.a.weight.device, opt.m[0].device, step(x, y).item() == after)
''')
    # OpenCL's compiler takes half a minute for the operations one by one.
    for mode in ("graph", "eager") if d.name == "cuda" else ("graph",):
        t.equal(d.run(f"--mode={mode}", "keep.ouro", timeout=120).out, d.of("opencl opencl True\n"))


@on_devices
def the_document_tells_what_happens(t, d):
    with open(os.path.join(ROOT, "docs", "devices.md"), encoding="utf-8") as f:
        block = re.search(r"```ouro skip\n(.*?)```", f.read(), re.S).group(1)
    block = d.of(block)
    d.write("shown.ouro", block)
    done = d.run("shown.ouro", status=1)
    printed = re.search(rf"# ({d.name}.*)", block).group(1) + "\n"
    t.equal(done.out, printed)
    t.equal(done.err.splitlines()[-1], re.search(r"# (RuntimeError.*)", block).group(1))


def test_a_device_that_is_not_there_is_refused(t):
    away = {"LD_LIBRARY_PATH": ""}
    done = t.run("--device=opencl", "-c", "print(1)", status=2, env={"OCL_ICD_VENDORS": t.path("none")})
    t.check("ouro: device 'opencl': " in done.err, done.err)
    if "OURO_REAL_GPU" not in os.environ:
        done = t.run("--device=cuda", "-c", "print(1)", status=2, env=away)
        t.check("ouro: device 'cuda': " in done.err, done.err)
        done = t.run("-c", "from ouro import tensor\ntensor([1.0]).to('cuda')", status=1, env=away)
        t.check("RuntimeError: device 'cuda': " in done.err, done.err)


def test_a_gpu_that_cannot_do_it_is_an_error_or_a_notice(t):
    gpu = t.suite.stand_in_gpu()
    if not gpu:
        t.skip("a real GPU has what it needs")
    done = t.run("--device=cuda", "-c", "print(1)", status=2, env=dict(gpu, OURO_STAND_IN_CAPABILITY="61"))
    t.has(done.err, "device 'cuda': stand-in (PTX on the host) is of compute capability 6.1, which is too old")
    t.write("much.ouro", """
x = zeros(1000, 1000).to("cuda")
try:
    y = [x + i for i in range(10)]
except MemoryError as e:
    print(e)
y = None
print((x + 1).sum().item())
""")
    done = t.run("much.ouro", env=dict(gpu, OURO_STAND_IN_MEMORY="20000000"))
    t.equal(done.out, "not enough memory on device 'cuda' for 4000000 bytes\n1000000.0\n")


def test_a_program_that_a_driver_refuses_runs_on_the_host_and_a_notice_says_so(t):
    device = Device(t, "opencl")
    done = device.run("--verbose", "--device=opencl", "-c", "print((tensor([1.0, 2.0]) * 2).tolist())",
                      env={"OURO_OPENCL_OPTIONS": "-no-such-option"})
    t.equal(done.out, "[2.0, 4.0]\n")
    t.has(done.err, "ouro: device: 'opencl' runs less than was asked, the host the rest: OpenCL error -43")
