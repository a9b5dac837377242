"""The stand-in for an NVIDIA GPU (tests/gpu) sees what a kernel does wrong: called here as a driver is."""
import os
import subprocess
import sys

HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"
KERNEL = HEAD + """.visible .entry k(.param .u64 k_param_0)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<3>;
	.reg .b64 	%rd<4>;
	ld.param.u64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
	mul.wide.u32 	%rd2, %r1, 4;
	add.s64 	%rd3, %rd1, %rd2;
BODY
	ret;
}
"""

# Loads argv[1], launches it with one block of 64 threads on 256 bytes, and tells what the driver says of each.
DRIVER = """
import ctypes, sys
cu = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
memory, stream, log = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.create_string_buffer(1000)
made = [cu.cuInit(0), cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cu.cuCtxSetCurrent(context),
        cu.cuStreamCreate(ctypes.byref(stream), 1), cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(256))]
assert made == [0] * 5, made
options = (ctypes.c_int * 2)(5, 6)
values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), len(log))
loaded = cu.cuModuleLoadDataEx(ctypes.byref(module), sys.argv[1].encode(), 2, options, values)
print("loaded", loaded, log.value.decode())
if loaded == 0:
    assert cu.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0
    pointer = ctypes.c_uint64(memory.value)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    cu.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, arguments, None)
    print("waited", cu.cuStreamSynchronize(stream))
    host = (ctypes.c_uint32 * 64)()
    print("copied", cu.cuMemcpyDtoHAsync_v2(host, memory, ctypes.c_size_t(256), stream), host[63])
"""


def _drive(t, body):
    gpu = t.suite.stand_in_gpu()
    if not gpu:
        t.skip("not for a real GPU")
    if t.suite.sanitized:
        t.skip("a sanitizer's library is not for another program")
    done = subprocess.run([sys.executable, "-c", DRIVER, KERNEL.replace("BODY", body)], capture_output=True, text=True,
                          env=dict(os.environ, **gpu), timeout=60)
    return done.stdout + done.stderr


def test_a_kernel_without_fault_runs(t):
    t.equal(_drive(t, "\tst.global.u32 \t[%rd3], %r1;"), "loaded 0 \nwaited 0\ncopied 0 63\n")


def test_parts_of_a_register_are_taken_lowest_first(t):
    got = _drive(t, "\tcvt.u16.u32 \t%rs1, %r1;\n\tmov.b32 \t%r2, {%rs1, 1};\n\tmov.b32 \t{%rs2, %rs3}, %r2;\n"
                    "\tmov.b32 \t%r2, {%rs3, %rs2};\n\tst.global.u32 \t[%rd3], %r2;")
    t.equal(got, f"loaded 0 \nwaited 0\ncopied 0 {(63 << 16) + 1}\n")


def test_a_write_beyond_the_end_is_told_of(t):
    got = _drive(t, "\tst.global.u32 \t[%rd3+4], %r1;")
    t.equal(got, "loaded 0 \nwaited 700\ncopied 700 0\n"
                 "stand-in GPU: k: line 13: thread 63: an address outside of all memory\n")


def test_an_address_that_is_not_aligned_is_told_of(t):
    t.has(_drive(t, "\tst.global.u32 \t[%rd3+2], %r1;"), "thread 0: an address that is not aligned")


def test_different_barriers_are_told_of(t):
    got = _drive(t, "\tsetp.lt.u32 \t%p1, %r1, 7;\n\t@%p1 bra \tL1;\n\tbar.sync \t0;\n\tbra.uni \tL2;\n"
                    "L1:\n\tbar.sync \t0;\nL2:")
    t.has(got, "stand-in GPU: k: threads of a block wait at different barriers")
    t.has(got, "waited 700")


def test_an_instruction_it_does_not_know_is_refused(t):
    t.equal(_drive(t, "\tfrobnicate.f32 \t%r1, %r2;"), "loaded 218 line 13: unknown instruction frobnicate.f32\n")
