// Natives: functions of the language written in C++, one row each. Rows are tables in stdlib/native/*.cpp and in
// runtime/types/*.cpp (methods of built-in types); they are bound when a session starts.
#pragma once

#include <span>
#include <string_view>

#include "runtime/object/value.h"

namespace ouro::runtime {

class Session;
struct Tuple;

// Arguments of a call: positional ones, then keyword ones; `names[i]` is the name (a Str) of keyword argument i. All
// borrowed.
struct Args {
  std::span<const Value> positional;
  std::span<const Value> keywords;
  std::span<const Value> names;
  size_t size() const { return positional.size(); }
  const Value& operator[](size_t i) const { return positional[i]; }
};

using NativeFn = Value (*)(Session&, const Args&);
// Short ways of a call: exactly one, two or three arguments (the receiver counts), which stay in the caller's
// registers. What they may call back is a key's comparison. Unbound: not for these arguments, `fn` does it (and tells
// what is wrong with them).
using NativeOne = Value (*)(Session&, const Value&);
using NativeTwo = Value (*)(Session&, const Value&, const Value&);
using NativeThree = Value (*)(Session&, const Value&, const Value&, const Value&);

// What calling one reads and writes, beyond what its arguments are asked (their special methods).
enum class NativeEffect : uint8_t {
  any,     // not said: anything
  pure,    // nothing: where the arguments are immutable, the result depends on them alone
  output,  // it writes where scripts cannot read
  hidden,  // it changes what scripts see by calls of its kind alone, and calls none where its arguments are numbers
  frames,  // it looks at the calls that run
};

// What it always gives where its arguments are numbers (of a method: those behind the receiver).
enum class NativeGives : uint8_t { any, floating, integer, boolean };

// One row. `params` is a Python parameter list ("x, /, base=None, *args, key=None"): when given, the caller's arguments
// are bound to it first (CPython's error wording) and `fn` sees every parameter positionally, absent ones as unbound,
// `*args` as a tuple, `**kw` as a dict. "x: int" has the kind checked, too: `fn` need not. When empty, `fn` parses Args
// itself. Of a method the list leaves out the receiver (a leading `self` is ignored), which `fn` sees as argument 0.
struct NativeDef {
  std::string_view name;
  std::string_view params;
  NativeFn fn;
  std::string_view doc;
  bool raw = false;  // ignore `params` for binding (documentation only)
  NativeEffect effect = NativeEffect::any;
  NativeGives gives = NativeGives::any;
  NativeOne one = nullptr;
  NativeTwo two = nullptr;
  NativeThree three = nullptr;
  /// What it gives for a finite float, where that is finite.
  double (*computes)(double) = nullptr;
};

}  // namespace ouro::runtime
