// Operators on any operands: the built-in kinds by their slots, instances of script classes by their special methods,
// in the order of CPython's Objects/abstract.c (a subclass's reflected method goes first; sequences concatenate only
// after numbers declined).
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/protocol/scripted.h"
#include "runtime/protocol/sequence_operators.h"
#include "runtime/types/ordering.h"

namespace ouro::runtime {

namespace {

constexpr const char* kBinSymbols[] = {
#define BINARY(id, ast, symbol, ...) symbol,
#include "ir/operators.inc"
};
constexpr const char* kInplaceSymbols[] = {
#define BINARY(id, ast, symbol, ...) symbol "=",
#include "ir/operators.inc"
};
constexpr const char* kUnarySymbols[] = {
#define UNARY(id, ast, symbol, ...) symbol,
#include "ir/operators.inc"
};
constexpr const char* kCmpSymbols[] = {
#define COMPARE(id, ast, symbol, ...) symbol,
#include "ir/operators.inc"
};

// As CPython's errors say it.
const char* shown(BinOp op) { return op == BinOp::pow ? "** or pow()" : kBinSymbols[static_cast<int>(op)]; }

Dunder plain(BinOp op) { return static_cast<Dunder>(static_cast<int>(op)); }
Dunder reflected(BinOp op) { return static_cast<Dunder>(kBinOps + static_cast<int>(op)); }
Dunder in_place(BinOp op) { return static_cast<Dunder>(2 * kBinOps + static_cast<int>(op)); }
Dunder dunder(CmpOp op) { return static_cast<Dunder>(static_cast<int>(Dunder::eq_) + static_cast<int>(op)); }

// Is what an operator does with these read from the text (runtime/protocol/in_ouro.h)?
bool by_text_of(const Value& a, const Value& b) {
  auto without = [](const Value& v) { return kind_of(v) == ObjectKind::opaque || is_metaclassed(v); };
  return kProtocolByText && (scripted(a) || scripted(b)) && !without(a) && !without(b);
}

// a.__op__(b): NotImplemented if a's class has none.
Value by_left(Session& s, BinOp op, Dunder d, const Value& a, const Value& b) {
  if (scripted(a)) {
    Value r = call_dunder(s, a, d, {b});
    return r.is_unbound() ? Value::not_implemented() : r;
  }
  auto f = slots_of(s, a).binary;
  return f ? f(s, op, a, operand_for(op, a, b)) : Value::not_implemented();
}
// b.__rop__(a).
Value by_right(Session& s, BinOp op, const Value& a, const Value& b) {
  if (scripted(b)) {
    Value r = call_dunder(s, b, reflected(op), {a});
    return r.is_unbound() ? Value::not_implemented() : r;
  }
  auto f = slots_of(s, b).binary;
  return f ? f(s, op, operand_for(op, b, a), b) : Value::not_implemented();
}

// Both are `scripted`.
bool same_class(Session& s, const Value& a, const Value& b) {
  if (kind_of(a) == ObjectKind::instance && kind_of(b) == ObjectKind::instance)
    return a.as<Instance>()->type == b.as<Instance>()->type;
  return type_of(s, a) == type_of(s, b);
}

bool overrides(Session& s, Type* sub, Type* base, Dunder d) {
  const Value& mine = find_dunder(s, sub, d);
  return !mine.is_unbound() && !mine.same(find_dunder(s, base, d));
}

bool of_sequence(Session& s, const Value& v, Dunder d) { return is_of_sequence(type_of(s, v), d); }

// What numbers say to it, of which one is an object of a script's class (CPython's binary_op1).
Value numbers(Session& s, BinOp op, const Value& a, const Value& b) {
  const bool left = !of_sequence(s, a, plain(op));
  bool right = !of_sequence(s, b, plain(op));
  Type *ta = type_of(s, a), *tb = type_of(s, b);
  if (left && right && ta != tb && is_subtype(tb, ta) && scripted(b) && overrides(s, tb, ta, reflected(op))) {
    Value r = by_right(s, op, a, b);
    if (!r.is(Tag::not_implemented)) return r;
    right = false;
  }
  if (left) {
    Value r = by_left(s, op, plain(op), a, b);
    if (!r.is(Tag::not_implemented)) return r;
  }
  return right && (ta != tb || !scripted(b)) ? by_right(s, op, a, b) : Value::not_implemented();
}

Value scripted_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  Value r = numbers(s, op, a, b);
  if (!r.is(Tag::not_implemented)) return r;
  if (of_sequence(s, a, plain(op))) return by_left(s, op, plain(op), a, b);
  return op == BinOp::mul && of_sequence(s, b, plain(op)) ? by_right(s, op, a, b) : Value::not_implemented();
}

Value try_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  if (scripted(a) || scripted(b)) return scripted_binary(s, op, a, b);
  const TypeSlots &sa = slots_of(s, a), &sb = slots_of(s, b);
  if (sa.no_reflected && &sb != &sa && sb.binary && !sb.no_reflected) {
    Value r = sb.binary(s, op, a, b);
    if (!r.is(Tag::not_implemented)) return r;
    return sa.binary ? sa.binary(s, op, a, b) : std::move(r);
  }
  if (sa.binary) {
    Value r = sa.binary(s, op, a, b);
    if (!r.is(Tag::not_implemented)) return r;
  }
  if (&sb != &sa && sb.binary) return sb.binary(s, op, a, b);
  return Value::not_implemented();
}

Value unsupported(Session& s, const char* symbol, const Value& a, const Value& b) {
  return raise_type_error(s, "unsupported operand type(s) for %s: '%s' and '%s'", symbol, type_name(s, a).c_str(),
                          type_name(s, b).c_str());
}

}  // namespace

Value binary(Session& s, BinOp op, const Value& a, const Value& b) {
  if (by_text_of(a, b)) return by_text(s, dunder_name(plain(op)), {a, b});
  if (!stack_left(s)) return Value::error();
  Value r = try_binary(s, op, a, b);
  if (!r.is(Tag::not_implemented)) return r;
  if (Native* n = cast_exact<Native>(a); op == BinOp::rshift && n && n->def->name == "print")
    return raise_type_error(s,
                            "unsupported operand type(s) for >>: 'builtin_function_or_method' and '%s'. Did you mean "
                            "\"print(<message>, file=<output_stream>)\"?",
                            type_name(s, b).c_str());
  return unsupported(s, shown(op), a, b);
}

Value unsupported_inplace(Session& s, BinOp op, const Value& a, const Value& b) {
  return unsupported(s, kInplaceSymbols[static_cast<int>(op)], a, b);
}

namespace {

// a op= b by what a's class has for that.
Value by_own(Session& s, BinOp op, Value& a, const Value& b) {
  if (scripted(a)) {
    Value r = call_dunder(s, a, in_place(op), {b});
    return r.is_unbound() ? Value::not_implemented() : r;
  }
  auto f = slots_of(s, a).inplace;
  return f ? f(s, op, a, b) : Value::not_implemented();
}

// In `a *= b`, is a sequence b not repeated? Not where a has slots of a sequence or mapping: a length, or a class of a
// script.
bool repeats_no_right(Session& s, BinOp op, const Value& a, const Value& b) {
  if (op != BinOp::mul || of_sequence(s, a, Dunder::mul_) || !of_sequence(s, b, Dunder::mul_)) return false;
  return scripted(a) || (kind_of(a) != ObjectKind::tensor && slots_of(s, a).length);
}

}  // namespace

Value inplace(Session& s, BinOp op, Value a, const Value& b) {
  if (by_text_of(a, b)) return by_text(s, dunder_name(in_place(op)), {a, b});
  if (!stack_left(s)) return Value::error();
  const bool with_script = scripted(a) || scripted(b);
  Value r = Value::not_implemented();
  if (with_script && of_sequence(s, a, in_place(op))) {  // before a list extends itself
    r = numbers(s, op, a, b);
    if (!r.is(Tag::not_implemented)) return r;
    r = by_own(s, op, a, b);
    if (r.is(Tag::not_implemented) && of_sequence(s, a, plain(op))) r = by_left(s, op, plain(op), a, b);
  } else {
    r = by_own(s, op, a, b);
    if (r.is(Tag::not_implemented) && repeats_no_right(s, op, a, b)) {
      if (with_script) r = numbers(s, op, a, b);
    } else if (r.is(Tag::not_implemented)) {
      r = try_binary(s, op, a, b);
    }
  }
  return r.is(Tag::not_implemented) ? unsupported_inplace(s, op, a, b) : r;
}

Value unary(Session& s, UnOp op, const Value& a) {
  Value r = Value::not_implemented();
  if (by_text_of(a, a))
    return by_text(s, dunder_name(static_cast<Dunder>(static_cast<int>(Dunder::neg_) + static_cast<int>(op))), {a});
  if (scripted(a)) {
    r = call_dunder(s, a, static_cast<Dunder>(static_cast<int>(Dunder::neg_) + static_cast<int>(op)));
    if (r.is_unbound())
      r = Value::not_implemented();
    else
      return r;
  } else if (auto f = slots_of(s, a).unary) {
    r = stack_left(s) ? f(s, op, a) : Value::error();
  }
  if (!r.is(Tag::not_implemented)) return r;
  return raise_type_error(s, "bad operand type for unary %s: '%s'", kUnarySymbols[static_cast<int>(op)],
                          type_name(s, a).c_str());
}

namespace {

Value compare_one(Session& s, CmpOp op, const Value& a, const Value& b) {
  if (scripted(a)) {
    Value r = call_dunder(s, a, dunder(op), {b});
    return r.is_unbound() ? Value::not_implemented() : r;
  }
  auto f = slots_of(s, a).compare;
  return f ? f(s, op, a, unwrap(b)) : Value::not_implemented();
}

}  // namespace

bool is_same(const Value& a, const Value& b) { return a.same(b); }

Value compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  if (Str* x = cast_exact<Str>(a), *y = x ? cast_exact<Str>(b) : nullptr; y) {
    if (op == CmpOp::eq) return Value::boolean(x == y || x->view() == y->view());
    if (op == CmpOp::ne) return Value::boolean(x != y && x->view() != y->view());
    return Value::boolean(holds(op, x->view().compare(y->view()), 0));  // the order of code points, in UTF-8 too
  }
  bool sa = scripted(a), sb = scripted(b);
  poll_interrupt(s);  // of parts that stand in many places each is compared as often
  DepthGuard depth(s, " in comparison");
  if (!depth.ok()) return Value::error();
  if (by_text_of(a, b)) return by_text(s, dunder_name(dunder(op)), {a, b});
  bool right_done = false;
  if (sb && !(sa && same_class(s, a, b))) {
    Type *ta = type_of(s, a), *tb = type_of(s, b);
    if (ta != tb && is_subtype(tb, ta) && !find_dunder(s, tb, dunder(swapped(op))).is_unbound()) {
      right_done = true;
      Value r = compare_one(s, swapped(op), b, a);
      if (!r.is(Tag::not_implemented)) return r;
    }
  }
  Value r = compare_one(s, op, a, b);
  if (!r.is(Tag::not_implemented)) return r;
  if (!right_done && (sa || sb || &slots_of(s, a) != &slots_of(s, b))) {
    r = compare_one(s, swapped(op), b, a);
    if (!r.is(Tag::not_implemented)) return r;
  }
  if (op == CmpOp::eq) return Value::boolean(is_same(a, b));
  if (op == CmpOp::ne) return Value::boolean(!is_same(a, b));
  return raise_type_error(s, "'%s' not supported between instances of '%s' and '%s'", kCmpSymbols[static_cast<int>(op)],
                          type_name(s, a).c_str(), type_name(s, b).c_str());
}

int compare_bool(Session& s, CmpOp op, const Value& a, const Value& b) {
  Value r = compare(s, op, a, b);
  return r.is_error() ? -1 : r.is_bool() ? r.as_bool() : truth(s, r);
}

int equals(Session& s, const Value& a, const Value& b) {
  if (is_same(a, b)) return 1;
  return compare_bool(s, CmpOp::eq, a, b);
}

int truth(Session& s, const Value& v) {
  switch (v.tag()) {
    case Tag::boolean:
    case Tag::integer:
      return v.bits() != 0;
    case Tag::floating:
      return v.as_float() != 0;
    case Tag::none:
      return 0;
    case Tag::object:
      break;
    default:
      return 1;
  }
  if (by_text_of(v, v)) {
    Value r = by_text(s, "truth", {v});
    return r.is_error() ? -1 : r.as_bool();
  }
  if (scripted(v)) {
    Value r = call_dunder(s, v, Dunder::bool_);
    if (r.is_error()) return -1;
    if (r.is_bool()) return r.as_bool();
    if (!r.is_unbound()) {
      raise_type_error(s, "__bool__ should return bool, returned %s", type_name(s, r).c_str());
      return -1;
    }
    if (find_dunder(s, type_of(s, v), Dunder::len_).is_unbound()) return 1;
    int64_t n = length(s, v);
    return n < 0 ? -1 : n != 0;
  }
  const TypeSlots& t = slots_of(s, v);
  if (!stack_left(s)) return -1;
  if (t.truth) return t.truth(s, v);
  if (t.length) {
    int64_t n = t.length(s, v);
    return n < 0 ? -1 : n != 0;
  }
  return 1;
}

int contains(Session& s, const Value& container, const Value& item) {
  if (by_text_of(container, container)) {
    Value r = by_text(s, "contains", {container, item});
    return r.is_error() ? -1 : r.as_bool();
  }
  if (scripted(container)) {
    const Value& m = find_dunder(s, type_of(s, container), Dunder::contains_);
    if (m.is_none()) {
      raise_type_error(s, "'%s' object is not a container", type_name(s, container).c_str());
      return -1;
    }
    Value r = call_dunder(s, container, Dunder::contains_, {item});
    if (r.is_error()) return -1;
    if (!r.is_unbound()) return truth(s, r);
  } else if (auto f = slots_of(s, container).contains) {
    return stack_left(s) ? f(s, container, item) : -1;
  }
  Value it = iter(s, container);
  if (it.is_error()) {
    if (pending_is(s, ExcKind::TypeError) && !scripted(container)) {
      clear_pending(s);
      raise_type_error(s, "argument of type '%s' is not iterable", type_name(s, container).c_str());
    } else if (pending_is(s, ExcKind::TypeError) && find_dunder(s, type_of(s, container), Dunder::iter_).is_unbound()) {
      clear_pending(s);
      raise_type_error(s, "argument of type '%s' is not iterable", type_name(s, container).c_str());
    }
    return -1;
  }
  for (;;) {
    Value v = next(s, it);
    if (v.is_end()) return 0;
    if (v.is_error()) return -1;
    int e = equals(s, v, item);
    if (e) return e;
  }
}

}  // namespace ouro::runtime
