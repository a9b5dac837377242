// The hash by which compiled code is found again: BLAKE3 (LLVM's), 256 bits. Equal digests are equal inputs.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace ouro::jit {

using Digest = std::array<uint8_t, 32>;

/// Of the texts in turn. Each counts with its length: ("ab", "c") is not ("a", "bc").
Digest digest_of(std::span<const std::string_view> texts);
inline Digest digest_of(std::initializer_list<std::string_view> texts) {
  return digest_of(std::span(texts.begin(), texts.size()));
}

/// 64 hexadecimal digits.
std::string hex(const Digest& d);

}  // namespace ouro::jit
