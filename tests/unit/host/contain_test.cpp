// What a code generator cannot take ends the kernel's compilation, not the process.
#include "backends/llvm/contain.h"

#include "kernel_fixture.h"
#include "support/diag.h"

using namespace ouro;

namespace llvm {
[[noreturn]] void report_fatal_error(const char* reason, bool gen_crash_diag);
}

TEST_CASE("a_fatal_error_of_llvm_comes_back_as_a_text") {
  std::string error;
  CHECK_FALSE(backends::contain_llvm([] { llvm::report_fatal_error("Cannot select: this", true); }, error));
  CHECK(error == "Cannot select: this");
  CHECK(backends::contain_llvm([] {}, error));
  // One inside of another one: each comes back to its own.
  bool inner = true;
  CHECK_FALSE(backends::contain_llvm(
      [&] {
        std::string text;
        inner = backends::contain_llvm([] { llvm::report_fatal_error("inner", true); }, text);
        llvm::report_fatal_error("outer", true);
      },
      error));
  CHECK_FALSE(inner);
  CHECK(error == "outer");
}

TEST_CASE("an_internal_error_is_thrown_where_it_is_contained") {
  const char* abort_anyway = std::getenv("OURO_ABORT_ON_BUG");
  std::string before = abort_anyway ? abort_anyway : "";
  unsetenv("OURO_ABORT_ON_BUG");
  {
    ContainBugs contain;
    CHECK_THROWS_AS(ouro_bug("a test"), InternalError);
  }
  if (abort_anyway) setenv("OURO_ABORT_ON_BUG", before.c_str(), 1);
}

// A kernel whose operands have two types is refused by LLVM's verifier; its neighbours are compiled, and it is
// evaluated.
TEST_CASE("a_kernel_that_llvm_refuses_is_evaluated_and_its_neighbours_are_compiled") {
  using namespace ir::loops;
  const char* text = R"(kernel(b0 in f32, b1 out f32; n0;) {
    parallel i0 < n0 {
      %0 = load.f32 b0[i0]
      %1 = add.f32 %0, %0
      store b1[i0] = %1
    }
  })";
  Kernel good = read_kernel(text), bad = good;
  bad.nodes.push_back({.kind = Node::Kind::constant, .type = DType::f64});
  for (Node& n : bad.nodes)
    if (n.kind == Node::Kind::leaf) n.args[1] = NodeId{static_cast<uint32_t>(bad.nodes.size() - 1)};
  REQUIRE(verify(bad) != "");
  std::string error;
  auto backend = backends::HostBackend::create({.target = backends::detect_target()}, error);
  REQUIRE(backend);
  const Kernel* kernels[] = {&good, &bad, &good};
  auto module = backend->compile(kernels, error, nullptr);
  INFO(error);
  REQUIRE(module);
  CHECK(module->not_compiled().size() == 1);
  CHECK(backend->save(*module).empty());
  std::vector<float> in{1, 2, 3}, out(3);
  void* buffers[] = {in.data(), out.data()};
  int64_t n = 3;
  runtime::KernelArgs args{buffers, &n, nullptr, 3, 1};
  for (size_t k : {size_t{0}, size_t{2}}) {
    std::fill(out.begin(), out.end(), 0.0f);
    REQUIRE(backend->launch(*module, k, args, 1, error));
    CHECK(out == std::vector<float>{2, 4, 6});
  }
  REQUIRE(backend->launch(*module, 1, args, 1, error));  // it is given a constant 0 of another type
}
