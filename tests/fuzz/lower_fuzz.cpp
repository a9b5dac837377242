// libFuzzer: text that is a program becomes IR whose invariants hold; text that is none, a message.
#include <cstddef>
#include <cstdint>

#include "frontend/module.h"
#include "ir/verify.h"

using namespace ouro;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SourceFile file(1, "fuzz", std::string_view(reinterpret_cast<const char*>(data), size));
  Diagnostics diags;
  if (ir::FunctionRef code = frontend::compile_module(file, diags)) {
    ir::check(*code);
  } else {
    if (!diags.first_error()) __builtin_trap();  // a failure without a message
    render(*diags.first_error(), &file);
  }
  return 0;
}
