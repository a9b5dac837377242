// Taking an iterable apart into targets.
#pragma once

#include "runtime/object/value.h"

namespace ouro::runtime {

class Session;

/// `a, b = value`: a tuple of exactly n items. No more than n + 1 are asked for.
Value unpack(Session& s, const Value& value, size_t n);

/// `a, *b, c = value`: a tuple of `before` items, a list, and `after` items.
Value unpack_star(Session& s, const Value& value, size_t before, size_t after);

}  // namespace ouro::runtime
