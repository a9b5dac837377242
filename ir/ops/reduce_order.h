// The order in which a reduction combines its elements. Every engine (eager blocks, the loop evaluator, generated code,
// devices that keep the numbers' contract) follows it exactly, so a sum has the same bits everywhere, for any vector
// width and any number of threads (docs/design/rules.md E24).
//
// Let a reduction combine n elements e[0..n) with a leaf `op` whose identity is z. The axes that are reduced are first
// brought together: a tensor whose shape (after merging neighbouring reduced axes and neighbouring kept axes) is
// [outer..., r, inner...].
//
// A. *Last axis* (nothing kept stands behind the reduced axis; also a full reduction, over all elements in row-major
// order):
//      blocks of kReduceBlock = 4096 elements. Within a block, kReduceLanes = 64 virtual lanes:
//        lane[j] = z for all j; for i in 0..len: lane[i % 64] = op(lane[i % 64], e[i])        (in order of i)
//      then lanes are folded by halves: for h = 32, 16, 8, 4, 2, 1: lane[j] = op(lane[j], lane[j + h]) for j < h.
//      Block results p[0..m) are combined by the same rule again, as if they were elements, until one is left.
//    Lanes that received no element hold z; folding them in is part of the order (0 + x is exact; -0 + 0 is +0 in every
//    engine). m = 0 (empty) gives z.
//
// B. *Other axes* (something kept stands behind): for each output element the r elements are taken in blocks of
// kReduceRows = 64, in order:
//        acc = z; for each block b: t = z; for i in block: t = op(t, e[i]); acc = op(acc, t)
//
// C. *Several separated reduced axes* (for example 0 and 2 of 3, or 0, 2, 3 of 4): one after the other, the last group
// first by A or B, then the next group on its result, again by A or B; `before` (OpDef::loop.before) is applied only in
// the first.
//
// Half floats and f32 are combined in f32, f64 in f64; integers in i64 (bool and small integers are widened first),
// where order is immaterial. min and max use the leaves' rule (NaN wins).
//
// The index reductions (argmax, argmin) need no order: the first extremum, NaN before numbers.
#pragma once

#include <cstdint>

namespace ouro::ir {

inline constexpr int64_t kReduceLanes = 64;
inline constexpr int64_t kReduceBlock = 4096;
inline constexpr int64_t kReduceRows = 64;

}  // namespace ouro::ir
