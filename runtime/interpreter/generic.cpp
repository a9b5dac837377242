// Operations that are rare or long: one small function each, found by primitive in a table. Each gets its operands as
// owned values.
#include <algorithm>
#include <array>

#include "ir/prim.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/modules.h"
#include "runtime/interpreter/slow.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/types/sequence.h"
#include "support/diag.h"
#include "support/forever.h"
#include "support/small_vec.h"

namespace ouro::runtime {

namespace {

struct Ctx {
  Session& s;
  Frame& f;
  uint32_t attr;
  Symbol name() const { return Symbol::from_id(attr); }
};
using Fn = Value (*)(Ctx&, Value* a, uint32_t n);

Value ok(bool b) { return b ? Value::none() : Value::error(); }

Value name_error(Session& s, Symbol name, const char* text = "name '%s' is not defined") {
  raise_error(s, ExcKind::NameError, text, name.c_str());
  s.pending.as<Exception>()->extra1 = s.str(name);
  return Value::error();
}

Value get_global(Ctx& c) {
  if (Value* v = c.f.globals->names.find(c.name()); v && !v->is_unbound()) return *v;
  Value v = builtin(c.s, c.name(), c.f.globals->ouro_names);
  return v.is_unbound() ? name_error(c.s, c.name()) : v;
}

Value builtin_get(Ctx& c, Value*, uint32_t) {
  Value v = intrinsic_or_builtin(c.s, c.name());
  return v.is_unbound() ? name_error(c.s, c.name()) : v;
}
// A namespace that a metaclass made may be of a class of its own, which sees to what is put into it.
bool own_namespace(const Value& ns) { return kind_of(ns) != ObjectKind::dict; }
Value class_get(Ctx& c, Value* a, uint32_t) {
  if (own_namespace(a[0])) {
    Value v = get_item(c.s, a[0], c.s.str(c.name()));
    if (!v.is_error() || !pending_is(c.s, ExcKind::KeyError)) return v;
    clear_pending(c.s);
    return get_global(c);
  }
  if (Value* v = dict_find_symbol(c.s, a[0].as<Dict>(), c.name())) return *v;
  return get_global(c);
}
Value class_set(Ctx& c, Value* a, uint32_t) {
  if (own_namespace(a[0])) return ok(set_item(c.s, a[0], c.s.str(c.name()), a[1]));
  return ok(dict_set(c.s, a[0].as<Dict>(), c.s.str(c.name()), a[1]));
}
Value class_del(Ctx& c, Value* a, uint32_t) {
  if (own_namespace(a[0])) {
    if (del_item(c.s, a[0], c.s.str(c.name()))) return Value::none();
    if (!pending_is(c.s, ExcKind::KeyError)) return Value::error();
    clear_pending(c.s);
    return name_error(c.s, c.name());
  }
  int r = dict_delete(c.s, a[0].as<Dict>(), c.s.str(c.name()));
  return r == 1 ? Value::none() : r == 0 ? name_error(c.s, c.name()) : Value::error();
}
// A free variable without value is a NameError, the function's own an UnboundLocalError.
Value cell_get(Ctx& c, Value* a, uint32_t) {
  if (!a[0].as<Cell>()->value.is_unbound()) return a[0].as<Cell>()->value;
  for (const ir::Capture& x : c.f.code->function->captures)
    if (x.name == c.name())
      return name_error(c.s, c.name(),
                        "cannot access free variable '%s' where it is not associated with a value in enclosing scope");
  raise_error(c.s, ExcKind::UnboundLocalError,
              "cannot access local variable '%s' where it is not associated with a value", c.name().c_str());
  c.s.pending.as<Exception>()->extra1 = c.s.str(c.name());
  return Value::error();
}

Value attr_del(Ctx& c, Value* a, uint32_t) { return ok(del_attr(c.s, a[0], c.name())); }
Value item_set(Ctx& c, Value* a, uint32_t) {
  if (kind_of(a[0]) == ObjectKind::tensor)
    return raise_type_error(c.s,
                            "a tensor is a value: only a variable, an attribute or an element can be assigned to, not "
                            "the result of an expression");
  return ok(set_item(c.s, a[0], a[1], a[2]));
}
Value item_del(Ctx& c, Value* a, uint32_t) { return ok(del_item(c.s, a[0], a[1])); }

Value list_extend(Ctx& c, Value* a, uint32_t) {
  List* l = a[0].as<List>();
  Value items = a[1];
  if (kind_of(items) == ObjectKind::range) {  // whether there is room is known at once
    items = list_of(c.s, items);
    if (items.is_error()) return items;
  }
  if (for_each_sized(c.s, items, [&](Value& v) {
        l->push(std::move(v));
        return true;
      }))
    return Value::none();
  ObjectKind k = kind_of(a[1]);
  bool scripted = k == ObjectKind::instance || k == ObjectKind::exception;
  if (pending_is(c.s, ExcKind::TypeError) &&
      (scripted ? find_dunder(c.s, type_of(c.s, a[1]), Dunder::iter_).is_unbound() &&
                      find_dunder(c.s, type_of(c.s, a[1]), Dunder::getitem_).is_unbound()
                : !slots_of(c.s, a[1]).iter && !slots_of(c.s, a[1]).next)) {
    clear_pending(c.s);
    return raise_type_error(c.s, "Value after * must be an iterable, not %s", type_name(c.s, a[1]).c_str());
  }
  return Value::error();
}
Value list_to_tuple(Ctx&, Value* a, uint32_t) {
  List* l = a[0].as<List>();
  return make_tuple(std::span<const Value>(l->items, l->size));
}
Value set_add_(Ctx& c, Value* a, uint32_t) { return ok(set_add(c.s, a[0].as<Set>(), a[1]) >= 0); }
Value set_update_(Ctx& c, Value* a, uint32_t) { return ok(set_update(c.s, a[0].as<Set>(), a[1])); }
Value dict_set_(Ctx& c, Value* a, uint32_t) { return ok(dict_set(c.s, a[0].as<Dict>(), a[1], a[2])); }
Value dict_update(Ctx& c, Value* a, uint32_t) {
  static const Symbol keys = intern("keys");
  if (!cast<Dict>(a[1])) {
    Value k = lookup_attr(c.s, a[1], keys);
    if (k.is_error()) return k;
    if (k.is_unbound()) return raise_type_error(c.s, "'%s' object is not a mapping", type_name(c.s, a[1]).c_str());
  }
  return ok(dict_merge(c.s, a[0].as<Dict>(), a[1]));
}

Value with_methods(Ctx& c, Value* a, uint32_t) { return context_methods(c.s, a[0]); }

// ---------------------------------------------------------------- match

bool is_sequence_kind(ObjectKind k) {
  return k == ObjectKind::list || k == ObjectKind::tuple || k == ObjectKind::range;
}
Value match_sequence(Ctx& c, Value* a, uint32_t) {
  (void)c;
  return Value::boolean(is_sequence_kind(kind_of(unwrap(a[0]))) || kind_of(a[0]) == ObjectKind::tensor);
}
Value match_mapping(Ctx&, Value* a, uint32_t) {
  ObjectKind k = kind_of(unwrap(a[0]));
  return Value::boolean(k == ObjectKind::dict || k == ObjectKind::mapping_proxy);
}
Value match_keys(Ctx& c, Value* a, uint32_t) {
  if (kProtocolByText) return by_text(c.s, "mapping_pattern", {a[0], a[1]});
  Tuple* keys = a[1].as<Tuple>();
  Value out = alloc_tuple(keys->size);
  Dict* d = cast_exact<Dict>(a[0]);
  const Value absent = d ? Value() : make_list({});  // nobody else has it
  for (size_t i = 0; i < keys->size; ++i) {
    for (size_t j = 0; j < i; ++j) {
      int same = equals(c.s, (*keys)[i], (*keys)[j]);
      if (same < 0) return Value::error();
      if (same)
        return raise_value_error(c.s, "mapping pattern checks duplicate key (%s)", repr_text(c.s, (*keys)[i]).c_str());
    }
    static const Symbol get = intern("get");
    Value v = d ? dict_get(c.s, d, (*keys)[i]) : call_method(c.s, a[0], get, {(*keys)[i], absent});
    if (v.is_error()) return v;
    if (v.is_unbound() || is_same(v, absent)) return Value::none();
    (*out.as<Tuple>())[i] = std::move(v);
  }
  return out;
}
Value match_rest(Ctx& c, Value* a, uint32_t) {
  if (kProtocolByText) return by_text(c.s, "mapping_rest", {a[0], a[1]});
  Value out = make_dict();
  if (!dict_merge(c.s, out.as<Dict>(), a[0])) return Value::error();
  Tuple* keys = a[1].as<Tuple>();
  for (size_t i = 0; i < keys->size; ++i)
    if (const int found = dict_delete(c.s, out.as<Dict>(), (*keys)[i]); found <= 0)
      return found < 0 ? Value::error() : raise_key_error(c.s, (*keys)[i]);
  return out;
}

// Built-in classes whose single positional subpattern is the subject itself.
bool matches_itself(ObjectKind k) {
  switch (k) {
    case ObjectKind::boolean:
    case ObjectKind::bytearray:
    case ObjectKind::bytes:
    case ObjectKind::dict:
    case ObjectKind::floating:
    case ObjectKind::frozenset:
    case ObjectKind::integer:
    case ObjectKind::list:
    case ObjectKind::set:
    case ObjectKind::str:
    case ObjectKind::tuple:
      return true;
    default:
      return false;
  }
}
Value match_class(Ctx& c, Value* a, uint32_t) {
  Session& s = c.s;
  if (kProtocolByText)
    return by_text(s, "class_pattern", {a[0], a[1], a[2], Value::integer(static_cast<int64_t>(c.attr))});
  Type* t = cast_exact<Type>(a[1]);
  if (!t) return raise_type_error(s, "called match pattern must be a type");
  int is = is_instance(s, a[0], a[1]);
  if (is < 0) return Value::error();
  if (!is) return Value::none();
  static const Symbol match_args = intern("__match_args__");
  std::vector<Value> out;
  std::vector<Symbol> seen;
  auto attribute = [&](Symbol name) -> int {
    for (Symbol x : seen)
      if (x == name) {
        raise_type_error(s, "%s() got multiple sub-patterns for attribute '%s'", std::string(t->text()).c_str(),
                         name.c_str());
        return -1;
      }
    seen.push_back(name);
    Value v = lookup_attr(s, a[0], name);
    if (v.is_error()) return -1;
    if (v.is_unbound()) return 0;
    out.push_back(std::move(v));
    return 1;
  };
  uint32_t positional = c.attr;
  if (positional) {
    Value names = lookup_attr(s, a[1], match_args);
    if (names.is_error()) return names;
    size_t allowed = 0;
    bool itself = false;
    if (names.is_unbound()) {
      itself = t->is_exception ? false : matches_itself(t->layout);
      allowed = itself;
    } else if (Tuple* tuple = cast_exact<Tuple>(names)) {
      allowed = tuple->size;
    } else {
      return raise_type_error(s, "%s.__match_args__ must be a tuple (got %s)", std::string(t->text()).c_str(),
                              type_name(s, names).c_str());
    }
    if (positional > allowed)
      return raise_type_error(s, "%s() accepts %zu positional sub-pattern%s (%u given)", std::string(t->text()).c_str(),
                              allowed, allowed == 1 ? "" : "s", positional);
    if (itself)
      out.push_back(a[0]);
    else
      for (uint32_t i = 0; i < positional; ++i) {
        Str* name = cast_exact<Str>((*names.as<Tuple>())[i]);
        if (!name)
          return raise_type_error(s, "__match_args__ elements must be strings (got %s)",
                                  type_name(s, (*names.as<Tuple>())[i]).c_str());
        int r = attribute(str_symbol(name));
        if (r <= 0) return r < 0 ? Value::error() : Value::none();
      }
  }
  Tuple* keywords = a[2].as<Tuple>();
  for (size_t i = 0; i < keywords->size; ++i) {
    int r = attribute(str_symbol((*keywords)[i].as<Str>()));
    if (r <= 0) return r < 0 ? Value::error() : Value::none();
  }
  return make_tuple_moved(out);
}
Value length_(Ctx& c, Value* a, uint32_t) {
  int64_t n = length(c.s, a[0]);
  return n < 0 ? Value::error() : Value::integer(n);
}

// ---------------------------------------------------------------- imports

Value import_(Ctx& c, Value*, uint32_t) {
  Symbol name = resolve_relative(c.s, *c.f.globals, c.name());
  return name ? import_top(c.s, name) : Value::error();
}
Value import_as(Ctx& c, Value*, uint32_t) {
  if (Value m = internal_module(c.s, *c.f.globals, c.name()); !m.is_unbound()) return m;
  Symbol name = resolve_relative(c.s, *c.f.globals, c.name());
  return name ? import_module(c.s, name) : Value::error();
}
Value import_from_(Ctx& c, Value* a, uint32_t) { return import_from(c.s, a[0], c.name()); }
Value import_star_(Ctx& c, Value* a, uint32_t) { return ok(import_star(c.s, a[0], *c.f.globals)); }

// By primitive; null: it has an instruction of its own, or is one of reverse mode.
constexpr Fn kFunctions[] = {
#define INTERPRET(form, instr, ...) \
  Fn { __VA_ARGS__ }
#define PRIM(id, text, n, attr, effects, location, interpreter, ...) interpreter,
#include "ir/prims.inc"
#undef INTERPRET
};
Fn function_of(ir::Op op) { return kFunctions[static_cast<uint16_t>(op)]; }

}  // namespace

bool do_generic(Session& s, Frame& f, const Instr& in) {
  Value few[3];
  SmallVec<Value, 4> many;
  Value* args = few;
  Ctx c{s, f, 0};
  Fn fn = nullptr;
  uint32_t n = 0;
  const Code& code = *f.code;
  auto listed = [&](const Site& x) {
    n = x.count;
    if (n > 3) {
      many.resize(n);
      args = many.data();
    }
    for (uint32_t i = 0; i < n; ++i) args[i] = take_operand(f, code.operands[x.first + i]);
    c.attr = x.attr;
  };
  switch (in.op) {
    case I::builtin_get:
    case I::class_get:
    case I::class_del:
    case I::cell_get:
    case I::attr_del: {
      const Site& x = code.sites[static_cast<size_t>(in.b)];
      fn = function_of(x.op);
      listed(x);
      break;
    }
    case I::class_set:
    case I::item_set:
    case I::dict_set:
    case I::generic: {
      const Site& x = code.sites[static_cast<size_t>(in.a)];
      fn = function_of(x.op);
      listed(x);
      break;
    }
    default: {  // two operands in the instruction itself
      static constexpr auto kOfInstr = [] {
        std::array<Fn, static_cast<size_t>(I::count_)> t{};
#define OURO_ENTRY(instr, ...) t[static_cast<size_t>(I::instr)] = Fn{__VA_ARGS__};
#define INTERPRET(form, instr, ...) OURO_ENTRY(instr, ##__VA_ARGS__)
#define PRIM(id, text, n, attr, effects, location, interpreter, ...) interpreter
#include "ir/prims.inc"
#undef INTERPRET
#undef OURO_ENTRY
        return t;
      }();
      fn = kOfInstr[static_cast<size_t>(in.op)];
      args[0] = take_operand(f, {in.a, static_cast<Use>(in.use_a)});
      if (in.op != I::list_to_tuple) args[1] = take_operand(f, {in.b, static_cast<Use>(in.use_b)});
      n = 2;
    }
  }
  if (in.op == I::generic &&
      ir::is_reverse_mode(code.sites[static_cast<size_t>(in.a)].op)) {  // the operations of reverse mode
    const Site& x = code.sites[static_cast<size_t>(in.a)];
    Value r = s.gradient_primitive(s, *code.function, Value::share(f.globals), x.op, x.attr, {args, n});
    if (r.is_error()) return false;
    f.regs[in.dst] = std::move(r);
    return true;
  }
  if (!fn) {
    uint16_t op = in.op == I::generic ? static_cast<uint16_t>(code.sites[static_cast<size_t>(in.a)].op)
                                      : static_cast<uint16_t>(in.op);
    raise_error(s, ExcKind::NotImplementedError, "operation '%s' cannot be interpreted",
                in.op == I::generic ? std::string(ir::kPrims[op].name).c_str() : "?");
    return false;
  }
  Value r = fn(c, args, n);
  if (r.is_error()) return false;
  f.regs[in.dst] = std::move(r);
  return true;
}

// ---------------------------------------------------------------- class statements

// What stands in for bases that are no classes: what their __mro_entries__ gives (PEP 560).
static bool resolve_bases(Session& s, std::vector<Value>& bases) {
  static const Symbol entries = intern("__mro_entries__");
  std::vector<Value> resolved;
  Value given = make_tuple(std::span<const Value>(bases));
  for (Value& base : bases) {
    if (auto* alias = cast_exact<GenericAlias>(base); alias && !alias->origin.is_none()) {
      resolved.push_back(alias->origin);
      continue;
    }
    Value method = cast_exact<Instance>(base) ? lookup_attr(s, base, entries) : Value();
    if (method.is_error()) return false;
    if (method.is_unbound()) {
      resolved.push_back(base);
      continue;
    }
    Value classes = call(s, method, {given});
    if (classes.is_error()) return false;
    Tuple* t = cast_exact<Tuple>(classes);
    if (!t) return !raise_type_error(s, "__mro_entries__ must return a tuple").is_error();
    resolved.insert(resolved.end(), t->begin(), t->end());
  }
  bases.swap(resolved);
  return true;
}

// What makes a class: a metaclass of its own or of its bases, another callable, or nothing out of the ordinary
// (unbound). abc's, which is no class of classes, only gives names to start with, put into `ns`.
static bool find_maker(Session& s, const Value& given, const Value& name, std::span<const Value> bases, Value& maker,
                       Value& ns) {
  static const Symbol prepare = intern("__prepare__");
  Type *type = s.type(ObjectKind::type), *asked = cast_exact<Type>(given);
  if (asked && !is_subtype(asked, type)) {
    if (!own_type_name(s, asked, prepare))
      return !raise_type_error(s, "a metaclass that derives from abc.ABCMeta is not part of Ouro").is_error();
    ns = call(s, get_attr(s, given, prepare), {name});
    return !ns.is_error();
  }
  if (!given.is_unbound() && !asked) {
    maker = given;
    return true;
  }
  Type* found = metaclass_among(s, asked ? asked : type, bases);
  if (found && found != type) maker = Value::share(found);
  return found;
}

// The class that `maker` makes of what stands in the body.
static Value class_by(Session& s, const Value& maker, const Value& body, const Value& name, const Value& given_bases,
                      const Value& bases, const Args& keywords) {
  static const Symbol prepare = intern("__prepare__"), orig_bases = intern("__orig_bases__"),
                      classcell = intern("__classcell__");
  OURO_TRY(start, lookup_attr(s, maker, prepare));
  Value ns = make_dict();
  const Value of_prepare[] = {name, bases};
  if (!start.is_unbound()) ns = call(s, start, Args{of_prepare, keywords.keywords, keywords.names});
  if (ns.is_error()) return ns;
  if (!cast<Dict>(ns) && find_dunder(s, type_of(s, ns), Dunder::getitem_).is_unbound())
    return raise_type_error(s, "%s.__prepare__() must return a mapping, not %s",
                            cast_exact<Type>(maker) ? std::string(maker.as<Type>()->text()).c_str() : "<metaclass>",
                            type_name(s, ns).c_str());
  OURO_TRY(cell, call(s, body, {ns}));
  if (!given_bases.is_unbound() && !set_item(s, ns, s.str(orig_bases), given_bases)) return Value::error();
  if (cast_exact<Cell>(cell) && !set_item(s, ns, s.str(classcell), cell)) return Value::error();
  const Value all[] = {name, bases, ns};
  OURO_TRY(made, call(s, maker, Args{all, keywords.keywords, keywords.names}));
  if (Cell* c = cast_exact<Cell>(cell); c && cast_exact<Type>(made) && c->value.is_unbound())
    return raise_error(s, ExcKind::RuntimeError,
                       "__class__ not set defining '%s' as %s. Was __classcell__ propagated "
                       "to type.__new__?",
                       text_of(s, name).c_str(), repr_text(s, made).c_str());
  return made;
}

bool do_make_class(Session& s, Frame& f, const Instr& in) {
  const Site& x = f.code->sites[static_cast<size_t>(in.a)];
  const ir::CallSig& sig = f.code->function->calls[x.attr];
  const Operand* ops = f.code->operands.data() + x.first;
  Value body = take_operand(f, ops[0]), name = take_operand(f, ops[1]);
  std::vector<Value> bases, keywords, names;
  static const Symbol metaclass = intern("metaclass");
  Value asked, maker, ns;
  for (size_t i = 0; i < sig.args.size(); ++i) {
    Value v = take_operand(f, ops[i + 2]);
    switch (sig.args[i].kind) {
      case ir::CallSig::Kind::positional:
        bases.push_back(std::move(v));
        break;
      case ir::CallSig::Kind::star:
        if (!for_each(s, v, [&](Value& b) {
              bases.push_back(std::move(b));
              return true;
            }))
          return false;
        break;
      case ir::CallSig::Kind::keyword:
        if (sig.args[i].name == metaclass) {
          asked = std::move(v);
          break;
        }
        names.push_back(s.str(sig.args[i].name));
        keywords.push_back(std::move(v));
        break;
      case ir::CallSig::Kind::double_star: {
        Dict* d = cast<Dict>(v);
        size_t pos = 0;
        Value *k, *item;
        while (d && dict_next(d, pos, k, item)) {
          if (cast<Str>(*k) && cast<Str>(*k)->view() == metaclass.text()) {
            asked = *item;
            continue;
          }
          names.push_back(*k), keywords.push_back(*item);
        }
        break;
      }
    }
  }
  std::vector<Value> given = bases;
  if (!resolve_bases(s, bases) || !find_maker(s, asked, name, bases, maker, ns)) return false;
  if (!maker.is_unbound()) {
    const bool other = !std::ranges::equal(given, bases, [](const Value& a, const Value& b) { return a.same(b); });
    Value made = class_by(s, maker, body, name, other ? make_tuple(std::span<const Value>(given)) : Value(),
                          make_tuple(std::span<const Value>(bases)), Args{{}, keywords, names});
    if (made.is_error()) return false;
    f.regs[in.dst] = std::move(made);
    return true;
  }
  if (ns.is_unbound()) ns = make_dict();
  Value cell = call(s, body, {ns});
  if (cell.is_error()) return false;
  static const Symbol orig_bases = intern("__orig_bases__");
  if (!std::ranges::equal(given, bases, [](const Value& a, const Value& b) { return a.same(b); }))
    dict_set_symbol(s, ns.as<Dict>(), orig_bases, make_tuple(std::span<const Value>(given)));
  Value t = make_class(s, name, make_tuple(std::span<const Value>(bases)), ns, Args{{}, keywords, names});
  if (t.is_error()) return false;
  if (Cell* c = cast_exact<Cell>(cell)) c->value = t;
  f.regs[in.dst] = std::move(t);
  return true;
}

}  // namespace ouro::runtime
