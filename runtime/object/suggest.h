// "Did you mean": the name closest to a misspelt one, by CPython's distance (Python/suggestions.c).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/value.h"

namespace ouro::runtime {

class Session;

// ". Did you mean: 'x'?" for a NameError, AttributeError or ImportError, or "".
std::string suggestion(Session& s, const Value& exception);
// The nearest of `names`, or "".
std::string_view nearest_name(std::string_view wrong, const std::vector<std::string_view>& names);

}  // namespace ouro::runtime
