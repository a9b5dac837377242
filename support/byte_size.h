// Sizes as people write them on a command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ouro {
inline namespace support {

/// A number of bytes, with K, M or G for the powers of 1024: "4096", "64M", "1.5G", "600MB". False: it is none, or
/// too large.
bool read_byte_size(std::string_view text, uint64_t& bytes);

/// As a person writes them: "640", "12.5K", "300M", "1.25G", of 1024 each.
std::string byte_size_text(int64_t bytes);

}  // namespace support
}  // namespace ouro
