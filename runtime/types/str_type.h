// Inside of str: offsets, and the table of methods (str_methods.cpp).
#pragma once

#include <span>
#include <vector>

#include "runtime/object/native.h"
#include "runtime/object/value.h"

namespace ouro::runtime {

// Byte offsets of every 64th code point of the text that was indexed last.
struct TextMarks {
  Value text;
  std::vector<size_t> offsets;
};
// Byte offset of code point `index` (0 <= index <= length).
size_t str_offset(Session& s, const Value& v, int64_t index);

std::span<const NativeDef> str_methods();
std::span<const NativeDef> str_static_methods();

}  // namespace ouro::runtime
