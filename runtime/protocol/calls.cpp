// Calls of any callable.
#include "runtime/object/bind.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "support/small_vec.h"

namespace ouro::runtime {

namespace {

Value with_first(Session& s, const Value& f, const Value& first, const Args& args) {
  SmallVec<Value, 8> all;
  all.reserve(args.size() + 1);
  all.push_back(first);
  all.append(args.positional.begin(), args.positional.end());
  return call(s, f, Args{{all.data(), all.size()}, args.keywords, args.names});
}

Value call_type(Session& s, Type* t, const Args& args) {
  if (called_by_metaclass(s, t)) {
    Value cls = Value::share(t);
    const Value m = find_dunder(s, metaclass_of(s, t), Dunder::call_);
    if (kind_of(m) == ObjectKind::function) return with_first(s, m, cls, args);
    OURO_TRY(bound, bind_descriptor(s, m, cls, metaclass_of(s, t)));
    return call(s, bound, args);
  }
  if (t == s.type(ObjectKind::type)) return call_type_itself(s, args);
  return construct(s, t, args);
}

}  // namespace

Value call(Session& s, const Value& f, const Args& args) {
  switch (kind_of(f)) {
    case ObjectKind::function:
      return call_function(s, f, args);
    case ObjectKind::native: {
      Value keep = f;
      DepthGuard depth(s, " while calling a Python object");
      return depth.ok() ? call_native(s, f.as<Native>(), args) : Value::error();
    }
    case ObjectKind::bound_method: {
      Value keep = f;
      auto* m = f.as<BoundMethod>();
      if (kind_of(m->function) != ObjectKind::function) {
        DepthGuard depth(s, " while calling a Python object");
        return depth.ok() ? with_first(s, m->function, m->self, args) : Value::error();
      }
      return with_first(s, m->function, m->self, args);
    }
    case ObjectKind::type: {
      Value keep = f;
      DepthGuard depth(s, " while calling a Python object");
      return depth.ok() ? call_type(s, f.as<Type>(), args) : Value::error();
    }
    case ObjectKind::static_method: {
      Value function = f.as<StaticMethod>()->function;
      while (auto* inner = cast_exact<StaticMethod>(function)) function = Value(inner->function);
      return call(s, function, args);
    }
    case ObjectKind::instance:
    case ObjectKind::exception:
    case ObjectKind::opaque: {
      Type* t = type_of(s, f);
      Value m = find_dunder(s, t, Dunder::call_);
      if (m.is_unbound()) break;
      if (Native* n = cast_exact<Native>(m); n ? takes_receiver(n) : kind_of(m) == ObjectKind::function)
        return with_first(s, m, f, args);
      DepthGuard depth(s, " while calling a Python object");  // what __call__ is may be such an object, too
      if (!depth.ok()) return Value::error();
      OURO_TRY(bound, bind_descriptor(s, m, f, t));
      return call(s, bound, args);
    }
    default:
      if (auto c = slots_of(s, f).call) {
        DepthGuard depth(s, " while calling a Python object");
        return depth.ok() ? c(s, f, args) : Value::error();
      }
  }
  return raise_type_error(s, "'%s' object is not callable", type_name(s, f).c_str());
}

Value call(Session& s, const Value& f, std::initializer_list<Value> args) {
  return call(s, f, Args{{args.begin(), args.size()}, {}, {}});
}
Value call(Session& s, const Value& f, std::span<const Value> args) { return call(s, f, Args{args, {}, {}}); }

// The method itself, when calling it with the receiver put first is the same as binding it: then no bound object is
// made.
Value find_method(Session& s, const Value& v, Symbol name) {
  ObjectKind k = kind_of(v);
  if (k == ObjectKind::type || k == ObjectKind::super || k == ObjectKind::module) return Value();
  Type* t = type_of(s, v);
  if (k == ObjectKind::instance || k == ObjectKind::exception) {
    if (t->has_getattribute) return Value();
    Instance* i = v.as<Instance>();
    if (has_own_attribute(s, i, name)) return Value();
  } else if (slots_of(s, v).get_attr) {
    return Value();
  }
  Value m = type_lookup(s, t, name);
  ObjectKind mk = kind_of(m);
  if (mk == ObjectKind::function || (mk == ObjectKind::native && takes_receiver(m.as<Native>()))) return m;
  return Value();
}

Value call_method(Session& s, const Value& v, Symbol name, const Args& args) {
  Value m = find_method(s, v, name);
  if (!m.is_unbound()) return with_first(s, m, v, args);
  OURO_TRY(f, get_attr(s, v, name));
  return call(s, f, args);
}
Value call_method(Session& s, const Value& v, Symbol name, std::initializer_list<Value> args) {
  return call_method(s, v, name, Args{{args.begin(), args.size()}, {}, {}});
}

Value method_before_call(Session& s, const Value& v, Symbol name) {
  return find_method(s, v, name).is_unbound() ? get_attr(s, v, name) : Value();
}

bool is_callable(Session& s, const Value& f) {
  switch (kind_of(f)) {
    case ObjectKind::function:
    case ObjectKind::native:
    case ObjectKind::bound_method:
    case ObjectKind::static_method:
    case ObjectKind::type:
      return true;
    case ObjectKind::instance:
    case ObjectKind::exception:
    case ObjectKind::opaque:
      return !find_dunder(s, type_of(s, f), Dunder::call_).is_unbound();
    default:
      return slots_of(s, f).call != nullptr;
  }
}

Value context_methods(Session& s, const Value& v) {
  if (kProtocolByText) return by_text(s, "manager", {v});
  Type* t = type_of(s, v);
  Value methods[2];
  for (const Dunder d : {Dunder::enter_, Dunder::exit_}) {
    const Value m = find_dunder(s, t, d);
    if (m.is_unbound())
      return raise_type_error(s, "'%s' object does not support the context manager protocol%s", type_name(s, v).c_str(),
                              d == Dunder::exit_ ? " (missed __exit__ method)" : "");
    Value& bound = methods[d == Dunder::exit_];
    bound = bind_descriptor(s, m, v, t);
    if (bound.is_error()) return bound;
  }
  return make_tuple({methods[0], methods[1]});
}

}  // namespace ouro::runtime
