"""memory="available": the goal follows what the machine and its control groups have left (docs/demand.md, Beside others)."""
import os

M = 2 ** 20


def machine(t, files):
    """A folder whose files stand for the machine's."""
    for path, text in files.items():
        file = t.path("machine") + path
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w") as f:
            f.write(text)
    return {"OURO_MACHINE": t.path("machine")}


def meminfo(free):
    return f"MemTotal:       {16 * M} kB\nMemFree:  1 kB\nMemAvailable:   {free * 1024} kB\n"


GROUPS2 = {
    "/proc/meminfo": meminfo(8000), "/proc/self/cgroup": "0::/a/b\n", "/proc/pressure/memory": "some avg10=1.50 avg60=0.00 avg300=0.00 total=0\n",
    "/sys/fs/cgroup/a/memory.max": f"{2000 * M}\n", "/sys/fs/cgroup/a/memory.high": f"{1000 * M}\n", "/sys/fs/cgroup/a/memory.current": f"{700 * M}\n",
    "/sys/fs/cgroup/a/memory.stat": f"anon 1\ninactive_file {90 * M}\nactive_file {50 * M}\nslab_reclaimable {10 * M}\n",
    "/sys/fs/cgroup/a/memory.pressure": "some avg10=5.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=9.00 avg60=0.00 avg300=0.00 total=0\n",
    "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/b/memory.current": f"{100 * M}\n",
}
GROUPS1 = {
    "/proc/meminfo": meminfo(8000), "/proc/self/cgroup": "8:pids:/\n4:cpu,memory:/x/y\n0::/\n", "/proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "/sys/fs/cgroup/cpu,memory/x/y/memory.limit_in_bytes": f"{800 * M}\n", "/sys/fs/cgroup/cpu,memory/x/y/memory.usage_in_bytes": f"{300 * M}\n",
    "/sys/fs/cgroup/cpu,memory/x/y/memory.stat": f"inactive_file 5\ntotal_inactive_file {20 * M}\n",
    "/sys/fs/cgroup/cpu,memory/x/memory.limit_in_bytes": f"{2 ** 63 - 4096}\n", "/sys/fs/cgroup/cpu,memory/x/memory.usage_in_bytes": f"{300 * M}\n",
}


def test_what_is_left_is_the_least_of_the_machine_and_its_groups(t):
    t.write("left.ouro", "s = demand.report()['sensors']\nprint([round(s[n] / 2 ** 20) for n in ('available_memory', 'memory_limit')], s['memory_pressure'])\n")
    none = {"/proc/meminfo": meminfo(8000), "/proc/self/cgroup": "0::/\n", "/proc/pressure/memory": ""}
    for files, left in ((none, "[8000, 16384] 0.0"), (GROUPS2, "[400, 1000] 5.0"), (GROUPS1, "[520, 800] 0.0"), ({"/proc/meminfo": meminfo(300)}, "[300, 16384] 0.0")):
        t.equal(t.run("left.ouro", env=machine(t, files)).out, left + "\n")


FOLLOWS = '''
import sys, time
file, mega = sys.argv[1], 2 ** 20
def left(megas):
    with open(file, "w") as f: f.write(f"MemTotal: 16777216 kB\\nMemAvailable: {megas * 1024} kB\\n")
x, held = ones(64, 64), ones(4000, 1000)

def target():
    time.sleep(0.12)
    with demand.step():
        y = x @ x
    return demand.report()["targets"]["memory"]

left(4000)
demand.set(memory="available")
first = target()
left(3500)
second = target()
left(4000)
third = target()
left(100)
fourth = target()
print(first["asked"], first["met"], round((first["target"] - second["target"]) / mega / 50), third["target"] == second["target"])
print(fourth["met"], fourth["target"] < fourth["measured"], fourth["why"])
left(1500)
demand.set(memory=None)
with demand.step(): pass
print("memory" in demand.report()["targets"], "memory" in demand.report()["asked"])
'''


def test_the_target_follows_what_is_left(t):
    t.write("follows.ouro", FOLLOWS)
    env = machine(t, {"/proc/meminfo": meminfo(4000), "/proc/self/cgroup": "0::/\n", "/proc/pressure/memory": "some avg10=0.00\n"})
    t.equal(t.run("follows.ouro", t.path("machine") + "/proc/meminfo", env=env).out,
            "available True 10 True\nFalse True no step is compiled, so none of its values can be computed again\nFalse False\n")


def test_a_sensor_asks_by_itself_where_little_is_left_and_nobody_else_asks(t):
    t.write("near.ouro", '''
import sys, time
x = ones(64, 64)
def asked():
    y = x @ x   # from here on it senses
    for k in range(100):
        time.sleep(0.02)
        if "memory" in demand.report()["asked"]:
            break
        if len(sys.argv) > 1 and k > 20:
            break
    return demand.report()["asked"].get("memory")
print(asked())
print([line[line.index("sensor"):] for line in demand.report()["log"] if "sensor" in line])
demand.set(memory="1000G")
time.sleep(0.4)
print(demand.report()["asked"]["memory"])
''')
    near = machine(t, {"/proc/meminfo": meminfo(900), "/proc/self/cgroup": "0::/\n", "/proc/pressure/memory": "some avg10=0.00\n"})
    t.equal(t.run("near.ouro", env=near).out,
            "('available', 'sensor')\n['sensor: 900M of 16.0G are left, memory=available']\n('1000G', 'script')\n")
    enough = machine(t, {"/proc/meminfo": meminfo(1100)})
    t.equal(t.run("near.ouro", "enough", env=enough).out, "None\n[]\n('1000G', 'script')\n")


# The script plays the kernel: the group holds what the process has and what a hog takes.
BESIDE = '''
import sys, time
from ouro import nn, optim
folder, mega = sys.argv[1], 2 ** 20
layers = []
for _ in range(6):
    layers += [nn.Linear(64, 64), nn.Tanh()]
model = nn.Sequential(*layers, nn.Linear(64, 1))
opt = optim.SGD(model, lr=0.01)
x = randn(32768, 64)

@jit
def step(x):
    loss, grads = value_and_grad(lambda m: m(x).square().mean())(model)
    opt.update(grads)
    return loss

def put(name, number):
    with open(f"{folder}/{name}", "w") as f: f.write(f"{int(number)}\\n")

def resident():
    with open("/proc/self/statm") as f: return int(f.read().split()[1]) * 4096

hog = 0

def train(done, most=2000):
    for k in range(most):
        put("memory.current", resident() + hog)
        step(x)
        if k >= 3 and done(demand.report()):
            return True
    return False

train(lambda r: True)
put("memory.max", resident() + 150 * mega)
demand.set(memory="available")
train(lambda r: True)
alone = demand.report()["measures"]["memory"]
print(demand.report()["targets"]["memory"]["met"], demand.report()["decisions"])
hog = 135 * mega
print(train(lambda r: r["measures"]["memory"] < alone - 15 * mega), demand.report()["decisions"][0]["response"], demand.report()["decisions"][0]["goal"])
hog = 0
print(train(lambda r: "temporaries" not in r["running"]), demand.report()["measures"]["memory"] >= alone - mega)
'''


def test_a_program_shrinks_beside_a_hog_and_grows_back(t):
    if t.suite.sanitized:
        t.skip("a minute of compilation")
    t.write("beside.ouro", BESIDE)
    env = machine(t, {"/proc/meminfo": meminfo(15000), "/proc/self/cgroup": "0::/g\n", "/proc/pressure/memory": "some avg10=0.00\n",
                      "/sys/fs/cgroup/g/memory.max": "max\n", "/sys/fs/cgroup/g/memory.current": "0\n", "/sys/fs/cgroup/g/memory.stat": "inactive_file 0\n"})
    out = t.run("--mode=graph", "beside.ouro", t.path("machine") + "/sys/fs/cgroup/g", env=env, timeout=120).out
    t.equal(out, "True []\nTrue recompute memory\nTrue True\n")
