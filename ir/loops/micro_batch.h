// Micro-batches: a block that works on a batch does the part whose rows are independent (batch.h) in a loop over chunks
// of them, and adds up what the chunks give.
//
//   ^block:  before                         ^block:  before
//            rows, sums over them     ──►            jump ^head(0, zeros...)
//            after                           ^head(start, sums...):  while start < rows
//                                            ^chunk: rows [start, start + size) of the inputs
//                                                    rows, sums over them
//                                                    jump ^head(start + size, sums + those...)
//                                            ^rest:  after
//
// So a step holds temporaries of one chunk at a time. Sums are those of the chunks in order, from zero on, each summed
// as the numbers' contract says (ir/ops/reduce_order.h): gradients are exact but for the last bits. What is added to a
// tensor row by row (index_add) is added in the order of the rows, as without chunks.
//
// The last chunk may be smaller. Then the size of a chunk is a symbol, which the run binds anew for it (is_chunk).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ir/loops/batch.h"

namespace ouro::ir::loops {

struct MicroBatches {
  FunctionRef function;  // the source where nothing is done
  SymDim rows{};         // of the batch
  int64_t size = 0;      // of a chunk; 0: there are none
  uint32_t symbol = 0;   // that stands for a chunk's size, or 0: all have the same
  int64_t sums = 0;      // bytes of what the chunks are added up in
  std::string refusal;   // why there are none; empty: a chunk holds the batch
  Span where{};          // of what refuses
};

/// `f` in chunks of `size` rows, in the block that holds most of a batch. `size_of` gives the number that a symbol is
/// likely to have.
MicroBatches micro_batches(const FunctionRef& f, int64_t size, const std::function<int64_t(uint32_t)>& size_of,
                           size_t most_joined = SIZE_MAX);

/// Does a symbol stand for the size of a chunk? It is told before the step runs, and again before a smaller one.
constexpr bool is_chunk(uint32_t symbol) { return symbol >> 31; }

}  // namespace ouro::ir::loops
