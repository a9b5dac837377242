// Calls with keywords and stars. The arguments are bound to the forward form's entry parameters once; a *plan*
// remembers where each went, so that cotangents of parameters come back as cotangents of arguments.
//
// A plan is the tuple (atoms, target...): per argument that was handed over, in order, its target; `atoms` has one
// entry per argument of the call: how many targets it has and, for stars, the list or dict that they came from. A
// target is an int p (entry parameter p), a pair (p, i): item i of the tuple of parameter p, or a triple (dict, name,
// p): an entry of the keyword dict.
#include <algorithm>

#include "ir/grad/reverse.h"
#include "runtime/autodiff/state.h"
#include "runtime/object/bind.h"

namespace ouro::runtime::autodiff {
namespace {

struct Given {
  std::vector<Value> positional, keywords, names;
  std::vector<Value> atoms;    // (count, source or None)
  std::vector<Value> targets;  // filled by `aim`
  std::vector<int> order;      // of each argument: >= 0 positional, < 0 ~keyword, in the order of the atoms
};

// How many arguments an expression gave, what it spread for them, and the keys that a dict had then.
Value atom_entry(size_t count, const Value& source, const Value& keys = Value::none()) {
  return make_tuple({Value::integer(static_cast<int64_t>(count)), source, keys});
}

bool collect(Session& s, const ir::CallSig& sig, std::span<const Value> args, Given& g) {
  using Kind = ir::CallSig::Kind;
  auto positional = [&](const Value& v) {
    g.order.push_back(static_cast<int>(g.positional.size()));
    g.positional.push_back(v);
  };
  auto keyword = [&](const Value& name, const Value& v) {
    g.order.push_back(~static_cast<int>(g.keywords.size()));
    g.names.push_back(name);
    g.keywords.push_back(v);
  };
  for (size_t i = 0; i < sig.args.size(); ++i) {
    const Value& v = args[i];
    switch (sig.args[i].kind) {
      case Kind::positional:
        positional(v), g.atoms.push_back(atom_entry(1, Value::none()));
        break;
      case Kind::keyword:
        keyword(s.str(sig.args[i].name), v), g.atoms.push_back(atom_entry(1, Value::none()));
        break;
      case Kind::star: {
        Value items = tuple_of(s, v);
        if (items.is_error()) return false;
        for (const Value& x : *items.as<Tuple>()) positional(x);
        g.atoms.push_back(atom_entry(items.as<Tuple>()->size, v));
        break;
      }
      case Kind::double_star: {
        Value dict = v;
        if (!cast<Dict>(v)) {
          dict = make_dict();
          if (!dict_merge(s, dict.as<Dict>(), v)) return false;
          size_t at = 0;
          for (Value *name, *held; dict_next(dict.as<Dict>(), at, name, held);)
            if (active(s, *held)) {
              raise_type_error(s, "cannot differentiate through a call with ** of a '%s' yet: take dict() of it first",
                               type_name(s, v).c_str());
              return false;
            }
        }
        size_t pos = 0;
        Value *k, *x;
        std::vector<Value> keys;
        while (dict_next(cast<Dict>(dict), pos, k, x)) keyword(*k, *x), keys.push_back(*k);
        g.atoms.push_back(atom_entry(keys.size(), dict, make_tuple(std::span<const Value>(keys))));
        break;
      }
    }
  }
  return true;
}

// Where each argument goes among the entry parameters of a derived function.
void aim(const ir::Signature& sig, Given& g, Tuple* params) {
  int64_t varargs = sig.varargs ? sig.positional : -1;
  int64_t kwonly = sig.positional + (sig.varargs ? 1 : 0), varkw = kwonly + sig.kwonly;
  for (int o : g.order) {
    if (o >= 0) {
      if (static_cast<uint32_t>(o) < sig.positional)
        g.targets.push_back(Value::integer(o));
      else
        g.targets.push_back(make_tuple({Value::integer(varargs), Value::integer(o - sig.positional)}));
      continue;
    }
    const Value& name = g.names[static_cast<size_t>(~o)];
    Symbol symbol = str_symbol(name.as<Str>());
    int64_t at = -1;
    for (int64_t i = sig.posonly; i < varkw && at < 0; ++i)
      if (i != varargs && sig.names[static_cast<size_t>(i)] == symbol) at = i;
    if (at >= 0)
      g.targets.push_back(Value::integer(at));
    else
      g.targets.push_back(make_tuple({(*params)[static_cast<size_t>(varkw)], name, Value::integer(varkw)}));
  }
}

// Functions in Ouro that are forward forms themselves take positional arguments, then keywords, and give cotangents in
// that order.
void aim_in_order(Given& g) {
  int64_t n = static_cast<int64_t>(g.positional.size());
  for (int o : g.order) g.targets.push_back(Value::integer(o >= 0 ? o : n + ~o));
}

Value make_plan(const Given& g) {
  std::vector<Value> plan{make_tuple(std::span<const Value>(g.atoms))};
  plan.insert(plan.end(), g.targets.begin(), g.targets.end());
  return make_tuple(std::span<const Value>(plan));
}

Value bind(Session& s, const Value& form, Given& g) {
  Function* f = cast_exact<Function>(form);
  if (f && ir::grad::is_forward_form(*f->code)) {
    const ir::Signature& sig = f->code->sig;
    std::vector<Value> out(sig.count());
    Args args{g.positional, g.keywords, g.names};
    if (!bind_function(s, f, args, out.data())) return Value::error();
    Value params = make_tuple(std::span<const Value>(out));
    aim(sig, g, params.as<Tuple>());
    return make_tuple({params, make_dict(), make_plan(g)});
  }
  aim_in_order(g);
  Value rest = make_dict();
  for (size_t i = 0; i < g.keywords.size(); ++i)
    if (!dict_set(s, rest.as<Dict>(), g.names[i], g.keywords[i])) return Value::error();
  return make_tuple({make_tuple(std::span<const Value>(g.positional)), rest, make_plan(g)});
}

Value cotangent_at(Session& s, const Value& target, const Value& d, const Value& env) {
  if (target.is_int()) return item(d, target.as_int());
  Tuple* t = target.as<Tuple>();
  if (t->size == 2) return item(item(d, (*t)[0].as_int()), (*t)[1].as_int());
  return shadow_take(s, env, (*t)[0], (*t)[1]);
}

}  // namespace

Value bind_call(Session& s, const ir::CallSig& sig, std::span<Value> args) {
  Given g;
  if (!collect(s, sig, args.subspan(1), g)) return Value::error();
  return bind(s, args[0], g);
}

Value bind_args(Session& s, const Value& form, const Args& args) {
  Given g;
  for (const Value& v : args.positional) {
    g.order.push_back(static_cast<int>(g.positional.size()));
    g.positional.push_back(v);
    g.atoms.push_back(atom_entry(1, Value::none()));
  }
  for (size_t i = 0; i < args.keywords.size(); ++i) {
    g.order.push_back(~static_cast<int>(i));
    g.names.push_back(args.names[i]);
    g.keywords.push_back(args.keywords[i]);
    g.atoms.push_back(atom_entry(1, Value::none()));
  }
  return bind(s, form, g);
}

namespace {

// Plans pass through rules in Ouro, and so could be anything.
bool is_target(const Value& v) {
  if (v.is_int()) return true;
  Tuple* t = cast_exact<Tuple>(v);
  return t && (t->size == 3 || (t->size == 2 && (*t)[0].is_int() && (*t)[1].is_int()));
}
bool is_plan(Tuple* p) {
  Tuple* atoms = p->size ? cast_exact<Tuple>((*p)[0]) : nullptr;
  if (!atoms) return false;
  size_t targets = 0;
  for (const Value& v : *atoms) {
    Tuple* atom = cast_exact<Tuple>(v);
    if (!atom || atom->size != 3 || !(*atom)[0].is_int()) return false;
    const auto n = static_cast<size_t>((*atom)[0].as_int());
    const bool one = (*atom)[1].is_none();
    if (n > p->size || (one && n != 1)) return false;
    Tuple* keys = cast_exact<Tuple>((*atom)[2]);
    if (keys ? keys->size != n : !(*atom)[2].is_none()) return false;
    targets += n;
  }
  if (targets != p->size - 1) return false;
  return std::all_of(p->begin() + 1, p->end(), is_target);
}

}  // namespace

Value unbind_call(Session& s, const Value& plan, const Value& d, const Value& env) {
  if (!is_plan(plan.as<Tuple>())) return raise_type_error(s, "unbind() argument 'plan' must be a plan of bind()");
  Tuple* p = plan.as<Tuple>();
  Tuple* atoms = (*p)[0].as<Tuple>();
  Value result = alloc_tuple(atoms->size);
  for (Value& v : *result.as<Tuple>()) v = Value::zero_cotangent();
  size_t next = 1;
  for (size_t a = 0; a < atoms->size; ++a) {
    Tuple* atom = (*atoms)[a].as<Tuple>();
    size_t n = static_cast<size_t>((*atom)[0].as_int());
    const Value& source = (*atom)[1];
    if (source.is_none()) {
      (*result.as<Tuple>())[a] = cotangent_at(s, (*p)[next++], d, env);
      continue;
    }
    const ObjectKind kind = kind_of(unwrap(source));
    if (is_tensor(source)) {
      OURO_TRY(kept, like(s, source));
      Value sum = Value::zero_cotangent();
      for (size_t i = 0; i < n; ++i) {
        OURO_TRY(v, cotangent_at(s, (*p)[next++], d, env));
        sum = add_item(s, std::move(sum), v, Value::integer(static_cast<int64_t>(i)), kept, env);
        if (sum.is_error()) return sum;
      }
      (*result.as<Tuple>())[a] = std::move(sum);
      continue;
    }
    Value items = alloc_tuple(n);
    for (Value& v : *items.as<Tuple>()) v = Value::zero_cotangent();
    Tuple* keys = cast_exact<Tuple>((*atom)[2]);
    for (size_t i = 0; i < n; ++i) {
      Value v = cotangent_at(s, (*p)[next++], d, env);
      if (kind != ObjectKind::tuple && kind != ObjectKind::list && kind != ObjectKind::dict && !is_zero(v))
        return raise_error(s, ExcKind::TypeError,
                           "cannot differentiate through the items of a '%s' after * yet: "
                           "take list() of it first",
                           type_name(s, source).c_str());
      if (cast<Tuple>(source))
        (*items.as<Tuple>())[i] = std::move(v);
      else if (!shadow_add(s, env, source, keys ? (*keys)[i] : Value::integer(static_cast<int64_t>(i)), v))
        return Value::error();
    }
    if (cast<Tuple>(source)) (*result.as<Tuple>())[a] = std::move(items);
  }
  return result;
}

}  // namespace ouro::runtime::autodiff
