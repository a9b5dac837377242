// A plan's program: instructions over registers and buffers. Internal to jit/plan.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/loops/cluster.h"
#include "ir/loops/memory.h"
#include "jit/plan/plan.h"
#include "runtime/machine/contract.h"

namespace ouro::jit {

using Reg = uint32_t;
using SizeId = uint32_t;  // into Program::sizes
inline constexpr Reg kNoReg = UINT32_MAX;

/// A tensor's memory: in the arena, or of the tensor in a register.
struct BufferRef {
  bool arena = false;
  uint32_t index = 0;
  bool operator==(const BufferRef&) const = default;
};

/// What a buffer holds, as the builder has it: a name of the function, or what stands of a reduction (the name) after
/// one of its groups of axes. For the checker (jit/check), which believes none of it.
struct Claim {
  ir::NameId name = ir::NameId::none;
  int stage = -1;
  bool operator==(const Claim&) const = default;
};

/// Slots of the activation that keep a tensor between runs, to be filled again when nobody else holds it. What leaves
/// the plan has two: a parameter's new value is written while its old one, from the run before, is still in use.
struct Keep {
  uint32_t first = 0, count = 0;
};

/// A register that is to hold a new tensor.
struct MakeTensor {
  Reg reg = kNoReg;
  DType dtype = DType::f32;
  std::vector<SizeId> dims;
  std::vector<Reg> donors;  // dead inputs whose memory it may take, if nobody else holds it
  Keep keep;
};

struct ScalarRef {
  Reg reg = kNoReg;
  bool is_float = false;
};

/// An operand of a boxed operation: a register or a constant.
struct Operand {
  Reg reg = kNoReg;
  ir::ConstId constant = ir::ConstId::none;
};

struct Instr {
  enum class Kind : uint8_t {
    kernel,
    matmul,
    convolve,
    check_places,
    share,
    row,
    prim,
    bind,
    jump,
    branch,
    return_,
    leave
  };
  Kind kind = Kind::prim;
  std::vector<MakeTensor> make;  // before it runs
  std::vector<BufferRef>
      buffers;  // kernel: all of them; contractions: two inputs, then the result; check_places: the places
  std::vector<Claim> claims;  // of `buffers`; of share: the source, the result
  uint32_t let = UINT32_MAX;  // of the block, which it carries out: contraction, check_places, row, prim
  std::vector<Reg> drop;      // after it ran
  // kernel; contractions on a device
  uint32_t kernel = 0;  // in kernels, then contractions of the program
  std::vector<SizeId> sizes;
  std::vector<ScalarRef> scalars;
  SizeId range = 0, work = 0;
  // matmul: sizes are m, n, k, and how many products each operand and the result is of; convolve: sizes are batch, in
  // and out channels, then in, out, kernel dims
  runtime::Matmul matmul;
  runtime::Convolution convolution;
  // check_places: sizes are the number of places and the bound; `op` tells from where they count
  // share: a register in another shape; bind: the symbols of `type` from the tensor in `source`
  Reg result = kNoReg, source = kNoReg;
  std::vector<SizeId> dims;
  // row, prim
  ir::Op op{};
  bool effect = false;
  uint32_t attr = 0;
  uint32_t call = UINT32_MAX;
  std::vector<Operand> args;
  bool binds = false;              // the result's dims are symbols' first appearance
  const ir::Type* type = nullptr;  // of the result
  Keep keep;                       // row: of the result
  // control
  Operand condition;
  struct Edge {
    uint32_t target = 0;  // instruction
    std::vector<std::pair<Reg, Operand>> moves;
  };
  std::vector<Edge> edges;
  std::string why;  // leave
  Span span{};
};

struct ArenaSlot {
  SizeId bytes = 0;
  uint32_t first = 0, last = 0;
  int32_t in_place_of = -1;
};

struct Program {
  ir::FunctionRef function;
  struct Part {  // instructions [begin, end) are this block's
    ir::BlockId block;
    uint32_t begin, end;
  };
  std::vector<Part> parts;
  runtime::ExecutionPlan plan;
  std::vector<Instr> code;
  std::vector<Reg> params;
  std::vector<const ir::Type*> param_types;
  uint32_t registers = 0, caches = 0;
  std::vector<ir::loops::Poly> sizes;
  std::vector<ir::loops::LoweredKernel> kernels;
  std::vector<ir::loops::Kernel> contractions;  // on devices other than the host
  std::vector<ArenaSlot> arena;
  std::vector<uint32_t> symbols;  // in order of their index
  std::map<uint32_t, uint32_t> symbol_index;
};

/// The program of a typed function; kernels are lowered, not yet compiled.
Program build_program(ir::FunctionRef typed, runtime::ExecutionPlan plan = {});
std::string print(const Program& p);

/// A language primitive (or an operation on numbers) on values, as the interpreter does it; error with the exception
/// pending.
runtime::Value run_primitive(runtime::Session& s, const ir::Function& f, const Instr& i,
                             std::span<const runtime::Value> args);
/// Is it one that run_primitive() can do?
bool is_runnable(ir::Op op);

}  // namespace ouro::jit
