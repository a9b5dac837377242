// Recompute instead of keep (ir/loops/recompute.h): budgets that are met, and bits that do not change.
#include <random>
#include <set>

#include <fmt/format.h>

#include "ir/loops/recompute.h"
#include "plan_fixture.h"
#include "runtime/demand/plan.h"

using namespace ouro;

namespace {

// What a backward pass reads of the forward pass: `depth` layers h = tanh(h w), then from the last to the first
// g = (g (1 - h h)) w^T, and the gradient of each w.
std::string chain(int depth, int rows, int width) {
  const std::string h = fmt::format("f32[{}, {}]", rows, width), w = fmt::format("f32[{0}, {0}]", width);
  std::string out = fmt::format("func @f(%0.x: {}, %1.w: {}) {{\n  ^0:\n", h, w);
  int n = 2, last = 0;
  std::vector<int> made{0};
  auto let = [&](const std::string& type, const std::string& what) {
    out += fmt::format("    %{}: {} = {}\n", n, type, what);
    return n++;
  };
  for (int i = 0; i < depth; ++i) {
    const int product = let(h, fmt::format("matmul %{}, %1", last));
    made.push_back(last = let(h, fmt::format("tanh %{}", product)));
  }
  int g = last;
  std::vector<int> results;
  for (int i = depth; i > 0; --i) {
    const int square = let(h, fmt::format("mul %{0}, %{0}", made[static_cast<size_t>(i)]));
    const int slope = let(h, fmt::format("add %{}, 1", let(h, fmt::format("neg %{}", square))));
    const int d = let(h, fmt::format("mul %{}, %{}", g, slope));
    const int t = let(fmt::format("f32[{}, {}]", width, rows), fmt::format("t %{}", made[static_cast<size_t>(i - 1)]));
    results.push_back(let(w, fmt::format("matmul %{}, %{}", t, d)));
    const int wt = let(w, "t %1");
    g = let(h, fmt::format("matmul %{}, %{}", d, wt));
  }
  int sum = results[0];
  for (size_t i = 1; i < results.size(); ++i) sum = let(w, fmt::format("add %{}, %{}", sum, results[i]));
  return out + fmt::format("    %{} = tuple %{}, %{}\n    return %{}\n  }}", n, sum, g, n);
}

struct Run {
  std::vector<runtime::Value> outputs;
  int64_t peak = 0;
  jit::Plan::Recomputing recomputing;
};
Run run(const std::string& text, uint16_t level) {
  runtime::Session s;
  ir::FunctionRef f = test::read_function(text);
  std::string error;
  jit::PlanRef plan = jit::build_plan(f, {.backend = test::shared_host(), .plan = {.temporaries = level}}, error);
  INFO(error);
  REQUIRE(plan);
  std::vector<runtime::Value> in;
  for (size_t i = 0; i < f->blocks[0].params.size(); ++i)
    in.push_back(test::random_value(s, f->name_info(f->blocks[0].params[i]).type, i));
  Run out;
  jit::RunContext context{s, 1};
  const jit::PlanExit exit = plan->run(in, out.outputs, context);
  if (exit == jit::PlanExit::raised) FAIL(runtime::format_exception(s, s.pending));
  REQUIRE(exit == jit::PlanExit::returned);
  out.peak = plan->peak_bytes();
  out.recomputing = plan->recomputing();
  return out;
}

void same_outputs(const Run& a, const Run& b) {
  REQUIRE(a.outputs.size() == b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i) CHECK(test::same_bits(a.outputs[i], b.outputs[i]));
}

}  // namespace

TEST_CASE("a_chain_is_held_within_its_budget_with_the_same_bits") {
  const std::string text = chain(16, 1024, 64);
  const Run all = run(text, 0);
  for (double share : {0.9, 0.8, 0.7, 0.6}) {
    const uint16_t level = runtime::temporaries_within(static_cast<int64_t>(share * static_cast<double>(all.peak)));
    const Run less = run(text, level);
    INFO("share " << share << ": " << less.peak << " of " << all.peak << ", work " << less.recomputing.work);
    CHECK(less.peak <= runtime::temporaries_at(level) * 102 / 100);
    CHECK(less.recomputing.lets > 0);
    CHECK(less.recomputing.work < 0.5);
    same_outputs(all, less);
  }
}

TEST_CASE("a_budget_that_is_large_enough_changes_nothing") {
  const Run all = run(chain(4, 32, 32), 0), roomy = run(chain(4, 32, 32), runtime::temporaries_within(1 << 30));
  CHECK(roomy.recomputing.lets == 0);
  CHECK(roomy.peak == all.peak);
  same_outputs(all, roomy);
}

TEST_CASE("a_tighter_budget_never_holds_more") {
  const std::string text = chain(12, 256, 64);
  const Run all = run(text, 0);
  int64_t before = all.peak;
  for (uint16_t level = runtime::temporaries_within(all.peak); level > 20; level -= 3) {
    const Run now = run(text, level);
    INFO("budget " << runtime::temporaries_at(level) << ": " << now.peak << ", before " << before);
    CHECK(now.peak <= before);
    before = now.peak;
  }
}

// A sanitizer's compiler takes thirty times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPrograms = 3, kLeastRecomputed = 1;
#else
constexpr int kPrograms = 40, kLeastRecomputed = 10;
#endif

TEST_CASE("random_programs_keep_their_bits_at_every_budget") {
  std::mt19937 random(20261128);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int recomputed = 0;
  for (int program = 0; program < kPrograms; ++program) {
    const std::string h = "f32[48, 48]";
    std::string text = fmt::format("func @f(%0.x: {0}, %1.w: {0}) {{\n  ^0:\n", h);
    int n = 2;
    const int lets = 30 + below(60);
    std::set<int> sums;
    for (int i = 0; i < lets; ++i) {
      // Operands from nearby mostly, from far now and then: those live long.
      // Not a sum of rows: those have another shape.
      auto operand_but = [&](int none) {
        for (;;) {
          const int k = below(3) ? std::max(0, n - 1 - below(4)) : below(n);
          if (k != none && !sums.contains(k)) return k;
        }
      };
      auto operand = [&] { return operand_but(-1); };
      constexpr const char* kTwo[] = {"add", "mul", "sub", "matmul", "maximum"};
      constexpr const char* kOne[] = {"tanh", "t", "neg", "sigmoid"};
      if (below(3))
        text += fmt::format("    %{}: {} = {} %{}, %{}\n", n, h, kTwo[below(5)], operand(), operand());
      else if (below(4))
        text += fmt::format("    %{}: {} = {} %{}\n", n, h, kOne[below(4)], operand());
      else {
        text += fmt::format("    %{}: f32[48, 1] = sum %{}, (1,), True, None\n", n, operand());
        sums.insert(n);
        const int sum = n++;
        text += fmt::format("    %{}: {} = sub %{}, %{}\n", n, h, operand_but(sum), sum);
      }
      ++n;
    }
    int last = n - 2;
    while (sums.contains(last)) --last;
    text += fmt::format("    %{} = tuple %{}, %{}\n    return %{}\n  }}", n, n - 1, last, n);
    INFO(text);
    const Run all = run(text, 0);
    for (double share : {0.7, 0.3}) {
      const auto budget = static_cast<int64_t>(share * static_cast<double>(all.peak));
      const Run less = run(text, runtime::temporaries_within(std::max<int64_t>(budget, 1)));
      recomputed += less.recomputing.lets > 0;
      CHECK(less.recomputing.after <= less.recomputing.before);
      same_outputs(all, less);
    }
  }
  CHECK(recomputed >= kLeastRecomputed);
}
