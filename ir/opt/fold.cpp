#include <cmath>
#include <optional>

#include "ir/opt/edit.h"
#include "ir/opt/passes.h"
#include "ir/prim.h"
#include "ir/type.h"
#include "ir/walk.h"

namespace ouro::ir::opt {
namespace {

struct Number {
  bool is_float = false, is_bool = false;
  int64_t i = 0;
  double f = 0;
  double real() const { return is_float ? f : static_cast<double>(i); }
};

std::optional<Number> number_of(const Function& f, Atom a) {
  if (!a.is_const()) return std::nullopt;
  const Constant& c = f.constant(a.constant());
  switch (c.kind) {
    case Constant::Kind::integer:
      return Number{.i = c.i};
    case Constant::Kind::floating:
      return Number{.is_float = true, .f = c.f};
    case Constant::Kind::true_:
      return Number{.is_bool = true, .i = 1};
    case Constant::Kind::false_:
      return Number{.is_bool = true};
    default:
      return std::nullopt;
  }
}

Constant integer(int64_t v) {
  Constant c;
  c.kind = Constant::Kind::integer;
  c.i = v;
  return c;
}
Constant floating(double v) {
  Constant c;
  c.kind = Constant::Kind::floating;
  c.f = v;
  return c;
}
Constant boolean(bool v) {
  Constant c;
  c.kind = v ? Constant::Kind::true_ : Constant::Kind::false_;
  return c;
}

// An int that a double holds exactly may be compared and computed as one.
bool exact(const Number& n) { return n.is_float || (n.i > -(int64_t{1} << 53) && n.i < (int64_t{1} << 53)); }

std::optional<Constant> compare(Op op, const Number& a, const Number& b) {
  if ((a.is_float || b.is_float) && (!exact(a) || !exact(b))) return std::nullopt;
  bool fl = a.is_float || b.is_float;
  auto test = [&](auto x, auto y) {
    if (op == prim::eq) return x == y;
    if (op == prim::ne) return x != y;
    if (op == prim::lt) return x < y;
    if (op == prim::le) return x <= y;
    if (op == prim::gt) return x > y;
    return x >= y;
  };
  return boolean(fl ? test(a.real(), b.real()) : test(a.i, b.i));
}

std::optional<Constant> binary(Op op, const Number& a, const Number& b) {
  if (op >= prim::eq && op <= prim::ge) return compare(op, a, b);
  if (a.is_float || b.is_float) {
    if (!exact(a) || !exact(b)) return std::nullopt;
    double x = a.real(), y = b.real();
    if (op == prim::add) return floating(x + y);
    if (op == prim::sub) return floating(x - y);
    if (op == prim::mul) return floating(x * y);
    if (op == prim::truediv && y != 0) return floating(x / y);
    return std::nullopt;
  }
  int64_t r;
  if (op == prim::add && !__builtin_add_overflow(a.i, b.i, &r)) return integer(r);
  if (op == prim::sub && !__builtin_sub_overflow(a.i, b.i, &r)) return integer(r);
  if (op == prim::mul && !__builtin_mul_overflow(a.i, b.i, &r)) return integer(r);
  if (op == prim::truediv && b.i != 0 && exact(a) && exact(b)) return floating(a.real() / b.real());
  if ((op == prim::floordiv || op == prim::mod) && b.i != 0 && !(a.i == INT64_MIN && b.i == -1)) {
    int64_t q = a.i / b.i, m = a.i % b.i;
    if (m != 0 && (m < 0) != (b.i < 0)) --q, m += b.i;
    return integer(op == prim::floordiv ? q : m);
  }
  return std::nullopt;
}

std::optional<Constant> unary(Op op, const Number& a) {
  if (op == prim::truth) return boolean(a.is_float ? a.f != 0 : a.i != 0);
  if (op == prim::not_) return boolean(a.is_float ? a.f == 0 : a.i == 0);
  if (op == prim::neg && a.is_float) return floating(-a.f);
  if (op == prim::neg && a.i != INT64_MIN) return integer(-a.i);
  if (op == prim::pos && !a.is_bool) return a.is_float ? floating(a.f) : integer(a.i);
  return std::nullopt;
}

std::optional<Constant> constant_tuple(const Edit& e, const Let& l) {
  Constant c;
  c.kind = Constant::Kind::tuple;
  for (uint32_t i = 0; i < l.nargs; ++i) {
    Atom a = e.resolve(e.function().args(l)[i]);
    if (!a.is_const()) return std::nullopt;
    c.items.push_back(a.constant());
  }
  return c;
}

}  // namespace

FunctionRef fold_constants(const FunctionRef& source) {
  Edit e(source);
  const Function& f = e.function();
  std::vector<Binding> where = bindings(*source);
  for (BlockId b : reverse_postorder(*source)) {
    for (uint32_t i = 0; i < f.block(b).lets.size(); ++i) {
      const Let l = f.block(b).lets[i];
      if (is_tensor_op(l.op) || l.handover != Let::kNoHandover || l.nargs == 0) continue;
      Atom x = e.resolve(f.args(l)[0]);
      if (l.op == prim::tuple) {
        if (auto c = constant_tuple(e, l)) {
          e.replace(l.result, e.constant(std::move(*c)));
          e.remove(b, i);
        }
        continue;
      }
      if (l.op == prim::tuple_get) {
        if (x.is_const() && f.constant(x.constant()).kind == Constant::Kind::tuple) {
          e.replace(l.result, Atom(f.constant(x.constant()).items.at(l.attr)));
          e.remove(b, i);
        } else if (x.is_name() && where[index(x.name())].position != Binding::kParam) {
          Binding at = where[index(x.name())];
          const Let& made = f.block(at.block).lets[static_cast<size_t>(at.position)];
          if (made.op != prim::tuple || l.attr >= made.nargs) continue;
          e.replace(l.result, f.args(made)[l.attr]);
          e.remove(b, i);
        }
        continue;
      }
      // A size is equal to itself.
      const Type* t = x.is_name() ? f.name_info(x.name()).type : nullptr;
      if (l.op == prim::eq && l.nargs == 2 && x == e.resolve(f.args(l)[1]) && t && t->kind == TypeKind::integer) {
        e.replace(l.result, e.constant(boolean(true)));
        e.remove(b, i);
        continue;
      }
      auto a = number_of(f, x);
      if (!a) continue;
      std::optional<Constant> r;
      if (l.nargs == 1)
        r = unary(l.op, *a);
      else if (l.nargs == 2) {
        if (auto c = number_of(f, e.resolve(f.args(l)[1]))) r = binary(l.op, *a, *c);
      }
      if (!r) continue;
      e.replace(l.result, e.constant(std::move(*r)));
      e.remove(b, i);
    }
    // A branch on a constant is a jump.
    Terminator& t = e.function().blocks[index(b)].term;
    if (t.kind == Terminator::Kind::branch) {
      if (auto c = number_of(f, e.resolve(t.a))) {
        t.targets = {t.targets[c->i ? 0 : 1]};
        t.kind = Terminator::Kind::jump;
        t.a = {};
        e.mark_changed();
      }
    }
  }
  return e.finish();
}

}  // namespace ouro::ir::opt
