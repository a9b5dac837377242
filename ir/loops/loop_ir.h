// The loop IR: one kernel as loops over symbolic extents, scalar expressions and stores. It knows nothing of a machine:
// the backends (reference, host, devices) each turn it into what they run.
//
// A kernel has numbered parameters: *buffers* (dense storage with an element type), *sizes* (int64 run-time values:
// extents, strides, offsets) and *scalars* (run-time numbers such as a learning rate). Its body is statements; what
// they compute are *nodes*: pure, hash-consed expressions over parameters, loop variables and loads (as in Halide,
// loads are by linear element index; an index is itself an integer expression, so broadcasting is a stride that is
// absent, a transpose a permuted sum, a gather a load in an index).
//
//   kernel(b0 in f32, b1 out f32; n0, n1) {
//     parallel i0 < n0 {
//       %0 = ix.mul i0, n1
//       reduce fold i1 < n1 {
//         %1 = ix.add %0, i1
//         %2 = load.f32 b0[%1]
//       } r0 = max.f32 %2
//       loop i2 < n1 {
//         %3 = ix.add %0, i2
//         %4 = load.f32 b0[%3]
//         %5 = sub.f32 %4, r0
//         %6 = exp.f32 %5
//         store b1[%3] = %6
//       }
//     }
//   }
//
// Meaning, in order of the text:
// - `parallel` loops stand outermost and are perfectly nested (only the first may be split over threads: it is the
//   range that a launch is given); their iterations are independent. `loop` is in order, but its iterations are
//   independent too, so it may be a vector loop.
// - `reduce` combines the values over its variable in the order of ir/ops/reduce_order.h: `fold` is order A (last axis:
//   lanes folded by halves), `blocks` order B (other axes: blocks of 64 in order), `serial` strictly in order from the
//   identity. Its results (r0, r1, ...) are nodes usable after it in the same loop body and below.
// - A node stands where its operands allow; a load of a buffer that the kernel also writes happens in the statement
//   that uses it.
//
// Numbers: a node's leaf has the meaning of ir/ops/leaf.h with the node's type; `ix.*` nodes are int64 index arithmetic
// on values that are not negative and divisors that are not zero. Types f16 and bf16 exist in buffers only: a load of
// one is f32, a store rounds. Invariants are checked by verify(): types, arity, scopes, one definition of each variable
// and result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/ops/leaf.h"
#include "ir/ops/reduce_order.h"
#include "support/small_vec.h"

namespace ouro::ir::loops {

enum class NodeId : uint32_t { none = UINT32_MAX };
constexpr uint32_t index(NodeId n) { return static_cast<uint32_t>(n); }

struct Node {
  enum class Kind : uint8_t {
    constant,  // `bits`: of a double for floats, else the integer
    size,      // parameter n<id>, i64
    scalar,    // parameter s<id>
    var,       // loop variable i<id>, i64
    result,    // r<id> of a reduction
    leaf,      // `leaf`(args)
    index,     // ix.`leaf`(args): add sub mul idiv irem min max, i64
    load,      // buffer b<id> at args[0]; with args[1] (bool) and args[2]: where the condition holds, else args[2]
  };
  Kind kind = Kind::constant;
  Leaf leaf = Leaf::constant;
  DType type = DType::f32;
  uint8_t nargs = 0;
  uint32_t id = 0;
  int64_t bits = 0;
  NodeId args[3] = {NodeId::none, NodeId::none, NodeId::none};
  bool operator==(const Node&) const = default;
};

enum class Access : uint8_t { in, out, inout };
struct Buffer {
  DType type = DType::f32;
  Access access = Access::in;
};

enum class ReduceOrder : uint8_t { fold, blocks, serial };

struct Stmt {
  enum class Kind : uint8_t { parallel, loop, reduce, store };
  Kind kind = Kind::store;
  // parallel, loop, reduce: one variable; a serial reduction may have several, the last fastest
  SmallVec<uint32_t, 4> vars;
  SmallVec<NodeId, 4> extents;
  std::vector<Stmt> body;  // of parallel, loop
  // reduce: results[k] = combine[k] over values[k]
  ReduceOrder order = ReduceOrder::fold;
  SmallVec<Leaf, 2> combine;  // add mul min max and or
  SmallVec<NodeId, 2> values;
  SmallVec<uint32_t, 2> results;
  // store
  uint32_t buffer = 0;
  NodeId at = NodeId::none, value = NodeId::none;
};

struct Kernel {
  std::vector<Buffer> buffers;
  uint32_t sizes = 0;
  std::vector<DType> scalars;  // f64 or i64
  std::vector<Node> nodes;
  std::vector<Stmt> body;
  uint32_t vars = 0, results = 0;

  const Node& node(NodeId n) const { return nodes[index(n)]; }
};

/// Makes nodes; equal nodes are one. Index arithmetic on constants is folded.
class KernelBuilder {
 public:
  uint32_t buffer(DType type, Access access);
  NodeId size();  // a new size parameter
  NodeId size(uint32_t id);
  NodeId scalar(DType type);
  NodeId scalar_node(uint32_t id);  // of an existing parameter
  uint32_t var() { return k_.vars++; }
  uint32_t result() { return k_.results++; }

  NodeId var_node(uint32_t id);
  NodeId result_node(uint32_t id, DType type);
  NodeId constant(DType type, double value);
  NodeId integer(DType type, int64_t value);
  NodeId copy_constant(const Node& constant) { return add(constant); }
  NodeId ix(int64_t value) { return integer(DType::i64, value); }
  NodeId ix(Leaf op, NodeId a, NodeId b);
  NodeId ix_add(NodeId a, NodeId b) { return ix(Leaf::add, a, b); }
  NodeId ix_mul(NodeId a, NodeId b) { return ix(Leaf::mul, a, b); }
  NodeId leaf(Leaf op, DType type, NodeId a, NodeId b = NodeId::none, NodeId c = NodeId::none);
  /// The value converted; itself if it has the type.
  NodeId cast(NodeId a, DType type);
  NodeId load(uint32_t buffer, NodeId at);
  /// `at` is only used where `condition` (bool) holds.
  NodeId load_if(uint32_t buffer, NodeId at, NodeId condition, NodeId otherwise);

  const Node& node(NodeId n) const { return k_.nodes[index(n)]; }
  std::vector<Stmt>& body() { return k_.body; }
  Kernel& kernel() { return k_; }
  Kernel finish() { return std::move(k_); }

 private:
  NodeId add(const Node& n);
  Kernel k_;
  std::unordered_map<size_t, SmallVec<uint32_t, 2>> index_;
};

/// The text form above; nodes are numbered in the order of the text, so equal kernels have equal text.
std::string print(const Kernel& k);
/// Reads the text form. Throws UserError on bad text.
Kernel read_kernel(std::string_view text);
/// Empty if the kernel keeps its invariants, else what is wrong.
std::string verify(const Kernel& k);
/// Free of names: kernels of one structure have one hash.
uint64_t structural_hash(const Kernel& k);

/// Which loop variables and reduction results each node depends on, and whether it holds a load: bit sets by node.
struct Dependence {
  struct Of {
    uint64_t vars = 0;     // bit v: variable v (kernels have at most 64)
    uint64_t results = 0;  // bit r: result r
    bool loads = false;
  };
  std::vector<Of> nodes;
  explicit Dependence(const Kernel& k);
  const Of& of(NodeId n) const { return nodes[index(n)]; }
};

/// How an index node moves along a variable.
struct Stride {
  enum class Kind : uint8_t { none, constant, size, other } kind = Kind::none;  // none: does not depend on it
  int64_t value = 0;                                                            // constant
  NodeId node = NodeId::none;  // size: an expression without that variable
};
Stride stride_along(const Kernel& k, const Dependence& d, NodeId at, uint32_t var);

/// The type of a value loaded from a buffer of this element type.
constexpr DType loaded_type(DType t) { return compute_type(t); }

}  // namespace ouro::ir::loops
