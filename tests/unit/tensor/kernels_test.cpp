// The kernels have the same bits for every instruction set, and reductions follow ir/ops/reduce_order.h.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "ir/ops/reduce_order.h"
#include "runtime/tensor/kernels.h"

using namespace ouro;
using namespace ouro::runtime;

namespace {

std::vector<const KernelTable*> tables() {
  std::vector<const KernelTable*> t{&kKernelsV2};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) t.push_back(&kKernelsAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    t.push_back(&kKernelsAvx512);
  return t;
}

// Bytes that are numbers of that type, specials among them.
std::vector<char> bytes_of(DType t, int n, uint64_t seed) {
  std::mt19937_64 r(seed);
  std::vector<char> out(static_cast<size_t>(n) * 8);
  for (int i = 0; i < n; ++i) {
    if (t == DType::f32) {
      float f = i % 7 == 0
                    ? std::bit_cast<float>(static_cast<uint32_t>(r()))
                    : static_cast<float>(std::ldexp(static_cast<double>(r() >> 11), -50 - static_cast<int>(r() % 6)));
      if (r() & 1) f = -f;
      std::memcpy(&out[i * 4], &f, 4);
    } else if (t == DType::f64) {
      double f = i % 7 == 0 ? std::bit_cast<double>(r())
                            : std::ldexp(static_cast<double>(r() >> 11), -50 - static_cast<int>(r() % 6));
      if (r() & 1) f = -f;
      std::memcpy(&out[i * 8], &f, 8);
    } else if (t == DType::boolean) {
      out[i] = static_cast<char>(r() & 1);
    } else {
      uint64_t v = i % 5 ? r() % 100 : r();
      std::memcpy(&out[i * size_of(t)], &v, size_of(t));
    }
  }
  return out;
}
// Equal bytes, but one NaN is like another (which operand's payload comes through is not ours to say).
bool same(DType t, const char* a, const char* b, int n) {
  for (int i = 0; i < n; ++i) {
    size_t z = size_of(t);
    if (std::memcmp(a + i * z, b + i * z, z) == 0) continue;
    if (t == DType::f32) {
      float x, y;
      std::memcpy(&x, a + i * 4, 4), std::memcpy(&y, b + i * 4, 4);
      if (x != x && y != y) continue;
    }
    if (t == DType::f64) {
      double x, y;
      std::memcpy(&x, a + i * 8, 8), std::memcpy(&y, b + i * 8, 8);
      if (x != x && y != y) continue;
    }
    return false;
  }
  return true;
}

template <class T>
T tree(std::vector<T> e) {  // order A, for sums, as written
  do {
    std::vector<T> next;
    for (size_t at = 0; at < e.size() || next.empty(); at += ir::kReduceBlock) {
      T lane[ir::kReduceLanes] = {};
      for (size_t i = at; i < std::min(e.size(), at + ir::kReduceBlock); ++i) lane[(i - at) % ir::kReduceLanes] += e[i];
      for (int h = 32; h >= 1; h /= 2)
        for (int j = 0; j < h; ++j) lane[j] += lane[j + h];
      next.push_back(lane[0]);
    }
    e = std::move(next);
  } while (e.size() > 1);
  return e[0];
}

}  // namespace

TEST_CASE("every instruction set gives the same bits") {
  constexpr int n = 517;
  auto all = tables();
  for (int l = 0; l < ir::kLeafCount; ++l)
    for (int d = 0; d < kDTypeCount; ++d) {
      DType t = static_cast<DType>(d);
      if (!all[0]->leaf[l][d]) continue;
      ir::Leaf leaf = static_cast<ir::Leaf>(l);
      std::vector<char> a = bytes_of(t, n, 1), b = bytes_of(t, n, 2), mask = bytes_of(DType::boolean, n, 3);
      bool select = leaf == ir::Leaf::select;
      DType result = ir::info(leaf).result == ir::LeafResult::boolean ? DType::boolean : t;
      std::vector<char> first(n * 8), other(n * 8);
      auto run = [&](const KernelTable* k, char* out) {
        k->leaf[l][d](out, select ? mask.data() : a.data(), select ? a.data() : b.data(), b.data(), n);
      };
      run(all[0], first.data());
      for (const KernelTable* k : all) {
        run(k, other.data());
        INFO(ir::info(leaf).name << " " << name(t) << " " << k->name);
        CHECK(same(result, first.data(), other.data(), n));
      }
    }
  for (int from = 0; from < kDTypeCount; ++from)
    for (int to = 0; to < kDTypeCount; ++to) {
      std::vector<char> a = bytes_of(static_cast<DType>(from), n, 4), first(n * 8), other(n * 8);
      all[0]->cast[from][to](first.data(), a.data(), n);
      for (const KernelTable* k : all) {
        k->cast[from][to](other.data(), a.data(), n);
        INFO(name(static_cast<DType>(from)) << " to " << name(static_cast<DType>(to)) << " " << k->name);
        CHECK(same(static_cast<DType>(to), first.data(), other.data(), n));
      }
    }
}

TEST_CASE("row sums follow the tree of 64 lanes and blocks of 4096") {
  std::mt19937 r(5);
  for (size_t n : {0, 1, 2, 63, 64, 65, 127, 4095, 4096, 4097, 20000, 300001}) {
    std::vector<float> x(n);
    for (float& v : x) v = static_cast<float>(r()) / 1e6f - 2000;
    std::vector<double> y(x.begin(), x.end());
    float want = tree(x);
    double want64 = tree(y);
    for (const KernelTable* k : tables()) {
      float got;
      double got64;
      k->fold[ir::combine_index(ir::Leaf::add)][static_cast<int>(DType::f32)](&got, x.data(), static_cast<int64_t>(n));
      k->fold[ir::combine_index(ir::Leaf::add)][static_cast<int>(DType::f64)](&got64, y.data(),
                                                                              static_cast<int64_t>(n));
      CHECK(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want));
      CHECK(std::bit_cast<uint64_t>(got64) == std::bit_cast<uint64_t>(want64));
    }
  }
}

TEST_CASE("column sums take blocks of 64 rows in order") {
  std::mt19937 r(6);
  for (int64_t rows : {1, 5, 64, 65, 200})
    for (int64_t inner : {1, 3, 255, 256, 300}) {
      std::vector<float> x(static_cast<size_t>(rows * inner)), out(static_cast<size_t>(inner));
      for (float& v : x) v = static_cast<float>(r()) / 1e6f - 2000;
      for (const KernelTable* k : tables()) {
        k->columns[ir::combine_index(ir::Leaf::add)][static_cast<int>(DType::f32)](out.data(), x.data(), rows, inner,
                                                                                   inner);
        for (int64_t j = 0; j < inner; ++j) {
          float acc = 0;
          for (int64_t b = 0; b < rows; b += ir::kReduceRows) {
            float t = 0;
            for (int64_t i = b; i < std::min(rows, b + ir::kReduceRows); ++i)
              t += x[static_cast<size_t>(i * inner + j)];
            acc += t;
          }
          REQUIRE(std::bit_cast<uint32_t>(out[static_cast<size_t>(j)]) == std::bit_cast<uint32_t>(acc));
        }
      }
    }
}

TEST_CASE("half floats round to nearest even") {
  auto round_trip = [](DType t, double x) {
    uint16_t h;
    double back;
    kernels().cast[static_cast<int>(DType::f64)][static_cast<int>(t)](&h, &x, 1);
    kernels().cast[static_cast<int>(t)][static_cast<int>(DType::f64)](&back, &h, 1);
    return back;
  };
  CHECK(round_trip(DType::f16, 1 + 0x1p-11) == 1);
  CHECK(round_trip(DType::f16, 1 + 0x1.8p-10) == 1 + 0x1p-9);
  CHECK(round_trip(DType::f16, 65504) == 65504);
  CHECK(round_trip(DType::f16, 65520) == HUGE_VAL);
  CHECK(round_trip(DType::f16, 0x1p-24) == 0x1p-24);
  CHECK(round_trip(DType::f16, 0x1p-26) == 0);
  CHECK(round_trip(DType::bf16, 1 + 0x1p-8) == 1);
  CHECK(round_trip(DType::bf16, 3.0e38) == Approx(3.0e38).epsilon(0.01));
  CHECK(std::isnan(round_trip(DType::f16, NAN)));
  CHECK(round_trip(DType::f16, -0.1) == Approx(-0.1).epsilon(0.001));
}
