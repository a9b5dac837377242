// What becomes of each operation of the language in reverse mode (own_rules.cpp: of reverse mode itself): what the
// forward form does instead, what it keeps, what the pullback does.
//
// A primitive's row says which (ir/prims.inc). `arithmetic` ones have their rule in Ouro (stdlib/grad_rules)
// under the primitive's name; it gets (dy, env, what was kept of the operands...) and gives a tuple of cotangents.
// `plain` ones give bools, text, structure or functions, which have no cotangent. So do tests, but what a script's
// __bool__, __len__, __contains__ or comparison changes on the way has a way back.
#include <algorithm>
#include <iterator>

#include "ir/grad/reverser.h"
#include "support/diag.h"
#include "support/forever.h"

namespace ouro::ir::grad {

// ---- operators ---------------------------------------------------------------------------------------------------

// kept: per operand v (value), l (kind, shape and dtype) or . (nothing).
void Reverse::arithmetic(const Let& l, const char* kept) {
  std::vector<Atom> args = fargs(l);
  Special s = special(op_name(l.op), args);
  bind(l, s.value);
  kept_arithmetic(l, op_name(l.op), s.pair, f_.args(l), l.nargs, kept);
}

void Reverse::kept_arithmetic(const Let& l, std::string_view rule, NameId pair, const Atom* operands, uint32_t n,
                              const char* kept) {
  bool any = false;
  for (uint32_t i = 0; i < n; ++i) any = any || operands[i].is_name();
  if (!any) return;
  std::vector<Residual> residuals;
  bool pair_kept = false;  // one operand carries the pullback where there is one; a constant would be kept for nothing
  for (uint32_t i = 0; i < n; ++i) {
    Atom a = fatom(operands[i]);
    bool last = i + 1 == n;
    if (kept[i] == 'l')
      residuals.push_back(save(like(pair, a))), pair_kept = true;
    else if (!pair_kept && (a.is_name() || last))
      residuals.push_back(save(keep(pair, a))), pair_kept = true;
    else
      residuals.push_back(save(a));
  }
  NameId y = l.result;
  std::vector<Atom> to(operands, operands + n);
  adjoint([=, this, name = std::string(rule)] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    Atom d = apply_rule(name, dy, get_all(residuals), name.starts_with("iop."));
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], item(d, i));
  });
}

// ---- tests ---------------------------------------------------------------------------------------------------------

// Is it the result of a let that gives a bool, or of a comparison, whose result calls nothing as a rule?
bool Reverse::is_flag(Atom a) {
  if (!a.is_name()) return true;
  if (flags_.empty()) {
    constexpr Op kFlags[] = {prim::is,        prim::is_not,         prim::is_end,
                             prim::exc_match, prim::match_sequence, prim::match_mapping};
    flags_.resize(f_.names.size());
    for (const Block& b : f_.blocks)
      for (const Let& l : b.lets)
        if (l.result != NameId::none && (is_test(l.op) || std::ranges::find(kFlags, l.op) != std::end(kFlags)))
          flags_[index(l.result)] = true;
  }
  return flags_[index(a.name())];
}

// A test has no derivative; what the script changes that it asks has.
void Reverse::test_let(const Let& l) {
  const std::vector<Atom> to(f_.args(l), f_.args(l) + l.nargs);
  if (!tests_ || std::ranges::all_of(to, [&](Atom a) { return is_flag(a); })) return plain(l);
  Special s = special(op_name(l.op), fargs(l));
  bind(l, s.value);
  Residual pair = save(s.pair);
  adjoint([=, this] {
    Atom d = call_b(bwd_.let(prim::ad_part, {get(pair)}, 1), {bwd_.zero(), env_}, prim::ad_try_call);
    if (to.size() == 1) return;  // of one operand: an object, whose cotangents are slots
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], item(d, i));
  });
}

// ---- calls -------------------------------------------------------------------------------------------------------

void Reverse::finish_call(const Let& l, NameId pair, uint32_t first, uint32_t count, Op op) {
  NameId y, pullback;
  if (op == prim::ad_try_call) {
    y = fwd_.let(prim::ad_part, {pair}, 0);
    pullback = fwd_.let(prim::ad_part, {pair}, 1);
  } else {
    y = fwd_.let(prim::tuple_get, {pair}, 0);
    pullback = fwd_.let(prim::tuple_get, {pair}, 1);
  }
  bind(l, y);
  Residual r = save(pullback);
  NameId result = l.result;
  std::vector<Atom> to(f_.args(l) + first, f_.args(l) + first + count);
  adjoint([=, this] {
    Atom dy = cotangent(result);
    set_cotangent(result, bwd_.zero());
    Atom d = call_b(get(r), {dy, env_}, op);
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], item(d, i));
  });
}

// May the callee be an object whose items have cotangents? What a module, a class or a file defines is a function.
bool Reverse::may_hold_items(Atom callee) {
  if (!callee.is_name() || f_.derived) return false;
  if (functions_.empty()) {
    constexpr Op kFunctions[] = {prim::global_get, prim::builtin_get, prim::function, prim::import_from,
                                 prim::make_class};
    functions_.resize(f_.names.size());
    for (const Block& b : f_.blocks)
      for (const Let& l : b.lets)
        if (l.result != NameId::none && std::ranges::find(kFunctions, l.op) != std::end(kFunctions))
          functions_[index(l.result)] = true;
  }
  return !functions_[index(callee.name())];
}

// An object that extends tuple and has a __call__ is a value: the method that stands for it in the call gives its
// cotangent back.
void Reverse::call_let(const Let& l) {
  std::vector<Atom> args = fargs(l);
  if (const Atom callee = f_.args(l)[0]; may_hold_items(callee)) {
    const NameId form = fwd_.let(prim::ad_special, {args[0]}, attr("call"));
    const NameId pair = call_f(form, {args[0]}, prim::ad_try_call);
    args[0] = fwd_.let(prim::ad_value, {pair, args[0]}, attr("move"));
    const Residual kept = save(pair);
    adjoint([=, this] {
      const Atom d = call_b(bwd_.let(prim::ad_part, {get(kept)}, 1), {bwd_.zero(), env_}, prim::ad_try_call);
      accumulate(callee, item(d, 0));
    });
  }
  NameId form = fwd_.let(prim::ad_forward, {args[0]});
  const CallSig& sig = f_.calls[l.attr];
  if (!sig.simple()) return bound_call(l, form, {args.begin() + 1, args.end()}, 1);
  NameId pair = call_f(form, {args.begin() + 1, args.end()});
  finish_call(l, pair, 1, l.nargs - 1u, prim::call);
}

void Reverse::method_let(const Let& l) {
  std::vector<Atom> args = fargs(l);
  const CallSig& sig = f_.calls[l.attr];
  NameId form = fwd_.let(prim::ad_method, {args[0]}, sig.method);
  if (!sig.simple()) return bound_call(l, form, args, 0);
  finish_call(l, call_f(form, args), 0, l.nargs, prim::call);
}

// The receiver is the forward form's first argument, whatever it is that is called.
void Reverse::method_get_let(const Let& l) { bind(l, fwd_.let(prim::ad_method, {fatom(f_.args(l)[0])}, l.attr)); }

void Reverse::loaded_let(const Let& l) {
  std::vector<Atom> args = fargs(l);
  NameId form = args[0].name();
  args.erase(args.begin());
  if (!f_.calls[l.attr].simple()) return bound_call(l, form, args, 1);
  finish_call(l, call_f(form, args), 1, l.nargs - 1u, prim::call);
}

void Reverse::try_call_let(const Let& l) {
  std::vector<Atom> args = fargs(l);
  NameId form = fwd_.let(prim::ad_forward, {args[0]});
  NameId pair = call_f(form, {args.begin() + 1, args.end()}, prim::ad_try_call);
  finish_call(l, pair, 1, l.nargs - 1u, prim::ad_try_call);
}

// A call with keywords or stars: the arguments are bound to the forward form's parameters first.
void Reverse::bound_call(const Let& l, NameId form, std::vector<Atom> args, uint32_t first) {
  CallSig sig = f_.calls[l.attr];
  sig.method = {};
  if (args.size() > sig.args.size()) sig.args.insert(sig.args.begin(), CallSig::Arg{});  // the receiver
  std::vector<std::pair<uint32_t, Residual>> drawn;                                      // what is spread
  for (uint32_t i = 0; i < args.size(); ++i) {
    if (sig.args[i].kind != CallSig::Kind::star) continue;
    const Special s = spread(args[i]);
    args[i] = s.value;
    drawn.push_back({i, save(keep(s.pair, fwd_.none()))});
  }
  args.insert(args.begin(), Atom(form));
  NameId bound = fwd_.let_call(prim::ad_bind, args, sig);
  NameId params = fwd_.let(prim::tuple_get, {bound}, 0), rest = fwd_.let(prim::tuple_get, {bound}, 1);
  NameId plan = fwd_.let(prim::tuple_get, {bound}, 2);
  CallSig flat;
  flat.args = {{CallSig::Kind::star, {}}, {CallSig::Kind::double_star, {}}};
  Atom call_args[] = {fwd_.let(prim::ad_flat, {form}), params, rest};
  NameId pair = fwd_.let_call(prim::call, call_args, flat);
  NameId y = fwd_.let(prim::tuple_get, {pair}, 0), pullback = fwd_.let(prim::tuple_get, {pair}, 1);
  bind(l, y);
  Residual rp = save(pullback), rplan = save(plan);
  NameId result = l.result;
  std::vector<Atom> to(f_.args(l) + first, f_.args(l) + l.nargs);
  adjoint([=, this] {
    Atom dy = cotangent(result);
    set_cotangent(result, bwd_.zero());
    NameId d = call_b(get(rp), {dy, env_});
    NameId da = bwd_.let(prim::ad_unbind, {get(rplan), d, env_});
    for (uint32_t i = 0; i < to.size(); ++i)
      if (to[i].is_name()) accumulate(to[i], item(da, i));
    for (const auto& [i, pair] : drawn) taken_apart(to[i], bwd_.zero(), pair);
  });
}

// ---- attributes, items, places -----------------------------------------------------------------------------------

void Reverse::attr_get_let(const Let& l) {
  Atom a = f_.args(l)[0], object = fatom(a), name = name_string(fwd_, l.attr);
  Special s = special("attr.get", {object, name});
  bind(l, s.value);
  Residual r = save(keep(s.pair, object));
  NameId y = l.result;
  adjoint([=, this, symbol = l.attr] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    accumulate(a, item(apply_rule("attr.get", dy, {get(r), name_string(bwd_, symbol)}), 0));
  });
}

void Reverse::attr_set_let(const Let& l) {
  Atom a = f_.args(l)[0], b = f_.args(l)[1], object = fatom(a), name = name_string(fwd_, l.attr);
  Special s = special("attr.set", {object, name, fatom(b)});
  bind(l, s.value);
  Residual r = save(keep(s.pair, object));
  adjoint([=, this, symbol = l.attr] {
    Atom d = apply_rule("attr.set", bwd_.zero(), {get(r), name_string(bwd_, symbol)}, true);
    accumulate(a, item(d, 0));
    accumulate(b, item(d, 2));
  });
}

void Reverse::attr_del_let(const Let& l) {
  Atom a = f_.args(l)[0], object = fatom(a);
  Special s = special("attr.del", {object, name_string(fwd_, l.attr)});
  bind(l, s.value);
  Residual r = save(keep(s.pair, fwd_.none()));
  adjoint([=, this] { accumulate(a, item(apply_rule("attr.del", bwd_.zero(), {get(r)}, true), 0)); });
}

// The cotangent of x in x[i] is added to in place: a loop over a tensor's items stays linear.
void Reverse::item_get_let(const Let& l) {
  Atom a = f_.args(l)[0], b = f_.args(l)[1];
  Special s = special("item.get", fargs(l));
  bind(l, s.value);
  Residual rx = save(like(s.pair, fatom(a))), ri = save(fwd_.let(prim::ad_index, {fatom(a), fatom(b)}));
  NameId y = l.result;
  adjoint([=, this] {
    Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    Atom x = get(rx), i = get(ri);
    Atom d = apply_rule("item.get", dy, {x});  // only of a called method
    accumulate(a, item(d, 0));
    accumulate(b, item(d, 1));
    if (!a.is_name()) {
      bwd_.let(prim::ad_item, {bwd_.zero(), dy, i, x, env_});
      return;
    }
    set_cotangent(a.name(), bwd_.let(prim::ad_item, {cotangent(a.name()), dy, i, x, env_}));
  });
}

void Reverse::item_set_let(const Let& l) {
  Atom a = f_.args(l)[0], b = f_.args(l)[1], c = f_.args(l)[2];
  Special s = special("item.set", fargs(l));
  bind(l, s.value);
  Residual rx = save(keep(s.pair, fatom(a))), ri = save(fwd_.let(prim::ad_index, {fatom(a), fatom(b)}));
  adjoint([=, this] {
    Atom d = apply_rule("item.set", bwd_.zero(), {get(rx), get(ri)}, true);
    accumulate(a, item(d, 0));
    accumulate(b, item(d, 1));
    accumulate(c, item(d, 2));
  });
}

void Reverse::item_del_let(const Let& l) {
  Atom a = f_.args(l)[0], b = f_.args(l)[1];
  NameId i = fwd_.let(prim::ad_index, {fatom(a), fatom(b)});
  Special s = special("item.del", fargs(l));
  bind(l, s.value);
  Residual rx = save(keep(s.pair, fatom(a))), ri = save(i);
  adjoint([=, this] { apply_rule("item.del", bwd_.zero(), {get(rx), get(ri)}, true); });
}

// Only `root[key] = v` and `root[key] op= v` may call methods of a root that is an instance: then the update is that
// call.
void Reverse::update_let(const Let& l) {
  std::vector<Atom> args = fargs(l);
  const PlacePath& path = f_.paths[l.attr];
  NameId place = fwd_.let(prim::ad_place, args, fwd_.add_path(path));
  NameId y = l.result;
  bool global = path.root == PlacePath::Root::global;
  Atom root = global ? Atom() : f_.args(l)[0], value = f_.args(l)[l.nargs - 1];
  bool may_call = path.root == PlacePath::Root::value && path.steps.size() == 1 && path.steps[0].is_item;
  if (!may_call) {
    bind(l, copy(l, args));
    Residual r = save(place);
    adjoint([=, this] {
      Atom dy = cotangent(y);
      set_cotangent(y, bwd_.zero());
      NameId d = bwd_.let(prim::ad_update, {dy, env_, get(r)});
      if (!global) accumulate(root, item(d, 0));
      accumulate(value, item(d, 1));
    });
    return;
  }
  std::vector<Atom> operands{args[0], args[1], args[2], fwd_.string(path.augmented ? op_name(path.in_place) : "")};
  NameId form = fwd_.let(prim::ad_special, operands, attr("update"));
  BlockId called = fwd_.new_block(), plain_update = fwd_.new_block(), join = fwd_.new_block();
  NameId result = fwd_.block_param(join, {}), kept = fwd_.block_param(join, {});
  fwd_.branch(fwd_.let(prim::is, {form, fwd_.none()}), plain_update, called);
  fwd_.seal(plain_update);
  fwd_.switch_to(plain_update);
  fwd_.jump(join, {copy(l, args), place});
  fwd_.seal(called);
  fwd_.switch_to(called);
  NameId pair = call_f(form, operands, prim::call);
  fwd_.jump(join, {args[0], keep(pair, fwd_.none())});
  fwd_.seal(join);
  fwd_.switch_to(join);
  bind(l, result);
  Residual r = save(kept);
  Atom key = f_.args(l)[1];
  adjoint([=, this] {
    Atom dy = cotangent(y), k = get(r);
    set_cotangent(y, bwd_.zero());
    Atom d = apply_rule("update.call", bwd_.zero(), {k}, true);  // None unless a method was called
    accumulate(key, item(d, 1));
    accumulate(value, item(d, 2));
    NameId du = bwd_.let(prim::ad_update, {dy, env_, k});
    accumulate(root, item(du, 0));
    accumulate(value, item(du, 1));
  });
}

// ---- variables that are places, closures -------------------------------------------------------------------------

void Reverse::cell_new_let(const Let& l) {
  plain(l);
  Atom v = f_.args(l)[0];
  if (!v.is_name()) return;
  Residual r = save(map_[index(l.result)]);
  adjoint([=, this] { accumulate(v, bwd_.let(prim::ad_take, {env_, get(r), bwd_.integer(0)})); });
}
void Reverse::cell_get_let(const Let& l) {
  plain(l);
  Residual r = save(fatom(f_.args(l)[0]));
  NameId y = l.result;
  adjoint([=, this] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    bwd_.let(prim::ad_acc, {env_, get(r), bwd_.integer(0), dy});
  });
}
void Reverse::cell_set_let(const Let& l) {
  plain(l);
  Residual r = save(fatom(f_.args(l)[0]));
  Atom v = f_.args(l)[1];
  adjoint([=, this] { accumulate(v, bwd_.let(prim::ad_take, {env_, get(r), bwd_.integer(0)})); });
}
void Reverse::global_get_let(const Let& l) {
  plain(l);
  NameId y = l.result;
  adjoint([=, this, symbol = l.attr] {
    Atom dy = cotangent(y);
    if (is_zero(dy)) return;
    set_cotangent(y, bwd_.zero());
    bwd_.let(prim::ad_acc, {env_, bwd_.let(prim::ad_globals), name_string(bwd_, symbol), dy});
  });
}
void Reverse::global_set_let(const Let& l) {
  plain(l);
  Atom v = f_.args(l)[0];
  adjoint([=, this, symbol = l.attr] {
    accumulate(v, bwd_.let(prim::ad_take, {env_, bwd_.let(prim::ad_globals), name_string(bwd_, symbol)}));
  });
}

// Captures of a closure are slots of the function value; the pullback of its forward form adds there.
void Reverse::function_let(const Let& l) {
  plain(l);
  const Function& code = *f_.constants[l.attr].code;
  std::vector<std::pair<uint32_t, Atom>> values;
  for (uint32_t i = 0; i < code.captures.size(); ++i) {
    Atom a = f_.args(l)[3 + i];
    if (!code.captures[i].cell && a.is_name()) values.push_back({i, a});
  }
  Atom defaults = f_.args(l)[0];
  if (values.empty() && !defaults.is_name() && !f_.args(l)[1].is_name()) return;
  if (defaults.is_name() || f_.args(l)[1].is_name()) {  // its forward form is to bring their cotangents
    const NameId ad = fwd_.let(prim::import_as, std::vector<Atom>{}, attr("_ad"));
    call_f(fwd_.let(prim::attr_get, {ad}, attr("computed_defaults")), {map_[index(l.result)]});
  }
  Residual r = save(map_[index(l.result)]);
  adjoint([=, this] {
    Atom object = get(r);
    for (auto [i, a] : values) accumulate(a, bwd_.let(prim::ad_take, {env_, object, bwd_.integer(i)}));
    if (defaults.is_name()) accumulate(defaults, bwd_.let(prim::ad_take, {env_, object, bwd_.string("defaults")}));
  });
}

// A class body is a function of the namespace: it runs as its forward form, on a dict of its own, which the class is
// then made of. Methods are closures that it makes; what stands in the class has slots in that dict.
void Reverse::make_class_let(const Let& l) {
  std::vector<Atom> args = fargs(l);
  const NameId ad = fwd_.let(prim::import_as, std::vector<Atom>{}, attr("_ad"));
  auto native = [&](std::string_view name) { return fwd_.let(prim::attr_get, {ad}, attr(name)); };
  const NameId names = fwd_.let(prim::dict, std::vector<Atom>{});
  const NameId pair = call_f(fwd_.let(prim::ad_forward, {args[0]}), {names});
  args[0] = call_f(native("namespace_body"), {names, fwd_.let(prim::ad_part, {pair}, 0)});
  const CallSig& sig = f_.calls[l.attr];
  for (size_t i = 0; i < sig.args.size(); ++i)  // what __init_subclass__ does with them is not followed
    if (sig.args[i].kind == CallSig::Kind::keyword && args[i + 2].is_name())
      call_f(native("constant_keyword"), {args[i + 2]});
  const NameId cls = fwd_.let(l.op, args, fwd_.add_call(sig));
  const NameId text = fwd_.let(prim::import_as, std::vector<Atom>{}, attr("ouro.grad_rules"));
  const NameId own = call_f(fwd_.let(prim::attr_get, {text}, attr("names_of_class")), {cls});
  bind(l, cls);
  const Residual back = save(fwd_.let(prim::ad_part, {pair}, 1)), made = save(cls), held = save(own), of = save(names);
  adjoint([=, this] {
    const NameId rules = bwd_.let(prim::import_as, std::vector<Atom>{}, attr("ouro.grad_rules"));
    call_b(bwd_.let(prim::attr_get, {rules}, attr("class_to_names")), {env_, get(made), get(held), get(of)});
    call_b(get(back), {bwd_.zero(), env_});
  });
}

void Reverse::class_set_let(const Let& l) {
  plain(l);
  const Atom v = f_.args(l)[1];
  if (!v.is_name()) return;
  const Residual names = save(fatom(f_.args(l)[0]));
  adjoint([=, this, name = l.attr] {
    accumulate(v, bwd_.let(prim::ad_take, {env_, get(names), name_string(bwd_, name)}));
  });
}

void Reverse::class_get_let(const Let& l) {
  plain(l);
  const Residual names = save(fatom(f_.args(l)[0]));
  const NameId y = l.result;
  adjoint([=, this, name = l.attr] {
    const Atom dy = cotangent(y);
    set_cotangent(y, bwd_.zero());
    if (!is_zero(dy)) bwd_.let(prim::ad_acc, {env_, get(names), name_string(bwd_, name), dy});
  });
}

// ---- the table ---------------------------------------------------------------------------------------------------

struct FormTable {
  static constexpr PrimForm kForms[] = {
#define ARITHMETIC(kept) \
  { Form::arithmetic, kept, nullptr }
#define IDENTITY \
  { Form::identity, "", nullptr }
#define REVERSE(member) \
  { Form::custom, "", &Reverse::member }
#define PLAIN(what) \
  { Form::plain, what, nullptr }
#define UNDIFFERENTIATED(why) \
  { Form::fail, why, nullptr }
#define PRIM(id, text, n, attr, effects, location, interpreter, reverse, ...) reverse,
#include "ir/prims.inc"
#undef ARITHMETIC
#undef IDENTITY
#undef REVERSE
#undef PLAIN
#undef UNDIFFERENTIATED
  };
};

const PrimForm& Reverse::form_of(Op op) { return FormTable::kForms[static_cast<size_t>(op)]; }

void Reverse::forward_let(const Let& l) {
  fwd_.set_span(l.span);
  bwd_.set_span(l.span);
  if (is_tensor_op(l.op) || !flow_.nodes()[node_].returns) return plain(l);
  const PrimForm& form = form_of(l.op);
  size_t before = current_->size();
  switch (form.form) {
    case Form::plain:
      return plain(l);
    case Form::identity: {
      plain(l);
      NameId y = l.result;
      Atom a = f_.args(l)[0];
      adjoint([=, this] {
        Atom dy = cotangent(y);
        set_cotangent(y, bwd_.zero());
        accumulate(a, dy);
      });
      break;
    }
    case Form::fail: {
      plain(l);
      NameId y = l.result;
      adjoint([=, this, op = l.op] {
        Atom dy = cotangent(y);
        if (is_zero(dy)) return;
        set_cotangent(y, bwd_.zero());
        bwd_.let(prim::ad_fail, {dy}, attr(op_name(op)));
      });
      break;
    }
    case Form::arithmetic:
      arithmetic(l, form.text);
      break;
    case Form::custom:
      (this->*form.emit)(l);
      break;
  }
  if (current_->size() > before) {  // what the pullback does for this let points at it
    Adjoint a = std::move(current_->back());
    current_->back() = [this, a = std::move(a), span = l.span] {
      bwd_.set_span(span);
      a();
    };
  }
}

}  // namespace ouro::ir::grad
