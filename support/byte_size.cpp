#include "support/byte_size.h"

#include <charconv>

namespace ouro {
inline namespace support {

bool read_byte_size(std::string_view text, uint64_t& bytes) {
  uint64_t n = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (bad != std::errc()) return false;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const size_t power = unit.empty() ? 0 : std::string_view("KMG").find(unit[0]) + 1;
  if (unit.size() > 1 || (!unit.empty() && power == 0)) return false;
  if (n > (UINT64_MAX >> (10 * power))) return false;
  bytes = n << (10 * power);
  return true;
}

}  // namespace support
}  // namespace ouro
