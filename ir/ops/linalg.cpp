// Linear algebra: rows only. matmul, matmul_nt (a b^T) and matmul_tn (a^T b) are each other's derivatives, so that no
// transposed copy is made.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

constexpr LoopSpec contract(std::string_view index) { return {.kind = LoopKind::contract, .index = index}; }

// clang-format off
constexpr OpDef kLinalg[] = {
  {.name = "matmul", .doc = "Matrix product; vectors are rows or columns, leading axes broadcast.",
   .sig = "n[*], n[*] -> n[@]", .shape = "matmul", .loop = contract("mk,kn->mn"), .linear_in = 3,
   .vjp = "lambda g, y, a, b: (ouro.matmul_back_a(g, a, b), ouro.matmul_back_b(g, a, b))",
   .test = {.tol = 1e-5, .cases = "f[3,4], f[4,2] | f[4], f[4] | f[2,3,4], f[4] | f[4], f[4,2] | f[2,3,4], f[4,2] "
          "| f[2,1,3,4], f[5,4,2]"}},
  {.name = "matmul_nt", .doc = "a b^T over the last two axes; leading axes broadcast.", .sig = "n[*], n[*] -> n[@]",
   .shape = "matmul_nt", .loop = contract("mk,nk->mn"), .linear_in = 3,
   .vjp = "lambda g, y, a, b: (ouro.matmul_nt_back_a(g, a, b), ouro.matmul_nt_back_b(g, a, b))", .method = false,
   .function = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[2,4] | f[2,3,4], f[5,4] | f[2,3,4], f[2,5,4]"}},
  {.name = "matmul_tn", .doc = "a^T b over the last two axes; leading axes broadcast.", .sig = "n[*], n[*] -> n[@]",
   .shape = "matmul_tn", .loop = contract("km,kn->mn"), .linear_in = 3,
   .vjp = "lambda g, y, a, b: (ouro.sum_to(ouro.matmul_nt(b, g), a), ouro.sum_to(ouro.matmul(a, g), b))",
   .method = false, .function = false, .test = {.tol = 1e-5, .cases = "f[4,3], f[4,2] | f[2,4,3], f[2,4,5]"}},
};
// clang-format on
static_assert(complete(kLinalg));

}  // namespace

std::span<const OpDef> linalg_rows() { return kLinalg; }

}  // namespace ouro::ir
