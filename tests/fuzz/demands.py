#!/usr/bin/env python3
"""A soak: a model trains while clients of its control socket ask for random demands, steer responses, run statements and send
what is malformed. Nothing may crash, no step may be lost, memory may not grow, and the last loss is that of a run that nobody
disturbed, up to the precision that was asked for.

    tests/fuzz/demands.py [--seconds S] [--clients N] [--seed N] [--ouro build/ouro]
"""
import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

TRAINING = '''
import sys, time
from ouro import nn, optim, demand, jit, value_and_grad

manual_seed(0)
steps = int(sys.argv[1])
x = randn(512, 32)
y = (x[:, :1] * 2 + x[:, 1:2]).tanh()
model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = optim.Adam(model, lr=1e-3)
counted = 0
noted = {}

@jit
def step(x, y):
    loss, grads = value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    opt.update(grads)
    return loss

print("ready", flush=True)
begin = time.time()
while counted < steps:
    a = counted * 64 % 512
    loss = step(x[a:a + 64], y[a:a + 64])
    counted += 1
    if counted % 64 == 0:
        demand.metric("accuracy", 1 - loss.item())
r = demand.report()
print(counted, ((model(x) - y) ** 2).mean().item(), len(r["decisions"]), len(r["versions"]), time.time() - begin, flush=True)
'''

WISHES = {
    "threads": ["1", "2", "3", "auto"], "precision": ["f32", "bf16", "auto"], "memory": ["60%", "35%", "100%", "1M", "available", "auto"],
    "step_time": ["1us", "10ms", "1s", "auto"], "latency": ["1ms", "auto"], "energy": ["1ms", "auto"], "error": ["1e-6", "1e-2", "auto"],
    "accuracy": ["0.5", "2", "auto"], "micro_batch": ["16", "7", "auto", "none"], "sparsity": ["0.5", "0", "auto"], "batch": ["8", "auto"],
    "workers": ["0", "2", "auto"], "prefetch": ["3", "auto"], "watch": ["gradient_norm", "auto"], "optimizer": ["adam", "auto"],
}
KEPT = ("threads", "memory", "step_time", "latency", "energy", "accuracy", "batch", "workers", "prefetch", "watch")  # change no result
HOSTILE = [b"\n", b"set\n", b"set x=1\n", b"set threads=-1\n", b"run 1\n", b"run \"1 +\"\n", b"get x\n", b"\x00\xff\n", b"y" * 70000, b"set " + b"a" * 60000 + b"\n",
           b"do nothing\n", b"veto\n", b"run \"raise KeyError(1)\"\n", b"half a request"]
STATEMENTS = ["counted", "noted['a'] = counted", "demand.report()['steps']", "len(noted)", "1 // 0", "[p.shape for p in model.parameters()]"]
RESPONSES = ["idle_memory", "optimizer", "recompute", "precision", "micro_batch", "choice"]


def ask(path, request, wait=30):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(wait)
        s.connect(path)
        try:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := s.recv(65536):
                answer += piece
            return answer
        except (BrokenPipeError, ConnectionResetError):
            return b"error: closed"


class Client(threading.Thread):
    def __init__(self, path, seed, any_result, ended):
        super().__init__(daemon=True)
        self.path, self.random, self.any_result, self.ended, self.sent, self.refused, self.problem = path, random.Random(seed), any_result, ended, 0, 0, ""

    def request(self):
        r = self.random
        kind = r.random()
        if kind < 0.5:
            names = r.sample([n for n in WISHES if self.any_result or n in KEPT], r.randint(1, 3))
            return ("set " + " ".join(f"{n}={r.choice(WISHES[n])}" for n in names) + "\n").encode()
        if kind < 0.6:
            return f"{r.choice(['veto', 'pin', 'allow', 'do'])} {r.choice(RESPONSES)}\n".encode()
        if kind < 0.75:
            return ("run " + '"' + r.choice(STATEMENTS).replace('"', '\\"') + '"\n').encode()
        if kind < 0.9:
            return r.choice([b"get\n", b"get --json\n", b"log\n", b"log --json\n"])
        return r.choice(HOSTILE)

    def run(self):
        while not self.ended.is_set():
            request = self.request()
            try:
                answer = ask(self.path, request)
            except (FileNotFoundError, ConnectionRefusedError):
                return  # the program has ended
            except OSError as e:
                self.problem = self.problem or f"{request[:60]!r}: {e}"
                return
            self.sent += 1
            self.refused += answer.startswith(b"error")
            if answer and not answer.startswith((b"ok", b"error")):
                self.problem = f"{request[:60]!r}: {answer[:100]!r}"
            time.sleep(self.random.random() * 0.05)


def resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def train(ouro, folder, steps, clients, seed, any_result, seconds):
    """The line that a run prints, what its clients sent and had refused, and what it held at a third and at the end, in KiB."""
    env = dict(os.environ, XDG_RUNTIME_DIR=folder, OURO_CACHE="off", PYTHONHASHSEED="0")
    process = subprocess.Popen([ouro, "run", "train.ouro", str(steps)], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ended = threading.Event()
    try:
        if process.stdout.readline() != "ready\n":
            raise SystemExit("it does not start: " + process.communicate()[1])
        path = os.path.join(folder, "ouro", f"{process.pid}.sock")
        until = time.time() + 20
        while not os.path.exists(path) and time.time() < until and process.poll() is None:
            time.sleep(0.02)
        all_clients = [Client(path, seed + i, any_result, ended) for i in range(clients)]
        for c in all_clients:
            c.start()
        begin, held, last = time.time(), [], 0
        while process.poll() is None and (not clients or time.time() - begin < seconds):
            try:
                held.append(resident(process.pid))
            except (OSError, StopIteration):
                break
            time.sleep(0.2)
        if clients and process.poll() is None:  # that is enough: it trains to its end as it is, or is told how far
            ended.set()
            for c in all_clients:
                c.join()
            ask(path, b'run "steps = counted + 200"\n')
        out, err = process.communicate(timeout=600)
        ended.set()
        for c in all_clients:
            c.join(40)
        problems = [c.problem for c in all_clients if c.problem]
        if process.returncode != 0 or problems:
            raise SystemExit(f"it ended with {process.returncode}: {problems}\n{err[-3000:]}")
        return out.split(), sum(c.sent for c in all_clients), sum(c.refused for c in all_clients), held
    finally:
        process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", action="store_true", help="also demands that change results (precision, micro-batches, sparsity)")
    parser.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        with open(os.path.join(folder, "train.ouro"), "w") as f:
            f.write(TRAINING)
        line, sent, refused, held = train(args.ouro, folder, 10**9, args.clients, args.seed, args.results, args.seconds)
        steps, loss, decisions = int(line[0]), float(line[1]), int(line[2])
        alone = train(args.ouro, folder, steps, 0, 0, False, 0)[0]
        third, end = max(held[len(held) // 6:len(held) // 3] or [0]), max(held[-max(1, len(held) // 6):] or [0])
        print(f"{steps} steps, {sent} requests ({refused} refused), {decisions} decisions, {line[3]} versions; loss {loss:.6g}, alone {float(alone[1]):.6g}; "
              f"{third // 1024} MiB resident after a third, {end // 1024} at the end")
        if not args.results and alone[1] != line[1]:
            raise SystemExit("the loss has other bits")
        if args.results and not loss < 4 * float(alone[1]) + 0.05:
            raise SystemExit("the loss is another one")
        if third and end > 1.25 * third + 48 * 1024:
            raise SystemExit("memory has grown")
        if not sent or not refused:
            raise SystemExit("nobody asked for anything")


if __name__ == "__main__":
    sys.exit(main())
