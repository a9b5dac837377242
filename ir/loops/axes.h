// What an operation does to the axes of its operands: which of them go on as an axis of the result, row by row, which
// are summed up, and which are mixed.
//
// From an operation's index map follows whether row i of its result is made of row i of its operands alone: result[o] =
// x[i] with i[a] = o[r] says that axis a of x goes on as axis r. Axes that go on are the same axis under two names, so
// all names of one axis in a program are a class of a union-find over (value, axis): whatever the program does with the
// batch, from its inputs to the gradients of its activations, is one class (batch.h). This is how shardings spread
// through a program (Xu et al., "GSPMD", 2021), read as a proof.
//
// A reshape keeps the axis that stands first in each group of axes that it joins or cuts: [B, T, C] to [B*T, C] goes on
// with the batch as the slow part of axis 0. Such an axis has the size B*k, a row of the batch is k places of it, and
// batch.cpp checks that all sizes of the class are multiples of one size.
#pragma once

#include <vector>

#include "ir/loops/graph.h"

namespace ouro::ir::loops {

/// What becomes of an axis of an operand.
struct AxisUse {
  enum class Role : uint8_t {
    mixed,   // an element of the result depends on several places of it, or on a fixed one
    kept,    // it goes on as axis `to` of the result
    summed,  // the result is a sum over it
  } role = Role::mixed;
  int to = -1;
};

struct AxisMap {
  struct Operand {
    ValueId value = kNoValue;
    std::vector<AxisUse> uses;  // by axis
    bool shape_only = false;    // nothing is read but its shape or its dtype
  };
  std::vector<Operand> operands;
  // Axes of the result that are no operand's: the elements along it are the same (true), or it depends on the place
  // (false).
  std::vector<bool> repeats;
  // Axes of operands that are run along together: (operand, axis).
  struct Pair {
    size_t a = 0, a_axis = 0, b = 0, b_axis = 0;
  };
  std::vector<Pair> together;
  // The operand that sums are added to, or -1: the result is this plus a sum.
  int onto = -1;
  // Random numbers: those of some rows are what this operation draws from a place on, which is told by the draw's
  // number. Null: it draws none.
  const OpInfo* drawn_by = nullptr;
};

/// A product with a sparse matrix (ir/ops/sparse.cpp): of a value that is no input.
bool is_sparse_product(const Graph& g, ValueId v);
/// Of a value of the graph that is no input. What is not known to keep rows apart mixes them.
AxisMap axis_map(const Graph& g, ValueId v);

}  // namespace ouro::ir::loops
