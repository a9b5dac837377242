// What a name is made of, and the words that are none.
#pragma once

#include <cctype>
#include <span>
#include <string_view>

namespace ouro::tools {

/// Keywords, soft ones too, in the order of the alphabet.
std::span<const std::string_view> keywords();
bool is_keyword(std::string_view word);

/// Of any letters: bytes of UTF-8 beyond ASCII count as such.
inline bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

/// "relu", "nn.Linear": names with dots between them.
bool is_dotted_name(std::string_view text);

/// Without the blanks around it.
std::string_view trimmed(std::string_view text);

}  // namespace ouro::tools
