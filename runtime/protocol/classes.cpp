// Building classes and instances: C3 order (Barrett et al. 1996), layouts of built-in bases, __slots__, __set_name__,
// __init_subclass__, __new__ and __init__.
#include <algorithm>

#include "runtime/object/ops.h"
#include "runtime/object/os_error.h"
#include "runtime/protocol/layout.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "support/small_vec.h"

namespace ouro::runtime {

namespace {

Symbol sym(const char* text) { return intern(text); }

bool merge_mro(Session& s, Type* t) {
  std::vector<std::vector<Type*>> lists;
  std::vector<Type*> direct;
  for (Value& b : t->bases) {
    lists.push_back(b.as<Type>()->mro);
    direct.push_back(b.as<Type>());
  }
  lists.push_back(direct);
  t->mro = {t};
  for (;;) {
    Type* next = nullptr;
    bool left = false;
    for (auto& l : lists) {
      if (l.empty()) continue;
      left = true;
      Type* head = l.front();
      bool in_tail = std::any_of(lists.begin(), lists.end(), [&](auto& o) {
        return o.size() > 1 && std::find(o.begin() + 1, o.end(), head) != o.end();
      });
      if (!in_tail) {
        next = head;
        break;
      }
    }
    if (!left) return true;
    if (!next) {
      std::string names;
      std::vector<Type*> heads;
      for (auto& l : lists)
        if (!l.empty() && std::ranges::find(heads, l.front()) == heads.end()) heads.push_back(l.front());
      for (Type* h : heads) names += (names.empty() ? "" : ", ") + std::string(h->text());
      raise_type_error(s, "Cannot create a consistent method resolution\norder (MRO) for bases %s", names.c_str());
      return false;
    }
    t->mro.push_back(next);
    for (auto& l : lists)
      if (!l.empty() && l.front() == next) l.erase(l.begin());
  }
}

void wrap_implicit(Type* t, const char* name, ObjectKind kind) {
  Value* f = t->names.find(sym(name));
  if (!f || !cast_exact<Function>(*f)) return;
  if (kind == ObjectKind::static_method) {
    auto* x = new_object<StaticMethod>(kind);
    x->function = *f;
    *f = Value::steal(x);
  } else {
    auto* x = new_object<ClassMethod>(kind);
    x->function = *f;
    *f = Value::steal(x);
  }
}

bool call_set_name(Session& s, Type* t) {
  std::vector<std::pair<Symbol, Value>> items;
  for (auto& e : t->names.entries())
    if (e.name && kind_of(e.value) == ObjectKind::instance) items.emplace_back(e.name, e.value);
  for (auto& [name, v] : items) {
    if (find_dunder(s, type_of(s, v), Dunder::set_name_).is_unbound()) continue;
    if (call_dunder(s, v, Dunder::set_name_, {Value::share(t), s.str(name)}).is_error()) {
      Value cause = take_pending(s);
      Value e = make_exception(s, ExcKind::RuntimeError,
                               "Error calling __set_name__ on '" + type_name(s, v) + "' instance '" + name.str() +
                                   "' in '" + std::string(t->text()) + "'");
      e.as<Exception>()->cause = cause;
      e.as<Exception>()->suppress_context = true;
      s.pending = std::move(e);
      return false;
    }
  }
  return true;
}

bool call_init_subclass(Session& s, Type* t, const Args& keywords) {
  for (size_t i = 1; i < t->mro.size(); ++i) {
    const Value* m = own_type_name(s, t->mro[i], dunder_symbol(Dunder::init_subclass_));
    if (!m) continue;
    Value d = *m;
    Value bound = bind_descriptor(s, d, Value(), t);
    return !bound.is_error() && !call(s, bound, Args{{}, keywords.keywords, keywords.names}).is_error();
  }
  return true;
}

}  // namespace

std::string abstract_names(Session& s, Type* t) {
  static const Symbol mark = sym("__isabstractmethod__");
  std::vector<std::string_view> names;
  auto is_abstract = [&](Value v) {
    if (auto* p = cast<Property>(v))
      v = p->get;
    else if (auto* c = cast<ClassMethod>(v))
      v = c->function;
    else if (auto* m = cast<StaticMethod>(v))
      v = m->function;
    Function* f = cast_exact<Function>(v);
    Dict* d = f ? cast<Dict>(f->dict) : nullptr;
    return d && dict_find_symbol(s, d, mark) != nullptr;
  };
  for (Type* m : t->mro)
    for (auto& e : m->names.entries())
      if (e.name && is_abstract(e.value) && is_abstract(type_lookup(s, t, e.name)) &&
          std::find(names.begin(), names.end(), e.name.text()) == names.end())
        names.push_back(e.name.text());
  std::sort(names.begin(), names.end());
  std::string out;
  for (std::string_view n : names) out += (out.empty() ? "" : ", ") + std::string(n);
  return names.size() > 1 ? "s " + out : out.empty() ? out : " " + out;
}

namespace {

bool is_abc(Session& s, Type* t) {
  static const Symbol mark = sym("_abc_impl");
  return !type_lookup(s, t, mark).is_unbound();
}

}  // namespace

Type* metaclass_among(Session& s, Type* given, std::span<const Value> bases) {
  for (const Value& b : bases) {
    if (!cast_exact<Type>(b)) continue;
    Type* of_base = metaclass_of(s, b.as<Type>());
    if (is_subtype(given, of_base)) continue;
    if (!is_subtype(of_base, given)) {
      raise_type_error(s,
                       "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass of the "
                       "metaclasses of all its bases");
      return nullptr;
    }
    given = of_base;
  }
  return given;
}

Value make_class(Session& s, const Value& name, const Value& bases, const Value& ns, const Args& keywords) {
  Type* metaclass = metaclass_among(s, s.type(ObjectKind::type), {bases.as<Tuple>()->begin(), bases.as<Tuple>()->size});
  return metaclass ? make_class_of(s, metaclass, name, bases, ns, keywords) : Value::error();
}

Value make_class_of(Session& s, Type* metaclass, const Value& name, const Value& bases, const Value& ns,
                    const Args& keywords) {
  auto* t = new_object<Type>(ObjectKind::type);
  Value owner = Value::steal(t);
  t->name = unwrap(name);
  t->version = s.next_version++;
  for (Value& d : t->dunders) d = Value::end();
  if (metaclass != s.type(ObjectKind::type)) {
    t->flags |= kFlagMetaclass;
    t->dunders[kMetaclassPlace] = Value::share(metaclass);
  }
  t->ready = true;
  Tuple* b = bases.as<Tuple>();
  for (size_t i = 0; i < b->size; ++i) {
    Type* base = cast_exact<Type>((*b)[i]);
    if (auto* alias = cast_exact<GenericAlias>((*b)[i])) base = cast_exact<Type>(alias->origin);
    if (!base) return raise_type_error(s, "bases must be types");
    for (Value& before : t->bases)
      if (before.as<Type>() == base)
        return raise_type_error(s, "duplicate base class %s", std::string(base->text()).c_str());
    t->bases.push_back(Value::share(base));
  }
  if (t->bases.empty()) t->bases.push_back(Value::share(s.object_type()));
  if (!choose_layout(s, t) || !merge_mro(s, t)) return Value::error();
  Dict* d = ns.as<Dict>();
  size_t pos = 0;
  Value *k, *v;
  while (dict_next(d, pos, k, v))
    if (Str* n = cast<Str>(*k)) t->names.add(str_symbol(n), *v);
  static const Symbol qualname = sym("__qualname__"), doc = sym("__doc__");
  t->qualname = t->name;
  if (Value* q = t->names.find(qualname)) {
    if (!cast<Str>(*q)) return raise_type_error(s, "type __qualname__ must be a str, not %s", type_name(s, *q).c_str());
    t->qualname = unwrap(*q);
    t->names.erase(qualname);
  }
  static const Symbol classcell = intern("__classcell__");
  if (Value* cell = t->names.find(classcell)) {
    if (Cell* c = cast_exact<Cell>(*cell)) c->value = owner;
    t->names.erase(classcell);
  }
  if (!apply_slots(s, t)) return Value::error();
  settle_solid(t);
  add_instance_descriptors(s, t);
  if (!t->names.find(doc)) t->names.add(doc, Value::none());
  wrap_implicit(t, "__init_subclass__", ObjectKind::class_method);
  wrap_implicit(t, "__class_getitem__", ObjectKind::class_method);
  wrap_implicit(t, "__new__", ObjectKind::static_method);
  if (t->names.find(dunder_symbol(Dunder::eq_)) && !t->names.find(dunder_symbol(Dunder::hash_)))
    t->names.add(dunder_symbol(Dunder::hash_), Value::none());
  for (Value& base : t->bases) base.as<Type>()->subclasses.push_back(t);
  t->slots = t->bases[0].as<Type>()->slots;
  for (Value& base : t->bases)
    if (base.as<Type>()->layout != ObjectKind::instance) t->slots = base.as<Type>()->slots;
  auto* root = new Shape;
  root->type = t;
  root->id = s.next_version++;
  t->shape = root;
  t->is_abc = is_abc(s, t);
  type_changed(s, t);
  if (!call_set_name(s, t) || !call_init_subclass(s, t, keywords)) return Value::error();
  return owner;
}

namespace {

// Does CPython's collector know the objects of a class? That decides how their memory is freed.
bool is_collected(const Type* t) {
  static constexpr ObjectKind kWithout[] = {ObjectKind::instance, ObjectKind::boolean, ObjectKind::integer,
                                            ObjectKind::floating, ObjectKind::str,     ObjectKind::bytes,
                                            ObjectKind::bytearray};
  for (; !t->builtin; t = t->base)
    if (t->has_dict || t->solid == t) return true;
  return std::find(std::begin(kWithout), std::end(kWithout), t->layout) == std::end(kWithout);
}

// What a class with another base must have in common with what it was.
bool same_layout(Session& s, const Type* before, const Type* base) {
  const bool same_end = is_collected(base) == is_collected(before);
  if (same_end && same_places(base, before)) return true;
  raise_type_error(s, "__bases__ assignment: '%s' %s differs from '%s'", std::string(base->text()).c_str(),
                   same_end ? "object layout" : "deallocator", std::string(before->text()).c_str());
  return false;
}

// The lines of `t` and all below it; those before are kept for the way back.
bool renew_lines(Session& s, Type* t, std::vector<std::pair<Type*, std::vector<Type*>>>& before) {
  for (Type* of : with_subclasses(t)) {
    before.emplace_back(of, of->mro);
    if (!merge_mro(s, of)) return false;
    settle_solid(of);
  }
  return true;
}

}  // namespace

bool set_bases(Session& s, Type* t, const Value& bases) {
  auto refused = [](const Value& error) { return !error.is_error(); };
  const std::string name(t->text());
  Tuple* given = cast<Tuple>(bases);
  if (bases.is_unbound())
    return refused(raise_type_error(s, "cannot delete '__bases__' attribute of immutable type '%s'", name.c_str()));
  if (!given)
    return refused(raise_type_error(s, "can only assign tuple to %s.__bases__, not %s", name.c_str(),
                                    type_name(s, bases).c_str()));
  if (given->size == 0)
    return refused(raise_type_error(s, "can only assign non-empty tuple to %s.__bases__, not ()", name.c_str()));
  for (Value& v : *given) {
    Type* base = cast_exact<Type>(v);
    if (!base)
      return refused(raise_type_error(s, "%s.__bases__ must be tuple of classes, not '%s'", name.c_str(),
                                      type_name(s, v).c_str()));
    if (is_subtype(base, t)) return refused(raise_type_error(s, "a __bases__ item causes an inheritance cycle"));
  }
  Type* const base = best_base(s, {given->begin(), given->size});
  if (!base || !same_layout(s, t->base, base)) return false;
  for (size_t i = 0; i < given->size; ++i)
    for (size_t k = 0; k < i; ++k)
      if ((*given)[i].same((*given)[k]))
        return refused(
            raise_type_error(s, "duplicate base class %s", std::string((*given)[i].as<Type>()->text()).c_str()));
  std::vector<Value> old(given->begin(), given->end());
  std::swap(old, t->bases);
  Type* const base_before = std::exchange(t->base, base);
  std::vector<std::pair<Type*, std::vector<Type*>>> lines;
  if (!renew_lines(s, t, lines)) {
    std::swap(old, t->bases);
    t->base = base_before;
    for (auto& [of, line] : lines) settle_solid(of);
    for (auto& [of, line] : lines) of->mro = std::move(line);
    return false;
  }
  for (Value& v : old) std::erase(v.as<Type>()->subclasses, t);
  for (Value& v : t->bases) v.as<Type>()->subclasses.push_back(t);
  type_changed(s, t);
  return true;
}

Value new_instance(Session&, Type* t) {
  auto* i = new_object<Instance>(ObjectKind::instance);
  ++t->refs;
  i->type = t;
  i->shape = t->shape;
  return Value::steal(i);
}

namespace {

bool inherits_native(Session& s, Type* t, Dunder d) {
  const Value& m = find_dunder(s, t, d);
  if (Native* n = cast_exact<Native>(m)) return n->owner == s.object_type();
  auto* st = cast_exact<StaticMethod>(m);
  return m.is_unbound() || (st && cast_exact<Native>(st->function));
}

}  // namespace

Value construct_bare(Session& s, Type* t, const Args& args) {
  if (t->is_exception) {
    if (t == exception_type(s, ExcKind::OSError) && args.size() >= 2 && args[0].is_int())
      t = exception_type(s, os_error_kind(static_cast<int>(args[0].bits())));
    Value e = make_exception(s, t, make_tuple(args.positional));
    return e;
  }
  if (is_metaclass(t)) return t->slots->construct(s, t, args);
  if (t->layout == ObjectKind::instance) {
    if (args.size() + args.keywords.size() > 0) {
      bool own_new = !inherits_native(s, t, Dunder::new_), own_init = !inherits_native(s, t, Dunder::init_);
      if (own_new) return raise_type_error(s, "object.__new__() takes exactly one argument (the type to instantiate)");
      if (!own_init) return raise_type_error(s, "%s() takes no arguments", std::string(t->text()).c_str());
    }
    if (t->is_abc) {
      std::string missing = abstract_names(s, t);
      if (!missing.empty())
        return raise_type_error(s, "Can't instantiate abstract class %s with abstract method%s",
                                std::string(t->text()).c_str(), missing.c_str());
    }
    return new_instance(s, t);
  }
  const TypeSlots& slots = *t->slots;
  if (!slots.construct) return raise_type_error(s, "cannot create '%s' instances", std::string(t->text()).c_str());
  Type* base = s.type(t->layout);
  bool later = !t->builtin && slots.init;
  Args given = later ? Args{} : args;
  bool own_init = !t->builtin && !inherits_native(s, t, Dunder::init_);
  if (own_init &&
      (t->layout == ObjectKind::tuple || t->layout == ObjectKind::floating || t->layout == ObjectKind::frozenset))
    given.keywords = given.names = {};  // they are for __init__
  Value native = slots.construct(s, later ? t : base, given);
  if (native.is_error() || t->builtin) return native;
  Value v = new_instance(s, t);
  v.as<Instance>()->native = native;
  return v;
}

Value construct(Session& s, Type* t, const Args& args) {
  if (t->builtin && !t->is_exception) {
    if (t->slots->construct && t->layout != ObjectKind::instance) return t->slots->construct(s, t, args);
    return construct_bare(s, t, args);
  }
  const Value make = find_dunder(s, t, Dunder::new_);
  auto* st = cast_exact<StaticMethod>(make);
  Value v;
  if (st && !cast_exact<Native>(st->function)) {
    SmallVec<Value, 8> all;
    all.push_back(Value::share(t));
    all.append(args.positional.begin(), args.positional.end());
    v = call(s, st->function, Args{{all.data(), all.size()}, args.keywords, args.names});
    if (v.is_error() || !is_a(s, v, t)) return v;
  } else if (!st && !make.is_unbound()) {  // another descriptor
    OURO_TRY(bound, bind_descriptor(s, make, Value(), t));
    SmallVec<Value, 8> all;
    all.push_back(Value::share(t));
    all.append(args.positional.begin(), args.positional.end());
    v = call(s, bound, Args{{all.data(), all.size()}, args.keywords, args.names});
    if (v.is_error() || !is_a(s, v, t)) return v;
  } else {
    v = construct_bare(s, t, args);
    if (v.is_error()) return v;
  }
  t = type_of(s, v);
  Value init = find_dunder(s, t, Dunder::init_);
  if (Native* n = cast_exact<Native>(init); n && n->owner == s.object_type()) {
    bool own_new = st && !cast_exact<Native>(st->function);
    if (args.size() + args.keywords.size() == 0 || own_new || t->layout != ObjectKind::instance) return v;
  }
  SmallVec<Value, 8> all;
  all.push_back(v);
  all.append(args.positional.begin(), args.positional.end());
  Value r;
  if (Native* n = cast_exact<Native>(init); n ? takes_receiver(n) : kind_of(init) == ObjectKind::function) {
    r = call(s, init, Args{{all.data(), all.size()}, args.keywords, args.names});
  } else {
    OURO_TRY(bound, bind_descriptor(s, init, v, t));
    r = call(s, bound, args);
  }
  if (r.is_error()) return r;
  if (!r.is_none()) return raise_type_error(s, "__init__() should return None, not '%s'", type_name(s, r).c_str());
  return v;
}

}  // namespace ouro::runtime
