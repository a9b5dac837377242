#include "graph_fixture.h"

using namespace ouro;
using ouro::test::check_clusters;

TEST_CASE("an_elementwise_chain_is_one_flat_kernel") {
  std::string text;
  CHECK(check_clusters(R"(func @f(%0.x: f32[s1, 33], %1.y: f32[s1, 33]) {
  ^0:
    %2: f32[s1, 33] = mul %0, %1
    %3: f32[s1, 33] = add %2, 0.5
    %4: f32[s1, 33] = tanh %3
    %5: f32[s1, 33] = sigmoid %0
    %6: f32[s1, 33] = mul %4, %5
    return %6
  })",
                       &text) == 1);
  CHECK(text.find("loop i1") == std::string::npos);
  CHECK(text.find("b0 out") != std::string::npos);
}

TEST_CASE("softmax_is_one_kernel_over_rows") {
  std::string text;
  CHECK(check_clusters(R"(func @f(%0.x: f32[s1, 10]) {
  ^0:
    %1: f32[s1, 1] = amax[(-1, True)] %0
    %2: f32[s1, 10] = sub %0, %1
    %3: f32[s1, 10] = exp %2
    %4: f32[s1, 1] = sum[(-1, True)] %3
    %5: f32[s1, 10] = div %3, %4
    return %5
  })",
                       &text) == 1);
}

TEST_CASE("log_softmax_and_its_backward_share_no_more_than_they_must") {
  CHECK(check_clusters(R"(func @f(%0.x: f32[s1, 10], %1.g: f32[s1, 10]) {
  ^0:
    %2: f32[s1, 1] = amax[(-1, True)] %0
    %3: f32[s1, 10] = sub %0, %2
    %4: f32[s1, 10] = exp %3
    %5: f32[s1, 1] = sum[(-1, True)] %4
    %6: f32[s1, 1] = log %5
    %7: f32[s1, 10] = sub %3, %6
    %8: f32[s1, 10] = exp %7
    %9: f32[s1] = sum[(1,)] %1
    %10: f32[s1, 1] = unsqueeze[(1,)] %9
    %11: f32[s1, 10] = mul %8, %10
    %12: f32[s1, 10] = sub %1, %11
    %13 = tuple %7, %12
    return %13
  })") == 1);
}

TEST_CASE("adam_updates_of_a_parameter_are_one_kernel") {
  std::string text;
  CHECK(
      check_clusters(
          R"(func @f(%0.p: f32[33, 7], %1.g: f32[33, 7], %2.m: f32[33, 7], %3.v: f32[33, 7], %4.lr: float, %5.c: float) {
  ^0:
    %6: f32[33, 7] = mul %2, 0.9
    %7: f32[33, 7] = mul %1, 0.1
    %8: f32[33, 7] = add %6, %7
    %9: f32[33, 7] = mul %3, 0.999
    %10: f32[33, 7] = mul %1, %1
    %11: f32[33, 7] = mul %10, 0.001
    %12: f32[33, 7] = add %9, %11
    %13: f32[33, 7] = sqrt %12
    %14: f32[33, 7] = div %13, %5
    %15: f32[33, 7] = add %14, 1e-08
    %16: f32[33, 7] = div %8, %15
    %17: f32[33, 7] = mul %16, %4
    %18: f32[33, 7] = sub %0, %17
    %19 = tuple %18, %8, %12
    return %19
  })",
          &text) == 1);
  CHECK(text.find("s1 f64") != std::string::npos);
}

TEST_CASE("the_sum_over_rows_of_a_gradient_reads_it_from_memory") {
  CHECK(check_clusters(R"(func @f(%0.y: f32[s1, 120], %1.g: f32[s1, 120]) {
  ^0:
    %2: bool[s1, 120] = gt %0, 0
    %3: f32[s1, 120] = where %2, %1, 0.0
    %4: f32[120] = sum[(0,)] %3
    %5 = tuple %3, %4
    return %5
  })") == 2);
}

TEST_CASE("columns_are_not_reduced_inside_of_the_row_that_their_sums_are") {
  CHECK(check_clusters(R"(func @f(%0.y: f64[8, 16]) {
  ^0:
    %1: f64[16] = sum[(0,)] %0
    %2: f64[] = sum %1
    return %2
  })") == 2);
}

TEST_CASE("separated_axes_are_reduced_group_by_group") {
  CHECK(check_clusters(R"(func @f(%0.g: f32[6, 5, 9, 7]) {
  ^0:
    %1: f32[5] = sum[((0, 2, 3),)] %0
    %2: f32[6, 1, 9, 1] = sum[((1, 3), True)] %0
    %3: f32[] = sum %0
    %4: f32[1, 5, 1, 1] = sum_to %0, %5
    %6 = tuple %1, %2, %3, %4
    return %6
  })") >= 1);
}

TEST_CASE("views_are_index_arithmetic") {
  CHECK(check_clusters(R"(func @f(%0.x: f32[6, 5, 9], %1.b: f32[5], %2.v: f32[6, 9, 1]) {
  ^0:
    %3: f32[6, 9, 5] = transpose[(1, 2)] %0
    %4: f32[6, 9, 5] = add %3, %1
    %5: f32[6, 9, 5] = mul %4, %2
    %6: f32[6, 9, 5] = flip[(0, 2)] %5
    %7: f32[6, 4, 5] = narrow[(1, 3, 4)] %6
    %8: f32[5, 6, 4] = permute[((2, 0, 1),)] %7
    %9: f32[6, 4, 5] = permute_back[((2, 0, 1),)] %8
    %10: f32[5, 9, 6] = t %3
    %11 = tuple %7, %8, %9, %10
    return %11
  })") >= 1);
}

TEST_CASE("padding_and_concatenation_choose_by_index") {
  CHECK(check_clusters(
            R"(func @f(%0.x: f32[3, 9], %1.y: f32[3, 5], %2.w: f32[3, 14], %9.a: f32[3, 30], %15.b: f32[5, 3]) {
  ^0:
    %3: f32[3, 9] = exp %0
    %4 = tuple %3, %1
    %5: f32[3, 14] = cat[(1,)] %4
    %6: f32[3, 14] = mul %5, %2
    %7: f32[4, 19] = pad_constant[((2, 3, 1, 0), 0.5)] %6
    %8: f32[3, 30] = narrow_back[(1, 4)] %6, %9
    %10: f32[3, 14] = tril[(1,)] %6
    %11: f32[3, 14] = triu[(-1,)] %5
    %12: f32[3] = diagonal[(2,)] %6
    %13: f32[5, 3] = diagonal_back[(-2,)] %12, %15
    %14 = tuple %7, %8, %10, %11, %12, %13
    return %14
  })") >= 1);
}

TEST_CASE("a_reshape_of_something_in_memory_is_another_name_for_it") {
  CHECK(check_clusters(R"(func @f(%0.x: f32[s1, 4, 6], %1.w: f32[24]) {
  ^0:
    %2: f32[s1, 4, 6] = exp %0
    %3: f32[s1, 24] = reshape[((-1, 24),)] %2
    %4: f32[s1, 24] = mul %3, %1
    %5: f32[s1, 1, 24] = unsqueeze[(1,)] %4
    %6: f32[s1, 1, 24] = tanh %5
    return %6
  })") == 2);
}

TEST_CASE("cross_entropy_by_classes_forward_and_backward") {
  CHECK(check_clusters(R"(func @f(%0.p: f32[16, 3], %1.target: i64[16], %2.g: f32[]) {
  ^0:
    %3: bool[16] = ne %1, -100
    %4: i64[16] = where %3, %1, 0
    %5: i64[16, 1] = unsqueeze[(1,)] %4
    %6: f32[16, 1] = gather %0, 1, %5
    %7: f32[16] = squeeze[(1,)] %6
    %8: f32[16] = neg %7
    %9: f32[16] = astype[(dtype.f32,)] %3
    %10: f32[16] = mul %8, %9
    %11: f32[16] = where %3, %10, 0.0
    %12: f32[] = sum %11
    %13: f32[] = sum %9
    %14: f32[] = div %12, %13
    %15: f32[] = div %2, %13
    %16: f32[16] = unreduce %15, %11
    %17: f32[16] = mul %16, %9
    %18: f32[16] = neg %17
    %19: f32[16, 1] = unsqueeze[(1,)] %18
    %20: f32[16, 3] = zeros_like %0
    %21: f32[16, 3] = scatter_add %20, 1, %5, %19
    %22 = tuple %14, %21
    return %22
  })") >= 1);
}

TEST_CASE("max_pooling_forward_and_backward") {
  CHECK(check_clusters(R"(func @f(%0.x: f32[4, 3, 9, 8], %1.b: f32[3, 1, 1], %2.g: f32[4, 3, 4, 4]) {
  ^0:
    %3: f32[4, 3, 9, 8] = add %0, %1
    %4: f32[4, 3, 9, 8] = relu %3
    %5: f32[4, 3, 4, 4] = max_pool[((2, 2), (2, 2), (0, 0), (1, 1), False)] %4
    %6: i64[4, 3, 4, 4] = max_pool_index[((2, 2), (2, 2), (0, 0), (1, 1), False)] %4
    %7: f32[4, 3, 9, 8] = pool_scatter %2, %6, %4
    %8: bool[4, 3, 9, 8] = gt %3, 0
    %9: f32[4, 3, 9, 8] = where %8, %7, 0.0
    %10 = tuple %5, %9
    return %10
  })") >= 1);
}

TEST_CASE("half_floats_are_rounded_after_every_operation") {
  for (std::string t : {"f16", "bf16"})
    check_clusters("func @f(%0.x: " + t + "[3, 70], %1.y: " + t + "[3, 70]) {\n^0:\n%2: " + t +
                   "[3, 70] = mul %0, %1\n%3: " + t + "[3, 70] = add %2, %1\n%4: " + t +
                   "[3] = sum[(1,)] %3\n%5: " + t + "[3] = mul %4, %4\n%6 = tuple %3, %5\nreturn %6\n}");
}

TEST_CASE("integers_bools_and_index_ranges") {
  CHECK(check_clusters(R"(func @f(%0.x: i64[5], %1.b: bool[5, 4]) {
  ^0:
    %2: i64[4] = arange[(4,)]
    %3: i64[5, 1] = unsqueeze[(-1,)] %0
    %4: bool[5, 4] = eq %3, %2
    %5: bool[5, 4] = logical_and %4, %1
    %6: f32[5, 4] = astype[(dtype.f32,)] %5
    %7: i64[5] = sum[(1,)] %5
    %8: bool[] = any %5
    %9: bool[4] = all[(0,)] %1
    %10: i64[5] = amax[(1,)] %3
    %11: f32[5, 4] = full[((5, 4), 2.5)]
    %12: f32[5, 4] = add %11, %6
    %13 = tuple %6, %7, %8, %9, %12
    return %13
  })") >= 1);
}

TEST_CASE("layer_norm_reads_its_input_in_one_kernel") {
  CHECK(check_clusters(R"(func @f(%0.x: f32[s1, 48], %1.w: f32[48], %2.b: f32[48]) {
  ^0:
    %3: f32[s1, 1] = sum[(-1, True)] %0
    %4: f32[s1, 1] = div %3, 48
    %5: f32[s1, 48] = sub %0, %4
    %6: f32[s1, 48] = mul %5, %5
    %7: f32[s1, 1] = sum[(-1, True)] %6
    %8: f32[s1, 1] = div %7, 48
    %9: f32[s1, 1] = add %8, 1e-05
    %10: f32[s1, 1] = sqrt %9
    %11: f32[s1, 48] = div %5, %10
    %12: f32[s1, 48] = mul %11, %1
    %13: f32[s1, 48] = add %12, %2
    return %13
  })") == 1);
}
