#include "plan_fixture.h"

using namespace ouro;
using ouro::test::check_plan;

TEST_CASE("an_elementwise_plan_gives_the_eager_bits") {
  auto p = check_plan(R"(func @f(%0.x: f32[s1, 33], %1.y: f32[s1, 33], %2.k: float) {
  ^0:
    %3: f32[s1, 33] = mul %0, %1
    %4: f32[s1, 33] = add %3, %2
    %5: f32[s1, 33] = tanh %4
    %6: f32[s1, 33] = sigmoid %0
    %7: f32[s1, 33] = mul %5, %6
    return %7
  })");
  CHECK(p.plan->kernels() == 1);
  CHECK(p.counters.donated == 3);
}

constexpr const char* kMlpStep =
    R"(func @step(%0.x: f32[64, 30], %1.t: i64[64], %2.w1: f32[20, 30], %3.b1: f32[20], %4.w2: f32[3, 20], %5.b2: f32[3], %6.lr: float) {
  ^0:
    %10: f32[64, 20] = matmul_nt %0, %2
    %11: f32[64, 20] = add %10, %3
    %12: f32[64, 20] = relu %11
    %13: f32[64, 3] = matmul_nt %12, %4
    %14: f32[64, 3] = add %13, %5
    %15: f32[64, 1] = amax[(1, True)] %14
    %16: f32[64, 3] = sub %14, %15
    %17: f32[64, 3] = exp %16
    %18: f32[64, 1] = sum[(1, True)] %17
    %19: f32[64, 1] = log %18
    %20: f32[64, 3] = sub %16, %19
    %21: i64[64, 1] = unsqueeze[(1,)] %1
    %22: f32[64, 1] = gather %20, 1, %21
    %23: f32[] = sum %22
    %24: f32[] = div %23, -64.0
    %30: f32[] = full[((), -0.015625, dtype.f32)]
    %31: f32[64, 1] = unreduce %30, %22
    %32: f32[64, 3] = zeros_like %20
    %33: f32[64, 3] = scatter_add %32, 1, %21, %31
    %34: f32[64] = sum[(1,)] %33
    %35: f32[64, 3] = exp %20
    %36: f32[64, 1] = unsqueeze[(1,)] %34
    %37: f32[64, 3] = mul %35, %36
    %38: f32[64, 3] = sub %33, %37
    %39: f32[3] = sum_to %38, %5
    %40: f32[3, 20] = matmul_tn %38, %12
    %41: f32[64, 20] = matmul %38, %4
    %42: f32[64, 20] = relu.d0 %11, %12
    %43: f32[64, 20] = mul %41, %42
    %44: f32[20] = sum_to %43, %3
    %45: f32[20, 30] = matmul_tn %43, %0
    %50: f32[20, 30] = mul %45, %6
    %51: f32[20, 30] = sub %2, %50
    %52: f32[20] = mul %44, %6
    %53: f32[20] = sub %3, %52
    %54: f32[3, 20] = mul %40, %6
    %55: f32[3, 20] = sub %4, %54
    %56: f32[3] = mul %39, %6
    %57: f32[3] = sub %5, %56
    %60 = tuple %24, %51, %53, %55, %57
    return %60
  })";

TEST_CASE("a_training_step_gives_the_eager_bits") {
  auto p = check_plan(kMlpStep);
  INFO(p.text);
  CHECK(p.counters.rows == 0);
  CHECK(p.counters.boxed == 0);
  CHECK(p.plan->kernels() <= 8);
}

TEST_CASE("a_training_step_updates_its_parameters_in_place") {
  ir::FunctionRef f = test::read_function(kMlpStep);
  runtime::Session s;
  std::string error;
  jit::PlanRef plan = jit::build_plan(f, {.backend = test::shared_host()}, error);
  REQUIRE(plan);
  std::vector<runtime::Value> state, out;
  for (size_t i = 0; i < f->blocks[0].params.size(); ++i)
    state.push_back(test::random_value(s, f->name_info(f->blocks[0].params[i]).type, i));
  jit::RunContext context{s, 1};
  uint64_t before = 0;
  const void* w1 = nullptr;
  for (int step = 0; step < 5; ++step) {
    std::vector<runtime::Value> in(state.begin(), state.begin() + 2);
    for (size_t i = 2; i < 6; ++i) in.push_back(std::move(state[i]));
    in.push_back(state[6]);
    if (step == 2) before = plan->counters().tensors_made;
    REQUIRE(plan->run(in, out, context) == jit::PlanExit::returned);
    for (size_t i = 2; i < 6; ++i) state[i] = std::move(out[i - 1]);
    if (step > 0) CHECK(state[2].as<runtime::Tensor>()->data() == w1);
    w1 = state[2].as<runtime::Tensor>()->data();
  }
  CHECK(plan->counters().tensors_made == before);  // after the first steps nothing is allocated
}

TEST_CASE("views_and_reshapes_leave_the_plan_as_tensors") {
  check_plan(R"(func @f(%0.x: f32[6, 4], %1.w: f32[4, 5]) {
  ^0:
    %2: f32[24] = reshape[((-1,),)] %0
    %3: f32[4, 6] = t %0
    %4: f32[6, 5] = matmul %0, %1
    %5: f32[30] = reshape[((30,),)] %4
    %6: f32[30] = exp %5
    %7: f32[2, 15] = reshape[((2, 15),)] %6
    %8 = tuple %2, %3, %5, %7, %0
    return %8
  })");
}

TEST_CASE("what_no_kernel_can_do_is_the_rows_own") {
  auto p = check_plan(R"(func @f(%0.x: f32[5, 7]) {
  ^0:
    %1: f32[5, 7] = exp %0
    %2: i64[5, 7] = argsort[(1,)] %1
    %3: f32[5, 7] = gather %1, 1, %2
    %4: f32[5, 7] = cumsum[(0,)] %3
    %5: f32[5, 7] = neg %4
    return %5
  })");
  CHECK(p.counters.rows == 6);
}

TEST_CASE("an_index_out_of_range_raises_as_the_row_does") {
  ir::FunctionRef f = test::read_function(R"(func @f(%0.x: f32[5, 7], %1.i: i64[5, 1]) {
  ^0:
    %2: f32[5, 1] = gather %0, 1, %1
    return %2
  })");
  runtime::Session s;
  std::string error;
  jit::PlanRef plan = jit::build_plan(f, {.backend = test::shared_host()}, error);
  REQUIRE(plan);
  std::vector<runtime::Value> in, out;
  for (size_t i = 0; i < 2; ++i) in.push_back(test::random_value(s, f->name_info(f->blocks[0].params[i]).type, i));
  in[1].as<runtime::Tensor>()->data<int64_t>()[2] = -1;
  in[1].as<runtime::Tensor>()->data<int64_t>()[3] = 7;
  jit::RunContext context{s, 1};
  REQUIRE(plan->run(in, out, context) == jit::PlanExit::raised);
  CHECK(runtime::format_exception(s, s.pending)
            .find("IndexError: gather: index 7 is out of bounds for an axis of size 7") != std::string::npos);
}

TEST_CASE("loops_and_branches_move_values_between_blocks") {
  ir::FunctionRef f = test::read_function(R"(func @f(%0.x: f32[4], %1.n: int) {
  ^0:
    jump ^1(%0, 0)
  loop ^1(%2.y: f32[4], %3.i: int):
    %4: bool = cmp.lt %3, %1
    if %4 ^2 ^3
  ^2:
    %5: f32[4] = mul %2, 2.0
    %6: f32[4] = add %5, %0
    %7: int = op.add %3, 1
    jump ^1(%6, %7)
  ^3:
    %8: f32[4] = neg %2
    %9 = tuple %8, %3
    return %9
  })");
  runtime::Session s;
  std::string error;
  jit::PlanRef plan = jit::build_plan(f, {.backend = test::shared_host()}, error);
  INFO(error);
  REQUIRE(plan);
  INFO(plan->text());
  std::vector<runtime::Value> in{test::random_value(s, f->name_info(f->blocks[0].params[0]).type, 3),
                                 runtime::Value::integer(3)},
      out;
  float x = in[0].as<runtime::Tensor>()->data<float>()[1];
  jit::RunContext context{s, 1};
  REQUIRE(plan->run(in, out, context) == jit::PlanExit::returned);
  CHECK(out[1].as_int() == 3);
  CHECK(out[0].as<runtime::Tensor>()->data<float>()[1] == -(((x * 2 + x) * 2 + x) * 2 + x));
}

TEST_CASE("a_version_is_left_with_its_reason") {
  ir::FunctionRef f = test::read_function(R"(func @f(%0.n: int) {
  ^0:
    %1: bool = cmp.lt %0, 10
    if %1 ^1 ^2
  ^1:
    return %0
  ^2:
    raise "n is no longer below 10"
  })");
  runtime::Session s;
  std::string error;
  jit::PlanRef plan = jit::build_plan(f, {.backend = test::shared_host()}, error);
  REQUIRE(plan);
  jit::RunContext context{s, 1};
  std::vector<runtime::Value> in{runtime::Value::integer(3)}, out;
  CHECK(plan->run(in, out, context) == jit::PlanExit::returned);
  in = {runtime::Value::integer(30)};
  CHECK(plan->run(in, out, context) == jit::PlanExit::left);
  CHECK(plan->leave_reason() == "n is no longer below 10");
}
