#include "runtime/machine/contract.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/machine/threads.h"
#include "support/per_thread.h"

namespace ouro::runtime {

namespace {

std::atomic<GemmF32> g_gemm{nullptr};

constexpr int64_t kLibraryFrom = 4096;  // m n k from which a library's call pays
constexpr int64_t kPartWork = 1 << 21;  // multiplications of one part
constexpr int64_t kCallWork = 1 << 28;  // multiplications of one call of a library: some 10 ms
constexpr int64_t kImageChunk = 8;      // images summed into one partial weight gradient

// The thread sanitizer would be called by the function that chooses a clone, which runs before the sanitizer does.
#if defined(__SANITIZE_THREAD__)
#define OURO_CLONES
#else
#define OURO_CLONES __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#endif

// row += x y, elementwise: a product, then a sum, each rounded (no contraction), so every width has the same bits.
OURO_CLONES void add_scaled(float* row, const float* y, float x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) row[j] = row[j] + x * y[j];
}
OURO_CLONES void add_scaled(double* row, const double* y, double x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) row[j] = row[j] + x * y[j];
}
template <class T>
void add_scaled(T* row, const T* y, T x, int64_t n) {  // integers wrap
  using U = uint64_t;
  for (int64_t j = 0; j < n; ++j)
    row[j] = static_cast<T>(static_cast<U>(row[j]) + static_cast<U>(x) * static_cast<U>(y[j]));
}

// Half floats are computed in f32 (runtime/tensor casts around); everything else in itself, bool as a sum of products
// modulo 2.
template <class T>
void plain_rows(const Matmul& d, const T* a, const T* b, T* c, int64_t row0, int64_t row1, bool add) {
  std::vector<T> packed;
  if (d.b_transposed) {  // [n, k] to [k, n]
    packed.resize(static_cast<size_t>(d.k * d.n));
    for (int64_t j = 0; j < d.n && !stop_asked(); ++j)
      for (int64_t p = 0; p < d.k; ++p) packed[static_cast<size_t>(p * d.n + j)] = b[j * d.k + p];
    b = packed.data();
  }
  for (int64_t i = row0; i < row1 && !stop_asked(); ++i) {
    T* row = c + i * d.n;
    if (!add) std::fill(row, row + d.n, T(0));
    for (int64_t p = 0; p < d.k; ++p) {
      if ((p & 0xff) == 0xff && stop_asked()) return;
      const T x = d.a_transposed ? a[p * d.m + i] : a[i * d.k + p];
      add_scaled(row, b + p * d.n, x, d.n);
    }
  }
}

// Rows [row0, row1) of one product.
template <class T>
void product_rows(const Matmul& d, const T* a, const T* b, T* c, int64_t row0, int64_t row1, bool add) {
  if constexpr (std::is_same_v<T, float>) {
    GemmF32 gemm = g_gemm.load(std::memory_order_acquire);
    if (gemm && d.m * d.n * d.k >= kLibraryFrom) {
      // Cut into calls of rows and columns, never along k, that an interrupt is seen between.
      auto some = [](int64_t wanted, int64_t all) { return std::min(all, std::max<int64_t>(64, wanted / 64 * 64)); };
      const int64_t rows = some(kCallWork / (d.n * d.k), row1 - row0), columns = some(kCallWork / (rows * d.k), d.n);
      bool taken = true;
      for (int64_t i = row0; i < row1 && taken; i += rows)
        for (int64_t j = 0; j < d.n && taken && !stop_asked(); j += columns)
          taken = gemm(d.a_transposed, d.b_transposed, std::min(rows, row1 - i), std::min(columns, d.n - j), d.k,
                       d.a_transposed ? a + i : a + i * d.k, d.a_transposed ? d.m : d.k,
                       d.b_transposed ? b + j * d.k : b + j, d.b_transposed ? d.k : d.n, add, c + i * d.n + j, d.n);
      if (taken) return;
    }
  }
  plain_rows(d, a, b, c, row0, row1, add);
}

// Rows of a part: by size alone.
int64_t rows_per_part(const Matmul& d) {
  int64_t rows = std::max<int64_t>(1, kPartWork / std::max<int64_t>(1, d.n * d.k));
  return std::min(d.m, std::max<int64_t>(16, (rows + 15) / 16 * 16));
}

template <class T>
void matmul_as(const Matmul& d, const T* a, const int64_t* a_at, const T* b, const int64_t* b_at, T* c, int threads) {
  if (d.m == 0 || d.n == 0 || d.batch == 0) return;
  if (d.k == 0) {
    std::fill(c, c + d.batch * d.m * d.n, T(0));
    return;
  }
  int64_t rows = rows_per_part(d), parts = (d.m + rows - 1) / rows;
  // Several small products make one part.
  int64_t group = parts > 1 ? 1 : std::max<int64_t>(1, kPartWork / (d.m * d.n * d.k));
  int64_t groups = (d.batch + group - 1) / group;
  parallel_for_or_stop(threads, groups * parts, [&](int64_t part) {
    int64_t g = part / parts, r = part % parts;
    for (int64_t i = g * group; i < std::min(d.batch, (g + 1) * group); ++i)
      product_rows(d, a + (a_at ? a_at[i] : i * d.a_stride), b + (b_at ? b_at[i] : i * d.b_stride), c + i * d.m * d.n,
                   r * rows, std::min(d.m, (r + 1) * rows), false);
  });
}

void dispatch(const Matmul& d, const void* a, const int64_t* a_at, const void* b, const int64_t* b_at, void* c,
              int threads) {
  auto go = [&](auto zero) {
    using T = decltype(zero);
    matmul_as<T>(d, static_cast<const T*>(a), a_at, static_cast<const T*>(b), b_at, static_cast<T*>(c), threads);
  };
  switch (d.dtype) {
    case DType::f32:
      return go(float{});
    case DType::f64:
      return go(double{});
    case DType::i64:
      return go(int64_t{});
    case DType::i32:
      return go(int32_t{});
    case DType::i16:
      return go(int16_t{});
    case DType::i8:
      return go(int8_t{});
    case DType::u8:
    case DType::boolean:
      return go(uint8_t{});
    default:
      return;  // half floats: the caller casts
  }
}

// ---------------------------------------------------------------- convolution

int64_t volume(const int64_t (&d)[3]) { return d[0] * d[1] * d[2]; }

// Output places [from, to) along one axis whose source index lies inside, for one kernel offset.
struct Span {
  int64_t from, to;
};
Span inside(int64_t out, int64_t in, int64_t stride, int64_t shift) {
  // 0 <= o * stride + shift < in
  int64_t from = shift >= 0 ? 0 : (-shift + stride - 1) / stride, to = shift >= in ? 0 : (in - 1 - shift) / stride + 1;
  from = std::min(from, out);
  return {from, std::clamp(to, from, out)};
}

// Rows of small images are a few vectors long: a call of memcpy each would cost more than the moving.
template <class T>
void copy_run(T* to, const T* from, int64_t n) {
  constexpr int64_t kVector = 16 / sizeof(T);
  if (n > 16 * kVector) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else if (n >= kVector) {  // the last vector may overlap the one before
    for (int64_t i = 0; i + kVector <= n; i += kVector) std::memcpy(to + i, from + i, 16);
    std::memcpy(to + n - kVector, from + n - kVector, 16);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
}
template <class T>
void add_run(T* to, const T* from, int64_t n) {
  constexpr int64_t kVector = 16 / sizeof(T);
  int64_t i = 0;
  for (; i + kVector <= n; i += kVector) {
    T a[kVector], b[kVector];
    std::memcpy(a, to + i, 16);
    std::memcpy(b, from + i, 16);
    for (int64_t j = 0; j < kVector; ++j) a[j] += b[j];
    std::memcpy(to + i, a, 16);
  }
  for (; i < n; ++i) to[i] += from[i];
}

// Calls row(column row index, column offset, image offset, count) for each run along the last axis; runs outside are
// `pad(offset, count)`.
template <class Run, class Pad>
void for_each_run(const Convolution& d, int64_t channels, Run&& run, Pad&& pad) {
  constexpr int64_t kBetweenLooks = 1 << 18;  // elements, a fraction of a millisecond
  int64_t places = volume(d.out), r = 0, since = 0;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t k0 = 0; k0 < d.kernel[0]; ++k0)
      for (int64_t k1 = 0; k1 < d.kernel[1]; ++k1)
        for (int64_t k2 = 0; k2 < d.kernel[2]; ++k2, ++r) {
          if ((since += places) > kBetweenLooks) {
            if (stop_asked()) return;
            since = 0;
          }
          const int64_t s0 = k0 * d.dilation[0] - d.padding[0], s1 = k1 * d.dilation[1] - d.padding[1],
                        s2 = k2 * d.dilation[2] - d.padding[2];
          const auto [f0, t0] = inside(d.out[0], d.in[0], d.stride[0], s0);
          const auto [f1, t1] = inside(d.out[1], d.in[1], d.stride[1], s1);
          const auto [f2, t2] = inside(d.out[2], d.in[2], d.stride[2], s2);
          int64_t at = r * places;
          for (int64_t o0 = 0; o0 < d.out[0]; ++o0) {
            if (o0 < f0 || o0 >= t0 || f2 >= t2) {
              pad(at, d.out[1] * d.out[2]);
              at += d.out[1] * d.out[2];
              continue;
            }
            pad(at, f1 * d.out[2]);
            at += f1 * d.out[2];
            int64_t from = ((c * d.in[0] + o0 * d.stride[0] + s0) * d.in[1] + f1 * d.stride[1] + s1) * d.in[2] +
                           f2 * d.stride[2] + s2;
            for (int64_t o1 = f1; o1 < t1; ++o1, at += d.out[2], from += d.stride[1] * d.in[2]) {
              pad(at, f2);
              run(at + f2, from, t2 - f2);
              pad(at + t2, d.out[2] - t2);
            }
            pad(at, (d.out[1] - t1) * d.out[2]);
            at += (d.out[1] - t1) * d.out[2];
          }
        }
}

template <class T>
void image_to_columns(const Convolution& d, const T* image, int64_t channels, T* columns) {
  int64_t step = d.stride[2];
  for_each_run(
      d, channels,
      [&](int64_t at, int64_t from, int64_t n) {
        if (step == 1)
          copy_run(columns + at, image + from, n);
        else
          for (int64_t i = 0; i < n; ++i) columns[at + i] = image[from + i * step];
      },
      [&](int64_t at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) columns[at + i] = T(0);
      });
}

template <class T>
void columns_to_image(const Convolution& d, const T* columns, int64_t channels, T* image) {
  std::fill(image, image + channels * volume(d.in), T(0));
  int64_t step = d.stride[2];
  for_each_run(
      d, channels,
      [&](int64_t at, int64_t from, int64_t n) {
        if (step == 1)
          add_run(image + from, columns + at, n);
        else
          for (int64_t i = 0; i < n; ++i) image[from + i * step] += columns[at + i];
      },
      [](int64_t, int64_t) {});
}

// The columns' memory, kept by the thread from image to image. False: it was asked to end.
template <class T>
bool make_room(std::vector<T>& columns, int64_t n) {
  constexpr size_t kPiece = 1 << 20;
  columns.reserve(static_cast<size_t>(n));
  while (columns.size() < static_cast<size_t>(n)) {
    if (stop_asked()) return false;
    columns.resize(std::min(static_cast<size_t>(n), columns.size() + kPiece));
  }
  return true;
}

template <class T>
std::vector<T>& scratch_columns() {
  struct Scratch {
    std::vector<T> columns;
  };
  return support::PerThread<Scratch>::get().columns;
}

template <class T>
void convolve_as(const Convolution& d, const T* x, const T* y, T* result, int threads) {
  const int64_t icg = d.in_channels / d.groups, ocg = d.out_channels / d.groups;
  const int64_t taps = icg * volume(d.kernel), places = volume(d.out), pixels = volume(d.in);
  const int64_t image_size = d.in_channels * pixels, result_size = d.out_channels * places;
  Matmul g;
  g.dtype = d.dtype;
  using K = Convolution::Kind;
  if (d.kind != K::weight) {
    parallel_for_or_stop(threads, d.batch, [&](int64_t i) {
      std::vector<T>& columns = scratch_columns<T>();
      if (!make_room(columns, taps * places)) return;
      for (int64_t q = 0; q < d.groups; ++q) {
        const T* w = y + q * ocg * taps;
        Matmul p = g;
        p.n = places;
        if (d.kind == K::forward) {  // y = w columns(x)
          image_to_columns(d, x + i * image_size + q * icg * pixels, icg, columns.data());
          p.m = ocg, p.k = taps;
          product_rows(p, w, columns.data(), result + i * result_size + q * ocg * places, 0, p.m, false);
        } else {  // columns(dx) = w^T dy
          p.m = taps, p.k = ocg, p.a_transposed = true;
          product_rows(p, w, x + i * result_size + q * ocg * places, columns.data(), 0, p.m, false);
          columns_to_image(d, columns.data(), icg, result + i * image_size + q * icg * pixels);
        }
      }
    });
    return;
  }
  // dw = sum over images of dy columns(x)^T: partial sums of chunks, added in order.
  const int64_t chunks = (d.batch + kImageChunk - 1) / kImageChunk, size = d.out_channels * taps;
  if (chunks == 0) {
    std::fill(result, result + size, T(0));
    return;
  }
  std::vector<T> partial(static_cast<size_t>((chunks - 1) * size));
  parallel_for_or_stop(threads, chunks, [&](int64_t chunk) {
    std::vector<T>& columns = scratch_columns<T>();
    if (!make_room(columns, taps * places)) return;
    T* sum = chunk == 0 ? result : partial.data() + (chunk - 1) * size;
    for (int64_t i = chunk * kImageChunk; i < std::min(d.batch, (chunk + 1) * kImageChunk); ++i)
      for (int64_t q = 0; q < d.groups; ++q) {
        image_to_columns(d, y + i * image_size + q * icg * pixels, icg, columns.data());
        Matmul p = g;
        p.m = ocg, p.n = taps, p.k = places, p.b_transposed = true;
        product_rows(p, x + i * result_size + q * ocg * places, columns.data(), sum + q * ocg * taps, 0, p.m,
                     i > chunk * kImageChunk);
      }
  });
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    const T* p = partial.data() + (chunk - 1) * size;
    for (int64_t j = 0; j < size; ++j) result[j] += p[j];
  }
}

// Spatial dims are aligned to the last of three, so that lower ranks are images with leading dims of 1.
Convolution aligned(const Convolution& d) {
  Convolution a = d;
  int shift = 3 - d.rank;
  auto move = [&](int64_t(&to)[3], const int64_t(&from)[3], int64_t fill) {
    for (int i = 0; i < 3; ++i) to[i] = i < shift ? fill : from[i - shift];
  };
  move(a.in, d.in, 1), move(a.out, d.out, 1), move(a.kernel, d.kernel, 1);
  move(a.stride, d.stride, 1), move(a.padding, d.padding, 0), move(a.dilation, d.dilation, 1);
  a.rank = 3;
  return a;
}

// An operand as bf16 holds it, in f32. The copy is kept from call to call by its thread.
class Rounded {
 public:
  Rounded(const void* from, int64_t n, int threads) : kept_(pool()) {
    if (!kept_.empty()) {
      values_ = std::move(kept_.back());
      kept_.pop_back();
    }
    if (values_.size() < static_cast<size_t>(n)) values_ = std::vector<float>(static_cast<size_t>(n));
    const auto* x = static_cast<const float*>(from);
    constexpr int64_t kPart = 65536;
    parallel_for_or_stop(n > kPart ? threads : 1, (n + kPart - 1) / kPart, [&](int64_t p) {
      for (int64_t i = p * kPart; i < std::min(n, (p + 1) * kPart); ++i) values_[static_cast<size_t>(i)] = round(x[i]);
    });
  }
  ~Rounded() { kept_.push_back(std::move(values_)); }
  Rounded(const Rounded&) = delete;
  Rounded& operator=(const Rounded&) = delete;
  const float* data() const { return values_.data(); }

 private:
  static float round(float x) {  // to nearest even; NaN stays NaN
    uint32_t u = std::bit_cast<uint32_t>(x);
    uint32_t r = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    return x == x ? std::bit_cast<float>(r) : x;
  }
  static std::vector<std::vector<float>>& pool() {
    struct Kept {
      std::vector<std::vector<float>> all;
    };
    return support::PerThread<Kept>::get().all;
  }
  std::vector<std::vector<float>>& kept_;
  std::vector<float> values_;
};

}  // namespace

void matmul(const Matmul& d, const void* a, const void* b, void* c, int threads) {
  if (d.precision == Precision::f32 || d.dtype != DType::f32) return dispatch(d, a, nullptr, b, nullptr, c, threads);
  auto size = [&](int64_t stride, int64_t one) { return d.batch == 0 ? 0 : (d.batch - 1) * stride + one; };
  Rounded ra(a, size(d.a_stride, d.m * d.k), threads), rb(b, size(d.b_stride, d.k * d.n), threads);
  dispatch(d, ra.data(), nullptr, rb.data(), nullptr, c, threads);
}
void matmul(const Matmul& d, const void* a, const int64_t* a_at, const void* b, const int64_t* b_at, void* c,
            int threads) {
  if (d.precision == Precision::f32 || d.dtype != DType::f32) return dispatch(d, a, a_at, b, b_at, c, threads);
  auto size = [&](const int64_t* at, int64_t one) {
    return d.batch == 0 ? 0 : *std::max_element(at, at + d.batch) + one;
  };
  Rounded ra(a, size(a_at, d.m * d.k), threads), rb(b, size(b_at, d.k * d.n), threads);
  dispatch(d, ra.data(), a_at, rb.data(), b_at, c, threads);
}

void convolve(const Convolution& d, const void* x, const void* y, void* result, int threads) {
  Convolution a = aligned(d);
  if (d.precision == Precision::bf16 && d.dtype == DType::f32) {
    const int64_t image = d.batch * d.in_channels * volume(a.in), made = d.batch * d.out_channels * volume(a.out),
                  weight = d.out_channels * (d.in_channels / d.groups) * volume(a.kernel);
    using K = Convolution::Kind;
    Rounded rx(x, d.kind == K::forward ? image : made, threads), ry(y, d.kind == K::weight ? image : weight, threads);
    return convolve_as<float>(a, rx.data(), ry.data(), static_cast<float*>(result), threads);
  }
  if (d.dtype == DType::f64)
    convolve_as<double>(a, static_cast<const double*>(x), static_cast<const double*>(y), static_cast<double*>(result),
                        threads);
  else
    convolve_as<float>(a, static_cast<const float*>(x), static_cast<const float*>(y), static_cast<float*>(result),
                       threads);
}

void register_gemm_f32(GemmF32 gemm) { g_gemm.store(gemm, std::memory_order_release); }

}  // namespace ouro::runtime
