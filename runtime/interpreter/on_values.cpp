#include "runtime/interpreter/on_values.h"

#include "ir/prim.h"
#include "runtime/interpreter/unpack.h"
#include "runtime/object/ops.h"
#include "support/diag.h"

namespace ouro::runtime {
namespace {

struct Call {
  Session& s;
  ir::Op op;
  uint32_t attr;
  std::span<Value> a;
  Symbol symbol() const { return Symbol::from_id(attr); }
};

Value flag(int truth) { return truth < 0 ? Value::error() : Value::boolean(truth == 1); }
Value done(bool ok) { return ok ? Value::none() : Value::error(); }

// One function for each name in the last column but one of ir/prims.inc.
struct OnValues {
  static Value binary(Call& c) { return runtime::binary(c.s, binary_of(c.op), c.a[0], c.a[1]); }
  static Value inplace(Call& c) { return runtime::inplace(c.s, binary_of(c.op), std::move(c.a[0]), c.a[1]); }
  static Value unary(Call& c) { return runtime::unary(c.s, unary_of(c.op), c.a[0]); }
  static Value compare(Call& c) { return runtime::compare(c.s, compare_of(c.op), c.a[0], c.a[1]); }
  static Value not_(Call& c) {
    const int t = runtime::truth(c.s, c.a[0]);
    return t < 0 ? Value::error() : Value::boolean(t == 0);
  }
  static Value truth(Call& c) { return flag(runtime::truth(c.s, c.a[0])); }
  static Value is(Call& c) { return Value::boolean(is_same(c.a[0], c.a[1]) == (c.op == ir::prim::is)); }
  static Value in(Call& c) {
    const int t = contains(c.s, c.a[1], c.a[0]);
    return t < 0 ? Value::error() : Value::boolean((t == 1) == (c.op == ir::prim::in));
  }
  static Value move(Call& c) { return c.a[0]; }
  // What compiled code reads and writes around an operation that the interpreter does
  // (jit/specialise/residual/materialise.cpp).
  static Value cell_get(Call& c) {
    auto* cell = cast<Cell>(c.a[0]);
    if (!cell) return raise_type_error(c.s, "not a cell");
    if (!cell->value.is_unbound()) return cell->value;
    return raise_error(c.s, ExcKind::NameError, "cannot access a free variable that is not associated with a value");
  }
  static Value cell_set(Call& c) {
    auto* cell = cast<Cell>(c.a[0]);
    if (!cell) return raise_type_error(c.s, "not a cell");
    cell->value = c.a[1];
    return Value::none();
  }
  // Of the module that is the operand.
  static Value global_get(Call& c) {
    auto* m = cast<Module>(c.a[0]);
    if (!m) return raise_type_error(c.s, "not a module");
    if (Value* v = m->names.find(c.symbol()); v && !v->is_unbound()) return *v;
    Value v = builtin(c.s, c.symbol(), m->ouro_names);
    if (!v.is_unbound()) return v;
    raise_error(c.s, ExcKind::NameError, "name '%s' is not defined", c.symbol().c_str());
    c.s.pending.as<Exception>()->extra1 = c.s.str(c.symbol());
    return Value::error();
  }
  static Value attr_get(Call& c) { return get_attr(c.s, c.a[0], c.symbol()); }
  static Value method_get(Call& c) { return method_before_call(c.s, c.a[0], c.symbol()); }
  static Value attr_set(Call& c) { return done(set_attr(c.s, c.a[0], c.symbol(), c.a[1])); }
  static Value attr_del(Call& c) { return done(runtime::del_attr(c.s, c.a[0], c.symbol())); }
  static Value item_get(Call& c) { return get_item(c.s, c.a[0], c.a[1]); }
  static Value item_set(Call& c) { return done(set_item(c.s, c.a[0], c.a[1], c.a[2])); }
  static Value item_del(Call& c) { return done(del_item(c.s, c.a[0], c.a[1])); }
  static Value slice(Call& c) { return make_slice(c.a[0], c.a[1], c.a[2]); }
  static Value tuple(Call& c) { return make_tuple(std::span<const Value>(c.a)); }
  static Value list(Call& c) { return make_list(std::span<const Value>(c.a)); }
  static Value dict(Call& c) {
    Value d = make_dict();
    for (size_t k = 0; k + 1 < c.a.size(); k += 2)
      if (!set_item(c.s, d, c.a[k], c.a[k + 1])) return Value::error();
    return d;
  }
  static Value set(Call& c) {
    Value made = make_set();
    for (const Value& item : c.a)
      if (runtime::set_add(c.s, made.as<Set>(), item) < 0) return Value::error();
    return made;
  }
  static Value set_add(Call& c) { return done(runtime::set_add(c.s, c.a[0].as<Set>(), c.a[1]) >= 0); }
  static Value dict_set(Call& c) { return done(runtime::dict_set(c.s, c.a[0].as<Dict>(), c.a[1], c.a[2])); }
  static Value list_append(Call& c) { return call_method(c.s, c.a[0], intern("append"), {c.a[1]}); }
  static Value list_to_tuple(Call& c) { return tuple_of(c.s, c.a[0]); }
  static Value tuple_get(Call& c) {
    auto* t = c.a[0].as<Tuple>();
    if (!c.a[0].is_object() || kind_of(c.a[0]) != ObjectKind::tuple || c.attr >= t->size)
      return get_item(c.s, c.a[0], Value::integer(c.attr));
    return (*t)[c.attr];
  }
  static Value unpack(Call& c) { return runtime::unpack(c.s, c.a[0], c.attr); }
  static Value length(Call& c) {
    const int64_t n = runtime::length(c.s, c.a[0]);
    return n < 0 ? Value::error() : Value::integer(n);
  }
  static Value with_methods(Call& c) { return context_methods(c.s, c.a[0]); }
  static Value format(Call& c) {
    Value v = c.attr == 'r'   ? repr(c.s, c.a[0])
              : c.attr == 's' ? str(c.s, c.a[0])
              : c.attr == 'a' ? ascii(c.s, c.a[0])
                              : c.a[0];
    if (v.is_error()) return v;
    auto* spec = cast<Str>(c.a[1]);
    return runtime::format(c.s, v, spec ? spec->view() : std::string_view());
  }
  static Value str_concat(Call& c) {
    std::string text;
    for (const Value& v : c.a) text += cast<Str>(v)->view();
    return make_str(text);
  }
  static Value iter(Call& c) { return runtime::iter(c.s, c.a[0]); }
  static Value iter_next(Call& c) { return next(c.s, c.a[0]); }
  static Value is_end(Call& c) { return Value::boolean(c.a[0].is_end()); }
};

struct Row {
  Value (*run)(Call&);
  bool boxable;
};
constexpr Row kRows[] = {
#define ON_VALUES(name) \
  { OnValues::name, true }
#define ALONE(name) \
  { OnValues::name, false }
#define GRADIENT(name) \
  { nullptr, false }
#define NOT_ON_VALUES \
  { nullptr, false }
#define PRIM(id, text, n, attr, effects, location, interpreter, reverse, specialiser, on_values, doc) on_values,
#include "ir/prims.inc"
#undef ON_VALUES
#undef ALONE
#undef GRADIENT
#undef NOT_ON_VALUES
};
const Row& row_of(ir::Op op) { return kRows[static_cast<size_t>(op)]; }

}  // namespace

bool is_on_values(ir::Op op) { return row_of(op).run != nullptr; }
bool is_boxable(ir::Op op) { return row_of(op).boxable; }

Value run_on_values(Session& s, ir::Op op, uint32_t attr, std::span<Value> args) {
  const Row& row = row_of(op);
  if (!row.run) ouro_bug("%s on values", std::string(ir::kPrims[static_cast<size_t>(op)].name).c_str());
  Call c{s, op, attr, args};
  return row.run(c);
}

}  // namespace ouro::runtime
