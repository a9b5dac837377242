// Which values have a class that a script may have written.
#pragma once

#include "runtime/protocol/metaclass.h"

namespace ouro::runtime {

inline bool scripted(const Value& v) {
  ObjectKind k = kind_of(v);
  return k == ObjectKind::instance || k == ObjectKind::exception || k == ObjectKind::opaque || is_metaclassed(v);
}

}  // namespace ouro::runtime
