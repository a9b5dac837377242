#include "frontend/module.h"

#include "frontend/build_ast.h"
#include "frontend/lower.h"
#include "frontend/resolve.h"
#include "ir/verify.h"

namespace ouro::frontend {

ir::FunctionRef compile_module(const SourceFile& file, Diagnostics& diags, CompileOptions options) {
  Arena arena;
  ast::Module* tree = parse_module(file, arena, diags);
  if (!tree) return nullptr;
  std::unique_ptr<Resolution> names = resolve(*tree, diags);
  if (!names) return nullptr;
  ir::FunctionRef f = lower(*tree, *names, options.interactive);
#ifdef OURO_ASSERTS
  if (std::string wrong = ir::verify(*f); !wrong.empty()) ouro_bug("%s: %s", file.name().c_str(), wrong.c_str());
#endif
  return f;
}

}  // namespace ouro::frontend
