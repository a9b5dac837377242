#include "backends/contract/engine.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "backends/contract/onednn.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/reduce.h"
#include "runtime/threads.h"

namespace ouro::backends {

using runtime::ContractEngine;
using runtime::ConvDesc;
using runtime::ConvKind;
using runtime::MatmulDesc;
using runtime::parallel_for;

namespace {

std::atomic<bool> libraries{true};

// Products smaller than this are quicker in plain loops than through a library.
constexpr int64_t kLibraryWork = 4096;

bool use_onednn(DType t, int64_t m, int64_t n, int64_t k) {
  return t == DType::f32 && m > 0 && n > 1 && k > 0 && m * n * k >= kLibraryWork && libraries.load(std::memory_order_relaxed) && onednn_sgemm();
}

// ---------------------------------------------------------------- one product

struct Product {
  DType t;
  int64_t m, n, k;
  bool ta, tb;
  bool library;
};

template <class T>
void plain_any(const Product& p, const T* a, const T* b, T* c, bool accumulate) {
  int64_t am = p.ta ? 1 : p.k, ak = p.ta ? p.m : 1, bk = p.tb ? 1 : p.n, bn = p.tb ? p.k : 1;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T sum = accumulate ? c[i * p.n + j] : T(0);
      for (int64_t q = 0; q < p.k; ++q) sum = static_cast<T>(sum + static_cast<T>(a[i * am + q * ak] * b[q * bk + j * bn]));
      c[i * p.n + j] = sum;
    }
}

// Floats: b is brought to [k, n] first when it comes transposed, then the tiled kernel runs. k in order, one accumulator per element.
template <class T>
void plain_float(const Product& p, const T* a, const T* b, T* c, bool accumulate) {
  std::unique_ptr<T[]> turned, part;
  if (p.tb) {
    turned.reset(new T[std::max<int64_t>(1, p.k * p.n)]);
    constexpr int64_t tile = 32;
    for (int64_t j0 = 0; j0 < p.n; j0 += tile)
      for (int64_t q0 = 0; q0 < p.k; q0 += tile)
        for (int64_t j = j0; j < std::min(p.n, j0 + tile); ++j)
          for (int64_t q = q0; q < std::min(p.k, q0 + tile); ++q) turned[q * p.n + j] = b[j * p.k + q];
    b = turned.get();
  }
  T* out = c;
  if (accumulate) {
    part.reset(new T[std::max<int64_t>(1, p.m * p.n)]);
    out = part.get();
  }
  const runtime::KernelTable& k = runtime::kernels();
  int64_t ams = p.ta ? 1 : p.k, aks = p.ta ? p.m : 1;
  if constexpr (std::is_same_v<T, float>) k.matmul_f32(out, p.n, a, ams, aks, b, p.n, p.m, p.n, p.k);
  else k.matmul_f64(out, p.n, a, ams, aks, b, p.n, p.m, p.n, p.k);
  if (accumulate)
    for (int64_t i = 0; i < p.m * p.n; ++i) c[i] += out[i];
}

// c (+)= op(a) op(b), dense.
void product(const Product& p, const void* a, const void* b, void* c, bool accumulate = false) {
  if (p.library) {
    single_thread_onednn();
    onednn_sgemm()(p.ta ? 'T' : 'N', p.tb ? 'T' : 'N', p.m, p.n, p.k, 1.0f, static_cast<const float*>(a), p.ta ? p.m : p.k, static_cast<const float*>(b),
                   p.tb ? p.k : p.n, accumulate ? 1.0f : 0.0f, static_cast<float*>(c), p.n);
    return;
  }
  if (p.t == DType::f32) return plain_float(p, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c), accumulate);
  if (p.t == DType::f64) return plain_float(p, static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(c), accumulate);
  runtime::visit_type(p.t, [&]<class T>(T) { plain_any(p, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c), accumulate); });
}

// ---------------------------------------------------------------- matmul

void matmul(const MatmulDesc& d, const void* a, const void* b, void* c, int threads) {
  size_t z = size_of(d.dtype);
  auto at = [&](const void* p, int64_t i) { return static_cast<const char*>(p) + i * static_cast<int64_t>(z); };
  if (d.m == 0 || d.n == 0 || d.batch == 0) return;
  Product p{d.dtype, d.m, d.n, d.k, d.transpose_a, d.transpose_b, use_onednn(d.dtype, d.m, d.n, d.k)};
  int64_t work = d.batch * d.m * d.n * std::max<int64_t>(d.k, 1);
  if (threads <= 1 || work < 262144) {
    for (int64_t i = 0; i < d.batch; ++i) product(p, at(a, i * d.a_batch), at(b, i * d.b_batch), static_cast<char*>(c) + i * d.c_batch * z);
    return;
  }
  if (d.batch >= threads || d.transpose_a) {
    parallel_for(threads, d.batch, [&](int64_t i) { product(p, at(a, i * d.a_batch), at(b, i * d.b_batch), static_cast<char*>(c) + i * d.c_batch * z); });
    return;
  }
  // Rows of one product: neither candidate's bits depend on the split (a transposed `a` has no row blocks without a leading dimension).
  int64_t rows = std::max<int64_t>(16, (d.m / (threads * 2) + 15) / 16 * 16), parts = (d.m + rows - 1) / rows;
  parallel_for(threads, d.batch * parts, [&](int64_t t) {
    int64_t i = t / parts, r = t % parts * rows;
    Product q = p;
    q.m = std::min(rows, d.m - r);
    product(q, at(a, i * d.a_batch + r * d.k), at(b, i * d.b_batch), static_cast<char*>(c) + (i * d.c_batch + r * d.n) * z);
  });
}

// ---------------------------------------------------------------- convolution

struct Geometry {
  const ConvDesc& d;
  int64_t places, taps, plane;  // result places, kernel taps, elements of one input plane
  explicit Geometry(const ConvDesc& c)
      : d(c), places(c.result[0] * c.result[1] * c.result[2]), taps(c.kernel[0] * c.kernel[1] * c.kernel[2]), plane(c.size[0] * c.size[1] * c.size[2]) {}
  bool pointwise() const {  // 1x1, stride 1: the image is its own column matrix
    return taps == 1 && d.stride[0] == 1 && d.stride[1] == 1 && d.stride[2] == 1 && d.padding[0] == 0 && d.padding[1] == 0 && d.padding[2] == 0;
  }
};

// Calls run(tap row r, first column, first element of the plane, n) for runs of result places along the last axis that lie inside, and zero(...)
// for those outside.
template <class Run, class Zero>
void each_run(const Geometry& g, Run&& run, Zero&& zero) {
  const ConvDesc& d = g.d;
  int64_t row = 0;
  for (int64_t c = 0; c < d.in; ++c)
    for (int64_t k0 = 0; k0 < d.kernel[0]; ++k0)
      for (int64_t k1 = 0; k1 < d.kernel[1]; ++k1)
        for (int64_t k2 = 0; k2 < d.kernel[2]; ++k2, ++row) {
          int64_t shift = k2 * d.dilation[2] - d.padding[2], s = d.stride[2];
          // places o with 0 <= o s + shift < size
          int64_t first = shift >= 0 ? 0 : (-shift + s - 1) / s, last = shift >= d.size[2] ? 0 : (d.size[2] - 1 - shift) / s + 1;
          first = std::min(first, d.result[2]), last = std::clamp(last, first, d.result[2]);
          for (int64_t o0 = 0; o0 < d.result[0]; ++o0)
            for (int64_t o1 = 0; o1 < d.result[1]; ++o1) {
              int64_t i0 = o0 * d.stride[0] + k0 * d.dilation[0] - d.padding[0], i1 = o1 * d.stride[1] + k1 * d.dilation[1] - d.padding[1];
              int64_t at = row * g.places + (o0 * d.result[1] + o1) * d.result[2];
              if (i0 < 0 || i0 >= d.size[0] || i1 < 0 || i1 >= d.size[1]) {
                zero(at, d.result[2]);
                continue;
              }
              if (first > 0) zero(at, first);
              run(at + first, c * g.plane + (i0 * d.size[1] + i1) * d.size[2] + first * s + shift, last - first);
              if (last < d.result[2]) zero(at + last, d.result[2] - last);
            }
        }
}
template <class T>
void to_columns(const Geometry& g, const T* x, T* columns) {
  int64_t s = g.d.stride[2];
  each_run(
      g,
      [&](int64_t to, int64_t from, int64_t n) {
        if (s == 1) std::memcpy(columns + to, x + from, n * sizeof(T));
        else
          for (int64_t i = 0; i < n; ++i) columns[to + i] = x[from + i * s];
      },
      [&](int64_t to, int64_t n) { std::memset(columns + to, 0, n * sizeof(T)); });
}
template <class T>
void add_columns(const Geometry& g, const T* columns, T* x) {
  int64_t s = g.d.stride[2];
  each_run(
      g,
      [&](int64_t from, int64_t to, int64_t n) {
        for (int64_t i = 0; i < n; ++i) x[to + i * s] += columns[from + i];
      },
      [](int64_t, int64_t) {});
}

constexpr int64_t kChunk = 8;  // images per partial weight gradient: fixed, so that its bits do not depend on threads

template <class T>
void conv_typed(const ConvDesc& d, const T* a, const T* b, T* c, int threads) {
  Geometry g(d);
  int64_t rows = d.in * g.taps;                                   // of the column matrix
  int64_t x_image = d.groups * d.in * g.plane, y_image = d.groups * d.out * g.places;
  int64_t w_group = d.out * rows, x_group = d.in * g.plane, y_group = d.out * g.places;
  int64_t images = d.batch * d.groups;
  if (images * g.places * w_group < 65536) threads = 1;
  if (d.kind == ConvKind::forward) {
    Product p{d.dtype, d.out, g.places, rows, false, false, use_onednn(d.dtype, d.out, g.places, rows)};
    parallel_for(threads, images, [&](int64_t i) {
      int64_t n = i / d.groups, q = i % d.groups;
      const T* x = a + n * x_image + q * x_group;
      runtime::Scratch columns(g.pointwise() ? 0 : rows * g.places * sizeof(T));
      if (!g.pointwise()) to_columns(g, x, reinterpret_cast<T*>(columns.data()));
      product(p, b + q * w_group, g.pointwise() ? static_cast<const void*>(x) : columns.data(), c + n * y_image + q * y_group);
    });
  } else if (d.kind == ConvKind::input) {
    Product p{d.dtype, rows, g.places, d.out, true, false, use_onednn(d.dtype, rows, g.places, d.out)};
    parallel_for(threads, images, [&](int64_t i) {
      int64_t n = i / d.groups, q = i % d.groups;
      T* x = c + n * x_image + q * x_group;
      const T* y = a + n * y_image + q * y_group;
      if (g.pointwise()) return product(p, b + q * w_group, y, x);
      runtime::Scratch columns(rows * g.places * sizeof(T));
      product(p, b + q * w_group, y, columns.data());
      std::memset(x, 0, x_group * sizeof(T));
      add_columns(g, reinterpret_cast<T*>(columns.data()), x);
    });
  } else {
    int64_t chunks = (d.batch + kChunk - 1) / kChunk, total = d.groups * w_group;
    Product p{d.dtype, d.out, rows, g.places, false, true, use_onednn(d.dtype, d.out, rows, g.places)};
    std::memset(c, 0, total * sizeof(T));
    if (chunks == 0) return;
    runtime::Scratch partial(chunks * total * sizeof(T));
    T* sums = reinterpret_cast<T*>(partial.data());
    parallel_for(threads, chunks * d.groups, [&](int64_t t) {
      int64_t k = t / d.groups, q = t % d.groups;
      T* w = sums + k * total + q * w_group;
      runtime::Scratch columns(rows * g.places * sizeof(T));
      for (int64_t n = k * kChunk; n < std::min(d.batch, (k + 1) * kChunk); ++n) {
        const T* x = b + n * x_image + q * x_group;
        if (!g.pointwise()) to_columns(g, x, reinterpret_cast<T*>(columns.data()));
        product(p, a + n * y_image + q * y_group, g.pointwise() ? static_cast<const void*>(x) : columns.data(), w, n > k * kChunk);
      }
    });
    for (int64_t k = 0; k < chunks; ++k)
      for (int64_t i = 0; i < total; ++i) c[i] += sums[k * total + i];
  }
}

void conv(const ConvDesc& d, const void* a, const void* b, void* c, int threads) {
  if (d.dtype == DType::f64) return conv_typed(d, static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(c), threads);
  conv_typed(d, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c), threads);
}

const char* chosen(const MatmulDesc& d) { return use_onednn(d.dtype, d.m, d.n, d.k) ? "onednn" : "plain"; }

constexpr ContractEngine kEngine{matmul, conv, chosen};

}  // namespace

void register_contractions() { runtime::register_contract_engine(&kEngine); }
void disable_libraries() { libraries = false; }

}  // namespace ouro::backends
