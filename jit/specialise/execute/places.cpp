// Autodiff's places, iterator sources and call plans on abstract values (runtime/autodiff/place.cpp and call.cpp are
// the meaning).
#include <fmt/format.h>

#include "ir/effect.h"
#include "ir/grad/reverse.h"
#include "jit/specialise/specialiser.h"
#include "runtime/autodiff/autodiff.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;

namespace {
AVal number(int64_t i) { return AVal::of(Value::integer(i)); }
}  // namespace

// ---------------------------------------------------------------- places

bool Specialiser::enters_tensor(const ir::PlacePath& path, const Value& globals, const std::vector<AVal>& args) {
  using Root = ir::PlacePath::Root;
  size_t key = path.root == Root::global ? 0 : 1;
  AVal at;
  if (path.root == Root::value) at = args[0];
  if (path.root == Root::cell) at = cell_get(args[0]);
  if (path.root == Root::global) at = global(globals, path.name);
  for (const auto& step : path.steps) {
    if (step.is_item && is_tensor(at)) return true;
    if (&step == &path.steps.back()) return false;
    if (step.is_item ? is_instance(at) || is_instance(args[key]) : load_is_called(at, step.attr)) return false;
    at = step.is_item ? get_item(at, args[key++]) : get_attr(at, step.attr);
  }
  return false;
}

// (base, slot, index, op, old, value) of an update; None when there is nothing to take back.
AVal Specialiser::place_of(const ir::PlacePath& path, const Value& globals, const std::vector<AVal>& args) {
  using Root = ir::PlacePath::Root;
  size_t first = path.root == Root::global ? 0 : 1;
  std::vector<AVal> keys(args.begin() + static_cast<long>(first), args.end() - 1);
  const AVal& value = args.back();
  AVal base = none(), slot = none(), content;
  if (path.root == Root::value) content = args[0];
  if (path.root == Root::cell) base = args[0], slot = number(0), content = cell_get(args[0]);
  if (path.root == Root::global)
    base = AVal::of(globals), slot = AVal::of(session.str(path.name)), content = global(globals, path.name);
  // What is done by a call has its derivative from that; to look here would run its scripts.
  if (path.root == Root::value && path.steps.size() == 1 && path.steps[0].is_item) {
    const Value op = session.str(path.augmented ? intern("op") : Symbol());
    if (update_is_called({content, keys[0], value, AVal::of(op)})) return none();
  }
  std::vector<AVal> index;
  size_t k = 0;
  bool stopped = false;
  for (size_t i = 0; i < path.steps.size() && !stopped; ++i) {
    const auto& step = path.steps[i];
    if (is_tensor(content) && step.is_item) {
      for (; k < keys.size(); ++k) index.push_back(keys[k]);
      break;
    }
    base = content;
    slot = step.is_item ? list_index(content, keys[k]) : AVal::of(session.str(step.attr));
    if (i + 1 == path.steps.size() && !path.augmented) break;
    content = step.is_item ? get_item(content, keys[k]) : get_attr(content, step.attr);
    if (step.is_item) ++k;
  }
  AVal kept = like_of(value), op = none(), old = none();
  if (path.augmented) {
    if (index.empty() && content.is(AKind::ref) && kind_at(content.heap) == AObject::Kind::list) return none();
    op = AVal::of(runtime::make_str(ir::op_name(path.in_place)));
    old = content;
    for (const AVal& i : index) old = get_item(old, i);
    if (path.in_place == prim::add || path.in_place == prim::sub)
      old = like_of(old);
    else
      kept = value;
  }
  return AVal::tuple({base, slot, index.empty() ? none() : AVal::tuple(index), op, old, kept});
}

AVal Specialiser::update_back(const AVal& dy, const AVal& env, const AVal& place) {
  if (is_none(place) || place.is(AKind::kept)) return none();  // kept: a method was called
  const std::vector<AVal> p = items_of(place, "is a place");
  const AVal &base = p[0], &slot = p[1], &index = p[2], &op = p[3], &old = p[4], &value = p[5];
  bool root = is_none(base);
  AVal g = root ? dy : shadow_take(env, base, slot);
  if (cotangent_is_zero(g)) return none();
  AVal part = g;
  std::vector<AVal> keys;
  if (!is_none(index)) keys = items_of(index, "is an index");
  const auto repeats = [&](auto& self, const AVal& key) -> bool {  // may it name a place twice?
    if (is_tensor(key)) return key.type->dtype != DType::boolean;
    if (key.is(AKind::ref) && kind_at(key.heap) == AObject::Kind::list) return true;
    return key.is(AKind::tuple) && std::ranges::any_of(key.items(), [&](const AVal& k) { return self(self, k); });
  };
  for (const AVal& k : keys)
    part = repeats(repeats, k) ? call(concrete_function(runtime::autodiff::find_rule(session, "written")), {part, k})
                               : get_item(part, k);
  AVal d_old = zero(), d_value;
  if (is_none(op)) {
    d_value = fit(part, value);
  } else {
    Value rule = runtime::autodiff::find_rule(session, op.known.as<runtime::Str>()->view());
    if (rule.is_unbound() || rule.is_error()) abandon(Reason::derivative, "an in-place operation without a rule");
    AVal d = call(concrete_function(rule), {part, env, old, value});
    d_old = cotangent_item(d, 0);
    d_value = cotangent_item(d, 1);
  }
  auto with_part = [&](auto& self, const AVal& x, size_t k) -> AVal {  // x with what is left in place of x[keys[k]]...
    if (k == keys.size()) return cotangent_is_zero(d_old) ? AVal::of(Value::floating(0)) : d_old;
    return tensor_store(x, keys[k], self(self, k + 1 < keys.size() ? get_item(x, keys[k]) : x, k + 1));
  };
  g = keys.empty() ? d_old : with_part(with_part, g, 0);
  if (root) return AVal::tuple({g, d_value});
  shadow_put(env, base, slot, g);
  return AVal::tuple({zero(), d_value});
}

// The place that an iterator's last value came from.
AVal Specialiser::iterator_source(const AVal& it) {
  if (!it.is(AKind::ref) || kind_at(it.heap) != AObject::Kind::iterator) return none();
  const AObject o = read(it.heap);
  // Abandons where the place of the value is not followed, or where the interpreter does not differentiate through it.
  auto need_place = [&](bool known) {
    if (!known) abandon(Reason::derivative, "an iterator whose place is not followed");
  };
  auto has_ended = [&](const AObject& iterator) {
    if (iterator.cursor.is(AKind::unbound)) return false;
    auto at = concrete(iterator.cursor);
    need_place(at.has_value());
    return at->is_none();
  };
  auto last = [&] {
    auto at = concrete(o.cursor);
    return number(at && at->is_int() ? at->as_int() - 1 : 0);
  };
  switch (o.iter) {
    case AObject::Iter::list:
      return has_ended(o) ? none() : AVal::tuple({o.source, last()});
    case AObject::Iter::reversed: {
      auto at = concrete(o.cursor);
      need_place(at.has_value());
      return AVal::tuple({o.source, number(at->as_int() + 1)});
    }
    case AObject::Iter::dict: {
      if (has_ended(o)) return none();
      const int64_t at = concrete(o.cursor)->as_int() - concrete(o.step)->as_int();
      const AVal& dict = o.source.items()[0];
      if (at < 0 || at >= static_cast<int64_t>(o.parts.size())) return none();
      const AVal place = AVal::tuple({dict, o.parts[static_cast<size_t>(at)]});
      if (is_view(o.source, ObjectKind::dict_values)) return place;
      need_place(!runtime::autodiff::holds_float(o.parts[static_cast<size_t>(at)].known));
      if (is_view(o.source, ObjectKind::dict_keys)) return none();
      return new_list({none(), place});
    }
    case AObject::Iter::set:
      if (has_ended(o)) return none();
      if (const auto* set = cast_exact<runtime::Set>(read(o.source.heap).concrete)) need_place(!set->of_others);
      return AVal::tuple({o.source, o.parts[static_cast<size_t>(concrete(last())->as_int())]});
    case AObject::Iter::tuple:
      if (o.step.is(AKind::unbound)) return AVal::tuple({it, last()});
      return AVal::tuple({it, number(static_cast<int64_t>(o.source.items().size()) - 1 - concrete(last())->as_int())});
    case AObject::Iter::tensor:
      return AVal::tuple({it, last()});
    case AObject::Iter::zip: {
      std::vector<AVal> sources;
      for (const AVal& part : o.parts) sources.push_back(iterator_source(part));
      return new_list(std::move(sources));
    }
    case AObject::Iter::enumerate:
      return new_list({none(), iterator_source(o.source)});
    default:
      return none();
  }
}

AVal Specialiser::places_of(const AVal& given) {
  const AVal dict = dict_within(given), &container = dict.is(AKind::unbound) ? given : dict;
  if (!container.is(AKind::ref)) return none();
  const AObject o = read(container.heap);
  const bool list = o.kind == AObject::Kind::list;
  if (!list && o.kind != AObject::Kind::dict && o.kind != AObject::Kind::set) return none();
  if (o.poisoned) abandon_torn(o, "a list, dict or set");
  std::vector<AVal> places;
  const std::vector<AVal> keys = list                           ? o.items.items()
                                 : o.kind == AObject::Kind::set ? items_of_set(o)
                                                                : o.keys.items();
  for (size_t i = 0; i < keys.size(); ++i) {
    const AVal& key = keys[i];
    const AVal slot = list ? number(static_cast<int64_t>(i)) : key;
    places.push_back(AVal::tuple({key, AVal::tuple({container, slot})}));
  }
  return AVal::tuple(std::move(places));
}

void Specialiser::feed(const AVal& env, const AVal& place, const AVal& d) {
  if (cotangent_is_zero(d) || is_none(place)) return;
  if (place.is(AKind::tuple)) {
    shadow_add(env, place.items()[0], place.items()[1], d);
  } else if (place.is(AKind::ref) && kind_at(place.heap) == AObject::Kind::list) {
    const std::vector<AVal> parts = read(place.heap).items.items();
    for (size_t i = 0; i < parts.size(); ++i) feed(env, parts[i], cotangent_item(d, static_cast<int64_t>(i)));
  } else {
    abandon(Reason::derivative, "the derivative through this iterator");
  }
}

// ---------------------------------------------------------------- plans of calls

AVal Specialiser::bind_call(const ir::CallSig& sig, const std::vector<AVal>& args) {
  using Kind = ir::CallSig::Kind;
  std::vector<AVal> positional, atoms, targets;
  std::vector<std::pair<Symbol, AVal>> keywords;
  std::vector<int> order;
  auto entry = [](size_t n, const AVal& source, const AVal& keys = none()) {
    return AVal::tuple({number(static_cast<int64_t>(n)), source, keys});
  };
  auto add_positional = [&](const AVal& v) {
    order.push_back(static_cast<int>(positional.size()));
    positional.push_back(v);
  };
  auto add_keyword = [&](Symbol name, const AVal& v) {
    order.push_back(~static_cast<int>(keywords.size()));
    keywords.push_back({name, v});
  };
  for (size_t i = 0; i < sig.args.size(); ++i) {
    const AVal& v = args[i + 1];
    switch (sig.args[i].kind) {
      case Kind::positional:
        add_positional(v), atoms.push_back(entry(1, none()));
        break;
      case Kind::keyword:
        add_keyword(sig.args[i].name, v), atoms.push_back(entry(1, none()));
        break;
      case Kind::star: {
        std::vector<AVal> items = sized_items_of(v, "is spread over arguments");
        for (const AVal& x : items) add_positional(x);
        atoms.push_back(entry(items.size(), v));
        break;
      }
      case Kind::double_star: {
        if (!v.is(AKind::ref) || kind_at(v.heap) != AObject::Kind::dict)
          abandon(Reason::unknown_value, "** of something that is not followed");
        const AObject d = read(v.heap);
        if (d.poisoned) abandon_torn(d, "a dict");
        for (size_t k = 0; k < d.keys.size(); ++k) add_keyword(keyword_name(d.keys[k]), d.items[k]);
        atoms.push_back(entry(d.keys.size(), v, AVal::tuple(d.keys.items())));
      }
    }
  }
  const AVal& form = args[0];
  auto plan = [&] {
    std::vector<AVal> p{AVal::tuple(atoms)};
    p.insert(p.end(), targets.begin(), targets.end());
    return AVal::tuple(std::move(p));
  };
  if (form.is(AKind::closure) && ir::grad::is_forward_form(*form.parts->code)) {
    const ir::Signature& fs = form.parts->code->sig;
    std::vector<AVal> params = bind_arguments(form, positional, keywords);
    params.resize(fs.count());
    int64_t varargs = fs.varargs ? fs.positional : -1, kwonly = fs.positional + (fs.varargs ? 1 : 0),
            varkw = kwonly + fs.kwonly;
    for (int o : order) {
      if (o >= 0) {
        targets.push_back(static_cast<uint32_t>(o) < fs.positional
                              ? number(o)
                              : AVal::tuple({number(varargs), number(o - fs.positional)}));
        continue;
      }
      Symbol name = keywords[static_cast<size_t>(~o)].first;
      int64_t at = -1;
      for (int64_t i = fs.posonly; i < varkw && at < 0; ++i)
        if (i != varargs && fs.names[static_cast<size_t>(i)] == name) at = i;
      targets.push_back(
          at >= 0 ? number(at)
                  : AVal::tuple({params[static_cast<size_t>(varkw)], AVal::of(session.str(name)), number(varkw)}));
    }
    return AVal::tuple({AVal::tuple(std::move(params)), new_dict({}, {}), plan()});
  }
  int64_t n = static_cast<int64_t>(positional.size());
  for (int o : order) targets.push_back(number(o >= 0 ? o : n + ~o));
  std::vector<AVal> names, values;
  for (const auto& [name, v] : keywords) {
    names.push_back(AVal::of(session.str(name)));
    values.push_back(v);
  }
  return AVal::tuple({AVal::tuple(std::move(positional)), new_dict(std::move(names), std::move(values)), plan()});
}

AVal Specialiser::unbind_call(const AVal& plan, const AVal& d, const AVal& env) {
  const std::vector<AVal> p = items_of(plan, "is a plan");
  size_t next = 1;
  auto cotangent_at = [&](const AVal& target) {
    if (is_number(target)) return cotangent_item(d, need_int(target, "is a position"));
    const std::vector<AVal> t = items_of(target, "is a target");
    if (t.size() == 2)
      return cotangent_item(cotangent_item(d, need_int(t[0], "is a position")), need_int(t[1], "is a position"));
    return shadow_take(env, t[0], t[1]);
  };
  std::vector<AVal> result;
  for (const AVal& atom : items_of(p[0], "is a plan")) {
    const std::vector<AVal> a = items_of(atom, "is a plan");
    size_t n = static_cast<size_t>(need_int(a[0], "is a count"));
    const AVal& source = a[1];
    if (is_none(source)) {
      result.push_back(cotangent_at(p[next++]));
      continue;
    }
    if (is_tensor(source)) {
      AVal kept = like_of(source), sum = zero();
      for (size_t i = 0; i < n; ++i)
        sum = cotangent_add_item(sum, cotangent_at(p[next++]), number(static_cast<int64_t>(i)), kept, env);
      result.push_back(sum);
      continue;
    }
    const bool keyed = !is_none(a[2]);
    bool tuple = source.is(AKind::tuple) || source.is(AKind::known);
    std::vector<AVal> keys = keyed ? items_of(a[2], "is a plan") : std::vector<AVal>{}, items;
    for (size_t i = 0; i < n; ++i) {
      AVal v = cotangent_at(p[next++]);
      if (tuple)
        items.push_back(v);
      else
        shadow_add(env, source, keyed ? keys[i] : number(static_cast<int64_t>(i)), v);
    }
    result.push_back(tuple ? AVal::tuple(std::move(items)) : zero());
  }
  return AVal::tuple(std::move(result));
}

}  // namespace ouro::jit
