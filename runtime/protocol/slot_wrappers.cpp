#include "runtime/protocol/slot_wrappers.h"

#include <algorithm>

#include <utility>

#include "runtime/object/ops.h"
#include "runtime/types/argument_name.h"

namespace ouro::runtime {

namespace {

// Rows here are raw (they count their arguments themselves), because they are called often.
bool count_is(Session& s, const Args& a, size_t n) {
  if (a.size() == n + 1 && a.keywords.empty()) return true;
  if (n == 1)
    raise_type_error(s, "expected 1 argument, got %zu", a.size() - 1);
  else
    raise_type_error(s, "%sexpected %zu arguments, got %zu", n ? " " : "", n, a.size() - 1);
  return false;
}

template <int op>
Value wrap_binary(Session& s, const Args& a) {
  if (!count_is(s, a, 1)) return Value::error();
  const Value& self = unwrap(a[0]);
  constexpr BinOp kOp = static_cast<BinOp>(op);
  return slots_of(s, self).binary(s, kOp, operand_for(kOp, self, a[0]), operand_for(kOp, self, a[1]));
}
template <int op>
Value wrap_reflected(Session& s, const Args& a) {
  if (!count_is(s, a, 1)) return Value::error();
  const Value& self = unwrap(a[0]);
  constexpr BinOp kOp = static_cast<BinOp>(op);
  return slots_of(s, self).binary(s, kOp, operand_for(kOp, self, a[1]), operand_for(kOp, self, a[0]));
}
template <int op>
Value wrap_inplace(Session& s, const Args& a) {
  if (!count_is(s, a, 1)) return Value::error();
  Value self = unwrap(a[0]);
  const void* before = self.is_object() ? self.object() : nullptr;
  Value r = slots_of(s, self).inplace(s, static_cast<BinOp>(op), self, a[1]);
  return r.is_object() && r.object() == before ? a[0] : r;
}
template <int op>
Value wrap_unary(Session& s, const Args& a) {
  if (!count_is(s, a, 0)) return Value::error();
  const Value& self = unwrap(a[0]);
  return slots_of(s, self).unary(s, static_cast<UnOp>(op), self);
}
template <int op>
Value wrap_compare(Session& s, const Args& a) {
  if (!count_is(s, a, 1)) return Value::error();
  const Value& self = unwrap(a[0]);
  return slots_of(s, self).compare(s, static_cast<CmpOp>(op), self, unwrap(a[1]));
}

#define OURO_SELF(n)                             \
  if (!count_is(s, a, n)) return Value::error(); \
  const Value& self = unwrap(a[0]);              \
  const TypeSlots& t = slots_of(s, self)

Value from_int(int r) { return r < 0 ? Value::error() : Value::boolean(r != 0); }
Value from_ok(bool ok) { return ok ? Value::none() : Value::error(); }

Value wrap_bool(Session& s, const Args& a) {
  OURO_SELF(0);
  (void)t;
  return from_int(truth(s, self));
}
Value wrap_hash(Session& s, const Args& a) {
  OURO_SELF(0);
  int64_t h;
  return t.hash(s, self, h) ? Value::integer(h) : Value::error();
}
Value wrap_repr(Session& s, const Args& a) {
  OURO_SELF(0);
  return t.repr(s, self);
}
Value wrap_str(Session& s, const Args& a) {
  OURO_SELF(0);
  return t.str ? t.str(s, self) : repr(s, a[0]);
}
Value wrap_format(Session& s, const Args& a) {
  OURO_SELF(1);
  Str* spec = cast<Str>(a[1]);
  if (!spec) return raise_type_error(s, "__format__() argument must be str, not %s", argument_name(s, a[1]).c_str());
  if (spec->size == 0 && !self.same(a[0])) return str(s, a[0]);  // as str() of the subclass says
  return t.format(s, self, spec->view());
}
Value wrap_iter(Session& s, const Args& a) {
  OURO_SELF(0);
  if (!t.iter) return a[0];
  OURO_TRY(it, t.iter(s, self));
  return it.same(self) ? a[0] : it;  // an iterator of a subclass is its own one
}
Value wrap_next(Session& s, const Args& a) {
  OURO_SELF(0);
  s.stop_value = Value();
  Value v = t.next(s, self);
  return v.is_end() ? raise_stop_iteration(s, std::move(s.stop_value)) : v;
}
Value wrap_len(Session& s, const Args& a) {
  OURO_SELF(0);
  int64_t n = t.length(s, self);
  return n < 0 ? Value::error() : Value::integer(n);
}
Value wrap_getitem(Session& s, const Args& a) {
  OURO_SELF(1);
  return t.get_item(s, self, a[1]);
}
Value wrap_setitem(Session& s, const Args& a) {
  OURO_SELF(2);
  return from_ok(t.set_item(s, self, a[1], a[2]));
}
Value wrap_delitem(Session& s, const Args& a) {
  OURO_SELF(1);
  return from_ok(t.del_item(s, self, a[1]));
}
Value wrap_contains(Session& s, const Args& a) {
  OURO_SELF(1);
  return from_int(t.contains(s, self, a[1]));
}
Value wrap_call(Session& s, const Args& a) {
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  return call(s, unwrap(a[0]), rest);
}
Value wrap_init(Session& s, const Args& a) {
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  const Value& self = unwrap(a[0]);
  auto* made = cast_exact<StaticMethod>(find_dunder(s, type_of(s, a[0]), Dunder::new_));
  bool own_new = made && !cast_exact<Native>(made->function);
  if (own_new && (kind_of(self) == ObjectKind::list || kind_of(self) == ObjectKind::set))
    rest.keywords = rest.names = {};  // they were for __new__
  return from_ok(slots_of(s, self).init(s, a[0], rest));
}

template <int... op>
void binary_rows(const TypeSlots& t, void (*add)(void*, const NativeDef&), void* c, std::integer_sequence<int, op...>) {
  static constexpr NativeDef kPlain[] = {{kDunderNames[op], "", wrap_binary<op>, "", true}...};
  static constexpr NativeDef kReflected[] = {{kDunderNames[op + kBinOps], "", wrap_reflected<op>, "", true}...};
  static constexpr NativeDef kInplace[] = {{kDunderNames[op + 2 * kBinOps], "", wrap_inplace<op>, "", true}...};
  for (int i = 0; i < kBinOps; ++i) {
    bool has = t.binary && (t.binary_ops >> i & 1);
    bool repeat = i == static_cast<int>(BinOp::mul);
    if (has) add(c, kPlain[i]);
    if (has && (!t.no_reflected || repeat)) add(c, kReflected[i]);
    if (t.inplace && (t.inplace_ops >> i & 1)) add(c, kInplace[i]);
  }
}

constexpr NativeDef kUnary[] = {
#define UNARY(id, ast, symbol, special, ...) {"__" #special "__", "", wrap_unary<static_cast<int>(UnOp::id)>, "", true},
#include "ir/operators.inc"
};
constexpr NativeDef kCompare[] = {
#define COMPARE(id, ast, symbol, special, ...) \
  {"__" #special "__", "", wrap_compare<static_cast<int>(CmpOp::id)>, "", true},
#include "ir/operators.inc"
};

struct Row {
  bool (*has)(const TypeSlots&);
  NativeDef def;
};
constexpr Row kRows[] = {
    {[](const TypeSlots& t) { return t.truth && !t.length; }, {"__bool__", "", wrap_bool, "", true}},
    {[](const TypeSlots& t) { return t.hash != nullptr; }, {"__hash__", "", wrap_hash, "", true}},
    {[](const TypeSlots& t) { return t.repr != nullptr; }, {"__repr__", "", wrap_repr, "", true}},
    {[](const TypeSlots& t) { return t.str != nullptr; }, {"__str__", "", wrap_str, "", true}},
    {[](const TypeSlots& t) { return t.format != nullptr; }, {"__format__", "", wrap_format, "", true}},
    {[](const TypeSlots& t) { return t.iter || t.next; }, {"__iter__", "", wrap_iter, "", true}},
    {[](const TypeSlots& t) { return t.next != nullptr; }, {"__next__", "", wrap_next, "", true}},
    {[](const TypeSlots& t) { return t.length != nullptr; }, {"__len__", "", wrap_len, "", true}},
    {[](const TypeSlots& t) { return t.get_item != nullptr; }, {"__getitem__", "", wrap_getitem, "", true}},
    {[](const TypeSlots& t) { return t.set_item != nullptr; }, {"__setitem__", "", wrap_setitem, "", true}},
    {[](const TypeSlots& t) { return t.del_item != nullptr; }, {"__delitem__", "", wrap_delitem, "", true}},
    {[](const TypeSlots& t) { return t.contains != nullptr; }, {"__contains__", "", wrap_contains, "", true}},
    {[](const TypeSlots& t) { return t.call != nullptr; }, {"__call__", "", wrap_call, "", true}},
    {[](const TypeSlots& t) { return t.init != nullptr; }, {"__init__", "", wrap_init, "", true}},
};

}  // namespace

void for_each_slot_wrapper(const TypeSlots& t, bool is_base_object, void (*add)(void*, const NativeDef&),
                           void* context) {
  if (is_base_object) return;
  binary_rows(t, add, context, std::make_integer_sequence<int, kBinOps>());
  for (int i = 0; i < 3; ++i)
    if (t.unary && (t.unary_ops >> i & 1)) add(context, kUnary[i]);
  if (t.compare)
    for (int i = 0; i < (t.ordered ? 6 : 2); ++i) add(context, kCompare[i]);
  for (const Row& r : kRows)
    if (r.has(t)) add(context, r.def);
}

bool is_slot_wrapper(std::string_view name) {
  static constexpr std::string_view kMethods[] = {
      "__ceil__",          "__class_getitem__", "__dir__",     "__floor__",         "__format__",     "__getnewargs__",
      "__init_subclass__", "__new__",           "__prepare__", "__reduce__",        "__reversed__",   "__round__",
      "__sizeof__",        "__subclasscheck__", "__trunc__",   "__instancecheck__", "__subclasses__", "__enter__",
      "__exit__",          "__length_hint__",   "__set_name__"};
  return name.starts_with("__") && name.ends_with("__") && std::ranges::find(kMethods, name) == std::end(kMethods);
}

}  // namespace ouro::runtime
