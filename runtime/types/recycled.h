// Tuples that iterators give out one after the other (zip, enumerate, items): where nobody kept the last one, it is
// filled again. CPython does the same, and so what a tuple held is let go of at the same moment.
#pragma once

#include "runtime/object/alloc.h"
#include "runtime/object/object.h"

namespace ouro::runtime {

// `last` is the iterator's own reference. The result has `n` places; a recycled one's still hold their old values.
inline Value recycled_tuple(Value& last, size_t n) {
  Tuple* t = last.is_object() && last.object()->object_kind() == ObjectKind::tuple ? last.as<Tuple>() : nullptr;
  if (!t || t->refs != 1 || t->size != n) last = alloc_tuple(n);
  return last;
}
inline Value recycled_pair(Value& last, Value a, Value b) {
  Value out = recycled_tuple(last, 2);
  Tuple& t = *out.as<Tuple>();
  t[0] = std::move(a);
  t[1] = std::move(b);
  return out;
}

}  // namespace ouro::runtime
