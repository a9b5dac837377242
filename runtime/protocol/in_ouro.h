// The protocol of script objects as it is written in Ouro (stdlib/protocol.ouro), for those who execute or
// differentiate the text, and its primitives (module `_protocol`).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/object/object.h"

namespace ouro::runtime {

// What a primitive is called in the text: "op.add" is "__add__", "iop.add" "__iadd__", "cmp.eq" "__eq__", "match.class"
// "class_pattern".
std::string name_in_protocol(std::string_view prim);
// The text's function of that name ("__add__", "load", ...); error with an exception set.
Value protocol_function(Session& s, std::string_view name);
// The text that says what a built-in method of `object` does; unbound if none does.
Value text_of_native(Session& s, const NativeDef* def);

// A debug option: does the interpreter run the text instead of its own copy (OURO_PROTOCOL=text in the environment)?
extern const bool kProtocolByText;
Value by_text(Session& s, std::string_view name, std::initializer_list<Value> args);

void register_protocol_natives(Session& s);

}  // namespace ouro::runtime
