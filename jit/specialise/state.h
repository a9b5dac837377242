// The state of an abstract execution: frames, what a way has done to the world outside, and states that meet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/prim.h"
#include "jit/specialise/abstract/heap.h"
#include "jit/specialise/abstract/value.h"
#include "jit/specialise/specialise.h"
#include "support/diag.h"

namespace ouro::jit {

// What the specialiser needs to know of a function's control flow, computed once per function.
struct FlowInfo {
  std::vector<ir::BlockId> post_dominator;      // nearest common one of each block; none: the exit
  std::vector<std::vector<bool>> live_in;       // [block][name]
  std::vector<std::vector<ir::BlockId>> loops;  // [block]: heads of the loops it is in, outermost first
  std::vector<ir::BlockId> loop_exit;           // [head]: where the ways out of its loop meet; none: the exit
  std::vector<Symbol> written;                  // attributes and globals that it assigns to, of what exists before
};
const FlowInfo& flow_of(const ir::FunctionRef& f);

// One activation of a script function that is being executed abstractly.
struct AFrame {
  ir::FunctionRef code;
  const FlowInfo* flow = nullptr;
  std::vector<AVal> env;
  Value globals;  // Module
  AFrame* caller = nullptr;
  Span call_site{};
  bool in_try = false;   // the call
  bool handles = false;  // what the operation that runs raises has a handler here
  int arms = 0;          // of branches that are not decided, around the call
  struct LoopState {
    ir::BlockId head{};
    ir::BlockId residual = ir::BlockId::none;  // none: being unrolled
    int trips = 0;
    bool structural = false;  // runs over structure (modules, parameters): every turn is written out
    bool keeps = false;       // but it can be a loop, too, which leaves something to the interpreter
    int first = 0;            // only so many turns are: a loop of the program follows
    std::shared_ptr<std::vector<struct Fork>> back_edges;  // shared by the copies that branches make
    size_t size = 0;                                       // of the program before it was entered
    size_t holes = 0;                                      // left to the interpreter before it was entered
    int arms = 0;                                          // branches around it that were not decided
    std::shared_ptr<int> forked;  // turns that stand behind a branch of an earlier one, in all arms; shared likewise
    // A variable whose place has become longer with each of the last `turns`: h, h.n, h.n.n
    struct Walk {
      uint32_t name = 0, steps = 0;
      int turns = 0;
    };
    std::vector<Walk> walks;
  };
  std::vector<LoopState> loops;  // entered, outermost first
  std::string variable(uint32_t name) const;
};

// What a way through the program has done to the world outside.
struct Effects {
  bool done = false;     // written, or made output: nothing is left to write, and nobody else can do the call again
  bool unknown = false;  // run what is not known: all that is outside may be another than the call found
  Effects operator|(const Effects& o) const { return {done || o.done, unknown || o.unknown}; }
};

struct Outcome {
  enum class Kind : uint8_t { reached, returned, dead } kind = Kind::dead;
  AVal value;
};

// One of several states that meet.
struct Fork {
  std::vector<AVal> env;
  AHeap heap;
  ir::BlockId end = ir::BlockId::none;  // residual block it stands in
  Outcome outcome;
  Effects effects{};
};

// Every path of the code being executed leaves the version.
struct DeadPath {};

// To be specialised again, with this made real.
struct PartedRetry {
  Parted what;
};

// An int of the program: a size, or another int (`base`) and a size.
struct Sum {
  ir::Atom base{};
  ir::SymDim rest{};
};

// Values of which a number chooses one that is known when the call runs: a tuple of the program, or one for each place
// of tuples.
struct Choice {
  AVal all;
  const ir::Type* type = nullptr;  // of each; null: nobody knows
  std::optional<std::vector<Choice>> columns;
};

// How a loop of a function is made, as was found where it was met before.
struct LoopWay {
  enum class Kind : uint8_t {
    open,      // not known: unrolled, as long as it has few turns
    loop,      // it has many turns: a loop of the program, if that can be made
    forked,    // data may end it in each of its turns, of which there are more than a few, or it asks to stay: likewise
    unrolled,  // ... and it cannot: every turn is written out
    undecided,  // its condition is not known: a loop of the program
    large,      // written out, the program is too large
  } kind = Kind::open;
  // As a loop of the program it may leave something to the interpreter: turns that are written out do, too, or are
  // many.
  bool boxes = false;
  bool keeps = false;  // it can be a loop of the program, which leaves something to the interpreter
  double size = 0;     // of the operations of all its turns, where they were too many to be written out
  int first = 0;       // so many turns are written out, since they change types
};

}  // namespace ouro::jit
