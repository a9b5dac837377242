// Iterators of script classes: `__next__` gives a value, or raises StopIteration where there is none.
//
// The specialiser follows only the way without exceptions, but this one is the end of a loop. Where it is known that it
// is raised (no branch that is not decided, no loop of the program and no handler stands between), it goes as a C++
// exception through the calls that it leaves to who asked for the next value. What they did before it stays done.
#include "jit/specialise/specialiser.h"
#include "runtime/object/exception.h"

namespace ouro::jit {

struct Specialiser::NextCall {
  explicit NextCall(Specialiser& s)
      : s(s),
        before(std::exchange(s.next_call_, this)),
        frames(s.frames_.size()),
        arms(s.arms_),
        sides(s.side_depth_) {}
  ~NextCall() { s.next_call_ = before; }
  NextCall(const NextCall&) = delete;
  NextCall& operator=(const NextCall&) = delete;
  Specialiser& s;
  NextCall* before;
  size_t frames;
  int arms;
  size_t sides;
};

bool Specialiser::is_stop_iteration(const AVal& raised) const {
  return raised.is(AKind::known) &&
         raised.known.same(Value::share(runtime::exception_type(session, runtime::ExcKind::StopIteration)));
}

// Would a StopIteration that is raised now be the end of an iterator for certain?
bool Specialiser::may_stop() const {
  if (!next_call_ || recording_ || arms_ != next_call_->arms || side_depth_ != next_call_->sides) return false;
  for (size_t i = next_call_->frames; i < frames_.size(); ++i) {
    const AFrame& f = *frames_[i];
    const auto of_program = [](const AFrame::LoopState& l) { return l.residual != ir::BlockId::none; };
    if (f.handles || std::ranges::any_of(f.loops, of_program)) return false;
  }
  return true;
}

void Specialiser::stop_iteration() {
  if (!may_stop()) abandon(Reason::raises, "StopIteration");
  throw Stopped{};
}

// What the interpreter does inside of a generator or iterator may raise StopIteration when the program runs. There that
// would not be the end of a loop. `notes`: how many operations were the interpreter's before.
void Specialiser::need_no_stop_inside(size_t notes) {
  if (effects_.unknown && fallbacks_.size() > notes)
    abandon(Reason::call, "a generator or iterator that calls what is not known");
}

// The class has a `__next__` of the script's.
AVal Specialiser::next_of_object(const AVal& it) {
  const AVal f = class_lookup(it, intern("__next__"));
  // There the form of __next__ is called, and what it raises is caught.
  if (std::ranges::any_of(frames_, [&](const AFrame* at) { return is_derived(*at->code); }))
    abandon(Reason::derivative, "a built-in function that goes through an iterator, in differentiated code");
  const NextCall call_of_next(*this);
  const size_t notes = fallbacks_.size();
  AVal out;
  try {
    out = exec_function(f.parts->code, bind_arguments(f, {it}, {}), f.parts->globals, span);
  } catch (const Stopped&) {
    out = AVal::marker(AKind::end);
  }
  need_no_stop_inside(notes);
  return out;
}

}  // namespace ouro::jit
