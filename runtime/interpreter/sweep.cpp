#include "runtime/interpreter/sweep.h"

#include <algorithm>

#include "runtime/interpreter/frame.h"

namespace ouro::runtime {

namespace {

void add_functions(const ir::FunctionRef& f, TextUse& use) {
  use.functions.push_back(f);
  for (const ir::Constant& c : f->constants)
    if (c.code) add_functions(c.code, use);
}

}  // namespace

void keep_while_used(Session& s, uint32_t file, const ir::FunctionRef& module) {
  TextUse& use = s.interpreter->texts.emplace_back(TextUse{file, {}});
  add_functions(module, use);
}

void sweep_code(Session& s) {
  constexpr size_t kFew = 256;
  Interpreter& in = *s.interpreter;
  if (in.codes.size() + in.texts.size() < in.sweep_at) return;
  // A function that goes lets those go that stand in it.
  while (std::erase_if(in.codes, [](const auto& row) { return row.second->function.use_count() == 1; }) > 0) {
  }
  std::erase_if(in.texts, [&](const TextUse& use) {
    auto gone = [](const auto& f) { return f.expired(); };
    if (!std::all_of(use.functions.begin(), use.functions.end(), gone)) return false;
    s.sources.drop(use.file);
    return true;
  });
  in.sweep_at = 2 * (in.codes.size() + in.texts.size()) + kFew;
}

}  // namespace ouro::runtime
