// Updates of simple places as what they are made of.
#pragma once

#include "ir/anf.h"

namespace ouro::ir::grad {

// `update` of a place that is a whole variable, one item of one, or one attribute, as reads, an operator and writes,
// which have derivatives of their own: `o.a *= v` is attr.get, iop.mul, attr.set, and in a cell or a global variable `x
// += v` and `x[k] = v` are a read of it, the operation and a write. So methods, properties and hooks on the way are
// differentiated. An item of what a longer path leads to (`o.a[k] = v`) is an update of what a read of `o.a` gives,
// unless that is a tensor, which is found when it runs (`ad.enters_tensor`). Null if there is none.
FunctionRef with_simple_places(const Function& f);

}  // namespace ouro::ir::grad
