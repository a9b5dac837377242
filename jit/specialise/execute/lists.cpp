// Appending to lists, and operations on lists that only the interpreter knows.
//
// A list from outside that grows from call to call is boxed (jit/specialise/pins.h), but surely a list. So an append, a
// length, an item and a slice run no script and change nothing but the list: they are done in place, in their order,
// and what else is known stays known. Not so where derivatives are recorded: there an append has a place in the list.
//
// What takes items out of a list may end objects, and the end of one runs its __del__. So this is done in place only as
// long as no class has a __del__ (AccessProgram::no_ends).
#include <algorithm>

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::Atom;

// Are operations on it done in place, and change nothing else that is known?
bool Specialiser::in_place_list(const AVal& list) const {
  return is_boxed_list(list) && !request_.holes && !recording_;
}

// A list is the runtime's, and boxed, from here on; one of the program is made.
void Specialiser::box_list(HeapId id) {
  const bool own = !heap_[id]->external;
  const Atom made = materialise(AVal::of_heap(id));
  forget(heap_.own(id));
  Residual::Name& name = code.name(made.name());
  name.list = true, name.own = own, name.object = id;
}

// Methods that look at nothing but the list, and at another list (extend). `extend` and `insert` take no item out.
struct InPlace {
  enum class Gives : uint8_t { nothing, item, list };
  std::string_view name;
  size_t least, most;  // arguments
  bool takes_out;
  Gives gives;
};
constexpr InPlace kInPlace[] = {
    {"append", 1, 1, false, InPlace::Gives::nothing}, {"extend", 1, 1, false, InPlace::Gives::nothing},
    {"insert", 2, 2, false, InPlace::Gives::nothing}, {"pop", 0, 1, true, InPlace::Gives::item},
    {"clear", 0, 0, true, InPlace::Gives::nothing},   {"reverse", 0, 0, false, InPlace::Gives::nothing},
    {"copy", 0, 0, false, InPlace::Gives::list},
};

bool Specialiser::is_list_method(const AVal& a, Symbol name) const {
  return in_place_list(a) && std::ranges::find(kInPlace, name.text(), &InPlace::name) != std::end(kInPlace);
}

bool Specialiser::ends_run_nothing() {
  if (session.any_del) return false;
  access.no_ends = true;
  return true;
}

// Unbound: there is no such form.
AVal Specialiser::list_method(const AVal& list, Symbol name, const std::vector<AVal>& args) {
  const InPlace& m = *std::ranges::find(kInPlace, name.text(), &InPlace::name);
  if (args.size() < m.least || args.size() > m.most) return {};
  const bool append = m.name == "append", extend = m.name == "extend";
  if (append || (extend && args[0].is(AKind::ref))) {
    append ? list_append(list, args[0]) : list_extend(list, args[0]);
    return none();
  }
  if (extend ? !is_boxed_list(args[0]) : !args.empty() && may_run_scripts(args[0])) return {};
  if (!std::ranges::all_of(args, [&](const AVal& v) { return can_be_made(v); })) return {};
  if (m.takes_out && !ends_run_nothing()) return {};
  before_unknown();
  std::vector<Atom> atoms{materialise(list)};
  ir::CallSig sig;
  sig.method = name;
  for (const AVal& v : args) {
    atoms.push_back(materialise(v));
    sig.args.push_back({ir::CallSig::Kind::positional, {}});
  }
  AVal out = AVal::dynamic(code.let_call(prim::call_method, atoms, std::move(sig), nullptr, span), nullptr);
  code.effect(false);
  if (m.gives == InPlace::Gives::nothing) return none();
  if (m.gives == InPlace::Gives::list)
    code.name(out.atom.name()).list = true;
  else
    note_item(out);
  return out;
}

// What a list gives is not known. That costs something where it is used in a computation (note_hole).
void Specialiser::note_item(const AVal& item) {
  if (raising_ == 0)
    items_of_lists_[ir::index(item.atom.name())] = {
        {Reason::unknown_value, "an item of a list that changes its length"}, script_span(), current_function(), span};
}

// list[key] = v, or del list[key] with unbound v. False: there is no such form.
bool Specialiser::change_list(const AVal& list, const AVal& key, const AVal& v) {
  if (!in_place_list(list) || may_run_scripts(key) || !can_be_made(key)) return false;
  const bool set = !v.is(AKind::unbound);
  if (set && (key.is(AKind::slice) || !can_be_made(v))) return false;
  if (!ends_run_nothing()) return false;
  before_unknown();
  std::vector<Atom> atoms{materialise(list), materialise(key)};
  if (set) atoms.push_back(materialise(v));
  code.let(set ? prim::item_set : prim::item_del, atoms, 0, nullptr, span);
  code.effect(false);
  return true;
}

// Does it look at a list alone, and run no script?
bool Specialiser::reads_list(ir::Op op, const std::vector<AVal>& args) const {
  if (args.empty() || !in_place_list(args[0])) return false;
  return op == prim::length || op == prim::truth || (op == prim::item_get && !may_run_scripts(args[1]));
}

void Specialiser::list_append(const AVal& list, AVal v) {
  if (in_place_list(list)) {
    if (!can_be_made(v)) abandon(Reason::crossing, "a value that cannot be passed to the interpreter");
    // (Where the call is begun again, a list of the program is made again.)
    const bool own = code.name(list.atom.name()).own;
    if (!own) before_unknown();
    code.let(prim::list_append, {materialise(list), materialise(v)}, 0, nullptr, span);
    if (!own) code.effect(false);
    return;
  }
  if (list.is(AKind::dynamic) && !list.type) {
    boxed(prim::list_append, {list, v});
    return;
  }
  if (!list.is(AKind::ref) || kind_at(list.heap) != AObject::Kind::list)
    abandon(Reason::container, "append to a list that is not followed");
  if (read(list.heap).poisoned) abandon_torn(read(list.heap), "a list");
  change(list.heap).items.push_back(std::move(v));
}

void Specialiser::list_extend(const AVal& list, const AVal& from) {
  if (from.is(AKind::ref) && kind_at(from.heap) == AObject::Kind::list) {  // it may be the list itself
    for (const AVal& v : items_of(from, "is appended")) list_append(list, v);
    return;
  }
  const auto add = [&](const AVal& v) {
    list_append(list, v);
    return true;
  };
  if (is_instance(from)) return each_item_from(sized_iterator(from), "is appended", add);
  each_item(from, "is appended", add);
}

}  // namespace ouro::jit
