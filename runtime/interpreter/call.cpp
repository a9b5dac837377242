// Calls from the interpreter's loop: script functions get a frame (their arguments moved in where they die), everything
// else is called.
#include <string_view>
#include <unordered_set>

#include "ir/prim.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/names_set.h"
#include "runtime/interpreter/slow.h"
#include "runtime/object/bind.h"
#include "runtime/object/collect.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/leftovers.h"
#include "runtime/object/limits.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "support/small_vec.h"

namespace ouro::runtime {

Value find_method(Session& s, const Value& v, Symbol name);  // runtime/protocol/calls.cpp

namespace {

using Values = SmallVec<Value, 8>;

void place_captures(Frame* to, Function* fn) {
  Value* out = to->regs + fn->code->sig.count();
  for (const Value& c : fn->captures) *out++ = c;
}

Value make_generator(Session& s, Frame* top_of_stack_frame, const Value& function) {
  // The bound frame moves to the heap.
  Frame* g = new_generator_frame(s, function);
  for (uint32_t i = 0; i < g->code->nregs; ++i) g->regs[i] = std::move(top_of_stack_frame->regs[i]);
  pop_frame(s);
  auto* gen = new_object<Generator>(ObjectKind::generator);
  Function* fn = function.as<Function>();
  gen->frame = g;
  gen->name = fn->name;
  gen->qualname = fn->qualname;
  g->generator = gen;
  g->set(Frame::kGenerator);
  return Value::steal(gen);
}

// A call's arguments, evaluated into Values: positional ones, then keyword ones with names.
struct Collected {
  Values positional, keywords, names;
  std::unordered_set<std::string_view> seen;  // the first `nseen` of `names`, where there are many
  size_t nseen = 0;

  bool is_among(const Value& name, size_t before) {
    constexpr size_t kFew = 32;
    const std::string_view text = name.as<Str>()->view();
    if (before <= kFew) {
      for (size_t i = 0; i < before; ++i)
        if (names[i].same(name) || names[i].as<Str>()->view() == text) return true;
      return false;
    }
    while (nseen < before) seen.insert(names[nseen++].as<Str>()->view());
    return seen.contains(text);
  }
  Args args() const {
    return {{positional.data(), positional.size()}, {keywords.data(), keywords.size()}, {names.data(), names.size()}};
  }
};

std::string callee_text(Session& s, const Value& f) {
  if (Function* fn = cast_exact<Function>(f))
    if (Str* q = cast<Str>(fn->qualname)) return std::string(q->view()) + "()";
  if (Native* n = cast_exact<Native>(f)) return std::string(n->def->name) + "()";
  if (BoundMethod* m = cast_exact<BoundMethod>(f)) return callee_text(s, m->function);
  if (Type* t = cast_exact<Type>(f)) return std::string(t->text()) + "()";
  std::string text = text_of(s, f);
  if (!s.has_error()) return text;
  clear_pending(s);
  return type_name(s, f) + " object";
}

std::string module_prefix(Session& s, const Value& f) {
  const Value* target = &f;
  if (BoundMethod* m = cast_exact<BoundMethod>(f)) target = &m->function;
  if (Function* fn = cast_exact<Function>(*target)) {
    Module* m = cast<Module>(fn->globals);
    std::string name = m ? text_of(s, m->name) : "";
    if (!name.empty() && name != "builtins") return name + ".";
  }
  if (Type* t = cast_exact<Type>(f); t && !t->builtin) return "__main__.";
  return "";
}

bool is_given_twice(Session& s, const Value& f, const std::string& name) {
  raise_type_error(s, "%s%s got multiple values for keyword argument '%s'", module_prefix(s, f).c_str(),
                   callee_text(s, f).c_str(), name.c_str());
  return false;
}

// `name` must not be among the first `before` names: those from elsewhere than the mapping it is from.
bool add_keyword(Session& s, Collected& out, const Value& f, const Value& name, Value v, size_t before) {
  if (out.is_among(name, before)) return is_given_twice(s, f, name.as<Str>()->data);
  out.names.push_back(name);
  out.keywords.push_back(std::move(v));
  return true;
}

bool add_spread(Session& s, const Value& v, const Value& f, bool alone, Collected& out) {
  Value t = tuple_of(s, v);
  if (t.is_error()) {
    if (pending_is(s, ExcKind::TypeError) && find_dunder(s, type_of(s, v), Dunder::iter_).is_unbound() &&
        find_dunder(s, type_of(s, v), Dunder::getitem_).is_unbound()) {
      clear_pending(s);
      if (!alone)
        raise_type_error(s, "Value after * must be an iterable, not %s", type_name(s, v).c_str());
      else
        raise_type_error(s, "%s%s argument after * must be an iterable, not %s", module_prefix(s, f).c_str(),
                         callee_text(s, f).c_str(), type_name(s, v).c_str());
    }
    return false;
  }
  for (const Value& item : *t.as<Tuple>()) out.positional.push_back(item);
  return true;
}

// The keys of `d` to those in `all`.
bool add_keys(Session& s, Dict* all, const Value& d, const Value& f) {
  if (!all->used) return dict_merge(s, all, d);
  size_t pos = 0;
  int64_t hash = 0;
  for (Value *k, *v; dict_next(cast<Dict>(d), pos, k, v, &hash);) {
    const Value key = *k, value = *v;
    const int there = dict_contains_hashed(s, all, key, hash);
    if (there > 0) return is_given_twice(s, f, text_of(s, key));
    if (there < 0 || !dict_set_hashed(s, all, key, hash, value)) return false;
  }
  return true;
}

// What `**v` gives. `others` becomes a dict of all of them where a key is no text, which is said once all arguments are
// there.
bool add_mapping(Session& s, const Value& v, const Value& f, Value& others, Collected& out) {
  Value d = v;
  if (!cast_exact<Dict>(d)) {
    static const Symbol keys = intern("keys");
    Value has = cast<Dict>(d) ? d : lookup_attr(s, v, keys);
    if (has.is_error()) return false;
    if (has.is_unbound()) {
      raise_type_error(s, "%s%s argument after ** must be a mapping, not %s", module_prefix(s, f).c_str(),
                       callee_text(s, f).c_str(), type_name(s, v).c_str());
      return false;
    }
    d = make_dict();
    if (!dict_merge(s, d.as<Dict>(), v)) return false;
  }
  if (!others.is_unbound()) return add_keys(s, others.as<Dict>(), d, f);
  const size_t before = out.names.size();
  size_t pos = 0;
  Value *k, *item;
  while (dict_next(cast<Dict>(d), pos, k, item)) {
    if (!cast<Str>(*k)) {
      others = make_dict();
      for (size_t i = 0; i < before; ++i)
        if (!dict_set(s, others.as<Dict>(), out.names[i], out.keywords[i])) return false;
      return add_keys(s, others.as<Dict>(), d, f);
    }
    if (!add_keyword(s, out, f, unwrap(*k), *item, before)) return false;
  }
  return true;
}

bool collect(Session& s, Frame& fr, const ir::CallSig& sig, const Operand* ops, const Value& f, Collected& out) {
  using Kind = ir::CallSig::Kind;
  Value others, spread;  // in f(*v, k=w, **m), v is asked for its items last
  const size_t n = sig.args.size();
  const bool alone = n && sig.args[0].kind == Kind::star && (n == 1 || sig.args[1].kind >= Kind::keyword);
  for (size_t i = 0; i < n; ++i) {
    Value v = take_operand(fr, ops[i]);
    switch (sig.args[i].kind) {
      case Kind::positional:
        out.positional.push_back(std::move(v));
        break;
      case Kind::keyword:
        if (!add_keyword(s, out, f, s.str(sig.args[i].name), std::move(v), out.names.size())) return false;
        break;
      case Kind::star:
        if (alone)
          spread = std::move(v);
        else if (!add_spread(s, v, f, false, out))
          return false;
        break;
      case Kind::double_star:
        if (!add_mapping(s, v, f, others, out)) return false;
        break;
    }
  }
  if (alone && !add_spread(s, spread, f, true, out)) return false;
  if (!others.is_unbound()) raise_type_error(s, "keywords must be strings");
  return others.is_unbound();
}

// Pushes a frame for function `fv` with arguments from operands, after `self` if given. Positional only.
bool push_simple(Session& s, Frame& fr, const Value& fv, const Value* self, const Operand* ops, uint32_t n,
                 Frame*& pushed, Value& result) {
  Function* fn = fv.as<Function>();
  Code* code = compiled(s, fn);
  const ir::Signature& sig = fn->code->sig;
  uint32_t given = n + (self != nullptr);
  if (code->plain && given == code->positional && room_for_frame(s, *s.interpreter, code)) [[likely]] {
    pushed = enter(s, *s.interpreter, fr, Value(fv), self, ops, n);
    return true;
  }
  Frame* to = push_frame(s, fv);
  if (!to) return false;
  size_t defaults = 0;
  if (given != sig.positional)
    if (Tuple* d = cast<Tuple>(fn->defaults)) defaults = d->size;
  if (code->simple && given <= sig.positional && given + defaults >= sig.positional) {
    Value* out = to->regs;
    if (self) *out++ = *self;
    for (uint32_t i = 0; i < n; ++i) *out++ = take_operand(fr, ops[i]);
    if (given < sig.positional) {
      Tuple* d = fn->defaults.as<Tuple>();
      for (size_t i = given; i < sig.positional; ++i) *out++ = (*d)[i - (sig.positional - defaults)];
    }
  } else {
    Values all;
    if (self) all.push_back(*self);
    for (uint32_t i = 0; i < n; ++i) all.push_back(take_operand(fr, ops[i]));
    if (!bind_function(s, fn, Args{{all.data(), all.size()}, {}, {}}, to->regs)) {
      pop_frame(s);
      return false;
    }
  }
  if (!fn->captures.empty()) place_captures(to, fn);
  if (fn->code->is_generator)
    result = make_generator(s, to, Value(fv));
  else
    pushed = to;
  return true;
}

bool push_bound(Session& s, const Value& fv, const Args& args, Frame*& pushed, Value& result) {
  Frame* to = push_frame(s, fv);
  if (!to) return false;
  Function* fn = fv.as<Function>();
  if (to->code->simple && args.keywords.empty() && args.size() == to->code->positional) {
    std::copy(args.positional.begin(), args.positional.end(), to->regs);
  } else if (!bind_function(s, fn, args, to->regs)) {
    pop_frame(s);
    return false;
  }
  if (!fn->captures.empty()) place_captures(to, fn);
  if (fn->code->is_generator)
    result = make_generator(s, to, Value(fv));
  else
    pushed = to;
  return true;
}

// Where the arguments of a call with keywords go among fn's parameters, after `self` of these are given. False, and
// nothing is known, if one has no place or a parameter no value, or for more than kMost: bind_function() says what is
// wrong.
struct Places {
  static constexpr size_t kMost = 16;
  uint8_t of[kMost];         // the register of each argument
  const Value* rest[kMost];  // of each parameter behind `self`: its default, or null if given or a star

  // Null too where a script would have to be asked, which might take the others away.
  static const Value* plain_value(Dict* d, const Value& key) {
    bool asks = false;
    Dict::Entry* e = dict_plain_entry(d, key, asks);
    return e ? &e->value : nullptr;
  }
  bool find(Session& s, const Function* fn, const ir::CallSig& call, uint32_t self) {
    const ir::Signature& sig = fn->code->sig;
    if (call.args.size() > kMost || sig.count() > kMost || fn->code->is_generator) return false;
    uint32_t filled = 0, next = self;
    for (size_t i = 0; i < call.args.size(); ++i) {
      size_t at = next;
      if (call.args[i].kind == ir::CallSig::Kind::keyword) {
        Symbol name = call.args[i].name;
        for (at = sig.posonly; at < sig.count() && sig.names[at] != name;) ++at;
        bool star = at >= sig.count() - sig.varkw || (sig.varargs && at == sig.positional);
        if (star || filled >> at & 1 || at < self) return false;
      } else if (call.args[i].kind != ir::CallSig::Kind::positional || next++ >= sig.positional) {
        return false;
      }
      of[i] = static_cast<uint8_t>(at);
      filled |= uint32_t{1} << at;
    }
    if (self > sig.positional) return false;
    Tuple* defaults = cast<Tuple>(fn->defaults);
    Dict* kwdefaults = cast<Dict>(fn->kwdefaults);
    size_t first = sig.positional - (defaults ? defaults->size : 0), stars = sig.positional + sig.varargs;
    for (size_t at = self; at < sig.count() - sig.varkw; ++at) {
      rest[at] = nullptr;
      if (filled >> at & 1 || (sig.varargs && at == sig.positional)) continue;
      if (at < sig.positional)
        rest[at] = at >= first ? &(*defaults)[at - first] : nullptr;
      else if (at >= stars && kwdefaults)
        rest[at] = plain_value(kwdefaults, s.str(sig.names[at]));
      if (!rest[at]) return false;
    }
    return true;
  }
};

bool push_placed(Session& s, Frame& fr, const Value& fv, const Value* self, const Places& places, const Operand* ops,
                 size_t n, Frame*& pushed) {
  Function* fn = fv.as<Function>();
  const ir::Signature& sig = fn->code->sig;
  Frame* to = push_frame(s, fv);
  if (!to) return false;
  if (self) to->regs[0] = *self;
  for (size_t at = self != nullptr; at < sig.count() - sig.varkw; ++at)
    if (places.rest[at]) to->regs[at] = *places.rest[at];
  for (size_t i = 0; i < n; ++i) to->regs[places.of[i]] = take_operand(fr, ops[i]);
  if (sig.varargs) to->regs[sig.positional] = make_tuple({});
  if (sig.varkw) to->regs[sig.count() - 1] = make_dict();
  if (!fn->captures.empty()) place_captures(to, fn);
  pushed = to;
  return true;
}

}  // namespace

// A class of scripts with nothing special about its making: the instance, and the __init__ to run in a frame.
bool plain_class(Session& s, Type* t, Value& init) {
  if (t->builtin || t->is_exception || t->is_abc || t->layout != ObjectKind::instance) return false;
  if (called_by_metaclass(s, t)) return false;
  auto* made = cast_exact<StaticMethod>(find_dunder(s, t, Dunder::new_));
  if (!made || !cast_exact<Native>(made->function)) return false;
  init = find_dunder(s, t, Dunder::init_);
  return kind_of(init) == ObjectKind::function && !init.as<Function>()->code->is_generator;
}

void raise_wrong_init(Session& s, const Value& result) {
  raise_type_error(s, "__init__() should return None, not '%s'", type_name(s, result).c_str());
}

namespace {

void construct(Frame* init, Value instance) {
  init->instance = std::move(instance);
  init->set(Frame::kConstructor);
}

// The method as cached at the site, when the receiver's class and shape are those of the last time.
Object* cached_method(Session& s, const Cache& c, const Value& self) {
  if (!c.object) return nullptr;
  if (Instance* i = kind_of(self) == ObjectKind::instance ? self.as<Instance>() : nullptr)
    return i->shape && i->shape->id == c.key && i->type->version == c.type_key ? c.object : nullptr;
  if (c.key != 0 || !self.is_object()) return nullptr;
  Type* t = s.type(self.object()->object_kind());
  return t && t->version == c.type_key && self.object()->object_kind() != ObjectKind::iterator ? c.object : nullptr;
}
void remember_method(Session& s, Cache& c, const Value& self, const Value& method) {
  c = {};
  if (kind_of(self) == ObjectKind::exception || kind_of(self) == ObjectKind::opaque) return;
  if (Instance* i = kind_of(self) == ObjectKind::instance ? self.as<Instance>() : nullptr) {
    if (!i->shape) return;
    c.key = i->shape->id;
  }
  c.type_key = type_of(s, self)->version;
  c.object = method.object();
}

bool store(Frame& fr, const Instr& in, Value r) {
  if (r.is_error()) return false;
  fr.regs[in.dst] = std::move(r);
  return true;
}

Value call_with(Session& s, Frame& fr, const Value& callee, const Value* self, const Operand* ops, uint32_t n) {
  Values all;
  all.reserve(n + 1);
  if (self) all.push_back(*self);
  for (uint32_t i = 0; i < n; ++i) all.push_back(take_operand(fr, ops[i]));
  return call(s, callee, Args{{all.data(), all.size()}, {}, {}});
}

// Arguments on the stack, moved or copied out of a frame's registers.
class Gathered {
 public:
  static constexpr uint32_t kMost = 4;
  Gathered(Frame& fr, const Operand* ops, uint32_t n, uint32_t room) : size_(room) {
    uint32_t i = 0;
    for (; i < n; ++i) new (data() + i) Value(take_operand(fr, ops[i]));
    for (; i < room; ++i) new (data() + i) Value;
  }
  ~Gathered() {
    for (Value *v = data(), *end = v + size_; v != end; ++v) v->~Value();
  }
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  Args args() { return {{data(), size_}, {}, {}}; }

 private:
  Value* data() { return reinterpret_cast<Value*>(bytes_); }
  alignas(Value) char bytes_[kMost * sizeof(Value)];
  uint32_t size_;
};

bool call_simple(Session& s, Frame& fr, const Instr& in, const Value& callee, const Value* self, const Operand* ops,
                 uint32_t n, Frame*& pushed) {
  Value result;
  switch (kind_of(callee)) {
    case ObjectKind::function:
      if (!push_simple(s, fr, callee, self, ops, n, pushed, result)) return false;
      break;
    case ObjectKind::bound_method: {
      if (self) return store(fr, in, call_with(s, fr, callee, self, ops, n));
      Value keep = callee;
      auto* m = callee.as<BoundMethod>();
      if (kind_of(m->function) != ObjectKind::function)
        return store(fr, in, call_with(s, fr, m->function, &m->self, ops, n));
      if (!push_simple(s, fr, m->function, &m->self, ops, n, pushed, result)) return false;
      break;
    }
    case ObjectKind::type: {
      Value init;
      Type* t = callee.as<Type>();
      if (t->builtin && !self && n <= Gathered::kMost) {
        Value keep = callee;
        Gathered all(fr, ops, n, n);
        DepthGuard depth(s, " while calling a Python object");
        return depth.ok() &&
               store(fr, in,
                     t == s.type(ObjectKind::type) ? call_type_itself(s, all.args()) : construct(s, t, all.args()));
      }
      if (self || !plain_class(s, t, init)) return store(fr, in, call_with(s, fr, callee, self, ops, n));
      Value instance = new_instance(s, t);
      if (!push_simple(s, fr, init, &instance, ops, n, pushed, result)) return false;
      construct(pushed, std::move(instance));
      return true;
    }
    default:
      return store(fr, in, call_with(s, fr, callee, self, ops, n));
  }
  if (!pushed) fr.regs[in.dst] = std::move(result);
  return true;
}

bool call_full(Session& s, Frame& fr, const Instr& in, const Value& callee, const ir::CallSig& sig, const Value* self,
               const Operand* ops, Frame*& pushed) {
  Places places;
  if (kind_of(callee) == ObjectKind::function && places.find(s, callee.as<Function>(), sig, self != nullptr))
    return push_placed(s, fr, callee, self, places, ops, sig.args.size(), pushed);
  Collected c;
  if (self) c.positional.push_back(*self);
  Value target = callee;
  if (BoundMethod* m = cast_exact<BoundMethod>(callee); m && !self && cast_exact<Function>(m->function)) {
    c.positional.push_back(m->self);
    target = m->function;
  }
  Value instance, init;
  if (Type* t = cast_exact<Type>(callee); t && !self && plain_class(s, t, init)) {
    instance = new_instance(s, t);
    if (places.find(s, init.as<Function>(), sig, 1)) {
      if (!push_placed(s, fr, init, &instance, places, ops, sig.args.size(), pushed)) return false;
      construct(pushed, std::move(instance));
      return true;
    }
    c.positional.push_back(instance);
    target = init;
  }
  if (!collect(s, fr, sig, ops, callee, c)) return false;
  if (kind_of(target) != ObjectKind::function) return store(fr, in, call(s, target, c.args()));
  Value result;
  if (!push_bound(s, target, c.args(), pushed, result)) return false;
  if (pushed && !instance.is_unbound())
    construct(pushed, std::move(instance));
  else if (!pushed)
    fr.regs[in.dst] = std::move(result);
  return true;
}

}  // namespace

Quick quick_native(Session& s, Frame& fr, Native* native, const Operand* ops, uint32_t given, bool fits) {
  const Params* p = native->params;
  uint32_t receiver = native->owner != nullptr, passed = given - receiver;
  if (!p || passed < p->quick_least || passed > p->quick_most || given < receiver || given > Gathered::kMost ||
      p->quick_slots + receiver > Gathered::kMost || !native->self.is_unbound())
    return Quick::no;
  if (receiver && !fits) {
    const Value& self = operand(fr, ops[0].at);
    if (type_of(s, self) != native->owner && !is_a(s, self, native->owner)) return Quick::no;
  }
  uint32_t room = std::max<uint32_t>(given, p->quick_slots + receiver);
  DepthGuard depth(s, " while calling a Python object");
  if (!depth.ok()) return Quick::failed;
  Value r;
  if (given == 1 && room == 1) {  // in place: a frame's registers stay as they are while it waits
    r = native->def->fn(s, Args{{&operand(fr, ops[0].at), 1}, {}, {}});
    if (!r.is_error()) drop_operand(fr, ops[0].at, static_cast<uint8_t>(ops[0].use));
  } else {
    Gathered all(fr, ops, given, room);
    r = native->def->fn(s, all.args());
  }
  return store(fr, *fr.pc, std::move(r)) ? Quick::done : Quick::failed;
}

Quick quick_loaded(Session& s, Frame& fr) {
  const Instr& in = *fr.pc;
  const Value& callee = operand(fr, in.b);
  if (kind_of(callee) != ObjectKind::native || s.poll.load(std::memory_order_relaxed)) return Quick::no;
  const Site& x = fr.code->sites[static_cast<size_t>(in.a)];
  const Operand* ops = fr.code->operands.data() + x.first;
  Value keep = callee;
  Quick q = quick_native(s, fr, keep.as<Native>(), ops + 1, x.count - 1, false);
  if (q != Quick::done) return q;
  if (in.b != in.dst) drop_operand(fr, in.b, in.use_b);
  if (ops->at != in.dst) drop_operand(fr, ops->at, static_cast<uint8_t>(ops->use));
  return q;
}

// What `a.f(...)` calls, looked up before the arguments: nothing if it is a plain method, which the call finds again.
bool do_method_get(Session& s, Frame& fr, const Instr& in) {
  Site& x = fr.code->sites[static_cast<size_t>(in.b)];
  const Value& self = operand(fr, in.a);
  Value found = find_method(s, self, Symbol::from_id(x.attr));
  if (found.is_unbound()) {
    if (x.cache.slot == Cache::kMethod) x.cache = {};
    return do_attr_get(s, fr, in);
  }
  remember_method(s, x.cache, self, found);
  if (x.cache.object) x.cache.slot = Cache::kMethod;
  fr.regs[in.dst] = Value();
  return true;
}

bool do_call(Session& s, Frame& fr, const Instr& in, Frame*& pushed) {
  const bool loaded = in.op == I::call_loaded || in.op == I::call_loaded_full;
  const bool full = in.op >= I::call_full && in.op <= I::call_loaded_full;
  const bool method = loaded || in.op == I::call_method || in.op == I::call_method_full;
  Site& x = fr.code->sites[static_cast<size_t>(in.a)];
  const ir::CallSig& sig = fr.code->function->calls[x.attr];
  const Operand* ops = fr.code->operands.data() + x.first;
  uint32_t n = x.count - 1;
  if (!method) {
    Value callee = take_operand(fr, ops[0]);
    if (callee.is_none() && x.op == ir::prim::ad_try_call) {  // nothing to call
      fr.regs[in.dst] = Value::none();
      for (uint32_t i = 1; i <= n; ++i) drop_operand(fr, ops[i].at, static_cast<uint8_t>(ops[i].use));
      return true;
    }
    return full ? call_full(s, fr, in, callee, sig, nullptr, ops + 1, pushed)
                : call_simple(s, fr, in, callee, nullptr, ops + 1, n, pushed);
  }
  if (loaded && !operand(fr, in.b).is_unbound()) {
    Value callee = take_operand(fr, {in.b, static_cast<Use>(in.use_b)});
    drop_operand(fr, ops[0].at, static_cast<uint8_t>(ops[0].use));
    return full ? call_full(s, fr, in, callee, sig, nullptr, ops + 1, pushed)
                : call_simple(s, fr, in, callee, nullptr, ops + 1, n, pushed);
  }
  Cache& cache = x.cache;
  if (Object* o = full ? nullptr : cached_method(s, cache, operand(fr, ops[0].at))) {
    Value found = Value::share(o), result;
    if (o->object_kind() == ObjectKind::function) {
      if (!push_simple(s, fr, found, nullptr, ops, n + 1, pushed, result)) return false;
      if (!pushed) fr.regs[in.dst] = std::move(result);
      return true;
    }
  }
  Value self = take_operand(fr, ops[0]);
  Value found;
  if (Object* o = cached_method(s, cache, self)) {
    found = Value::share(o);
  } else {
    found = find_method(s, self, sig.method);
    if (!found.is_unbound()) remember_method(s, cache, self, found);
  }
  if (!found.is_unbound())
    return full ? call_full(s, fr, in, found, sig, &self, ops + 1, pushed)
                : call_simple(s, fr, in, found, &self, ops + 1, n, pushed);
  Value callee = get_attr(s, self, sig.method);
  if (callee.is_error()) return false;
  return full ? call_full(s, fr, in, callee, sig, nullptr, ops + 1, pushed)
              : call_simple(s, fr, in, callee, nullptr, ops + 1, n, pushed);
}

// ---------------------------------------------------------------- from C++

Value call_function(Session& s, const Value& function, const Args& args) {
  if (!stack_left(s)) return Value::error();
  if (s.recorder) [[unlikely]]
    return s.recorder->call(s, function, args);
  Value keep = function, result;
  Frame* pushed = nullptr;
  if (!push_bound(s, keep, args, pushed, result)) return Value::error();
  return pushed ? run_pushed(s, pushed) : result;
}

Value run_pushed(Session& s, Frame* pushed) {
  Value result;
  pushed->set(Frame::kEntry);
  if (++pushed->code->calls >= pushed->code->call_trigger || pushed->code->entry) {
    Outcome o = Outcome::not_taken;
    if (pushed->code->calls >= pushed->code->call_trigger && s.executor)
      o = s.executor->hot_function(s, *pushed, result);
    if (o == Outcome::not_taken && pushed->code->entry)
      o = pushed->code->entry(s, *pushed, pushed->code->entry_data, result);
    if (o == Outcome::returned) {
      if (pushed->is(Frame::kConstructor)) (void)check_constructed(s, pushed, result);
      pop_frame(s);
      return result;
    }
    if (o == Outcome::raised) {
      add_error_traceback(s, *pushed);
      pop_frame(s);
      return Value::error();
    }
    if (o == Outcome::interrupted) return run_raising(s, s.interpreter->top);
  }
  return run(s, pushed);
}

Value make_function(Session& s, const ir::FunctionRef& code, const Value& globals, std::span<const Value> args) {
  auto* f = new_object<Function>(ObjectKind::function);
  f->code = code;
  f->globals = globals;
  f->name = s.str(code->name);
  f->qualname = s.str(code->qualname ? code->qualname : code->name);
  f->doc = code->doc == ir::ConstId::none ? Value::none() : make_str(code->constant(code->doc).text);
  f->defaults = args.size() > 0 ? args[0] : Value::none();
  if (Tuple* t = cast<Tuple>(f->defaults); t && t->size == 0) f->defaults = Value::none();
  f->kwdefaults = args.size() > 1 ? args[1] : Value::none();
  if (args.size() > 2 && !args[2].is_none()) f->annotations = args[2];
  if (args.size() > 3) f->captures.assign(args.begin() + 3, args.end());
  return Value::steal(f);
}

Value run_module(Session& s, const ir::FunctionRef& code, const Value& module) {
  note_names_set(s, *code);
  Value f = make_function(s, code, module, {});
  return call_function(s, f, {});
}

bool inside_transform(Session& s, const Frame* frame) {
  for (const Frame* f = frame; f; f = f->caller) {
    const SourceFile* file = s.sources.file(f->code->function->span.file);
    if (file && file->name().starts_with("ouro/autodiff/")) return true;
  }
  return false;
}

// Is an optimizer at work? Half of the parameters may be of the step before.
static bool inside_update(Session& s) {
  for (const Frame* f = s.interpreter->top; f; f = f->caller) {
    const SourceFile* file = s.sources.file(f->code->function->span.file);
    if (file && file->name().starts_with("ouro/optim")) return true;
  }
  return false;
}

void adopt_demands(Session& s) {
  if (s.demands.latched() || inside_transform(s, s.interpreter->top)) return;  // the bit stays set
  s.poll.fetch_and(~static_cast<uint32_t>(Session::kDemand));  // before it is looked at: what comes then sets it again
  if (s.demands.news() && !inside_update(s)) {
    s.demands.tell_changes(s);
    s.demands.visits().receive(s);
  }
  const bool moves = s.demands.waiting() && (!s.executor || s.executor->ready_to_move(s));
  if (moves) s.demands.adopt(s.executor && s.executor->follow_demands(s));
  if (s.demands.waiting() || s.demands.news()) s.poll.fetch_or(Session::kDemand);
}

bool safe_point(Session& s) {
  uint32_t bits = s.poll.load(std::memory_order_relaxed);
  if (bits & Session::kInterrupt || (bits & Session::kCountSteps && !count_step(s))) {
    raise_interrupt(s);
    return false;
  }
  if (bits & Session::kLeftovers) drop_leftovers(s);
  if (bits & Session::kCollect) ouro::runtime::collect(s);
  if (bits & Session::kFinalizers) run_finalizers(s);
  if (bits & Session::kDemand) adopt_demands(s);
  if (bits & Session::kTranslated) {  // the next jump back asks for it
    s.poll.fetch_and(~static_cast<uint32_t>(Session::kTranslated));
    s.interpreter->turns_left = 1;
  }
  return true;
}

}  // namespace ouro::runtime
