// The mark on a tensor that nn.buffer gives. An attribute that is first set with a marked tensor is a buffer of its
// class: it is saved, but is no parameter. The mark is on that one object: what is stored, or computed from it, has
// none.
#pragma once

#include "runtime/tensor.h"

namespace ouro::runtime {

constexpr uint8_t kFlagBufferMark = kFlagUser;

inline bool has_buffer_mark(const Value& v) {
  return kind_of(v) == ObjectKind::tensor && (v.object()->flags & kFlagBufferMark) != 0;
}
inline Value with_buffer_mark(const Tensor* t) {
  Value v = share_tensor(t, t->shape());
  v.object()->flags |= kFlagBufferMark;
  return v;
}
inline Value without_buffer_mark(const Value& v) { return share_tensor(v.as<Tensor>(), v.as<Tensor>()->shape()); }

}  // namespace ouro::runtime
