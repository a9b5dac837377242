// libtommath's integers as the files of big integers use them. Operations on large ones go in steps of some
// milliseconds, and an interrupt between two of them is seen (runtime/object/interrupt.h): so these throw.
#pragma once

#include <tommath.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/machine/memory.h"

namespace ouro::runtime {

// An mp_int to write to.
struct Mp {
  mp_int v{};
  bool ok;
  explicit Mp(int digits = 2) {
    require_memory(static_cast<size_t>(std::max(digits, 1)) * sizeof(mp_digit));
    ok = mp_init_size(&v, std::max(digits, 1)) == MP_OKAY;
  }
  explicit Mp(const mp_int& taken) : v(taken), ok(true) {}
  ~Mp() {
    if (v.dp) mp_clear(&v);
  }
  Mp(const Mp&) = delete;
  operator mp_int*() { return &v; }
};

// r = a * b. r is neither.
mp_err multiply(const mp_int* a, const mp_int* b, mp_int* r);
// r = a ** e.
mp_err power(const mp_int* a, uint32_t e, mp_int* r);
// r = a ** e mod m, for 0 <= a < m and 0 <= e.
mp_err power_mod(const mp_int* a, const mp_int* e, const mp_int* m, mp_int* r);
// The greatest common divisor of a >= 0 and b >= 0. `inverse`, if it is not null, becomes the number between 0 and b
// whose product with a is that modulo b; then a < b.
mp_err greatest_divisor(const mp_int* a, const mp_int* b, mp_int* r, mp_int* inverse = nullptr);
// a = q * b + r, rounded to zero; q may be null. q and r are neither a nor b.
mp_err divide(const mp_int* a, const mp_int* b, mp_int* q, mp_int* r);
// n digits divided by one, in place; what is left.
mp_digit divide_by_digit(mp_digit* x, int n, mp_digit by);

}  // namespace ouro::runtime
