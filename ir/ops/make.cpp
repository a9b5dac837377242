// Constructors: rows only. Sizes are ints or one tuple.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

constexpr std::string_view kConstant = "does not depend on its input";

// clang-format off
constexpr OpDef kMake[] = {
  {.name = "full", .doc = "A tensor of that size, every element of which is value, in the dtype of value.",
   .sig = "-> $[@]",
   .params = "size: sizes, value: number, *, dtype: dtype? = None", .shape = "full", .symbol = "full", .method = false},
  {.name = "zeros", .doc = "Zeros. Sizes are ints or one tuple; f32 unless dtype says otherwise.",
   .sig = "-> $[@]", .params = "*size: sizes, dtype: dtype? = None", .shape = "make",
   .symbol = "zeros", .method = false},
  {.name = "ones", .doc = "Ones. Sizes are ints or one tuple; f32 unless dtype says otherwise.",
   .sig = "-> $[@]", .params = "*size: sizes, dtype: dtype? = None", .shape = "make",
   .symbol = "ones", .method = false},
  {.name = "empty", .doc = "Zeros, as `zeros` (no element is ever undefined).", .sig = "-> $[@]",
   .params = "*size: sizes, dtype: dtype? = None", .shape = "make", .symbol = "zeros", .method = false},
  {.name = "zeros_like", .doc = "Zeros in the shape and dtype of x.", .sig = "t[*s] -> $[*s]",
   .params = "x, *, dtype: dtype? = None", .symbol = "zeros_like", .nondiff = kConstant, .method = false},
  {.name = "empty_like", .doc = "Zeros, as `zeros_like` (no element is ever undefined).", .sig = "t[*s] -> $[*s]",
   .params = "x, *, dtype: dtype? = None", .symbol = "zeros_like", .nondiff = kConstant, .method = false},
  {.name = "ones_like", .doc = "Ones in the shape and dtype of x.", .sig = "t[*s] -> $[*s]",
   .params = "x, *, dtype: dtype? = None", .symbol = "ones_like", .nondiff = kConstant, .method = false, .alias = ""},
  {.name = "full_like", .doc = "value in the shape and dtype of x.", .sig = "t[*s] -> $[*s]",
   .params = "x, value: number, *, dtype: dtype? = None", .symbol = "full_like", .nondiff = kConstant, .method = false},
  {.name = "eye", .doc = "The identity matrix, n by m (m is n when not given).", .sig = "-> $[@]",
   .params = "n: size, m: size? = None, *, dtype: dtype? = None", .shape = "eye", .symbol = "eye", .method = false},
  {.name = "arange", .doc = "start, start + step, ... below stop; one argument: from 0.", .sig = "-> $[@]",
   .params = "start: number, stop: number? = None, step: number = 1, *, dtype: dtype? = None", .shape = "arange",
   .symbol = "arange", .method = false},
  {.name = "linspace", .doc = "steps numbers from start to stop, both included.", .sig = "-> $[@]",
   .params = "start: number, stop: number, steps: size, *, dtype: dtype? = None", .shape = "linspace",
   .symbol = "linspace", .method = false},
  {.name = "extent", .doc = "Of n by 0 elements: how a program names a size that it has computed.", .sig = "-> bool[@]",
   .params = "n: number", .shape = "extent", .symbol = "extent", .method = false, .function = false},
};
// clang-format on
static_assert(complete(kMake));

}  // namespace

std::span<const OpDef> make_rows() { return kMake; }

}  // namespace ouro::ir
