#include "ir/ops/expr.h"

#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "support/diag.h"

namespace ouro::ir {

namespace {

struct NodeHash {
  size_t operator()(const ExprNode* n) const {
    uint64_t h = static_cast<uint64_t>(n->leaf) * 0x9e3779b97f4a7c15ull;
    auto mix = [&](uint64_t v) { h = (h ^ v) * 0xff51afd7ed558ccdull, h ^= h >> 32; };
    mix(n->index), mix(static_cast<uint64_t>(n->target.kind) * 16 + static_cast<uint64_t>(n->target.type));
    mix(ExprNode::bits(n->imm));
    for (const S& k : n->kid) mix(reinterpret_cast<uint64_t>(k.node));
    return h;
  }
};
struct NodeEqual {
  bool operator()(const ExprNode* a, const ExprNode* b) const { return *a == *b; }
};

struct NodeTable {
  std::mutex lock;
  std::deque<ExprNode> nodes;
  std::unordered_set<const ExprNode*, NodeHash, NodeEqual> known;
};
NodeTable& table() {
  static NodeTable* t = new NodeTable;  // lives as long as the process
  return *t;
}

ExprRef intern_node(ExprNode n) {
  NodeTable& t = table();
  std::lock_guard guard(t.lock);
  if (auto it = t.known.find(&n); it != t.known.end()) return *it;
  n.id = static_cast<uint32_t>(t.nodes.size());
  t.nodes.push_back(n);
  t.known.insert(&t.nodes.back());
  return &t.nodes.back();
}

}  // namespace

S::S(double constant) {
  ExprNode n{.leaf = Leaf::constant};
  n.imm = constant;
  node = intern_node(n);
}
S make_leaf(Leaf leaf, S a, S b, S c) {
  ExprNode n{.leaf = leaf};
  n.kid[0] = a, n.kid[1] = b, n.kid[2] = c;
  return intern_node(n);
}
S make_arg(int index) {
  ExprNode n{.leaf = Leaf::arg};
  n.index = static_cast<uint8_t>(index);
  return intern_node(n);
}
S make_param(int index) {
  ExprNode n{.leaf = Leaf::param};
  n.index = static_cast<uint8_t>(index);
  return intern_node(n);
}
S make_cast(S a, CastTarget target) {
  ExprNode n{.leaf = Leaf::cast};
  n.target = target;
  n.kid[0] = a;
  return intern_node(n);
}

// ---------------------------------------------------------------- derivatives

namespace {

// Forward accumulation over the DAG; a null S is a symbolic zero, so nothing is ever multiplied by it.
struct Differentiator {
  int arg;
  std::map<uint32_t, S> done;

  static bool is_one(S s) { return s && s.node->leaf == Leaf::constant && s.node->imm == 1; }
  static S times(S a, S b) {
    if (!a || !b) return {};
    if (is_one(a)) return b;
    if (is_one(b)) return a;
    return a * b;
  }
  static S plus(S a, S b) { return !a ? b : !b ? a : a + b; }
  static S minus(S a, S b) { return !b ? a : !a ? -b : a - b; }
  static S zero_if_null(S a) { return a ? a : S(0); }
  static S choose(S c, S a, S b) { return !a && !b ? S{} : select(c, zero_if_null(a), zero_if_null(b)); }

  S run(S e) {
    if (!e) return {};
    if (auto it = done.find(e.node->id); it != done.end()) return it->second;
    S r = rule(e);
    done[e.node->id] = r;
    return r;
  }

  S rule(S y) {
    const ExprNode& n = *y.node;
    S a = n.kid[0], b = n.kid[1], c = n.kid[2];
    switch (n.leaf) {
      case Leaf::arg:
        return n.index == arg ? S(1) : S{};
      case Leaf::add:
        return plus(run(a), run(b));
      case Leaf::sub:
        return minus(run(a), run(b));
      case Leaf::mul:
        return plus(times(run(a), b), times(a, run(b)));
      case Leaf::div: {  // d(a/b) = (da - y db) / b
        S top = minus(run(a), times(y, run(b)));
        return top ? top / b : S{};
      }
      case Leaf::neg: {
        S da = run(a);
        return da ? -da : S{};
      }
      case Leaf::abs:
        return times(run(a), select(a > 0, 1, select(a < 0, -1, 0)));
      case Leaf::max:
        return choose(a > b, run(a), choose(a < b, run(b), times(plus(run(a), run(b)), 0.5)));
      case Leaf::min:
        return choose(a < b, run(a), choose(a > b, run(b), times(plus(run(a), run(b)), 0.5)));
      case Leaf::sqrt:
        return times(run(a), S(0.5) / y);
      case Leaf::select:
        return choose(a, run(b), run(c));
      case Leaf::cast:
        return n.target.kind == CastTarget::Kind::compute || is_float(n.target.type) ? run(a) : S{};
      case Leaf::fn_pow:
        return plus(times(run(a), select(b == 0, 0, b * pow(a, b - 1))),
                    times(run(b), select((a == 0) & (b >= 0), 0, y * log(a))));
      case Leaf::fn_atan2: {
        S r = a * a + b * b;
        return plus(times(run(a), b / r), times(run(b), -a / r));
      }
      case Leaf::fn_fmod:
        return minus(run(a), times(run(b), trunc(a / b)));
      default:
        break;
    }
    if (!is_function(n.leaf)) return {};  // constants, params, compares, rounding, bits
    S da = run(a);
    return da ? times(da, function_rule(n.leaf, a, y)) : S{};
  }

  static S function_rule(Leaf f, S x, S y) {
    constexpr double kLn2 = 0.693147180559945309417, kLn10 = 2.302585092994045684018,
                     kTwoOverRootPi = 1.128379167095512573896;
    switch (f) {
      case Leaf::fn_exp:
        return y;
      case Leaf::fn_exp2:
        return y * kLn2;
      case Leaf::fn_expm1:
        return y + 1;
      case Leaf::fn_sigmoid:
        return y * (S(1) - y);
      case Leaf::fn_log:
        return S(1) / x;
      case Leaf::fn_log2:
        return S(1) / (x * kLn2);
      case Leaf::fn_log10:
        return S(1) / (x * kLn10);
      case Leaf::fn_log1p:
        return S(1) / (x + 1);
      case Leaf::fn_sin:
        return cos(x);
      case Leaf::fn_cos:
        return -sin(x);
      case Leaf::fn_tan:
        return y * y + 1;
      case Leaf::fn_asin:
        return S(1) / sqrt(S(1) - x * x);
      case Leaf::fn_acos:
        return S(-1) / sqrt(S(1) - x * x);
      case Leaf::fn_atan:
        return S(1) / (x * x + 1);
      case Leaf::fn_sinh:
        return cosh(x);
      case Leaf::fn_cosh:
        return sinh(x);
      case Leaf::fn_tanh:
        return S(1) - y * y;
      case Leaf::fn_asinh:
        return S(1) / sqrt(x * x + 1);
      case Leaf::fn_acosh:
        return S(1) / sqrt(x * x - 1);
      case Leaf::fn_atanh:
        return S(1) / (S(1) - x * x);
      case Leaf::fn_erf:
        return exp(-(x * x)) * kTwoOverRootPi;
      case Leaf::fn_erfc:
        return exp(-(x * x)) * -kTwoOverRootPi;
      case Leaf::fn_erfinv:
        return exp(y * y) * (1 / kTwoOverRootPi);
      case Leaf::fn_lgamma:
        return digamma(x);
      case Leaf::fn_digamma:
        return trigamma(x);
      default:
        ouro_bug("leaf function without a derivative");
    }
  }
};

}  // namespace

// psi'(x): the recurrence psi'(x) = psi'(x + 1) + 1/x^2 up to x + 8, then the asymptotic series; below 0.5 by
// reflection psi'(1 - x) + psi'(x) = pi^2 / sin^2(pi x). (Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.12)
S trigamma(S x) {
  constexpr double kPi = 3.141592653589793238463;
  S low = x < 0.5;
  S u = select(low, S(1) - x, x);
  S sum = S(1) / (u * u);
  for (int k = 1; k < 8; ++k) sum = sum + S(1) / ((u + k) * (u + k));
  S v = u + 8, r = S(1) / v, q = r * r;
  S tail = r + q * 0.5 +
           r * q *
               (S(1. / 6) +
                q * (S(-1. / 30) + q * (S(1. / 42) + q * (S(-1. / 30) + q * (S(5. / 66) + q * (-691. / 2730))))));
  S value = sum + tail;
  S s = sin((x - round(x)) * kPi);
  return select(low, S(kPi * kPi) / (s * s) - value, value);
}

S derivative(S e, int arg) {
  Differentiator d{arg, {}};
  return d.run(e);
}

S substitute(S e, std::span<const S> args) {
  std::map<uint32_t, S> done;
  auto go = [&](auto& self, S s) -> S {
    if (!s) return {};
    if (auto it = done.find(s.node->id); it != done.end()) return it->second;
    S r;
    if (s.node->leaf == Leaf::arg) {
      r = s.node->index < args.size() ? args[s.node->index] : s;
    } else {
      ExprNode n = *s.node;
      for (S& k : n.kid) k = self(self, k);
      r = intern_node(n);
    }
    return done[s.node->id] = r;
  };
  return go(go, e);
}

std::string to_text(S e) {
  if (!e) return "0";
  const ExprNode& n = *e.node;
  auto number = [](double v) {
    char t[40];
    std::snprintf(t, sizeof t, "%.17g", v);
    for (int digits = 1; digits < 17; ++digits) {
      char s[40];
      std::snprintf(s, sizeof s, "%.*g", digits, v);
      if (std::strtod(s, nullptr) == v) return std::string(s);
    }
    return std::string(t);
  };
  if (n.leaf == Leaf::arg) return "x" + std::to_string(n.index);
  if (n.leaf == Leaf::param) return "p" + std::to_string(n.index);
  if (n.leaf == Leaf::constant) return number(n.imm);
  static constexpr struct {
    Leaf leaf;
    const char* text;
  } kInfix[] = {{Leaf::add, " + "}, {Leaf::sub, " - "}, {Leaf::mul, " * "},  {Leaf::div, " / "},
                {Leaf::lt, " < "},  {Leaf::le, " <= "}, {Leaf::gt, " > "},   {Leaf::ge, " >= "},
                {Leaf::eq, " == "}, {Leaf::ne, " != "}, {Leaf::and_, " & "}, {Leaf::or_, " | "}};
  for (const auto& i : kInfix)
    if (i.leaf == n.leaf) return "(" + to_text(n.kid[0]) + i.text + to_text(n.kid[1]) + ")";
  std::string out(info(n.leaf).name);
  out += '(';
  for (int i = 0; i < info(n.leaf).operands; ++i) out += (i ? ", " : "") + to_text(n.kid[i]);
  return out + ')';
}

// ---------------------------------------------------------------- typed programs

namespace {

class Typer {
 public:
  Typer(std::span<const DType> stored, std::span<const DType> promoted, DType compute)
      : stored_(stored), promoted_(promoted), compute_(compute) {}

  // The step that holds `e`; `want` types constants and parameters.
  int16_t visit(S e, DType want) {
    const ExprNode& n = *e.node;
    bool flexible = n.leaf == Leaf::constant || n.leaf == Leaf::param;
    std::pair key{n.id, flexible ? static_cast<int>(want) : -1};
    if (auto it = done_.find(key); it != done_.end()) return it->second;
    int16_t r = emit(n, want);
    done_[key] = r;
    return r;
  }
  int16_t cast_to(int16_t step, DType t) {
    if (type(step) == t) return step;
    return push({.leaf = Leaf::cast, .type = t, .operand_type = type(step), .a = step});
  }
  DType type(int16_t step) const { return program.steps[step].type; }

  ExprProgram program;

 private:
  static bool flexible(S e) { return e.node->leaf == Leaf::constant || e.node->leaf == Leaf::param; }

  int16_t emit(const ExprNode& n, DType want) {
    switch (n.leaf) {
      case Leaf::constant:
        return push({.leaf = n.leaf, .type = want, .operand_type = want, .imm = n.imm});
      case Leaf::param:
        return push({.leaf = n.leaf, .type = want, .operand_type = want, .index = n.index});
      case Leaf::arg: {
        DType t = stored_[n.index];
        return cast_to(push({.leaf = n.leaf, .type = t, .operand_type = t, .index = n.index}),
                       compute_type(promoted_[n.index]));
      }
      case Leaf::cast: {
        DType t = n.target.kind == CastTarget::Kind::compute ? compute_ : n.target.type;
        return cast_to(visit(n.kid[0], compute_), t);
      }
      case Leaf::bitcast: {
        int16_t a = visit(n.kid[0], compute_);
        return push({.leaf = n.leaf, .type = n.target.type, .operand_type = type(a), .a = a});
      }
      case Leaf::select: {
        int16_t c = cast_to(visit(n.kid[0], DType::boolean), DType::boolean);
        auto [a, b] = pair(n.kid[1], n.kid[2], want);
        return push({.leaf = n.leaf, .type = type(a), .operand_type = type(a), .a = c, .b = a, .c = b});
      }
      default:
        break;
    }
    const LeafDef& leaf = info(n.leaf);
    if (leaf.operands == 1) {
      int16_t a = visit(n.kid[0], want);
      if (type(a) == DType::boolean && n.leaf != Leaf::not_) a = cast_to(a, compute_);
      return push({.leaf = n.leaf, .type = type(a), .operand_type = type(a), .a = a});
    }
    auto [a, b] = pair(n.kid[0], n.kid[1], leaf.result == LeafResult::boolean ? compute_ : want);
    DType t = leaf.result == LeafResult::boolean ? DType::boolean : type(a);
    return push({.leaf = n.leaf, .type = t, .operand_type = type(a), .a = a, .b = b});
  }

  // Two operands brought to one type.
  std::pair<int16_t, int16_t> pair(S x, S y, DType want) {
    int16_t a, b;
    if (flexible(x) && !flexible(y)) {
      b = visit(y, want);
      a = visit(x, type(b) == DType::boolean && !bool_constant(x) ? want_number(want) : type(b));
    } else {
      a = visit(x, want);
      b = visit(y, flexible(y) && !(type(a) == DType::boolean && !bool_constant(y)) ? type(a) : want_number(want));
    }
    if (type(a) != type(b)) {
      DType t = type(a) == DType::boolean ? type(b) : type(b) == DType::boolean ? type(a) : compute_;
      a = cast_to(a, t), b = cast_to(b, t);
    }
    return {a, b};
  }
  static bool bool_constant(S e) { return e.node->leaf == Leaf::constant && (e.node->imm == 0 || e.node->imm == 1); }
  DType want_number(DType want) const { return want == DType::boolean ? compute_ : want; }

  int16_t push(ExprStep s) {
    program.steps.push_back(s);
    return static_cast<int16_t>(program.steps.size() - 1);
  }

  std::span<const DType> stored_, promoted_;
  DType compute_;
  std::map<std::pair<uint32_t, int>, int16_t> done_;
};

}  // namespace

ExprProgram typed(S e, std::span<const DType> stored, std::span<const DType> promoted, DType compute, DType result) {
  Typer t(stored, promoted, compute);
  t.program.result = t.cast_to(t.visit(e, compute), result);
  return std::move(t.program);
}

}  // namespace ouro::ir
