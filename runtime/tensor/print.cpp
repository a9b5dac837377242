// The text of a tensor, as PyTorch prints it: four digits, a common width, 1,000 elements in full, else three at each
// edge. Follows torch/_tensor_str.py.
#include "runtime/tensor/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace ouro::runtime {

namespace {

constexpr int kLineWidth = 80, kEdge = 3;

struct Printer {
  Session& s;
  const Tensor* t;
  bool floating, summarise;
  bool int_mode = true, sci_mode = false;
  size_t width = 1;

  explicit Printer(Session& session, const Tensor* x)
      : s(session), t(x), floating(is_float(x->dtype)), summarise(x->size > 1000) {
    std::vector<double> values;
    each(0, 0, [&](int64_t at) {
      if (floating)
        values.push_back(tensor_item(s, t, at).as_float());
      else
        width = std::max(width, text(at).size());
    });
    if (!floating) return;
    double lo = HUGE_VAL, hi = 0;
    bool any = false;
    std::vector<double> used;
    for (double v : values)
      if (std::isfinite(v) && v != 0)
        used.push_back(v), lo = std::min(lo, std::fabs(v)), hi = std::max(hi, std::fabs(v)), any = true;
    if (!any) return;
    for (double v : used) int_mode = int_mode && v == std::ceil(v);
    sci_mode = hi / lo > 1000 || hi > 1e8 || (!int_mode && lo < 1e-4);
    for (double v : used) width = std::max(width, number(v).size());
  }
  std::string number(double v) const {
    char b[400];
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    if (sci_mode)
      std::snprintf(b, sizeof b, "%.4e", v);
    else if (int_mode)
      std::snprintf(b, sizeof b, "%.0f.", v);
    else
      std::snprintf(b, sizeof b, "%.4f", v);
    return b;
  }
  std::string text(int64_t at) const {
    Value v = tensor_item(s, t, at);
    if (v.is_bool()) return v.as_bool() ? "True" : "False";
    return floating ? number(v.as_float()) : std::to_string(v.as_int());
  }
  // The elements that are printed below axis `axis`, whose flat index of the axes before is `row`.
  template <class F>
  void each(int axis, int64_t row, F&& f) const {
    if (axis == t->rank) return f(row);
    int64_t n = t->dim(axis);
    for (int64_t i = 0; i < n; ++i) {
      if (summarise && n > 2 * kEdge && i == kEdge) i = n - kEdge;
      each(axis + 1, row * n + i, f);
    }
  }
  std::string padded(int64_t at) const {
    std::string v = text(at);
    return std::string(width > v.size() ? width - v.size() : 0, ' ') + v;
  }
  std::string body(int axis, int64_t row, int indent) const {
    if (t->rank == 0) return text(0);
    int64_t n = t->dim(axis);
    std::vector<std::string> parts;
    bool cut = summarise && n > 2 * kEdge;
    bool last = axis == t->rank - 1;
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == kEdge) {
        parts.push_back(last ? " ..." : "...");
        i = n - kEdge;
      }
      parts.push_back(last ? padded(row * n + i) : body(axis + 1, row * n + i, indent + 1));
    }
    std::string out = "[", gap = std::string(static_cast<size_t>(indent) + 1, ' ');
    if (last) {
      size_t per_line = std::max<size_t>(1, static_cast<size_t>(std::max(0, kLineWidth - indent)) / (width + 2));
      for (size_t i = 0; i < parts.size(); ++i) {
        if (i) out += i % per_line ? ", " : ",\n" + gap;
        out += parts[i];
      }
    } else {
      std::string between = "," + std::string(static_cast<size_t>(t->rank - 1 - axis), '\n') + gap;
      for (size_t i = 0; i < parts.size(); ++i) out += (i ? between : "") + parts[i];
    }
    return out + "]";
  }
};

}  // namespace

std::string tensor_text(Session& s, const Tensor* t) {
  constexpr int indent = 7;  // "tensor("
  std::string out = "tensor(";
  std::vector<std::string> suffixes;
  if (t->size == 0) {
    out += "[]";
    if (t->rank != 1) suffixes.push_back("size=" + shape_text(t->shape()));
    if (t->dtype != kDefaultFloat) suffixes.push_back("dtype=" + std::string(name(t->dtype)));
  } else {
    out += Printer(s, t).body(0, 0, indent);
    if (t->dtype != kDefaultFloat && t->dtype != kDefaultInt && t->dtype != DType::boolean)
      suffixes.push_back("dtype=" + std::string(name(t->dtype)));
  }
  size_t newline = out.rfind('\n');
  size_t line = out.size() - (newline == std::string::npos ? 0 : newline) + 1;
  for (const std::string& suffix : suffixes) {
    bool wrap = line + suffix.size() + 2 > kLineWidth;
    out += wrap ? ",\n" + std::string(indent, ' ') + suffix : ", " + suffix;
    line = wrap ? indent + suffix.size() : line + suffix.size() + 2;
  }
  return out + ")";
}

}  // namespace ouro::runtime
