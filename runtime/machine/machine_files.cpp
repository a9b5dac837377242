#include "runtime/machine/machine_files.h"

#include <unistd.h>

#include <cstdlib>

namespace ouro::runtime {

std::string machine_file(std::string_view path) {
  static const char* const folder = ::secure_getenv("OURO_MACHINE");
  if (!folder || !*folder) return std::string(path);
  std::string other = std::string(folder) + std::string(path);
  if (path.starts_with("/sys/") || ::access(other.c_str(), R_OK) == 0) return other;
  return std::string(path);
}

}  // namespace ouro::runtime
