// Laws of arithmetic that keep every bit.
#include <cmath>

#include "ir/ops/registry.h"
#include "ir/opt/rules.h"
#include "ir/type.h"

namespace ouro::ir::opt {
namespace {

bool neutral_right(const Match& m, double v, bool negative_zero = false) {
  return m.nargs() >= 2 && m.same(m.arg(0)) && m.is_number(m.arg(1), v, negative_zero) && m.become(m.arg(0));
}
bool neutral_left(const Match& m, double v, bool negative_zero = false) {
  return m.nargs() >= 2 && m.same(m.arg(1)) && m.is_number(m.arg(0), v, negative_zero) && m.become(m.arg(1));
}

// A power of two whose reciprocal is exact in f32 too.
bool reciprocal_is_exact(double c) {
  int e;
  return std::isfinite(c) && std::fabs(std::frexp(c, &e)) == 0.5 && e > -100 && e < 100;
}

constexpr Rule kArithmetic[] = {
    {"mul", "x * 1 = x", [](const Match& m) { return neutral_right(m, 1) || neutral_left(m, 1); }},
    {"div", "x / 1 = x", [](const Match& m) { return m.is_float(m.arg(0)) && neutral_right(m, 1); }},
    {"div", "x / 2^k = x * 2^-k",
     [](const Match& m) {
       if (m.nargs() != 2 || !m.same(m.arg(0)) || !m.is_float(m.arg(0)) || !m.arg(1).is_const()) return false;
       const Constant& c = m.f.constant(m.arg(1).constant());
       double v = c.kind == Constant::Kind::floating  ? c.f
                  : c.kind == Constant::Kind::integer ? static_cast<double>(c.i)
                                                      : 0;
       if (!reciprocal_is_exact(v)) return false;
       Constant r;
       r.kind = Constant::Kind::floating;
       r.f = 1 / v;
       Atom args[] = {m.arg(0), m.e.constant(r)};
       m.e.rewrite(m.block, m.at, find_op("mul")->op, args, kNoAttr);
       return true;
     }},
    {"sub", "x - 0.0 = x", [](const Match& m) { return neutral_right(m, 0); }},
    {"add", "x + -0.0 = x; of integers x + 0 = x",
     [](const Match& m) {
       bool fl = m.result_type() && m.result_type()->is_tensor() && is_float(m.result_type()->dtype);
       return neutral_right(m, 0, fl) || neutral_left(m, 0, fl);
     }},
    {"neg", "-(-x) = x",
     [](const Match& m) {
       const Let* inner = m.row(m.arg(0), "neg");
       return inner && m.same(m.f.args(*inner)[0]) && m.become(m.f.args(*inner)[0]);
     }},
    {"detach clone", "a tensor is a value", [](const Match& m) { return m.same(m.arg(0)) && m.become(m.arg(0)); }},
    {"astype cast_back", "to the type it has", [](const Match& m) { return m.same(m.arg(0)) && m.become(m.arg(0)); }},
    {"maximum minimum logical_and logical_or bitwise_and bitwise_or", "f(x, x) = x",
     [](const Match& m) { return m.nargs() >= 2 && m.arg(0) == m.arg(1) && m.same(m.arg(0)) && m.become(m.arg(0)); }},
    {"where", "where(c, x, x) = x",
     [](const Match& m) { return m.nargs() == 3 && m.arg(1) == m.arg(2) && m.same(m.arg(1)) && m.become(m.arg(1)); }},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return kArithmetic; }

}  // namespace ouro::ir::opt
