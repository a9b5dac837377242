// Special functions and sums of doubles with the bits of CPython's math module.
#pragma once

#include <span>
#include <vector>

namespace ouro::stdlib {

// Gamma by Lanczos' approximation with g = 6.0246... and 13 terms (Pugh 2004), reflected for negative x. NaN or
// infinity at poles.
double gamma_function(double x);
double log_gamma(double x);
// Euclidean norm: squares split into halves (Dekker), summed with their errors, one step of correction.
double vector_norm(std::span<const double> v);

// The exactly rounded sum (Shewchuk 1997): non-overlapping partial sums in order of size.
class ExactSum {
 public:
  bool add(double x);      // false: intermediate overflow
  bool result(double& r);  // false: infinities of both signs
 private:
  std::vector<double> partials_;
  double special_ = 0, infinite_ = 0;
};

}  // namespace ouro::stdlib
