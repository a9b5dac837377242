// The batch of a block (ir/loops/batch.h), and programs that are done in chunks of it beside the same without.
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "ir/loops/micro_batch.h"
#include "plan_fixture.h"
#include "runtime/tensor/philox.h"

using namespace ouro;
using ir::loops::BatchOfBlock;

namespace {

BatchOfBlock batch_of(const std::string& text) {
  ir::FunctionRef f = test::read_function(text);
  return ir::loops::find_batch(ir::loops::build_graph(*f, ir::BlockId{0}), [](uint32_t s) { return 5 + int64_t{s}; });
}
std::string refusal(const std::string& text) {
  BatchOfBlock b = batch_of(text);
  CHECK(!b.batch);
  return b.refusal;
}

// A layer, its loss, and the gradients of its parameters.
constexpr const char* kLayer = R"(func @f(%0.x: f32[{0}, 6], %1.y: f32[{0}, 4], %2.w: f32[4, 6], %3.b: f32[4]) {{
  ^0:
    %4: f32[{0}, 4] = matmul_nt %0, %2
    %5: f32[{0}, 4] = add %4, %3
    %6: f32[{0}, 4] = tanh %5
    %7: f32[{0}, 4] = sub %6, %1
    %8: f32[{0}, 4] = mul %7, %7
    %9: f32[] = sum %8, None, False, None
    %10: f32[] = div %9, 52
    %11: f32[{0}, 4] = mul %6, %6
    %12: f32[{0}, 4] = sub 1, %11
    %13: f32[{0}, 4] = mul %7, %12
    %14: f32[4] = sum %13, (0,), False, None
    %15: f32[4, 6] = matmul_tn %13, %0
    %16: f32[4, 6] = sub %2, %15
    %17: f32[4] = sub %3, %14
    %18 = tuple %10, %16, %17
    return %18
  }})";

struct Run {
  std::vector<runtime::Value> outputs;
  int64_t peak = 0;
  jit::Plan::MicroBatching told;
  std::string text;
};
// Three runs; the outputs of the last.
Run run(const std::string& text, uint32_t micro_batch) {
  static runtime::Session s;
  s.state<runtime::RandomState>() = {};
  ir::FunctionRef f = test::read_function(text);
  std::string error;
  jit::PlanRef plan = jit::build_plan(f, {.backend = test::shared_host(), .plan = {.micro_batch = micro_batch}}, error);
  INFO(error);
  REQUIRE(plan);
  Run out;
  for (int k = 0; k < 3; ++k) {
    std::vector<runtime::Value> in;
    for (size_t i = 0; i < f->blocks[0].params.size(); ++i)
      in.push_back(test::random_value(s, f->name_info(f->blocks[0].params[i]).type, i));
    jit::RunContext context{s, 1};
    out.outputs.clear();
    const jit::PlanExit exit = plan->run(in, out.outputs, context);
    if (exit == jit::PlanExit::raised) FAIL(runtime::format_exception(s, s.pending));
    REQUIRE(exit == jit::PlanExit::returned);
  }
  out.peak = plan->peak_bytes();
  out.told = plan->micro_batching();
  out.text = plan->text();
  return out;
}

void near(const std::vector<runtime::Value>& a, const std::vector<runtime::Value>& b, float tolerance = 1e-6f) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_object()) continue;
    auto *x = a[i].as<test::Tensor>(), *y = b[i].as<test::Tensor>();
    REQUIRE(std::ranges::equal(x->shape(), y->shape()));
    if (x->dtype != DType::f32) continue;
    for (int64_t k = 0; k < x->size; ++k) {
      INFO("output " << i << ", element " << k);
      const float p = x->data<float>()[k], q = y->data<float>()[k];
      CHECK(std::abs(p - q) <= tolerance * std::max(1.0f, std::abs(p)));
    }
  }
}

}  // namespace

TEST_CASE("the_batch_of_a_layer_is_what_its_inputs_have_in_common") {
  const BatchOfBlock b = batch_of(fmt::format(kLayer, 12));
  INFO(b.refusal);
  REQUIRE(b.batch);
  CHECK(b.batch->rows == ir::SymDim::number(12));
  using Part = ir::loops::Batch::Part;
  const std::vector<Part> expected{Part::rows, Part::rows,  Part::rows,  Part::rows,  Part::rows,
                                   Part::sum,  Part::after, Part::rows,  Part::rows,  Part::rows,
                                   Part::sum,  Part::sum,   Part::after, Part::after, Part::after};
  CHECK(b.batch->part == expected);
  CHECK(b.batch->sliced.size() == 2);
}

TEST_CASE("chunks_give_the_results_of_the_whole_batch") {
  const Run whole = run(fmt::format(kLayer, 12), 0);
  for (uint32_t size : {1u, 3u, 4u, 5u, 7u, 11u}) {
    const Run chunks = run(fmt::format(kLayer, 12), size);
    INFO(chunks.text);
    CHECK(chunks.told.refusal == "");
    CHECK(chunks.told.size == size);
    CHECK(chunks.told.rows == 12);
    near(whole.outputs, chunks.outputs);
  }
  CHECK(run(fmt::format(kLayer, 12), 12).told.size == 0);
}

TEST_CASE("a_batch_whose_size_is_a_symbol_is_done_in_chunks") {
  const Run whole = run(fmt::format(kLayer, "s9"), 0);  // 14 rows
  for (uint32_t size : {4u, 7u, 13u, 14u, 20u}) {
    const Run chunks = run(fmt::format(kLayer, "s9"), size);
    INFO(chunks.text);
    CHECK(chunks.told.refusal == "");
    CHECK(chunks.told.size == size);
    near(whole.outputs, chunks.outputs);
  }
}

TEST_CASE("the_batch_goes_through_shapes_and_gathers") {
  // A token's row of a table, a matrix over all tokens, and the gradients of both: the batch is the slow part of the
  // axis of all tokens. What is added to a table row by row is added in the order of the rows.
  const std::string text = R"(func @f(%0.ids: i64[6, 4], %1.table: f32[5, 3], %2.w: f32[2, 3]) {
  ^0:
    %3: i64[24] = reshape %0, (-1,)
    %4: f32[24, 3] = pick_rows %1, 0, %3
    %5: f32[6, 4, 3] = reshape %4, (6, 4, 3)
    %6: f32[6, 4, 2] = matmul_nt %5, %2
    %7: f32[24, 2] = reshape %6, (24, 2)
    %8: f32[24, 2] = tanh %7
    %9: f32[24, 3] = matmul %8, %2
    %10: f32[5, 3] = zeros_like %1, None
    %11: f32[5, 3] = index_add %10, 0, %3, %9
    %12: f32[24, 3] = reshape %5, (-1, 3)
    %13: f32[2, 3] = matmul_tn %8, %12
    %14: f32[2] = sum %6, (0, 1), False, None
    %15 = tuple %11, %13, %14
    return %15
  })";
  const BatchOfBlock b = batch_of(text);
  INFO(b.refusal);
  REQUIRE(b.batch);
  CHECK(b.batch->rows == ir::SymDim::number(6));
  const Run whole = run(text, 0);
  for (uint32_t size : {1u, 2u, 3u, 4u, 5u}) {
    const Run chunks = run(text, size);
    INFO(chunks.text);
    CHECK(chunks.told.size == size);
    near(whole.outputs, chunks.outputs);
    CHECK(test::same_bits(whole.outputs[0], chunks.outputs[0]));
  }
}

TEST_CASE("a_sum_over_the_labels_alone_is_done_before") {
  const std::string text = R"(func @f(%0.x: f32[8, 6], %1.y: i64[8], %2.w: f32[6, 6]) {
  ^0:
    %3: bool[8] = ne %1, 1
    %4: f32[8] = astype %3, dtype.f32
    %5: f32[] = sum %4, None, False, None
    %6: f32[8, 6] = matmul %0, %2
    %7: f32[8, 6] = div %6, %5
    %8: f32[8, 1] = unsqueeze %4, 1
    %9: f32[8, 6] = mul %7, %8
    %10: f32[6, 6] = matmul_tn %9, %0
    %11 = tuple %10, %5
    return %11
  })";
  const Run whole = run(text, 0);
  for (uint32_t size : {2u, 3u}) {
    const Run chunks = run(text, size);
    CHECK(chunks.told.refusal == "");
    CHECK(chunks.told.size == size);
    near(whole.outputs, chunks.outputs);
  }
}

TEST_CASE("what_mixes_the_rows_of_a_batch_is_refused_by_name") {
  auto step = [](std::string_view middle, std::string_view result = "%9") {
    return fmt::format(R"(func @f(%0.x: f32[8, 6], %1.w: f32[6, 6]) {{
  ^0:
    %2: f32[8, 6] = matmul %0, %1
{}
    %8: f32[6, 6] = matmul_tn %7, %0
    %9: f32[6, 6] = sub %1, %8
    %10 = tuple {}
    return %10
  }})",
                       middle, result);
  };
  CHECK(batch_of(step("    %7: f32[8, 6] = tanh %2")).batch);
  // Batch norm.
  CHECK(refusal(step(R"(    %3: f32[1, 6] = sum %2, (0,), True, None
    %4: f32[1, 6] = div %3, 8
    %7: f32[8, 6] = sub %2, %4)")) == "the mean mixes the rows of the batch");
  CHECK(refusal(step(R"(    %3: f32[1, 6] = peak %2, 0, True
    %7: f32[8, 6] = sub %2, %3)")) == "the 'peak' mixes the rows of the batch");
  CHECK(refusal(step("    %7: f32[8, 6] = flip %2, (0,)")) == "the 'flip' mixes the rows of the batch");
  CHECK(refusal(step("    %7: f32[8, 6] = cumsum %2, 0")) == "the 'cumsum' mixes the rows of the batch");
  CHECK(batch_of(step("    %7: f32[8, 6] = cumsum %2, 1")).batch);
  CHECK(refusal(step(R"(    %3: f32[3, 16] = reshape %2, (3, 16)
    %4: f32[3, 16] = tanh %3
    %7: f32[8, 6] = reshape %4, (8, 6))")) == "the 'reshape' cuts across the rows of the batch");
  CHECK(refusal(step(R"(    %3: f32[8, 8] = matmul_nt %2, %0
    %7: f32[8, 6] = matmul %3, %2)")) == "the 'matmul_nt' brings each row of the batch together with every other one");
  CHECK(refusal(step("    %7: f32[8, 6] = tanh %2", "%9, %7")) ==
        "the 'tanh' gives a row for each of the batch, and these go out of the step");
  CHECK(refusal(step(R"(    %3: f32[6, 8] = t %2
    %4: f32[6, 8] = rand_like %3
    %5: f32[8, 6] = t %4
    %7: f32[8, 6] = mul %2, %5)")) == "the 'rand_like' draws random numbers for all rows of the batch at once");
  // Two rows of one input are a row of the batch.
  const BatchOfBlock pairs = batch_of(step(R"(    %3: f32[4, 12] = reshape %2, (4, 12)
    %4: f32[4, 12] = flip %3, (1,)
    %7: f32[8, 6] = reshape %4, (8, 6))"));
  REQUIRE(pairs.batch);
  CHECK(pairs.batch->rows == ir::SymDim::number(4));
  // Numbers that are drawn without the rows are drawn before, for all of them.
  CHECK(batch_of(step(R"(    %3: f32[8, 6] = rand (8, 6), None
    %7: f32[8, 6] = mul %2, %3)"))
            .batch);
}

// Operations that keep rows apart and such that do not, on three shapes; in the end sums over all that was made. Where
// a batch is found, chunks of it give what the whole does.
// A sanitizer's compiler takes many times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPrograms = 6;
#else
constexpr int kPrograms = 24;
#endif

TEST_CASE("random_programs_give_the_same_in_chunks") {
  std::mt19937 random(20261129);
  auto below = [&](size_t n) { return random() % n; };
  struct Rule {
    int from, to;  // kinds of shapes
    const char* text;
    bool two = false;
  };
  constexpr const char* kShapes[] = {"f32[12, 6]", "f32[12, 2, 3]", "f32[24, 3]"};
  constexpr Rule kApart[] = {{0, 0, "tanh {0}"},
                             {0, 0, "add {0}, %3"},
                             {0, 0, "mul {0}, {1}", true},
                             {0, 0, "flip {0}, (1,)"},
                             {0, 0, "matmul {0}, %1"},
                             {0, 0, "cumsum {0}, 1"},
                             {0, 1, "reshape {0}, (12, 2, 3)"},
                             {1, 0, "reshape {0}, (12, 6)"},
                             {1, 2, "reshape {0}, (24, 3)"},
                             {2, 1, "reshape {0}, (12, 2, 3)"},
                             {1, 1, "tanh {0}"},
                             {2, 2, "matmul {0}, %2"},
                             {2, 2, "sub {0}, {1}", true},
                             {1, 1, "flip {0}, (1, 2)"},
                             {0, 0, "rand_like {0}"},
                             {1, 1, "maximum {0}, {1}", true},
                             {1, 1, "matmul {0}, %2"},
                             {2, 2, "tril {0}"}};
  constexpr Rule kMixed[] = {{0, 0, "flip {0}, (0,)"}, {2, 2, "flip {0}, (0, 1)"}, {1, 1, "cumsum {0}, 0"}};
  int found = 0, refused = 0;
  for (int program = 0; program < kPrograms; ++program) {
    std::string text = "func @f(%0.x: f32[12, 6], %1.w: f32[6, 6], %2.v: f32[3, 3], %3.b: f32[6]) {\n  ^0:\n";
    std::vector<std::vector<int>> made{{0}, {}, {}};
    int n = 4;
    auto let = [&](const std::string& type, const std::string& what) {
      text += fmt::format("    %{}: {} = {}\n", n, type, what);
      return n++;
    };
    const size_t lets = 6 + below(14);
    for (size_t i = 0; i < lets; ++i) {
      const Rule& r = below(24) ? kApart[below(std::size(kApart))] : kMixed[below(std::size(kMixed))];
      const auto& from = made[static_cast<size_t>(r.from)];
      if (from.empty()) continue;
      auto operand = [&] {
        return fmt::format("%{}", from[from.size() - 1 - below(std::min<size_t>(from.size(), 3))]);
      };
      const std::string a = operand(), b = r.two ? operand() : a;
      made[static_cast<size_t>(r.to)].push_back(let(kShapes[r.to], fmt::format(fmt::runtime(r.text), a, b)));
    }
    std::vector<int> results;
    for (int v : made[0]) {
      const int bounded = let(kShapes[0], fmt::format("tanh %{}", v));
      results.push_back(below(2) ? let("f32[6]", fmt::format("sum %{}, (0,), False, None", bounded))
                                 : let("f32[6, 6]", fmt::format("matmul_tn %{}, %0", bounded)));
    }
    for (int v : made[2])
      results.push_back(
          let("f32[]", fmt::format("sum %{}, None, False, None", let(kShapes[2], fmt::format("tanh %{}", v)))));
    std::string all;
    for (int r : results) all += fmt::format("{}%{}", all.empty() ? "" : ", ", r);
    text += fmt::format("    %{} = tuple {}\n    return %{}\n  }}", n, all, n);
    INFO(text);
    const BatchOfBlock b = batch_of(text);
    INFO(b.refusal);
    (b.batch ? found : refused)++;
    if (!b.batch) continue;
    const Run whole = run(text, 0), even = run(text, 4), uneven = run(text, 5);
    near(whole.outputs, even.outputs, 2e-5f);
    near(whole.outputs, uneven.outputs, 2e-5f);
  }
  CHECK(found >= kPrograms / 4);
  CHECK(found + refused == kPrograms);
  if (kPrograms > 20) CHECK(refused >= 1);
}
