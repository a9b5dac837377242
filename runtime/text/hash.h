// Hashes of what lives in memory (support/hash.h has the others).
#pragma once

#include <string_view>

#include "support/hash.h"

namespace ouro::runtime::text {

using support::hash_bytes;
using support::hash_float;
using support::hash_int;
using support::kHashModulus;
using support::SetHash;
using support::TupleHash;

// Of text in UTF-8; 0 for the empty string.
int64_t hash_str(std::string_view utf8, bool ascii);

}  // namespace ouro::runtime::text
