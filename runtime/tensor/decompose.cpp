// Factorisations of matrices, in f64 whatever the dtype, each matrix of a batch alone and strictly in order: the same
// bits for any number of threads.
//
// LU with partial pivoting (determinants, solving), Cholesky's, Householder's QR (signs as LAPACK's), symmetric
// eigenvalues by Householder's tridiagonal form and implicit QL steps (Golub and Van Loan, 8.3), singular values by
// one-sided Jacobi rotations (Golub and Van Loan, 8.6.3), which find small singular values to full relative accuracy.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/machine/memory.h"
#include "runtime/object/interrupt.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/reduce.h"

namespace ouro::runtime {

namespace {

using Reals = CountedVector<double>;

// A batch of matrices: rows, columns, how many.
struct Batch {
  int64_t rows, cols, count = 1;
  explicit Batch(const Tensor* x) : rows(x->dim(x->rank - 2)), cols(x->dim(x->rank - 1)) {
    for (int i = 0; i + 2 < x->rank; ++i) count *= x->dim(i);
  }
  int64_t size() const { return rows * cols; }
};

// Runs f(matrix of each input in turn, its result) over the batch of input 0; `out` are a result's elements. f may
// raise.
template <class F>
Value each_matrix(OpCall& c, F&& f) {
  OURO_TRY(a, cast_tensor(c.s, c.inputs[0], DType::f64));
  Value b = c.inputs.size() > 1 ? cast_tensor(c.s, c.inputs[1], DType::f64) : Value();
  if (b.is_error()) return b;
  OURO_TRY(r, make_tensor(c.s, DType::f64, c.shape));
  const Batch batch(a.as<Tensor>());
  auto* y = r.as<Tensor>();
  const int64_t out = batch.count ? y->size / batch.count : 0;
  const int64_t other = b.is_unbound() || !batch.count ? 0 : b.as<Tensor>()->size / batch.count;
  for (int64_t i = 0; i < batch.count; ++i) {
    poll_interrupt(c.s);
    const double* second = other ? b.as<Tensor>()->data<double>() + i * other : nullptr;
    if (!f(batch, a.as<Tensor>()->data<double>() + i * batch.size(), second, y->data<double>() + i * out))
      return Value::error();
  }
  return cast_tensor(c.s, r, c.dtype());
}

bool finite(const double* a, int64_t n) {
  return std::all_of(a, a + n, [](double v) { return std::isfinite(v); });
}
// a, finite, times 2^-e so that its largest element is in [0.5, 1): no sum of squares overflows. Gives e.
int scaled(Reals& a) {
  double largest = 0;
  for (double x : a) largest = std::max(largest, std::abs(x));
  int e = 0;
  std::frexp(largest, &e);
  if (e != 0)
    for (double& x : a) x = std::ldexp(x, -e);
  return e;
}

// ---------------------------------------------------------------- LU

// P A = L U in place: rows as they end, the permutation's sign, and whether a pivot is 0.
struct Lu {
  Reals a;
  CountedVector<int64_t> order;
  int64_t n;
  double sign = 1;
  bool singular = false;

  Lu(Session& s, const double* from, int64_t size) : n(size) {
    a.assign(from, from + n * n);
    order.resize(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    for (int64_t k = 0; k < n; ++k) {
      poll_interrupt(s);
      int64_t best = k;
      for (int64_t i = k + 1; i < n; ++i)
        if (std::abs(at(i, k)) > std::abs(at(best, k))) best = i;
      if (best != k) {
        std::swap_ranges(row(k), row(k) + n, row(best));
        std::swap(order[k], order[best]);
        sign = -sign;
      }
      if (at(k, k) == 0) {
        singular = true;
        continue;
      }
      for (int64_t i = k + 1; i < n; ++i) {
        const double f = at(i, k) /= at(k, k);
        if (f == 0) continue;
        for (int64_t j = k + 1; j < n; ++j) at(i, j) -= f * at(k, j);
      }
    }
  }
  double* row(int64_t i) { return a.data() + i * n; }
  double& at(int64_t i, int64_t j) { return a[static_cast<size_t>(i * n + j)]; }

  // x[n, m] of A x = b.
  void solve(Session& s, const double* b, double* x, int64_t m) {
    for (int64_t i = 0; i < n; ++i) {
      poll_interrupt(s);
      std::copy_n(b + order[i] * m, m, x + i * m);
      for (int64_t k = 0; k < i; ++k)
        for (int64_t j = 0; j < m; ++j) x[i * m + j] -= at(i, k) * x[k * m + j];
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      poll_interrupt(s);
      for (int64_t k = i + 1; k < n; ++k)
        for (int64_t j = 0; j < m; ++j) x[i * m + j] -= at(i, k) * x[k * m + j];
      for (int64_t j = 0; j < m; ++j) x[i * m + j] /= at(i, i);
    }
  }
};

Value solve(OpCall& c) {
  return each_matrix(c, [&](const Batch& m, const double* a, const double* b, double* y) {
    Lu lu(c.s, a, m.rows);
    if (lu.singular) return c.raise("RuntimeError", "the matrix is singular: it has no inverse"), false;
    lu.solve(c.s, b, y, m.rows ? c.in(1)->dim(c.in(1)->rank - 1) : 0);
    return true;
  });
}
Value determinant(OpCall& c) {
  return each_matrix(c, [&](const Batch& m, const double* a, const double*, double* y) {
    Lu lu(c.s, a, m.rows);
    double d = lu.sign;
    for (int64_t i = 0; i < m.rows; ++i) d *= lu.at(i, i);
    *y = d;
    return true;
  });
}
Value log_abs_determinant(OpCall& c) {
  return each_matrix(c, [&](const Batch& m, const double* a, const double*, double* y) {
    Lu lu(c.s, a, m.rows);
    double d = 0;
    for (int64_t i = 0; i < m.rows; ++i) d += std::log(std::abs(lu.at(i, i)));
    *y = d;
    return true;
  });
}
Value determinant_sign(OpCall& c) {
  return each_matrix(c, [&](const Batch& m, const double* a, const double*, double* y) {
    Lu lu(c.s, a, m.rows);
    double d = lu.sign;
    for (int64_t i = 0; i < m.rows; ++i) {
      const double p = lu.at(i, i);
      d *= p > 0 ? 1 : p < 0 ? -1 : p;
    }
    *y = d;
    return true;
  });
}

// The derivative of the determinant: cofactors, also of a singular matrix. P A Q = L U with complete pivoting; if only
// the last pivot is 0, adj(A) = det(P) det(Q) prod(others) Q z (e_n L^-1 P) with U z = 0; with more zeros it is 0.
Value cofactors(OpCall& c) {
  return each_matrix(c, [&](const Batch& m, const double* from, const double*, double* y) {
    const int64_t n = m.rows;
    Reals a(from, from + n * n);
    CountedVector<int64_t> rows(static_cast<size_t>(n)), cols(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    std::iota(cols.begin(), cols.end(), int64_t{0});
    double scale = 1;
    int64_t rank = 0;
    for (; rank < n; ++rank) {
      poll_interrupt(c.s);
      const int64_t k = rank;
      int64_t bi = k, bj = k;
      for (int64_t i = k; i < n; ++i)
        for (int64_t j = k; j < n; ++j)
          if (std::abs(a[i * n + j]) > std::abs(a[bi * n + bj])) bi = i, bj = j;
      if (a[bi * n + bj] == 0) break;
      if (bi != k) {
        std::swap_ranges(&a[k * n], &a[k * n] + n, &a[bi * n]);
        std::swap(rows[k], rows[bi]), scale = -scale;
      }
      if (bj != k) {
        for (int64_t i = 0; i < n; ++i) std::swap(a[i * n + k], a[i * n + bj]);
        std::swap(cols[k], cols[bj]), scale = -scale;
      }
      for (int64_t i = k + 1; i < n; ++i) {
        const double f = a[i * n + k] /= a[k * n + k];
        for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
      }
    }
    std::fill_n(y, n * n, 0.0);
    if (rank + 1 < n) return true;
    for (int64_t i = 0; i < rank; ++i) scale *= a[i * n + i];
    Reals z(static_cast<size_t>(n)), w(static_cast<size_t>(n));
    // Column q of adj(U) L^-1 at a time; for a singular matrix only its last row of L^-1 counts.
    for (int64_t q = 0; q < n; ++q) {
      poll_interrupt(c.s);
      std::fill(w.begin(), w.end(), 0.0);
      w[q] = 1;  // w = L^-1 e_q
      for (int64_t i = q + 1; i < n; ++i)
        for (int64_t k = q; k < i; ++k) w[i] -= a[i * n + k] * w[k];
      if (rank == n) {
        for (int64_t i = n - 1; i >= 0; --i) {
          z[i] = w[i];
          for (int64_t k = i + 1; k < n; ++k) z[i] -= a[i * n + k] * z[k];
          z[i] /= a[i * n + i];
        }
      } else {
        z[n - 1] = w[n - 1];
        for (int64_t i = n - 2; i >= 0; --i) {
          z[i] = 0;
          for (int64_t k = i + 1; k < n; ++k) z[i] -= a[i * n + k] * z[k];
          z[i] /= a[i * n + i];
        }
      }
      for (int64_t i = 0; i < n; ++i) y[rows[q] * n + cols[i]] = scale * z[i];  // transposed
    }
    return true;
  });
}

// ---------------------------------------------------------------- triangles

Value cholesky(OpCall& c) {
  return each_matrix(c, [&](const Batch& m, const double* a, const double*, double* l) {
    const int64_t n = m.rows;
    std::fill_n(l, n * n, 0.0);
    for (int64_t j = 0; j < n; ++j) {
      poll_interrupt(c.s);
      for (int64_t i = j; i < n; ++i) {
        double v = a[i * n + j];
        for (int64_t k = 0; k < j; ++k) v -= l[i * n + k] * l[j * n + k];
        if (i > j) {
          l[i * n + j] = v / l[j * n + j];
        } else if (v > 0) {
          l[i * n + j] = std::sqrt(v);
        } else {
          return c.raise("RuntimeError", "cholesky: the matrix is not positive definite: its leading minor of order " +
                                             std::to_string(j + 1) + " is not"),
                 false;
        }
      }
    }
    return true;
  });
}
// x of A x = b, or of A^T x = b, from one triangle of A.
Value triangular(OpCall& c) {
  const bool transposed = c.flag("transposed"), unit = c.flag("unitriangular"), upper = c.flag("upper");
  return each_matrix(c, [&](const Batch& m, const double* a, const double* b, double* x) {
    const int64_t n = m.rows, k = n ? c.in(1)->dim(c.in(1)->rank - 1) : 0;
    const bool down = upper == transposed;  // the first unknown is alone in its equation
    for (int64_t step = 0; step < n; ++step) {
      poll_interrupt(c.s);
      const int64_t i = down ? step : n - 1 - step;
      double* to = x + i * k;
      std::copy_n(b + i * k, k, to);
      for (int64_t p = down ? 0 : i + 1; p < (down ? i : n); ++p) {
        const double f = transposed ? a[p * n + i] : a[i * n + p];
        for (int64_t j = 0; j < k; ++j) to[j] -= f * x[p * k + j];
      }
      if (!unit)
        for (int64_t j = 0; j < k; ++j) to[j] /= a[i * n + i];
    }
    return true;
  });
}

// ---------------------------------------------------------------- QR

// The reflection 1 - tau v v^T, v[0] = 1, that takes x[n] to (beta, 0, ...): v overwrites x, but for x[0] = beta. All
// is computed of x / max |x|, whose squares neither overflow nor vanish.
double reflect(double* x, int64_t n, int64_t step) {
  double below = 0;
  for (int64_t i = 1; i < n; ++i) below = std::max(below, std::abs(x[i * step]));
  if (!(below > 0)) return 0;
  const double largest = std::max(below, std::abs(x[0])), first = x[0] / largest;
  double norm = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = x[i * step] / largest;
    norm += v * v;
  }
  // Of both signs the one without cancellation.
  const double beta = -std::copysign(std::sqrt(norm), first);
  for (int64_t i = 1; i < n; ++i) x[i * step] = x[i * step] / largest / (first - beta);
  x[0] = beta * largest;
  return (beta - first) / beta;
}
// q[m, k]: the first k columns of the orthogonal factor of a[m, n].
void orthogonal_factor(Session& s, Reals& a, int64_t m, int64_t n, double* q, int64_t k) {
  Reals taus(static_cast<size_t>(std::min(m, n))), sums(static_cast<size_t>(std::max(n, k)));
  const int64_t steps = static_cast<int64_t>(taus.size());
  // rows j.. of to[m, width] from column `first` on: to -= tau v (v^T to)
  auto apply = [&](int64_t j, double* to, int64_t width, int64_t first) {
    std::fill_n(sums.begin(), width, 0.0);
    for (int64_t i = j; i < m; ++i) {
      const double v = i == j ? 1 : a[i * n + j];
      for (int64_t p = first; p < width; ++p) sums[p] += v * to[i * width + p];
    }
    for (int64_t i = j; i < m; ++i) {
      const double v = taus[j] * (i == j ? 1 : a[i * n + j]);
      for (int64_t p = first; p < width; ++p) to[i * width + p] -= v * sums[p];
    }
  };
  for (int64_t j = 0; j < steps; ++j) {
    poll_interrupt(s);
    taus[j] = reflect(&a[j * n + j], m - j, n);
    if (taus[j] != 0) apply(j, a.data(), n, j + 1);
  }
  std::fill_n(q, m * k, 0.0);
  for (int64_t i = 0; i < k; ++i) q[i * k + i] = 1;
  for (int64_t j = steps - 1; j >= 0; --j) {
    poll_interrupt(s);
    if (taus[j] != 0) apply(j, q, k, 0);
  }
}
Value orthogonal(OpCall& c) {
  const bool complete = c.op.name == "qr_basis";
  return each_matrix(c, [&](const Batch& m, const double* a, const double*, double* q) {
    const int64_t k = complete ? m.rows : std::min(m.rows, m.cols);
    if (!finite(a, m.size())) return std::fill_n(q, m.rows * k, std::numeric_limits<double>::quiet_NaN()), true;
    Reals work(a, a + m.size());
    scaled(work);
    orthogonal_factor(c.s, work, m.rows, m.cols, q, k);
    return true;
  });
}

// ---------------------------------------------------------------- eigenvalues

// a, symmetric, as v^T T v with T tridiagonal (d, e): the rows of v are orthonormal.
void tridiagonal(Session& s, Reals& a, int64_t n, Reals& v, Reals& d, Reals& e) {
  Reals u(static_cast<size_t>(n)), p(static_cast<size_t>(n));
  std::fill(v.begin(), v.end(), 0.0);
  for (int64_t i = 0; i < n; ++i) v[i * n + i] = 1;
  for (int64_t k = 0; k + 2 < n; ++k) {
    poll_interrupt(s);
    for (int64_t i = k + 1; i < n; ++i) u[i] = a[i * n + k];
    const double tau = reflect(&u[k + 1], n - k - 1, 1);
    const double beta = u[k + 1];
    u[k + 1] = 1;
    if (tau != 0) {
      // a := H a H with H = 1 - tau u u^T: a - u w^T - w u^T, w = p - (tau/2)(p^T u) u, p = tau a u
      double pu = 0;
      for (int64_t i = k + 1; i < n; ++i) {
        double t = 0;
        for (int64_t j = k + 1; j < n; ++j) t += a[i * n + j] * u[j];
        p[i] = tau * t;
        pu += p[i] * u[i];
      }
      const double half = 0.5 * tau * pu;
      for (int64_t i = k + 1; i < n; ++i) p[i] -= half * u[i];
      for (int64_t i = k + 1; i < n; ++i)
        for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= u[i] * p[j] + p[i] * u[j];
      for (int64_t j = 0; j < n; ++j) p[j] = 0;
      for (int64_t i = k + 1; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) p[j] += u[i] * v[i * n + j];
      for (int64_t i = k + 1; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) v[i * n + j] -= tau * u[i] * p[j];
    }
    e[k] = beta;
  }
  for (int64_t i = 0; i < n; ++i) d[i] = a[i * n + i];
  if (n >= 2) e[n - 2] = a[(n - 1) * n + n - 2];
}
// Eigenvalues d, unsorted, of the tridiagonal matrix (d, e); the rows of v are turned along. False: no convergence.
bool ql_steps(Session& s, int64_t n, Reals& d, Reals& e, Reals& v) {
  constexpr int kMostSteps = 60;
  if (n > 0) e[n - 1] = 0;
  for (int64_t l = 0; l < n; ++l) {
    for (int step = 0;; ++step) {
      poll_interrupt(s);
      int64_t m = l;
      for (; m + 1 < n; ++m) {
        const double size = std::abs(d[m]) + std::abs(d[m + 1]);
        if (std::abs(e[m]) + size == size) break;
      }
      if (m == l) break;
      if (step == kMostSteps) return false;
      // The shift is the eigenvalue of the leading 2 x 2 matrix that is nearer to d[l].
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      g = d[m] - d[l] + e[l] / (g + std::copysign(std::hypot(g, 1.0), g));
      double sine = 1, cosine = 1, shift = 0;
      int64_t i = m - 1;
      for (; i >= l; --i) {
        const double f = sine * e[i], b = cosine * e[i], r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= shift;
          e[m] = 0;
          break;
        }
        sine = f / r, cosine = g / r;
        const double q = d[i + 1] - shift, t = (d[i] - q) * sine + 2 * cosine * b;
        shift = sine * t;
        d[i + 1] = q + shift;
        g = cosine * t - b;
        double *lower = &v[i * n], *higher = &v[(i + 1) * n];
        for (int64_t k = 0; k < n; ++k) {
          const double x = higher[k];
          higher[k] = sine * lower[k] + cosine * x;
          lower[k] = cosine * lower[k] - sine * x;
        }
      }
      if (i >= l) continue;
      d[l] -= shift;
      e[l] = g;
      e[m] = 0;
    }
  }
  return true;
}
// The eigenvalues, rising, in row 0, the eigenvectors as columns below. The lower triangle counts.
Value symmetric_eigen(OpCall& c) {
  return each_matrix(c, [&](const Batch& m, const double* from, const double*, double* y) {
    const int64_t n = m.rows;
    const auto size = static_cast<size_t>(n);
    Reals a(size * size), v(size * size), d(size), e(size);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = from[i * n + j];
    if (!finite(a.data(), n * n)) return c.raise("RuntimeError", "eigh: the matrix holds nan or inf"), false;
    const int exponent = scaled(a);
    tridiagonal(c.s, a, n, v, d, e);
    if (!ql_steps(c.s, n, d, e, v)) return c.raise("RuntimeError", "eigh: no convergence"), false;
    CountedVector<int64_t> order(size);
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::stable_sort(order, [&](int64_t i, int64_t j) { return d[i] < d[j]; });
    for (int64_t j = 0; j < n; ++j) {
      y[j] = std::ldexp(d[order[j]], exponent);
      for (int64_t i = 0; i < n; ++i) y[(i + 1) * n + j] = v[order[j] * n + i];
    }
    return true;
  });
}

// ---------------------------------------------------------------- singular values

// a[m, n], m >= n, as u s v^T: the rows of u[n, m] and of v[n, n], and s falling.
struct Svd {
  int64_t m, n;
  Reals u, v, s;
  CountedVector<int64_t> order;

  Svd(Session& session, const double* a, int64_t rows, int64_t cols)
      : m(std::max(rows, cols)), n(std::min(rows, cols)) {
    u.resize(static_cast<size_t>(n * m));
    v.assign(static_cast<size_t>(n * n), 0.0);
    s.resize(static_cast<size_t>(n));
    order.resize(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j) {
      v[j * n + j] = 1;
      for (int64_t i = 0; i < m; ++i) u[j * m + i] = rows >= cols ? a[i * cols + j] : a[j * cols + i];
    }
    const int exponent = scaled(u);
    turn(session);
    for (int64_t j = 0; j < n; ++j) s[j] = length(&u[j * m]);
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::stable_sort(order, [&](int64_t i, int64_t j) { return s[i] > s[j]; });
    for (int64_t j : order)
      if (s[j] > 0)
        for (int64_t i = 0; i < m; ++i) u[j * m + i] /= s[j];
    for (size_t k = 0; k < order.size(); ++k)
      if (!(s[order[k]] > 0)) complete(k);
    for (double& x : s) x = std::ldexp(x, exponent);
  }
  double length(const double* x) const {
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < m; ++i) largest = std::max(largest, std::abs(x[i]));
    if (!(largest > 0)) return 0;
    for (int64_t i = 0; i < m; ++i) sum += (x[i] / largest) * (x[i] / largest);
    return std::sqrt(sum) * largest;
  }
  // cot 2a of the rotation by a that makes x and y orthogonal; infinite if they are, but for `enough`.
  double cotangent(const double* x, const double* y, double enough) const {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kSmall = 1e-280;  // below, squares have lost digits or vanished
    double a = 0, b = 0, g = 0;
    for (int64_t i = 0; i < m; ++i) a += x[i] * x[i], b += y[i] * y[i], g += x[i] * y[i];
    if (a > kSmall && b > kSmall) {
      if (!(std::abs(g) > enough * std::sqrt(a) * std::sqrt(b))) return kInf;
      return (b - a) / (2 * g);
    }
    a = length(x), b = length(y), g = 0;
    if (a == 0 || b == 0) return kInf;
    for (int64_t i = 0; i < m; ++i) g += (x[i] / a) * (y[i] / b);
    if (!(std::abs(g) > enough)) return kInf;
    return (b / a - a / b) / (2 * g);
  }
  // Rotations of pairs of columns until all are orthogonal.
  void turn(Session& session) {
    constexpr int kMostSweeps = 60;
    const double enough = 2.3e-16 * std::sqrt(static_cast<double>(m));
    bool turned = true;
    for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
      turned = false;
      for (int64_t p = 0; p + 1 < n; ++p) {
        poll_interrupt(session);
        for (int64_t q = p + 1; q < n; ++q) {
          double *x = &u[p * m], *y = &u[q * m];
          const double zeta = cotangent(x, y, enough);
          if (std::isinf(zeta)) continue;
          turned = true;
          const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
          const double cosine = 1 / std::hypot(1.0, t), sine = cosine * t;
          rotate(x, y, m, cosine, sine);
          rotate(&v[p * n], &v[q * n], n, cosine, sine);
        }
      }
    }
  }
  static void rotate(double* x, double* y, int64_t size, double cosine, double sine) {
    for (int64_t i = 0; i < size; ++i) {
      const double a = x[i];
      x[i] = cosine * a - sine * y[i];
      y[i] = sine * a + cosine * y[i];
    }
  }
  // A unit vector orthogonal to the first k rows of u, for a singular value 0.
  void complete(size_t k) {
    double* x = &u[order[k] * m];
    double best = 0;
    Reals w(static_cast<size_t>(m));
    for (int64_t e = 0; e < m && best < 0.5; ++e) {
      std::fill(w.begin(), w.end(), 0.0);
      w[e] = 1;
      for (int turn = 0; turn < 2; ++turn)
        for (size_t i = 0; i < k; ++i) {
          const double* r = &u[order[i] * m];
          double along = 0;
          for (int64_t p = 0; p < m; ++p) along += r[p] * w[p];
          for (int64_t p = 0; p < m; ++p) w[p] -= along * r[p];
        }
      const double size = length(w.data());
      if (size <= best) continue;
      best = size;
      for (int64_t p = 0; p < m; ++p) x[p] = w[p] / size;
    }
  }
};
bool all_finite(OpCall& c, const double* a, int64_t n) {
  if (finite(a, n)) return true;
  c.raise("RuntimeError", std::string(c.op.name == "pinv_cut" ? "pinv" : "svd") + ": the matrix holds nan or inf");
  return false;
}
// Rows: the singular values, falling; u's; v's.
Value singular_values(OpCall& c) {
  return each_matrix(c, [&](const Batch& b, const double* a, const double*, double* y) {
    if (!all_finite(c, a, b.size())) return false;
    const Svd d(c.s, a, b.rows, b.cols);
    const bool tall = b.rows >= b.cols;
    for (int64_t j = 0; j < d.n; ++j) {
      const int64_t from = d.order[j];
      y[j] = d.s[from];
      for (int64_t i = 0; i < b.rows; ++i) y[(1 + i) * d.n + j] = tall ? d.u[from * d.m + i] : d.v[from * d.n + i];
      for (int64_t i = 0; i < b.cols; ++i)
        y[(1 + b.rows + i) * d.n + j] = tall ? d.v[from * d.n + i] : d.u[from * d.m + i];
    }
    return true;
  });
}
// v s^-1 u^T over the singular values above max(atol, rtol * the largest).
Value pseudo_inverse(OpCall& c) {
  const double atol = c.number("atol"), rtol = c.number("rtol");
  return each_matrix(c, [&](const Batch& b, const double* a, const double*, double* y) {
    if (!all_finite(c, a, b.size())) return false;
    const Svd d(c.s, a, b.rows, b.cols);
    std::fill_n(y, b.size(), 0.0);
    const bool tall = b.rows >= b.cols;
    for (int64_t k : d.order) {
      poll_interrupt(c.s);
      if (!(d.s[k] > std::max(atol, rtol * d.s[d.order[0]]))) continue;
      const double *left = tall ? &d.v[k * d.n] : &d.u[k * d.m], *right = tall ? &d.u[k * d.m] : &d.v[k * d.n];
      for (int64_t i = 0; i < b.cols; ++i)
        for (int64_t j = 0; j < b.rows; ++j) y[i * b.rows + j] += left[i] / d.s[k] * right[j];
    }
    return true;
  });
}

constexpr ExecutorRow kRows[] = {{"solve", solve},
                                 {"det", determinant},
                                 {"logabsdet", log_abs_determinant},
                                 {"det_sign", determinant_sign},
                                 {"cofactors", cofactors},
                                 {"cholesky", cholesky},
                                 {"triangular", triangular},
                                 {"orthogonal", orthogonal},
                                 {"eigh", symmetric_eigen},
                                 {"svd", singular_values},
                                 {"pinv", pseudo_inverse}};

}  // namespace

std::span<const ExecutorRow> decompose_executors() { return kRows; }

}  // namespace ouro::runtime
