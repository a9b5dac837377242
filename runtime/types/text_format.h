// Formatting of strings: `%`, str.format; and codecs.
#pragma once

#include <string>
#include <string_view>

#include "runtime/object/native.h"
#include "runtime/object/value.h"

namespace ouro::runtime {

// format % values, for str and (bytes true) for bytes; the formatted text, or false with an error set.
[[nodiscard]] bool percent_format(Session& s, std::string_view format, const Value& values, bool bytes,
                                  std::string& out);

// format.format(*args, **kwargs); `mapping` (format_map) instead of keywords when it is bound.
Value format_fields(Session& s, std::string_view format, const Args& args, const Value& mapping);

// Codecs: utf-8, ascii, latin-1, utf-16 and utf-32 (-le, -be), with CPython's error handlers.
[[nodiscard]] bool encode_text(Session& s, const Value& str, std::string_view encoding, std::string_view errors,
                               std::string& out);
// A name as the system takes it, of a str (os.fsencode) or bytes. False, with the exception set: it holds a NUL, or a
// surrogate that stands for no byte.
[[nodiscard]] bool system_text(Session& s, const Value& name, std::string& out);
Value decode_bytes(Session& s, const Value& object, std::string_view raw, std::string_view encoding,
                   std::string_view errors);

}  // namespace ouro::runtime
