#include "runtime/protocol/sequence_operators.h"

#include <algorithm>

#include "runtime/object/type_slots.h"
#include "runtime/protocol/lookup.h"

namespace ouro::runtime {

namespace {

bool is_sequence(const Type* t) { return t->is_sequence || (t->builtin && t->slots && t->slots->no_reflected); }

// The class of t's line of bases that has this method; null: none.
const Type* owner(Session& s, Type* t, Dunder d) {
  for (Type* m : t->mro)
    if (own_type_name(s, m, dunder_symbol(d))) return m;
  return nullptr;
}

struct Pair {
  SequenceOp bit;
  Dunder plain, reflected;  // the same where there is none
};
constexpr Pair kPairs[] = {{SequenceOp::add, Dunder::add_, Dunder::radd_},
                           {SequenceOp::mul, Dunder::mul_, Dunder::rmul_},
                           {SequenceOp::iadd, Dunder::iadd_, Dunder::iadd_},
                           {SequenceOp::imul, Dunder::imul_, Dunder::imul_}};

constexpr uint8_t bits_of(std::initializer_list<SequenceOp> ops) {
  uint8_t bits = 0;
  for (SequenceOp op : ops) bits |= static_cast<uint8_t>(op);
  return bits;
}

}  // namespace

uint8_t sequence_operators(const TypeSlots& t) {
  if (!t.no_reflected) return 0;
  return bits_of({SequenceOp::add, SequenceOp::mul}) | (t.inplace ? bits_of({SequenceOp::iadd, SequenceOp::imul}) : 0);
}

uint8_t sequence_operators(Session& s, Type* t) {
  if (std::ranges::none_of(t->mro, is_sequence)) return 0;
  uint8_t bits = 0;
  for (const Pair& r : kPairs) {
    if (r.bit == SequenceOp::iadd && !is_sequence(t)) continue;
    const Type *plain = owner(s, t, r.plain), *reflected = owner(s, t, r.reflected);
    if (plain && is_sequence(plain) && (!reflected || is_sequence(reflected))) bits |= static_cast<uint8_t>(r.bit);
  }
  return bits;
}

bool is_of_sequence(const Type* t, Dunder name) {
  for (const Pair& r : kPairs)
    if (r.plain == name) return t->sequence_operators & static_cast<uint8_t>(r.bit);
  return false;
}

}  // namespace ouro::runtime
