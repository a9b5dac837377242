// What help() says of natives whose rows leave it out.
#pragma once

#include <string_view>

namespace ouro::runtime {

// By the name of the type or module that has it ("" of built-in functions): "" if nothing is known.
std::string_view native_help_signature(std::string_view owner, std::string_view name);  // "(iterable, /)"
std::string_view native_help_doc(std::string_view owner, std::string_view name);

}  // namespace ouro::runtime
