// The kinds of a row's parameters that are not tensors: `OpDef::params` states them, and each call is checked against
// them first of all.
//
//   "x, axis: axes? = None, keepdim: flag = False, *, mode: mean|sum = 'mean'"
//
// A kind is one of the words below or, with a bar, the texts that are let through; `?` lets None through. A row with a
// parameter of no stated kind does not build (op.h: complete). Only known values are checked: in a program that is
// being compiled a number may be known later, and then the call is checked again (jit/specialise/outside/access.h).
//
// Sizes are computed without overflow: a dimension saturates at kTooLarge (ir/type.h), whatever reached it is refused
// by check_results, and so is a tensor whose axes do not multiply up to what an index can count.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ir/type.h"

namespace ouro::ir {

struct OpInfo;
struct OpParam;
struct Param;
struct SigCall;

enum class ParamKind : uint8_t {
  any,               // the row looks at it by itself
  flag,              // a bool
  axis,              // an axis of the row's tensor: [-rank, rank)
  new_axis,          // a place between axes: [-rank - 1, rank + 1)
  axes,              // an axis or several different ones
  repeated_axes,     // an axis or several
  axis_or_tensor,    // an axis, or a tensor (which is not looked at)
  size,              // an int, 0 or more
  sizes,             // one or several
  last_axes,         // sizes: those of the last axes of the row's tensor
  shape,             // sizes; -1: what is left, or as it is
  positive,          // an int, 1 or more
  positives,         // one or several
  some_positives,    // several of which each may be None
  naturals,          // ints, 0 or more: what is added at the ends of axes
  padding,           // naturals, or 'valid', or 'same'
  integer,           // any int of 64 bits
  integers,          // one or several
  offset,            // an int that is added to places: below kTooFar in magnitude
  offsets,           // one or several
  number,            // an int, a float or a bool
  numbers,           // one or several
  probability,       // a number between 0 and 1
  norm,              // a number, or 'fro'
  number_or_tensor,  // a number or a tensor
  tensor,            // a tensor that is no input of the signature
  tensors,           // a list or tuple of them
  key,               // what stands in x[key] (runtime/tensor/indexing.h)
  dtype,             // a dtype, its name, or Python's type
  text,              // a string
  choice,            // one of the texts that are written there
};
struct ParamKindName {
  ParamKind kind;
  std::string_view name;
};
inline constexpr std::array<ParamKindName, 30> kParamKinds{{
    {ParamKind::any, "any"},
    {ParamKind::flag, "flag"},
    {ParamKind::axis, "axis"},
    {ParamKind::new_axis, "new_axis"},
    {ParamKind::axes, "axes"},
    {ParamKind::repeated_axes, "repeated_axes"},
    {ParamKind::axis_or_tensor, "axis_or_tensor"},
    {ParamKind::size, "size"},
    {ParamKind::sizes, "sizes"},
    {ParamKind::last_axes, "last_axes"},
    {ParamKind::shape, "shape"},
    {ParamKind::positive, "positive"},
    {ParamKind::positives, "positives"},
    {ParamKind::some_positives, "some_positives"},
    {ParamKind::naturals, "naturals"},
    {ParamKind::padding, "padding"},
    {ParamKind::integer, "int"},
    {ParamKind::integers, "ints"},
    {ParamKind::offset, "offset"},
    {ParamKind::offsets, "offsets"},
    {ParamKind::number, "number"},
    {ParamKind::numbers, "numbers"},
    {ParamKind::probability, "probability"},
    {ParamKind::norm, "norm"},
    {ParamKind::number_or_tensor, "number_or_tensor"},
    {ParamKind::tensor, "tensor"},
    {ParamKind::tensors, "tensors"},
    {ParamKind::key, "key"},
    {ParamKind::dtype, "dtype"},
    {ParamKind::text, "text"},
}};

// One parameter as it is written: "*@name: kind? = default".
struct ParamText {
  std::string_view name, kind, default_text;
  bool input = false;      // @: a tensor of the signature
  bool variadic = false;   // *
  bool optional = false;   // ?
  bool separator = false;  // a lone *: what follows is keyword-only
  bool has_default = false;
};

constexpr std::string_view trim_param(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}
// Takes the next parameter off `rest`, at a comma outside quotes and brackets.
constexpr ParamText next_param(std::string_view& rest) {
  size_t end = 0;
  int depth = 0;
  char quote = 0;
  for (; end < rest.size(); ++end) {
    const char c = rest[end];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  std::string_view one = trim_param(rest.substr(0, end));
  rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
  ParamText p;
  if (one == "*") return p.separator = true, p;
  while (!one.empty() && (one[0] == '@' || one[0] == '*')) {
    (one[0] == '@' ? p.input : p.variadic) = true;
    one.remove_prefix(1);
  }
  if (const size_t eq = one.find('='); eq != one.npos) {
    p.has_default = true;
    p.default_text = trim_param(one.substr(eq + 1));
    one = trim_param(one.substr(0, eq));
  }
  if (const size_t colon = one.find(':'); colon != one.npos) {
    p.kind = trim_param(one.substr(colon + 1));
    one = trim_param(one.substr(0, colon));
    if (p.kind.ends_with('?')) p.optional = true, p.kind.remove_suffix(1);
  }
  p.name = one;
  return p;
}
// Its kind; false when there is no such word.
constexpr bool find_param_kind(std::string_view word, ParamKind& kind) {
  if (word.find('|') != word.npos) return kind = ParamKind::choice, true;
  for (const ParamKindName& k : kParamKinds)
    if (k.name == word) return kind = k.kind, true;
  return false;
}
// Does every parameter but the first `inputs` (or, where some are marked, the marked ones) state what it takes?
constexpr bool states_kinds(std::string_view params, int inputs) {
  bool marked = false;
  for (std::string_view rest = params; !rest.empty();) marked = next_param(rest).input || marked;
  int at = 0;
  for (std::string_view rest = params; !rest.empty();) {
    const ParamText p = next_param(rest);
    if (p.separator) continue;
    const bool is_input = marked ? p.input : at < inputs;
    ++at;
    ParamKind kind;
    if (is_input ? !p.kind.empty() : !find_param_kind(p.kind, kind)) return false;
  }
  return true;
}

inline constexpr int64_t kTooFar = int64_t{1} << 48;  // for what is added to a place
inline constexpr int64_t kWidest = INT32_MAX;         // of windows: sizes, steps, what is added at the ends
inline constexpr size_t kMostDims = 64;

// The input whose axes the row's axes are: `like` where there is one, else the first; -1: the row has no inputs.
int axis_input(const OpInfo& op);
// Checks one parameter of a call as the row states it; false with `error`. rank: of that input, -1 if not known; shape:
// its dims, for last_axes.
bool check_param(SigCall& call, const OpParam& param, const Param& value, int rank, std::span<const SymDim> shape = {});
// All of them.
bool check_params(SigCall& call);
// Checks the results' shapes, as far as they are known: no axis is negative, and their elements can be counted.
bool check_results(SigCall& call);

}  // namespace ouro::ir
