// Products with a matrix in compressed rows (CSR) or block rows (BSR), and what is chosen to be left out: rows only.
// What people call is in stdlib/ops/sparse.
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
  {.name = "bsr_product",
   .doc = "A x, or A^T x if transposed, for the matrix A of height x width with these blocks of values, each at its column of "
          "blocks, the r-th row of blocks from starts[r] to starts[r + 1]; x is [*, n]. If across, x is [n, *] and the result is "
          "(A x^T)^T. What blocks have beyond the edges of A is finite and does not count.",
   .sig = "f[z,r,c], i64[z], i64[*], f[*] -> f[@]",
   .params = "@values, @columns, @starts, @x, height: size, width: size, transposed: flag = False, across: flag = False",
   .shape = "bsr_product", .symbol = "bsr_product", .linear_in = 9,
   .vjp = "lambda g, y, values, columns, starts, x, height, width, transposed, across: (ouro.bsr_sampled(columns, starts, x if "
          "transposed else g, g if transposed else x, values.shape[1], values.shape[2], across), None, None, "
          "ouro.bsr_product(values, columns, starts, g, height, width, not transposed, across))",
   .method = false, .function = false,
   .test = {.tol = 1e-5,
            .cases = "f[3,2,2], tensor((0, 2, 1)), tensor((0, 2, 3)), f[5,3], 4, 5 | f[3,2,3], tensor((1, 0, 1)), tensor((0, 1, "
                     "3)), f[3,2], 3, 5, True | f[2,1,4], tensor((1, 0)), tensor((0, 1, 1, 2)), f[5,8], 3, 8, False, True | "
                     "f[3,4,4], tensor((0, 1, 0)), tensor((0, 2, 3)), f[3,7], 7, 6, True, True"}},
  {.name = "bsr_sampled",
   .doc = "a b^T in the blocks [r, c] of a matrix in block rows: sums over the last axis of a [m, n] and b [k, n], over the first "
          "of [n, m] and [n, k] if across; 0 beyond the edges of the matrix.",
   .sig = "i64[z], i64[*], f[*], f[*] -> f[@]",
   .params = "@columns, @starts, @a, @b, r: positive, c: positive, across: flag = False", .shape = "bsr_sampled",
   .symbol = "bsr_sampled", .linear_in = 12,
   .vjp = "lambda g, y, columns, starts, a, b, r, c, across: (None, None, ouro.bsr_product(g, columns, starts, b, a.shape[1 if "
          "across else 0], b.shape[1 if across else 0], False, across), ouro.bsr_product(g, columns, starts, a, a.shape[1 if "
          "across else 0], b.shape[1 if across else 0], True, across))",
   .method = false, .function = false,
   .test = {.tol = 1e-5, .cases = "tensor((0, 2, 1)), tensor((0, 2, 3)), f[4,5], f[5,5], 2, 2 | tensor((1, 0, 1)), tensor((0, 1, "
                                  "3)), f[2,3], f[2,5], 2, 3, True"}},
  {.name = "bsr_take", .doc = "The blocks [r, c] of the matrix x at the places of a matrix in block rows; 0 beyond its edges.",
   .sig = "f[*], i64[z], i64[*] -> f[@]", .params = "@x, @columns, @starts, r: positive, c: positive", .shape = "bsr_take",
   .symbol = "bsr_take", .linear_in = 1,
   .vjp = "lambda g, y, x, columns, starts, r, c: (ouro.bsr_put(g, columns, starts, x.shape[0], x.shape[1]), None, None)",
   .method = false, .function = false, .test = {.cases = "f[3,5], tensor((0, 2, 1)), tensor((0, 2, 3)), 2, 2"}},
  {.name = "bsr_put", .doc = "The dense matrix of height x width that a matrix in block rows stands for.",
   .sig = "f[z,r,c], i64[z], i64[*] -> f[@]", .params = "@values, @columns, @starts, height: size, width: size",
   .shape = "bsr_put", .symbol = "bsr_put", .linear_in = 1,
   .vjp = "lambda g, y, values, columns, starts, height, width: (ouro.bsr_take(g, columns, starts, values.shape[1], "
          "values.shape[2]), None, None)",
   .method = false, .function = false, .test = {.cases = "f[3,2,2], tensor((0, 2, 1)), tensor((0, 2, 3)), 3, 5"}},
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
