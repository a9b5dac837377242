// What is known of an operation from its row alone: name, arity, attribute, effects (docs/design/rules.md A1).
//
// Effects here are those for operands of unknown type. Which locations an operation touches (cell, global slot, class x
// attribute, element kind x container, iterator) follows from the operation and, where known, the types of its
// operands.
#pragma once

#include <optional>
#include <string_view>

#include "ir/anf.h"
#include "ir/prim.h"

namespace ouro::ir {

struct OpFacts {
  std::string_view name;
  int nargs = -1;  // -1: any
  AttrKind attr = AttrKind::none;
  uint32_t effects = kUnknown;
};

/// The row of an operation. A bug if there is none.
OpFacts op_facts(Op op);
/// The operation of this name.
std::optional<Op> op_by_name(std::string_view name);

inline std::string_view op_name(Op op) { return op_facts(op).name; }
inline uint32_t op_effects(Op op) { return op_facts(op).effects; }
/// What allocates fails where memory has a limit: a handler is told of that, too.
inline bool may_fail(uint32_t effects) { return (effects & (kRaises | kAlloc)) != 0; }

/// The tensor operations' rows. ir/ops installs them where it is linked; without them (the tool that reads stdlib/ops)
/// there are no tensor operations.
struct TensorOpTable {
  uint32_t count = 0;
  OpFacts (*facts)(uint32_t row) = nullptr;
  std::optional<uint32_t> (*find)(std::string_view name) = nullptr;
};
void install_tensor_ops(const TensorOpTable& table);

/// Location classes that effects speak of.
enum class Location : uint8_t { none, cell, global, attribute, element, iterator, handled_exception, any };

struct EffectSet {
  uint32_t bits = kPure;
  Location location = Location::none;
  Symbol name{};  // of the global slot or attribute; none: any of them
};

/// Effects of a let, with the location it reads or writes.
EffectSet effects_of(const Function& f, const Let& let);
/// May two neighbouring lets with these effects change places?
bool commute(const EffectSet& a, const EffectSet& b);
/// May a let whose result nobody uses be dropped? (alloc and reads only)
inline bool deletable(const EffectSet& e) { return (e.bits & ~(uint32_t{kAlloc} | kReads)) == 0; }

}  // namespace ouro::ir
