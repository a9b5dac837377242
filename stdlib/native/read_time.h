// Texts that say a time, by a format: what time.strptime reads.
#pragma once

#include <time.h>

#include <string>
#include <string_view>

namespace ouro::stdlib {

/// Reads `text` by `format` (%Y %m %d %H %M %S %y %b %B %a %A %p %I %j %f %z %Z %%, and the joined %c %x %X %D %T).
/// Fills weekday and day of the year too. Returns what is wrong, in CPython's words, or nothing.
std::string read_time(std::string_view text, std::string_view format, tm& out);

}  // namespace ouro::stdlib
