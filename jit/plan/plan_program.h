// A plan's program: instructions over registers and buffers. Internal to jit/plan.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
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
/// one of its groups of axes. For the checker (jit/plan/check), which believes none of it.
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

/// To another block: its first instruction, once all stand, and what its parameters get.
struct Edge {
  uint32_t target = 0;
  std::vector<std::pair<Reg, Operand>> moves;
};

/// What an instruction does, each with what it takes to.
namespace work {

struct Kernel {         // on all the instruction's buffers
  uint32_t kernel = 0;  // of the program
  std::vector<SizeId> sizes;
  std::vector<ScalarRef> scalars;
  SizeId range = 0, work = 0;
};
struct Matmul {  // buffers: two inputs, then the result
  runtime::Matmul form;
  std::vector<SizeId> sizes;  // m, n, k, and how many products each operand and the result is of
  uint32_t kernel = 0;        // on a device: of the program's contractions, which come behind its kernels
};
struct Convolve {  // likewise
  runtime::Convolution form;
  std::vector<SizeId> sizes;  // batch, in and out channels, then in, out, kernel dims
  uint32_t kernel = 0;
};
struct CheckPlaces {  // that the places in the buffer are below the bound; `op` tells from where they count
  ir::Op op{};
  SizeId places = 0, bound = 0;
};
struct Share {  // a register in another shape; claims: the source, the result
  Reg source = kNoReg, result = kNoReg;
  std::vector<SizeId> dims;
};
struct Operation {
  ir::Op op{};
  bool effect = false;
  bool binds = false;  // the result's dims are symbols' first appearance
  uint32_t attr = 0;
  std::vector<Operand> args;
  Reg result = kNoReg;
  const ir::Type* type = nullptr;  // of the result
};
struct Row : Operation {
  Keep keep;  // of the result
};
struct Prim : Operation {
  bool ahead = false;  // a number, made before its place is reached: if that raises, nothing happens yet
};
struct Bind {  // the symbols of `type` from the tensor in `source`
  Reg source = kNoReg;
  const ir::Type* type = nullptr;
};
struct Jump {
  Edge to;
};
struct Branch {
  Operand condition;
  Edge then, otherwise;
};
struct Return {
  std::vector<Operand> values;
  bool outputs = false;  // they are the outputs; else one, the tuple of them
};
struct Leave {
  std::string why;
};

}  // namespace work

using Work = std::variant<work::Kernel, work::Matmul, work::Convolve, work::CheckPlaces, work::Share, work::Row,
                          work::Prim, work::Bind, work::Jump, work::Branch, work::Return, work::Leave>;

struct Instr {
  Work work;
  std::vector<MakeTensor> make;    // before it runs
  std::vector<BufferRef> buffers;  // memory of tensors that it reads and writes
  std::vector<Claim> claims;       // of `buffers`
  std::vector<Reg> drop;           // after it ran
  uint32_t let = UINT32_MAX;       // of the block, which it carries out: contraction, places, row, prim
  Span span{};
  uint32_t inlined = 0;  // as the let says (ir::InlinedCalls)

  template <class W>
  bool is() const {
    return std::holds_alternative<W>(work);
  }
  template <class W>
  const W* get() const {  // null: it does something else
    return std::get_if<W>(&work);
  }
  template <class W>
  W* get() {
    return std::get_if<W>(&work);
  }
  const work::Operation* operation() const {  // null: neither a row nor a primitive
    if (const auto* row = get<work::Row>()) return row;
    return get<work::Prim>();
  }
  std::vector<Edge*> edges() {
    if (auto* jump = get<work::Jump>()) return {&jump->to};
    if (auto* branch = get<work::Branch>()) return {&branch->then, &branch->otherwise};
    return {};
  }
  std::vector<const Edge*> edges() const {
    if (const auto* jump = get<work::Jump>()) return {&jump->to};
    if (const auto* branch = get<work::Branch>()) return {&branch->then, &branch->otherwise};
    return {};
  }
};

struct ArenaSlot {
  SizeId bytes = 0;
  uint32_t first = 0, last = 0;
  int32_t in_place_of = -1;
};

/// Where a run may go on in another plan: the head of a loop. Between two blocks all values stand in registers, which
/// have the numbers of the names, in all plans that are made of one optimised function.
struct LoopEntry {
  ir::BlockId block{};
  uint32_t begin = 0;  // its first instruction
  std::vector<Reg> live;
  bool boxed = false;  // some of these are no tensors or numbers: such as what a derivative keeps of each turn
};

struct Program {
  ir::FunctionRef function;
  ir::FunctionRef base;  // optimised, before it was changed for the plan
  std::vector<LoopEntry> entries;
  struct Part {  // instructions [begin, end) are this block's
    ir::BlockId block;
    uint32_t begin, end;
  };
  std::vector<Part> parts;
  runtime::ExecutionPlan plan;
  Plan::Recomputing recomputing;
  std::optional<Plan::MicroBatching> micro_batching;  // where the plan asks for them
  uint32_t chunk = 0;                                 // the symbol of a chunk's size, which runs start with; 0: none
  int64_t chunk_rows = 0;                             // that size
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

/// Tensors that a kernel joins: the host copies more than a few.
inline size_t most_joined(runtime::ExecutionPlan plan) { return plan.device == runtime::DeviceId::cpu ? 8 : SIZE_MAX; }
/// The program of a typed function as it stands, with kernels that are lowered, not yet compiled.
Program lower_blocks(ir::FunctionRef f, runtime::ExecutionPlan plan, std::vector<ir::loops::Fence> fences);
/// The same of a function that has not been changed for the plan.
/// `base`: what it was for another plan, instead of being optimised anew.
Program build_program(ir::FunctionRef typed, runtime::ExecutionPlan plan = {}, const SymbolSizes& sizes = {},
                      ir::FunctionRef base = nullptr);
/// What the micro-batches of a function that has been optimised would be.
Plan::MicroBatching would_be_micro_batching(const ir::FunctionRef& f, runtime::ExecutionPlan plan,
                                            const SymbolSizes& sizes);
std::string print(const Program& p);

/// A language primitive (or an operation on numbers) on values, as the interpreter does it; error with the exception
/// pending.
runtime::Value run_primitive(runtime::Session& s, const ir::Function& f, ir::Op op, uint32_t attr,
                             std::span<runtime::Value> args);
/// Is it one that run_primitive() can do?
bool is_runnable(ir::Op op);

}  // namespace ouro::jit
