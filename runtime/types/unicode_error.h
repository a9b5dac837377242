// What UnicodeEncodeError, UnicodeDecodeError and UnicodeTranslateError say, from their arguments
// (encoding, object, start, end, reason); translation errors have no encoding.
#pragma once

#include <span>

#include "runtime/object/object.h"

namespace ouro::runtime {

// str(e), or unbound if its arguments are not those.
Value unicode_error_text(Session& s, const Exception* e);
std::span<const GetSetDef> unicode_error_fields(bool translate);

}  // namespace ouro::runtime
