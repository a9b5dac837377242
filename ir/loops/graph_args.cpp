#include "ir/loops/graph_build.h"

namespace ouro::ir::loops {

std::optional<Use> constant_use(const Function& f, ConstId id) {
  const Constant& c = f.constant(id);
  switch (c.kind) {
    case Constant::Kind::integer:
      return Use::integer(c.i);
    case Constant::Kind::floating:
      return Use{.kind = Use::Kind::number, .type = DType::f64, .f = c.f};
    case Constant::Kind::true_:
    case Constant::Kind::false_: {
      Use u = Use::integer(c.kind == Constant::Kind::true_);
      u.type = DType::boolean;
      return u;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Use> scalar_use(const Function& f, Atom a) {
  if (a.is_none()) return std::nullopt;
  if (a.is_const()) return constant_use(f, a.constant());
  const Type* t = f.name_info(a.name()).type;
  if (!t) return std::nullopt;
  Use u{.kind = Use::Kind::scalar, .name = a.name()};
  switch (t->kind) {
    case TypeKind::integer:
      u.type = DType::i64;
      return u;
    case TypeKind::floating:
      u.type = DType::f64;
      return u;
    case TypeKind::boolean:
      u.type = DType::boolean;
      return u;
    default:
      return std::nullopt;
  }
}

std::optional<Use> integer_use(const Function& f, const LetArgs& args, std::string_view name) {
  const Param p = args.param(name);
  if (p.kind == Param::Kind::integer && p.integer.known()) return Use::integer(p.integer.c);
  const LetArgs::Slot* s = args.find(name);
  if (!s || s->atoms.size() != 1) return std::nullopt;
  auto u = scalar_use(f, s->atoms[0]);
  return u && u->type == DType::i64 ? u : std::nullopt;
}

}  // namespace ouro::ir::loops
