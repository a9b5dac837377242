// Calls of natives that are transforms (grad, vjp, jit, ...) and of tensor operations, on abstract values.
#include <fmt/format.h>

#include "jit/specialise/specialiser.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

using Keywords = std::vector<std::pair<Symbol, AVal>>;

const ir::OpInfo* Specialiser::row_of(const runtime::Native& n) const { return runtime::operation_of(n.def); }

// A row in Ouro: its text is a function, executed like any other.
AVal Specialiser::call_source(const ir::OpInfo& op, const std::vector<AVal>& params) {
  Value f = runtime::operation_source(session, op);
  if (f.is_error()) {
    session.pending = Value();
    abandon(Reason::internal, fmt::format("the text of {} cannot be read", op.name));
  }
  // As runtime::run_operation does: the variadic parameter's items stand alone, absent ones are left to their defaults.
  std::vector<AVal> positional;
  Keywords keywords;
  for (size_t i = 0; i < params.size(); ++i) {
    const ir::OpParam& p = op.params[i];
    if (p.variadic) {
      for (AVal& v : items_of(params[i], "is a parameter")) positional.push_back(std::move(v));
    } else if (params[i].is(AKind::unbound)) {
      continue;
    } else if (positional.size() != i || (i > 0 && op.params[i - 1].variadic)) {
      keywords.push_back({intern(p.name), params[i]});
    } else {
      positional.push_back(params[i]);
    }
  }
  return call(concrete_function(f), positional, keywords);
}

AVal Specialiser::call_opaque(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords) {
  return boxed_call(f, args, keywords);
}

}  // namespace ouro::jit
