// The ad.* and seq.* primitives: a table from operation to what it does.
#include <unordered_map>

#include "ir/prim.h"
#include "runtime/autodiff/autodiff.h"
#include "support/diag.h"
#include "support/forever.h"

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

Value keep(Call& c) {
  if (c.args[0].is_none()) return std::move(c.args[1]);
  auto* p = new_object<Pullback>(ObjectKind::pullback);
  p->function = pair_item(c.args[0], 1);
  return Value::steal(p);
}
Value keep_like(Call& c) { return c.args[0].is_none() ? like(c.s, c.args[1]) : keep(c); }

Value value(Call& c) {
  if (!c.args[0].is_none()) return pair_item(c.args[0], 0);
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

Value index_of(Call& c) {
  if (List* l = cast<List>(c.args[0]); l && c.args[1].is_int() && c.args[1].as_int() < 0)
    return Value::integer(c.args[1].as_int() + static_cast<int64_t>(l->size));
  return c.args[1];
}

Value fail(Call& c) {
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

Value yielded(Call& c) {
  List* l = c.args[0].as<List>();
  if (l->size >= 1'000'000)
    return raise_error(c.s, ExcKind::TypeError, "cannot differentiate through %s, which yields without end",
                       c.code.qualname.c_str());
  l->push(std::move(c.args[1]));
  return Value::none();
}

struct Row {
  ir::Op op;
  Fn fn;
};
namespace prim = ir::prim;
constexpr Row kRows[] = {
    {prim::ad_forward, [](Call& c) { return forward_form(c.s, c.args[0]); }},
    {prim::ad_method, [](Call& c) { return forward_method(c.s, c.args[0], c.symbol()); }},
    {prim::ad_special, [](Call& c) { return forward_special(c.s, c.symbol().text(), c.args); }},
    {prim::ad_value, value},
    {prim::ad_bind, [](Call& c) { return bind_call(c.s, c.code.calls[c.attr], c.args); }},
    {prim::ad_unbind, [](Call& c) { return unbind_call(c.s, c.args[0], c.args[1], c.args[2]); }},
    {prim::ad_flat, [](Call& c) { return flat_form(c.s, c.args[0]); }},
    {prim::ad_part, [](Call& c) { return pair_item(c.args[0], c.integer()); }},
    {prim::ad_keep, keep},
    {prim::ad_like, keep_like},
    {prim::ad_select,
     [](Call& c) { return c.args[0].is_none() == (c.attr == 0) ? std::move(c.args[1]) : Value::zero_cotangent(); }},
    {prim::ad_rule, [](Call& c) { return rule_of(c, false); }},
    {prim::ad_always, [](Call& c) { return rule_of(c, true); }},
    {prim::ad_get, [](Call& c) { return item(c.args[0], c.integer()); }},
    {prim::ad_one_hot, [](Call& c) { return one_hot(c.args[0], c.integer()); }},
    {prim::ad_add, [](Call& c) { return add(c.s, std::move(c.args[0]), c.args[1]); }},
    {prim::ad_item,
     [](Call& c) { return add_item(c.s, std::move(c.args[0]), c.args[1], c.args[2], c.args[3], c.args[4]); }},
    {prim::ad_index, index_of},
    {prim::ad_acc, [](Call& c) { return done(shadow_add(c.s, c.args[0], c.args[1], c.args[2], c.args[3])); }},
    {prim::ad_take, [](Call& c) { return shadow_take(c.s, c.args[0], c.args[1], c.args[2]); }},
    {prim::ad_peek, [](Call& c) { return shadow_peek(c.s, c.args[0], c.args[1], c.args[2]); }},
    {prim::ad_put,
     [](Call& c) { return done(shadow_put(c.s, c.args[0], c.args[1], c.args[2], std::move(c.args[3]))); }},
    {prim::ad_source, [](Call& c) { return source_of(c.s, c.args[0]); }},
    {prim::ad_globals, [](Call& c) { return c.globals; }},
    {prim::ad_place, [](Call& c) { return place_of(c.s, c.code.paths[c.attr], c.globals, c.args); }},
    {prim::ad_update, [](Call& c) { return update_back(c.s, std::move(c.args[0]), c.args[1], c.args[2]); }},
    {prim::ad_yielded, yielded},
    {prim::ad_fail, fail},
    {prim::seq_new, [](Call&) { return Value::steal(new_object<Seq>(ObjectKind::seq)); }},
    {prim::seq_push, seq_push},
    {prim::seq_get, seq_get},
    {prim::seq_len, [](Call& c) { return Value::integer(static_cast<int64_t>(c.args[0].as<Seq>()->records())); }},
    {prim::seq_prev, [](Call& c) { return Value::integer(c.args[0].as_int() - 1); }},
};

const std::vector<Fn>& table() {
  static const std::vector<Fn>& t = support::forever([] {
    std::vector<Fn> fns(prim::count_, nullptr);
    for (const Row& r : kRows) fns[static_cast<uint16_t>(r.op)] = r.fn;
    return fns;
  }());
  return t;
}

}  // namespace

Value run_primitive(Session& s, const ir::Function& code, const Value& globals, ir::Op op, uint32_t attr,
                    std::span<Value> args) {
  Fn fn = table()[static_cast<uint16_t>(op)];
  if (!fn) ouro_bug("primitive %u is not one of reverse mode", static_cast<unsigned>(op));
  Call c{s, code, globals, attr, args};
  return fn(c);
}

}  // namespace ouro::runtime::autodiff
