// A cluster of the graph becomes one kernel: loops over its outer dims (and inner ones, for rows), reductions first,
// then stores.
//
// A value's element at an index is an expression: of the elements of its operands at the index that its kind says. So
// chains of operations become one expression, views become index arithmetic, and a reduction becomes a `reduce`
// statement at the place its index allows. What the cluster does not compute itself is loaded from the buffer that
// holds it.
#pragma once

#include <vector>

#include "ir/loops/graph.h"
#include "ir/loops/loop_ir.h"

namespace ouro::ir::loops {

struct Cluster {
  std::vector<ValueId> members;  // computed in the kernel (those that are recomputed for it, too), operands first
  std::vector<ValueId> outputs;  // members that get a buffer
  Polys outer, inner;            // rows: outer dims and what a row consists of; else inner is empty
};

struct LoweredKernel {
  Kernel kernel;
  std::vector<ValueId> buffers;  // the value in each buffer of the kernel
  Polys sizes;                   // of each size parameter
  std::vector<Use> scalars;      // of each scalar parameter
  Poly range;                    // extent of the first parallel loop
  Poly work;                     // elements touched by one iteration of it
};

/// `root[v]` is the value whose buffer holds v (v itself, or what v is a reshaped view of).
LoweredKernel lower(const Graph& g, const Cluster& c, const std::vector<ValueId>& root);

/// A number that is baked into kernels: small ones, which let loops be unrolled and divisions become multiplications.
inline constexpr int64_t kBakeLimit = 32;

}  // namespace ouro::ir::loops
