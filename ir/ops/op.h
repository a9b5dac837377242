// The row of a tensor operation: one place for its name, signature, meaning, derivative, documentation and test domain.
//
// Rows stand in constexpr tables (elementwise.cpp, reduce.cpp, shape.cpp, index.cpp, linalg.cpp, sparse.cpp,
// neural.cpp, random.cpp, make.cpp), those written in Ouro in stdlib/ops/*.ouro; ir/ops/registry.h gives them ids. A
// row says what an operation *is*; how a kind of row is run is said once per kind: eager blocks in runtime/tensor,
// loops in ir/loops, contractions in backends/contract.
//
// Signature. `sig` names type classes and dimensions: "f[m,k], f[k,n] -> f[m,n]". Classes:
//   t any    n number (integer or float)    f float (integers and bools become f32)    i integer    b bool
//   a any, on its own (takes no part in promotion)    i64 u8 f32 ...  that dtype itself
//   `t?[...]` an optional tensor (None when absent); `t+[...]`, last: a list or tuple of tensors
// The same letter twice is one promoted dtype (PyTorch's result_type); `$` as a result takes the dtype from the
// parameter `dtype`. Dimensions: a name (equal wherever it stands), a number, `*s` (any number of dims; in several
// inputs: broadcast together), `*` (any, unnamed), `@` as a result: the shape comes from `shape`, a rule of
// shape_rules.h.
//
// Parameters. `params` is the Python parameter list of function and method. The inputs of `sig` are its first ones, in
// order, or, when some are marked, the marked ones: "@x, axis: axis, @index". Every other one states what it takes
// (param_kinds.h): a row that does not say does not build. Everywhere `dim`/`dims` is accepted for `axis`,
// `keepdims` for `keepdim`, `input` and `self` for the first. In `d`, x.param(i) is the i-th parameter that is no
// input.
//
// Exactly one of
//   body    expression over leaves; scalar parameters that it reads with x.param(i) are the i-th after the tensors
//   loop    reductions, contractions, data movement, windows, ...: LoopKind and what it needs
//   symbol  a native kernel in runtime/tensor, by name (sort, random, solve, ...)
//   source  a function in Ouro over other operations: the file of stdlib/ops that it stands in. Those rows are written
//           there, not here (tools/stage0/rows.h); their derivative is the derivative of their text
//
// Derivative: exactly one of, unless every input is an integer or a bool or the row is `source`
//   d            elementwise: d[i](x, y) = dy/dx_i over leaves; serves jvp and vjp
//   linear_in    bit mask of inputs the result is linear in, with `vjp`, the transpose in Ouro: jvp applies the
//                operation itself
//   vjp, jvp     Ouro lambdas. vjp(g, y, inputs and params...) gives the cotangent of the one float input, or a tuple
//                with one entry per tensor input (None: no derivative); in jvp(t, y, inputs and params...) t is the
//                tangent of the one float input, or a tuple (entries may be None for zero)
//   nondiff      the reason why there is none
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ir/ops/combine.h"
#include "ir/ops/expr.h"
#include "ir/ops/param_kinds.h"
#include "ir/ops/view.h"

namespace ouro::ir {

// What a body's lambda is given: the tensors and the scalar parameters.
// A body may differ for integers (`integer` is true): floor of an integer is itself.
struct OpArgs {
  std::array<S, 5> x;
  bool integer = false;
  S operator[](int i) const { return x[i]; }
  S param(int i) const { return make_param(i); }
};
using BodyFn = S (*)(OpArgs);
using DerivativeFn = S (*)(OpArgs, S y);

enum class LoopKind : uint8_t {
  none,
  reduce,    // over `axis` (None, int or tuple) with `combine`, in the order of reduce_order.h
  arg,       // index of the extremum along `axis`; `combine` is max or min; first one wins, NaN wins
  scan,      // running `combine` along `axis`, in order
  contract,  // sum over the dims that `index` repeats ("mk,kn->mn"), by backends/contract
  conv,      // convolution and its two gradients, by backends/contract; `index` is forward, input or weight
  view,      // a rearrangement of the elements: `map` is its rule of view.h, from which the shape follows, too
  gather,    // out[i] = x[f(i, index)]
  scatter,   // out = x; out[f(i, index)] op= src[i], in order of i
  window,    // pooling: reduce over windows with `combine`
};

struct LoopSpec {
  LoopKind kind = LoopKind::none;
  std::string_view index{};
  Leaf combine = Leaf::add;  // of combine.h
  BodyFn before = nullptr;   // of reductions: applied to each element first (any: x != 0)
  bool from_end = true;      // of gathers: a negative index counts from the end; else it is an error
  ViewRule map = nullptr;    // of views
  constexpr bool empty() const { return kind == LoopKind::none; }
};

struct Range {
  double lo = -2, hi = 2;
};
struct OpTest {
  Range domain[4] = {};  // of each input
  double tol = 0;        // relative, f32 against f64; 0: exact leaves, 4 ulp
  // Calls to test, separated by ` | `: arguments as in a script, with f[3,4] for a float tensor of that shape and
  // b[3,4] for a bool one ("f[3,4], axis=0 | f[5], 0"). Empty: made from `sig`, parameters at their defaults.
  std::string_view cases{};
};

// Effects besides what every operation has (alloc; may raise on wrong shapes).
enum class OpEffect : uint8_t { none, rng, place };

struct OpDef {
  std::string_view name, doc, sig;
  std::string_view params = "";  // empty: x, or x, y, or x, y, z as `sig` has inputs
  std::string_view shape = "";   // of `@`: a rule of shape_rules.cpp
  BodyFn body = nullptr;
  LoopSpec loop{};
  std::string_view symbol = "";
  std::string_view source = "";
  std::array<DerivativeFn, 4> d{};
  uint8_t linear_in = 0;
  std::string_view vjp = "", jvp = "", nondiff = "";
  bool method = true;    // also a method of tensors
  bool function = true;  // also a built-in function (false for Python's own names: max, sum, ...: ouro.NAME only)
  bool integer_zero_raises = false;  // integer division: a zero in input 1 is ZeroDivisionError
  OpEffect effect = OpEffect::none;
  std::string_view alias = "";  // further names, separated by spaces
  OpTest test{};
};

// Number of inputs of a signature, at compile time.
consteval int count_inputs(std::string_view sig) {
  int depth = 0, n = 0;
  bool any = false;
  for (size_t i = 0; i < sig.size(); ++i) {
    if (sig[i] == '-' && i + 1 < sig.size() && sig[i + 1] == '>') break;
    if (sig[i] == '[') ++depth, any = true;
    if (sig[i] == ']') --depth;
    if (sig[i] == ',' && depth == 0) ++n;
  }
  return any ? n + 1 : 0;
}
constexpr bool has_float_input(std::string_view sig) {
  for (size_t i = 0; i < sig.size(); ++i) {
    if (sig[i] == '-') return false;
    bool start = i == 0 || sig[i - 1] == ' ';
    if (start && (sig[i] == 'f' || sig[i] == 'n' || sig[i] == 't') &&
        (sig[i + 1] == '[' || sig[i + 1] == '?' || sig[i + 1] == '+'))
      return true;
  }
  return false;
}
// Refuses an incomplete row when the program is built.
consteval bool complete(std::span<const OpDef> rows) {
  for (const OpDef& o : rows) {
    if (o.name.empty() || o.doc.empty() || o.sig.find("->") == std::string_view::npos) return false;
    int kinds = (o.body != nullptr) + !o.loop.empty() + !o.symbol.empty() + !o.source.empty();
    if (kinds != 1) return false;
    if (combine_index(o.loop.combine) < 0) return false;
    const bool has_shape = !o.shape.empty() || !o.source.empty() || o.loop.kind == LoopKind::view;
    if (o.sig.find('@') != std::string_view::npos && !has_shape) return false;
    bool derivative = o.d[0] || o.d[1] || o.d[2] || !o.vjp.empty() || !o.source.empty();
    if (has_float_input(o.sig) && !derivative && o.nondiff.empty()) return false;
    if (derivative && !o.nondiff.empty()) return false;
    if (!o.vjp.empty() && o.jvp.empty() && o.linear_in == 0) return false;
    if (o.linear_in && o.vjp.empty()) return false;
    if (o.body && count_inputs(o.sig) == 0) return false;
    if (!states_kinds(o.params, count_inputs(o.sig))) return false;
    for (const OpDef& p : rows)
      if (&p != &o && p.name == o.name) return false;
  }
  return true;
}

}  // namespace ouro::ir
