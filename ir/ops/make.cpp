// Constructors: rows only. Sizes are ints or one tuple.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

constexpr std::string_view kConstant = "does not depend on its input";

// clang-format off
constexpr OpDef kMake[] = {
  {.name = "full", .doc = "Every element is value.", .sig = "-> $[@]", .params = "size: sizes, value: number, *, dtype: dtype? = None", .shape = "full", .symbol = "full", .method = false},
  {.name = "zeros", .doc = "Zeros.", .sig = "-> $[@]", .params = "*size: sizes, dtype: dtype? = None", .shape = "make", .symbol = "zeros", .method = false},
  {.name = "ones", .doc = "Ones.", .sig = "-> $[@]", .params = "*size: sizes, dtype: dtype? = None", .shape = "make", .symbol = "ones", .method = false},
  {.name = "empty", .doc = "Zeros, as `zeros` (no element is ever undefined).", .sig = "-> $[@]", .params = "*size: sizes, dtype: dtype? = None", .shape = "make", .symbol = "zeros", .method = false},
  {.name = "zeros_like", .doc = "Zeros in the shape and dtype of x.", .sig = "t[*s] -> $[*s]", .params = "x, *, dtype: dtype? = None", .symbol = "zeros_like", .nondiff = kConstant, .method = false},
  {.name = "ones_like", .doc = "Ones in the shape and dtype of x.", .sig = "t[*s] -> $[*s]", .params = "x, *, dtype: dtype? = None", .symbol = "ones_like", .nondiff = kConstant, .method = false, .alias = ""},
  {.name = "full_like", .doc = "value in the shape and dtype of x.", .sig = "t[*s] -> $[*s]", .params = "x, value: number, *, dtype: dtype? = None", .symbol = "full_like", .nondiff = kConstant, .method = false},
  {.name = "eye", .doc = "The identity matrix, n by m.", .sig = "-> $[@]", .params = "n: size, m: size? = None, *, dtype: dtype? = None", .shape = "eye", .symbol = "eye", .method = false},
  {.name = "arange", .doc = "start, start + step, ... below stop; one argument: from 0.", .sig = "-> $[@]", .params = "start: number, stop: number? = None, step: number = 1, *, dtype: dtype? = None", .shape = "arange", .symbol = "arange", .method = false},
  {.name = "linspace", .doc = "steps numbers from start to stop, both included.", .sig = "-> $[@]", .params = "start: number, stop: number, steps: size, *, dtype: dtype? = None", .shape = "linspace", .symbol = "linspace", .method = false},
  {.name = "logspace", .doc = "base to the linspace.", .sig = "-> $[@]", .params = "start: number, stop: number, steps: size, base: number = 10.0, *, dtype: dtype? = None", .shape = "linspace", .source = "return ouro.pow(base, linspace(start, stop, steps, dtype=f64)).astype(f32 if dtype is None else dtype)", .method = false},
  {.name = "meshgrid", .doc = "Coordinate tensors of a grid; indexing 'ij' or 'xy'.", .sig = "t+[*] -> t[@]", .params = "*@tensors, indexing: ij|xy = 'ij'", .shape = "unknown",
   .source = "if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):\n  tensors = tuple(tensors[0])\nn = len(tensors)\nshape = [t.shape[0] for t in tensors]\nout = [t.reshape([-1 if d == k else 1 for d in range(n)]).expand(shape) for k, t in enumerate(tensors)]\nif indexing == 'xy' and n >= 2:\n  out = [transpose(t, 0, 1) for t in out]\nreturn tuple(out)", .method = false,
   .test = {.cases = "f[3], f[2] | f[3], f[2], indexing='xy'"}},
};
// clang-format on
static_assert(complete(kMake));

}  // namespace

std::span<const OpDef> make_rows() { return kMake; }

}  // namespace ouro::ir
