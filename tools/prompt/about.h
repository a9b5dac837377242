// `?name` and `name?`: what a name stands for, with its signature, its text and its source.
#pragma once

#include <string_view>

namespace ouro::tools {

class Shell;

/// Answers a line that is_question() (read_cell.h); a `?` alone is `:help`.
void tell_about(Shell& shell, std::string_view question);

/// "relo is not defined. Did you mean relu?", "nn has no Liner. Did you mean Linear?", for a dotted name that means
/// nothing.
std::string not_defined(Shell& shell, std::string_view dotted);

}  // namespace ouro::tools
