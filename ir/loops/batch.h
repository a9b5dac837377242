// The batch of a block: an axis whose rows nothing mixes but sums.
//
// Axes of values that are one axis (axes.h) make a class. A class is a batch if every operation either keeps its axis,
// so that a row of the result is made of that row of the operands and of what has no such axis, or sums over it. Then
// the block falls into three parts:
//   before   values that the rows need and that do not depend on the batch: transposed weights, masks, tables. Also
//            sums over rows of the inputs alone, which cost one pass over them and no memory: how many labels count
//   rows     values that have the axis, and the sums over it
//   after    values computed from the sums: the loss, the update of the parameters
// A sum over all rows is the sum of the sums over parts of them: with `rows` done part by part, the results are those
// of the block but for the order in which numbers are added.
//
// Where a row needs a sum of computed rows (the mean of a batch norm), where an operation mixes them otherwise (a
// maximum, a sort), draws random numbers for all at once, or where rows leave the block, there is no batch, and
// `refusal` says why.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/loops/axes.h"

namespace ouro::ir::loops {

/// Where a value has the axis: its size there is rows * times.
struct RowAxis {
  int axis = -1;  // -1: it has none
  SymDim times{};
};

struct Batch {
  SymDim rows{};
  std::vector<RowAxis> axis;    // by value
  std::vector<ValueId> sliced;  // values that are there before, rows of which are taken
  enum class Part : uint8_t { before, rows, sum, after };
  std::vector<Part> part;               // by let
  std::vector<bool> also_before;        // by let: of the rows, those that sums before need, too
  std::vector<const OpInfo*> drawn_by;  // by let: AxisMap::drawn_by
  std::vector<int> onto;                // by let: of a sum, the argument that it is added to, or -1: none
};

struct BatchOfBlock {
  std::optional<Batch> batch;
  std::string refusal;  // empty: there is a batch, or nothing that looks like one
  Span where{};         // of what refuses
  int64_t bytes = 0;    // of the values that have the axis, or would
};

/// `size_of` gives the number that a symbol is likely to have.
BatchOfBlock find_batch(const Graph& g, const std::function<int64_t(uint32_t)>& size_of);

}  // namespace ouro::ir::loops
