// Which characters may stand in names, and which repr() shows as they are (Unicode Standard Annex
// 31, XID, as str.isidentifier), and their normal form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ouro {
inline namespace support {

bool is_xid_start(uint32_t code_point);
bool is_xid_continue(uint32_t code_point);
/// As str.isprintable.
bool is_printable(uint32_t code_point);
/// NFKC, for text made of name characters. Text that is already normal (all of ASCII) comes back as
/// it is.
std::string normalize_name(std::string_view text);

}  // namespace support
}  // namespace ouro
