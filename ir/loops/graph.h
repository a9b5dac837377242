// The tensor operations of one block of typed ANF as a graph that loops can be made of: each row of ir/ops is brought
// down to one of a few kinds with its parameters resolved, shapes are polynomials (poly.h).
//
// Typed ANF: a name is typed as a tensor, a scalar (int, float, bool) or a tuple of such. A tensor let has one atom for
// each parameter of its row in the row's order (trailing defaults may be left out); axes, dtypes and shapes are
// constants, other numbers may be names. What this graph has no kind for stays `opaque`: a library call or a boxed
// operation of the runtime.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
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

/// What a value is, each with what it takes to say so.
namespace form {

struct Input {};      // bound outside of the block, or by an opaque let
struct Opaque {};     // the let is run as it is
struct Elementwise {  // `program` over inputs (broadcast to dims)
  ExprProgram program;
  SmallVec<Use, 2> params;  // its scalar parameters
};
struct Read {  // of another place: IndexMap::Way::reads (ir/ops/view.h)
  SmallVec<AxisAt, 6> at;
  bool only_ones = false;  // squeeze, unsqueeze: nothing but ones comes and goes
};
struct Reshape {};  // the same elements in row-major order
struct Place {      // in a tensor of `fill`: IndexMap::Way::places
  SmallVec<AxisAt, 6> at;
  Use fill;
};
struct Cat {  // inputs behind each other
  int axis = 0;
};
struct Triangle {  // kept where column - row <= diagonal, or >= where it is the upper one; else 0
  Use diagonal;
  bool upper = false;
};
struct Reduce {  // over neighbouring axes
  Leaf combine = Leaf::add;
  SmallVec<int, 4> axes;
  ExprProgram before;  // applied to each element first; may be empty
  bool last = false;   // nothing that is kept stands behind them
  bool keepdim = false;
  // Of a reduction over several groups of axes: what stands after group `stage` (from 0) of the one that is `part_of`.
  NameId part_of = NameId::none;
  int stage = -1;
};
struct Iota {  // first + i * step, integers
  Use first, step;
};
struct Gather {  // inputs[0] at the places in inputs[1], which are checked before
  int axis = 0;
  bool along = false;  // the places have inputs[0]'s rank; else they are one axis
};
struct ScatterOne {  // inputs[0] with inputs[2] written, or added, where `axis` is inputs[1]; one place per line
  int axis = 0;
  bool add = false;
};
struct WindowDim {
  int64_t size = 1, stride = 1, dilation = 1;
};
struct Window {  // the largest of each window of the trailing axes
  std::vector<WindowDim> dims;
};
struct WindowIndex {  // the flat place of that in its plane
  std::vector<WindowDim> dims;
};
struct Unpool {  // inputs[0] at the places inputs[1] (a WindowIndex without overlap) of planes of zeros
  std::vector<WindowDim> dims;
};
struct Matmul {  // a library call: inputs[0] inputs[1]
  bool a_transposed = false, b_transposed = false;
};
struct Convolve {                                                                   // a library call
  enum class Result : uint8_t { forward, input, weight } result = Result::forward;  // or the gradient of that input
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};

}  // namespace form

using Form = std::variant<form::Input, form::Elementwise, form::Read, form::Reshape, form::Place, form::Cat,
                          form::Triangle, form::Reduce, form::Iota, form::Gather, form::ScatterOne, form::Window,
                          form::WindowIndex, form::Unpool, form::Matmul, form::Convolve, form::Opaque>;

struct Value {
  Form form;
  DType type = DType::f32;
  Polys dims;
  SmallVec<Use, 3> inputs;
  NameId name = NameId::none;  // the name that it is
  uint32_t let = UINT32_MAX;   // in the block

  template <class F>
  bool is() const {
    return std::holds_alternative<F>(form);
  }
  template <class F>
  const F* get() const {  // null: it is another one
    return std::get_if<F>(&form);
  }
};

/// The let of `late` may not run before that of `after`: what is computed again would else be computed at once, and
/// kept (recompute.h).
struct Fence {
  NameId late = NameId::none, after = NameId::none;
};

struct Graph {
  const Function* function = nullptr;
  BlockId block = BlockId::none;
  std::vector<Value> values;     // operands come before users
  std::vector<ValueId> of_name;  // by name index; kNoValue if it is no tensor of this block
  std::vector<std::vector<ValueId>> users;
  std::vector<bool> live_out;  // needed after the block, by its terminator, or by an opaque let
  std::vector<bool> lists;  // by let: a tuple or list of tensors that only joins of the graph read, so nobody makes it
  std::vector<Fence> fences;  // of names of this block

  const Value& operator[](ValueId v) const { return values[v]; }
};

/// The graph of a block. Effects of lets are not looked at: tensor lets are pure. What joins more than `most_joined`
/// tensors stays opaque: a kernel would ask for each element which of them it is in.
Graph build_graph(const Function& f, BlockId block, size_t most_joined = SIZE_MAX);

/// Run by a library on buffers.
inline bool is_contraction(const Value& v) { return v.is<form::Matmul>() || v.is<form::Convolve>(); }
/// Does computing v need the places in inputs[1] to be in range? Then they are checked in memory, before.
inline bool needs_index_check(const Value& v) { return v.is<form::Gather>() || v.is<form::ScatterOne>(); }
/// Do two axes of the one side follow the same axis of the other? A diagonal, or a tensor with a diagonal.
bool has_diagonal(std::span<const AxisAt> at);
/// The axis that the places of such a value are on.
int index_axis(const Value& v);
/// The sizes of the windows of a Window, WindowIndex or Unpool; null of others.
const std::vector<form::WindowDim>* windows_of(const Value& v);
/// Scalar operands that are no inputs: parameters of programs, starts, fills.
std::vector<Use> scalar_params(const Value& v);
/// How many scalar instructions one element costs, roughly.
int cost_of(const Value& v);
/// The text name of any operation.
std::string_view name_of(Op op);
/// Text of a graph for tests and dumps: "%3 = elementwise f32[s1, 4](%1, %2)".
std::string print(const Graph& g);

}  // namespace ouro::ir::loops
