// Primitives by name on plain operands: what ad.value does where no script is called. An attribute stands among the
// operands: a name second, a number last.
#include "ir/effect.h"
#include "ir/prim.h"
#include "runtime/autodiff/autodiff.h"
#include "runtime/interpreter/on_values.h"
#include "support/diag.h"
#include "support/small_vec.h"

namespace ouro::runtime::autodiff {

Value plain_primitive(Session& s, std::string_view prim, std::span<Value> args) {
  const auto op = ir::op_by_name(prim);
  if (!op || ir::is_tensor_op(*op) || !is_on_values(*op)) ouro_bug("ad.value of '%s'", std::string(prim).c_str());
  switch (ir::kPrims[static_cast<size_t>(*op)].attr) {
    case ir::AttrKind::symbol: {
      SmallVec<Value, 4> rest;
      for (size_t i = 0; i < args.size(); ++i)
        if (i != 1) rest.push_back(std::move(args[i]));
      return run_on_values(s, *op, str_symbol(args[1].as<Str>()).id(), {rest.data(), rest.size()});
    }
    case ir::AttrKind::integer:
      return run_on_values(s, *op, static_cast<uint32_t>(args.back().as_int()), args.first(args.size() - 1));
    default:
      return run_on_values(s, *op, 0, args);
  }
}

}  // namespace ouro::runtime::autodiff
