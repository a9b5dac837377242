#include "runtime/tensor/move.h"

#include <algorithm>
#include <cstring>

#include "runtime/machine/threads.h"

namespace ouro::runtime {

std::vector<int64_t> row_major(std::span<const int64_t> dims) {
  std::vector<int64_t> s(dims.size());
  int64_t n = 1;
  for (size_t i = dims.size(); i-- > 0;) s[i] = n, n *= dims[i];
  return s;
}

namespace {

struct Axis {
  int64_t n, to, from;
};

template <class T>
void copy_row(T* to, int64_t ts, const T* from, int64_t fs, int64_t n) {
  if (ts == 1 && fs == 1) {
    std::memcpy(to, from, n * sizeof(T));
  } else if (ts == 1 && fs == 0) {
    std::fill(to, to + n, *from);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * ts] = from[i * fs];
  }
}
// A plane whose rows are contiguous on one side and columns on the other: in tiles, so that both sides stay in cache.
template <class T>
void transpose_plane(T* to, const Axis& a, const T* from, const Axis& b) {
  constexpr int64_t kTile = 32;
  for (int64_t i0 = 0; i0 < a.n; i0 += kTile)
    for (int64_t j0 = 0; j0 < b.n; j0 += kTile) {
      int64_t i1 = std::min(a.n, i0 + kTile), j1 = std::min(b.n, j0 + kTile);
      for (int64_t i = i0; i < i1; ++i)
        for (int64_t j = j0; j < j1; ++j) to[i * a.to + j * b.to] = from[i * a.from + j * b.from];
    }
}

template <class T>
void copy_axes(const Axis* axes, int rank, T* to, const T* from) {
  if (rank == 0) {
    *to = *from;
  } else if (rank == 1) {
    copy_row(to, axes[0].to, from, axes[0].from, axes[0].n);
  } else if (rank == 2 && axes[1].from != 1 && axes[0].from == 1 && axes[0].n > 8 && axes[1].n > 8) {
    transpose_plane(to, axes[0], from, axes[1]);
  } else if (rank == 2) {
    for (int64_t i = 0; i < axes[0].n; ++i)
      copy_row(to + i * axes[0].to, axes[1].to, from + i * axes[0].from, axes[1].from, axes[1].n);
  } else {
    for (int64_t i = 0; i < axes[0].n; ++i) copy_axes(axes + 1, rank - 1, to + i * axes[0].to, from + i * axes[0].from);
  }
}

template <class T>
void copy_typed(std::vector<Axis>& axes, char* to, const char* from, int threads) {
  T* t = reinterpret_cast<T*>(to);
  const T* f = reinterpret_cast<const T*>(from);
  int64_t total = 1;
  for (const Axis& a : axes) total *= a.n;
  if (total > 131072 && !axes.empty() && axes[0].n > 1 && !in_part()) {
    Axis first = axes[0];
    constexpr int64_t kPart = 1 << 20;
    // At least 16 for threads, where there are as many rows; more for interrupts, of rows enough to transpose.
    int64_t parts = axes.size() > 1 ? std::max(std::min<int64_t>(first.n, 16), std::min(first.n / 32, total / kPart))
                                    : std::max<int64_t>(1, total / kPart);
    parallel_for_or_stop(axes.size() > 1 ? threads : 1, parts, [&](int64_t p) {
      int64_t b = first.n * p / parts, e = first.n * (p + 1) / parts;
      std::vector<Axis> mine = axes;
      mine[0].n = e - b;
      if (e > b) copy_axes(mine.data(), static_cast<int>(mine.size()), t + b * first.to, f + b * first.from);
    });
    return;
  }
  copy_axes(axes.data(), static_cast<int>(axes.size()), t, f);
}

}  // namespace

void copy_nd(std::span<const int64_t> dims, char* to, const int64_t* ts, const char* from, const int64_t* fs,
             size_t element, int threads) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return;
    if (dims[i] == 1) continue;
    Axis a{dims[i], ts[i], fs[i]};
    if (!axes.empty() && axes.back().to == a.to * a.n && axes.back().from == a.from * a.n)
      axes.back() = {axes.back().n * a.n, a.to, a.from};
    else
      axes.push_back(a);
  }
  switch (element) {
    case 1:
      return copy_typed<uint8_t>(axes, to, from, threads);
    case 2:
      return copy_typed<uint16_t>(axes, to, from, threads);
    case 4:
      return copy_typed<uint32_t>(axes, to, from, threads);
    default:
      return copy_typed<uint64_t>(axes, to, from, threads);
  }
}

}  // namespace ouro::runtime
