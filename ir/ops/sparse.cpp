// Products with a matrix in compressed rows (CSR), and what is chosen to be left out: rows only. What people call is in
// stdlib/ops/sparse.
//
// The product by a matrix A, that by A^T, and the sums of products at the places of A are each other's derivatives, so
// that nothing of the size of the dense matrix is made for them. So are csr_take and csr_put, for who has a dense one.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

// clang-format off
constexpr OpDef kSparse[] = {
  {.name = "csr_product",
   .doc = "A x, or A^T x if transposed, for the matrix A of `width` columns with these values at these columns, row r from "
          "starts[r] to starts[r + 1]; x is [*, n]. If across, x is [n, *] and the result is (A x^T)^T.",
   .sig = "f[z], i64[z], i64[*], f[*] -> f[@]",
   .params = "@values, @columns, @starts, @x, width: size, transposed: flag = False, across: flag = False",
   .shape = "csr_product", .symbol = "csr_product", .linear_in = 9,
   .vjp = "lambda g, y, values, columns, starts, x, width, transposed, across: (ouro.csr_sampled(columns, starts, x if "
          "transposed else g, g if transposed else x, across), None, None, ouro.csr_product(values, columns, starts, g, "
          "width, not transposed, across))",
   .method = false, .function = false,
   .test = {.tol = 1e-5,
            .cases = "f[4], tensor((0, 2, 1, 2)), tensor((0, 2, 2, 4)), f[3,5], 3 | f[4], tensor((0, 2, 1, 2)), tensor((0, 2, "
                     "2, 4)), f[3,2], 3, True | f[4], tensor((0, 2, 1, 2)), tensor((0, 2, 4)), f[5,3], 3, False, True | f[4], "
                     "tensor((0, 2, 1, 2)), tensor((0, 2, 4)), f[3,2], 3, True, True"}},
  {.name = "csr_sampled",
   .doc = "a b^T at the places of a matrix in compressed rows: sums over the last axis of a [m, n] and b [k, n], over the "
          "first of [n, m] and [n, k] if across.",
   .sig = "i64[z], i64[*], f[*], f[*] -> f[@]", .params = "@columns, @starts, @a, @b, across: flag = False",
   .shape = "csr_sampled", .symbol = "csr_sampled", .linear_in = 12,
   .vjp = "lambda g, y, columns, starts, a, b, across: (None, None, ouro.csr_product(g, columns, starts, b, b.shape[1 if across "
          "else 0], False, across), ouro.csr_product(g, columns, starts, a, b.shape[1 if across else 0], True, across))",
   .method = false, .function = false,
   .test = {.tol = 1e-5, .cases = "tensor((0, 2, 1, 2)), tensor((0, 2, 2, 4)), f[3,5], f[3,5] | tensor((0, 2, 1, 2)), tensor((0, "
                                  "2, 4)), f[5,2], f[5,3], True"}},
  {.name = "csr_take", .doc = "The elements of the matrix x at the places of a matrix in compressed rows.",
   .sig = "f[*], i64[z], i64[*] -> f[@]", .params = "@x, @columns, @starts", .shape = "csr_take", .symbol = "csr_take", .linear_in = 1,
   .vjp = "lambda g, y, x, columns, starts: (ouro.csr_put(g, columns, starts, x.shape[1]), None, None)",
   .method = false, .function = false, .test = {.cases = "f[3,5], tensor((0, 2, 1, 4)), tensor((0, 2, 2, 4))"}},
  {.name = "csr_put", .doc = "The dense matrix of `width` columns that a matrix in compressed rows stands for.",
   .sig = "f[z], i64[z], i64[*] -> f[@]", .params = "@values, @columns, @starts, width: size", .shape = "csr_put",
   .symbol = "csr_put", .linear_in = 1,
   .vjp = "lambda g, y, values, columns, starts, width: (ouro.csr_take(g, columns, starts), None, None)",
   .method = false, .function = false, .test = {.cases = "f[4], tensor((0, 2, 1, 4)), tensor((0, 2, 2, 4)), 5"}},
  {.name = "smallest_magnitudes",
   .doc = "Where the elements of smallest magnitude are, as many as `amount` is a share of all, rounded up; of equal ones the "
          "first, and nan is the largest.",
   .sig = "n[*s] -> b[*s]", .params = "x, amount: probability", .symbol = "smallest_magnitudes",
   .nondiff = "piecewise constant", .method = false, .test = {.cases = "f[3,4], 0.4"}},
};
// clang-format on
static_assert(complete(kSparse));

}  // namespace

std::span<const OpDef> sparse_rows() { return kSparse; }

}  // namespace ouro::ir
