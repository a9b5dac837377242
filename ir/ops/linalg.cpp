// Linear algebra: rows only. matmul, matmul_nt (a b^T) and matmul_tn (a^T b) are each other's derivatives, so that no
// transposed copy is made. The factorisations of runtime/tensor/decompose.cpp give one tensor each;
// stdlib/ops/decompose says what people call, and their derivatives.
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
  {.name = "solve_square", .doc = "x of a x = b, for matrices [*, n, n] and [*, n, m].", .sig = "f[*], f[*] -> f[@]",
   .params = "a, b", .shape = "solve", .symbol = "solve",
   .vjp = "lambda g, y, a, b: ouro.solve_back(g, y, a)",
   .jvp = "lambda t, y, a, b: ouro.solve_square(a, (zeros_like(b) if t[1] is None else t[1]) - (zeros_like(b) if t[0] "
          "is None else ouro.matmul(t[0], y)))", .method = false, .function = false,
   .test = {.tol = 1e-4, .cases = "f[3,3] + 5 * eye(3, dtype=f64), f[3,2] | f[2,2,2] + 5 * eye(2, dtype=f64), f[2,2,1]"}},
  {.name = "triangular", .doc = "x of a x = b, or of a^T x = b if transposed, from one triangle of a; its diagonal "
                                "counts as 1 if unitriangular.", .sig = "f[*], f[*] -> f[@]",
   .params = "a, b, upper: flag, transposed: flag, unitriangular: flag", .shape = "solve", .symbol = "triangular",
   .vjp = "lambda g, y, a, b, upper, transposed, unit: ouro.triangular_back(g, y, a, upper, transposed, unit)",
   .jvp = "lambda t, y, a, b, upper, transposed, unit: ouro.triangular(a, (zeros_like(b) if t[1] is None else t[1]) - "
          "(zeros_like(b) if t[0] is None else ouro.triangle_times(t[0], y, upper, transposed, unit)), upper, transposed, unit)",
   .method = false, .function = false,
   .test = {.tol = 1e-4, .cases = "f[3,3] + 5 * eye(3, dtype=f64), f[3,2], True, False, False | f[3,3] + 5 * eye(3, "
                                  "dtype=f64), f[3,2], False, True, False | f[2,2,2], f[2,2,3], True, True, True"}},
  {.name = "cholesky_lower", .doc = "The lower triangular l of a = l l^T, from the lower triangle of a; its derivative is "
                                    "that by a symmetric matrix.", .sig = "f[*] -> f[@]", .shape = "square",
   .symbol = "cholesky", .vjp = "lambda g, y, x: ouro.cholesky_back(g, y)",
   .jvp = "lambda t, y, x: ouro.cholesky_along(t, y)", .method = false, .function = false,
   .test = {.tol = 1e-4, .cases = "(lambda m: m @ transpose(m, -1, -2) + 3 * eye(3, dtype=f64))(f[3,3])"}},
  {.name = "det", .doc = "Determinant of a square matrix, or of each of a batch [*, n, n].", .sig = "f[*] -> f[@]",
   .shape = "det", .symbol = "det",
   .vjp = "lambda g, y, x: unsqueeze(unsqueeze(g, -1), -1) * ouro.cofactors(x)",
   .jvp = "lambda t, y, x: ouro.sum(t * ouro.cofactors(x), (-2, -1))",
   .test = {.tol = 1e-4, .cases = "f[3,3] | f[2,2,2] | f[1,1]"}},
  {.name = "cofactors", .doc = "The derivative of det: the transposed adjugate matrix, also where x is singular.",
   .sig = "f[*] -> f[@]", .shape = "square", .symbol = "cofactors",
   .vjp = "lambda g, y, x: ouro.cofactors_back(g, y, x)", .jvp = "lambda t, y, x: ouro.cofactors_along(t, y, x)",
   .method = false, .function = false,
   .test = {.tol = 1e-3, .cases = "f[3,3] + 3 * eye(3, dtype=f64) | f[2,2,2] + 3 * eye(2, dtype=f64)"}},
  {.name = "logabsdet", .doc = "log |det x|, -inf for a singular matrix.", .sig = "f[*] -> f[@]", .shape = "det",
   .symbol = "logabsdet", .vjp = "lambda g, y, x: unsqueeze(unsqueeze(g, -1), -1) * transpose(ouro.inv(x), -1, -2)",
   .jvp = "lambda t, y, x: ouro.sum(t * transpose(ouro.inv(x), -1, -2), (-2, -1))", .method = false, .function = false,
   .test = {.tol = 1e-3, .cases = "f[3,3] + 5 * eye(3, dtype=f64) | f[2,2,2] - 4 * eye(2, dtype=f64)"}},
  {.name = "det_sign", .doc = "-1, 0 or 1: the sign of det x.", .sig = "f[*] -> f[@]", .shape = "det",
   .symbol = "det_sign", .nondiff = "zero almost everywhere", .method = false, .function = false},
  {.name = "qr_columns", .doc = "The orthonormal columns q of x = q r, x [*, m, n] with m >= n and r triangular.",
   .sig = "f[*] -> f[@]", .shape = "qr_columns", .symbol = "orthogonal",
   .vjp = "lambda g, y, x: ouro.qr_columns_back(g, y, x)", .jvp = "lambda t, y, x: ouro.qr_columns_along(t, y, x)",
   .method = false, .function = false,
   .test = {.tol = 1e-3, .cases = "f[4,2] + eye(4, 2, dtype=f64) * 3 | f[2,3,3] + 4 * eye(3, dtype=f64)"}},
  {.name = "qr_basis", .doc = "The columns of qr_columns and those that make them a basis: [*, m, m].",
   .sig = "f[*] -> f[@]", .shape = "qr_basis", .symbol = "orthogonal",
   .vjp = "lambda g, y, x: ouro.no_derivative('qr: the columns beyond those of the matrix have no derivative')",
   .jvp = "lambda t, y, x: ouro.no_derivative('qr: the columns beyond those of the matrix have no derivative')",
   .method = false, .function = false},
  {.name = "eigh_packed", .doc = "Eigenvalues, rising, of a symmetric matrix in row 0, eigenvectors as columns below; from "
                                 "the lower triangle. The derivative is that by a symmetric matrix.",
   .sig = "f[*] -> f[@]", .shape = "eigh", .symbol = "eigh", .vjp = "lambda g, y, x: ouro.eigh_back(g, y)",
   .jvp = "lambda t, y, x: ouro.eigh_along(t, y)", .method = false, .function = false,
   .test = {.tol = 1e-3, .cases = "(lambda m: m + transpose(m, -1, -2) + diag(tensor((-9., 0., 7.), dtype=f64)))(f[3,3])"}},
  {.name = "svd_packed", .doc = "Rows: the singular values, falling; the left singular vectors' rows; the right ones'.",
   .sig = "f[*] -> f[@]", .shape = "svd", .symbol = "svd", .vjp = "lambda g, y, x: ouro.svd_back(g, y, x)",
   .jvp = "lambda t, y, x: ouro.svd_along(t, y, x)", .method = false, .function = false,
   .test = {.tol = 1e-3, .cases = "f[3,2] + 4 * tensor(((1., 0.), (0., 2.5), (0., 0.)), dtype=f64) | f[2,3] + 4 * "
                                  "tensor(((1., 0., 0.), (0., 2.5, 0.)), dtype=f64)"}},
  {.name = "pinv_cut", .doc = "The pseudoinverse over the singular values above max(atol, rtol * the largest).",
   .sig = "f[*] -> f[@]", .params = "x, atol: number, rtol: number", .shape = "pinv", .symbol = "pinv",
   .vjp = "lambda g, y, x, atol, rtol: ouro.pinv_back(g, y, x)",
   .jvp = "lambda t, y, x, atol, rtol: ouro.pinv_along(t, y, x)", .method = false, .function = false,
   .test = {.tol = 1e-3, .cases = "f[3,2] + 3 * eye(3, 2, dtype=f64), 0.0, 1e-15 | f[2,3] + 3 * eye(2, 3, dtype=f64), "
                                  "0.0, 1e-15"}},
};
// clang-format on
static_assert(complete(kLinalg));

}  // namespace

std::span<const OpDef> linalg_rows() { return kLinalg; }

}  // namespace ouro::ir
