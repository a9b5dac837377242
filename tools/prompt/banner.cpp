#include "tools/prompt/banner.h"

#include <fmt/format.h>

#include "runtime/object/session.h"
#include "tools/version.h"

namespace ouro::tools {

std::string banner(runtime::Session& s) {
  const int threads = s.demands.threads();
  return fmt::format("Ouro {}, {} thread{}, device {}. :help and ?name give help, Ctrl-D ends.", kVersion, threads,
                     threads == 1 ? "" : "s", runtime::device_name(s.demands.plan().device));
}

}  // namespace ouro::tools
