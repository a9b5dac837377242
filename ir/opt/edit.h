// A function being changed by a pass: a copy whose lets can be removed, replaced and redirected. The source is not
// touched.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ir/anf.h"

namespace ouro::ir::opt {

class Edit {
 public:
  explicit Edit(const FunctionRef& source);

  Function& function() { return f_; }
  const Function& function() const { return f_; }
  /// Every use of `name` becomes `by`; the let that binds it should be removed.
  void replace(NameId name, Atom by);
  /// What an atom has become.
  Atom resolve(Atom a) const;
  void remove(BlockId block, uint32_t let);
  bool removed(BlockId block, uint32_t let) const { return removed_[index(block)][let]; }
  /// The let stays, with another operation and arguments.
  void rewrite(BlockId block, uint32_t let, Op op, std::span<const Atom> args, uint32_t attr);
  Atom constant(Constant c);
  /// A new let in front of that one (those in front of one let: in this order); its result. Rows have no attribute.
  Atom insert(BlockId block, uint32_t before, Op op, std::span<const Atom> args, const Type* type);
  /// The same let once more, on other arguments, in front of that one; its result.
  Atom insert_copy(BlockId block, uint32_t before, const Let& of, std::span<const Atom> args);
  bool changed() const { return changed_; }
  void mark_changed() { changed_ = true; }
  /// The new function (the source itself if nothing changed); dead after this.
  FunctionRef finish();

 private:
  Atom insert(BlockId block, uint32_t before, Let let, std::span<const Atom> args, NameInfo info);

  FunctionRef source_;
  Function f_;
  std::vector<Atom> becomes_;
  std::vector<std::vector<bool>> removed_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Let>> inserted_;  // by block and let
  bool changed_ = false;
};

/// Depends on its operands alone, cannot raise, and gives an immutable value: may be merged with an equal one, and
/// moved. Typed names only: rows on tensors, arithmetic on numbers that cannot fail.
bool is_pure(const Function& f, const Let& let);
/// May be dropped when nobody uses the result (docs/design/rules.md A1: only alloc and reads).
bool is_droppable(const Function& f, const Let& let);

}  // namespace ouro::ir::opt
