// What becomes of the operations of reverse mode itself (ad.*, seq.*): a forward form and its pullback are functions as
// any other, so a derivative of second order is that of a function that holds these. Each has its transpose among them:
// acc and peek, take and put, push and the records that backward reads; what rests on a rule in Ouro has the rule
// differentiated.
#include "ir/grad/reverser.h"

namespace ouro::ir::grad {

// The value of an operator whose pair is known (order two): the pair's first, or the operator on plain operands.
void Reverse::value_let(const Let& l) {
  std::string_view name = Symbol::from_id(l.attr).text();
  Atom index;  // from the container's start, as it is before the operation
  if (name.starts_with("item.")) index = fwd_.let(prim::ad_index, {fatom(f_.args(l)[1]), fatom(f_.args(l)[2])});
  NameId y = copy(l);
  bind(l, y);
  Atom pair = f_.args(l)[0], fpair = fatom(pair);
  Residual rp = save(fpair);
  NameId result = l.result;
  const auto op = op_by_name(name);
  if (op && is_operator(*op)) {
    const char* kept = form_of(*op).text;
    std::vector<Residual> residuals;
    for (uint32_t i = 1; i < l.nargs; ++i) {
      Atom a = fatom(f_.args(l)[i]);
      residuals.push_back(save(kept[i - 1] == 'l' ? Atom(like(fwd_.none(), a)) : a));
    }
    std::vector<Atom> to(f_.args(l) + 1, f_.args(l) + l.nargs);
    adjoint([=, this] {
      Atom dy = cotangent(result);
      if (is_zero(dy)) return;
      set_cotangent(result, bwd_.zero());
      Atom p = get(rp);
      accumulate(pair, bwd_.let(prim::ad_one_hot, {bwd_.let(prim::ad_select, {p, dy}, 1)}, 0));
      Atom d = apply_rule(name, bwd_.let(prim::ad_select, {p, dy}, 0), get_all(residuals));
      for (uint32_t i = 0; i < to.size(); ++i)
        if (to[i].is_name()) accumulate(to[i], item(d, i));
    });
    return;
  }
  if (name == "item.get") {  // added to in place, as item_get_let does
    const Atom a = f_.args(l)[1];
    Residual rx = save(like(fwd_.none(), fatom(a))), ri = save(index);
    adjoint([=, this] {
      Atom dy = cotangent(result);
      if (is_zero(dy)) return;
      set_cotangent(result, bwd_.zero());
      Atom p = get(rp), own = bwd_.let(prim::ad_select, {p, dy}, 0);
      accumulate(pair, bwd_.let(prim::ad_one_hot, {bwd_.let(prim::ad_select, {p, dy}, 1)}, 0));
      const Atom sum = a.is_name() ? Atom(cotangent(a.name())) : Atom(bwd_.zero());
      const NameId d = bwd_.let(prim::ad_item, {sum, own, get(ri), get(rx), env_});
      if (a.is_name()) set_cotangent(a.name(), d);
    });
    return;
  }
  // The others (attr.get, item.set, ...) on plain operands: a rule of the same name behind "value."
  std::vector<Residual> residuals;
  for (uint32_t i = 1; i < l.nargs; ++i)
    residuals.push_back(save(i == 2 && !index.is_none() ? index : fatom(f_.args(l)[i])));
  residuals.push_back(
      save(name == "iter.next" ? Atom(fwd_.let(prim::ad_source, {fatom(f_.args(l)[1])})) : fwd_.none()));
  residuals.push_back(save(name == "iter" || name == "set" || name == "dict" ? Atom(y) : fwd_.none()));
  std::vector<Atom> to(f_.args(l) + 1, f_.args(l) + l.nargs);
  adjoint([=, this] {
    Atom dy = cotangent(result);
    set_cotangent(result, bwd_.zero());
    Atom p = get(rp);
    accumulate(pair, bwd_.let(prim::ad_one_hot, {bwd_.let(prim::ad_select, {p, dy}, 1)}, 0));
    std::vector<Atom> args{p};
    for (const Residual& r : residuals) args.push_back(get(r));
    Atom d = apply_rule("value." + std::string(name), bwd_.let(prim::ad_select, {p, dy}, 0), args, true);
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], item(d, i));
  });
}

// Order two: by the same rule in Ouro.
void Reverse::ad_update_let(const Let& l) {
  std::vector<Atom> args = fargs(l);
  NameId rule = fwd_.let(prim::ad_always, {fwd_.zero()}, attr("ad.update"));
  NameId form = fwd_.let(prim::ad_forward, {rule});
  finish_call(l, call_f(form, args), 0, l.nargs, prim::call);
}

void Reverse::keep_let(const Let& l) {  // also ad.select, whose condition is no number
  bind(l, copy(l));
  Residual p = save(fatom(f_.args(l)[0]));
  Atom a = f_.args(l)[1];
  NameId y = l.result;
  uint32_t when = l.op == prim::ad_select ? l.attr : 0;
  adjoint([=, this] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    accumulate(a, bwd_.let(prim::ad_select, {get(p), dy}, when));
  });
}
void Reverse::get_let(const Let& l) { tuple_get_let(l); }
void Reverse::one_hot_let(const Let& l) {
  plain(l);
  NameId y = l.result;
  Atom a = f_.args(l)[0];
  adjoint([=, this, i = l.attr] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    accumulate(a, item(dy, i));
  });
}
void Reverse::add_let(const Let& l) {
  plain(l);
  NameId y = l.result;
  Atom a = f_.args(l)[0], b = f_.args(l)[1];
  adjoint([=, this] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    accumulate(a, dy);
    accumulate(b, dy);
  });
}
void Reverse::ad_item_let(const Let& l) {
  const Atom* args = f_.args(l);
  Atom sum = args[0], dy = args[1];
  std::vector<Residual> rs = save_all({fatom(args[2]), fatom(args[3]), fatom(args[4])});
  plain(l);
  NameId y = l.result;
  adjoint([=, this] {
    Atom d = cotangent(y);
    set_cotangent(y, bwd_.zero());
    accumulate(sum, d);
    accumulate(dy, item(apply_rule("ad.item", d, get_all(rs), true), 0));
  });
}
// Slots of an inner env: acc <-> peek, take <-> put; the key in the outer env is (object, slot).
void Reverse::acc_let(const Let& l) {
  const Atom* args = f_.args(l);
  plain(l);
  Residual env = save(fatom(args[0])), object = save(fatom(args[1])), key = save(fatom(args[2]));
  Atom d = args[3];
  adjoint([=, this] {
    Atom e = get(env);
    accumulate(d, bwd_.let(prim::ad_peek, {env_, e, key_pair(get(object), get(key))}));
  });
}
void Reverse::take_let(const Let& l) {
  const Atom* args = f_.args(l);
  plain(l);
  Residual env = save(fatom(args[0])), object = save(fatom(args[1])), key = save(fatom(args[2]));
  NameId y = l.result;
  adjoint([=, this] {
    Atom dy = cotangent(y), e = get(env);
    set_cotangent(y, bwd_.zero());
    bwd_.let(prim::ad_put, {env_, e, key_pair(get(object), get(key)), dy});
  });
}
void Reverse::peek_let(const Let& l) {
  const Atom* args = f_.args(l);
  plain(l);
  Residual env = save(fatom(args[0])), object = save(fatom(args[1])), key = save(fatom(args[2]));
  NameId y = l.result;
  adjoint([=, this] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    Atom e = get(env);
    bwd_.let(prim::ad_acc, {env_, e, key_pair(get(object), get(key)), dy});
  });
}
void Reverse::put_let(const Let& l) {
  const Atom* args = f_.args(l);
  plain(l);
  Residual env = save(fatom(args[0])), object = save(fatom(args[1])), key = save(fatom(args[2]));
  Atom v = args[3];
  adjoint([=, this] {
    Atom e = get(env);
    accumulate(v, bwd_.let(prim::ad_take, {env_, e, key_pair(get(object), get(key))}));
  });
}
// Records of a seq are slots (index, item).
void Reverse::push_let(const Let& l) {
  const Atom* args = f_.args(l);
  plain(l);
  Residual seq = save(fatom(args[0])), at = save(map_[index(l.result)]);
  std::vector<Atom> to(args + 1, args + l.nargs);
  adjoint([=, this] {
    Atom s = get(seq), i = get(at);
    for (uint32_t k = 0; k < to.size(); ++k)
      if (to[k].is_name()) accumulate(to[k], bwd_.let(prim::ad_take, {env_, s, key_pair(i, bwd_.integer(k))}));
  });
}
void Reverse::seq_get_let(const Let& l) {
  const Atom* args = f_.args(l);
  plain(l);
  Residual seq = save(fatom(args[0])), at = save(fatom(args[1]));
  NameId y = l.result;
  adjoint([=, this, k = static_cast<int64_t>(l.attr)] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    Atom s = get(seq);
    bwd_.let(prim::ad_acc, {env_, s, key_pair(get(at), bwd_.integer(k)), dy});
  });
}
// What is bound is (parameters, the rest by name, plan): parameters have cotangents by value, the rest as slots.
void Reverse::bind_let(const Let& l) {
  plain(l);
  Atom bound = map_[index(l.result)];
  Residual plan = save(fwd_.let(prim::tuple_get, {bound}, 2)), rest = save(fwd_.let(prim::tuple_get, {bound}, 1));
  Residual count = save(fwd_.let(prim::length, {fwd_.let(prim::tuple_get, {bound}, 0)}));
  NameId y = l.result;
  std::vector<Atom> to(f_.args(l) + 1, f_.args(l) + l.nargs);
  adjoint([=, this] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    Atom d = apply_rule("ad.bind", item(dy, 0), {get(plan), get(rest), get(count)}, true);
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], item(d, i));
  });
}
void Reverse::unbind_let(const Let& l) {
  const Atom* args = f_.args(l);
  plain(l);
  Residual plan = save(fatom(args[0])), env = save(fatom(args[2]));
  Atom d = args[1];
  NameId y = l.result;
  adjoint([=, this] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    accumulate(d, item(apply_rule("ad.unbind", dy, {get(plan), get(env)}, true), 0));
  });
}

}  // namespace ouro::ir::grad
