// Plain code as machine code: scripts' numbers, loops and calls without tensors.
//
// The interpreter's register code (runtime/interpreter/code.h) is translated for the kinds of values that its registers
// hold: from a function's entry, or from the head of a loop in which it runs for long. Numbers and bools are unboxed;
// what else is held stays in the frame's registers, and is read there behind a check. Each place is translated once for
// each combination of kinds that reaches it (lazy basic block versioning: Chevalier-Boisvert and Feeley, 2015), so
// that a sum which begins as 0 and goes on as a float has a place of either kind.
//
// Where something is met that is not translated (another kind, an overflow, a call of what is not known), the values go
// back to the frame's registers, and the interpreter goes on at that instruction: nothing is done twice. It comes back
// at the function's next call, or at the loop's next head that is looked at.
//
// A function of numbers that is called by translated code is translated with it. It has its arguments in machine
// registers and no frame: one is made where it is left in the middle, and the interpreter does the rest of that call.
// Its result is unboxed, of the kind that its first return gives; another one is left as a value for the caller.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "backends/host/jit.h"
#include "runtime/interpreter/frame.h"
#include "runtime/object/session.h"

namespace ouro::jit::plain {

using runtime::Session;
using runtime::Value;

enum class Kind : uint8_t {
  unset,    // nothing that is read, and nothing that the frame's register owns
  unbound,  // no value: a variable that is not assigned yet
  stale,    // nothing that is read; the frame's register may own something
  integer,  // of a machine word
  floating,
  boolean,
  none,
  known,  // this object: a function, a module, a built-in
  held,   // in the frame's register
  range,  // a range object that is not made
  steps,  // an iterator over a range, likewise
};

/// What a register holds. `object`: which, if known; of one that is held an example, from the time of translation: what
/// is there is of the same kind of object. Null: not even that is known.
struct RegType {
  Kind kind = Kind::unset;
  runtime::Object* object = nullptr;
  bool operator==(const RegType& o) const { return kind == o.kind && (kind != Kind::known || object == o.object); }
};

/// Has the instruction a target to jump to, in `dst`?
constexpr bool jumps(runtime::I op) {
  using runtime::I;
  return op == I::jump || op == I::jump_back || op == I::branch || op == I::branch_not ||
         (op >= I::if_not_eq && op <= I::for_iter);
}

/// The kind of what a frame's register holds; of a dead one `stale`.
RegType type_of(const Value& v, bool live);

/// How translated code ends: the kind of end in the upper half, the instruction in the lower.
enum class End : uint32_t { left, returned, raised };

/// `regs`: the frame's registers. The result is written where it returned.
using Entry = uint64_t (*)(Session* s, Value* regs, Value* result);

/// The code generator, made when it is first used, which takes some milliseconds: by the thread that compiles.
class LazyJit {
 public:
  explicit LazyJit(std::string cpu) : cpu_(std::move(cpu)) {}
  /// Null: this machine's target cannot be set up.
  const std::shared_ptr<backends::HostJit>& get();
  /// The process had no memory in the middle of LLVM's work, which may hold a lock since: LLVM is not entered again.
  void give_up() { given_up_.store(true, std::memory_order_release); }
  bool given_up() const { return given_up_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> given_up_{false};
  const std::string cpu_;
  std::once_flag once_;
  std::shared_ptr<backends::HostJit> jit_;
};

/// How often calls of one function that is translated with its caller are left in the middle: each then costs a frame
/// and more. `often`: so often that it should be called by itself.
struct Leaves {
  const runtime::Code* code = nullptr;
  uint32_t count = 0;
  std::chrono::steady_clock::time_point since{};
  bool often = false;
  static constexpr uint32_t kMany = 1024;
  static constexpr std::chrono::milliseconds kShort{10};
};

/// How many instructions have machine code, and where those stand that the interpreter's code does in place.
struct Proportion {
  size_t native = 0, steps = 0;
  std::vector<Span> stepped;
};

/// Code that is translated, and compiled: quickly first, then well, on any one thread.
class Translation {
 public:
  virtual ~Translation() = default;
  virtual void compile_quickly() = 0;
  virtual void compile_well() = 0;
  /// The best that there is; null: none yet.
  Entry entry() const { return entry_.load(std::memory_order_acquire); }
  /// Of how much nothing was known; a later translation may know more.
  size_t unknown = 0;
  size_t size = 0;     // of LLVM's instructions
  bool mixed = false;  // more than a fifth of its instructions are steps
  bool small = false;  // so few that it takes no time to compile it well
  std::deque<Leaves> leaves;
  std::vector<ir::FunctionRef> codes;  // of the functions that are translated with it
  /// The code generator does not take it.
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 protected:
  std::atomic<Entry> entry_{nullptr};
  std::atomic<bool> failed_{false};
};

/// Which registers are read before they are written, by instruction.
class Liveness {
 public:
  explicit Liveness(const runtime::Code& code);
  bool at(uint32_t pc, uint32_t reg) const { return bits_[pc * regs_ + reg]; }

 private:
  size_t regs_;
  std::vector<bool> bits_;
};

/// What is to be translated: from instruction `pc` on, for a frame of `code` whose registers are `types`.
struct Wanted {
  Session& session;
  std::shared_ptr<LazyJit> jit;
  Value* spare;          // where a call leaves an object, or a value of an unexpected kind, for its caller
  runtime::EntryFn own;  // the entry of functions that are translated, which other functions' calls go around
  const runtime::Function* closure;
  const runtime::Code& code;
  runtime::Module* globals;
  uint32_t pc;
  const std::vector<RegType>& types;
  const Liveness& live;
  const Value* now;                                       // the frame's registers, examples of what they will hold
  const std::unordered_set<const runtime::Code*>& alone;  // functions that are not translated with their callers
  size_t most_places;                                     // more are given up
  bool anyway;                                            // also what is slower than the interpreter
};

struct Translated {
  std::shared_ptr<Translation> code;  // null: nothing is gained (no loop and no call of it is translated)
  std::vector<Value> kept;            // objects that the code names
  Proportion proportion;              // of the hot loop, or of the function
  size_t places = 0;
  bool too_large = false;
  std::shared_ptr<void> rest;  // of what gains nothing; to end it takes a while, on any thread
};

Translated translate(const Wanted& w);

}  // namespace ouro::jit::plain
