// One product of matrices, on one thread: what contractions are made of (runtime/machine/contract.h).
#pragma once

#include <cstdint>

namespace ouro::runtime {

// c = a b, or c += a b: a [m, k] (or [k, m] if `a_transposed`), b [k, n] (or [n, k]), c [m, n], each a part of a larger
// matrix whose rows are lda, ldb and ldc elements apart.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool a_transposed = false, b_transposed = false;
  bool add = false;
};

// Takes no memory but a library's of constant size. In a part that is asked to stop it ends early.
template <class T>
void multiply(const Product& p, const T* a, const T* b, T* c);

extern template void multiply<float>(const Product&, const float*, const float*, float*);
extern template void multiply<double>(const Product&, const double*, const double*, double*);

}  // namespace ouro::runtime
