#include "backends/reference/leaf_function.h"

#include "ir/ops/leaf_apply.h"
#include "ir/ops/scalar_builder.h"

namespace ouro::backends {
namespace {
using ir::Leaf;
using ir::leaf_math::Kind;

template <Kind K, class T>
T apply(Leaf leaf, T x, T y) {
  ir::ScalarBuilder b;
  return ir::leaf_math::apply<K>(leaf, b, x, y);
}

}  // namespace

float leaf_function(Leaf leaf, float a, float b) { return apply<Kind::f32>(leaf, a, b); }
double leaf_function(Leaf leaf, double a, double b) { return apply<Kind::f64>(leaf, a, b); }

}  // namespace ouro::backends
