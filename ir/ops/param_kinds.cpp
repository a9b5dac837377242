#include "ir/ops/param_kinds.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/sig.h"

namespace ouro::ir {

namespace {

using Kind = Param::Kind;

std::string text_of(const Param& v) {
  switch (v.kind) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return "a bool";
    case Kind::integer:
      return "an int";
    case Kind::floating:
      return "a float";
    case Kind::text:
      return "a str";
    case Kind::dtype:
      return "a dtype";
    case Kind::list:
      return "a list or tuple";
    case Kind::tensor:
      return "a tensor";
    case Kind::object:
      return "a " + v.text;
    case Kind::unknown:
      break;
  }
  return "something else";
}

// One parameter of a call under check.
struct Check {
  SigCall& call;
  const OpParam& param;
  int rank;  // of the row's tensor; -1: not known
  std::span<const Dim> shape;

  std::string who() const { return call.op->shown + ": "; }
  bool wrong_type(const char* expected, const Param& v) const {
    return call.fail("TypeError", who() + param.name + " must be " + expected + ", not " + text_of(v));
  }
  bool wrong(const std::string& text) const { return call.fail("ValueError", who() + text); }

  // An int with low <= v <= high; what it may be besides is decided before.
  bool integer(const Param& v, int64_t low, int64_t high, const char* low_text, bool is_size) const {
    if (v.kind == Kind::unknown) return true;
    if (v.kind == Kind::floating && std::abs(v.floating) > 0x1p1000)  // what an int of many digits becomes
      return call.fail("OverflowError", who() + "an int too large for " + (is_size ? "a size" : param.name));
    if (v.kind != Kind::integer && v.kind != Kind::boolean)
      return is_list() ? wrong_type("an int or several", v) : wrong_type("an int", v);
    if (!v.integer.known()) return true;
    const int64_t n = v.integer.c;
    if (n < low) return wrong(low_text + std::to_string(n));
    if (n > high) return call.fail("OverflowError", who() + std::to_string(n) + " is out of range for " + param.name);
    return true;
  }
  bool is_list() const {
    switch (param.kind) {
      case ParamKind::sizes:
      case ParamKind::last_axes:
      case ParamKind::shape:
      case ParamKind::positives:
      case ParamKind::some_positives:
      case ParamKind::naturals:
      case ParamKind::padding:
      case ParamKind::integers:
      case ParamKind::offsets:
      case ParamKind::numbers:
        return true;
      default:
        return false;
    }
  }
  // Of one, or of each of several (also given as one list: zeros((2, 3))).
  template <class F>
  bool each(const Param& v, F&& one) const {
    if (v.kind != Kind::list) return one(v);
    const Param* list = &v;
    if (v.list.size() == 1 && v.list[0].kind == Kind::list) list = &v.list[0];
    return std::ranges::all_of(list->list, one);
  }
  bool offset(const Param& v) const {
    if ((v.kind == Kind::integer || v.kind == Kind::boolean) && v.integer.known() && v.integer.c < -kTooFar)
      return call.fail("OverflowError", who() + std::to_string(v.integer.c) + " is out of range for " + param.name);
    return integer(v, -kTooFar, kTooFar, "", false);
  }
  bool natural(const Param& v) const {
    return integer(v, 0, kWidest, (param.name + " must not be negative: ").c_str(), false);
  }
  bool positive(const Param& v, int64_t most) const {
    return integer(v, 1, most, (param.name + " must be positive, not ").c_str(), false);
  }
  bool number(const Param& v) const {
    if (v.kind == Kind::unknown || v.kind == Kind::boolean || v.kind == Kind::integer || v.kind == Kind::floating)
      return true;
    return is_list() ? wrong_type("a number or several", v) : wrong_type("a number", v);
  }
  bool axis(const Param& v, int of_rank) const {
    if (v.kind == Kind::unknown || of_rank < 0) return true;
    int a;
    return resolve_axis(call, v, of_rank, a);
  }
  bool axes(const Param& v, bool different) const {
    if (rank < 0) return true;
    std::vector<int> seen;
    return each(v, [&](const Param& one) {
      if (one.kind == Kind::unknown) return true;
      int a;
      if (!resolve_axis(call, one, rank, a)) return false;
      if (different && std::ranges::find(seen, a) != seen.end())
        return wrong("axis " + std::to_string(a) + " appears twice");
      seen.push_back(a);
      return true;
    });
  }
  bool last_axes(const Param& v) const {
    Dims want;
    if (!each(v, [&](const Param& n) {
          want.push_back(n.integer);
          return integer(n, 0, INT64_MAX, "negative dimension ", true);
        }))
      return false;
    bool fits = rank < 0 || (!want.empty() && want.size() <= static_cast<size_t>(rank));
    if (fits && !shape.empty())
      for (size_t i = 0; fits && i < want.size(); ++i) {
        const Dim a = want[i], b = shape[shape.size() - want.size() + i];
        fits = !differs(a, b) && !(a.known() && b.known() && a.c != b.c);
      }
    return fits || call.fail("RuntimeError",
                             who() + param.name + " " + to_text(want) + " are not the last axes of " + to_text(shape));
  }
  bool choice(const Param& v) const {
    if (v.kind == Kind::text && std::ranges::find(param.choices, v.text) != param.choices.end()) return true;
    std::string all;
    for (size_t i = 0; i < param.choices.size(); ++i)
      all += (i == 0 ? "'" : i + 1 < param.choices.size() ? ", '" : " or '") + param.choices[i] + "'";
    return wrong(param.name + " must be " + all);
  }

  bool operator()(const Param& v) const {
    if (v.kind == Kind::unknown) return true;
    if (v.kind == Kind::none && (param.optional || param.default_text == "None")) return true;
    switch (param.kind) {
      case ParamKind::any:
      case ParamKind::key:
        return true;
      case ParamKind::flag:
        return v.kind == Kind::boolean || v.kind == Kind::integer || wrong_type("a bool", v);
      case ParamKind::axis_or_tensor:
        if (v.kind == Kind::tensor) return true;
        [[fallthrough]];
      case ParamKind::axis:
        return axis(v, rank);
      case ParamKind::new_axis:
        return axis(v, rank < 0 ? -1 : rank + 1);
      case ParamKind::axes:
        return axes(v, true);
      case ParamKind::repeated_axes:
        return axes(v, false);
      case ParamKind::size:
      case ParamKind::sizes:
        return each(v, [&](const Param& n) { return integer(n, 0, INT64_MAX, "negative dimension ", true); });
      case ParamKind::last_axes:
        return last_axes(v);
      case ParamKind::shape:
        return each(v, [&](const Param& n) { return integer(n, -1, INT64_MAX, "negative size ", true); });
      case ParamKind::positive:
        return positive(v, INT64_MAX);
      case ParamKind::positives:
        return each(v, [&](const Param& n) { return positive(n, kWidest); });
      case ParamKind::some_positives:
        return each(v, [&](const Param& n) { return n.is_none() || positive(n, kWidest); });
      case ParamKind::padding:
        if (v.kind == Kind::text)
          return v.text == "valid" || v.text == "same" || wrong(param.name + " must be ints, 'valid' or 'same'");
        [[fallthrough]];
      case ParamKind::naturals:
        return each(v, [&](const Param& n) { return natural(n); });
      case ParamKind::integer:
        return integer(v, INT64_MIN, INT64_MAX, "", false);
      case ParamKind::integers:
        return each(v, [&](const Param& n) { return integer(n, INT64_MIN, INT64_MAX, "", false); });
      case ParamKind::offset:
        return offset(v);
      case ParamKind::offsets:
        return each(v, [&](const Param& n) { return offset(n); });
      case ParamKind::tensor:
        return v.kind == Kind::tensor || wrong_type("a tensor", v);
      case ParamKind::tensors:
        if (v.kind != Kind::list) return wrong_type("a list or tuple of tensors", v);
        return std::ranges::all_of(v.list, [&](const Param& t) {
          return t.kind == Kind::tensor || t.kind == Kind::unknown || wrong_type("a list or tuple of tensors", t);
        });
      case ParamKind::norm:
        if (v.kind == Kind::text) return v.text == "fro" || wrong(param.name + " must be a number or 'fro'");
        [[fallthrough]];
      case ParamKind::number:
        return number(v);
      case ParamKind::number_or_tensor:
        return v.kind == Kind::tensor || number(v);
      case ParamKind::numbers:
        return each(v, [&](const Param& n) { return number(n); });
      case ParamKind::probability: {
        if (!number(v)) return false;
        if (v.kind == Kind::floating ? v.later : !v.integer.known()) return true;
        const double p = v.kind == Kind::floating ? v.floating : static_cast<double>(v.integer.c);
        return (p >= 0 && p <= 1) || wrong(param.name + " must be between 0 and 1");
      }
      case ParamKind::dtype:
        return v.kind == Kind::dtype || wrong_type("a dtype", v);
      case ParamKind::text:
        return v.kind == Kind::text || wrong_type("a str", v);
      case ParamKind::choice:
        return choice(v);
    }
    return true;
  }
};

}  // namespace

int axis_input(const OpInfo& op) {
  for (size_t k = 0; k < op.input_at.size(); ++k)
    if (op.params[static_cast<size_t>(op.input_at[k])].name == "like") return static_cast<int>(k);
  return op.inputs > 0 ? 0 : -1;
}

bool check_param(SigCall& call, const OpParam& param, const Param& value, int rank, std::span<const Dim> shape) {
  return Check{call, param, rank, shape}(value);
}

bool check_params(SigCall& call) {
  const OpInfo& op = *call.op;
  if (call.params.size() != op.param_at.size()) return true;  // types alone are asked for
  const int at = axis_input(op);
  const bool there = at >= 0 && static_cast<size_t>(at) < call.inputs.size() && call.inputs[static_cast<size_t>(at)];
  const std::span<const Dim> shape =
      there ? std::span<const Dim>(call.inputs[static_cast<size_t>(at)]->dims) : std::span<const Dim>();
  const int rank = there ? static_cast<int>(shape.size()) : -1;
  for (size_t i = 0; i < call.params.size(); ++i)
    if (!check_param(call, op.params[static_cast<size_t>(op.param_at[i])], call.params[i], rank, shape)) return false;
  return true;
}

bool check_results(SigCall& call) {
  for (const TensorType& t : call.results) {
    if (t.dims.size() > kMostDims)
      return call.fail("ValueError", "a tensor has at most " + std::to_string(kMostDims) + " dimensions, not " +
                                         std::to_string(t.dims.size()));
    int64_t bytes = static_cast<int64_t>(size_of(t.dtype));
    for (Dim d : t.dims) {
      if (!d.known()) continue;
      if (d.c < 0) return call.fail("ValueError", call.op->shown + ": negative dimension " + std::to_string(d.c));
      // Axes of size 0 are left out: the strides of the others are computed all the same.
      if (d.c >= kTooLarge || __builtin_mul_overflow(bytes, std::max<int64_t>(d.c, 1), &bytes) || bytes >= kTooLarge)
        return call.fail("MemoryError", "not enough memory for a tensor of shape " + to_text(t.dims) + " and dtype " +
                                            std::string(name(t.dtype)));
    }
  }
  return true;
}

}  // namespace ouro::ir
