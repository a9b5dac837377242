#include "backends/llvm/contain.h"

#include <csetjmp>
#include <mutex>

#include <llvm/Support/ErrorHandling.h>

namespace ouro::backends {
namespace {

struct Guard {
  std::jmp_buf back;
  std::string text;
};
thread_local Guard* guard = nullptr;

void on_fatal_error(void*, const char* reason, bool) {
  if (!guard) return;  // LLVM prints it and ends the process
  guard->text = reason ? reason : "a fatal error in LLVM";
  std::longjmp(guard->back, 1);
}

}  // namespace

bool contain_llvm(const std::function<void()>& work, std::string& error) {
  static std::once_flag installed;
  std::call_once(installed, [] { llvm::install_fatal_error_handler(on_fatal_error); });
  Guard here;
  Guard* const before = guard;
  guard = &here;
  if (setjmp(here.back) == 0) {
    work();
    guard = before;
    return true;
  }
  guard = before;
  error = here.text.substr(0, here.text.find('\n'));  // what follows is the code generator's graph
  return false;
}

}  // namespace ouro::backends
