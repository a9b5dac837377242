// Sizes as polynomials in dimension symbols: numbers of elements, strides, bytes. Two polynomials that are equal for
// every value of their symbols compare equal, so "is this contiguous" is a comparison.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/type.h"

namespace ouro::ir::loops {

class Poly {
 public:
  Poly() = default;
  Poly(int64_t n) {
    if (n) terms_[{}] = n;
  }
  static Poly symbol(uint32_t s) {
    Poly p;
    p.terms_[{s}] = 1;
    return p;
  }
  Poly(const SymDim& d) : Poly(d.c) {
    if (d.m) terms_[{d.symbol}] = d.m;
  }

  bool known() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
  /// Precondition: known().
  int64_t number() const { return terms_.empty() ? 0 : terms_.begin()->second; }
  bool is(int64_t n) const { return known() && number() == n; }
  bool operator==(const Poly&) const = default;

  Poly& operator+=(const Poly& o);
  friend Poly operator+(Poly a, const Poly& b) { return a += b; }
  friend Poly operator*(const Poly& a, const Poly& b);
  friend Poly operator-(const Poly& a, const Poly& b) { return a + b * Poly(-1); }

  /// `value` gives the number of each symbol.
  int64_t evaluate(const std::function<int64_t(uint32_t)>& value) const;
  /// Monomials (sorted symbols, with repetition) and their coefficients.
  const std::map<std::vector<uint32_t>, int64_t>& terms() const { return terms_; }
  std::string text() const;  // "64*s1 + 3"

 private:
  std::map<std::vector<uint32_t>, int64_t> terms_;
};

using Polys = std::vector<Poly>;
Polys polys(std::span<const SymDim> dims);
Poly product(std::span<const Poly> dims);
/// Strides of a dense row-major tensor, in elements.
Polys dense_strides(std::span<const Poly> dims);

}  // namespace ouro::ir::loops
