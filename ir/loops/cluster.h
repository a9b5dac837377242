// What shares a kernel: the graph of a block is cut into clusters and the lets that run by themselves, in an order that
// may be executed.
//
// 1. A value that costs (nearly) nothing and is not wanted in memory is recomputed by whoever uses it: views,
// constants, casts, short chains
//    over one tensor. A reshape that only changes how a stored tensor is read is another name for it.
// 2. A value with one consumer is computed inside of it, unless that would repeat it: an expensive value that is
// broadcast.
// 3. What is left starts a group each. Groups join when their loops are the same and the one reads the other only at
// its own place, and when
//    nothing between them has to run in between (as XLA's fusion, and TVM's by pattern: Chen et al., OSDI 2018).
// Loops of a group: the dims of its values; with a reduction over the last axis, rows: outer dims and the dims of a
// row.
#pragma once

#include <string>
#include <vector>

#include "ir/loops/lower.h"

namespace ouro::ir::loops {

struct Step {
  enum class Kind : uint8_t {
    kernel,
    check_places,  // the integers of `value`'s inputs[1] must lie in its inputs[0]'s axis; else let `let` is run and
                   // raises
    let,           // let `let` by itself
  };
  Kind kind = Kind::let;
  Cluster cluster;
  ValueId value = kNoValue;
  uint32_t let = 0;
  // The let is a number that kernels take, carried out ahead of its place. If it raises nothing happens: where it may,
  // it is carried out at its place as well, and raises there.
  bool ahead = false;
};

struct Clustering {
  std::vector<Step> steps;
  std::vector<ValueId> root;  // whose buffer holds v; v itself unless it is a reshape of something in memory
  std::vector<bool> stored;   // has a buffer of its own
};

Clustering cluster(const Graph& g);
std::string print(const Graph& g, const Clustering& c);

}  // namespace ouro::ir::loops
