// Argument checks of built-in functions and methods, in CPython's words (its Argument Clinic has several: each helper
// is one of them). All return false with TypeError set. `first` is 1 for methods (argument 0 is the receiver, which no
// count includes), 0 for functions.
#pragma once

#include <initializer_list>

#include "runtime/object/native.h"
#include "runtime/object/value.h"

namespace ouro::runtime {

// "list.clear() takes no arguments (1 given)"
[[nodiscard]] bool takes_none(Session& s, const Args& a, const char* name, size_t first = 1);
// "list.append() takes exactly one argument (0 given)"
[[nodiscard]] bool takes_one(Session& s, const Args& a, const char* name, size_t first = 1);
// "pop expected at most 1 argument, got 2"; `qualified` is the name used when keywords are given ("list.pop").
[[nodiscard]] bool takes(Session& s, const Args& a, const char* name, size_t low, size_t high, size_t first = 1,
                         const char* qualified = nullptr);
// "find() takes at least 1 argument (0 given)"
[[nodiscard]] bool takes_count(Session& s, const Args& a, const char* name, size_t low, size_t high, size_t first = 1);
// Parameters with names: fills out[0..names), absent ones unbound. The first `required` must be there; at most
// `positional` may come without their name. A name that starts with a space is positional-only.
[[nodiscard]] bool takes_named(Session& s, const Args& a, const char* name, std::initializer_list<const char*> names,
                               size_t required, size_t positional, Value* out, size_t first = 1);

inline const Value& argument(const Args& a, size_t i) {
  static const Value kAbsent;
  return i < a.size() ? a[i] : kAbsent;
}

}  // namespace ouro::runtime
