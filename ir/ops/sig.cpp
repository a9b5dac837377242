#include "ir/ops/sig.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "ir/ops/param_kinds.h"
#include "ir/ops/shape_rules.h"
#include "ir/ops/sig_parse.h"
#include "support/diag.h"

namespace ouro::ir {

// ---------------------------------------------------------------- dims

Dim floor_div(Dim a, Dim b) {
  if (is(b, 1)) return a;
  if (!b.known() || b.c == 0 || a.m % b.c != 0) return unknown_dim();
  int64_t q = a.c / b.c - ((a.c % b.c != 0) && ((a.c < 0) != (b.c < 0)));
  return Dim{q, a.m / b.c, a.symbol};
}
Dim product(std::span<const Dim> d) {
  Dim p = dim(1);
  for (Dim x : d) p = p * x;
  return p;
}
namespace {
std::string one_text(Dim d) {
  if (d.known()) return std::to_string(d.c);
  std::string s = (d.m != 1 ? std::to_string(d.m) + "*" : "") + "s" + std::to_string(d.symbol);
  if (d.c) s += (d.c > 0 ? "+" : "") + std::to_string(d.c);
  return s;
}
}  // namespace
std::string to_text(std::span<const Dim> d) {
  std::string s = "(";
  for (size_t i = 0; i < d.size(); ++i) s += (i ? ", " : "") + one_text(d[i]);
  return s + (d.size() == 1 ? ",)" : ")");
}

// ---------------------------------------------------------------- parsing

namespace {

struct SigReader {
  std::string_view text, op;
  size_t at = 0;

  [[noreturn]] void bad(const char* why) { ouro_bug(("signature of " + std::string(op) + ": " + why).c_str()); }
  void skip() {
    while (at < text.size() && text[at] == ' ') ++at;
  }
  bool eat(std::string_view s) {
    skip();
    if (text.substr(at, s.size()) != s) return false;
    at += s.size();
    return true;
  }
  std::string word() {
    skip();
    size_t b = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
    return std::string(text.substr(b, at - b));
  }
  SigTensor tensor() {
    SigTensor t;
    if (eat("$")) {
      t.cls = '$';
    } else {
      std::string w = word();
      if (w.size() == 1 && std::string_view("tnfiba").find(w[0]) != std::string_view::npos) {
        t.cls = w[0];
      } else if (auto d = dtype_from_name(w)) {
        t.cls = '=', t.dtype = *d;
      } else {
        bad("unknown class");
      }
    }
    if (eat("?")) t.optional = true;
    if (eat("+")) t.many = true;
    if (!eat("[")) bad("[ expected");
    while (!eat("]")) {
      eat(",");
      if (eat("@")) {
        t.rule = true;
        continue;
      }
      SigDim d;
      if (eat("*")) {
        d.name = word();
        d.kind = d.name.empty() ? SigDim::Kind::any : SigDim::Kind::sequence;
      } else {
        d.name = word();
        if (d.name.empty()) bad("dim expected");
        if (std::isdigit(static_cast<unsigned char>(d.name[0])))
          d.kind = SigDim::Kind::number, d.number = std::atoll(d.name.c_str());
      }
      t.dims.push_back(std::move(d));
    }
    return t;
  }
  void parse(Sig& s) {
    skip();
    while (!eat("->")) {
      if (at >= text.size()) bad("-> expected");
      s.inputs.push_back(tensor());
      eat(",");
    }
    skip();
    while (at < text.size()) {
      s.results.push_back(tensor());
      eat(",");
      skip();
    }
  }
};

}  // namespace

const Sig* parse_sig(std::string_view text, std::string_view op) {
  auto* s = new Sig;  // owned by the registry's rows, which live as long as the process
  SigReader{text, op}.parse(*s);
  for (const SigTensor& t : s->inputs)
    for (const SigDim& d : t.dims) s->states_dims |= d.kind == SigDim::Kind::name || d.kind == SigDim::Kind::number;
  return s;
}

// ---------------------------------------------------------------- inference

const Param& SigCall::param(std::string_view name) const {
  static const Param kNone;
  for (size_t i = 0; i < op->param_at.size() && i < params.size(); ++i)
    if (op->params[op->param_at[i]].name == name) return params[i];
  return kNone;
}

Param default_of(const OpParam& p) {
  const std::string& t = p.default_text;
  if (t.empty() || t == "None") return Param::none();
  if (t == "True" || t == "False") return Param::of_bool(t == "True");
  if (t[0] == '\'' || t[0] == '"') return Param::of_text(t.substr(1, t.size() - 2));
  if (t[0] == '(') {  // of ints: "()", "(0, 1)"
    Param l;
    l.kind = Param::Kind::list;
    for (size_t at = 1; at < t.size() && t[at] != ')';) {
      size_t end = t.find_first_of(",)", at);
      l.list.push_back(Param::of(std::atoll(t.substr(at, end - at).c_str())));
      at = t.find_first_not_of(" ,", end);
    }
    return l;
  }
  if (t == "inf") return Param::of_float(HUGE_VAL);
  if (auto d = dtype_from_name(t)) return Param::of_dtype(*d);
  if (t.find_first_of(".e") != std::string::npos) return Param::of_float(std::strtod(t.c_str(), nullptr));
  return Param::of(std::atoll(t.c_str()));
}

bool broadcast(const Dims& a, const Dims& b, Dims& out, bool* assumed) {
  const Dims &big = a.size() >= b.size() ? a : b, &small = a.size() >= b.size() ? b : a;
  Dims r = big;
  size_t off = big.size() - small.size();
  for (size_t i = 0; i < small.size(); ++i) {
    Dim x = big[off + i], y = small[i];
    if (x == y || is(y, 1)) continue;
    if (is(x, 1)) {
      r[off + i] = y;
      continue;
    }
    if (x.known() && y.known()) return false;
    if (differs(x, y)) return false;
    if (assumed) *assumed = true;
    r[off + i] = y.known() ? y : x;  // the number, since it is not 1
  }
  out = std::move(r);
  return true;
}

bool resolve_axis(SigCall& call, const Param& axis, int rank, int& out) {
  if ((axis.kind != Param::Kind::integer && axis.kind != Param::Kind::boolean) || !axis.integer.known())
    return call.fail("TypeError", call.op->shown + ": axis must be an int");
  int64_t a = axis.integer.c, r = std::max(rank, 1);
  if (a < -r || a >= r)
    return call.fail("IndexError", call.op->shown + ": axis " + std::to_string(a) +
                                       " is out of range for a tensor of " + std::to_string(rank) + " dimensions");
  out = static_cast<int>(a < 0 ? a + r : a);
  return true;
}

bool resolve_axes(SigCall& call, const Param& axis, int rank, std::vector<int>& axes) {
  axes.clear();
  if (axis.is_none() || (axis.kind == Param::Kind::list && axis.list.empty())) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return true;
  }
  if (axis.kind != Param::Kind::list) {
    int a;
    if (!resolve_axis(call, axis, rank, a)) return false;
    if (rank > 0) axes.push_back(a);
    return true;
  }
  for (const Param& p : axis.list) {
    int a;
    if (!resolve_axis(call, p, rank, a)) return false;
    if (std::find(axes.begin(), axes.end(), a) != axes.end())
      return call.fail("ValueError", call.op->shown + ": axis " + std::to_string(a) + " appears twice");
    if (rank > 0) axes.push_back(a);
  }
  std::sort(axes.begin(), axes.end());
  return true;
}

namespace {

std::string dtypes_text(const SigCall& c) {
  std::string s;
  for (const auto& in : c.inputs)
    if (in)
      s += (s.empty() ? "" : " and ") + (in->scalar ? std::string(is_float(in->dtype)  ? "float"
                                                                  : is_bool(in->dtype) ? "bool"
                                                                                       : "int")
                                                    : std::string(name(in->dtype)));
  return s;
}
std::string shapes_text(const SigCall& c) {
  std::string s;
  for (const auto& in : c.inputs)
    if (in && !in->scalar) s += (s.empty() ? "" : " and ") + to_text(in->dims);
  return s;
}

// Of a list at the end, every part.
const SigTensor& input_sig(const Sig& sig, size_t i) { return sig.inputs[std::min(i, sig.inputs.size() - 1)]; }

// The promoted dtype of each class letter.
bool promote_classes(SigCall& c, std::map<char, DType>& classes) {
  const Sig& sig = *c.op->sig;
  std::map<char, Promotion> found;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i]) continue;
    const TensorType& t = *c.inputs[i];
    char cls = input_sig(sig, i).cls;
    if (cls == '=' || cls == 'a') continue;
    found[cls].add({t.dtype, t.scalar         ? OperandKind::scalar
                             : t.dims.empty() ? OperandKind::zero_dim
                                              : OperandKind::tensor});
  }
  for (auto& [cls, p] : found) {
    DType t = p.dtype();
    switch (cls) {
      case 'f':
        if (!is_float(t)) t = kDefaultFloat;
        break;
      case 'n':
        if (is_bool(t))
          return c.fail("TypeError",
                        c.op->shown + ": not defined for " + dtypes_text(c) + "; use logical_xor, logical_not or ~");
        break;
      case 'i':
        if (is_float(t))
          return c.fail("TypeError", c.op->shown + ": integers or bools expected, not " + dtypes_text(c));
        break;
      case 'b':
        t = DType::boolean;
        break;
      default:
        break;
    }
    classes[cls] = t;
  }
  return true;
}

struct DimBinder {
  SigCall& c;
  bool stated_only;  // sequences are not held against each other
  std::map<std::string, Dim> names;
  std::map<std::string, Dims> sequences;

  bool bind(const SigTensor& s, const TensorType& t) {
    int seq = -1;
    for (size_t i = 0; i < s.dims.size(); ++i)
      if (s.dims[i].kind == SigDim::Kind::sequence || s.dims[i].kind == SigDim::Kind::any) seq = static_cast<int>(i);
    size_t fixed = s.dims.size() - (seq >= 0);
    if (seq < 0 ? t.dims.size() != fixed : t.dims.size() < fixed)
      return c.fail("ValueError", c.op->shown + ": expected " + (seq < 0 ? "" : "at least ") + std::to_string(fixed) +
                                      " dimensions, got the shape " + to_text(t.dims));
    size_t before = seq < 0 ? fixed : static_cast<size_t>(seq), after = fixed - before;
    for (size_t i = 0; i < before; ++i)
      if (!one(s.dims[i], t.dims[i])) return false;
    for (size_t i = 0; i < after; ++i)
      if (!one(s.dims[s.dims.size() - after + i], t.dims[t.dims.size() - after + i])) return false;
    if (!stated_only && seq >= 0 && s.dims[seq].kind == SigDim::Kind::sequence) {
      Dims mid(t.dims.begin() + before, t.dims.end() - after);
      auto [it, fresh] = sequences.emplace(s.dims[seq].name, mid);
      if (!fresh && !broadcast(it->second, mid, it->second))
        return c.fail("ValueError", c.op->shown + ": " + shapes_text(c) + " do not broadcast");
    }
    return true;
  }
  bool one(const SigDim& d, Dim n) {
    if (d.kind == SigDim::Kind::number) {
      if (n.known() && n.c != d.number)
        return c.fail("ValueError",
                      c.op->shown + ": a dimension of " + std::to_string(d.number) + " expected in " + shapes_text(c));
      return true;
    }
    auto [it, fresh] = names.emplace(d.name, n);
    if (fresh || it->second == n) return true;
    if (differs(it->second, n) || (it->second.known() && n.known()))
      return c.fail("ValueError", c.op->shown + ": " + shapes_text(c) + " do not fit: " + one_text(it->second) +
                                      " is not " + one_text(n));
    if (n.known()) it->second = n;
    return true;
  }
  bool build(const SigTensor& s, Dims& out) {
    for (const SigDim& d : s.dims) {
      if (d.kind == SigDim::Kind::number) {
        out.push_back(dim(d.number));
      } else if (d.kind == SigDim::Kind::name) {
        auto it = names.find(d.name);
        out.push_back(it == names.end() ? unknown_dim() : it->second);
      } else if (auto it = sequences.find(d.name); it != sequences.end()) {
        out.insert(out.end(), it->second.begin(), it->second.end());
      }
    }
    return true;
  }
};

bool result_dtype(SigCall& c, const SigTensor& s, const std::map<char, DType>& classes, DType& out) {
  if (s.cls == '=') return out = s.dtype, true;
  if (s.cls == 'b') return out = DType::boolean, true;
  const Param& explicit_type = c.param("dtype");
  if (explicit_type.kind == Param::Kind::dtype) return out = static_cast<DType>(explicit_type.integer.c), true;
  if (s.cls == '$') {
    return out = c.inputs.empty() || !c.inputs[0] ? kDefaultFloat : c.inputs[0]->dtype, true;
  }
  auto it = classes.find(s.cls);
  out = it == classes.end() ? kDefaultFloat : it->second;
  return true;
}

}  // namespace

bool infer(SigCall& c) {
  const Sig& sig = *c.op->sig;
  if (!check_params(c)) return false;
  for (size_t i = 0; i < sig.inputs.size(); ++i)
    if (!sig.inputs[i].optional && !sig.inputs[i].many && (i >= c.inputs.size() || !c.inputs[i]))
      return c.fail("TypeError", c.op->shown + "() missing the tensor '" + c.op->params[c.op->input_at[i]].name + "'");
  std::map<char, DType> classes;
  if (!promote_classes(c, classes)) return false;
  c.input_types.clear();
  DType compute = kDefaultFloat;
  bool have = false;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const SigTensor& s = input_sig(sig, i);
    DType t = s.cls == '='   ? s.dtype
              : s.cls == 'a' ? (c.inputs[i] ? c.inputs[i]->dtype : kDefaultFloat)
              : c.inputs[i]  ? classes[s.cls]
                             : kDefaultFloat;
    c.input_types.push_back(t);
    if (c.inputs[i] && s.cls != 'a' && (!have || s.cls != 'b')) {
      if (!have || compute == DType::boolean || s.cls == 'f') compute = t;
      have = true;
    }
  }
  c.compute = compute_type(compute);
  DimBinder binder{c, false, {}, {}};
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (c.inputs[i] && !binder.bind(input_sig(sig, i), *c.inputs[i])) return false;
  c.results.clear();
  bool by_rule = false;
  for (const SigTensor& s : sig.results) {
    TensorType r;
    if (!result_dtype(c, s, classes, r.dtype)) return false;
    if (!s.rule) binder.build(s, r.dims);
    by_rule |= s.rule;
    c.results.push_back(std::move(r));
  }
  if (ViewRule map = c.op->def->loop.map) return map(c) && check_results(c);
  by_rule |= !c.op->def->shape.empty();
  return (!by_rule || apply_shape_rule(c.op->def->shape, c)) && check_results(c);
}

bool check_dims(SigCall& c) {
  DimBinder binder{c, true, {}, {}};
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (c.inputs[i] && !binder.bind(input_sig(*c.op->sig, i), *c.inputs[i])) return false;
  return true;
}

}  // namespace ouro::ir
