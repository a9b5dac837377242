// The tensor operations of one block of typed ANF as a graph that loops can be made of: each row of ir/ops is brought
// down to one of a few kinds with its parameters resolved, shapes are polynomials (poly.h).
//
// Typed ANF: a name is typed as a tensor, a scalar (int, float, bool) or a tuple of such. A tensor let has one atom for
// each parameter of its row in the row's order (trailing defaults may be left out); axes, dtypes and shapes are
// constants, other numbers may be names. What this graph has no kind for stays `opaque`: a library call or a boxed
// operation of the runtime.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/anf.h"
#include "ir/loops/poly.h"
#include "ir/ops/expr.h"
#include "ir/ops/op.h"
#include "ir/ops/registry.h"
#include "support/small_vec.h"

namespace ouro::ir::loops {

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;

/// An operand: a tensor of the graph, a number, or a scalar name.
struct Use {
  enum class Kind : uint8_t { absent, value, number, scalar } kind = Kind::absent;
  ValueId value = kNoValue;
  DType type = DType::f64;  // of number, scalar: f64, i64 or boolean
  double f = 0;             // number
  int64_t i = 0;
  NameId name = NameId::none;  // scalar
  static Use of(ValueId v) { return {.kind = Kind::value, .value = v}; }
  static Use integer(int64_t n) {
    return {.kind = Kind::number, .type = DType::i64, .f = static_cast<double>(n), .i = n};
  }
  bool operator==(const Use&) const = default;
};

struct Value {
  enum class Kind : uint8_t {
    input,        // bound outside of the block, or by an opaque let
    elementwise,  // `program` over inputs (broadcast to dims)
    axis_map,  // in[a] = out[axes[a]], or 0 where axes[a] is -1: permute, expand; flag: squeeze, unsqueeze (only ones
               // come and go)
    reshape,   // the same elements in row-major order
    flip,      // along axes
    narrow,    // axis axes[0] from `start`
    place,     // inputs[0] at starts in a tensor of `fill`: pad, narrow_back
    cat,       // inputs behind each other along axes[0]
    diagonal,  // offset axes[2] of axes[0], axes[1], as the last axis
    diagonal_back,
    triangle,      // kept where column - row <= start (lower) or >= start (upper: flag)
    reduce,        // `combine` over axes, one group of neighbours; `last`: nothing kept stands behind
    iota,          // starts[0] + i * starts[1], integers
    gather,        // along axes[0] at the places in inputs[1], which are checked before: see GatherForm
    scatter_one,   // inputs[0] with inputs[2] written (flag: added) where axis axes[0] is inputs[1]; one place per line
    window,        // the largest of each window of the trailing axes
    window_index,  // the flat place of that in its plane
    unpool,        // inputs[0] at the places inputs[1] (a window_index without overlap) of planes of zeros
    matmul,        // a library call: inputs[0] inputs[1], matrices (flag: inputs[0] transposed; keepdim: inputs[1]
                   // transposed)
    convolve,  // a library call: `form` forward, input or weight gradient; window: stride, padding, dilation of each
               // dim, then groups
    opaque,    // the let is run as it is
  };
  enum class GatherForm : uint8_t {
    select,
    along,
    conv_forward,
    conv_input,
    conv_weight
  };  // select: rank-1 (or any rank) indices replace the axis; along: same rank as inputs[0]

  Kind kind = Kind::input;
  DType type = DType::f32;
  Polys dims;
  SmallVec<Use, 3> inputs;
  SmallVec<Use, 2> params;  // scalar parameters of an elementwise program
  ExprProgram program;      // elementwise; of reduce: applied to each element first (may be empty)
  SmallVec<int, 4> axes;
  Leaf combine = Leaf::add;
  bool last = false, keepdim = false, flag = false;
  GatherForm form = GatherForm::select;
  std::vector<Use> starts;      // narrow, place (per axis), triangle
  std::vector<int64_t> window;  // window: size, stride, dilation per spatial axis
  Use fill;                     // place
  NameId name = NameId::none;   // the name that it is
  // Of a reduction over several groups of axes: what stands after group `stage` (from 0) of the one that is `part_of`.
  NameId part_of = NameId::none;
  int stage = -1;
  uint32_t let = UINT32_MAX;  // in the block
};

struct Graph {
  const Function* function = nullptr;
  BlockId block = BlockId::none;
  std::vector<Value> values;     // operands come before users
  std::vector<ValueId> of_name;  // by name index; kNoValue if it is no tensor of this block
  std::vector<std::vector<ValueId>> users;
  std::vector<bool> live_out;  // needed after the block, by its terminator, or by an opaque let

  const Value& operator[](ValueId v) const { return values[v]; }
};

/// The graph of a block. Effects of lets are not looked at: tensor lets are pure.
Graph build_graph(const Function& f, BlockId block);

/// Run by a library on buffers.
inline bool is_contraction(const Value& v) { return v.kind == Value::Kind::matmul || v.kind == Value::Kind::convolve; }
/// Does computing v need the places in inputs[1] to be in range? Then they are checked in memory, before.
inline bool needs_index_check(const Value& v) {
  return v.kind == Value::Kind::gather || v.kind == Value::Kind::scatter_one;
}
/// How many scalar instructions one element costs, roughly.
int cost_of(const Value& v);
/// The text name of any operation.
std::string_view name_of(Op op);
/// Text of a graph for tests and dumps: "%3 = elementwise f32[s1, 4](%1, %2)".
std::string print(const Graph& g);

}  // namespace ouro::ir::loops
