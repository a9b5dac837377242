"""`ouro ir` of what was compiled: the stages that only a run of the script makes."""
import os
import shutil
import subprocess

SCRIPT = """
from ouro import jit
@jit
def scores(x):
    return softmax(tanh(x) * 2.0, -1)
@jit
def total(x):
    return x.sum()
print(scores(ones(3, 4)).shape, total(ones(5)).item())
"""

HOLDS = {"typed": "func @scores(%0.x: f32[3, 4]", "plan": "kernel k0", "loops": "reduce fold", "llvm": "define i32 @k0",
         "asm": ".globl\tk0", "cl": "void k0(__global", "ptx": ".entry k0("}


def test_every_stage_is_printed_after_the_scripts_own_output(t):
    t.write("scores.ouro", SCRIPT)
    for stage, text in HOLDS.items():
        done = t.run("ir", f"--stage={stage}", "scores.ouro")
        t.check(done.status == 0 and done.out.startswith("(3, 4) 5.0\n"), done.out[:200] + done.err)
        t.check(text in done.out and "scores, version 1" in done.out and "total, version 1" in done.out,
                f"{stage}: {done.out[:2000]}")


def test_a_function_can_be_chosen(t):
    t.write("scores.ouro", SCRIPT)
    out = t.run("ir", "--stage=loops", "--function=total", "scores.ouro").out
    t.check("total, version 1" in out and "scores" not in out, out)


def test_eager_mode_and_scripts_without_tensors_say_so(t):
    t.write("scores.ouro", SCRIPT)
    t.check("// mode eager: nothing is compiled" in t.run("ir", "--stage=cl", "--mode=eager", "scores.ouro").out, "")
    t.check("; nothing was compiled" in t.run("ir", "--stage=llvm", "-c", "print(1)").out, "")


def test_an_unknown_stage_names_those_there_are(t):
    done = t.run("ir", "--stage=cuda", "-c", "print(1)", status=2)
    t.check(done.status == 2 and "tokens, tree, ast, anf, code, typed, plan, loops, llvm, asm, cl, ptx" in done.err, done.err)


def test_ptxas_takes_the_text(t):
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.path.exists(ptxas):
        t.skip("ptxas is not installed")
    t.write("scores.ouro", SCRIPT)
    for function in ("scores", "total"):
        text = t.run("ir", "--stage=ptx", f"--function={function}", "scores.ouro").out
        t.write("k.ptx", text[text.index("//"):])
        done = subprocess.run([ptxas, "-arch=sm_90", t.path("k.ptx"), "-o", t.path("k.cubin")], capture_output=True, text=True)
        t.check(done.returncode == 0, done.stderr)
