// An operation that cannot be followed is left to the interpreter as a whole.
//
// Mostly the unit of that is a call: where something inside cannot be followed, the interpreter does the call
// (call_closure). For the function itself there is no such call around it: one `set(values)` would keep all of it with
// the interpreter. So where a function cannot be made otherwise it is made again (SpecialiseRequest::holes), and what
// cannot be followed in its own text is an operation of the interpreter there.
//
// A value of no known type lives in a register of the program, and ends with its last use there: not where the script's
// variable ends. So in such a program all of them are *plain*: numbers, texts, tensors, and lists, dicts, sets, tuples
// and iterators of such, of which nobody sees the end. That holds since they are made of plain values by operations of
// built-in classes. What is otherwise ends the attempt. No script runs in such an operation, so it changes nothing but
// the containers that it is given, which the program has made itself: they are the interpreter's from then on.
#include "jit/plan/plan_program.h"
#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/checkpoint.h"

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

// Built-in functions that give plain values for plain ones.
constexpr std::string_view kPlain[] = {"abs",  "all", "any",  "divmod", "iter",   "len", "max",   "min",
                                       "next", "pow", "repr", "round",  "sorted", "sum", "format"};

bool is_plain_class(const runtime::Type& t) {
  using K = runtime::ObjectKind;
  switch (t.layout) {
    case K::boolean:
    case K::integer:
    case K::floating:
    case K::str:
    case K::bytes:
    case K::list:
    case K::tuple:
    case K::dict:
    case K::set:
    case K::frozenset:
    case K::range:
    case K::enumerate:
    case K::zip:
    case K::reversed:
      return t.builtin;
    default:
      return false;
  }
}

}  // namespace

bool Specialiser::is_plain_value(const AVal& a, int depth) {
  constexpr int kMostDepth = 16;
  const auto all = [&](const auto& items) {
    return std::ranges::all_of(items, [&](const AVal& i) { return is_plain_value(i, depth + 1); });
  };
  if (depth > kMostDepth || a.extends_tuple()) return false;
  if (a.is(AKind::known)) return plain_result(a.known);
  if (a.is(AKind::dynamic)) return true;
  if (a.is(AKind::tuple) || a.is(AKind::slice) || a.is(AKind::range) || a.is(AKind::view)) return all(a.items());
  if (!a.is(AKind::ref)) return false;
  const AObject& o = read(a.heap);
  if (o.external || o.poisoned || !o.tag.is_none()) return false;
  switch (o.kind) {
    case AObject::Kind::list:
      return all(o.items);
    case AObject::Kind::dict:
      return all(o.items) && all(o.keys);
    case AObject::Kind::set:
      return true;  // numbers and texts
    case AObject::Kind::iterator:
      return is_plain_value(o.source, depth + 1);
    default:
      return false;
  }
}

void Specialiser::need_plain(const std::vector<AVal>& values) {
  if (!std::ranges::all_of(values, [&](const AVal& v) { return is_plain_value(v, 0); }))
    abandon_whole(Reason::unknown_object, "an object in an operation that is not followed");
}

void Specialiser::need_plain_call(const AVal& f, const std::vector<AVal>& args,
                                  const std::vector<std::pair<Symbol, AVal>>& keywords) {
  auto* n = f.is(AKind::known) ? runtime::cast_exact<runtime::Native>(f.known) : nullptr;
  auto* t = f.is(AKind::known) ? runtime::cast_exact<runtime::Type>(f.known) : nullptr;
  const bool function =
      n && !n->owner && (pure_native(*n) || row_of(*n) || std::ranges::find(kPlain, n->def->name) != std::end(kPlain));
  const bool method = n && n->owner && is_plain_class(*n->owner);
  if (!function && !method && !(t && is_plain_class(*t))) abandon_whole(Reason::call, "a call that may give anything");
  need_plain(args);
  for (const auto& k : keywords) need_plain({k.second});
}

// What has been made for the interpreter is its own.
void Specialiser::forget_made() {
  for (HeapId id = 0; id < heap_.size(); ++id)
    if (heap_[id] && heap_[id]->escaped && !heap_[id]->external) forget(heap_.own(id));
}

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
    if (!called.is(AKind::known)) return std::nullopt;  // a script's: what is not followed in it is in its own text
    return boxed_call(called, args, keywords);
  }
  if (!keeps_identity(callee) || is_instance(callee)) return std::nullopt;
  return boxed_method(callee, sig.method, args, keywords);
}

AVal Specialiser::exec_let_or_hole(AFrame& f, const ir::Let& let) {
  if (!request_.holes || frames_.size() != 1 || recording_) return exec_let_by_sides(f, let);
  const Checkpoint before = checkpoint();
  try {
    return exec_let_by_sides(f, let);
  } catch (const Abandon& a) {
    if (a.whole || abandon_symbol_ || in_try_ || !is_of_unknown(a.why.reason)) throw;
    const Abandon reason = a;
    undo(before);
    std::optional<AVal> out;
    try {
      out = hole(f, let);
    } catch (const Abandon&) {  // what it is given cannot be made
    }
    if (!out) throw reason;
    if (fallbacks_.size() > before.notes)
      fallbacks_.back() = {reason.why, reason.span.known() ? reason.span : span, current_function(), span};
    return *out;
  }
}

}  // namespace ouro::jit
