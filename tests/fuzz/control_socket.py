#!/usr/bin/env python3
"""Hostile clients of a running program's control socket (runtime/control): half a request, none, endless ones, bytes of any
kind, answers that nobody reads, connections that are cut at any moment. Whatever they do, a good client is answered within
a second and a bit, and what the program prints stays right.

    tests/fuzz/control_socket.py [--seed N] [--count N | --seconds N] [--ouro build/ouro]

A round holds some dozens of clients at once; everything is drawn from the round's seed.
"""
import argparse
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = """
import time
x = tensor([[1.0] * 64] * 64)
print("ready", (x @ x).tolist()[5][7], flush=True)
while True:
    if (x @ x).tolist()[5][7] != 64.0: print("wrong", flush=True)
    time.sleep(0.01)
"""
WORDS = [b"get", b"set", b"threads=1", b"threads=auto", b"precision=bf16", b"precision=f32", b"device=cpu", b"threads=0", b"threads=99999999999999999999",
         b"=", b"a=b", b"threads", b"device=nowhere", b"", b"%s%n", b"\x00", b"\xff", b"get get", b"threads=1=2", b"precision=", b"x" * 5000]


def request(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
    if kind == 1:
        return b"x" * rng.choice([4095, 4096, 4097, 100_000])
    line = b" ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 5)))
    return line if kind == 2 else line + b"\n" * rng.randrange(1, 3)


def hostile(rng, path):
    """A client that has done its worst; it may still hang on the line."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(0.5)
    try:
        s.connect(path)
        data = request(rng)
        way = rng.randrange(6)
        if way == 0:
            return s  # says nothing
        if way == 1:
            for at in range(0, min(len(data), 40), 3):  # in small pieces
                s.sendall(data[at:at + 3])
            return s
        s.sendall(data)
        if way == 2:
            s.shutdown(socket.SHUT_WR)
        if way == 3:
            s.shutdown(socket.SHUT_RD)
        if way == 4:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
            return None
        if way == 5:
            s.recv(rng.randrange(1, 100))
        return s
    except OSError:
        s.close()
        return None


def asked(path, patience=5):
    """Seconds until a good client has its answer; None: it had none."""
    begin = time.time()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(patience)
        try:
            s.connect(path)
            s.sendall(b"get\n")
            answer = b""
            while part := s.recv(4096):
                answer += part
        except OSError:
            return None
    return time.time() - begin if answer.startswith(b"ok\n") and b"running: " in answer else None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=20)
    options.add_argument("--seconds", type=float)
    options.add_argument("--slowest", type=float, default=3.0)
    options.add_argument("--ouro", default=os.path.join(ROOT, "build", "ouro"))
    given = options.parse_args()
    given.ouro = os.path.abspath(given.ouro)
    with tempfile.TemporaryDirectory() as folder:
        runtime = os.path.join(folder, "runtime")
        os.mkdir(runtime, 0o700)
        script = os.path.join(folder, "loop.ouro")
        with open(script, "w") as f:
            f.write(PROGRAM)
        process = subprocess.Popen([given.ouro, "run", "--mode=eager", script], text=True, stdout=subprocess.PIPE,
                                   env=dict(os.environ, XDG_RUNTIME_DIR=runtime))
        path = os.path.join(runtime, "ouro", f"{process.pid}.sock")
        problem, rounds, clients, slowest = "", 0, 0, 0.0
        try:
            if process.stdout.readline() != "ready 64.0\n":
                problem = "the program does not start"
            end = time.time() + (given.seconds or 0)
            while not problem and (time.time() < end if given.seconds else rounds < given.count):
                rng = random.Random(given.seed + rounds)
                rounds += 1
                held = [hostile(rng, path) for _ in range(rng.randrange(1, 90))]
                clients += len(held)
                took = asked(path)
                for s in held:
                    if s and rng.randrange(3):
                        s.close()
                if process.poll() is not None:
                    problem = f"round {given.seed + rounds - 1}: the program ended with {process.returncode}"
                elif took is None or took > given.slowest:
                    problem = f"round {given.seed + rounds - 1}: a good client waited {'in vain' if took is None else took}"
                else:
                    slowest = max(slowest, took)
        finally:
            process.terminate()
            rest = process.communicate(timeout=30)[0]
        if "wrong" in rest:
            problem = problem or "the program went wrong"
    print(problem or f"{clients} clients in {rounds} rounds; the longest wait {slowest:.3f} s")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
