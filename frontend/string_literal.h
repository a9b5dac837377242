// The text between the quotes: escapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ouro::frontend {

enum class EscapeFault : unsigned char { none, error, named_character };

struct EscapeResult {
  EscapeFault fault = EscapeFault::none;
  std::string message;  // CPython's, for EscapeFault::error
};

/// Appends `body` with its escapes resolved (Python language reference 2.4.1); unknown ones stay as
/// they are. Surrogates from \u escapes are written in their three-byte form.
EscapeResult decode_str(std::string_view body, std::string& out);
EscapeResult decode_bytes(std::string_view body, std::string& out);

struct StringParts {
  bool raw = false, bytes = false, formatted = false, u_prefix = false;
  uint32_t begin = 0, end = 0;  // the body, as offsets into the literal
};
/// Takes a whole literal apart: prefix, quotes, body.
StringParts split_string(std::string_view literal);

}  // namespace ouro::frontend
