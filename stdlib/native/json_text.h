// JSON (RFC 8259, and NaN, Infinity and -Infinity) to values and back, as Python's json has it.
#pragma once

#include <string_view>

#include "runtime/object/value.h"

namespace ouro::runtime {
class Session;
struct Str;
}  // namespace ouro::runtime

namespace ouro::stdlib::json {

using runtime::Session;
using runtime::Value;

// What is called with the parts of a document; None: nothing, they become what they are.
struct Hooks {
  Value object, pairs;  // a dict; a list of pairs, which comes before it
  Value to_float, to_int, to_constant;
  bool any() const {
    return !object.is_none() || !pairs.is_none() || !to_float.is_none() || !to_int.is_none() || !to_constant.is_none();
  }
};
// The value that starts at byte `start` (after white space), and the byte behind it. Unbound: the reader does not take
// the text, which has an error or a form that only python/json/_scanner.ouro knows; no hook has been called then.
Value decode(Session& s, runtime::Str* text, size_t start, const Hooks& hooks, size_t& end);

struct Style {
  Value fallback;              // what makes a value out of one that JSON has no form for
  Value indent;                // a str: each item on a line of its own; or None
  Value sink;                  // called with pieces of the text; None: the result is all of it
  std::string_view item, key;  // the separators
  bool sort_keys = false, skip_keys = false, ascii = true, allow_nan = true, check_circular = true;
};
Value encode(Session& s, const Value& v, const Style& style);

// A str as JSON has it, in quotes.
Value quoted(Session& s, std::string_view text, bool ascii);

}  // namespace ouro::stdlib::json
