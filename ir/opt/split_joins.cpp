#include "ir/ops/let_args.h"
#include "ir/opt/passes.h"
#include "ir/prim.h"
#include "ir/type.h"

namespace ouro::ir::opt {
namespace {

constexpr size_t kMost = 16;  // tensors that one operation joins

class Splitter {
 public:
  explicit Splitter(const Function& source) : f_(source), made_by_(source.names.size(), nullptr) {
    for (const Block& b : source.blocks)
      for (const Let& l : b.lets)
        if (l.op == prim::tuple && l.result != NameId::none) made_by_[index(l.result)] = &l;
  }

  bool run(const Function& source) {
    bool changed = false;
    for (size_t b = 0; b < source.blocks.size(); ++b) {
      lets_.clear();
      for (const Let& l : source.blocks[b].lets) {
        Let let = l;
        changed |= split(let);
        lets_.push_back(let);
      }
      f_.blocks[b].lets = lets_;
    }
    return changed;
  }
  Function take() { return std::move(f_); }

 private:
  // The join of a long tuple becomes that of joins.
  bool split(Let& l) {
    if (!is_tensor_op(l.op) || op_info(l.op).name != "cat" || l.nargs == 0) return false;
    const Atom joined = f_.args(l)[0];
    const Let* tuple = joined.is_name() ? made_by_[index(joined.name())] : nullptr;
    if (!tuple || tuple->nargs <= kMost) return false;
    const LetArgs args(f_, l);
    const auto axis = args.known_integer("axis");
    const Type& result = *f_.name_info(l.result).type;
    if (!axis) return false;
    const auto k = static_cast<size_t>(*axis < 0 ? *axis + static_cast<int64_t>(result.dims.size()) : *axis);
    std::vector<Atom> parts(f_.args(*tuple), f_.args(*tuple) + tuple->nargs);
    for (Atom a : parts) {
      const Type* t = a.is_name() ? f_.name_info(a.name()).type : nullptr;
      if (!t || !t->is_tensor() || t->dims.size() != result.dims.size()) return false;
    }
    while (parts.size() > kMost) {
      std::vector<Atom> wider;
      for (size_t i = 0; i < parts.size(); i += kMost) {
        const std::span<const Atom> some = std::span(parts).subspan(i, std::min(kMost, parts.size() - i));
        wider.push_back(some.size() == 1 ? some[0] : join(l, some, result, k));
      }
      parts = std::move(wider);
    }
    l = with_parts(l, parts);
    return true;
  }

  Atom join(const Let& like, std::span<const Atom> parts, const Type& result, size_t axis) {
    SymDim size = SymDim::number(0);
    for (Atom a : parts) size = add(size, f_.name_info(a.name()).type->dims[axis]);
    std::vector<SymDim> dims(result.dims.begin(), result.dims.end());
    dims[axis] = size;
    Let let = with_parts(like, parts);
    let.result = name(types::tensor(result.dtype, dims));
    lets_.push_back(let);
    return let.result;
  }

  Let with_parts(Let l, std::span<const Atom> parts) {
    std::vector<const Type*> types;
    for (Atom a : parts) types.push_back(f_.name_info(a.name()).type);
    Let tuple;
    tuple.op = prim::tuple;
    tuple.span = l.span;
    tuple.args_begin = atoms(parts);
    tuple.nargs = static_cast<uint16_t>(parts.size());
    tuple.result = name(types::tuple(types));
    lets_.push_back(tuple);
    std::vector<Atom> args(f_.args(l), f_.args(l) + l.nargs);
    args[0] = tuple.result;
    l.args_begin = atoms(args);
    return l;
  }

  NameId name(const Type* type) {
    f_.names.push_back({{}, type});
    return NameId{static_cast<uint32_t>(f_.names.size() - 1)};
  }
  uint32_t atoms(std::span<const Atom> list) {
    const auto begin = static_cast<uint32_t>(f_.atoms.size());
    f_.atoms.insert(f_.atoms.end(), list.begin(), list.end());
    return begin;
  }

  Function f_;
  std::vector<const Let*> made_by_;  // tuples
  std::vector<Let> lets_;            // of the block being made
};

}  // namespace

FunctionRef split_joins(const FunctionRef& source) {
  Splitter s(*source);
  if (!s.run(*source)) return source;
  return std::make_shared<const Function>(s.take());
}

}  // namespace ouro::ir::opt
