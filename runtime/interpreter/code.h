// Register code: what the interpreter runs. A Function of ANF is flattened once (flatten.cpp):
//
//   - every name has a register; names of one source variable, and a block parameter and what is passed to it, share
//     one where their lives do not meet (registers.cpp), so that most jumps move nothing;
//   - operands are registers (>= 0) or constants (~index, < 0);
//   - operands that die here are marked: a call moves them, other operations drop them afterwards. Nameless values die
//     at their last use. Values of source variables stay until the variable is bound again or the function ends, as in
//     CPython, unless they are tensors, which die at their last use so that updates happen in place
//     (docs/design/rules.md C16);
//   - a comparison or test and the branch on it are one instruction, and so are iter.next, is.end and the branch;
//   - unpack_two stands before two tuple_get, and slice_get before an item_get, and does their work; these stay for
//     jumps that enter there;
//   - instructions that may raise inside a `try` have a handover: a target and the moves that the handler's parameters
//     need.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/anf.h"
#include "runtime/object/executor.h"
#include "runtime/object/object.h"

namespace ouro::runtime {

enum class I : uint16_t {
#define INSTR(n) n,
#include "runtime/interpreter/instrs.inc"
  count_
};

// What happens to an operand after its use.
enum class Use : uint8_t {
  keep,
  dies,        // a nameless value
  dies_named,  // the value of a source variable: gone early only if it is a tensor
};

struct Instr {
  I op;
  uint8_t use_a, use_b;  // Use
  int32_t dst;           // register; of jumps the target
  int32_t a, b;          // operands, or indices as the operation says
};
static_assert(sizeof(Instr) == 16);

struct Operand {
  int32_t at = 0;
  Use use = Use::keep;
};

// What an operation found last time.
struct Cache {
  static constexpr int32_t kOfClass = -2;  // `slot` of an attribute that the class has: `object` is what it holds
  static constexpr int32_t kMethod = -3;   // of a plain method of the class
  uint32_t key = 0;                        // version of a class, id of a shape, or version of a module
  uint32_t type_key = 0;                   // version of the shape's class
  int32_t slot = -1;
  const void* owner = nullptr;
  Object* object = nullptr;  // borrowed: valid while the keys match
};

// Operations with any number of operands, and everything rare: `a` or `b` of the instruction is the index of its Site.
struct Site {
  ir::Op op{};
  uint32_t first = 0, count = 0;  // of Code::operands
  uint32_t attr = 0;              // as in the let
  Cache cache;
};

struct MoveTo {
  int32_t dst;
  Operand src;
};
struct HandoverTo {
  uint32_t pc;
  int32_t exception;          // register of the handler's first parameter
  std::vector<MoveTo> moves;  // parallel
};

struct Code {
  ir::FunctionRef function;
  std::vector<Instr> instrs;
  std::vector<Value> constants;
  std::vector<Operand> operands;
  std::vector<Site> sites;
  std::vector<std::vector<int32_t>> switches;  // targets
  std::vector<HandoverTo> handovers;
  std::vector<uint32_t> handover_of;  // per instruction, UINT32_MAX: none
  std::vector<Span> spans;            // per instruction
  std::vector<int32_t> reg_of;        // per name, -1: not in a register
  uint32_t nregs = 0;
  uint32_t nparams = 0;  // entry parameters: registers 0 .. nparams-1
  bool simple = false;   // only positional parameters: calls bind them directly
  bool plain = false;    // and no generator: the loop enters it by itself
  uint32_t positional = 0;
  bool of_library = false;  // not of a script

  // Tier-up.
  uint32_t calls = 0, call_trigger = UINT32_MAX;
  EntryFn entry = nullptr;
  void* entry_data = nullptr;

  uint32_t pc_of(const Instr* i) const { return static_cast<uint32_t>(i - instrs.data()); }
};

struct RegisterPlan {
  std::vector<int32_t> reg_of;
  uint32_t nregs = 0;
};
// Which register each name lives in; entry parameters are 0, 1, ...
RegisterPlan assign_registers(const ir::Function& f, const std::vector<ir::BlockId>& order,
                              const std::vector<std::vector<ir::NameId>>& live_in);

std::unique_ptr<Code> flatten(Session& s, const ir::FunctionRef& f);
// The runtime value of a constant.
Value constant_value(Session& s, const ir::Function& f, ir::ConstId c);
// Lists the instructions, for tests and --stage=code.
std::string disassemble(const Code& code);

}  // namespace ouro::runtime
