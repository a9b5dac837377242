// Calls of abstract values: argument binding as the interpreter does it, constructors, methods, natives, and the
// fallback to a boxed call when a callee cannot be specialised.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/residual/apart.h"
#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/checkpoint.h"
#include "runtime/protocol/metaclass.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::kind_of;
using runtime::ObjectKind;
using Keywords = std::vector<std::pair<Symbol, AVal>>;

// Arguments → entry parameters. A call that binds wrongly raises: that is the interpreter's to do.
std::vector<AVal> Specialiser::bind_arguments(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords) {
  const ir::Function& fn = *f.parts->code;
  const ir::Signature& sig = fn.sig;
  std::vector<AVal> out(sig.count());
  size_t vararg_at = sig.positional, kwonly_at = sig.positional + (sig.varargs ? 1 : 0),
         varkw_at = kwonly_at + sig.kwonly;
  size_t n = std::min<size_t>(args.size(), sig.positional);
  for (size_t i = 0; i < n; ++i) out[i] = args[i];
  if (args.size() > sig.positional && !sig.varargs)
    abandon(Reason::raises, fmt::format("{}: too many arguments", fn.name.text()));
  if (sig.varargs) out[vararg_at] = AVal::tuple({args.begin() + static_cast<long>(n), args.end()});
  std::vector<AVal> extra_keys, extra_values;
  for (const auto& [name, v] : keywords) {
    bool found = false;
    for (size_t i = 0; i < sig.count(); ++i) {
      bool by_name = (i >= sig.posonly && i < sig.positional) || (i >= kwonly_at && i < varkw_at);
      if (!by_name || sig.names[i] != name) continue;
      if (!out[i].is(AKind::unbound))
        abandon(Reason::raises, fmt::format("{}: argument {} twice", fn.name.text(), name.text()));
      out[i] = v;
      found = true;
    }
    if (found) continue;
    if (!sig.varkw) abandon(Reason::raises, fmt::format("{}: no argument {}", fn.name.text(), name.text()));
    extra_keys.push_back(AVal::of(session.str(name)));
    extra_values.push_back(v);
  }
  if (sig.varkw) out[varkw_at] = new_dict(std::move(extra_keys), std::move(extra_values));
  const auto& defaults = f.parts->defaults;
  for (size_t i = 0; i < sig.positional; ++i) {
    if (!out[i].is(AKind::unbound)) continue;
    size_t from_end = sig.positional - i;
    if (from_end > defaults.size())
      abandon(Reason::raises, fmt::format("{}: argument {} is missing", fn.name.text(), sig.names[i].text()));
    out[i] = defaults[defaults.size() - from_end];
  }
  for (size_t i = kwonly_at; i < varkw_at; ++i) {
    if (!out[i].is(AKind::unbound)) continue;
    for (const auto& [name, v] : f.parts->kwdefaults)
      if (name == sig.names[i]) out[i] = v;
    if (out[i].is(AKind::unbound))
      abandon(Reason::raises, fmt::format("{}: argument {} is missing", fn.name.text(), sig.names[i].text()));
  }
  for (const AVal& c : f.items()) out.push_back(c);
  return out;
}

AVal Specialiser::call_closure(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords) {
  if (AVal pair = apart_->call(f, args, keywords); !pair.is(AKind::unbound)) return pair;
  const Checkpoint before = checkpoint();
  try {
    return exec_function(f.parts->code, bind_arguments(f, args, keywords), f.parts->globals, before.span);
  } catch (const Abandon& a) {
    // The callee stays with the interpreter; it runs as one boxed operation here.
    in_try_ = before.in_try;
    if (a.whole || abandon_symbol_ || !can_box(f, args, keywords)) throw;
    // The text of the protocol is not the unit of that: what it is the meaning of is boxed instead.
    if (!protocol_module_.is_unbound() && f.parts->globals.same(protocol_module_)) throw;
    undo(before);
    AVal out;
    try {
      out = boxed_call(f, args, keywords);
    } catch (const Abandon&) {
      throw a;  // what is made of its arguments has to stay here
    }
    fallbacks_.resize(before.notes);
    if (raising_ > 0) return out;
    fallbacks_.push_back({a.why, a.span.known() ? a.span : before.span, f.parts->code->name, before.span});
    return out;
  }
}

AVal Specialiser::call(const AVal& given, const std::vector<AVal>& args, const Keywords& keywords) {
  need_stack("calls nested too deeply");
  const AVal f = one_side(settle(given));
  switch (f.kind) {
    case AKind::closure:
      return recording_ ? recorded_call(f, args, keywords) : call_closure(f, args, keywords);
    case AKind::bound: {
      std::vector<AVal> all{f.items()[1]};
      all.insert(all.end(), args.begin(), args.end());
      return call(f.items()[0], all, keywords);
    }
    case AKind::known: {
      ObjectKind k = kind_of(f.known);
      if (k == ObjectKind::native) {
        for (const AVal& a : args) one_side(a);
        for (const auto& [name, v] : keywords) one_side(v);
        auto* n = f.known.as<runtime::Native>();
        if (n->self.is_unbound()) return call_native(f, args, keywords);
        std::vector<AVal> all{AVal::of(n->self)};
        all.insert(all.end(), args.begin(), args.end());
        return call_native(f, all, keywords);
      }
      if (k == ObjectKind::type) return call_type(f, args, keywords);
      if (k == ObjectKind::function) return call(concrete_function(f.known), args, keywords);
      if (k == ObjectKind::opaque) return call_opaque(f, args, keywords);
      if (k == ObjectKind::bound_method) {
        auto* m = f.known.as<runtime::BoundMethod>();
        return call(bind(AVal::of(m->function), AVal::of(m->self)), args, keywords);
      }
      break;
    }
    case AKind::ref:
    case AKind::tuple:
      if (is_instance(f)) {
        AVal m = special_method(f, "__call__");
        if (!m.is(AKind::unbound)) return call(m, args, keywords);
      }
      break;
    case AKind::plain_form:
    case AKind::plain_pullback:
      return call_plain(f, args, keywords);
    case AKind::kept:
      return call(f.items()[0], args, keywords);
    case AKind::dynamic:
      if (!f.type) return boxed_call(f, args, keywords);
      break;
    default:
      break;
  }
  abandon(Reason::unknown_value, "a call of something that is not followed");
}

AVal Specialiser::call_method(const AVal& receiver, Symbol name, const std::vector<AVal>& args,
                              const Keywords& keywords) {
  const AVal a = settled(receiver);
  if (keywords.empty() && is_list_method(a, name))
    if (AVal out = list_method(a, name, args); !out.is(AKind::unbound)) return out;
  if (a.is(AKind::dynamic) && !a.type) return boxed_method(a, name, args, keywords);
  return call(get_attr(a, name), args, keywords);
}

// Early where it shows: a property runs, an attribute of the object's own may be another after the arguments. What is
// looked up late is a class's.
AVal Specialiser::method_before_call(const AVal& a, Symbol name) {
  if (is_list_method(a, name)) return {};
  if (a.is(AKind::dynamic) && !a.type) return boxed(prim::method_get, {a}, name.id());
  if (a.is(AKind::closure)) return get_attr(a, name);
  if (!is_instance(a) || (a.is(AKind::ref) && read(a.heap).poisoned)) return {};
  AVal of_class = class_lookup(a, name);
  if (of_class.is(AKind::known) && runtime::cast_exact<runtime::Property>(of_class.known)) return get_attr(a, name);
  const auto* t = class_of_instance(a);
  if (t->has_getattribute || is_instance(of_class)) return get_attr(a, name);
  AVal own = own_attribute(a, name);
  if (own.is(AKind::unbound) && of_class.is(AKind::unbound)) return get_attr(a, name);  // also where it is missing
  return own.is(AKind::poison) ? AVal{} : own;
}

// What the metaclass says a call of the class is.
AVal Specialiser::called_by(const Value& cls) {
  const AVal m = type_attr(Value::share(runtime::metaclass_of(session, cls.as<runtime::Type>())), intern("__call__"));
  if (!m.is(AKind::closure)) abandon(Reason::class_hook, "a class whose metaclass says what a call is");
  return m;
}

// C(args): a new object of a script class, or a conversion of a built-in one.
AVal Specialiser::call_type(const AVal& f, const std::vector<AVal>& args, const Keywords& keywords) {
  auto* t = f.known.as<runtime::Type>();
  if (t->builtin) {
    for (const AVal& a : args) one_side(a);
    return call_builtin_type(f, args, keywords);
  }
  if (runtime::called_by_metaclass(session, t)) {
    std::vector<AVal> all{f};
    all.insert(all.end(), args.begin(), args.end());
    return call(called_by(f.known), all, keywords);
  }
  const bool tuple = t->layout == ObjectKind::tuple, dict = t->layout == ObjectKind::dict;
  if (t->is_exception && raising_ > 0) return boxed_call(f, args, keywords);
  if (t->layout != ObjectKind::instance && !tuple && !dict)
    abandon(Reason::unknown_object, fmt::format("an object of class {}", t->text()));
  if (t->is_abc && !runtime::abstract_names(session, t).empty())
    abandon(Reason::raises, fmt::format("an object of the abstract class {}", t->text()));
  if (has_own_new(f.known)) {
    std::vector<AVal> all{f};
    all.insert(all.end(), args.begin(), args.end());
    return call(protocol_function("construct"), all, keywords);
  }
  makes_object_of(*t);
  AVal self;
  if (tuple) {
    self = new_extension(f.known, args);
  } else if (dict) {
    self = new_extended_dict(f.known);
  } else {
    AObject o;
    o.kind = AObject::Kind::instance;
    o.cls = f.known;
    self = AVal::of_heap(allocate(std::move(o)));
  }
  AVal init = type_attr(f.known, intern("__init__"));
  if (init.is(AKind::closure) || dict) {
    std::vector<AVal> all{self};
    all.insert(all.end(), args.begin(), args.end());
    const AVal given = call(init, all, keywords);
    if (!dict && !(given.is(AKind::known) && given.known.is_none()))
      abandon(Reason::raises, "__init__() should return None");
  } else if ((!args.empty() && !tuple) || !keywords.empty()) {
    abandon(Reason::raises, fmt::format("{}() takes no arguments", t->text()));
  }
  return self;
}

Symbol Specialiser::keyword_name(const AVal& key) {
  auto* text = runtime::cast_exact<runtime::Str>(key.known);
  if (!text) abandon(Reason::raises, "keywords must be strings");
  return runtime::str_symbol(text);
}

AVal Specialiser::exec_call(AFrame& f, const ir::Let& let) {
  const ir::CallSig& sig = f.code->calls[let.attr];
  const ir::Atom* atoms = f.code->args(let);
  AVal loaded;
  if (let.op == prim::call_loaded) loaded = atom_value(f, *atoms++);
  AVal callee = atom_value(f, atoms[0]);
  std::vector<AVal> args;
  Keywords keywords;
  using Kind = ir::CallSig::Kind;
  const size_t n = sig.args.size();
  // In f(*v, k=w, **m), v is asked for its items last.
  const bool late = n > 1 && sig.args[0].kind == Kind::star && sig.args[1].kind >= Kind::keyword;
  const auto spread = [&](const AVal& v) {
    for (AVal& item : sized_items_of(v, "is spread over arguments")) args.push_back(std::move(item));
  };
  for (size_t i = 0; i < n; ++i) {
    AVal v = raw_value(f, atoms[i + 1]);
    if (sig.args[i].kind == Kind::star || sig.args[i].kind == Kind::double_star) one_side(v);
    switch (sig.args[i].kind) {
      case Kind::positional:
        args.push_back(std::move(v));
        break;
      case Kind::star:
        if (!late) spread(v);
        break;
      case Kind::keyword:
        keywords.push_back({sig.args[i].name, std::move(v)});
        break;
      case Kind::double_star: {
        if (is_instance(v)) {
          const AVal all = new_dict({}, {});
          if (merge_mapping(all, v)) v = all;
        }
        if (!v.is(AKind::ref) || kind_at(v.heap) != AObject::Kind::dict)
          abandon(Reason::unknown_value, "** of something that is not followed");
        const AObject o = read(v.heap);
        if (o.poisoned) abandon_torn(o, "a dict");
        for (size_t k = 0; k < o.keys.size(); ++k) {
          const Symbol name = keyword_name(o.keys[k]);
          if (std::ranges::any_of(keywords, [&](const auto& k) { return k.first == name; }))
            abandon(Reason::raises, fmt::format("argument {} twice", name.text()));
          keywords.push_back({name, o.items[k]});
        }
      }
    }
  }
  if (late) spread(atom_value(f, atoms[1]));
  if (let.op != prim::call_method && let.op != prim::call_loaded) return call(callee, args, keywords);
  if (loaded.is(AKind::unbound)) return call_method(callee, sig.method, args, keywords);
  if (callee.is(AKind::dynamic) && !callee.type) return boxed_method(callee, sig.method, args, keywords, &loaded);
  return call(loaded, args, keywords);
}

}  // namespace ouro::jit
