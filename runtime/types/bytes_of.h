// What an object is as bytes: a bytes-like object, what its __bytes__ gives, or the ints that it has for items.
// (bytes(n) is n zeros, which is not meant here.)
#pragma once

#include <string>

#include "runtime/object/object.h"

namespace ouro::runtime {

// False: an exception is pending.
bool bytes_of_object(Session& s, const Value& v, std::string& out);

}  // namespace ouro::runtime
