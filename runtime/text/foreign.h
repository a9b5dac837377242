// The one gate by which bytes from outside become texts, and texts go back.
//
// The language's strings are UTF-8 with lone surrogates (utf8.h); nothing else may get into a Str. What the system
// gives (arguments, names of files and folders, variables of the environment) is any bytes: those that are no UTF-8
// enter as U+DC80 to U+DCFF, one for each, and leave as they came (PEP 383, CPython's os.fsdecode and os.fsencode). A
// host's texts are UTF-8, or it is told which byte is not. What is only shown has such bytes as \xff and surrogates as
// \udcff (backslashreplace).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ouro::runtime::text {

std::string from_system(std::string_view bytes);
// Nothing when the text holds a surrogate that stands for no byte, or a NUL.
std::optional<std::string> to_system(std::string_view text);

// "byte 0xff at position 3 is no UTF-8: invalid start byte"; empty for UTF-8. Surrogates are none.
std::string utf8_problem(std::string_view bytes);

// Any bytes as UTF-8.
std::string shown_text(std::string_view bytes);

}  // namespace ouro::runtime::text
