// What becomes of containers and iteration in reverse mode: displays, what is spread, unpacked and drawn. The slots of
// a container are its items; a tuple is a value, with a tuple of cotangents.
#include "ir/grad/reverser.h"
#include "support/diag.h"
#include "support/forever.h"

namespace ouro::ir::grad {

// ---- containers --------------------------------------------------------------------------------------------------

void Reverse::tuple_let(const Let& l) {
  plain(l);
  NameId y = l.result;
  std::vector<Atom> to(f_.args(l), f_.args(l) + l.nargs);
  adjoint([=, this] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], item(dy, i));
  });
}

void Reverse::tuple_get_let(const Let& l) {
  plain(l);
  NameId y = l.result;
  Atom a = f_.args(l)[0];
  adjoint([=, this, i = l.attr] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    accumulate(a, bwd_.let(prim::ad_one_hot, {dy}, i));
  });
}

void Reverse::list_let(const Let& l) {
  plain(l);
  std::vector<Atom> to(f_.args(l), f_.args(l) + l.nargs);
  bool any = false;
  for (Atom a : to) any = any || a.is_name();
  if (!any) return;
  Residual r = save(map_[index(l.result)]);
  adjoint([=, this] {
    Atom object = get(r);
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], bwd_.let(prim::ad_take, {env_, object, bwd_.integer(i)}));
  });
}

// The let itself, which asks its keys for hashes and whether they are equal: what a script's methods change then has a
// way back, behind the derivative of the let.
std::optional<Reverse::Residual> Reverse::keyed(const Let& l, const std::vector<Atom>& keys) {
  if (std::ranges::none_of(keys, [](Atom a) { return a.is_name(); })) {
    plain(l);
    return std::nullopt;
  }
  const Special s = special(op_name(l.op), fargs(l));
  bind(l, s.value);
  return save(s.pair);
}
void Reverse::keys_back(const std::vector<Atom>& to, const std::optional<Residual>& pair) {
  if (!pair) return;
  const Atom d = call_b(bwd_.let(prim::ad_part, {get(*pair)}, 1), {bwd_.zero(), env_}, prim::ad_try_call);
  for (uint32_t i = 0; i < to.size(); ++i)
    if (to[i].is_name()) accumulate(to[i], item(d, i));
}

void Reverse::dict_let(const Let& l) {
  const std::vector<Atom> all(f_.args(l), f_.args(l) + l.nargs);
  std::vector<Atom> names;
  for (uint32_t i = 0; i + 1 < l.nargs; i += 2) names.push_back(all[i]);
  const std::optional<Residual> pair = keyed(l, names);
  std::vector<Residual> keys;
  std::vector<Atom> to;
  for (uint32_t i = 0; i + 1 < l.nargs; i += 2) {
    if (!f_.args(l)[i + 1].is_name()) continue;
    keys.push_back(save(fatom(f_.args(l)[i])));
    to.push_back(f_.args(l)[i + 1]);
  }
  if (to.empty() && !pair) return;
  Residual r = save(map_[index(l.result)]);
  adjoint([=, this] {
    Atom object = get(r);
    for (uint32_t i = static_cast<uint32_t>(to.size()); i-- > 0;)  // the last of equal keys is the one that counts
      accumulate(to[i], bwd_.let(prim::ad_take, {env_, object, get(keys[i])}));
    keys_back(all, pair);
  });
}

// The slots of a set are its items.
void Reverse::set_let(const Let& l) {
  const std::vector<Atom> all(f_.args(l), f_.args(l) + l.nargs);
  const std::optional<Residual> pair = keyed(l, all);
  std::vector<std::pair<Atom, Residual>> items;
  for (uint32_t i = 0; i < l.nargs; ++i)
    if (f_.args(l)[i].is_name()) items.push_back({f_.args(l)[i], save(fatom(f_.args(l)[i]))});
  if (items.empty()) return;
  Residual r = save(map_[index(l.result)]);
  adjoint([=, this] {
    Atom object = get(r);
    for (const auto& [a, item] : items) accumulate(a, bwd_.let(prim::ad_take, {env_, object, get(item)}));
    keys_back(all, pair);
  });
}
void Reverse::set_add_let(const Let& l) {
  Atom object = fatom(f_.args(l)[0]), value = f_.args(l)[1];
  const std::optional<Residual> pair = keyed(l, {value});
  if (!value.is_name()) return;
  Residual r = save(object), item = save(fatom(value));
  const std::vector<Atom> all(f_.args(l), f_.args(l) + l.nargs);
  adjoint([=, this] {
    accumulate(value, bwd_.let(prim::ad_take, {env_, get(r), get(item)}));
    keys_back(all, pair);
  });
}

void Reverse::list_append_let(const Let& l) {
  Atom object = fatom(f_.args(l)[0]), value = f_.args(l)[1];
  NameId n = fwd_.let(prim::length, {object});
  plain(l);
  if (!value.is_name()) return;
  Residual r = save(object), at = save(n);
  adjoint([=, this] { accumulate(value, bwd_.let(prim::ad_take, {env_, get(r), get(at)})); });
}

// The cotangent of `a`, which was spread: that of its value d, or what the pullback of drawing its items gives.
void Reverse::taken_apart(Atom a, Atom d, Residual pair) {
  accumulate(a, d);
  accumulate(a, item(apply_rule("move", bwd_.zero(), {get(pair)}, true), 0));
}

void Reverse::list_extend_let(const Let& l) {
  Atom object = fatom(f_.args(l)[0]), b = f_.args(l)[1];
  Special s = spread(fatom(b));
  NameId n = fwd_.let(prim::length, {object});
  Atom kept = like(fwd_.none(), s.value);
  bind(l, copy(l, {object, s.value}));
  Residual r = save(object), at = save(n), to = save(fwd_.let(prim::length, {object})), rb = save(kept);
  Residual rs = save(keep(s.pair, fwd_.none()));
  adjoint([=, this] {
    Atom d = apply_rule("list.extend", bwd_.zero(), {get(r), get(at), get(to), get(rb)}, true);
    taken_apart(b, item(d, 0), rs);
  });
}

void Reverse::dict_set_let(const Let& l) {
  const std::vector<Atom> all(f_.args(l), f_.args(l) + l.nargs);
  const std::optional<Residual> pair = keyed(l, {all[1]});
  if (!all[2].is_name() && !pair) return;
  Residual r = save(fatom(all[0])), key = save(fatom(all[1]));
  adjoint([=, this] {
    accumulate(all[2], bwd_.let(prim::ad_take, {env_, get(r), get(key)}));
    keys_back(all, pair);
  });
}

// A result by a rule in Ouro: rule(dy, env, kind of a, attr) gives the cotangent of a.
void Reverse::rule_let(const Let& l) {
  Atom a = f_.args(l)[0];
  Special s = spread(fatom(a));
  Residual r = save(like(fwd_.none(), s.value)), rs = save(keep(s.pair, fwd_.none()));
  bind(l, copy(l, {s.value}));
  NameId y = l.result;
  adjoint([=, this, name = std::string(op_name(l.op)), attr = static_cast<int64_t>(l.attr)] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    taken_apart(a, item(apply_rule(name, dy, {get(r), bwd_.integer(attr)}), 0), rs);
  });
}

void Reverse::unpack_star_let(const Let& l) {
  Atom a = f_.args(l)[0];
  Special s = spread(fatom(a));
  Residual r = save(like(fwd_.none(), s.value)), rs = save(keep(s.pair, fwd_.none()));
  bind(l, copy(l, {s.value}));
  uint32_t before = before_star(l.attr), after = behind_star(l.attr);
  Residual middle = save(fwd_.let(prim::tuple_get, {map_[index(l.result)]}, before));
  NameId y = l.result;
  adjoint([=, this] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    Atom d = apply_rule("unpack.star", dy, {get(r), bwd_.integer(before), bwd_.integer(after), get(middle)}, true);
    taken_apart(a, item(d, 0), rs);
  });
}

// What is merged into a dict or set goes back to the places that it had then: rule(zero, env, a, b, places of b).
void Reverse::merge_let(const Let& l) {
  const Atom a = fatom(f_.args(l)[0]), b = f_.args(l)[1];
  const bool drawn = l.op == prim::set_update;
  const Special s = drawn ? spread(fatom(b)) : Special{};
  const Atom source = drawn ? Atom(s.value) : fatom(b);
  Residual places = save(fwd_.let(prim::ad_places, {source}));
  Residual ra = save(a), rb = save(like(fwd_.none(), source));
  Residual rs = drawn ? save(keep(s.pair, fwd_.none())) : Residual{};
  bind(l, copy(l, {a, source}));
  adjoint([=, this, name = std::string(op_name(l.op))] {
    Atom d = item(apply_rule(name, bwd_.zero(), {get(ra), get(rb), get(places)}, true), 0);
    drawn ? taken_apart(b, d, rs) : accumulate(b, d);
  });
}

// ---- iteration ---------------------------------------------------------------------------------------------------

void Reverse::iter_let(const Let& l) {
  Atom a = f_.args(l)[0];
  Special s = special("iter", fargs(l));
  bind(l, s.value);
  Residual ra = save(like(s.pair, fatom(a))), it = save(s.value);
  NameId y = l.result;
  adjoint([=, this] {
    set_cotangent(y, bwd_.zero());
    accumulate(a, item(apply_rule("iter", bwd_.zero(), {get(ra), get(it)}, true), 0));
  });
}

// What is text where it has a derivative (stdlib/protocol.ouro).
void Reverse::text_let(const Let& l) {
  std::vector<Atom> args = fargs(l);
  if (op_facts(l.op).attr == AttrKind::integer) args.push_back(fwd_.integer(l.attr));
  Special s = special(op_name(l.op), args);
  bind(l, s.value);
  Residual r = save(keep(s.pair, args[0]));
  NameId y = l.result;
  std::vector<Atom> to(f_.args(l), f_.args(l) + l.nargs);
  adjoint([=, this, name = std::string(op_name(l.op))] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    Atom d = apply_rule(name, dy, {get(r)}, true);
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], item(d, i));
  });
}

void Reverse::iter_next_let(const Let& l) {
  Atom it = fatom(f_.args(l)[0]);
  Special s = special("iter.next", {it});
  bind(l, s.value);
  Residual r = save(keep(s.pair, fwd_.let(prim::ad_source, {it})));
  NameId y = l.result;
  adjoint([=, this] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    apply_rule("iter.next", dy, {get(r)});
  });
}

}  // namespace ouro::ir::grad
