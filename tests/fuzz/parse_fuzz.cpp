// libFuzzer: any bytes at all go through the whole front end up to the AST, and a tree that comes
// out is printed. Nothing may crash, hang or run out of stack. Built by the preset `fuzz`:
//   build-fuzz/parse_fuzz -max_len=4096 -dict=tests/fuzz/ouro.dict CORPUS
#include <cstddef>
#include <cstdint>

#include "frontend/build_ast.h"
#include "frontend/dump_ast.h"

using namespace ouro;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SourceFile file(1, "fuzz", std::string_view(reinterpret_cast<const char*>(data), size));
  Arena arena;
  Diagnostics diags;
  if (ast::Module* m = frontend::parse_module(file, arena, diags)) {
    frontend::dump_ast(m, &file);
  } else {
    if (!diags.first_error()) __builtin_trap();  // a failure without a message
    render(*diags.first_error(), &file);
  }
  return 0;
}
