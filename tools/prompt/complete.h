// What can follow at the prompt: names of __main__ and the built-in ones, attributes of what a
// dotted name means.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/value.h"

namespace ouro::runtime {
class Session;
}

namespace ouro::tools {

// Words that go on with the dotted name at the end of `text`, sorted; `start` is where that name
// begins. Looking up attributes may run properties, as in CPython's prompt; errors are dropped, and
// what takes longer than a second, or is interrupted, gives no words.
std::vector<std::string> complete(runtime::Session& s, const runtime::Value& module, std::string_view text,
                                  size_t& start);

/// What a dotted name means now; unbound if nothing. Attributes are looked up as scripts do: to be called where an
/// interrupt is caught.
runtime::Value meaning(runtime::Session& s, const runtime::Value& module, std::string_view dotted);
/// What stands behind `owner` and a dot; of the empty name: what the module and every script has.
std::set<std::string> names_in(runtime::Session& s, const runtime::Value& module, std::string_view owner);

}  // namespace ouro::tools
