// Terms: what an element is computed from, as far as it can be told without the numbers.
//
// A term is a tree of leaves over elements in memory, scalars and constants, with one number for equal trees
// (hash-consing). Integers and bools that are known (indices, what is compared of them) are computed at once, so that
// an index is a number and a condition on indices picks its arm; numbers of tensors stay symbols. Two ways to compute
// an element are the same if they give the same term: that is what translation validation compares (Pnueli, Siegel,
// Singerman 1998; Necula 2000).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/ops/leaf.h"
#include "support/dtype.h"

namespace ouro::jit::check {

enum class Term : uint32_t { none = UINT32_MAX };

class Terms {
 public:
  /// A known integer or bool.
  Term number(DType type, int64_t value);
  /// A float constant, as its type holds it.
  Term constant(DType type, double value);
  /// Element `index` of what is called `owner` (any number that tells its owners apart).
  Term element(DType type, uint64_t owner, int64_t index);
  /// A run-time scalar.
  Term scalar(DType type, uint64_t owner);
  Term leaf(ir::Leaf leaf, DType type, std::span<const Term> args);
  /// `parts` combined in the order named.
  Term reduction(ir::Leaf combine, bool last_axis, DType type, std::span<const Term> parts);

  Term cast(Term t, DType to);
  /// The number that a buffer of this element type keeps of it: half floats are rounded, and are f32 again.
  Term rounded(Term t, DType to);

  DType type(Term t) const { return nodes_[static_cast<uint32_t>(t)].type; }
  std::optional<int64_t> known(Term t) const;
  std::string text(Term t, int depth = 3) const;
  size_t size() const { return nodes_.size(); }

 private:
  enum class Kind : uint8_t { number, constant, element, scalar, leaf, reduction };
  struct Node {
    Kind kind;
    ir::Leaf leaf = ir::Leaf::constant;
    DType type = DType::f32;
    bool last_axis = false;
    uint64_t a = 0, b = 0;  // number: value; element: owner, index; leaf, reduction: a first of `parts_`, b how many
    bool operator==(const Node&) const = default;
  };
  Term make(Node n, std::span<const Term> parts);
  void grow();
  std::optional<int64_t> fold(ir::Leaf leaf, DType type, std::span<const Term> args) const;

  std::vector<Node> nodes_;
  std::vector<Term> parts_;
  std::vector<uint64_t> hashes_;  // of nodes
  std::vector<uint32_t> index_;   // open addressing: node + 1, 0 is free
};

}  // namespace ouro::jit::check
