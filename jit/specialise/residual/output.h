// Results of a version: values from the typed program's outputs, and the writes it carries out.
#pragma once

#include <span>

#include "jit/specialise/specialise.h"

namespace ouro::jit {

/// Builds the result and performs `made.writes` in order. `nodes` are the access nodes' values, `outputs` the typed
/// program's results (moved out). The function's result, or error with an exception set.
Value carry_out(Session& s, const SpecialiseResult& made, std::span<Value> nodes, std::span<Value> outputs);

/// What a forward form's program gives when it has gone on: adds to the shadow map `env`. The arguments' cotangents, or
/// error with an exception set.
Value carry_back(Session& s, const Back::Way& way, std::span<Value> nodes, std::span<Value> outputs, const Value& env);

// A value that is made in the middle of a program: its outputs are the operands.
struct Recipe {
  OutputTree value;
  std::vector<uint32_t> made;  // shares of objects in it that are wanted, too
};

/// A native that takes the operands and gives the tuple (value, made...).
Value recipe_native(Session& s, Recipe recipe);

}  // namespace ouro::jit
