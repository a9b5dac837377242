#include "support/byte_size.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace ouro {
inline namespace support {

bool read_byte_size(std::string_view text, uint64_t& bytes) {
  double n = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n, std::chars_format::fixed);
  if (bad != std::errc() || n < 0) return false;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.ends_with("iB"))
    unit.remove_suffix(2);
  else if (unit.ends_with('B'))
    unit.remove_suffix(1);
  const size_t power = unit.empty() ? 0 : std::string_view("KMG").find(unit[0]) + 1;
  if (unit.size() > 1 || (!unit.empty() && power == 0)) return false;
  const double size = std::ldexp(n, static_cast<int>(10 * power));
  if (size >= 0x1p63 || (power == 0 && n != std::floor(n))) return false;
  bytes = static_cast<uint64_t>(size);
  return true;
}

std::string byte_size_text(int64_t bytes) {
  constexpr std::string_view kUnits = "KMGT";
  double size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; std::abs(size) >= 1024 && unit < kUnits.size(); ++unit) size /= 1024;
  if (unit == 0) return fmt::format("{}", bytes);
  return fmt::format("{:.{}f}{}", size, std::abs(size) < 10 ? 2 : std::abs(size) < 100 ? 1 : 0, kUnits[unit - 1]);
}

}  // namespace support
}  // namespace ouro
