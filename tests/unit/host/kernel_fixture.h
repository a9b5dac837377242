// Runs one kernel through the host backend and through the reference evaluator and compares every byte.
#pragma once

#include <catch2/catch.hpp>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backends/host/host_backend.h"
#include "backends/reference/evaluate.h"
#include "ir/loops/loop_ir.h"

namespace ouro::test {

inline backends::HostBackend& host(const char* cpu = "") {
  static auto make = [](const char* name) {
    std::string error;
    auto b = backends::HostBackend::create({.target = backends::detect_target(name)}, error);
    if (!b) throw std::runtime_error(error);
    return b;
  };
  static auto native = make(""), v3 = make("x86-64-v3"), v2 = make("x86-64-v2");
  return std::strcmp(cpu, "x86-64-v3") == 0 ? *v3 : std::strcmp(cpu, "x86-64-v2") == 0 ? *v2 : *native;
}

/// Pseudo-random elements: floats over several magnitudes with a few special values, small integers, bools.
inline std::vector<char> random_elements(DType t, size_t n, uint64_t seed, bool specials = true) {
  std::mt19937_64 rng(seed);
  std::vector<char> bytes(n * size_of(t) + 64);
  for (size_t i = 0; i < n; ++i) {
    double d = std::ldexp(static_cast<double>(static_cast<int64_t>(rng())) / 9.3e18, static_cast<int>(rng() % 9) - 4);
    if (specials && rng() % 97 == 0) {
      constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, 1e-42, 3e38};
      d = kSpecial[rng() % 8];
    }
    char* p = bytes.data() + i * size_of(t);
    auto put = [&](auto v) { std::memcpy(p, &v, sizeof v); };
    switch (t) {
      case DType::boolean:
        put(static_cast<uint8_t>(rng() & 1));
        break;
      case DType::u8:
      case DType::i8:
        put(static_cast<uint8_t>(rng()));
        break;
      case DType::f16:
      case DType::bf16:
        put(static_cast<uint16_t>(0x3c00 + rng() % 0x400));
        break;
      case DType::i16:
        put(static_cast<int16_t>(rng() % 2000 - 1000));
        break;
      case DType::i32:
        put(static_cast<int32_t>(rng() % 2000) - 1000);
        break;
      case DType::i64:
        put(static_cast<int64_t>(rng() % 2000) - 1000);
        break;
      case DType::f32:
        put(static_cast<float>(d));
        break;
      case DType::f64:
        put(d);
        break;
    }
  }
  return bytes;
}

/// Every NaN becomes the same one: its sign and payload follow the order of operands in an instruction, which nobody
/// controls.
inline void canonical_nans(DType t, std::vector<char>& bytes) {
  auto each = [&](auto tag, auto quiet) {
    using T = decltype(tag);
    for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
      T v;
      std::memcpy(&v, bytes.data() + i, sizeof v);
      if (v != v) std::memcpy(bytes.data() + i, &quiet, sizeof quiet);
    }
  };
  if (t == DType::f32) each(float{}, uint32_t{0x7fc00000});
  if (t == DType::f64) each(double{}, uint64_t{0x7ff8} << 48);
}

/// A kernel on given buffers, and what the evaluator makes of them.
struct KernelCase {
  ir::loops::Kernel kernel;
  std::vector<std::vector<char>> before, after;
  std::vector<int64_t> sizes;
  std::vector<runtime::ScalarArg> scalars;
};
/// When set, kernels go there and not to the host (tests/unit/device).
inline std::function<void(KernelCase)> kernel_sink;

inline std::vector<void*> pointers_to(std::vector<std::vector<char>>& buffers) {
  std::vector<void*> p;
  for (auto& b : buffers) p.push_back(b.data());
  return p;
}

/// Buffers of the lengths given, filled at random (outputs with 0xAB); `sizes` are the kernel's. True bytes on every
/// target.
inline void check_kernel(const std::string& text, const std::vector<size_t>& lengths, const std::vector<int64_t>& sizes,
                         const std::vector<runtime::ScalarArg>& scalars = {}, bool specials = true) {
  ir::loops::Kernel k = ir::loops::read_kernel(text);
  std::vector<std::vector<char>> expected;
  for (size_t i = 0; i < lengths.size(); ++i) {
    expected.push_back(random_elements(k.buffers[i].type, lengths[i], i + 1, specials));
    if (k.buffers[i].access == ir::loops::Access::out) std::memset(expected[i].data(), 0xAB, expected[i].size());
  }
  auto inputs = expected;
  std::vector<void*> p = pointers_to(expected);
  int64_t range = backends::launch_range(k, sizes.data());
  backends::evaluate(k, p.data(), sizes.data(), scalars.data(), 0, range);
  if (kernel_sink) return kernel_sink({k, inputs, expected, sizes, scalars});
  for (const char* cpu : {"", "x86-64-v3", "x86-64-v2"}) {
    auto& backend = host(cpu);
    std::string error;
    const ir::loops::Kernel* kernels[] = {&k};
    auto module = backend.compile(kernels, error);
    INFO(error);
    REQUIRE(module);
    auto actual = inputs;
    p = pointers_to(actual);
    runtime::KernelArgs args{p.data(), sizes.data(), scalars.data(), range, 1};
    REQUIRE(backend.launch(*module, 0, args, 1, error));
    for (size_t i = 0; i < actual.size(); ++i) {
      canonical_nans(k.buffers[i].type, actual[i]);
      canonical_nans(k.buffers[i].type, expected[i]);
      INFO("buffer " << i << " on '" << cpu << "'\n" << text);
      size_t first = 0;
      while (first < actual[i].size() && actual[i][first] == expected[i][first]) ++first;
      INFO("first difference at byte " << first);
      CHECK((actual[i] == expected[i]));
    }
  }
}

}  // namespace ouro::test
