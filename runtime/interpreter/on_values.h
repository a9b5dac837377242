// Primitives on values, apart from any frame: what plans run where types are not known, and reverse mode where no
// script is called.
#pragma once

#include <span>

#include "ir/anf.h"
#include "runtime/object/object.h"

namespace ouro::runtime {

class Session;

/// Does run_on_values() do this primitive?
bool is_on_values(ir::Op op);
/// Is it one that a plan may run, too? Iterators, whose state a plan does not follow, and deletions are not.
bool is_boxable(ir::Op op);
/// `attr` is the let's attribute; args may be moved from. Error: with an exception set.
Value run_on_values(Session& s, ir::Op op, uint32_t attr, std::span<Value> args);

}  // namespace ouro::runtime
