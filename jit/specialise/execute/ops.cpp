// Operators on abstract operands: known ones are computed now by the runtime, numbers become typed residual operations,
// tensors rows of the registry, objects calls of their special methods.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/ops/registry.h"
#include "jit/specialise/specialiser.h"

namespace ouro::jit {

using ir::Op;
using ir::TypeKind;
namespace prim = ir::prim;
using runtime::BinOp;

namespace {

struct OperatorRow {
  Op op;
  std::string_view row;  // tensor operation
};
constexpr OperatorRow kOperators[] = {
#define BINARY(id, ast, symbol, special, row, ...) {prim::id, row},
#define UNARY(id, ast, symbol, special, row, ...) {prim::id, row},
#define COMPARE(id, ast, symbol, special, ...) {prim::id, #special},
#include "ir/operators.inc"
};
std::string_view tensor_row(Op op) {
  for (const OperatorRow& r : kOperators)
    if (r.op == op) return r.row;
  ouro_bug("specialise: operator %d", static_cast<int>(op));
}

bool is_scalar(const ir::Type* t) {
  return t && (t->kind == TypeKind::integer || t->kind == TypeKind::floating || t->kind == TypeKind::boolean);
}

}  // namespace

// Would a known result be large? Then it is no constant: it is made when the call runs, under the session's limit of
// memory, where a handler may catch what comes of that.
static bool large_result(Session& s, BinOp op, const Value& a, const Value& b) {
  constexpr int64_t kMost = 1 << 16;
  auto sequence = [](const Value& v) {
    const runtime::ObjectKind k = runtime::kind_of(v);
    return k == runtime::ObjectKind::str || k == runtime::ObjectKind::bytes || k == runtime::ObjectKind::tuple;
  };
  if (op == BinOp::lshift) return b.is_int() && b.as_int() > kMost;
  if (op == BinOp::pow) return !a.is_float() && b.is_int() && b.as_int() > kMost / 64;
  if (op != BinOp::mul || (!sequence(a) && !sequence(b))) return false;
  const Value &of = sequence(a) ? a : b, &n = sequence(a) ? b : a;
  const int64_t length = runtime::length(s, of);
  return n.is_int() && length > 0 && n.as_int() > kMost / length;
}

// The result of a runtime operation on known values; an exception means that the call is the interpreter's to make.
static AVal computed(Specialiser& s, Value v) {
  if (v.is_error()) {
    s.abandon_raises();
  }
  return AVal::of(std::move(v));
}

// The witness of a number that was made of others.
void Specialiser::derive_witness(const AVal& out, const std::vector<const AVal*>& from, Value v) {
  if (!out.is(AKind::dynamic) || !out.atom.is_name()) return;
  Residual::Name& n = code.name(out.atom.name());
  n.witness = std::move(v);
  for (const AVal* a : from)
    if (a->is(AKind::dynamic) && a->atom.is_name()) {
      // A set: of a number that is used several times at each of many steps the leaves would double with each.
      std::vector<uint32_t> all;
      std::ranges::set_union(n.leaves, code.name(a->atom.name()).leaves, std::back_inserter(all));
      n.leaves = std::move(all);
    }
}

std::optional<Value> Specialiser::witness(const AVal& a) const {
  if (auto v = concrete(a)) return v;
  if (!a.is(AKind::dynamic) || !a.atom.is_name()) return std::nullopt;
  const Value& w = code.name(a.atom.name()).witness;
  if (w.is_unbound()) return std::nullopt;
  return w;
}

AVal Specialiser::binary(Op op, const AVal& left, const AVal& right) {
  AVal a = as_value(left), b = as_value(right);
  // An object keeps its reflected methods, and what is formatted is shown as its class says.
  if (is_instance(a) || is_instance(b) || ir::plain_form(op) == prim::mod) a = left, b = right;
  const Op plain = ir::plain_form(op);
  const bool augmented = plain != op;
  const BinOp of_runtime = runtime::binary_of(op);
  if (auto x = concrete(a))
    if (auto y = concrete(b)) {
      if (large_result(session, of_runtime, *x, *y)) abandon(Reason::too_large, "a large constant");
      return computed(*this, runtime::binary(session, of_runtime, *x, *y));
    }
  if (is_tensor(a) || is_tensor(b)) {
    if ((is_tensor(a) || is_number(a)) && (is_tensor(b) || is_number(b))) {
      // `x op= v` keeps x's dtype, and its shape (OPS: promotion is PyTorch's).
      AVal out = tensor_op(tensor_row(plain), {a, b});
      if (augmented && is_tensor(a) && type_of(out) != type_of(a))
        abandon(Reason::derivative, "an in-place operation that changes the dtype or shape");
      return out;
    }
  }
  if (a.is(AKind::zero) || b.is(AKind::zero)) abandon(Reason::derivative, "arithmetic on a symbolic zero");
  const ir::Type *ta = type_of(a), *tb = type_of(b);
  if (is_scalar(ta) && is_scalar(tb)) return scalar_binary(plain, of_runtime, a, b, ta, tb);
  if (is_instance(a) || is_instance(b)) return by_protocol(op, {a, b});
  // Sequences of known length.
  auto list_items = [&](const AVal& v) -> const PersistentArray<AVal>* {
    if (!v.is(AKind::ref) || kind_at(v.heap) != AObject::Kind::list) return nullptr;
    if (read(v.heap).poisoned) abandon_torn(read(v.heap), "a list");
    return &read(v.heap).items;
  };
  auto is_tuple = [](const AVal& v) {
    return v.is(AKind::tuple) || (v.is(AKind::known) && runtime::cast_exact<runtime::Tuple>(v.known));
  };
  if (plain == prim::add && is_tuple(a) && is_tuple(b)) {
    std::vector<AVal> items = items_of(a, "is added to"), more = items_of(b, "is added");
    items.insert(items.end(), more.begin(), more.end());
    return AVal::tuple(std::move(items));
  }
  if (plain == prim::add && list_items(a) && (list_items(b) || augmented)) {
    if (augmented) {
      list_extend(a, b);
      return a;
    }
    std::vector<AVal> more = items_of(b, "is added");
    std::vector<AVal> items = list_items(a)->items();
    items.insert(items.end(), more.begin(), more.end());
    return new_list(std::move(items));
  }
  if (op == prim::iadd && in_place_list(a) && (list_items(b) || b.is(AKind::tuple))) {
    list_extend(a, b);
    const HeapId object = code.name(a.atom.name()).object;
    return object == kNoHeap ? a : AVal::of_heap(object);
  }
  if (plain == prim::mul && (list_items(a) || a.is(AKind::tuple)) && is_number(b)) {
    int64_t n = need_int(b, "is the length of a sequence");
    const std::vector<AVal> base = a.is(AKind::tuple) ? a.items() : list_items(a)->items();
    if (n * static_cast<int64_t>(base.size()) > 4096) abandon(Reason::too_large, "a long list");
    std::vector<AVal> items;
    for (int64_t i = 0; i < n; ++i) items.insert(items.end(), base.begin(), base.end());
    if (a.is(AKind::tuple)) return AVal::tuple(std::move(items));
    if (!augmented) return new_list(std::move(items));
    change(a.heap).items = std::move(items);
    return a;
  }
  if (plain == prim::mul && (list_items(b) || b.is(AKind::tuple)) && is_number(a)) return binary(prim::mul, b, a);
  if (AVal text = text_binary(plain, a, b); !text.is(AKind::unbound)) return text;
  return boxed(op, {a, b});
}

bool Specialiser::is_text(const AVal& a) const {
  if (a.is(AKind::known)) return runtime::cast_exact<runtime::Str>(a.known) != nullptr;
  return a.is(AKind::dynamic) && a.type && a.type->kind == TypeKind::string;
}

// What texts give with what runs no script: "loss %.3f" % x, a + b, "-" * n. Unbound: something else.
AVal Specialiser::text_binary(Op op, const AVal& a, const AVal& b) {
  if (!is_text(a) || may_run_scripts(b)) return {};
  const ir::Type* t = type_of(b);
  const bool whole = t && (t->kind == TypeKind::integer || t->kind == TypeKind::boolean);
  const bool gives = op == prim::mod || (op == prim::add && is_text(b)) || (op == prim::mul && whole);
  return gives ? emit(op, {a, b}, ir::types::string()) : AVal();
}

AVal Specialiser::scalar_binary(Op op, BinOp rop, const AVal& a, const AVal& b, const ir::Type* ta,
                                const ir::Type* tb) {
  bool floats = ta->kind == TypeKind::floating || tb->kind == TypeKind::floating;
  const ir::Type* t = nullptr;
  if (op == prim::add || op == prim::sub || op == prim::mul || op == prim::floordiv || op == prim::mod)
    t = floats ? ir::types::floating() : ir::types::integer();
  else if (op == prim::truediv)
    t = ir::types::floating();
  else if (op == prim::pow) {
    if (floats) {
      t = ir::types::floating();  // a negative base with a fraction leaves the version
    } else {
      auto n = concrete(b);
      if (!n || !n->is_int() || n->as_int() < 0)
        abandon(Reason::computed_number, "an int power whose type depends on its sign");
      t = ir::types::integer();
    }
  } else if (!floats && op != prim::matmul) {
    t = ta->kind == TypeKind::boolean && tb->kind == TypeKind::boolean &&
                (op == prim::and_ || op == prim::or_ || op == prim::xor_)
            ? ir::types::boolean()
            : ir::types::integer();
  }
  if (!t) abandon(Reason::raises, "an operator that these numbers do not have");
  AVal out = emit(op, {a, b}, t);
  if (t == ir::types::integer() && (op == prim::add || op == prim::sub)) note_sum(out, a, b, op == prim::sub ? -1 : 1);
  if (t == ir::types::integer() && op == prim::mul)  // `batch * steps`, where one of them is known
    if (const auto p = sum_of(a), q = sum_of(b);
        p && q && p->base.is_none() && q->base.is_none() && (p->rest.known() || q->rest.known()))
      sums_[ir::index(out.atom.name())] = {{}, ir::multiply(p->rest, q->rest)};
  auto x = witness(a), y = witness(b);
  if (x && y) {
    Value w = runtime::binary(session, rop, *x, *y);
    if (w.is_error())
      session.pending = Value();
    else
      derive_witness(out, {&a, &b}, std::move(w));
  }
  return out;
}

AVal Specialiser::unary(Op op, const AVal& operand) {
  const AVal a = as_value(operand);
  if (op == prim::not_) {
    AVal t = truth(a);
    if (auto v = concrete(t)) return AVal::of(Value::boolean(!v->as_bool()));
    AVal out = emit(prim::not_, {t}, ir::types::boolean());
    if (auto w = witness(t); w && w->is_bool()) derive_witness(out, {&t}, Value::boolean(!w->as_bool()));
    return out;
  }
  const runtime::UnOp rop = runtime::unary_of(op);
  if (auto v = concrete(a)) return computed(*this, runtime::unary(session, rop, *v));
  if (is_tensor(a)) {
    const std::string_view row = tensor_row(op);
    return row.empty() ? a : tensor_op(row, {a});
  }
  const ir::Type* t = type_of(a);
  if (is_scalar(t)) {
    if (op == prim::invert && t->kind == TypeKind::floating) abandon(Reason::raises, "~ of a float");
    AVal out = emit(op, {a}, t->kind == TypeKind::boolean ? ir::types::integer() : t);
    if (auto w = witness(a)) {
      Value r = runtime::unary(session, rop, *w);
      if (!r.is_error()) derive_witness(out, {&a}, std::move(r));
    }
    return out;
  }
  return is_instance(a) ? by_protocol(op, {a}) : boxed(op, {a});
}

AVal Specialiser::compare(Op op, const AVal& left, const AVal& right) {
  const AVal a = settled(left), b = settled(right);
  if (op == prim::is || op == prim::is_not) {
    int r = identical(a, b);
    const auto boxed_value = [&](const AVal& v) { return v.is(AKind::dynamic) && !v.type; };
    const auto number = [&](const AVal& v) { return v.is(AKind::dynamic) && v.type; };
    if (r < 0 && (boxed_value(a) || boxed_value(b)) && !number(a) && !number(b) && can_box(a, {b}, {}))
      return AVal::dynamic(code.let(op, {materialise(a), materialise(b)}, 0, ir::types::boolean(), span),
                           ir::types::boolean());
    if (r < 0) abandon(Reason::computed_test, "identity of computed values");
    return AVal::of(Value::boolean((r == 1) == (op == prim::is)));
  }
  if (op == prim::in || op == prim::not_in) return membership(op, a, b);
  if (AVal x = as_value(a), y = as_value(b); !is_instance(x) && !is_instance(y) && (is_instance(a) || is_instance(b)))
    return compare(op, x, y);
  if (auto x = concrete(a))
    if (auto y = concrete(b)) return computed(*this, runtime::compare(session, runtime::compare_of(op), *x, *y));
  if (is_instance(a) || is_instance(b)) return by_protocol(op, {a, b});
  if (is_tensor(a) || is_tensor(b)) {
    if ((is_tensor(a) || is_number(a)) && (is_tensor(b) || is_number(b))) return tensor_op(tensor_row(op), {a, b});
    const AVal& other = is_tensor(a) ? b : a;
    const bool equality = op == prim::eq || op == prim::ne;
    if (equality && other.is(AKind::known)) return AVal::of(Value::boolean(op == prim::ne));  // None, a text, a class
    if (!other.is(AKind::dynamic)) abandon(Reason::computed_test, "a tensor compared with something else");
    return boxed(op, {a, b});  // a number, as likely as not: then the result is a tensor
  }
  const ir::Type *ta = type_of(a), *tb = type_of(b);
  const bool whole = ta == ir::types::integer() || ta == ir::types::boolean();
  if (whole && a.is(AKind::dynamic) && b.is(AKind::dynamic) && a.atom == b.atom)  // it is equal to itself
    return AVal::of(Value::boolean(op == prim::eq || op == prim::le || op == prim::ge));
  if (is_scalar(ta) && is_scalar(tb)) {
    AVal out = emit(op, {a, b}, ir::types::boolean());
    if (auto x = witness(a), y = witness(b); x && y)
      derive_witness(out, {&a, &b}, runtime::compare(session, runtime::compare_of(op), *x, *y));
    return out;
  }
  bool equality = op == prim::eq || op == prim::ne;
  if (equality && a.is(AKind::tuple) && (b.is(AKind::tuple) || b.is(AKind::known))) {
    if (b.is(AKind::known) && !runtime::cast_exact<runtime::Tuple>(b.known))
      return AVal::of(Value::boolean(op == prim::ne));
    std::vector<AVal> x = a.items(), y = items_of(b, "is compared");
    if (x.size() != y.size()) return AVal::of(Value::boolean(op == prim::ne));
    std::optional<AVal> alike;  // as far as the program has to compare; none: nothing differs so far
    const auto computed_int = [&](const AVal& v) { return is_number(v) && type_of(v)->kind != TypeKind::floating; };
    for (size_t i = 0; i < x.size(); ++i) {
      if (computed_int(x[i]) && computed_int(y[i]) && !(concrete(x[i]) && concrete(y[i]))) {
        const AVal item = compare(prim::eq, x[i], y[i]);
        alike = alike ? binary(prim::and_, *alike, item) : item;
      } else if (!same_or_equal(x[i], y[i], "is compared")) {
        return AVal::of(Value::boolean(op == prim::ne));
      }
    }
    if (!alike) return AVal::of(Value::boolean(op == prim::eq));
    return op == prim::eq ? *alike : unary(prim::not_, *alike);
  }
  if (equality && b.is(AKind::tuple) && a.is(AKind::known)) return compare(op, b, a);
  if (equality && ((a.is(AKind::known) && a.known.is_none()) || (b.is(AKind::known) && b.known.is_none())))
    if (int r = identical(a, b); r == 0) return AVal::of(Value::boolean(op == prim::ne));
  return boxed(op, {a, b});
}

// 1 the same, 0 different, -1 not known
int Specialiser::identical(const AVal& a, const AVal& b) {
  if (a.is(AKind::known) && b.is(AKind::known)) return runtime::is_same(a.known, b.known);
  if (a.is(AKind::ref) && b.is(AKind::ref)) return a.heap == b.heap;
  const ir::Type *ta = type_of(a), *tb = type_of(b);
  bool boxed_a = a.is(AKind::dynamic) && !ta, boxed_b = b.is(AKind::dynamic) && !tb;
  const auto nobody_else_has = [&](const AVal& v) {
    const bool object = v.is(AKind::ref) || (v.is(AKind::closure) && v.heap != kNoHeap);
    return object && !read(v.heap).outside();
  };
  if ((boxed_a && nobody_else_has(b)) || (boxed_b && nobody_else_has(a))) return 0;
  if (boxed_a || boxed_b) return -1;
  if (a.is(AKind::zero) || b.is(AKind::zero)) return a.kind == b.kind;
  if (a.is(AKind::known) || b.is(AKind::known)) {
    const AVal &k = a.is(AKind::known) ? a : b, &o = a.is(AKind::known) ? b : a;
    if (k.known.is_none() || k.known.is(runtime::Tag::not_implemented) || k.known.is(runtime::Tag::ellipsis)) return 0;
    if (o.is(AKind::dynamic)) return ta && tb && ta->kind == tb->kind ? -1 : 0;
    if (o.is(AKind::closure) && !o.parts->function.is_unbound()) return runtime::is_same(k.known, o.parts->function);
    return 0;
  }
  if (a.is(AKind::closure) && b.is(AKind::closure)) {
    if (a.parts->identity == b.parts->identity) return 1;
    if (!a.parts->function.is_unbound() && !b.parts->function.is_unbound())
      return runtime::is_same(a.parts->function, b.parts->function);
    const auto who = [](const AVal& f) { return f.heap != kNoHeap || !f.parts->function.is_unbound(); };
    if (who(a) && who(b)) return a.heap == b.heap;
    return a.parts->code == b.parts->code ? -1 : 0;
  }
  if (a.is(AKind::dynamic) && b.is(AKind::dynamic) && a.atom == b.atom) return 1;
  if (a.kind != b.kind) return 0;
  if (a.is(AKind::tuple)) {
    if (a.parts == b.parts || !a.known.same(b.known)) return a.parts == b.parts;
    if (a.extends_tuple() && a.parts->identity == b.parts->identity) return 1;
    const auto made = [](const AVal& v) { return v.heap != kNoHeap; };
    if (made(a) && made(b)) return a.heap == b.heap;
    if ((made(a) && b.node != kNoNode) || (made(b) && a.node != kNoNode)) return 0;
  }
  return -1;
}

// As containers compare what they hold: a nan is in a list that holds it. (Sizes and the like are known from here on.)
bool Specialiser::same_or_equal(const AVal& a, const AVal& b, std::string_view why) {
  if (identical(a, b) == 1 || need_constant(truth(compare(prim::eq, a, b)), why).as_bool()) return true;
  const auto x = witness(a), y = witness(b);
  return x && y && runtime::is_same(*x, *y);
}

AVal Specialiser::membership(Op op, const AVal& a, const AVal& container) {
  const AVal b = as_dict(parts_of_gradient(as_value(container)), "__contains__");
  auto answer = [&](bool in) { return AVal::of(Value::boolean(in == (op == prim::in))); };
  if (auto x = concrete(a))
    if (auto y = concrete(b)) {
      int r = runtime::contains(session, *y, *x);
      if (r < 0) {
        abandon_raises();
      }
      return answer(r == 1);
    }
  if (concrete(a) || may_pin(a))
    if (const auto* set = set_outside(b)) {
      const Value key = need_key(a, "is looked up");
      return answer(runtime::set_contains(session, const_cast<runtime::Set*>(set), key) == 1);
    }
  if (b.is(AKind::ref) && (kind_at(b.heap) == AObject::Kind::dict || kind_at(b.heap) == AObject::Kind::set)) {
    if (read(b.heap).poisoned) abandon_torn(read(b.heap), "a dict");
    Value key = need_key(a, "is looked up");
    if (read(b.heap).outside()) stays_inside(key);
    return answer(key_position(read(b.heap).keys, key) >= 0);
  }
  if (is_view(b, runtime::ObjectKind::dict_keys)) return membership(op, a, b.items()[0]);
  if (is_view(b, runtime::ObjectKind::dict_items)) return answer(holds_pair(b.items()[0], settled(a)));
  if ((b.is(AKind::tuple) && !(b.extends_tuple() && overrides(b, "__contains__"))) || b.is(AKind::view) ||
      (b.is(AKind::ref) && kind_at(b.heap) == AObject::Kind::list)) {
    bool found = false;
    std::vector<AVal> maybe;  // computed numbers, of which the program asks
    each_item(b, "is searched", [&](const AVal& item) {
      const bool numbers = is_number(item) && is_number(a) && identical(item, a) != 1;
      if (const AVal equal = numbers ? compare(prim::eq, item, a) : AVal{};
          numbers && !concrete(equal) && !may_pin(equal))
        maybe.push_back(item);
      else
        found = same_or_equal(item, a, "decides membership");
      return !found;
    });
    if (found || maybe.empty()) return answer(found);
    std::vector<ir::Atom> atoms;
    for (const AVal& item : maybe) atoms.push_back(atom(item));
    const AVal items = AVal::dynamic(code.let(prim::tuple, atoms, 0, nullptr, span), nullptr);
    return emit(op, {a, items}, ir::types::boolean());
  }
  if (is_instance(b)) {
    AVal found = truth(by_protocol("contains", op, {b, a}, {a, b}));
    return op == prim::in ? found : unary(prim::not_, found);
  }
  return boxed(op, {a, b});
}

// Is `item` a pair of the dict's items? The key is looked up, its value compared.
bool Specialiser::holds_pair(const AVal& dict, const AVal& item) {
  const bool known = item.is(AKind::known) && cast_exact<runtime::Tuple>(item.known);
  if (!known && !item.is(AKind::tuple))
    abandon(Reason::computed_number, "what may be one of a dict's items is not known");
  const std::vector<AVal> pair = items_of(item, "is looked up");
  if (pair.size() != 2) return false;
  if (read(dict.heap).poisoned) abandon_torn(read(dict.heap), "a dict");
  const int at = key_position(read(dict.heap).keys, need_key(pair[0], "is looked up"));
  return at >= 0 && same_or_equal(read(dict.heap).items[static_cast<size_t>(at)], pair[1], "decides membership");
}

AVal Specialiser::truth(const AVal& given) {
  const AVal a = as_value(given);
  if (auto v = concrete(a)) {
    int r = runtime::truth(session, *v);
    if (r < 0) {
      abandon_raises();
    }
    return AVal::of(Value::boolean(r == 1));
  }
  switch (a.kind) {
    case AKind::tuple:
      if (a.extends_tuple() && (!class_lookup(a, intern("__bool__")).is(AKind::unbound) || overrides(a, "__len__")))
        return by_protocol("truth", prim::truth, {a}, {a});
      return AVal::of(Value::boolean(!a.items().empty()));
    case AKind::view:
      return truth(a.items()[0]);
    case AKind::closure:
    case AKind::bound:
    case AKind::super:
    case AKind::slice:
      return AVal::of(Value::boolean(true));
    case AKind::ref: {
      const AObject& o = read(a.heap);
      if (o.poisoned) abandon_torn(o, "an object");
      if (o.kind == AObject::Kind::list || o.kind == AObject::Kind::dict || o.kind == AObject::Kind::set ||
          o.kind == AObject::Kind::seq)
        return AVal::of(Value::boolean(!(o.kind == AObject::Kind::set ? o.keys.empty() : o.items.empty())));
      if (const AVal d = as_dict(a, "__len__");
          d.heap != a.heap && class_lookup(a, intern("__bool__")).is(AKind::unbound))
        return truth(d);
      if (o.kind == AObject::Kind::instance) return by_protocol("truth", prim::truth, {a}, {a});
      return AVal::of(Value::boolean(true));
    }
    case AKind::dynamic: {
      const ir::Type* t = a.type;
      if (t && t->kind == TypeKind::boolean) return a;
      if (is_scalar(t)) return emit(prim::truth, {a}, ir::types::boolean());
      // A tensor of one element, or anything boxed: the runtime decides.
      return is_tensor(a) ? emit(prim::truth, {a}, ir::types::boolean())
                          : boxed(prim::truth, {a}, 0, ir::types::boolean());
    }
    default:
      abandon(Reason::unknown_value, "truth of a value that is not known");
  }
}

}  // namespace ouro::jit
