// Joining two states (join.cpp), and generalising the state at a loop head (loop_heads.cpp).
#pragma once

#include <map>
#include <set>

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

// The state behind a loop's turn is none that its head has. (Another one may be: the first turn may change types.)
struct Unlike : Abandon {
  explicit Unlike(Abandon a) : Abandon(std::move(a)) {}
};

// Budgets of a version: operations that are executed for both sides of an either, and the steps below them.
constexpr size_t kMostSplits = 4'000;
constexpr size_t kMostSideSteps = 100'000;

// Sides of one value or object, with those of its sides: each branch of a loop's turn may double them. A list that
// grows in the turns of a loop that may end early has another length for each of them, and all its forms are gone
// through again where it is used.
constexpr int kMostWays = 64, kMostForms = 16;

// Where two forks meet.
struct Meet {
  ir::BlockId at = ir::BlockId::none;  // none: behind one operation, whose value is the outcome's
  Span parted{};
  ir::Atom tag{};  // JoinBlock
  uint32_t names = 0;
  uint64_t born = 0;   // functions with this identity and later ones were made behind the fork
  bool label = false;  // no condition tells the forks apart: where they meet, a parameter says which it was
};

// The residual join point that two forks jump to.
struct JoinBlock {
  ir::BlockId block{};
  Span parted{};   // the fork
  Parted place{};  // of what is being merged
  std::vector<ir::Atom> from_a, from_b;
  ir::BlockId ends[2]{};  // of the forks
  // jit/specialise/states/either.cpp: what differs has this tag. None: no condition tells the forks apart.
  ir::Atom tag{};
  uint32_t names = 0;  // that there were before they parted
  uint64_t born = 0;
  using Parts = std::shared_ptr<const AParts>;
  std::map<std::pair<uint32_t, size_t>, ir::Atom> carried;  // name, side
  std::map<std::pair<uint32_t, size_t>, uint32_t> sizes;    // symbol, side
  std::map<std::pair<Parts, size_t>, Parts> parts;
  // What functions and bound methods have become here, by identity: copies of one function are one function.
  using Function = std::tuple<uint64_t, const ir::Function*, size_t>;  // identity, code, side
  static Function function(const AVal& f, size_t side) {
    return {source_of_form(f).parts->identity, f.parts->code.get(), side};
  }
  std::map<Function, AVal> functions_met;
  std::vector<std::pair<HeapId, size_t>> objects;
  std::set<std::pair<HeapId, size_t>> objects_seen;
  /// What is passed on the way that has nothing.
  static ir::Atom other(Residual& code, const ir::Type* type);
  std::map<std::pair<HeapId, HeapId>, HeapId> identities;  // Specialiser::merged_identity
};

// A number somewhere in the abstract heap.
struct HeapLocation {
  HeapId object = 0;
  enum class Part : uint8_t { slot, item, cursor } part = Part::slot;
  uint32_t index = 0;  // symbol id, item, -
  auto operator<=>(const HeapLocation&) const = default;
};

// A value that is there on some ways, with this type, and on others is a symbolic zero or None.
struct OptionalForm {
  AVal nothing;
  const ir::Type* type = nullptr;
};

// What a residual loop's head takes as parameters. Grows until the back edges fit.
struct LoopPlan {
  std::set<uint32_t> names;
  std::set<HeapLocation> heap;
  // Those that are eithers there: a parameter that is the tag, and one that is the value.
  std::map<uint32_t, OptionalForm> optional_names;
  std::map<HeapLocation, OptionalForm> optional_heap;
  // Variables, and attributes, of lists and dicts that each turn makes anew (jit/specialise/states/renewed.cpp).
  std::set<uint32_t> renewed;
  std::set<HeapLocation> renewed_heap;
  // Attributes that an iteration leaves to the interpreter: the head drops what it knows of them.
  std::set<HeapLocation> forgotten;
  // Attributes of outside that were loaded before the head, as an object and a name each.
  std::set<std::pair<HeapId, uint32_t>> preloaded;
  // Seqs to which each turn pushes, and the width of their records (jit/specialise/states/records.cpp).
  std::map<HeapId, int64_t> rolled;
  // May its turns keep records in a chain? Only a loop whose turns nobody can count needs that. Not a loop behind turns
  // that are written out: their records are not in the chain, and the reverse could not tell where the chain ends.
  bool may_roll = false;
};

struct LoopHead {
  ir::BlockId block{};
  std::vector<ir::Atom> initial;
  std::set<uint32_t> params;  // names
  std::set<HeapId> renewed;   // objects that stand for those of all turns
  // jit/specialise/states/records.cpp
  bool functions = false;  // some of its parameters are of functions, or of objects that extend tuple
  size_t rolled = 0;       // which of Specialiser::rolled_ its turns push
  ir::NameId chain{};      // the parameter that holds them
  std::vector<std::pair<ir::Atom, ir::NameId>> chains;  // that its reverse goes through: before the loop, the parameter
};

// Of objects that extend tuple: can one stand for both? Attributes that were given to one are not the other's.
bool alike_extensions(const AVal& a, const AVal& b);
/// The object that extends dict and holds this one (jit/specialise/execute/extended_dicts.cpp); kNoHeap: it is one by
/// itself.
HeapId owner_of_dict(HeapId dict, const AHeap& heap);
// Do two sets have their items in the same places?
bool alike(const runtime::Set& a, const runtime::Set& b);

/// Of a list or tuple, and nothing was taken from it yet?
bool is_at_start(const AObject& iterator);

}  // namespace ouro::jit
