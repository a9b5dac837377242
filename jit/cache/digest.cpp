#include "jit/cache/digest.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>

namespace ouro::jit {

Digest digest_of(std::span<const std::string_view> texts) {
  llvm::BLAKE3 hash;
  for (std::string_view t : texts) {
    const uint64_t size = t.size();
    hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(&size), sizeof size));
    hash.update(llvm::StringRef(t.data(), t.size()));
  }
  return hash.final<sizeof(Digest)>();
}

std::string hex(const Digest& d) { return llvm::toHex(d, /*LowerCase=*/true); }

}  // namespace ouro::jit
