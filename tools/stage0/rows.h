// Operations written in Ouro: stdlib/ops/GROUP.ouro → rows of ir/ops/op.h.
//
// A function under `@row` is an operation. The decorator states what a row in C++ states: the signature, then the rest
// by keyword.
//     alias="clip"            further names, separated by spaces
//     method=False            a function only        function=False   a method only        internal=True   neither
//     cases="f[3,4], 1 | ..." the calls to test      tol=1e-5         their tolerance      domain=((lo, hi), ...)
// The docstring is its documentation. A parameter without annotation is an input of the signature; an annotation is the
// kind of any other one, in Python's spelling: `axes`, `axes | None` (None is let through), `mean | sum | none` (one of
// these texts). Decorators and annotations are taken off before the function is lowered. Functions without `@row` are
// helpers of their file.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/ast.h"
#include "support/arena.h"
#include "support/diag.h"

namespace ouro::stage0 {

struct Row {
  std::string group, name, doc, sig, params, alias, cases, tol, domain;
  bool method = true, function = true;
};

/// Takes the rows off a parsed file of stdlib/ops, whose tree is in the arena. What is not as said above is reported.
void take_rows(ast::Module& module, Arena& arena, const std::string& group, std::vector<Row>& rows, Diagnostics& diags);

/// The C++ file that defines ir::ouro_rows().
void write_rows(std::ostream& out, const std::vector<Row>& rows);

/// A literal of C++ in pieces of a line each: no delimiter that a script could contain.
std::string literal(std::string_view text);

}  // namespace ouro::stage0
