// The mark on a tensor that nn.buffer gives. An attribute that is first set with a marked tensor is a buffer of its
// class: it is saved, but is no parameter. The mark is on that one object: stored copies, and values computed
// from it, have none.
#pragma once

#include "runtime/object/object.h"

namespace ouro::runtime {

constexpr uint8_t kFlagBufferMark = kFlagUser;

inline bool has_buffer_mark(const Value& v) {
  return kind_of(v) == ObjectKind::tensor && (v.object()->flags & kFlagBufferMark) != 0;
}
// The same tensor as another object, marked and not (runtime/tensor/tensor.cpp).
Value with_buffer_mark(const Value& tensor);
Value without_buffer_mark(const Value& tensor);
// From now on attribute `name` of the class is a buffer (runtime/protocol/attributes.cpp).
void note_buffer(Session& s, Type* t, Symbol name);

}  // namespace ouro::runtime
