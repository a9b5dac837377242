// list[int] and its kin: kept, never enforced.
#pragma once

#include "runtime/object/alloc.h"
#include "runtime/object/native.h"

namespace ouro::runtime {

// __class_getitem__ of a built-in class: argument 0 is the class.
inline Value class_getitem(Session&, const Args& a) {
  auto* g = new_object<GenericAlias>(ObjectKind::generic_alias);
  g->origin = a[0];
  g->args = cast_exact<Tuple>(a[1]) ? a[1] : make_tuple({a[1]});
  return Value::steal(g);
}
inline constexpr NativeDef kClassGetItem{.name = "__class_getitem__", .params = "item, /", .fn = class_getitem};

}  // namespace ouro::runtime
