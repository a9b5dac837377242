// Indexing, gathering, scattering: rows only.
//
// `key` is an index as in x[key]: ints, slices, None, ..., integer and bool tensors, or a tuple of these (NumPy's
// rules). The three rows getitem, index_put and index_accumulate are each other's derivatives.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

constexpr LoopSpec gather(std::string_view rule) { return {.kind = LoopKind::gather, .index = rule}; }
// Of classes: those count from 0 only.
constexpr LoopSpec pick(std::string_view rule) { return {.kind = LoopKind::gather, .index = rule, .from_end = false}; }
constexpr LoopSpec scatter(std::string_view rule) { return {.kind = LoopKind::scatter, .index = rule}; }

// clang-format off
constexpr OpDef kIndex[] = {
  {.name = "getitem", .doc = "x[key].", .sig = "t[*] -> t[@]", .params = "x, key: key", .shape = "getitem",
   .loop = gather("key"), .linear_in = 1, .vjp = "lambda g, y, x, key: ouro.index_accumulate(zeros_like(x), key, g)",
   .method = false, .function = false,
   .test = {.cases = "f[3,4], (1, slice(None, None, -2)) | f[3,4], tensor((2, 0, 2)) | f[5], slice(4, 0, -2)"}},
  {.name = "index_put", .doc = "x with x[key] = v.", .sig = "t[*s], a[*] -> t[*s]", .params = "@x, key: key, @v",
   .loop = scatter("key set"), .linear_in = 3,
   .vjp = "lambda g, y, x, key, v: (ouro.index_put(g, key, 0), ouro.sum_to(ouro.where_put(g, key), v))",
   .method = false, .function = false, .test = {.cases = "f[3,4], (1, slice(0, 2)), f[2] | f[3,4], tensor((2, 0)), f[2,4]"}},
  {.name = "index_accumulate", .doc = "x with v added at key; places named twice get both.",
   .sig = "t[*s], a[*] -> t[*s]", .params = "@x, key: key, @v", .loop = scatter("key add"), .linear_in = 3,
   .vjp = "lambda g, y, x, key, v: (g, ouro.sum_to(ouro.getitem(g, key), v))", .method = false, .function = false,
   .test = {.cases = "f[3,4], tensor((2, 0, 2)), f[3,4]"}},
  {.name = "gather", .doc = "y[i][j] = x[index[i][j]][j] along axis.", .sig = "t[*], i64[*] -> t[@]",
   .params = "@x, axis: axis, @index", .shape = "gather", .loop = gather("axis"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, index: (ouro.scatter_add(zeros_like(x), axis, index, g), None)",
   .test = {.cases = "f[3,4], 1, tensor(((0, 3), (2, 2), (1, 0)))"}},
  {.name = "scatter", .doc = "x with x[index[i][j]][j] = src[i][j] along axis; of several the last stays.",
   .sig = "t[*s], i64[*], a[*] -> t[*s]", .params = "@x, axis: axis, @index, @src", .shape = "scatter",
   .loop = scatter("axis set"), .linear_in = 5,
   .vjp = "lambda g, y, x, axis, index, src: (ouro.scatter(g, axis, index, 0), None, "
          "ouro.sum_to(ouro.where_scattered(g, axis, index), src))", .method = false, .function = false,
   .test = {.cases = "f[3,4], 1, tensor(((0, 3), (2, 1), (1, 0))), f[3,2]"}},
  {.name = "scatter_add", .doc = "x with src[i][j] added at x[index[i][j]][j] along axis, in order.",
   .sig = "t[*s], i64[*], a[*] -> t[*s]", .params = "@x, axis: axis, @index, @src", .shape = "scatter",
   .loop = scatter("axis add"), .linear_in = 5,
   .vjp = "lambda g, y, x, axis, index, src: (g, None, ouro.sum_to(ouro.gather(g, axis, index), src))",
   .test = {.cases = "f[3,4], 1, tensor(((0, 3), (2, 2), (1, 1))), f[3,2]"}},
  {.name = "scatter_combine",
   .doc = "x with src[i][j] combined into x[index[i][j]][j] along axis, in order; without include_self the first "
          "written to a place replaces what is there.",
   .sig = "t[*s], i64[*], t[*] -> t[*s]",
   .params = "@x, axis: axis, @index, @src, reduce: prod|amax|amin, include_self: flag", .shape = "scatter",
   .symbol = "scatter_combine",
   .vjp = "lambda g, y, x, axis, index, src, how, own: ouro.scatter_combine_back(g, x, axis, index, src, y, how, own)",
   .jvp = "lambda t, y, x, axis, index, src, how, own: ouro.scatter_add(zeros_like(x) if t[0] is None else t[0] * "
          "ouro.scatter_shares(x, axis, index, src, y, how, own)[0], axis, index, zeros_like(src) if t[2] is None else "
          "t[2] * ouro.scatter_shares(x, axis, index, src, y, how, own)[1])",
   .method = false, .function = false,
   .test = {.domain = {{0.5, 2}, {0.5, 2}},
            .cases = "f[3], 0, tensor((1, 1, 0)), f[3], 'prod', True | f[3,2], 0, tensor(((1, 0), (1, 2))), f[2,2], "
                     "'amax', False"}},
  {.name = "index_select", .doc = "The slices along axis that the indices name, in their order.",
   .sig = "t[*], i64[*] -> t[@]",
   .params = "@x, axis: axis, @index", .shape = "index_select", .loop = gather("select"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, index: (ouro.index_add(zeros_like(x), axis, index, g), None)",
   .test = {.cases = "f[3,4], 0, tensor((2, 0, 2))"}},
  {.name = "index_add", .doc = "x with the slices of source added at the places of axis that index names, in order.",
   .sig = "t[*s], i64[*], t[*] -> t[*s]", .params = "@x, axis: axis, @index, @source", .shape = "index_add",
   .loop = scatter("select add"), .linear_in = 5,
   .vjp = "lambda g, y, x, axis, index, source: (g, None, ouro.index_select(g, axis, index))",
   .test = {.cases = "f[3,4], 0, tensor((2, 0, 2)), f[3,4]"}},
  {.name = "pick", .doc = "gather by classes: an index counts from 0 only.", .sig = "t[*], i64[*] -> t[@]",
   .params = "@x, axis: axis, @index", .shape = "gather", .loop = pick("axis"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, index: (ouro.scatter_add(zeros_like(x), axis, index, g), None)", .method = false,
   .function = false, .test = {.cases = "f[3,4], 1, tensor(((0, 3), (2, 2), (1, 0)))"}},
  {.name = "pick_rows", .doc = "index_select by classes: an index counts from 0 only.", .sig = "t[*], i64[*] -> t[@]",
   .params = "@x, axis: axis, @index", .shape = "index_select", .loop = pick("select"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, index: (ouro.index_add(zeros_like(x), axis, index, g), None)", .method = false,
   .function = false, .test = {.cases = "f[3,4], 0, tensor((2, 0, 2))"}},
  {.name = "nonzero", .doc = "The indices of the elements that are not 0: [n, ndim].", .sig = "t[*] -> i64[@]",
   .shape = "nonzero", .symbol = "nonzero", .nondiff = "an index", .method = false, .function = false},
  {.name = "searchsorted",
   .doc = "Where each value would be inserted to keep a sorted vector sorted, or the row of x that has its place.",
   .sig = "t[*], t[*s] -> i64[*s]", .params = "x, values, right: flag = False", .shape = "searchsorted",
   .symbol = "searchsorted", .nondiff = "an index"},
  {.name = "whole_in_range",
   .doc = "x; a RuntimeError that starts with `what` if a number of it is below `low` or above `high`.",
   .sig = "i64[*s] -> i64[*s]", .params = "x, low: int, high: int, what: text", .symbol = "whole_in_range",
   .nondiff = "whole numbers", .method = false, .function = false,
   .test = {.cases = "tensor((2, 0, 3)), 0, 3, 'lengths'"}},
};
// clang-format on
static_assert(complete(kIndex));

}  // namespace

std::span<const OpDef> index_rows() { return kIndex; }

}  // namespace ouro::ir
