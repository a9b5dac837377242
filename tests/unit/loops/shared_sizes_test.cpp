// Kernels that differ in many small sizes become one with parameters; those that differ in few, or in numbers that are
// no sizes, stay as they are.
#include "ir/loops/shared_sizes.h"

#include <set>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "ir/loops/loop_ir.h"

using namespace ouro::ir::loops;

namespace {
// Rows of `n` elements of which `first` is added; `m` rows, a size of the kernel.
LoweredKernel rows(int64_t n, int64_t first = 3) {
  LoweredKernel k;
  k.kernel = read_kernel(fmt::format(R"(kernel(b0 in i64, b1 out i64; n0;) {{
  parallel i0 < n0 {{
    %0 = ix.mul i0, {0}
    loop i1 < {0} {{
      %1 = ix.add %0, i1
      %2 = load.i64 b0[%1]
      %3 = add.i64 %2, {1}
      store b1[%1] = %3
    }}
  }}
}})",
                                     n, first));
  k.sizes = {Poly(40)};
  return k;
}

size_t distinct(const std::vector<LoweredKernel>& kernels) {
  std::set<std::string> texts;
  for (const LoweredKernel& k : kernels) {
    REQUIRE(verify(k.kernel) == "");
    texts.insert(print(k.kernel));
  }
  return texts.size();
}
}  // namespace

TEST_CASE("kernels_that_differ_in_many_sizes_are_one") {
  std::vector<LoweredKernel> kernels;
  for (int64_t n = 5; n < 21; ++n) kernels.push_back(rows(n));
  share_sizes(kernels);
  CHECK(distinct(kernels) == 1);
  for (int64_t n = 5; n < 21; ++n) {
    const LoweredKernel& k = kernels[static_cast<size_t>(n - 5)];
    CHECK(k.kernel.sizes == 2);
    CHECK(k.sizes == Polys{Poly(40), Poly(n)});
  }
}

TEST_CASE("kernels_that_differ_in_few_sizes_keep_them") {
  std::vector<LoweredKernel> kernels;
  for (int round = 0; round < 9; ++round)
    for (int64_t n = 5; n < 5 + static_cast<int64_t>(kFewSizes); ++n) kernels.push_back(rows(n));
  share_sizes(kernels);
  CHECK(distinct(kernels) == kFewSizes);
  CHECK(kernels[0].kernel.sizes == 1);
}

TEST_CASE("a_number_that_is_negative_is_no_size") {
  std::vector<LoweredKernel> kernels;
  for (int64_t n = -4; n < 4; ++n)
    if (n) kernels.push_back(rows(9, n));
  share_sizes(kernels);
  CHECK(distinct(kernels) == kernels.size());
}
