// Calls of natives that are transforms (grad, vjp, jit, ...) and of tensor operations, on abstract values.
#include <fmt/format.h>

#include "jit/specialiser.h"
#include "runtime/tensor.h"

namespace ouro::jit {

using Keywords = std::vector<std::pair<Symbol, AVal>>;

const ir::OpInfo* Specialiser::row_of(const runtime::Native& n) const { return runtime::operation_of(n.def); }

// A row in Ouro: its text is a function, executed like any other.
AVal Specialiser::call_source(const ir::OpInfo& op, const std::vector<AVal>& params) {
  Value f = runtime::operation_text(session, op.def->source);
  if (f.is_error()) {
    session.pending = Value();
    abandon(fmt::format("the text of {} cannot be read", op.name));
  }
  return call(concrete_function(f), params);
}

AVal Specialiser::call_opaque(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords) {
  return boxed_call(f, args, keywords);
}

AVal Specialiser::special_constant(const ir::Constant& c) {
  if (c.kind == ir::Constant::Kind::dtype) return AVal::of(runtime::make_dtype(session, static_cast<DType>(c.i)));
  abandon("a constant of a kind that is not compiled");
}

}  // namespace ouro::jit
