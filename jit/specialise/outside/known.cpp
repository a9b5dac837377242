// Numbers, texts and flags that an operation has to know: what the call found becomes a constant of the version, behind
// a guard. What is computed, or changes too often, cannot be known.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

using runtime::cast_exact;

int64_t Specialiser::need_int(const AVal& a, std::string_view why) {
  Value v = need_constant(as_value(a), why);
  if (v.is_int()) return v.as_int();
  if (v.is_bool()) return v.as_bool();
  abandon(Reason::raises, fmt::format("not an int where it {}", why));
}

Symbol Specialiser::need_name(const AVal& a) {
  const Value v = need_constant(as_value(a), "is an attribute's name");
  auto* text = cast_exact<runtime::Str>(v);
  if (!text) abandon(Reason::raises, "an attribute whose name is no str");
  return runtime::str_symbol(text);
}

Value Specialiser::need_constant(const AVal& a, std::string_view why) {
  if (auto v = concrete(one_side(a))) return *v;
  if (const AVal* ways = a.ways()) throw NeedSide{ways->atom};
  if (!a.is(AKind::dynamic) || !a.atom.is_name())
    abandon(Reason::unknown_value, fmt::format("a value that {} is not known", why));
  const Residual::Name& n = code.name(a.atom.name());
  if (n.witness.is_unbound()) abandon(Reason::computed_number, fmt::format("a computed number {}", why));
  for (uint32_t leaf : n.leaves) {
    AccessNode& node = access.nodes[leaf];
    if (node.guard == AccessNode::Guard::tensor) {
      abandon_symbol_ = true;  // a size: ask for a version with numbers
      abandon(Reason::computed_number, fmt::format("a size {}", why));
    }
    if (!request_.spent.empty() && request_.spent.count(access.path(leaf)))
      abandon(Reason::computed_number, fmt::format("{} changes and {}", access.path(leaf), why));
  }
  for (uint32_t leaf : n.leaves) {
    AccessNode& node = access.nodes[leaf];
    node.guard = AccessNode::Guard::same;
    node.pin = AccessNode::Pin::needed;
    node.expected = code.name(node_values_[leaf].atom.name()).witness;
  }
  return n.witness;
}

bool Specialiser::is_computed(const AVal& a) const {
  return a.is(AKind::dynamic) && a.atom.is_name() && code.name(a.atom.name()).witness.is_unbound() &&
         !dims_of_names_.contains(ir::index(a.atom.name()));
}

bool Specialiser::may_pin(const AVal& a) const {
  if (!a.is(AKind::dynamic) || !a.atom.is_name()) return false;
  const Residual::Name& n = code.name(a.atom.name());
  return !n.witness.is_unbound() && std::ranges::all_of(n.leaves, [&](uint32_t leaf) {
    return access.nodes[leaf].guard != AccessNode::Guard::tensor &&
           (request_.spent.empty() || !request_.spent.count(access.path(leaf)));
  });
}

AVal Specialiser::settled(const AVal& a) {
  if (!a.is(AKind::dynamic) || !a.type || a.type->kind != ir::TypeKind::string || !may_pin(a)) return a;
  return AVal::of(need_constant(a, "decides"));
}

// With the flag as a constant there is one way to go, and nothing to join. What a flag was computed of (numbers that
// are compared) is no flag.
AVal Specialiser::settled_condition(const AVal& a) {
  if (!may_pin(a)) return a;
  const std::vector<uint32_t>& leaves = code.name(a.atom.name()).leaves;
  const bool flags = std::ranges::all_of(leaves, [&](uint32_t leaf) {
    return node_values_[leaf].is(AKind::dynamic) && node_values_[leaf].type == ir::types::boolean();
  });
  return flags ? AVal::of(need_constant(a, "decides")) : a;
}

Value Specialiser::need_key(const AVal& a, std::string_view why) {
  Value v = need_constant(a, why);
  int64_t hash = 0;
  if (!runtime::hash(session, v, hash)) {
    session.pending = Value();
    abandon(Reason::raises, "a key that has no hash");
  }
  return v;
}

}  // namespace ouro::jit
