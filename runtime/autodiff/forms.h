// Shared by the forms of callables: forward.cpp (forward forms), plain.cpp (forms of callables without a rule),
// catching.cpp (forms that return the exception that they raise).
#pragma once

#include <initializer_list>
#include <string_view>

#include "runtime/autodiff/state.h"
#include "runtime/protocol/lookup.h"

namespace ouro::runtime::autodiff {

State::Pair& pair_of(Session& s, const ir::FunctionRef& code);
// What a function of grad_rules makes of forms.
Value adapter(Session& s, std::string_view name, std::initializer_list<Value> args);
// A function with other code, made of f, which it captures last.
Value derived_function(Function* f, const ir::FunctionRef& code);
// Set in a function's flags: differentiated code computed its default values (function_let of ir/grad/rules.cpp).
constexpr uint8_t kComputedDefaults = kFlagUser;
// The form, or one that brings the cotangents of f's default values, if differentiated code computed those.
Value with_defaults(Session& s, Value form, const Function* f);

// Forms of what has no rule (plain.cpp): of a callable; of a native, which then returns what it raises; of a primitive
// that asks its operands.
Value plain_form(const Value& f);
Value caught_native(const Value& f);
Value recorded_primitive_form(std::string_view prim);

// What custom_vjp, checkpoint and jit say of themselves (library classes). A script's __getattr__ is not asked.
constexpr std::string_view kOwnForm = "__forward_form__", kDifferentiatesAs = "__differentiates_as__";
inline bool has_own(Session& s, const Value& v, std::string_view name) {
  return !type_lookup(s, type_of(s, v), intern(name)).is_unbound() ||
         (cast<Instance>(v) && instance_slot(s, v.as<Instance>(), intern(name)));
}

}  // namespace ouro::runtime::autodiff
