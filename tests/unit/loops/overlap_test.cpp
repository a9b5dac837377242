// Which output may have the memory of which input (ir/loops/overlap.h).
#include "ir/loops/overlap.h"

#include <catch2/catch.hpp>

using namespace ouro;
using namespace ouro::ir::loops;

namespace {

// b1 is the input asked about, b0 the output; n0, n1 are rows and columns.
bool shares(const char* text, bool device = false) {
  LoweredKernel k;
  k.kernel = read_kernel(text);
  for (uint32_t s = 0; s < k.kernel.sizes; ++s) k.sizes.push_back(Poly::symbol(s + 1));
  return may_overwrite(k, 1, 0, device);
}

}  // namespace

TEST_CASE("an_elementwise_output_may_take_its_input") {
  CHECK(shares(R"(kernel(b0 out f32, b1 in f32; n0;) {
    parallel i0 < n0 {
      %0 = load.f32 b1[i0]
      %1 = exp.f32 %0
      store b0[i0] = %1
    }
  })"));
}

TEST_CASE("an_input_read_after_the_store_is_kept") {
  // The mistake of old: equal indices, but the second statement reads what the first has overwritten.
  CHECK(!shares(R"(kernel(b0 out f32, b1 in f32, b2 out f32, b3 in f32; n0;) {
    parallel i0 < n0 {
      %0 = load.f32 b3[i0]
      store b0[i0] = %0
      %1 = load.f32 b1[i0]
      store b2[i0] = %1
    }
  })"));
  CHECK(shares(R"(kernel(b0 out f32, b1 in f32, b2 out f32; n0;) {
    parallel i0 < n0 {
      %0 = load.f32 b1[i0]
      store b2[i0] = %0
      %1 = exp.f32 %0
      store b0[i0] = %1
    }
  })"));
}

TEST_CASE("a_value_that_is_there_already_is_not_read_again") {
  CHECK(shares(R"(kernel(b0 out f32, b1 in f32, b2 out f32; n0;) {
    parallel i0 < n0 {
      %0 = load.f32 b1[i0]
      %1 = exp.f32 %0
      store b0[i0] = %1
      store b2[i0] = %0
    }
  })"));
}

TEST_CASE("a_transposed_input_is_kept") {
  CHECK(!shares(R"(kernel(b0 out f32, b1 in f32; n0, n1;) {
    parallel i0 < n0 {
      %0 = ix.mul i0, n1
      parallel i1 < n1 {
        %1 = ix.add %0, i1
        %2 = ix.mul i1, n0
        %3 = ix.add %2, i0
        %4 = load.f32 b1[%3]
        store b0[%1] = %4
      }
    }
  })"));
}

TEST_CASE("a_neighbour_is_kept") {
  CHECK(!shares(R"(kernel(b0 out f32, b1 in f32; n0;) {
    parallel i0 < n0 {
      %0 = ix.add i0, 1
      %1 = load.f32 b1[%0]
      store b0[i0] = %1
    }
  })"));
}

constexpr const char* kSoftmaxOfRows = R"(kernel(b0 out f32, b1 in f32; n0, n1;) {
  parallel i0 < n0 {
    %0 = ix.mul i0, n1
    reduce fold i1 < n1 {
      %1 = ix.add %0, i1
      %2 = load.f32 b1[%1]
    } r0 = max.f32 %2
    loop i2 < n1 {
      %3 = ix.add %0, i2
      %4 = load.f32 b1[%3]
      %5 = sub.f32 %4, r0
      store b0[%3] = %5
    }
  }
})";

TEST_CASE("a_row_that_is_reduced_first_may_be_overwritten_by_its_own_iteration") { CHECK(shares(kSoftmaxOfRows)); }

TEST_CASE("items_of_a_group_do_not_wait_for_each_other") { CHECK(!shares(kSoftmaxOfRows, true)); }

TEST_CASE("a_row_of_another_iteration_is_kept") {
  CHECK(!shares(R"(kernel(b0 out f32, b1 in f32; n0, n1;) {
  parallel i0 < n0 {
    %0 = ix.mul i0, n1
    reduce blocks i1 < n0 {
      %1 = ix.mul i1, n1
      %2 = ix.add %1, i0
      %3 = load.f32 b1[%2]
    } r0 = add.f32 %3
    loop i2 < n1 {
      %4 = ix.add %0, i2
      store b0[%4] = r0
    }
  }
})"));
}

TEST_CASE("an_input_that_is_the_same_for_all_iterations_is_kept") {
  CHECK(!shares(R"(kernel(b0 out f32, b1 in f32; n0;) {
    %0 = load.f32 b1[0]
    parallel i0 < n0 {
      store b0[i0] = %0
    }
  })"));
}
