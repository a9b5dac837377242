// SHA-512 (FIPS 180-4), by which texts become seeds of random numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ouro::stdlib {

std::array<uint8_t, 64> sha512(std::string_view message);

}  // namespace ouro::stdlib
