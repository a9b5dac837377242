// Values of demands that are whole numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace ouro::runtime {

/// Is the text a whole number from `least` to `most`?
inline bool whole_number_in(std::string_view text, int64_t least, int64_t most) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && least <= n && n <= most;
}

}  // namespace ouro::runtime
