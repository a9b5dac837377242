// Why the compiler leaves an operation, or a function, to the interpreter: each kind of reason once, with what a user
// can write instead. In the report, Because::text says beside it what happened at that place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ouro::jit {

enum class Reason : uint8_t {
  call,                 // the interpreter's own work, such as print
  raises,               // the interpreter is to raise it
  unknown_value,        // of no known type
  unknown_object,       // of no known class or attributes
  class_hook,           // a class says by itself what is done
  interpreter_changed,  // what the interpreter may have changed meanwhile, or knows
  container,            // a list, dict or set that is not followed
  computed_number,      // where structure needs a number
  computed_length,
  computed_test,
  branches,  // that leave different things
  loop_state,
  loop_growth,
  loop_on_data,  // whose number of turns depends on data, under grad
  derivative,
  recursion,
  language,  // what is not executed
  crossing,  // what exists in compiled code only and would have to leave it
  effects,   // what has been done cannot be done again
  frames,    // looks at the calls that run
  identity,
  placement,  // on a device; demands
  too_large,
  internal,  // the compiler's own tables and texts
};

struct ReasonRow {
  Reason reason;
  std::string_view name;     // in `explain --json`
  std::string_view instead;  // what to write; empty: there is nothing to be changed
};

const ReasonRow& row_of(Reason r);

struct Because {
  Reason reason = Reason::internal;
  std::string text;
};

}  // namespace ouro::jit
