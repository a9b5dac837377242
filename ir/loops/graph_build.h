// Reading the lets of typed ANF for the graph: arguments by parameter name, constants as numbers. Internal to ir/loops.
#pragma once

#include <optional>
#include <string_view>

#include "ir/loops/graph.h"
#include "ir/ops/sig.h"

namespace ouro::ir::loops {

/// The arguments of one tensor let, by parameter of its row; defaults filled in.
class LetArgs {
 public:
  LetArgs(const Function& f, const Let& let);
  const OpInfo& op() const { return op_; }
  size_t size() const { return slots_.size(); }
  /// A tensor or scalar name, or a constant; neither for a default.
  struct Slot {
    std::vector<Atom> atoms;  // several for a variadic parameter or a list
    std::optional<ConstId> constant;
    bool given = false;
  };
  const Slot& slot(size_t i) const { return slots_[i]; }
  const Slot* find(std::string_view param) const;

  /// As the signature's inference wants it; kind `unknown` for a run-time scalar.
  Param param(size_t i) const;
  Param param(std::string_view name) const;
  /// An integer that is a constant or a scalar name.
  std::optional<Use> integer(std::string_view name) const;
  std::optional<int64_t> known_integer(std::string_view name) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  bool flag(std::string_view name) const { return param(name).truthy(); }

 private:
  Param of_constant(ConstId c) const;
  const Function& f_;
  const OpInfo& op_;
  std::vector<Slot> slots_;
};

/// A scalar operand: constant or scalar name; nothing if it is something else (None, text, a tensor).
std::optional<Use> scalar_use(const Function& f, Atom a);
std::optional<Use> constant_use(const Function& f, ConstId c);

}  // namespace ouro::ir::loops
