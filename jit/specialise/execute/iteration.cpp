// Iterators and sequences: what a loop, an unpacking or a built-in function takes out of lists, ranges, tensors and
// iterators one after another, and how many there are.
#include <fmt/format.h>

#include "ir/grad/generator.h"
#include "jit/specialise/specialiser.h"
#include "runtime/object/ops.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;

// A dict's keys, values or pairs, as the view's type says. It is looked at in each step whether the dict is still what
// it was.
AVal Specialiser::dict_iterator(const AVal& view, bool reversed) {
  check_attributes(view.items()[0].heap);
  if (read(view.items()[0].heap).poisoned) abandon_torn(read(view.items()[0].heap), "a dict");
  AVal it = new_iterator(AObject::Iter::dict, view);
  AObject& o = write(it.heap);
  o.parts = read(view.items()[0].heap).keys.array();
  o.step = AVal::of(Value::integer(reversed ? -1 : 1));
  o.cursor = AVal::of(Value::integer(reversed ? static_cast<int64_t>(o.parts.size()) - 1 : 0));
  return it;
}

AVal Specialiser::view_of(const AVal& dict, ObjectKind kind) {
  if (dict.is(AKind::ref)) check_attributes(dict.heap);
  AVal view = AVal::compound(AKind::view, {dict});
  view.known = Value::share(session.type(kind));
  return view;
}

bool Specialiser::is_view(const AVal& a, ObjectKind kind) const {
  return a.is(AKind::view) && a.known.object() == session.type(kind);
}

AVal Specialiser::view_item(const AVal& view, size_t i) const {
  const AObject& d = read(view.items()[0].heap);
  if (is_view(view, ObjectKind::dict_keys)) return d.keys[i];
  if (is_view(view, ObjectKind::dict_values)) return d.items[i];
  return AVal::tuple({d.keys[i], d.items[i]});
}

AVal Specialiser::make_reversed(const AVal& given) {
  const AVal a = as_dict(given, "__reversed__");
  if (a.is(AKind::view)) return dict_iterator(a, true);
  if (is_instance(a) && !a.extends_tuple()) {
    const AVal own = class_lookup(a, intern("__reversed__"));
    if (own.is(AKind::closure)) return call(own, {a});
    // The interpreter asks for an item when the loop gets there. Here all are asked for at once: a script could see
    // that.
    const auto of_library = [&](std::string_view name) {
      const AVal f = class_lookup(a, intern(name));
      return f.is(AKind::closure) && !is_of_script(f.parts->code->span);
    };
    if (own.is(AKind::unbound) && of_library("__len__") && of_library("__getitem__")) {
      std::vector<AVal> items;
      for (int64_t i = need_int(length(a), "is a length"); i-- > 0;)
        items.push_back(get_item(a, AVal::of(Value::integer(i))));
      return make_iterator(AVal::tuple(std::move(items)));
    }
  }
  if (a.is(AKind::ref)) {
    const AObject& o = read(a.heap);
    if (o.poisoned) abandon_torn(o, "an object");
    if (o.kind == AObject::Kind::dict) return dict_iterator(view_of(a, ObjectKind::dict_keys), true);
    if (o.kind != AObject::Kind::list) abandon(Reason::unknown_object, "reversed() of an object");
    AVal it = new_iterator(AObject::Iter::reversed, a);
    write(it.heap).cursor = AVal::of(Value::integer(static_cast<int64_t>(read(a.heap).items.size()) - 1));
    return it;
  }
  if (a.is(AKind::dynamic) && !is_tensor(a)) abandon(Reason::unknown_value, "reversed() of this value");
  if (a.extends_tuple() && (!class_lookup(a, intern("__reversed__")).is(AKind::unbound) || overrides(a, "__len__") ||
                            overrides(a, "__getitem__")))
    abandon(Reason::unknown_object, "reversed() of an object");
  const std::vector<AVal> items = items_of(a, "is reversed");
  AVal it = make_iterator(AVal::tuple({items.rbegin(), items.rend()}));
  write(it.heap).step = AVal::of(Value::integer(-1));  // its places count from the end: iterator_source
  return it;
}

AVal Specialiser::make_iterator(const AVal& given) {
  const AVal a = as_dict(parts_of_gradient(settled(as_value(given))), "__iter__");
  if (a.is(AKind::view)) return dict_iterator(a, false);
  if (a.is(AKind::ref)) {
    const AObject& o = read(a.heap);
    if (o.kind == AObject::Kind::iterator) return a;
    if (o.poisoned) abandon_torn(o, "an object");
    if (o.kind == AObject::Kind::list) return new_iterator(AObject::Iter::list, a);
    if (o.kind == AObject::Kind::dict) return dict_iterator(view_of(a, ObjectKind::dict_keys), false);
    if (o.kind == AObject::Kind::set) {
      AVal it = new_iterator(AObject::Iter::set, a);
      write(it.heap).parts = items_of_set(read(a.heap));
      return it;
    }
    if (o.kind == AObject::Kind::instance) return by_protocol("iterator", prim::iter, {a}, {a});
    abandon(Reason::unknown_object, "iteration over an object");
  }
  if (a.extends_tuple())
    return overrides(a, "__iter__") ? by_protocol("iterator", prim::iter, {a}, {a})
                                    : new_iterator(AObject::Iter::tuple, items_alone(a));
  if (a.is(AKind::tuple)) return new_iterator(AObject::Iter::tuple, a);
  if (a.is(AKind::range)) {
    AVal it = new_iterator(AObject::Iter::range, a);
    AObject& o = write(it.heap);
    o.cursor = a.items()[0];
    o.stop = a.items()[1];
    o.step = a.items()[2];
    o.stays_loop = a.items().size() > 3;
    return it;
  }
  if (is_tensor(a)) return new_iterator(AObject::Iter::tensor, a);
  if (a.is(AKind::known)) {
    if (auto* r = cast_exact<runtime::Range>(a.known); r && !r->big())
      return make_iterator(AVal::compound(
          AKind::range,
          {AVal::of(Value::integer(r->start)), AVal::of(Value::integer(r->stop)), AVal::of(Value::integer(r->step))}));
    return new_iterator(AObject::Iter::tuple, AVal::tuple(items_of(a, "is iterated")));
  }
  if (set_outside(a, /*in_order=*/true)) {
    AVal it = new_iterator(AObject::Iter::tuple, AVal::tuple(items_of(a, "is iterated")));
    write(it.heap).node = a.node;
    return it;
  }
  if (a.is(AKind::dynamic) && !a.type) return boxed(prim::iter, {a});
  abandon(Reason::unknown_value, "iteration over this value");
}

// Does an iterator go from one known item to the next, so that where it stands must be known?
bool Specialiser::over_structure(const AVal& it) const {
  if (!it.is(AKind::ref) || kind_at(it.heap) != AObject::Kind::iterator) return false;
  const AObject& o = read(it.heap);
  if (o.iter == AObject::Iter::enumerate) return over_structure(o.source);
  return o.iter != AObject::Iter::range && o.iter != AObject::Iter::none;
}

// A generator expression is an object and a function that takes one step, as in differentiated code
// (ir/grad/generator.h). The interpreter has another object for it, so it never leaves the program. So are functions
// with yield. Those of scripts may stand for anything, a walk over parameters or all batches of a training: they are
// followed as long as little is done for what they give, else the interpreter's (specialise.cpp).
AVal Specialiser::make_generator(const ir::FunctionRef& code, std::vector<AVal> params, const Value& globals,
                                 Span call_site) {
  const bool ends =
      std::ranges::any_of(code->blocks, [](const ir::Block& b) { return b.handler; });  // when it is dropped
  const bool expression = code->kind == ir::Function::Kind::generator;
  if (!expression && (ends || (is_of_script(code->span) && !request_.generators)))
    abandon(Reason::language, fmt::format("generator {}", code->name.text()));
  if (!expression && is_of_script(code->span)) {
    if (!result_->generators) before_generators_ = this->code.size();
    result_->generators = true;
  }
  ir::FunctionRef& steps = generators_[code.get()];
  if (!steps) steps = ir::grad::as_plain_steps(*code);
  if (!steps)
    abandon(Reason::language, fmt::format("generator {}, which uses what `yield from` gives", code->name.text()));
  return new_iterator(AObject::Iter::generator, exec_function(steps, std::move(params), globals, call_site));
}

AVal Specialiser::next_of_generator(const AVal& object) {
  static const Symbol at = intern("at"), step = intern("step");
  constexpr int64_t kRunning = -2;        // grad_rules.generator
  constexpr size_t kMostSteps = 2'048;    // of a program: each is written out
  constexpr size_t kMostWritten = 16384;  // operations, where scripts' generators are
  const auto place = [&] {
    const auto n = concrete(own_attribute(object, at));
    if (!n || n->as_int() == kRunning)
      abandon(Reason::computed_length, "a generator expression whose next value depends on data");
    return n->as_int();
  };
  const int64_t before = place();
  if (before < 0) return AVal::marker(AKind::end);
  if (++generator_steps_ > kMostSteps)
    abandon(Reason::too_large, fmt::format("generators of more than {} values", kMostSteps));
  if (result_->generators && code.size() - before_generators_ > kMostWritten)
    abandon(Reason::too_large, "much is done for what generators give");
  store_slot(object.heap, at, AVal::of(Value::integer(kRunning)));
  const AVal none = AVal::of(Value::none());
  const size_t notes = fallbacks_.size();
  struct Stepping {
    int& depth;
    explicit Stepping(int& depth) : depth(depth) { ++depth; }
    ~Stepping() { --depth; }
  } stepping(in_generators_);
  const AVal given = call(own_attribute(object, step), {object, AVal::of(Value::integer(before)), none, none});
  if (result_->generators) need_no_stop_inside(notes);
  return place() < 0 ? AVal::marker(AKind::end) : given;
}

AVal Specialiser::next(const AVal& it) {
  if (it.is(AKind::dynamic) && !it.type) return boxed(prim::iter_next, {it});
  if (is_instance(it) && class_lookup(it, intern("__next__")).is(AKind::closure)) return next_of_object(it);
  const NoStop no_stop(*this);  // what it calls
  if (!it.is(AKind::ref) || kind_at(it.heap) != AObject::Kind::iterator)
    abandon(Reason::unknown_value, "next of this value");
  if (read(it.heap).poisoned) abandon_torn(read(it.heap), "an iterator");
  AVal zero = AVal::of(Value::integer(0));
  const auto place = [&](const AVal& cursor, std::string_view over) {
    const auto i = concrete(cursor);
    if (!i) abandon(Reason::computed_length, fmt::format("a loop over a {} whose length is not followed", over));
    return *i;
  };
  switch (read(it.heap).iter) {
    case AObject::Iter::generator:
      return next_of_generator(AVal(read(it.heap).source));
    case AObject::Iter::list:
    case AObject::Iter::tuple: {
      if (read(it.heap).node != kNoNode && effects_.unknown)
        abandon(Reason::interpreter_changed, "a set that may have been changed in a loop over it");
      AVal at = read(it.heap).cursor.is(AKind::unbound) ? zero : read(it.heap).cursor;
      const Value i = place(at, "list");
      if (i.is_none()) return AVal::marker(AKind::end);
      const AVal& source = read(it.heap).source;
      if (source.is(AKind::ref) && read(source.heap).poisoned) abandon_torn(read(source.heap), "a list");
      const bool list = source.is(AKind::ref);
      const size_t n = list ? read(source.heap).items.size() : source.items().size();
      if (i.as_int() >= static_cast<int64_t>(n)) {
        write(it.heap).cursor = AVal::of(Value::none());  // it has ended, also if the list grows
        return AVal::marker(AKind::end);
      }
      const auto k = static_cast<size_t>(i.as_int());
      AVal v = list ? read(source.heap).items[k] : source.items()[k];
      if (v.is(AKind::poison)) abandon_parted(v, "an item that differs between branches");
      write(it.heap).cursor = AVal::of(Value::integer(i.as_int() + 1));
      return v;
    }
    case AObject::Iter::reversed: {
      const AVal source = read(it.heap).source;
      const Value i = place(read(it.heap).cursor, "list");
      if (read(source.heap).poisoned) abandon_torn(read(source.heap), "a list");
      const PersistentArray<AVal>& items = read(source.heap).items;
      const int64_t at = i.as_int();
      write(it.heap).cursor =
          AVal::of(Value::integer(at < 0 || at >= static_cast<int64_t>(items.size()) ? -1 : at - 1));
      if (at < 0 || at >= static_cast<int64_t>(items.size())) return AVal::marker(AKind::end);
      if (items[static_cast<size_t>(at)].is(AKind::poison))
        abandon_parted(items[static_cast<size_t>(at)], "an item that differs between branches");
      return items[static_cast<size_t>(at)];
    }
    case AObject::Iter::dict: {
      const AVal view = read(it.heap).source;
      const Value i = place(read(it.heap).cursor, "dict");
      if (i.is_none()) return AVal::marker(AKind::end);  // it has ended
      const AObject& d = read(view.items()[0].heap);
      if (d.poisoned) abandon_torn(d, "a dict");
      if (d.keys.size() != read(it.heap).parts.size())
        abandon(Reason::raises, "a dict that changes its size in a loop over it");
      const int64_t at = i.as_int();
      if (at < 0 || at >= static_cast<int64_t>(d.keys.size())) {
        write(it.heap).cursor = AVal::of(Value::none());
        return AVal::marker(AKind::end);
      }
      const auto k = static_cast<size_t>(at);
      if (!same(d.keys[k], read(it.heap).parts[k]))
        abandon(Reason::raises, "a dict whose keys change in a loop over it");
      AVal v = view_item(view, k);
      if (v.is(AKind::poison) || d.items[k].is(AKind::poison))
        abandon_parted(d.items[k], "an item that differs between branches");
      write(it.heap).cursor = AVal::of(Value::integer(at + read(it.heap).step.known.as_int()));
      return v;
    }
    case AObject::Iter::set: {
      const AVal at = read(it.heap).cursor.is(AKind::unbound) ? zero : read(it.heap).cursor;
      const Value i = place(at, "set");
      if (i.is_none()) return AVal::marker(AKind::end);
      const AObject& set = read(read(it.heap).source.heap);
      const PersistentArray<AVal> items = read(it.heap).parts;
      if (set.poisoned) abandon_torn(set, "a set");
      if (set.keys.size() != items.size()) abandon(Reason::raises, "a set that changes its size in a loop over it");
      const auto k = static_cast<size_t>(i.as_int());
      const bool ended = k >= items.size();
      if (!ended && key_position(set.keys, items[k].known) < 0)
        abandon(Reason::raises, "a set whose items change in a loop over it");
      write(it.heap).cursor = ended ? AVal::of(Value::none()) : AVal::of(Value::integer(i.as_int() + 1));
      return ended ? AVal::marker(AKind::end) : items[k];
    }
    case AObject::Iter::range: {
      AVal cursor = read(it.heap).cursor, stop = read(it.heap).stop, step = read(it.heap).step;
      int64_t by = need_int(step, "is a range's step");
      if (by == 0) abandon(Reason::raises, "range with step 0");
      AVal done = compare(by > 0 ? prim::ge : prim::le, cursor, stop);
      if (auto known = concrete(done)) {
        if (known->as_bool()) return AVal::marker(AKind::end);
        write(it.heap).cursor = binary(prim::add, cursor, step);
        return cursor;
      }
      write(it.heap).cursor = binary(prim::add, cursor, step);
      AVal out = AVal::compound(AKind::maybe_end, {cursor});
      out.atom = done.atom;
      return out;
    }
    case AObject::Iter::zip: {
      std::vector<AVal> items;
      std::vector<AVal> parts = read(it.heap).parts.items();
      if (parts.empty()) return AVal::marker(AKind::end);
      for (const AVal& p : parts) {
        AVal v = next(p);
        if (v.is(AKind::end)) return v;
        if (v.is(AKind::maybe_end) || v.is(AKind::dynamic)) {
          if (v.is(AKind::maybe_end)) abandon(Reason::computed_length, "zip with a computed length");
        }
        items.push_back(std::move(v));
      }
      return AVal::tuple(std::move(items));
    }
    case AObject::Iter::enumerate: {
      AVal v = next(read(it.heap).source);
      if (v.is(AKind::end)) return v;
      AVal n = read(it.heap).cursor;
      write(it.heap).cursor = binary(prim::add, n, AVal::of(Value::integer(1)));
      if (v.is(AKind::maybe_end)) {
        AVal out = AVal::compound(AKind::maybe_end, {AVal::tuple({n, v.items()[0]})});
        out.atom = v.atom;
        return out;
      }
      return AVal::tuple({n, v});
    }
    case AObject::Iter::map: {
      std::vector<AVal> parts = read(it.heap).parts.items(), items;
      for (size_t i = 1; i < parts.size(); ++i) {
        AVal v = next(parts[i]);
        if (v.is(AKind::end)) return v;
        if (v.is(AKind::maybe_end)) abandon(Reason::computed_length, "map with a computed length");
        items.push_back(std::move(v));
      }
      return call(parts[0], items);
    }
    case AObject::Iter::tensor: {
      AVal at = read(it.heap).cursor.is(AKind::unbound) ? zero : read(it.heap).cursor;
      const AVal source = read(it.heap).source;
      if (source.type->rank() == 0) abandon(Reason::raises, "iteration over a 0-d tensor");
      auto i = concrete(at);
      if (!i || !source.type->dims[0].known())
        abandon(Reason::computed_length, "a loop over a tensor of computed length");
      if (i->as_int() >= source.type->dims[0].c) return AVal::marker(AKind::end);
      write(it.heap).cursor = AVal::of(Value::integer(i->as_int() + 1));
      return tensor_index(source, at);
    }
    default:
      abandon(Reason::unknown_value, "next of this iterator");
  }
}

std::vector<AVal> Specialiser::items_of(const AVal& given, std::string_view what) {
  const AVal a = as_dict(settled(as_value(given)), "__iter__");
  if (a.extends_tuple() && overrides(a, "__iter__")) return items_from(make_iterator(a), what);
  if (a.is(AKind::tuple)) return a.items();
  if (a.is(AKind::ref) && !read(a.heap).poisoned) {
    if (kind_at(a.heap) == AObject::Kind::list) return read(a.heap).items.items();
    if (kind_at(a.heap) == AObject::Kind::dict) return read(a.heap).keys.items();
    if (kind_at(a.heap) == AObject::Kind::set) return items_of_set(read(a.heap));
  }
  if (a.is(AKind::view)) {
    check_attributes(a.items()[0].heap);
    const AObject& d = read(a.items()[0].heap);
    if (d.poisoned) abandon_torn(d, "a dict");
    std::vector<AVal> out;
    for (size_t i = 0; i < d.keys.size(); ++i) out.push_back(view_item(a, i));
    return out;
  }
  if (const auto* set = set_outside(a, /*in_order=*/true)) {
    std::vector<AVal> out;
    Value* key = nullptr;
    for (size_t at = 0; runtime::set_next(set, at, key);) out.push_back(AVal::of(*key));
    return out;
  }
  if (a.is(AKind::known)) {
    std::vector<AVal> out;
    ObjectKind k = kind_of(a.known);
    if (k == ObjectKind::tuple || k == ObjectKind::range || k == ObjectKind::str || k == ObjectKind::bytes ||
        k == ObjectKind::frozenset) {
      int64_t n = runtime::length(session, a.known);
      if (n > 100000) abandon(Reason::too_large, "a long sequence");
      bool ok = runtime::for_each(session, a.known, [&](Value& v) {
        out.push_back(AVal::of(v));
        return true;
      });
      if (!ok) abandon_raises();
      return out;
    }
  }
  if (a.is(AKind::ref) || a.is(AKind::range) || is_tensor(a)) return items_from(make_iterator(a), what);
  abandon(Reason::unknown_value, fmt::format("a value that {} is not followed", what));
}

std::vector<AVal> Specialiser::items_from(const AVal& iterator, std::string_view what) {
  std::vector<AVal> out;
  each_item_from(iterator, what, [&](const AVal& v) {
    out.push_back(v);
    return true;
  });
  return out;
}

void Specialiser::each_item(const AVal& a, std::string_view what, const std::function<bool(const AVal&)>& f) {
  const auto steps = [&] {
    const AObject::Kind k = kind_at(a.heap);
    return k == AObject::Kind::iterator || k == AObject::Kind::list || k == AObject::Kind::dict ||
           k == AObject::Kind::instance;
  };
  if (!a.is(AKind::view) && !(a.is(AKind::ref) && steps())) {
    for (const AVal& v : items_of(a, what))
      if (!f(v)) return;
    return;
  }
  each_item_from(make_iterator(a), what, f);
}

void Specialiser::each_item_from(const AVal& iterator, std::string_view what,
                                 const std::function<bool(const AVal&)>& f) {
  if (iterator.is(AKind::dynamic))
    abandon(Reason::computed_length, fmt::format("a sequence of computed length {}", what));
  for (size_t n = 0;; ++n) {
    const AVal v = next(iterator);
    if (v.is(AKind::end)) return;
    if (v.is(AKind::maybe_end) || n > 100000)
      abandon(Reason::computed_length, fmt::format("a sequence of computed length {}", what));
    if (!f(v)) return;
  }
}

AVal Specialiser::sized_iterator(const AVal& instance) {
  AVal it = make_iterator(instance);
  call(protocol_function("length_hint"), {instance});
  return it;
}

std::vector<AVal> Specialiser::sized_items_of(const AVal& given, std::string_view what) {
  const AVal a = settled(given);
  const bool by_script =
      is_instance(a) && !(a.extends_tuple() && !overrides(a, "__iter__") && !overrides(a, "__len__"));
  return by_script ? items_from(sized_iterator(a), what) : items_of(a, what);
}

// Puts the items of a dict, or of what has keys(), into a dict; false: `from` is no mapping.
bool Specialiser::merge_mapping(const AVal& dict, const AVal& given) {
  const AVal asked = settled(given), from = as_dict(asked, "__iter__");  // else its keys() and items are asked for
  if (from.is(AKind::dynamic) && !from.type) abandon(Reason::container, "a mapping that is not followed");
  if (from.is(AKind::ref) && kind_at(from.heap) == AObject::Kind::dict) {
    if (read(from.heap).poisoned) abandon_torn(read(from.heap), "a dict");
    check_attributes(from.heap);
    const AObject o = read(from.heap);
    for (size_t i = 0; i < o.keys.size(); ++i) set_item(dict, o.keys[i], o.items[i]);
    return true;
  }
  if (!is_instance(from) || lookup_attr(from, intern("keys")).is(AKind::unbound)) return false;
  each_item(call_method(from, intern("keys"), {}), "are keys", [&](const AVal& key) {
    set_item(dict, key, get_item(from, key));
    return true;
  });
  return true;
}

AVal Specialiser::length(const AVal& given) {
  const AVal a = as_dict(parts_of_gradient(settled(as_value(given))), "__len__");
  if (auto v = concrete(a)) {
    int64_t n = runtime::length(session, *v);
    if (n < 0) {
      abandon_raises();
    }
    return AVal::of(Value::integer(n));
  }
  if (is_tensor(a)) {
    if (a.type->rank() == 0) abandon(Reason::raises, "len() of a 0-d tensor");
    return size(a.type->dims[0]);
  }
  if (is_instance(a) && !(a.extends_tuple() && !overrides(a, "__len__")))
    return by_protocol("length", prim::length, {a}, {a});
  if (a.is(AKind::ref) && !read(a.heap).poisoned) {
    const AObject& o = read(a.heap);
    if (o.kind == AObject::Kind::set || o.kind == AObject::Kind::dict)
      return AVal::of(Value::integer(static_cast<int64_t>(o.keys.size())));
    if (o.kind == AObject::Kind::list) return AVal::of(Value::integer(static_cast<int64_t>(o.items.size())));
  }
  if (a.is(AKind::tuple)) return AVal::of(Value::integer(static_cast<int64_t>(a.items().size())));
  if (const auto* set = set_outside(a)) return AVal::of(Value::integer(static_cast<int64_t>(set->used)));
  if (a.is(AKind::dynamic) && !a.type) return boxed(prim::length, {a}, 0, ir::types::integer());
  return AVal::of(Value::integer(static_cast<int64_t>(items_of(a, "is measured").size())));
}

}  // namespace ouro::jit
