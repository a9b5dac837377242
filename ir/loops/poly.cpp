#include "ir/loops/poly.h"

#include <algorithm>

namespace ouro::ir::loops {

// Sizes beyond 64 bits stay beyond any memory.
static int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : r;
}

static int64_t saturating_add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? (b < 0 ? INT64_MIN : INT64_MAX) : r;
}

Poly& Poly::operator+=(const Poly& o) {
  for (const auto& [m, c] : o.terms_) {
    int64_t& sum = terms_[m];
    if ((sum = saturating_add(sum, c)) == 0) terms_.erase(m);
  }
  return *this;
}

Poly operator*(const Poly& a, const Poly& b) {
  Poly out;
  for (const auto& [m, c] : a.terms_)
    for (const auto& [n, d] : b.terms_) {
      std::vector<uint32_t> symbols = m;
      symbols.insert(symbols.end(), n.begin(), n.end());
      std::sort(symbols.begin(), symbols.end());
      int64_t& sum = out.terms_[symbols];
      if ((sum = saturating_add(sum, saturating_mul(c, d))) == 0) out.terms_.erase(symbols);
    }
  return out;
}

int64_t Poly::evaluate(const std::function<int64_t(uint32_t)>& value) const {
  int64_t sum = 0;
  for (const auto& [m, c] : terms_) {
    int64_t term = c;
    for (uint32_t s : m) term = saturating_mul(term, value(s));
    sum = saturating_add(sum, term);
  }
  return sum;
}

std::string Poly::text() const {
  if (terms_.empty()) return "0";
  std::string out;
  for (auto it = terms_.rbegin(); it != terms_.rend(); ++it) {
    const auto& [m, c] = *it;
    if (!out.empty()) out += c < 0 ? " - " : " + ";
    int64_t n = out.empty() ? c : c < 0 ? -c : c;
    std::string factors;
    for (uint32_t s : m) factors += (factors.empty() ? "s" : "*s") + std::to_string(s);
    if (factors.empty() || n != 1) out += std::to_string(n) + (factors.empty() ? "" : "*");
    out += factors;
  }
  return out;
}

Polys polys(std::span<const SymDim> dims) { return Polys(dims.begin(), dims.end()); }

Poly product(std::span<const Poly> dims) {
  Poly p = 1;
  for (const Poly& d : dims) p = p * d;
  return p;
}

Polys dense_strides(std::span<const Poly> dims) {
  Polys out(dims.size());
  Poly step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    out[i] = step;
    step = step * dims[i];
  }
  return out;
}

}  // namespace ouro::ir::loops
