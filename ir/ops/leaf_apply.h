// The leaf function that a Leaf names, for any builder of leaf_math.h.
#pragma once

#include "ir/ops/leaf.h"
#include "ir/ops/leaf_math.h"
#include "support/diag.h"

namespace ouro::ir::leaf_math {

/// leaf(x), or leaf(x, y) where it has two operands.
template <Kind K, class B>
typename B::template Value<K> apply(Leaf leaf, B& b, const typename B::template Value<K>& x,
                                    const typename B::template Value<K>& y) {
  switch (leaf) {
#define X(id, n, ...) \
  case Leaf::fn_##id: \
    return OURO_APPLY_##n(id);
#define OURO_APPLY_1(id) OURO_LEAF_MATH1(id, b, K, x)
#define OURO_APPLY_2(id) OURO_LEAF_MATH2(id, b, K, x, y)
    OURO_LEAF_FUNCTIONS(X)
#undef OURO_APPLY_1
#undef OURO_APPLY_2
#undef X
    default:
      ouro_bug("not a leaf function");
  }
}

}  // namespace ouro::ir::leaf_math
