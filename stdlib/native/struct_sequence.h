// Tuples with named fields, as time.struct_time and sys.version_info are.
#pragma once

#include <initializer_list>
#include <utility>

#include "runtime/object/object.h"

namespace ouro::stdlib {

using Fields = std::initializer_list<std::pair<const char*, runtime::Value>>;

/// A class MODULE.NAME derived from tuple, whose instances show their fields by name.
runtime::Value struct_sequence_class(runtime::Session& s, const char* module, const char* name);
/// An instance of such a class.
runtime::Value struct_sequence(runtime::Session& s, const runtime::Value& cls, Fields fields);

}  // namespace ouro::stdlib
