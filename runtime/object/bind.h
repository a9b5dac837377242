// Binding a call's arguments to parameters, with CPython's error wording: of script functions (ir::Signature) and of
// natives whose row has a parameter list (NativeDef::params).
#pragma once

#include <string>
#include <vector>

#include "ir/anf.h"
#include "runtime/object/native.h"
#include "runtime/object/object.h"

namespace ouro::runtime {

// The parsed parameter list of a native. Defaults stay text: an absent parameter is passed as unbound.
struct Params {
  struct Param {
    Symbol name;
    bool has_default = false;
    ObjectKind kind = ObjectKind::unbound_;  // "name: int": of this kind or a subclass of it; unbound_: anything
  };
  std::vector<Param> params;  // positional ones, then keyword-only ones
  uint16_t posonly = 0, positional = 0, required = 0;
  bool varargs = false, varkw = false;
  bool has_kinds = false;
  bool parse_self = false;  // the row has no list, or asked for raw arguments
  // Calls with as many positional arguments (without the receiver) need no binding, only `quick_slots` places.
  uint16_t quick_least = 1, quick_most = 0, quick_slots = 0;
  size_t slots() const { return params.size() + varargs + varkw; }
};
// Parsed once per row and kept for the process (rows are static).
const Params* params_of(const NativeDef& def);

// Fills `out` (slots() values: positional ones, *args, keyword-only ones, **kw, in that order).
[[nodiscard]] bool bind_native(Session& s, std::string_view name, const Params& p, const Args& args, Value* out);

// Fills `out` (sig.count() values, in the order of the entry block's parameters). `args` are borrowed.
[[nodiscard]] bool bind_function(Session& s, Function* f, const Args& args, Value* out);

// Calls a native through its row: receiver check, binding, call.
Value call_native(Session& s, Native* n, const Args& args);
// Its function, with arguments bound already: MemoryError where it finds no memory.
Value call_native_fn(Session& s, const NativeDef& def, const Args& args);

}  // namespace ouro::runtime
