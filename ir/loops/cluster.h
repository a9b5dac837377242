// What shares a kernel: the graph of a block is cut into clusters and the lets that run by themselves, in an order that
// may be executed.
//
// 1. A value that costs (nearly) nothing and is not wanted in memory is recomputed by each of its consumers: views,
//    constants, casts, short chains over one tensor. A reshape that only changes how a stored tensor is read is another
//    name for that tensor.
// 2. A value with one consumer is computed inside of it, unless an expensive value would be computed repeatedly because
//    the consumer broadcasts it.
// 3. Each remaining value starts a group. Two groups join when their loops are the same, when one reads the other only
//    at its own place, and when nothing has to run between them (as XLA's fusion, and TVM's by pattern: Chen et al.,
//    OSDI 2018).
// A group loops over the dims of its values; with a reduction over the last axis it loops over rows: the outer dims,
// and inside of them the dims of a row.
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
