// An operation that cannot be followed is left to the interpreter as a whole.
//
// Mostly the unit of that is a call: where something inside cannot be followed, the interpreter does the call
// (call_closure). For the function itself there is no such call around it: one `set(values)` would keep all of it with
// the interpreter. So where a function cannot be made otherwise it is made again (SpecialiseRequest::holes), and what
// cannot be followed in its own text is an operation of the interpreter there. What that operation is given has to
// exist: lists, dicts and objects of the program are made for it, and are the interpreter's from then on.
#include "jit/plan/plan_program.h"
#include "jit/specialiser.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::Atom;

namespace {

// What the operation is given, or would give, is not known: nothing else is wrong with it.
bool is_of_unknown(Reason why) {
  return why == Reason::unknown_value || why == Reason::computed_number || why == Reason::computed_length ||
         why == Reason::computed_test || why == Reason::container;
}

// Primitives that do with values what they do with the operands of a let.
bool is_of_operands(ir::Op op) {
  return is_runnable(op) && op != prim::global_get && op != prim::cell_get && op != prim::cell_set && op != prim::is &&
         op != prim::is_not && op != prim::tuple && op != prim::list && op != prim::dict;
}

}  // namespace

// Is it the same object for the interpreter each time?
bool Specialiser::keeps_identity(const AVal& a) const {
  return (a.is(AKind::dynamic) || a.is(AKind::ref) || concrete(a) || (a.is(AKind::tuple) && is_known_outside(a))) &&
         can_be_made(a);
}

// None: there is no such form.
std::optional<AVal> Specialiser::hole(AFrame& f, const ir::Let& let) {
  if (let.op == prim::call || let.op == prim::call_method || let.op == prim::call_loaded) return hole_of_call(f, let);
  if (!is_of_operands(let.op)) return std::nullopt;
  std::vector<AVal> args;
  for (uint32_t i = 0; i < let.nargs; ++i) {
    args.push_back(atom_value(f, f.code->args(let)[i]));
    if (!keeps_identity(args.back())) return std::nullopt;
  }
  return boxed(let.op, args, let.attr);
}

// A built-in function or class, or nobody knows what. (What cannot be followed in a script's function is left to the
// interpreter with the call of it.)
bool Specialiser::may_be_hole(const AVal& callee) const {
  if (callee.is(AKind::dynamic)) return true;
  if (!callee.is(AKind::known)) return false;
  if (auto* n = runtime::cast_exact<runtime::Native>(callee.known))
    return n->def->effect != runtime::NativeEffect::frames;
  auto* t = runtime::cast_exact<runtime::Type>(callee.known);
  return t && t->builtin && t->layout != runtime::ObjectKind::type && t->layout != runtime::ObjectKind::super;
}

std::optional<AVal> Specialiser::hole_of_call(AFrame& f, const ir::Let& let) {
  const ir::CallSig& sig = f.code->calls[let.attr];
  const Atom* atoms = f.code->args(let);
  AVal loaded;
  if (let.op == prim::call_loaded) loaded = atom_value(f, *atoms++);
  const AVal callee = atom_value(f, *atoms++);
  std::vector<AVal> args;
  std::vector<std::pair<Symbol, AVal>> keywords;
  for (const ir::CallSig::Arg& a : sig.args) {
    AVal v = atom_value(f, *atoms++);
    if (!keeps_identity(v)) return std::nullopt;
    if (a.kind == ir::CallSig::Kind::positional)
      args.push_back(std::move(v));
    else if (a.kind == ir::CallSig::Kind::keyword)
      keywords.push_back({a.name, std::move(v)});
    else
      return std::nullopt;
  }
  const bool of_value = let.op == prim::call, of_loaded = let.op == prim::call_loaded && !loaded.is(AKind::unbound);
  if (of_value || of_loaded) {
    const AVal& called = of_value ? callee : loaded;
    if (!may_be_hole(called)) return std::nullopt;
    return boxed_call(called, args, keywords);
  }
  if (!keeps_identity(callee) || is_instance(callee)) return std::nullopt;
  return boxed_method(callee, sig.method, args, keywords);
}

AVal Specialiser::exec_let_or_hole(AFrame& f, const ir::Let& let) {
  if (!request_.holes || frames_.size() != 1 || recording_) return exec_let_by_sides(f, let);
  const Residual::Mark mark = code.mark();
  const AHeap saved = heap_;
  const Effects effects = effects_;
  const size_t notes = fallbacks_.size(), redone = redone_;
  const Span here = span;
  try {
    return exec_let_by_sides(f, let);
  } catch (const Abandon& a) {
    if (a.whole || abandon_symbol_ || !is_of_unknown(a.why.reason)) throw;
    const Abandon reason = a;
    code.rollback(mark);
    restore_heap(saved);
    effects_ = effects;
    fallbacks_.resize(notes);
    redone_ = redone;
    span = here;
    in_try_ = f.in_try || let.handover != ir::Let::kNoHandover;
    std::optional<AVal> out;
    try {
      out = hole(f, let);
    } catch (const Abandon&) {  // what it is given cannot be made
    }
    if (!out) throw reason;
    if (fallbacks_.size() > notes)
      fallbacks_.back() = {reason.why, reason.span.known() ? reason.span : here, current_function(), here};
    write_pending();
    return *out;
  }
}

}  // namespace ouro::jit
