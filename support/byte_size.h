// Sizes as people write them on a command line.
#pragma once

#include <cstdint>
#include <string_view>

namespace ouro {
inline namespace support {

/// A number of bytes, with K, M or G for its powers of 1024: "4096", "64M". False: it is none, or too large.
bool read_byte_size(std::string_view text, uint64_t& bytes);

}  // namespace support
}  // namespace ouro
