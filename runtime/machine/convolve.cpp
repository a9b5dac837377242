// Convolutions as products of the weight and the columns of the image, in tiles.
//
// The columns of one image are a matrix [taps, places]: what each place of the result reads, by channel and place of
// the kernel. It has as many times the image's elements as the kernel has places, so it is never made whole where it is
// large, but tile by tile, and each tile is used at once. Tiles follow from the sizes alone, as do the sums' order.
#include <algorithm>
#include <cstring>

#include "runtime/machine/contract.h"
#include "runtime/machine/part_memory.h"
#include "runtime/machine/product.h"
#include "runtime/machine/rounded_operand.h"
#include "runtime/machine/threads.h"

namespace ouro::runtime {

namespace {

constexpr int64_t kTile = 1 << 20;      // elements of a tile of columns
constexpr int64_t kLeastPlaces = 64;    // of a tile, so that products pay
constexpr int64_t kImageChunk = 8;      // images summed into one partial weight gradient
constexpr int64_t kPartials = 1 << 21;  // elements of partial weight gradients at a time, if more than one per thread

int64_t volume(const int64_t (&d)[3]) { return d[0] * d[1] * d[2]; }

// Taps [tap, tap + taps) at places [place, place + places): lines [line, line + lines) of the last axis, all of it or,
// of one line, [from, to).
struct Tile {
  int64_t tap, taps;
  int64_t line, lines, from, to;
  int64_t place(const Convolution& d) const { return line * d.out[2] + from; }
  int64_t places() const { return lines * (to - from); }
};

// The columns [taps, places] of one group, cut.
class Tiling {
 public:
  Tiling(const Convolution& d, int64_t taps) : taps_(taps), lines_(d.out[0] * d.out[1]), width_(d.out[2]) {
    const int64_t most = std::max(kLeastPlaces, kTile / std::max<int64_t>(taps, 1));
    lines_each_ = even(lines_, std::max<int64_t>(1, most / std::max<int64_t>(width_, 1)), 1);
    width_each_ = width_ > most ? even(width_, most, kLeastPlaces) : width_;
    taps_each_ = even(taps, std::max<int64_t>(1, kTile / std::max<int64_t>(1, lines_each_ * width_each_)), 1);
  }
  int64_t elements() const { return taps_each_ * lines_each_ * width_each_; }

  // Tiles of the same places follow each other.
  template <class F>
  void each(F&& f) const {
    for (int64_t line = 0; line < lines_; line += lines_each_)
      for (int64_t from = 0; from < width_; from += width_each_)
        for (int64_t tap = 0; tap < taps_; tap += taps_each_) {
          if (stop_asked()) return;
          f(Tile{tap, std::min(taps_each_, taps_ - tap), line, std::min(lines_each_, lines_ - line), from,
                 std::min(width_, from + width_each_)});
        }
  }

 private:
  // Pieces of at most `most`, about equal, multiples of `step`.
  static int64_t even(int64_t all, int64_t most, int64_t step) {
    if (all <= most) return std::max<int64_t>(all, 1);
    const int64_t pieces = (all + most - 1) / most, each = (all + pieces - 1) / pieces;
    return std::min(most, (each + step - 1) / step * step);
  }
  int64_t taps_, lines_, width_;
  int64_t taps_each_, lines_each_, width_each_;
};

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

// Calls run(offset in the tile, offset in the image, count) for each run along the last axis; places outside of the
// image are pad(offset, count).
template <class Run, class Pad>
void for_each_run(const Convolution& d, const Tile& t, Run&& run, Pad&& pad) {
  constexpr int64_t kBetweenLooks = 1 << 18;  // elements, a fraction of a millisecond
  const int64_t width = t.to - t.from, places = t.places(), first0 = t.line / d.out[1], first1 = t.line % d.out[1];
  int64_t since = 0, at = 0;
  int64_t k2 = t.tap % d.kernel[2], k1 = t.tap / d.kernel[2] % d.kernel[1],
          k0 = t.tap / (d.kernel[1] * d.kernel[2]) % d.kernel[0], c = t.tap / volume(d.kernel);
  auto next = [&] {
    if (++k2 < d.kernel[2]) return;
    k2 = 0;
    if (++k1 < d.kernel[1]) return;
    k1 = 0;
    if (++k0 < d.kernel[0]) return;
    k0 = 0, ++c;
  };
  for (int64_t i = 0; i < t.taps; ++i, next()) {
    if ((since += places) > kBetweenLooks) {
      if (stop_asked()) return;
      since = 0;
    }
    const int64_t s0 = k0 * d.dilation[0] - d.padding[0], s1 = k1 * d.dilation[1] - d.padding[1],
                  s2 = k2 * d.dilation[2] - d.padding[2];
    const auto [f0, t0] = inside(d.out[0], d.in[0], d.stride[0], s0);
    const auto [f1, t1] = inside(d.out[1], d.in[1], d.stride[1], s1);
    const auto [whole_f2, whole_t2] = inside(d.out[2], d.in[2], d.stride[2], s2);
    const int64_t f2 = std::clamp(whole_f2, t.from, t.to), t2 = std::clamp(whole_t2, f2, t.to);
    int64_t o0 = first0, o1 = first1, lines = t.lines;
    while (lines > 0) {  // lines of one o0
      const int64_t end = std::min(d.out[1], o1 + lines);
      lines -= end - o1;
      const bool none = o0 < f0 || o0 >= t0 || f2 >= t2;
      const int64_t f = none ? end : std::clamp(f1, o1, end), e = none ? end : std::clamp(t1, f, end);
      pad(at, (f - o1) * width);
      at += (f - o1) * width;
      int64_t from =
          ((c * d.in[0] + o0 * d.stride[0] + s0) * d.in[1] + f * d.stride[1] + s1) * d.in[2] + f2 * d.stride[2] + s2;
      for (int64_t line = f; line < e; ++line, at += width, from += d.stride[1] * d.in[2]) {
        pad(at, f2 - t.from);
        run(at + f2 - t.from, from, t2 - f2);
        pad(at + t2 - t.from, t.to - t2);
      }
      pad(at, (end - e) * width);
      at += (end - e) * width;
      o1 = 0, ++o0;
    }
  }
}

template <class T>
void image_to_columns(const Convolution& d, const Tile& t, const T* image, T* columns) {
  int64_t step = d.stride[2];
  for_each_run(
      d, t,
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
void add_columns_to_image(const Convolution& d, const Tile& t, const T* columns, T* image) {
  int64_t step = d.stride[2];
  for_each_run(
      d, t,
      [&](int64_t at, int64_t from, int64_t n) {
        if (step == 1)
          add_run(image + from, columns + at, n);
        else
          for (int64_t i = 0; i < n; ++i) image[from + i * step] += columns[at + i];
      },
      [](int64_t, int64_t) {});
}

// One convolution's sizes, and what is done with one image.
template <class T>
struct Work {
  const Convolution& d;
  const int64_t icg = d.in_channels / d.groups, ocg = d.out_channels / d.groups;
  const int64_t taps = icg * volume(d.kernel), places = volume(d.out), pixels = volume(d.in);
  const int64_t image_size = d.in_channels * pixels, result_size = d.out_channels * places;
  const Tiling tiling{d, taps};

  // result = weight columns(image)
  void forward(const T* image, const T* weight, T* result, T* columns) const {
    for (int64_t q = 0; q < d.groups; ++q)
      tiling.each([&](const Tile& t) {
        image_to_columns(d, t, image + q * icg * pixels, columns);
        multiply(Product{.m = ocg,
                         .n = t.places(),
                         .k = t.taps,
                         .lda = taps,
                         .ldb = t.places(),
                         .ldc = places,
                         .add = t.tap > 0},
                 weight + q * ocg * taps + t.tap, columns, result + q * ocg * places + t.place(d));
      });
  }
  // columns(image) = weight^T result
  void input(const T* result, const T* weight, T* image, T* columns) const {
    std::fill(image, image + image_size, T(0));
    for (int64_t q = 0; q < d.groups; ++q)
      tiling.each([&](const Tile& t) {
        multiply(Product{.m = t.taps,
                         .n = t.places(),
                         .k = ocg,
                         .lda = taps,
                         .ldb = places,
                         .ldc = t.places(),
                         .a_transposed = true},
                 weight + q * ocg * taps + t.tap, result + q * ocg * places + t.place(d), columns);
        add_columns_to_image(d, t, columns, image + q * icg * pixels);
      });
  }
  // weight = result columns(image)^T, or += of it
  void weight(const T* result, const T* image, T* weight, T* columns, bool add) const {
    for (int64_t q = 0; q < d.groups; ++q)
      tiling.each([&](const Tile& t) {
        image_to_columns(d, t, image + q * icg * pixels, columns);
        multiply(Product{.m = ocg,
                         .n = t.taps,
                         .k = t.places(),
                         .lda = places,
                         .ldb = t.places(),
                         .ldc = taps,
                         .b_transposed = true,
                         .add = add || t.place(d) > 0},
                 result + q * ocg * places + t.place(d), columns, weight + q * ocg * taps + t.tap);
      });
  }
};

// The weight's gradient: partial sums of chunks of images, added in order. How many there are at a time is the
// memory's affair, and changes no bits.
template <class T>
void weight_gradient(const Work<T>& w, const T* result, const T* image, T* weight, int threads) {
  const int64_t batch = w.d.batch, chunks = (batch + kImageChunk - 1) / kImageChunk, size = w.d.out_channels * w.taps;
  if (chunks == 0 || w.places == 0) {
    std::fill(weight, weight + size, T(0));
    return;
  }
  PartMemory<T> columns(threads, chunks, w.tiling.elements());
  threads = columns.threads();
  int64_t most = std::min(chunks - 1, std::max<int64_t>(threads, kPartials / std::max<int64_t>(size, 1)));
  auto room = [&] {
    for (;; most /= 2) try {
        return WorkMemory<T>(most * size);
      } catch (const std::bad_alloc&) {
        if (most <= 1) throw;
      }
  };
  const WorkMemory<T> partial = room();
  for (int64_t done = 0; done < chunks;) {
    const int64_t own = done == 0, now = std::min(chunks - done, most + own);  // the first chunk's is the result itself
    parallel_for_or_stop(threads, now, [&](int64_t p) {
      const typename PartMemory<T>::Block block(columns);
      const int64_t first = (done + p) * kImageChunk;
      T* sum = p < own ? weight : partial.data() + (p - own) * size;
      for (int64_t i = first; i < std::min(batch, first + kImageChunk); ++i)
        w.weight(result + i * w.result_size, image + i * w.image_size, sum, block.data(), i > first);
    });
    constexpr int64_t kPart = 16384;
    parallel_for_or_stop(threads, (size + kPart - 1) / kPart, [&](int64_t part) {
      const int64_t from = part * kPart, to = std::min(size, from + kPart);
      for (int64_t p = own; p < now; ++p) {
        const T* x = partial.data() + (p - own) * size;
        for (int64_t j = from; j < to; ++j) weight[j] += x[j];
      }
    });
    done += now;
  }
}

template <class T>
void convolve_as(const Convolution& d, const T* x, const T* y, T* result, int threads) {
  const Work<T> w{d};
  if (d.kind == Convolution::Kind::weight) return weight_gradient(w, x, y, result, threads);
  if (d.batch == 0) return;
  if (w.taps == 0 && d.kind == Convolution::Kind::forward) {  // sums of nothing
    std::fill(result, result + d.batch * w.result_size, T(0));
    return;
  }
  PartMemory<T> columns(threads, d.batch, w.tiling.elements());
  parallel_for_or_stop(columns.threads(), d.batch, [&](int64_t i) {
    const typename PartMemory<T>::Block block(columns);
    if (d.kind == Convolution::Kind::forward)
      w.forward(x + i * w.image_size, y, result + i * w.result_size, block.data());
    else
      w.input(x + i * w.result_size, y, result + i * w.image_size, block.data());
  });
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

}  // namespace

void convolve(const Convolution& d, const void* x, const void* y, void* result, int threads) {
  Convolution a = aligned(d);
  if (d.precision == Precision::bf16 && d.dtype == DType::f32) {
    const int64_t image = d.batch * d.in_channels * volume(a.in), made = d.batch * d.out_channels * volume(a.out),
                  weight = d.out_channels * (d.in_channels / d.groups) * volume(a.kernel);
    using K = Convolution::Kind;
    RoundedOperand rx(x, d.kind == K::forward ? image : made, threads),
        ry(y, d.kind == K::weight ? image : weight, threads);
    return convolve_as<float>(a, rx.data(), ry.data(), static_cast<float*>(result), threads);
  }
  if (d.dtype == DType::f64)
    convolve_as<double>(a, static_cast<const double*>(x), static_cast<const double*>(y), static_cast<double*>(result),
                        threads);
  else
    convolve_as<float>(a, static_cast<const float*>(x), static_cast<const float*>(y), static_cast<float*>(result),
                       threads);
}

}  // namespace ouro::runtime
