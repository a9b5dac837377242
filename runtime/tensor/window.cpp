// Pooling, eagerly, over one to three trailing axes. A window's elements are combined in row-major order from the
// identity.
#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/machine/threads.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/reduce.h"

namespace ouro::runtime {

namespace {

struct Window {
  int64_t planes = 1, size[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
          padding[3] = {}, dilation[3] = {1, 1, 1};
  int64_t in_plane() const { return size[0] * size[1] * size[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
};
Window window_of(OpCall& c, std::span<const int64_t> big, std::span<const int64_t> small) {
  Window w;
  std::vector<int64_t> k = c.integers("kernel"), s = c.integers("stride"), p = c.integers("padding"), d(k.size(), 1);
  if (!c.param("dilation").is_none()) d = c.integers("dilation");
  size_t n = k.size(), lead = big.size() - n;
  for (size_t i = 0; i < lead; ++i) w.planes *= big[i];
  for (size_t i = 0; i < n; ++i) {
    size_t a = 3 - n + i;
    w.size[a] = big[lead + i], w.out[a] = small[lead + i], w.kernel[a] = k[i], w.stride[a] = s[i], w.padding[a] = p[i],
    w.dilation[a] = d[i];
  }
  return w;
}

// The taps of window o along axis a that lie inside of the plane: [first, end).
struct Taps {
  int64_t corner, first, end;
};
Taps taps_of(const Window& w, int a, int64_t o) {
  const int64_t corner = o * w.stride[a] - w.padding[a], d = w.dilation[a];
  const int64_t first = corner < 0 ? (-corner + d - 1) / d : 0;
  return {corner, first, corner < w.size[a] ? std::min(w.kernel[a], (w.size[a] - 1 - corner) / d + 1) : 0};
}

// body(out place, in place) for each tap of each window inside the plane, window by window.
template <class Open, class Tap, class Close>
void each_window(const Window& w, Open&& open, Tap&& tap, Close&& close) {
  int64_t at = 0;
  for (int64_t o0 = 0; o0 < w.out[0]; ++o0)
    for (int64_t o1 = 0; o1 < w.out[1]; ++o1)
      for (int64_t o2 = 0; o2 < w.out[2]; ++o2, ++at) {
        open(at);
        const Taps t0 = taps_of(w, 0, o0), t1 = taps_of(w, 1, o1), t2 = taps_of(w, 2, o2);
        for (int64_t k0 = t0.first; k0 < t0.end; ++k0) {
          const int64_t i0 = t0.corner + k0 * w.dilation[0];
          for (int64_t k1 = t1.first; k1 < t1.end; ++k1) {
            const int64_t i1 = t1.corner + k1 * w.dilation[1];
            for (int64_t k2 = t2.first; k2 < t2.end; ++k2)
              tap((i0 * w.size[1] + i1) * w.size[2] + t2.corner + k2 * w.dilation[2]);
          }
        }
        close(at, o0, o1, o2);
      }
}
// How many places of a window a mean divides by: those of the kernel that lie in the padded plane, or in the plane
// itself.
int64_t divisor(const Window& w, int64_t o0, int64_t o1, int64_t o2, bool include_pad, int64_t fixed) {
  if (fixed > 0) return fixed;
  int64_t o[3] = {o0, o1, o2}, n = 1;
  for (int a = 0; a < 3; ++a) {
    int64_t b = o[a] * w.stride[a] - w.padding[a], e = std::min(b + w.kernel[a], w.size[a] + w.padding[a]);
    if (!include_pad) b = std::max<int64_t>(b, 0), e = std::min(e, w.size[a]);
    n *= std::max<int64_t>(0, e - b);
  }
  return n;
}
template <class F>
void each_plane(Session& s, const Window& w, F&& f) {
  int64_t group = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, w.in_plane()));
  parallel_for_or_stop(w.planes * w.in_plane() > 65536 ? session_threads(s) : 1, (w.planes + group - 1) / group,
                       [&](int64_t g) {
                         for (int64_t p = g * group; p < std::min(w.planes, (g + 1) * group); ++p) f(p);
                       });
}

template <class T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
T lowest() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

// The usual case, row by row: images, no padding, no dilation, every window whole.
bool is_plain(const Window& w) {
  bool plain = w.size[0] == 1 && w.out[0] == 1 && w.kernel[0] == 1;
  for (int a = 0; a < 3; ++a)
    plain = plain && w.padding[a] == 0 && w.dilation[a] == 1 && (w.out[a] - 1) * w.stride[a] + w.kernel[a] <= w.size[a];
  return plain && w.in_plane() <= std::numeric_limits<int32_t>::max();
}
template <class T>
void plain_max_plane(const Window& w, const T* x, T* y) {
  for (int64_t o1 = 0; o1 < w.out[1]; ++o1) {
    T* row = y + o1 * w.out[2];
    std::fill(row, row + w.out[2], lowest<T>());
    for (int64_t k1 = 0; k1 < w.kernel[1]; ++k1)
      for (int64_t k2 = 0; k2 < w.kernel[2]; ++k2) {
        const T* in = x + (o1 * w.stride[1] + k1) * w.size[2] + k2;
        for (int64_t o2 = 0; o2 < w.out[2]; ++o2) row[o2] = larger(row[o2], in[o2 * w.stride[2]]);
      }
  }
}

// Tap by tap over a piece of a row, so that no step branches on the data.
template <class T>
void plain_max_index_plane(const Window& w, const T* x, int64_t* y) {
  constexpr int64_t kPiece = 64;
  T best[kPiece];
  int32_t where[kPiece];
  for (int64_t o1 = 0; o1 < w.out[1]; ++o1)
    for (int64_t from = 0; from < w.out[2]; from += kPiece) {
      const int64_t n = std::min(kPiece, w.out[2] - from), step = w.stride[2];
      const int64_t corner = o1 * w.stride[1] * w.size[2] + from * step;
      for (int64_t i = 0; i < n; ++i)
        best[i] = x[corner + i * step], where[i] = static_cast<int32_t>(corner + i * step);
      for (int64_t k1 = 0; k1 < w.kernel[1]; ++k1)
        for (int64_t k2 = k1 == 0; k2 < w.kernel[2]; ++k2) {
          const int64_t first = corner + k1 * w.size[2] + k2;
          for (int64_t i = 0; i < n; ++i) {
            const T v = x[first + i * step], b = best[i];
            const bool take = (v > b) | ((v != v) & (b == b));
            best[i] = take ? v : b;
            where[i] = take ? static_cast<int32_t>(first + i * step) : where[i];
          }
        }
      for (int64_t i = 0; i < n; ++i) y[o1 * w.out[2] + from + i] = where[i];
    }
}

Value max_pool(OpCall& c) {
  DType want = c.dtype(), t = ir::compute_type(want);
  OURO_TRY(input, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(r, make_tensor(c.s, t, c.shape));
  auto *x = input.as<Tensor>(), *y = r.as<Tensor>();
  Window w = window_of(c, x->shape(), c.shape);
  const bool plain = is_plain(w);
  visit_type(t, [&]<class T>(T) {
    each_plane(c.s, w, [&](int64_t p) {
      const T* in = x->data<T>() + p * w.in_plane();
      T* out = y->data<T>() + p * w.out_plane();
      if (plain) return plain_max_plane(w, in, out);
      T best;
      each_window(
          w, [&](int64_t) { best = lowest<T>(); }, [&](int64_t i) { best = larger(best, in[i]); },
          [&](int64_t at, int64_t, int64_t, int64_t) { out[at] = best; });
    });
  });
  return cast_tensor(c.s, r, want);
}
Value max_pool_index(OpCall& c) {
  DType t = ir::compute_type(c.in()->dtype);
  OURO_TRY(input, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(r, c.result());
  auto *x = input.as<Tensor>(), *y = r.as<Tensor>();
  Window w = window_of(c, x->shape(), c.shape);
  const bool plain = is_plain(w);
  visit_type(t, [&]<class T>(T) {
    each_plane(c.s, w, [&](int64_t p) {
      const T* in = x->data<T>() + p * w.in_plane();
      int64_t* out = y->data<int64_t>() + p * w.out_plane();
      if (plain) return plain_max_index_plane(w, in, out);
      T best;
      int64_t where;
      each_window(
          w, [&](int64_t) { best = lowest<T>(), where = -1; },
          [&](int64_t i) {
            if (where < 0 || in[i] > best || (in[i] != in[i] && best == best)) best = in[i], where = i;
          },
          [&](int64_t at, int64_t, int64_t, int64_t) { out[at] = where; });
    });
  });
  return r;
}
// Planes: the last n axes of the index and of x, flat; the axes before are the same.
struct Planes {
  int64_t count, inside, outside;  // planes; elements of one in the index, and in x
};
Planes planes_of(OpCall& c, const Tensor* index, const Tensor* x) {
  int lead = std::max(0, index->rank - static_cast<int>(c.integer("n")));
  int64_t n = 1;
  for (int i = 0; i < lead; ++i) n *= index->dim(i);
  return {n, n ? index->size / n : 0, n ? x->size / n : 0};
}
Value pool_gather(OpCall& c) {
  const Tensor *x = c.in(0), *index = c.in(1);
  OURO_TRY(r, make_tensor(c.s, x->dtype, index->shape()));
  Planes p = planes_of(c, index, x);
  size_t z = size_of(x->dtype);
  const int64_t* at = index->data<int64_t>();
  for (int64_t i = 0; i < index->size; ++i) {
    int64_t place = i / p.inside * p.outside + at[i];
    if (at[i] < 0 || at[i] >= p.outside) return c.raise("IndexError", "pool_gather: a place outside of the plane");
    std::memcpy(r.as<Tensor>()->bytes() + i * z, x->bytes() + place * static_cast<int64_t>(z), z);
  }
  return r;
}
Value pool_scatter(OpCall& c) {
  const Tensor *index = c.in(1), *like = c.in(2);
  DType want = c.dtype(), t = ir::compute_type(want);
  OURO_TRY(input, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(r, make_tensor(c.s, t, like->shape()));
  auto* y = r.as<Tensor>();
  std::memset(y->data(), 0, y->nbytes());
  Planes p = planes_of(c, index, like);
  const int64_t* at = index->data<int64_t>();
  visit_type(t, [&]<class T>(T) {
    const T* x = input.as<Tensor>()->data<T>();
    T* out = y->data<T>();
    int64_t group = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p.outside));
    parallel_for_or_stop(y->size > 65536 ? session_threads(c.s) : 1, (p.count + group - 1) / group, [&](int64_t g) {
      for (int64_t q = g * group; q < std::min(p.count, (g + 1) * group); ++q)
        for (int64_t i = q * p.inside; i < (q + 1) * p.inside; ++i)
          if (at[i] >= 0 && at[i] < p.outside)
            out[q * p.outside + at[i]] = static_cast<T>(out[q * p.outside + at[i]] + x[i]);
    });
  });
  return cast_tensor(c.s, r, want);
}
Value avg_pool(OpCall& c) {
  DType want = c.dtype(), t = ir::compute_type(want);
  OURO_TRY(input, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(r, make_tensor(c.s, t, c.shape));
  auto *x = input.as<Tensor>(), *y = r.as<Tensor>();
  Window w = window_of(c, x->shape(), c.shape);
  bool pad = c.flag("count_include_pad");
  int64_t fixed = c.integer("divisor");
  visit_type(t, [&]<class T>(T) {
    each_plane(c.s, w, [&](int64_t p) {
      const T* in = x->data<T>() + p * w.in_plane();
      T* out = y->data<T>() + p * w.out_plane();
      T sum;
      each_window(
          w, [&](int64_t) { sum = 0; }, [&](int64_t i) { sum = static_cast<T>(sum + in[i]); },
          [&](int64_t at, int64_t a, int64_t b, int64_t d) {
            out[at] = static_cast<T>(sum / static_cast<T>(divisor(w, a, b, d, pad, fixed)));
          });
    });
  });
  return cast_tensor(c.s, r, want);
}
Value avg_pool_back(OpCall& c) {
  DType want = c.dtype(), t = ir::compute_type(want);
  OURO_TRY(input, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(r, make_tensor(c.s, t, c.shape));
  OURO_TRY(shares, make_tensor(c.s, t, input.as<Tensor>()->shape()));
  auto *x = input.as<Tensor>(), *y = r.as<Tensor>();
  std::memset(y->data(), 0, y->nbytes());
  Window w = window_of(c, c.shape, x->shape());
  bool pad = c.flag("count_include_pad");
  int64_t fixed = c.integer("divisor");
  visit_type(t, [&]<class T>(T) {
    each_plane(c.s, w, [&](int64_t p) {
      const T* in = x->data<T>() + p * w.out_plane();
      T* out = y->data<T>() + p * w.in_plane();
      T* share = shares.as<Tensor>()->data<T>() + p * w.out_plane();
      each_window(
          w, [](int64_t) {}, [](int64_t) {},
          [&](int64_t at, int64_t a, int64_t b, int64_t d) {
            share[at] = static_cast<T>(in[at] / static_cast<T>(divisor(w, a, b, d, pad, fixed)));
          });
      T g;
      each_window(
          w, [&](int64_t at) { g = share[at]; }, [&](int64_t i) { out[i] = static_cast<T>(out[i] + g); },
          [](int64_t, int64_t, int64_t, int64_t) {});
    });
  });
  return cast_tensor(c.s, r, want);
}

constexpr ExecutorRow kRows[] = {{"window max", max_pool},      {"window argmax", max_pool_index},
                                 {"gather plane", pool_gather}, {"scatter plane add", pool_scatter},
                                 {"window mean", avg_pool},     {"window mean back", avg_pool_back}};

}  // namespace

std::span<const ExecutorRow> window_executors() { return kRows; }

}  // namespace ouro::runtime
