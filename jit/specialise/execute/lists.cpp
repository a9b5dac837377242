// Appending to lists, and looking at lists that only the interpreter knows.
//
// A list from outside that grows from call to call is boxed (jit/specialise/pins.h), but surely a list. So an append, a
// length, an item and a slice run no script and change nothing but the list: they are done in place, in their order,
// and what else is known stays known. Not so where derivatives are recorded: there an append has a place in the list.
#include "jit/specialise/specialiser.h"

namespace ouro::jit {

namespace prim = ir::prim;

// Are operations on it done in place, and change nothing else that is known?
bool Specialiser::in_place_list(const AVal& list) const {
  return is_boxed_list(list) && !request_.holes && !recording_;
}

bool Specialiser::appends(const AVal& a, Symbol method) const {
  static const Symbol append = intern("append");
  return method == append && in_place_list(a);
}

// Does it look at a list alone, and run no script?
bool Specialiser::reads_list(ir::Op op, const std::vector<AVal>& args) const {
  if (args.empty() || !in_place_list(args[0])) return false;
  return op == prim::length || op == prim::truth || (op == prim::item_get && !may_run_scripts(args[1]));
}

void Specialiser::list_append(const AVal& list, AVal v) {
  if (in_place_list(list)) {
    if (!can_be_made(v)) abandon(Reason::crossing, "a value that cannot be passed to the interpreter");
    before_unknown();
    code.let(prim::list_append, {materialise(list), materialise(v)}, 0, nullptr, span);
    code.effect(false);
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
