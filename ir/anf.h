// THE intermediate representation: A-normal form with join points.
//
// A `Function` is ordered `let` bindings, each naming ONE operation on atoms (names or constants), grouped in
// blocks. A block is a *join point*: a local function of its parameters that is only ever called in tail position
// (Flanagan et al. 1993 for ANF; Maurer et al. 2017 for join points). Control flow is nothing but the terminators
// below; a loop is a join point that jumps to itself. It is SSA with block arguments, written as functions.
//
// Text form (ir/print.h, ir/read.h; parse(print(f)) == f exactly):
//
//   func @name(%0.a, %1.b) {
//   ^0:                                  ; the entry block; its parameters are the function's
//     %2 = op.add %0, %1
//     %3 = cmp.lt %2, 10
//     if %3 ^1(%2) ^2
//   ^1(%4):                              ; a join point
//     return %4
//   ^2:
//     raise %2
//   }
//
// Invariants (ir/verify.h checks them after every pass in debug builds):
//   V1  every name is bound exactly once: as a parameter of one block or as the result of one let;
//   V2  a use is dominated by its binding; a jump passes as many atoms as the target has parameters;
//   V3  block 0 is the entry and nothing jumps to it; every block ends in exactly one terminator;
//   V4  the number of arguments and the attribute of a let are what its operation's row says (ir/prim.h, ir/ops);
//   V5  a let that may raise inside a `try` carries a handover: a handler block and the atoms it receives. The
//       handler's first parameter is the exception value, the others are the handover atoms (bound *before* the let);
//   V6  a block marked `loop_head` is the target of every back edge to it.
// Order gives effects their place (ir/effect.h, docs/design/rules.md A1): only what commutes may move.
//
// A finished Function is immutable and self-contained (own constants; inner functions are constants), so compile
// threads read it without locks and a derived function (differentiated, specialised) never touches its source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/intern.h"
#include "support/source.h"

namespace ouro::ir {

struct Function;
using FunctionRef = std::shared_ptr<const Function>;
struct Type;  // ir/type.h; interned, compared by pointer; nullptr means Any

enum class NameId : uint32_t { none = UINT32_MAX };
enum class BlockId : uint32_t { none = UINT32_MAX };
enum class ConstId : uint32_t { none = UINT32_MAX };
constexpr uint32_t index(NameId n) { return static_cast<uint32_t>(n); }
constexpr uint32_t index(BlockId b) { return static_cast<uint32_t>(b); }
constexpr uint32_t index(ConstId c) { return static_cast<uint32_t>(c); }

// An atom is a name or a constant of the function it stands in.
class Atom {
 public:
  constexpr Atom() = default;
  constexpr Atom(NameId n) : bits_(index(n)) {}
  constexpr Atom(ConstId c) : bits_(index(c) | kConst) {}
  constexpr bool is_name() const { return !(bits_ & kConst); }
  constexpr bool is_const() const { return !is_name() && bits_ != UINT32_MAX; }
  constexpr bool is_none() const { return bits_ == UINT32_MAX; }  // "no atom"
  constexpr NameId name() const { return NameId{bits_}; }
  constexpr ConstId constant() const { return ConstId{bits_ & ~kConst}; }
  constexpr bool operator==(const Atom&) const = default;

 private:
  static constexpr uint32_t kConst = 0x80000000u;
  uint32_t bits_ = UINT32_MAX;
};

// Operations: values below kFirstTensorOp are the language primitives of ir/prim.h, the others are kFirstTensorOp + the
// row's index in the tensor operation registry (ir/ops/registry.h).
enum class Op : uint16_t {};
constexpr uint16_t kFirstTensorOp = 1024;
constexpr bool is_tensor_op(Op op) { return static_cast<uint16_t>(op) >= kFirstTensorOp; }

// How the arguments of a call are passed. The let's atoms are: callee (or receiver), then one atom per argument, in
// source order.
struct CallSig {
  enum class Kind : uint8_t { positional, star, keyword, double_star };
  struct Arg {
    Kind kind = Kind::positional;
    Symbol name{};  // of a keyword
    bool operator==(const Arg&) const = default;
  };
  std::vector<Arg> args;
  Symbol method{};      // of call.method
  bool simple() const;  // only positional arguments
  bool operator==(const CallSig&) const = default;
};

// The path of an `update` (docs/design/rules.md C16): `root.w[i][j] op= v` is {attr w, item, item}. Items take one atom
// each, in order. The root is a value (the let's result is the new root, to be bound to the variable again), or the
// content of a cell (args[0] is the cell) or of a global slot (no root argument): those are taken out, written in place
// if unshared, and put back, also on error. `x += v` on a local is iop.add; on a cell or global it is an augmented
// update with no steps. An augmented update without items may be `loaded`: what the place held before the value was
// computed is the argument before the value (CPython's order, where the value may raise, or write to the place); it is
// written in place if only that place and this operation hold it. One with items may be `held`: the containers of its
// items, as they were loaded before what may change the place was computed, are the arguments before the value (not the
// root, where that is a value). The last of them that is no tensor is written to, whatever stands in the place by now;
// tensors are values: what the place holds of them is written.
struct PlacePath {
  enum class Root : uint8_t { value, cell, global };
  Root root = Root::value;
  Symbol name{};  // of the global or cell variable
  struct Step {
    bool is_item = false;
    Symbol attr{};
    bool operator==(const Step&) const = default;
  };
  std::vector<Step> steps;
  Op in_place{};           // the op.* of `op=`
  bool augmented = false;  // false: plain `=`
  bool loaded = false;     // of augmented ones without items
  bool held = false;       // of those with items
  uint32_t items() const {
    uint32_t n = 0;
    for (const Step& s : steps) n += s.is_item;
    return n;
  }
  // The containers among the arguments.
  uint32_t containers() const { return held ? items() - (root == Root::value && steps[0].is_item) : 0; }
  uint32_t arguments() const { return (root != Root::global) + items() + containers() + loaded + 1; }
  bool operator==(const PlacePath&) const = default;
};

struct Constant {
  enum class Kind : uint8_t {
    none,
    true_,
    false_,
    ellipsis,
    not_implemented,
    unbound,  // the value of a variable that has none yet
    integer,
    big_integer,  // decimal text in `text`, or 0x and hexadecimal
    floating,     // `f`
    string,
    bytes,  // `text` (UTF-8 with lone surrogates as WTF-8; raw bytes)
    tuple,  // `items`
    dtype,  // `i` is a ouro::DType
    code,   // `code`: an inner function, to be made a closure by `function`
    zero,   // autodiff's symbolic zero; scripts never see it
  };
  Kind kind = Kind::none;
  int64_t i = 0;
  double f = 0;
  std::string text;
  std::vector<ConstId> items;
  FunctionRef code;
};

// What a let's `attr` means is in its operation's row (PrimDef::attr). A tensor operation's is the ConstId of the tuple
// of its static arguments, or kNoAttr.
constexpr uint32_t kNoAttr = UINT32_MAX;
struct Let {
  Op op{};
  NameId result = NameId::none;
  uint32_t args_begin = 0;  // into Function::atoms
  uint32_t nargs = 0;
  uint32_t attr = 0;                // symbol id | integer | ConstId | index into calls | index into paths
  uint32_t handover = kNoHandover;  // index into Function::handovers
  bool effect = false;              // of typed programs: what is outside has been changed, or seen, once it ran
  uint32_t inlined = 0;             // of typed programs: the call that it stands in, an index into InlinedCalls
  Span span{};
  static constexpr uint32_t kNoHandover = UINT32_MAX;
};

struct Target {
  BlockId block = BlockId::none;
  uint32_t args_begin = 0;  // into Function::atoms
  uint32_t nargs = 0;
};

struct Terminator {
  enum class Kind : uint8_t {
    none,        // under construction
    return_,     // return a
    jump,        // targets[0]
    branch,      // if a then targets[0] else targets[1]; `a` is a bool (use `truth` before)
    switch_,     // targets[a]; `a` is a small int
    raise,       // raise a from b (b may be none; both none: re-raise of the handled exception); b the constant
                 // unbound: a, caught before, goes on as it is: no new context, no traceback entry
    yield,       // hand `a` out; resume at targets[0] whose LAST parameter is the sent value (not among its args)
    yield_from,  // delegate to iterator `a`; resume at targets[0] whose LAST parameter is the result
    unreachable,
  };
  Kind kind = Kind::none;
  Atom a{}, b{};
  std::vector<Target> targets;
  uint32_t handover = Let::kNoHandover;  // of raise, yield, yield_from
  Span span{};
};

// What a raising let hands to its handler: handler(exception, atoms...).
struct Handover {
  BlockId handler = BlockId::none;
  uint32_t args_begin = 0;
  uint32_t nargs = 0;
};

struct Block {
  std::vector<NameId> params;
  std::vector<Let> lets;
  Terminator term;
  bool loop_head = false;
  bool handler = false;
};

struct NameInfo {
  Symbol hint{};               // the source variable, for messages, snapshots and printing
  const Type* type = nullptr;  // Any
  bool optional = false;       // a parameter that is None where a tag says that nobody looks at it
};

// Python's parameter list. The entry block's parameters are, in order: positional-only, positional-or-keyword, `*args`
// if any, keyword-only, `**kwargs` if any, then the captures.
struct Signature {
  uint32_t posonly = 0, positional = 0 /* includes posonly */, kwonly = 0;
  bool varargs = false, varkw = false;
  std::vector<Symbol> names;  // one per entry parameter, captures excluded
  size_t count() const { return names.size(); }
};

struct Capture {
  Symbol name{};
  bool cell = false;  // the captured value is a cell (docs/design/rules.md A4)
};

struct InlinedCalls;  // jit/plan/inlined_calls.h

struct Function {
  enum class Kind : uint8_t { function, lambda, module, class_body, generator, comprehension };
  Symbol name{}, qualname{};
  Kind kind = Kind::function;
  bool is_generator = false;
  bool is_method = false;  // stands directly in a class body
  bool derived = false;    // a forward form or a pullback (ir/grad)
  Signature sig;
  std::vector<Capture> captures;
  std::vector<Symbol> locals;  // of the source, parameters and cells excluded: for messages and co_varnames
  ConstId doc = ConstId::none;
  Span span{};  // of the whole definition
  std::vector<Block> blocks;
  std::vector<NameInfo> names;
  std::vector<Constant> constants;
  std::vector<Atom> atoms;  // argument pool
  std::vector<Handover> handovers;
  std::vector<CallSig> calls;
  std::vector<PlacePath> paths;
  std::shared_ptr<const InlinedCalls> inlined;  // of typed programs

  const Block& block(BlockId b) const { return blocks[index(b)]; }
  const Constant& constant(ConstId c) const { return constants[index(c)]; }
  const NameInfo& name_info(NameId n) const { return names[index(n)]; }
  const Atom* args(const Let& l) const { return atoms.data() + l.args_begin; }
  const Atom* args(const Target& t) const { return atoms.data() + t.args_begin; }
  const Atom* args(const Handover& h) const { return atoms.data() + h.args_begin; }
};

inline bool CallSig::simple() const {
  for (const Arg& a : args)
    if (a.kind != Kind::positional) return false;
  return true;
}

}  // namespace ouro::ir
