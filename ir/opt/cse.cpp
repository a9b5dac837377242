#include <map>
#include <string>

#include "ir/ops/registry.h"
#include "ir/opt/edit.h"
#include "ir/opt/passes.h"
#include "ir/prim.h"
#include "ir/type.h"
#include "ir/walk.h"

namespace ouro::ir::opt {
namespace {

void append(std::string& key, uint64_t n) { key.append(reinterpret_cast<const char*>(&n), sizeof n); }

// Equal constants have equal keys whatever their number.
void append(std::string& key, const Function& f, ConstId id) {
  const Constant& c = f.constant(id);
  key += '#';
  key += static_cast<char>(c.kind);
  append(key, static_cast<uint64_t>(c.i));
  uint64_t bits;
  static_assert(sizeof bits == sizeof c.f);
  __builtin_memcpy(&bits, &c.f, sizeof bits);
  append(key, bits);
  key += c.text;
  key += '(';
  for (ConstId item : c.items) append(key, f, item);
  key += ')';
  append(key, reinterpret_cast<uintptr_t>(c.code.get()));
}

std::string key_of(const Edit& e, const Function& f, const Let& l) {
  std::string key;
  append(key, static_cast<uint64_t>(l.op));
  for (uint32_t i = 0; i < l.nargs; ++i) {
    Atom a = e.resolve(f.args(l)[i]);
    if (a.is_const())
      append(key, f, a.constant());
    else
      append(key, a.is_name() ? index(a.name()) : UINT64_MAX);
  }
  key += '|';
  bool statics = is_tensor_op(l.op) && l.attr < f.constants.size() && l.nargs < op_info(l.op).params.size();
  if (statics)
    append(key, f, ConstId{l.attr});
  else if (!is_tensor_op(l.op))
    append(key, l.attr);
  append(key, reinterpret_cast<uintptr_t>(f.name_info(l.result).type));
  return key;
}

}  // namespace

// Blocks in reverse postorder, so that an equal let that dominates was seen before (Click, "Global code motion / global
// value numbering", 1995, without the motion).
FunctionRef share_equal(const FunctionRef& source) {
  Edit e(source);
  const Function& f = *source;
  Dominators dominators(f);
  std::map<std::string, std::vector<std::pair<NameId, Binding>>> seen;
  for (BlockId b : reverse_postorder(f)) {
    const Block& block = f.block(b);
    for (uint32_t i = 0; i < block.lets.size(); ++i) {
      const Let& l = block.lets[i];
      if (!is_pure(f, l)) continue;
      if (l.op == prim::move) {
        e.replace(l.result, f.args(l)[0]);
        e.remove(b, i);
        continue;
      }
      auto& same = seen[key_of(e, f, l)];
      bool merged = false;
      for (const auto& [name, at] : same) {
        if (!dominators.available(at, b, i)) continue;
        e.replace(l.result, Atom(name));
        e.remove(b, i);
        merged = true;
        break;
      }
      if (!merged) same.emplace_back(l.result, Binding{b, static_cast<int32_t>(i)});
    }
  }
  return e.finish();
}

}  // namespace ouro::ir::opt
