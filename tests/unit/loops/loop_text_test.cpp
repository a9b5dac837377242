#include <catch2/catch.hpp>

#include "ir/loops/loop_ir.h"
#include "support/diag.h"

using namespace ouro;
using namespace ouro::ir::loops;

namespace {
constexpr const char* kSoftmax = R"(kernel(b0 in f32, b1 out f32; n0, n1;) {
  parallel i0 < n0 {
    %0 = ix.mul n1, i0
    reduce fold i1 < n1 {
      %1 = ix.add %0, i1
      %2 = load.f32 b0[%1]
    } r0 = max.f32 %2
    reduce fold i2 < n1 {
      %3 = ix.add %0, i2
      %4 = load.f32 b0[%3]
      %5 = sub.f32 %4, r0
      %6 = exp.f32 %5
    } r1 = add.f32 %6
    loop i3 < n1 {
      %7 = ix.add %0, i3
      %8 = load.f32 b0[%7]
      %9 = sub.f32 %8, r0
      %10 = exp.f32 %9
      %11 = div.f32 %10, r1
      store b1[%7] = %11
    }
  }
}
)";
}  // namespace

TEST_CASE("loop_text_is_read_back_as_printed") {
  Kernel k = read_kernel(kSoftmax);
  CHECK(print(k) == kSoftmax);
  CHECK(verify(k).empty());
}

TEST_CASE("invariant_expressions_stand_outside_of_the_loop") {
  KernelBuilder b;
  uint32_t in = b.buffer(DType::f32, Access::in), row = b.buffer(DType::f32, Access::in),
           out = b.buffer(DType::f32, Access::out);
  NodeId rows = b.size(), columns = b.size();
  uint32_t i = b.var(), j = b.var();
  NodeId at = b.ix_add(b.ix_mul(b.var_node(i), columns), b.var_node(j));
  NodeId scale = b.leaf(ir::Leaf::fn_exp, DType::f32, b.load(row, b.var_node(i)));
  Stmt store{.kind = Stmt::Kind::store,
             .buffer = out,
             .at = at,
             .value = b.leaf(ir::Leaf::mul, DType::f32, b.load(in, at), scale)};
  Stmt inner{.kind = Stmt::Kind::loop, .vars = {j}, .extents = {columns}, .body = {store}};
  b.body() = {Stmt{.kind = Stmt::Kind::parallel, .vars = {i}, .extents = {rows}, .body = {inner}}};
  std::string text = print(b.finish());
  CHECK(text.find("exp.f32") < text.find("loop i1"));
}

TEST_CASE("bad_loop_text_names_the_line") {
  try {
    read_kernel("kernel(b0 in f32, b1 out f32; n0;) {\n  parallel i0 < n0 {\n    store b1[%7] = 1:f32\n  }\n}\n");
    FAIL("accepted");
  } catch (const UserError& e) {
    CHECK(e.diagnostic.text == "loop IR, line 3: %7 is not defined");
  }
}

TEST_CASE("verify_refuses_a_store_of_another_type") {
  try {
    read_kernel("kernel(b0 out f32; n0;) { parallel i0 < n0 { store b0[i0] = 1:f64 } }");
    FAIL("accepted");
  } catch (const UserError& e) {
    CHECK(e.diagnostic.text.find("stored as another type") != std::string::npos);
  }
}

TEST_CASE("structural_hash_ignores_how_nodes_were_made") {
  auto make = [](bool noise) {
    KernelBuilder b;
    uint32_t in = b.buffer(DType::f32, Access::in), out = b.buffer(DType::f32, Access::out);
    if (noise) b.constant(DType::f64, 3.5);
    NodeId n = b.size();
    uint32_t i = b.var();
    NodeId v = b.leaf(ir::Leaf::neg, DType::f32, b.load(in, b.var_node(i)));
    Stmt store{.kind = Stmt::Kind::store, .buffer = out, .at = b.var_node(i), .value = v};
    b.body() = {Stmt{.kind = Stmt::Kind::parallel, .vars = {i}, .extents = {n}, .body = {store}}};
    return b.finish();
  };
  CHECK(structural_hash(make(false)) == structural_hash(make(true)));
}
