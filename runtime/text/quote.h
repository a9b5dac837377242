// Text as source: repr of str and bytes, backslash escapes.
#pragma once

#include <string>
#include <string_view>

namespace ouro::runtime::text {

// repr(str); `ascii_only`: ascii(str).
std::string quote(std::string_view s, bool ascii_only = false);
// repr(bytes): b'...'. `apostrophes`: they have a backslash in all texts, as repr(bytearray) writes them.
std::string quote_bytes(std::string_view s, bool apostrophes = false);
// Non-ASCII characters of text as \x, \u, \U (the rest as it is): what ascii() does to a repr, "backslashreplace".
std::string escape_non_ascii(std::string_view s);

}  // namespace ouro::runtime::text
