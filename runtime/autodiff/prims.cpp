// The ad.* and seq.* primitives: a table from operation to what it does.
#include "ir/prim.h"
#include "runtime/autodiff/autodiff.h"
#include "support/diag.h"

namespace ouro::runtime::autodiff {
namespace {

struct Call {
  Session& s;
  const ir::Function& code;
  const Value& globals;
  uint32_t attr;
  std::span<Value> args;
  int64_t integer() const { return static_cast<int32_t>(attr); }
  Symbol symbol() const { return Symbol::from_id(attr); }
};
using Fn = Value (*)(Call&);

Value done(bool ok) { return ok ? Value::none() : Value::error(); }

Value pair_item(const Value& pair, int64_t i) {
  if (!pair.is_object()) return Value::none();
  return (*pair.as<Tuple>())[static_cast<size_t>(i)];
}

Value ad_keep(Call& c) {
  if (c.args[0].is_none()) return std::move(c.args[1]);
  auto* p = new_object<Pullback>(ObjectKind::pullback);
  p->function = pair_item(c.args[0], 1);
  return Value::steal(p);
}
Value ad_like(Call& c) { return c.args[0].is_none() ? like(c.s, c.args[1]) : ad_keep(c); }

// The pair may be that of a form that gives what it raises: (value, None or the exception).
Value ad_value(Call& c) {
  if (!c.args[0].is_none()) {
    const Value raised = pair_item(c.args[0], 1);
    return cast<Exception>(raised) ? raise_value(c.s, raised, Value()) : pair_item(c.args[0], 0);
  }
  return plain_primitive(c.s, c.symbol().text(), c.args.subspan(1));
}

Value rule_of(Call& c, bool always) {
  for (size_t i = 1; i < c.args.size(); ++i)
    if (kind_of(c.args[i]) == ObjectKind::pullback) return rules_function(c.s, "special_caller");
  if (!always && is_zero(c.args[0])) return Value::none();
  Value rule = find_rule(c.s, c.symbol().text());
  if (!rule.is_unbound()) return rule;
  if (always && is_zero(c.args[0])) return Value::none();
  return raise_error(c.s, ExcKind::TypeError, "operation '%s' has no derivative", c.symbol().c_str());
}

Value ad_index(Call& c) { return item_slot(c.s, c.args[0], c.args[1], false); }

Value ad_fail(Call& c) {
  if (is_zero(c.args[0])) return Value::none();
  return raise_error(c.s, ExcKind::TypeError, "operation '%s' has no derivative", c.symbol().c_str());
}

Value seq_push(Call& c) {
  Seq* q = c.args[0].as<Seq>();
  q->width = c.args.size() - 1;
  int64_t at = static_cast<int64_t>(q->records());
  for (size_t i = 1; i < c.args.size(); ++i) q->items.push_back(std::move(c.args[i]));
  return Value::integer(at);
}
Value seq_get(Call& c) {
  Seq* q = c.args[0].as<Seq>();
  return q->items[static_cast<size_t>(c.args[1].as_int()) * q->width + c.attr];
}

Value ad_yielded(Call& c) {
  List* l = c.args[0].as<List>();
  if (l->size >= 1'000'000)
    return raise_error(c.s, ExcKind::TypeError, "cannot differentiate through %s, which yields without end",
                       c.code.qualname.c_str());
  l->push(std::move(c.args[1]));
  return Value::none();
}

Value ad_forward(Call& c) { return forward_form(c.s, c.args[0]); }
Value ad_method(Call& c) { return forward_method(c.s, c.args[0], c.symbol()); }
Value ad_special(Call& c) { return forward_special(c.s, c.symbol().text(), c.args); }
Value ad_bind(Call& c) { return bind_call(c.s, c.code.calls[c.attr], c.args); }
Value ad_unbind(Call& c) { return unbind_call(c.s, c.args[0], c.args[1], c.args[2]); }
Value ad_flat(Call& c) { return flat_form(c.s, c.args[0]); }
Value ad_part(Call& c) { return pair_item(c.args[0], c.integer()); }
Value ad_select(Call& c) {
  return c.args[0].is_none() == (c.attr == 0) ? std::move(c.args[1]) : Value::zero_cotangent();
}
Value ad_rule(Call& c) { return rule_of(c, false); }
Value ad_always(Call& c) { return rule_of(c, true); }
Value ad_get(Call& c) { return item(c.args[0], c.integer()); }
Value ad_one_hot(Call& c) { return one_hot(c.args[0], c.integer()); }
Value ad_add(Call& c) { return add(c.s, std::move(c.args[0]), c.args[1]); }
Value ad_item(Call& c) { return add_item(c.s, std::move(c.args[0]), c.args[1], c.args[2], c.args[3], c.args[4]); }
Value ad_acc(Call& c) { return done(shadow_add(c.s, c.args[0], c.args[1], c.args[2], c.args[3])); }
Value ad_take(Call& c) { return shadow_take(c.s, c.args[0], c.args[1], c.args[2]); }
Value ad_peek(Call& c) { return shadow_peek(c.s, c.args[0], c.args[1], c.args[2]); }
Value ad_put(Call& c) { return done(shadow_put(c.s, c.args[0], c.args[1], c.args[2], std::move(c.args[3]))); }
Value ad_source(Call& c) { return source_of(c.s, c.args[0]); }
Value ad_places(Call& c) { return places_of(c.args[0]); }
Value ad_globals(Call& c) { return c.globals; }
Value ad_enters_tensor(Call& c) { return enters_tensor(c.s, c.code.paths[c.attr], c.globals, c.args); }
Value ad_place(Call& c) { return place_of(c.s, c.code.paths[c.attr], c.globals, c.args); }
Value ad_update(Call& c) { return update_back(c.s, std::move(c.args[0]), c.args[1], c.args[2]); }
Value seq_new(Call&) { return Value::steal(new_object<Seq>(ObjectKind::seq)); }
Value seq_len(Call& c) { return Value::integer(static_cast<int64_t>(c.args[0].as<Seq>()->records())); }
Value seq_prev(Call& c) { return Value::integer(c.args[0].as_int() - 1); }

constexpr Fn kFunctions[] = {
#define ON_VALUES(name) nullptr
#define ALONE(name) nullptr
#define GRADIENT(name) name
#define NOT_ON_VALUES nullptr
#define PRIM(id, text, n, attr, effects, location, interpreter, reverse, specialiser, on_values, doc) on_values,
#include "ir/prims.inc"
#undef ON_VALUES
#undef ALONE
#undef GRADIENT
#undef NOT_ON_VALUES
};

}  // namespace

Value run_primitive(Session& s, const ir::Function& code, const Value& globals, ir::Op op, uint32_t attr,
                    std::span<Value> args) {
  Fn fn = kFunctions[static_cast<uint16_t>(op)];
  if (!fn) ouro_bug("primitive %u is not one of reverse mode", static_cast<unsigned>(op));
  Call c{s, code, globals, attr, args};
  return fn(c);
}

}  // namespace ouro::runtime::autodiff
