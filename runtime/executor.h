// The compiler's side of the interpreter. The interpreter counts calls and back edges; when something is hot it asks
// the session's Executor, which may run a compiled version of the function (or of the loop, entered as a call with its
// live values), and which may leave in the middle: then it puts the names that are live at a snapshot back into the
// frame and the interpreter goes on there (RULES A7). That is all that tier-up, on-stack replacement, guards and
// fallback need.
//
// A Frame has one register per live name of the *unoptimised* ANF: `frame_value(frame, name)`. Positions are (block,
// let index): the let that is to run next; index lets.size() is the terminator.
#pragma once

#include <cstdint>

#include "ir/anf.h"
#include "runtime/value.h"

namespace ouro::runtime {

class Session;
struct Frame;
struct Code;
struct Function;

enum class Outcome : uint8_t {
  not_taken,  // nothing happened: interpret
  returned,   // `result` is the function's value; the frame is done
  raised,     // the exception is pending; the frame's position is the operation that raised
  left,       // registers and position are set: the interpreter goes on there
};

// Runs a compiled version of a frame whose parameters are in place. Set by the executor in Code::entry; null:
// interpret.
using EntryFn = Outcome (*)(Session&, Frame&, void* data, Value& result);

struct Executor {
  virtual ~Executor() = default;
  // A function was called `Code::calls` times: that reached Code::call_trigger. The frame is at its entry. The executor
  // sets the next trigger, and may set Code::entry.
  virtual Outcome hot_function(Session& s, Frame& frame, Value& result) = 0;
  // A back edge to `head` was taken Code::loop count times. Parameters of `head` and what is live there are in their
  // registers.
  virtual Outcome hot_loop(Session& s, Frame& frame, ir::BlockId head, Value& result) = 0;
  // The plan changes (Session::demands still has the old one). True: compiled code follows when its versions are ready.
  virtual bool follow_demands(Session& s) = 0;
  // Another device is wanted. False: code for it is being made; until it is there everything stays where it is. A cheap
  // question, asked at safe points.
  virtual bool ready_to_move(Session&) { return true; }
};

// ---- what executors may do with a frame (runtime/interpreter/frame.cpp)
const ir::Function& frame_function(const Frame& f);
Function* frame_closure(const Frame& f);
Code* frame_code(const Frame& f);
// The register of a name; only names that are live at the frame's position have a meaning.
Value& frame_value(Frame& f, ir::NameId name);
void set_position(Frame& f, ir::BlockId block, uint32_t let);
// Pushes the frame of an inlined call above `caller`, whose position is the call itself; the call's result goes to
// `result` of the caller (NameId::none: dropped). The new frame runs next.
Frame* push_inlined_frame(Session& s, Frame& caller, const Value& function, ir::NameId result);
// At a safe point: takes the plan over that demands come to, unless a compiled call or a transform is at work.
void adopt_demands(Session& s);
// The flattened code of a function, for counters and the entry slot.
Code* code_of(Session& s, const ir::FunctionRef& f);

}  // namespace ouro::runtime
