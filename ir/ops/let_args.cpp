#include "ir/ops/let_args.h"

#include "ir/type.h"

namespace ouro::ir {

LetArgs::LetArgs(const Function& f, const Let& let) : f_(f), op_(op_info(let.op)), slots_(op_.params.size()) {
  // Atoms first, then the items of the tuple of static arguments.
  std::vector<Atom> all(f.args(let), f.args(let) + let.nargs);
  if (all.size() < op_.params.size() && let.attr < f.constants.size() &&
      f.constants[let.attr].kind == Constant::Kind::tuple)
    for (ConstId item : f.constant(ConstId{let.attr}).items) all.push_back(Atom(item));
  size_t next = 0;
  for (size_t i = 0; i < slots_.size() && next < all.size(); ++i) {
    Slot& s = slots_[i];
    // A variadic parameter takes what is left for it; one constant tuple is the whole list.
    size_t behind = 0;
    for (size_t k = i + 1; k < slots_.size(); ++k) behind += !op_.params[k].has_default;
    size_t take = 1;
    if (op_.params[i].variadic && all.size() - next > behind) take = all.size() - next - behind;
    s.given = true;
    for (size_t k = 0; k < take; ++k) s.atoms.push_back(all[next++]);
    if (s.atoms.size() == 1 && s.atoms[0].is_const()) s.constant = s.atoms[0].constant();
    if (s.constant && op_.params[i].input && f.constant(*s.constant).kind == Constant::Kind::none) s.given = false;
  }
}

const LetArgs::Slot* LetArgs::find(std::string_view name) const {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (op_.params[i].name == name) return &slots_[i];
  return nullptr;
}

Param LetArgs::of_constant(ConstId id) const {
  const Constant& c = f_.constant(id);
  Param p;
  switch (c.kind) {
    case Constant::Kind::none:
      return Param::none();
    case Constant::Kind::true_:
      return Param::of_bool(true);
    case Constant::Kind::false_:
      return Param::of_bool(false);
    case Constant::Kind::integer:
      return Param::of(c.i);
    case Constant::Kind::floating:
      return Param::of_float(c.f);
    case Constant::Kind::string:
      return Param::of_text(c.text);
    case Constant::Kind::dtype:
      return Param::of_dtype(static_cast<DType>(c.i));
    case Constant::Kind::tuple:
      p.kind = Param::Kind::list;
      for (ConstId item : c.items) p.list.push_back(of_constant(item));
      return p;
    default:
      p.kind = Param::Kind::unknown;
      return p;
  }
}

Param LetArgs::param(size_t i) const {
  const Slot& s = slots_[i];
  if (!s.given) return default_of(op_.params[i]);
  if (s.constant) return of_constant(*s.constant);
  Param p;
  p.kind = Param::Kind::unknown;
  if (s.atoms.size() != 1) {
    p.kind = Param::Kind::list;
    for (Atom a : s.atoms) {
      if (a.is_const()) {
        p.list.push_back(of_constant(a.constant()));
      } else {
        p.list.emplace_back();
        p.list.back().kind = Param::Kind::unknown;
      }
    }
  }
  return p;
}

Param LetArgs::param(std::string_view name) const {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (op_.params[i].name == name) return param(i);
  return Param::none();
}

std::optional<int64_t> LetArgs::known_integer(std::string_view name) const {
  const Param p = param(name);
  if (p.kind != Param::Kind::integer || !p.integer.known()) return std::nullopt;
  return p.integer.c;
}

std::optional<std::vector<int64_t>> LetArgs::integers(std::string_view name) const {
  Param p = param(name);
  std::vector<int64_t> out;
  if (p.kind == Param::Kind::list && p.list.size() == 1 && p.list[0].kind == Param::Kind::list) p = Param(p.list[0]);
  if (p.kind == Param::Kind::list) {
    for (const Param& e : p.list) {
      if (e.kind != Param::Kind::integer || !e.integer.known()) return std::nullopt;
      out.push_back(e.integer.c);
    }
    return out;
  }
  if (p.kind != Param::Kind::integer || !p.integer.known()) return std::nullopt;
  out.push_back(p.integer.c);
  return out;
}

bool LetCall::infer(const Function& f, const Let& let) {
  if (!is_tensor_op(let.op)) return false;
  const LetArgs args(f, let);
  const OpInfo& op = args.op();
  for (int i : op.input_at) {
    const auto& atoms = args.slot(static_cast<size_t>(i)).atoms;
    const Type* t = atoms.size() == 1 && atoms[0].is_name() ? f.name_info(atoms[0].name()).type : nullptr;
    if (!t || !t->is_tensor()) return false;
    inputs.push_back(TensorType{.dtype = t->dtype, .dims = t->dims});
  }
  for (int i : op.param_at) params.push_back(args.param(static_cast<size_t>(i)));
  call.op = &op;
  call.inputs = inputs;
  call.params = params;
  return ir::infer(call);
}

}  // namespace ouro::ir
