// Signatures and parameters at work: dtypes, shapes and errors of a call, from the row's text.
//
// One inference serves concrete shapes (eager) and symbolic ones (the compiler): dims are those of ir/type.h. Scalars
// that take part (axis, sizes, flags) are `Param`s; an int may be symbolic. What cannot be known from these is a fresh
// symbol.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ops/registry.h"
#include "ir/ops/view.h"
#include "ir/type.h"
#include "support/dtype.h"

namespace ouro::ir {

using Dim = SymDim;
inline Dim dim(int64_t n) { return Dim::number(n); }
inline bool is(Dim d, int64_t n) { return d.known() && d.c == n; }
// Different numbers for sure (equal ones for sure are ==).
inline bool differs(Dim a, Dim b) { return a.m == b.m && a.symbol == b.symbol && a.c != b.c; }
inline Dim unknown_dim() { return Dim::of(fresh_symbol()); }
inline Dim operator+(Dim a, Dim b) { return add(a, b); }
inline Dim operator*(Dim a, Dim b) { return multiply(a, b); }
inline Dim operator-(Dim a, Dim b) { return add(a, multiply(b, dim(-1))); }
Dim floor_div(Dim a, Dim b);  // b > 0
using Dims = std::vector<Dim>;
Dim product(std::span<const Dim> d);
std::string to_text(std::span<const Dim> d);  // "(64, 784)", symbols as s1

// A tensor as inference sees it.
struct TensorType {
  DType dtype = DType::f32;
  Dims dims;
  bool scalar = false;  // a Python number in a tensor's place: weak in promotion, dims empty
};

// A non-tensor argument.
struct Param {
  // unknown: not known when a program is compiled; object: what no row takes,
  // `text` is its type's name
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    floating,
    text,
    dtype,
    list,
    tensor,
    object,
    unknown
  } kind = Kind::none;
  Dim integer{};        // boolean: 0 or 1; dtype: the DType
  double floating = 0;  // of floating (NaN if not known)
  bool later = false;   // of floating: known when the program runs
  std::string text;
  std::vector<Param> list;  // tuple or list
  static Param none() { return {}; }
  static Param of_kind(Kind k) {
    Param p;
    p.kind = k;
    return p;
  }
  static Param of(int64_t i) {
    Param p;
    p.kind = Kind::integer;
    p.integer = dim(i);
    return p;
  }
  static Param of_dim(Dim d) {
    Param p;
    p.kind = Kind::integer;
    p.integer = d;
    return p;
  }
  static Param of_bool(bool b) {
    Param p;
    p.kind = Kind::boolean;
    p.integer = dim(b);
    return p;
  }
  static Param of_float(double f) {
    Param p;
    p.kind = Kind::floating;
    p.floating = f;
    return p;
  }
  static Param of_dtype(DType t) {
    Param p;
    p.kind = Kind::dtype;
    p.integer = dim(static_cast<int64_t>(t));
    return p;
  }
  static Param of_text(std::string s) {
    Param p;
    p.kind = Kind::text;
    p.text = std::move(s);
    return p;
  }
  bool is_none() const { return kind == Kind::none; }
  bool truthy() const {
    return kind == Kind::boolean || kind == Kind::integer ? !is(integer, 0)
           : kind == Kind::floating                       ? floating != 0
                                                          : kind != Kind::none;
  }
};

// A failed call: the Python exception class and the message.
struct SigError {
  std::string kind = "ValueError";
  std::string text;
};

// One call: inputs (absent optional ones: nullopt; the parts of a list behind each other) and the other parameters in
// the row's order, defaults filled in.
struct SigCall {
  const OpInfo* op = nullptr;
  std::span<const std::optional<TensorType>> inputs;
  std::span<const Param> params;
  // results
  std::vector<TensorType> results;
  DType compute = DType::f32;      // of elementwise rows: the type of the arithmetic (half floats: f32)
  std::vector<DType> input_types;  // each input after promotion
  IndexMap map;                    // of views
  std::optional<SigError> error;
  const Param& param(std::string_view name) const;  // by name; `none` when the row lacks it
  bool fail(std::string kind, std::string text) {
    error = SigError{std::move(kind), std::move(text)};
    return false;
  }
};
// Fills results, compute, input_types; false with `error` when the call is wrong.
bool infer(SigCall& call);
// Of a row in Ouro, whose text sees to the rest: the inputs' ranks, and the dims that the signature names. False with
// `error`.
bool check_dims(SigCall& call);

// Broadcasts shapes; false when two dims differ for sure. A symbolic dim against a number > 1 takes the number; two
// symbols that may differ give the left one (the caller adds the guard; `assumed` is set).
bool broadcast(const Dims& a, const Dims& b, Dims& out, bool* assumed = nullptr);

// axis (None, int, tuple) as sorted distinct axes of `rank`; false with error in `call`.
bool resolve_axes(SigCall& call, const Param& axis, int rank, std::vector<int>& axes);
bool resolve_axis(SigCall& call, const Param& axis, int rank, int& out);

// The default of a parameter as written in the row (None, True, 3, 1e-5, 'mean', ()).
Param default_of(const OpParam& p);

}  // namespace ouro::ir
