// What a typed function says that an element of a name is: a term over elements of the names that are in memory.
//
// The meaning of each row stands here a second time, element by element and for sizes that are numbers, written from
// the row (ir/ops) and not from ir/loops, whose work it is compared with. Rows that no kernel computes have none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/anf.h"
#include "ir/ops/registry.h"
#include "jit/plan/check/terms.h"
#include "jit/plan/plan_program.h"

namespace ouro::jit::check {

/// Something that the checker has found, as a text.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Index = std::vector<int64_t>;
using Shape = std::vector<int64_t>;
/// For these sizes some tensor would have a negative one: the function raises before it comes to that.
struct NoSuchSizes {};
int64_t elements(const Shape& s);
int64_t flat(const Index& at, const Shape& s);
Index unflat(int64_t n, const Shape& s);

class Meaning {
 public:
  /// `size_of_symbol` gives the size that each symbol of the types stands for.
  Meaning(const ir::Function& f, ir::BlockId block, std::function<int64_t(uint32_t)> size_of_symbol, Terms& terms);

  /// The name that a chain of moves gives.
  ir::NameId origin(ir::NameId n) const;
  const ir::Type& type(ir::NameId n) const { return *f_.name_info(n).type; }
  Shape shape(ir::NameId n) const { return shape_of(n); }
  /// Shape and element type of what a buffer is said to hold.
  Shape shape(const Claim& c) const;
  DType dtype(const Claim& c) const;

  /// What is in memory: elements of these are taken as they are.
  void in_memory(std::set<std::pair<ir::NameId, int>> claims) {
    memory_ = std::move(claims), done_.clear(), followed_.clear();
  }
  /// A load of element `at` of what a buffer holds.
  Term load(const Claim& c, int64_t at);
  /// Element `at` of what a buffer is to hold, computed.
  Term computed(const Claim& c, int64_t at);
  /// The value of a scalar name or constant in a leaf of `type`.
  Term scalar(ir::Atom a, DType type);

  const ir::Let* let_of(ir::NameId n) const;
  /// Names in memory whose elements, since in_memory(), said which element is meant: places, which must be in range.
  const std::set<ir::NameId>& followed() const { return followed_; }
  /// By how much the elements of an index name may be: [-bound, bound); 0 if it indexes nothing.
  int64_t bound(ir::NameId n) const;

 private:
  class Args;
  struct Reduction;
  struct Elementwise;
  struct Prepared;
  Term element(ir::NameId n, const Index& at);
  Term compute(const ir::Let& l, const Index& at);
  Term operand(ir::Atom a, const Shape& out, const Index& at, DType type);
  Term elementwise(const Prepared& l, const Index& at);
  Term run(const ir::ExprProgram& p, DType result, const std::function<Term(const ir::ExprStep&)>& given);
  /// What there is to know of a let beforehand, once.
  const Prepared& prepared(const ir::Let& l) const;
  Reduction reduction(const Args& a) const;
  Elementwise program_of(const Args& a) const;
  Term reduced(const ir::Let& l, int stage, const Index& at);
  Term view(const Args& a, const Index& at);
  Term gathered(const Args& a, const Index& at);
  Term scattered(const Args& a, const Index& at);
  Term window(const Args& a, bool index, const Index& at);
  Term unpooled(const Args& a, const Index& at);
  Term made(const Args& a, const Index& at);
  const Shape& shape_of(ir::NameId n) const;
  int64_t place(ir::NameId places, const Index& at, int64_t size);
  void find_bounds(const ir::Block& b);

  const ir::Function& f_;
  std::function<int64_t(uint32_t)> size_of_symbol_;
  Terms& t_;
  std::map<uint32_t, const ir::Let*> lets_;
  std::map<uint32_t, int64_t> bounds_;
  std::set<std::pair<ir::NameId, int>> memory_;
  struct Pair {
    size_t operator()(const std::pair<uint32_t, int64_t>& p) const {
      return std::hash<uint64_t>()(static_cast<uint64_t>(p.second) * 0x9E3779B97F4A7C15u ^ p.first);
    }
  };
  std::unordered_map<std::pair<uint32_t, int64_t>, Term, Pair> done_;
  mutable std::unordered_map<const ir::Let*, std::shared_ptr<Prepared>> prepared_;
  mutable std::unordered_map<uint32_t, Shape> shapes_;
  std::set<ir::NameId> followed_;
  int following_ = 0;
};

}  // namespace ouro::jit::check
