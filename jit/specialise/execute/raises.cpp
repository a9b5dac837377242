// Exceptions that are raised (docs/design/reach.md).
//
// Where nothing was written or printed yet the program is left, and the interpreter does the call again and raises.
// Elsewhere nobody can do it again, and the program raises the exception itself, by an operation of the interpreter.
#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/checkpoint.h"

namespace ouro::jit {

// `raise X`, or `raise X from None`: what else stands behind `from` may be none.
bool Specialiser::has_no_cause(AFrame& f, const ir::Terminator& t) {
  if (t.b.is_none()) return true;
  const AVal cause = raw_value(f, t.b);
  return cause.is(AKind::unbound) || (cause.is(AKind::known) && cause.known.is_none());
}

// The program is left, and the interpreter raises the exception: it is rare, or the script is wrong.
void Specialiser::raise() {
  // The program would be left at each call.
  if (next_call_ && !may_stop()) abandon(Reason::computed_test, "an iterator that raises by what data decides");
  if (effects_.done) abandon(Reason::effects, "raise after an effect");
  ++redone_;
  code.leave("raise");
  throw DeadPath{};
}

// An operation that raises on one arm of a branch does not keep the other arm with the interpreter. `before` is the
// beginning of the arm: there the program is left, if nothing was written or printed before.
bool Specialiser::leave_instead(const Abandon& a, const Checkpoint& before) {
  const bool certain = a.why.reason == Reason::raises && !a.whole && !abandon_symbol_;
  if (!certain || before.effects.done || before.in_try || (next_call_ && !may_stop())) return false;
  undo(before);
  ++redone_;
  code.leave("raise");
  return true;
}

// Nobody can do the call again, and nothing here catches the exception: the program itself raises it. (A generator
// makes another exception of StopIteration.)
bool Specialiser::raises_itself() const {
  return effects_.done && !in_try_ && in_generators_ == 0 && (!next_call_ || may_stop());
}

// Ends this path, if the arguments can be made for the interpreter.
void Specialiser::raise_by(const AVal& native, const std::vector<AVal>& args) {
  if (!can_box(native, args, {})) return;
  before_unknown();
  emit_call(native, args, {}, nullptr);
  code.effect(false);
  code.leave("raise");
  throw DeadPath{};
}

}  // namespace ouro::jit
