#include "backends/reference/leaf_function.h"

#include "ir/ops/leaf_math.h"
#include "ir/ops/scalar_builder.h"
#include "support/diag.h"

namespace ouro::backends {
namespace {
using ir::Leaf;
using ir::leaf_math::Kind;

template <Kind K, class T>
T apply(Leaf leaf, T x, T y) {
  ir::ScalarBuilder b;
  switch (leaf) {
#define X(id, n, ...) \
  case Leaf::fn_##id: \
    return OURO_EMIT_##n(id);
#define OURO_EMIT_1(id) OURO_LEAF_MATH1(id, b, K, x)
#define OURO_EMIT_2(id) OURO_LEAF_MATH2(id, b, K, x, y)
    OURO_LEAF_FUNCTIONS(X)
#undef OURO_EMIT_1
#undef OURO_EMIT_2
#undef X
    default:
      ouro_bug("not a leaf function");
  }
}

}  // namespace

float leaf_function(Leaf leaf, float a, float b) { return apply<Kind::f32>(leaf, a, b); }
double leaf_function(Leaf leaf, double a, double b) { return apply<Kind::f64>(leaf, a, b); }

}  // namespace ouro::backends
