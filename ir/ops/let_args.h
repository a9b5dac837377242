// Lets of typed ANF that are tensor operations, read by their row: arguments by parameter, and the call as inference
// sees it.
//
// A tensor let has one atom for each parameter of its row in the row's order (trailing defaults may be left out); axes,
// dtypes and shapes are constants, other numbers may be names.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/anf.h"
#include "ir/ops/sig.h"

namespace ouro::ir {

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
  /// Of constants only.
  std::optional<int64_t> known_integer(std::string_view name) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  bool flag(std::string_view name) const { return param(name).truthy(); }

 private:
  Param of_constant(ConstId c) const;
  const Function& f_;
  const OpInfo& op_;
  std::vector<Slot> slots_;
};

/// A let whose inputs are tensors, inferred again: results and index map. Numbers known only at run time are unknown.
struct LetCall {
  std::vector<std::optional<TensorType>> inputs;
  std::vector<Param> params;
  SigCall call;
  /// False if an input is no tensor by itself (a number, a list), or the call cannot be told to be right.
  bool infer(const Function& f, const Let& let);
};

}  // namespace ouro::ir
