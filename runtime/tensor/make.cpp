// Constructors and sorting.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/machine/part_memory.h"
#include "runtime/machine/threads.h"
#include "runtime/object/interrupt.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/reduce.h"

namespace ouro::runtime {

namespace {

Value filled(OpCall& c, const Value& v) {
  uint64_t bits = 0;
  if (!store_number(c.dtype(), &bits, unwrap(v)))
    return c.raise("TypeError", c.op.name + ": the value must be a number");
  OURO_TRY(r, c.result());
  auto* x = r.as<Tensor>();
  const size_t z = size_of(x->dtype);
  constexpr int64_t kPiece = 1 << 20;
  for (int64_t at = 0; at < x->size; at += kPiece) {
    if (at) poll_interrupt(c.s);
    char* to = x->bytes() + at * static_cast<int64_t>(z);
    const int64_t n = std::min(kPiece, x->size - at);
    if (bits == 0)
      std::memset(to, 0, static_cast<size_t>(n) * z);
    else
      kernels().fill[__builtin_ctz(static_cast<unsigned>(z))](to, bits, n);
  }
  return r;
}
Value zeros(OpCall& c) { return filled(c, Value::integer(0)); }
Value ones(OpCall& c) { return filled(c, Value::integer(1)); }
Value full(OpCall& c) {
  const Value& v = c.argument("value");
  if (auto* t = cast<Tensor>(v); t && t->size == 1) return filled(c, tensor_item(c.s, t, 0));
  return filled(c, v);
}
Value eye(OpCall& c) {
  Value r = zeros(c);
  if (r.is_error()) return r;
  auto* x = r.as<Tensor>();
  char one[8];
  store_number(x->dtype, one, Value::integer(1));
  size_t z = size_of(x->dtype);
  for (int64_t i = 0; i < std::min(x->dim(0), x->dim(1)); ++i)
    std::memcpy(x->bytes() + i * (x->dim(1) + 1) * z, one, z);
  return r;
}
// start + i * step, in i64 or f64, then as the dtype.
Value sequence(OpCall& c, bool integers, int64_t i0, int64_t istep, double f0, double fstep) {
  OURO_TRY(r, make_tensor(c.s, integers ? DType::i64 : DType::f64, c.shape));
  auto* x = r.as<Tensor>();
  constexpr int64_t kPiece = 1 << 20;
  for (int64_t at = 0; at < x->size; at += kPiece) {
    if (at) poll_interrupt(c.s);
    const int64_t end = std::min(x->size, at + kPiece);
    if (integers)
      for (int64_t i = at; i < end; ++i)  // the product alone may wrap
        x->data<int64_t>()[i] =
            static_cast<int64_t>(static_cast<uint64_t>(i0) + static_cast<uint64_t>(i) * static_cast<uint64_t>(istep));
    else
      for (int64_t i = at; i < end; ++i) x->data<double>()[i] = f0 + static_cast<double>(i) * fstep;
  }
  return cast_tensor(c.s, r, c.dtype());
}
Value arange(OpCall& c) {
  bool one = c.param("stop").is_none();
  bool integers = c.param("start").kind != ir::Param::Kind::floating &&
                  c.param("stop").kind != ir::Param::Kind::floating &&
                  c.param("step").kind != ir::Param::Kind::floating;
  return sequence(c, integers, one ? 0 : c.integer("start"), c.integer("step", 1), one ? 0 : c.number("start"),
                  c.number("step", 1));
}
Value linspace(OpCall& c) {  // symmetric: from both ends, as PyTorch
  double a = c.number("start"), b = c.number("stop");
  OURO_TRY(r, make_tensor(c.s, DType::f64, c.shape));
  auto* x = r.as<Tensor>();
  int64_t n = x->size;
  double step = n > 1 ? (b - a) / static_cast<double>(n - 1) : 0;
  for (int64_t i = 0; i < n; ++i)
    x->data<double>()[i] =
        i < (n + 1) / 2 ? a + step * static_cast<double>(i) : b - step * static_cast<double>(n - 1 - i);
  if (n > 1) x->data<double>()[n - 1] = b;
  return cast_tensor(c.s, r, c.dtype());
}

// ---------------------------------------------------------------- order

Value argsort(OpCall& c) {
  const Tensor* x = c.in();
  DType t = ir::compute_type(x->dtype);
  OURO_TRY(input, cast_tensor(c.s, c.inputs[0], t));
  x = input.as<Tensor>();
  int64_t outer = 1, n = 1, inner = 1;
  if (x->rank > 0) {
    int a = c.axis("axis", x->rank);
    n = x->dim(a);
    for (int i = 0; i < a; ++i) outer *= x->dim(i);
    for (int i = a + 1; i < x->rank; ++i) inner *= x->dim(i);
  }
  bool down = c.flag("descending");
  OURO_TRY(r, c.result());
  int64_t* out = r.as<Tensor>()->data<int64_t>();
  const bool alone = outer * inner == 1;  // a part of several must not throw
  PartMemory<int64_t> orders(x->size > 16384 ? session_threads(c.s) : 1, outer * inner, n);
  // What std::stable_sort takes beside it; it sorts without where there is none.
  HeldMemory beside(static_cast<size_t>(orders.threads()) * static_cast<size_t>(n) * sizeof(int64_t) / 2);
  auto go = [&]<class T>(T) {
    parallel_for_or_stop(orders.threads(), outer * inner, [&](int64_t p) {
      const T* row = x->data<T>() + p / inner * n * inner + p % inner;
      const PartMemory<int64_t>::Block block(orders);
      const std::span<int64_t> order(block.data(), static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) {
        if (alone && (i & 0xffff) == 0xffff) poll_interrupt();
        order[i] = i;
      }
      uint32_t count = 0;
      auto less = [&](T a, T b) {  // NaN is the largest
        if (alone && (++count & 0xffff) == 0) poll_interrupt();
        return a < b || (b != b && a == a);
      };
      if (down)
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t i, int64_t j) { return less(row[j * inner], row[i * inner]); });
      else
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t i, int64_t j) { return less(row[i * inner], row[j * inner]); });
      for (int64_t i = 0; i < n; ++i) {
        if (alone && (i & 0xffff) == 0xffff) poll_interrupt();
        out[p / inner * n * inner + i * inner + p % inner] = order[i];
      }
    });
  };
  visit_type(t, go);
  return r;
}
Value running_arg(OpCall& c) {
  DType t = ir::compute_type(c.in()->dtype);
  OURO_TRY(input, cast_tensor(c.s, c.inputs[0], t));
  auto* x = input.as<Tensor>();
  int64_t n = 1, inner = 1;
  if (x->rank > 0) {
    int a = c.axis("axis", x->rank);
    n = x->dim(a);
    for (int i = a + 1; i < x->rank; ++i) inner *= x->dim(i);
  }
  bool largest = c.flag("largest");
  OURO_TRY(r, c.result());
  int64_t* out = r.as<Tensor>()->data<int64_t>();
  int64_t rows = n ? x->size / n : 0;
  uint32_t polled = 0;
  visit_type(t, [&]<class T>(T) {
    for (int64_t p = 0; p < rows; ++p) {
      int64_t base = p / inner * n * inner + p % inner, best = 0;
      const T* row = x->data<T>() + base;
      for (int64_t i = 0; i < n; ++i) {
        poll_interrupt(c.s, polled);
        T v = row[best * inner], w = row[i * inner];
        if (w != w || (v == v && (largest ? w >= v : w <= v))) best = i;
        out[base + i * inner] = best;
      }
    }
  });
  return r;
}
Value searchsorted(OpCall& c) {
  bool right = c.flag("right");
  OURO_TRY(r, c.result());
  int64_t* out = r.as<Tensor>()->data<int64_t>();
  DType t = ir::compute_type(c.in(0)->dtype);
  Value a = cast_tensor(c.s, c.inputs[0], t), b = cast_tensor(c.s, c.inputs[1], t);
  if (a.is_error() || b.is_error()) return Value::error();
  uint32_t polled = 0;
  visit_type(t, [&]<class T>(T) {
    const T *sorted = a.as<Tensor>()->data<T>(), *v = b.as<Tensor>()->data<T>();
    const Tensor *x = a.as<Tensor>(), *values = b.as<Tensor>();
    const int64_t n = x->dims()[x->rank - 1], each = x->rank == 1 ? values->size : values->dims()[x->rank - 1];
    auto less = [](T p, T q) { return p < q || (q != q && p == p); };  // NaN is the largest
    for (int64_t i = 0; i < values->size; ++i) {
      poll_interrupt(c.s, polled);
      const T* s = sorted + (x->rank == 1 ? 0 : i / each * n);
      out[i] = (right ? std::upper_bound(s, s + n, v[i], less) : std::lower_bound(s, s + n, v[i], less)) - s;
    }
  });
  return r;
}
Value whole_in_range(OpCall& c) {
  const int64_t low = c.integer("low"), high = c.integer("high");
  const Tensor* x = c.in();
  uint32_t polled = 0;
  for (int64_t i = 0; i < x->size; ++i) {
    poll_interrupt(c.s, polled);
    const int64_t v = x->data<int64_t>()[i];
    if (v >= low && v <= high) continue;
    std::string expected = low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
    std::string what(c.argument("what").as<Str>()->view());
    return c.raise("RuntimeError", what + ": " + std::to_string(v) + " where " + expected + " is expected");
  }
  return c.inputs[0];
}
Value nonzero(OpCall& c) {
  OURO_TRY(mask, cast_tensor(c.s, c.inputs[0], DType::boolean));
  auto* m = mask.as<Tensor>();
  CountedVector<int64_t> hits;
  uint32_t polled = 0;
  for (int64_t i = 0; i < m->size; ++i) {
    poll_interrupt(c.s, polled);
    if (m->bytes()[i]) hits.push_back(i);
  }
  int64_t shape[2] = {static_cast<int64_t>(hits.size()), m->rank};
  OURO_TRY(r, make_tensor(c.s, DType::i64, shape));
  int64_t* out = r.as<Tensor>()->data<int64_t>();
  for (size_t i = 0; i < hits.size(); ++i) {
    poll_interrupt(c.s, polled);
    int64_t rest = hits[i];
    for (int d = m->rank - 1; d >= 0; --d) out[i * m->rank + d] = rest % m->dim(d), rest /= m->dim(d);
  }
  return r;
}

// ---------------------------------------------------------------- functions of one element by the C library

// f(element, polled) in f64; what it gives is rounded to the dtype.
template <class F>
Value each_real(OpCall& c, F&& f) {
  OURO_TRY(in, cast_tensor(c.s, c.inputs[0], DType::f64));
  OURO_TRY(r, make_tensor(c.s, DType::f64, c.shape));
  auto *x = in.as<Tensor>(), *y = r.as<Tensor>();
  for (int64_t i = 0; i < x->size; ++i) {
    poll_interrupt(c.s);  // one element may take tens of milliseconds
    y->data<double>()[i] = f(x->data<double>()[i]);
  }
  return cast_tensor(c.s, r, c.dtype());
}
Value bessel_i(OpCall& c) {
  const int64_t order = c.integer("order");
  const bool odd = order % 2 == 1;
  return each_real(c, [&](double x) {
    const double a = std::abs(x);
    if (a != a) return a;
    constexpr double kOverflow = 713;
    const double y = order > 10000 && a < kOverflow ? 0
                     : a > kOverflow                ? HUGE_VAL
                                                    : std::cyl_bessel_i(static_cast<double>(order), a);
    return odd && x < 0 ? -y : y;
  });
}
// Above 0 the sum of n! / (x + k)^(n+1): its first terms, then Euler's and Maclaurin's formula for the others.
double polygamma_of(int64_t n, double x) {
  if (n == 0) {
    double y = 0;
    if (x < 0 && x == std::floor(x)) return NAN;
    if (x < 0) return polygamma_of(0, 1 - x) - M_PI / std::tan(M_PI * x);
    for (; x < 16; x += 1) y -= 1 / x;
    const double q = 1 / (x * x);
    return y + std::log(x) - 0.5 / x -
           q * (1. / 12 - q * (1. / 120 - q * (1. / 252 - q * (1. / 240 - q * (1. / 132 - q * (691. / 32760))))));
  }
  if (n > 170 || x != x) return NAN;
  if (x <= 0 && x == std::floor(x)) return n % 2 == 1 ? HUGE_VAL : NAN;
  if (x < -1e6) return NAN;
  const double s = static_cast<double>(n) + 1;
  double sum = 0;
  for (; x < static_cast<double>(n) + 16; x += 1) sum += std::pow(x, -s);
  // B_2k / (2k)! of the formula
  constexpr double kTerms[] = {
      1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000., 1. / 74724249600.};
  double rise = s, power = std::pow(x, -s - 1);
  sum += std::pow(x, 1 - s) / (s - 1) + 0.5 * std::pow(x, -s);
  double k = s;
  for (double t : kTerms) {
    sum += t * rise * power;
    rise *= (k + 1) * (k + 2), k += 2, power /= x * x;
  }
  return (n % 2 == 1 ? 1 : -1) * std::tgamma(s) * sum;
}
Value polygamma(OpCall& c) {
  const int64_t n = c.integer("n");
  return each_real(c, [&](double x) { return polygamma_of(n, x); });
}
Value same_gcd(OpCall& c) {
  OURO_TRY(a, cast_tensor(c.s, c.inputs[0], DType::i64));
  OURO_TRY(b, cast_tensor(c.s, c.inputs[1], DType::i64));
  OURO_TRY(r, make_tensor(c.s, DType::i64, c.shape));
  uint32_t polled = 0;
  for (int64_t i = 0; i < r.as<Tensor>()->size; ++i) {
    poll_interrupt(c.s, polled);
    auto magnitude = [](int64_t v) { return v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v); };
    r.as<Tensor>()->data<int64_t>()[i] = static_cast<int64_t>(
        std::gcd(magnitude(a.as<Tensor>()->data<int64_t>()[i]), magnitude(b.as<Tensor>()->data<int64_t>()[i])));
  }
  return cast_tensor(c.s, r, c.dtype());
}

constexpr ExecutorRow kMake[] = {{"full", full},         {"zeros", zeros},    {"ones", ones}, {"zeros_like", zeros},
                                 {"ones_like", ones},    {"full_like", full}, {"eye", eye},   {"arange", arange},
                                 {"linspace", linspace}, {"extent", zeros}};
constexpr ExecutorRow kOrder[] = {{"argsort", argsort},           {"running_arg", running_arg},
                                  {"searchsorted", searchsorted}, {"nonzero", nonzero, false},
                                  {"bessel_i", bessel_i},         {"polygamma", polygamma},
                                  {"same_gcd", same_gcd},         {"whole_in_range", whole_in_range}};

}  // namespace

std::span<const ExecutorRow> make_executors() { return kMake; }
std::span<const ExecutorRow> order_executors() { return kOrder; }

}  // namespace ouro::runtime
