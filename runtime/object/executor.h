// The compiler's side of the interpreter. The interpreter counts calls; when a function is hot it asks the session's
// Executor, which may run a compiled version of it in place of the call. Where the version leaves in the middle,
// nothing outside has been changed, and the interpreter does the call from its beginning.
//
// A Frame has one register per live name of the *unoptimised* ANF: `frame_value(frame, name)`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "ir/anf.h"
#include "runtime/object/value.h"

namespace ouro::runtime {

class Session;
struct Frame;
struct Code;
struct Function;
struct Args;

enum class Outcome : uint8_t {
  not_taken,    // nothing happened: interpret
  returned,     // `result` is the function's value; the frame is done
  raised,       // the exception is pending and leaves the function, whose own handlers did not take it
  interrupted,  // the interrupt is pending, as if the frame's first operation had raised it
};

// Runs a compiled version of a frame whose parameters are in place. Set by the executor in Code::entry; null:
// interpret.
using EntryFn = Outcome (*)(Session&, Frame&, void* data, Value& result);

// What compiled functions hold between their calls.
struct PlanMemory {
  int64_t temporaries = 0;  // bytes of the version that holds most, of those that serve
  int64_t unbounded = 0;    // what it would hold if nothing were computed again
  int64_t idle = 0;         // of those that no step has called lately, and of those of other plans
  int64_t least = 0;        // what it holds under the tightest bound that was tried and not reached; 0: none was
  std::map<std::shared_ptr<const void>, int64_t> held;  // what all versions of a program keep between calls, by program
  // Of that version, where micro-batches may be chosen (Demands::may_choose_micro_batch).
  int64_t rows = 0;      // of the batch that it works on, if it could do so in chunks
  int64_t sums = 0;      // bytes that it holds with chunks of any size: sums that they are added to
  int64_t whole = 0;     // bytes that it holds beside these of the whole batch; of a chunk in proportion
  std::string no_batch;  // why it could not
};

struct Executor {
  virtual ~Executor() = default;
  // A function was called `Code::calls` times: that reached Code::call_trigger. The frame is at its entry. The executor
  // sets the next trigger, and may set Code::entry.
  virtual Outcome hot_function(Session& s, Frame& frame, Value& result) = 0;
  // A loop of the frame has come back to its head often; the frame stands at the jump there. `not_taken`: the
  // interpreter goes on where the frame stands, which may be elsewhere now. `interrupted`: the pending exception is
  // raised there.
  virtual Outcome hot_loop(Session&, Frame&, Value& /*result*/) { return Outcome::not_taken; }
  // A frame that the executor has marked (Frame::kTimed) returns.
  virtual void call_ended(const Frame&) {}
  // The plan changes (Session::demands still has the old one). True: compiled code follows when its versions are ready.
  virtual bool follow_demands(Session& s) = 0;
  // Another device is wanted. False: code for it is being made; until it is there everything stays where it is. A cheap
  // question, asked at safe points.
  virtual bool ready_to_move(Session&) { return true; }
  // The session's memory is at its limit: gives back what is kept for later calls.
  virtual void make_room(Session&) {}
  // Drops the script's objects that it keeps from one call of a function to the next: somebody asks which are alive.
  virtual void let_go(Session&) {}
  // The program has ended: keeps what it has learned for the next run.
  virtual void program_ended() {}
  virtual PlanMemory memory_of_plans(Session&) { return {}; }
  // Gives back what memory_of_plans() calls idle.
  virtual void drop_idle(Session&) {}
  // The function that is called next is not to be interpreted: compiled code does the call, or it is an error and
  // nothing is done (runtime/autodiff/apart.h).
  bool must_serve = false;
};

// Who runs the script functions that built-in operations call (runtime/autodiff/recording.h).
struct CallRecorder {
  virtual Value call(Session& s, const Value& function, const Args& args) = 0;

 protected:
  ~CallRecorder() = default;
};

// ---- what executors may do with a frame (runtime/interpreter/frame.cpp)
Function* frame_closure(const Frame& f);
Code* frame_code(const Frame& f);
// The register of a name; only names that are live where the frame stands have a meaning.
Value& frame_value(Frame& f, ir::NameId name);
/// Is a call of the same function among its callers?
bool called_by_itself(const Frame& f);
/// Its callers, the nearest first, until `next` gives false or there were sixteen.
void each_caller(const Frame& f, const std::function<bool(const ir::Function&)>& next);
// At a safe point: takes the plan over that demands come to, unless a compiled call or a transform is at work.
void adopt_demands(Session& s);
/// Is a transform at work: is one of its functions this frame, or among its callers?
bool inside_transform(Session& s, const Frame* frame);
// The flattened code of a function, for counters and the entry slot.
Code* code_of(Session& s, const ir::FunctionRef& f);

}  // namespace ouro::runtime
