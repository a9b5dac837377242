#include "ir/build.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "ir/effect.h"
#include "ir/verify.h"
#include "support/diag.h"

namespace ouro::ir {

struct FunctionBuilder::Edge {
  BlockId from, to;
  bool is_handover;
  std::vector<Atom> args;  // explicit ones, then one per SSA parameter
};

struct FunctionBuilder::LetData {
  Op op;
  NameId result;
  uint32_t args_begin;
  uint32_t nargs;
  uint32_t attr;
  EdgeId handover;
  Span span;
};

struct FunctionBuilder::BlockData {
  struct Param {
    NameId name;
    Variable var = Variable::none;  // none: explicit
    bool complete = false, dead = false;
  };
  NameId exception = NameId::none;  // first parameter of a handler, not an argument of its edges
  NameId resumed = NameId::none;    // last parameter after a yield, not an argument of the edge
  std::vector<Param> params;
  std::vector<EdgeId> preds;
  std::vector<LetData> lets;
  std::vector<uint32_t> incomplete;
  bool sealed = false, handler = false, started = false, dead = false;
  Terminator::Kind kind = Terminator::Kind::none;
  Atom a, b;
  std::vector<EdgeId> targets;
  EdgeId handover = kNoEdge;
  Span span;
};

FunctionBuilder::FunctionBuilder(Symbol name, Span span) : span_(span) {
  f_.name = f_.qualname = name;
  f_.span = span;
  BlockId entry = new_block();
  data(entry).sealed = true;
  current_ = entry;
  data(entry).started = true;
  order_.push_back(entry);
}
FunctionBuilder::~FunctionBuilder() = default;

FunctionBuilder::BlockData& FunctionBuilder::data(BlockId b) { return *blocks_[index(b)]; }
const FunctionBuilder::BlockData& FunctionBuilder::data(BlockId b) const { return *blocks_[index(b)]; }

NameId FunctionBuilder::new_name(Symbol hint, const Type* type) {
  names_.push_back({hint, type});
  forward_.push_back({});
  param_of_.push_back({BlockId::none, 0});
  return NameId{static_cast<uint32_t>(names_.size() - 1)};
}
void FunctionBuilder::set_hint(NameId n, Symbol hint) { names_[index(n)].hint = hint; }
void FunctionBuilder::set_type(NameId n, const Type* t) { names_[index(n)].type = t; }

NameId FunctionBuilder::entry_param(Symbol hint, const Type* type) {
  NameId n = new_name(hint, type);
  data(BlockId{0}).params.push_back({n, Variable::none, true, false});
  return n;
}

// ---- variables -------------------------------------------------------------------------------------------------

Variable FunctionBuilder::declare_var(Symbol name) {
  variables_.push_back(name);
  return Variable{static_cast<uint32_t>(variables_.size() - 1)};
}

Atom* FunctionBuilder::find_def(Variable v, BlockId b) { return defs_.find(static_cast<uint32_t>(v), index(b)); }
void FunctionBuilder::set_def(Variable v, BlockId b, Atom a) { defs_.set(static_cast<uint32_t>(v), index(b), a); }

void FunctionBuilder::write_var(Variable v, Atom value) {
  if (!reachable()) return;
  if (value.is_name()) {
    Symbol& hint = names_[index(value.name())].hint;
    if (!hint) hint = variables_[static_cast<uint32_t>(v)];
  }
  set_def(v, current_, value);
}

Atom FunctionBuilder::read_var(Variable v) {
  if (!reachable()) return unbound();
  Atom a = lookup(v, current_);
  drain();
  return resolve(a);
}

Atom FunctionBuilder::resolve(Atom a) {
  if (!a.is_name() || forward_[index(a.name())].is_none()) return a;
  Atom root = a;
  while (root.is_name() && !forward_[index(root.name())].is_none()) root = forward_[index(root.name())];
  while (a.is_name() && a != root) {  // path compression
    Atom next = forward_[index(a.name())];
    forward_[index(a.name())] = root;
    a = next;
  }
  return root;
}

NameId FunctionBuilder::add_ssa_param(Variable v, BlockId b) {
  NameId n = new_name(variables_[static_cast<uint32_t>(v)]);
  auto& params = data(b).params;
  params.push_back({n, v, false, false});
  param_of_[index(n)] = {b, static_cast<uint32_t>(params.size() - 1)};
  return n;
}

// The value of `v` at the end of `b`. Walks up while there is one predecessor; at a join it makes a parameter whose
// arguments are looked up later (drain), so that nothing recurses.
Atom FunctionBuilder::lookup(Variable v, BlockId b) {
  std::vector<BlockId> path;
  Atom value;
  for (;;) {
    if (Atom* def = find_def(v, b)) {
      value = *def = resolve(*def);
      break;
    }
    path.push_back(b);
    BlockData& d = data(b);
    if (d.sealed && d.preds.size() == 1) {
      b = edges_[d.preds[0]].from;
      continue;
    }
    if (d.sealed && d.preds.empty()) {
      value = unbound();
      break;
    }
    NameId p = add_ssa_param(v, b);
    uint32_t slot = static_cast<uint32_t>(d.params.size() - 1);
    if (d.sealed)
      pending_.push_back({b, slot});
    else
      d.incomplete.push_back(slot);
    value = p;
    break;
  }
  // Every eighth block of a long way remembers it: a later walk is short, and the table stays small. The last one has
  // to: the parameter is its.
  for (size_t i = 0; i < path.size(); i += 8) set_def(v, path[i], value);
  if (!path.empty()) set_def(v, path.back(), value);
  return value;
}

void FunctionBuilder::drain() {
  while (!pending_.empty() || !suspects_.empty()) {
    if (pending_.empty()) {
      NameId n = suspects_.back();
      suspects_.pop_back();
      drop_if_trivial(n);
      continue;
    }
    auto [b, slot] = pending_.back();
    pending_.pop_back();
    BlockData& d = data(b);
    NameId p = d.params[slot].name;
    for (EdgeId e : d.preds) {
      Atom a = resolve(lookup(d.params[slot].var, edges_[e].from));
      auto& args = edges_[e].args;
      if (args.size() <= slot) args.resize(slot + 1);
      args[slot] = a;
      if (a.is_name() && param_of_[index(a.name())].first != BlockId::none) users_[index(a.name())].push_back(p);
    }
    d.params[slot].complete = true;
    suspects_.push_back(p);
  }
}

// A parameter that only ever gets one value (or itself) is that value.
void FunctionBuilder::drop_if_trivial(NameId p) {
  auto [b, slot] = param_of_[index(p)];
  BlockData& d = data(b);
  if (d.params[slot].dead || !d.params[slot].complete) return;
  Atom same;
  for (EdgeId e : d.preds) {
    Atom a = resolve(edges_[e].args[slot]);
    if (a == Atom(p) || a == same) continue;
    if (!same.is_none()) return;
    same = a;
  }
  if (same.is_none()) same = unbound();
  d.params[slot].dead = true;
  forward_[index(p)] = same;
  auto it = users_.find(index(p));
  if (it == users_.end()) return;
  std::vector<NameId> users = std::move(it->second);
  users_.erase(it);
  suspects_.insert(suspects_.end(), users.begin(), users.end());
  if (same.is_name() && param_of_[index(same.name())].first != BlockId::none) {
    auto& to = users_[index(same.name())];
    to.insert(to.end(), users.begin(), users.end());
  }
}

// ---- blocks ----------------------------------------------------------------------------------------------------

BlockId FunctionBuilder::new_block() {
  blocks_.push_back(std::make_unique<BlockData>());
  return BlockId{static_cast<uint32_t>(blocks_.size() - 1)};
}

BlockId FunctionBuilder::new_handler() {
  BlockId b = new_block();
  data(b).handler = true;
  data(b).exception = new_name({});
  return b;
}
NameId FunctionBuilder::exception_of(BlockId handler) const { return data(handler).exception; }

NameId FunctionBuilder::block_param(BlockId b, Symbol hint, const Type* type) {
  BlockData& d = data(b);
  OURO_CHECK(d.preds.empty() && !d.handler);
  NameId n = new_name(hint, type);
  d.params.push_back({n, Variable::none, true, false});
  return n;
}

void FunctionBuilder::seal(BlockId b) {
  BlockData& d = data(b);
  if (d.sealed) return;
  d.sealed = true;
  for (uint32_t slot : d.incomplete) pending_.push_back({b, slot});
  d.incomplete.clear();
  drain();
}

void FunctionBuilder::switch_to(BlockId b) {
  BlockData& d = data(b);
  OURO_CHECK(!reachable() && !d.started);
  if (d.preds.empty()) {  // nobody comes here
    d.dead = true;
    return;
  }
  d.started = true;
  order_.push_back(b);
  current_ = b;
}
bool FunctionBuilder::has_edges_to(BlockId b) const { return !data(b).preds.empty(); }

std::vector<BlockId> FunctionBuilder::take_handlers(size_t depth) {
  std::vector<BlockId> taken(handlers_.begin() + static_cast<ptrdiff_t>(depth), handlers_.end());
  handlers_.resize(depth);
  return taken;
}
void FunctionBuilder::restore_handlers(std::vector<BlockId> taken) {
  handlers_.insert(handlers_.end(), taken.begin(), taken.end());
}

FunctionBuilder::EdgeId FunctionBuilder::add_edge(BlockId to, std::span<const Atom> args, bool is_handover) {
  BlockData& d = data(to);
  if (d.sealed) ouro_bug("edge to a sealed block");
  EdgeId e = static_cast<EdgeId>(edges_.size());
  edges_.push_back({current_, to, is_handover, {args.begin(), args.end()}});
  d.preds.push_back(e);
  return e;
}
FunctionBuilder::EdgeId FunctionBuilder::handover_edge() {
  return handlers_.empty() ? kNoEdge : add_edge(handlers_.back(), {}, true);
}

// ---- lets ------------------------------------------------------------------------------------------------------

NameId FunctionBuilder::let(Op op, std::span<const Atom> args, uint32_t attr) {
  NameId result = new_name({});
  if (!reachable()) return result;
  OpFacts info = op_facts(op);
  if (info.attr == AttrKind::none) attr = 0;
  LetData l{op,      result, static_cast<uint32_t>(f_.atoms.size()), static_cast<uint32_t>(args.size()), attr,
            kNoEdge, span_};
  f_.atoms.insert(f_.atoms.end(), args.begin(), args.end());
  bool splits = may_fail(info.effects) && !handlers_.empty();
  if (splits) l.handover = handover_edge();
  data(current_).lets.push_back(l);
  if (splits) {  // the state handed over is the end state of this block
    BlockId next = new_block();
    jump(next);
    data(next).sealed = true;
    switch_to(next);
  }
  return result;
}

uint32_t FunctionBuilder::add_call(CallSig sig) {
  f_.calls.push_back(std::move(sig));
  return static_cast<uint32_t>(f_.calls.size() - 1);
}
uint32_t FunctionBuilder::add_path(PlacePath path) {
  f_.paths.push_back(std::move(path));
  return static_cast<uint32_t>(f_.paths.size() - 1);
}
NameId FunctionBuilder::let_call(Op op, std::span<const Atom> args, CallSig sig) {
  return let(op, args, add_call(std::move(sig)));
}

static std::vector<Atom> prepend(std::initializer_list<Atom> lead, std::span<const Atom> rest) {
  std::vector<Atom> all(lead);
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}
static CallSig positional_sig(size_t n) {
  CallSig sig;
  sig.args.resize(n);
  return sig;
}

NameId FunctionBuilder::call(Atom callee, std::span<const Atom> args) {
  return call(callee, args, positional_sig(args.size()));
}
NameId FunctionBuilder::call(Atom callee, std::span<const Atom> args, CallSig sig) {
  return let_call(prim::call, prepend({callee}, args), std::move(sig));
}
NameId FunctionBuilder::call_method(Atom receiver, Symbol method, std::span<const Atom> args, CallSig sig) {
  sig.method = method;
  return let_call(prim::call_method, prepend({receiver}, args), std::move(sig));
}
NameId FunctionBuilder::call_method(Atom receiver, Symbol method, std::initializer_list<Atom> args) {
  return call_method(receiver, method, std::span<const Atom>(args.begin(), args.size()), positional_sig(args.size()));
}
NameId FunctionBuilder::call_loaded(Atom loaded, Atom receiver, Symbol method, std::span<const Atom> args,
                                    CallSig sig) {
  sig.method = method;
  return let_call(prim::call_loaded, prepend({loaded, receiver}, args), std::move(sig));
}
NameId FunctionBuilder::make_class(Atom body, Atom name, std::span<const Atom> args, CallSig sig) {
  return let_call(prim::make_class, prepend({body, name}, args), std::move(sig));
}
NameId FunctionBuilder::update(PlacePath path, std::span<const Atom> args) {
  return let(prim::update, args, add_path(std::move(path)));
}

// ---- terminators -----------------------------------------------------------------------------------------------

void FunctionBuilder::end_block() {
  BlockData& d = data(current_);
  d.span = span_;
  current_ = BlockId::none;
}

void FunctionBuilder::jump(BlockId to, std::span<const Atom> args) {
  if (!reachable()) return;
  EdgeId e = add_edge(to, args, false);
  BlockData& d = data(current_);
  d.kind = Terminator::Kind::jump;
  d.targets = {e};
  end_block();
}

void FunctionBuilder::branch(Atom condition, BlockId if_true, BlockId if_false) {
  branch(condition, if_true, {}, if_false, {});
}
void FunctionBuilder::branch(Atom condition, BlockId if_true, std::span<const Atom> true_args, BlockId if_false,
                             std::span<const Atom> false_args) {
  if (!reachable()) return;
  EdgeId t = add_edge(if_true, true_args, false), e = add_edge(if_false, false_args, false);
  BlockData& d = data(current_);
  d.kind = Terminator::Kind::branch;
  d.a = condition;
  d.targets = {t, e};
  end_block();
}

void FunctionBuilder::switch_on(Atom selector, std::span<const BlockId> targets,
                                std::span<const std::vector<Atom>> args) {
  if (!reachable()) return;
  std::vector<EdgeId> edges;
  for (size_t i = 0; i < targets.size(); ++i)
    edges.push_back(add_edge(targets[i], args.empty() ? std::span<const Atom>{} : args[i], false));
  BlockData& d = data(current_);
  d.kind = Terminator::Kind::switch_;
  d.a = selector;
  d.targets = std::move(edges);
  end_block();
}

void FunctionBuilder::return_(Atom value) {
  if (!reachable()) return;
  data(current_).kind = Terminator::Kind::return_;
  data(current_).a = value;
  end_block();
}

void FunctionBuilder::raise(Atom exception, Atom cause) {
  if (!reachable()) return;
  EdgeId e = handover_edge();
  BlockData& d = data(current_);
  d.kind = Terminator::Kind::raise;
  d.a = exception;
  d.b = cause;
  d.handover = e;
  end_block();
}

NameId FunctionBuilder::resume_after(Terminator::Kind kind, Atom value) {
  if (!reachable()) return new_name({});
  EdgeId h = handover_edge();
  BlockId next = new_block();
  EdgeId e = add_edge(next, {}, false);
  BlockData& d = data(current_);
  d.kind = kind;
  d.a = value;
  d.handover = h;
  d.targets = {e};
  end_block();
  NameId sent = new_name({});
  data(next).resumed = sent;
  data(next).sealed = true;
  switch_to(next);
  return sent;
}
NameId FunctionBuilder::yield(Atom value) { return resume_after(Terminator::Kind::yield, value); }
NameId FunctionBuilder::yield_from(Atom value) { return resume_after(Terminator::Kind::yield_from, value); }

void FunctionBuilder::unreachable() {
  if (!reachable()) return;
  data(current_).kind = Terminator::Kind::unreachable;
  end_block();
}

// ---- constants -------------------------------------------------------------------------------------------------

static uint64_t hash_of(const Constant& c) {
  uint64_t h = static_cast<uint64_t>(c.kind) * 0x9E3779B97F4A7C15u;
  auto mix = [&h](uint64_t v) { h = (h ^ v) * 0xff51afd7ed558ccdu, h ^= h >> 32; };
  mix(static_cast<uint64_t>(c.i));
  mix(std::bit_cast<uint64_t>(c.f));
  mix(std::hash<std::string>()(c.text));
  for (ConstId i : c.items) mix(index(i));
  mix(reinterpret_cast<uintptr_t>(c.code.get()));
  return h;
}
static bool same(const Constant& a, const Constant& b) {
  return a.kind == b.kind && a.i == b.i && std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f) &&
         a.text == b.text && a.items == b.items && a.code == b.code;
}

Atom FunctionBuilder::add_constant(Constant c) {
  uint64_t h = hash_of(c);
  auto [begin, end] = constant_index_.equal_range(h);
  for (auto it = begin; it != end; ++it)
    if (same(f_.constants[index(it->second)], c)) return it->second;
  ConstId id{static_cast<uint32_t>(f_.constants.size())};
  f_.constants.push_back(std::move(c));
  constant_index_.emplace(h, id);
  return id;
}

Atom FunctionBuilder::none() { return add_constant({.kind = Constant::Kind::none}); }
Atom FunctionBuilder::boolean(bool b) {
  return add_constant({.kind = b ? Constant::Kind::true_ : Constant::Kind::false_});
}
Atom FunctionBuilder::ellipsis() { return add_constant({.kind = Constant::Kind::ellipsis}); }
Atom FunctionBuilder::not_implemented() { return add_constant({.kind = Constant::Kind::not_implemented}); }
Atom FunctionBuilder::unbound() { return add_constant({.kind = Constant::Kind::unbound}); }
Atom FunctionBuilder::zero() { return add_constant({.kind = Constant::Kind::zero}); }
Atom FunctionBuilder::integer(int64_t v) { return add_constant({.kind = Constant::Kind::integer, .i = v}); }
Atom FunctionBuilder::big_integer(std::string_view decimal) {
  return add_constant({.kind = Constant::Kind::big_integer, .text = std::string(decimal)});
}
Atom FunctionBuilder::floating(double v) { return add_constant({.kind = Constant::Kind::floating, .f = v}); }
Atom FunctionBuilder::string(std::string_view text) {
  return add_constant({.kind = Constant::Kind::string, .text = std::string(text)});
}
Atom FunctionBuilder::bytes(std::string_view raw) {
  return add_constant({.kind = Constant::Kind::bytes, .text = std::string(raw)});
}
Atom FunctionBuilder::tuple_const(std::span<const Atom> constants) {
  Constant c{.kind = Constant::Kind::tuple};
  for (Atom a : constants) c.items.push_back(a.constant());
  return add_constant(std::move(c));
}
Atom FunctionBuilder::dtype(int64_t dtype) { return add_constant({.kind = Constant::Kind::dtype, .i = dtype}); }
Atom FunctionBuilder::code(FunctionRef inner) {
  Constant c{.kind = Constant::Kind::code};
  c.code = std::move(inner);
  return add_constant(std::move(c));
}
Atom FunctionBuilder::constant_from(const Function& other, ConstId id) {
  Constant c = other.constant(id);
  for (ConstId& item : c.items) item = constant_from(other, item).constant();
  return add_constant(std::move(c));
}
void FunctionBuilder::set_doc(std::string_view text) { f_.doc = string(text).constant(); }

// ---- finish ----------------------------------------------------------------------------------------------------

// Writes the blocks that are reached into `out`, in the order they were started, with names, constants, calls and paths
// numbered as they come.
struct FunctionBuilder::Finisher {
  FunctionBuilder& b;
  Function out{};
  std::vector<uint32_t> live_preds{};
  std::vector<BlockId> next_in_chain{};  // block that is appended to this one
  std::vector<bool> reached{}, appended{};
  std::vector<BlockId> new_block_id{};
  std::vector<NameId> new_name_id{};
  std::vector<ConstId> new_const_id{};
  std::vector<uint32_t> new_call_id{}, new_path_id{};
  std::unordered_set<const LetData*> dropped{};

  BlockId target(EdgeId e) { return b.edges_[e].to; }

  void reach() {
    reached.assign(b.blocks_.size(), false);
    live_preds.assign(b.blocks_.size(), 0);
    std::vector<BlockId> work{BlockId{0}};
    reached[0] = true;
    auto visit = [&](EdgeId e) {
      if (e == kNoEdge) return;
      BlockId t = target(e);
      ++live_preds[index(t)];
      if (reached[index(t)]) return;
      reached[index(t)] = true;
      work.push_back(t);
    };
    while (!work.empty()) {
      BlockData& d = b.data(work.back());
      work.pop_back();
      if (d.kind == Terminator::Kind::none) ouro_bug("block without terminator in %s", b.f_.name.c_str());
      for (const LetData& l : d.lets) visit(l.handover);
      visit(d.handover);
      for (EdgeId e : d.targets) visit(e);
    }
  }

  // Blocks with one predecessor that jumps to them become part of it.
  void join_chains() {
    next_in_chain.assign(b.blocks_.size(), BlockId::none);
    appended.assign(b.blocks_.size(), false);
    for (BlockId id : b.order_) {
      BlockData& d = b.data(id);
      if (!reached[index(id)] || d.kind != Terminator::Kind::jump) continue;
      BlockId t = target(d.targets[0]);
      BlockData& td = b.data(t);
      if (live_preds[index(t)] != 1 || td.handler || index(t) == 0) continue;
      next_in_chain[index(id)] = t;
      appended[index(t)] = true;
      for (size_t k = 0; k < td.params.size(); ++k) {
        if (td.params[k].dead) continue;
        td.params[k].dead = true;
        b.forward_[index(td.params[k].name)] = b.resolve(b.edges_[d.targets[0]].args[k]);
      }
    }
  }

  // Drops lets of blocks that are reached whose results nobody reads, and then what only they read.
  void drop_unused() {
    std::vector<uint32_t> uses(b.names_.size(), 0);
    std::vector<LetData*> binding(b.names_.size(), nullptr);
    auto count = [&](Atom a, uint32_t by) {
      a = b.resolve(a);
      if (a.is_name()) uses[index(a.name())] += by;
    };
    auto count_edge = [&](EdgeId e) {
      if (e == kNoEdge) return;
      const auto& params = b.data(target(e)).params;
      for (size_t k = 0; k < params.size(); ++k)
        if (!params[k].dead) count(b.edges_[e].args[k], 1);
    };
    for (BlockId id : b.order_) {
      if (!reached[index(id)]) continue;
      BlockData& d = b.data(id);
      for (LetData& l : d.lets) {
        binding[index(l.result)] = &l;
        for (uint32_t k = 0; k < l.nargs; ++k) count(b.f_.atoms[l.args_begin + k], 1);
        count_edge(l.handover);
      }
      count(d.a, 1), count(d.b, 1);
      count_edge(d.handover);
      for (EdgeId e : d.targets) count_edge(e);
    }
    std::vector<LetData*> work;
    auto consider = [&](LetData* l) {
      uint32_t effects = op_facts(l->op).effects;
      if (uses[index(l->result)] == 0 && l->handover == kNoEdge && !(effects & ~(uint32_t{kAlloc} | kReads)))
        work.push_back(l);
    };
    for (LetData* l : binding)
      if (l) consider(l);
    while (!work.empty()) {
      LetData* l = work.back();
      work.pop_back();
      if (dropped.count(l)) continue;
      dropped.insert(l);
      for (uint32_t k = 0; k < l->nargs; ++k) {
        Atom a = b.resolve(b.f_.atoms[l->args_begin + k]);
        if (!a.is_name()) continue;
        --uses[index(a.name())];
        if (LetData* def = binding[index(a.name())]) consider(def);
      }
    }
  }

  NameId name(NameId n) {
    NameId& id = new_name_id[index(n)];
    if (id == NameId::none) {
      id = NameId{static_cast<uint32_t>(out.names.size())};
      out.names.push_back(b.names_[index(n)]);
    }
    return id;
  }
  ConstId constant(ConstId c) {
    if (c == ConstId::none) return c;
    if (new_const_id[index(c)] != ConstId::none) return new_const_id[index(c)];
    Constant copy = b.f_.constants[index(c)];
    for (ConstId& item : copy.items) item = constant(item);
    out.constants.push_back(std::move(copy));
    return new_const_id[index(c)] = ConstId{static_cast<uint32_t>(out.constants.size() - 1)};
  }
  Atom atom(Atom a) {
    a = b.resolve(a);
    if (a.is_name()) return name(a.name());
    return a.is_const() ? Atom(constant(a.constant())) : a;
  }
  template <class T>
  static uint32_t renumber(std::vector<uint32_t>& ids, uint32_t i, const std::vector<T>& from, std::vector<T>& to) {
    if (ids[i] == UINT32_MAX) {
      ids[i] = static_cast<uint32_t>(to.size());
      to.push_back(from[i]);
    }
    return ids[i];
  }
  uint32_t attr(AttrKind kind, uint32_t a) {
    switch (kind) {
      case AttrKind::constant:
        return a == kNoAttr ? a : index(constant(ConstId{a}));
      case AttrKind::call:
        return renumber(new_call_id, a, b.f_.calls, out.calls);
      case AttrKind::path:
        return renumber(new_path_id, a, b.f_.paths, out.paths);
      default:
        return a;
    }
  }

  template <class Place>
  Place place(EdgeId e) {
    const Edge& edge = b.edges_[e];
    const BlockData& d = b.data(edge.to);
    std::vector<Atom> args;  // atom() may add constants but not atoms, yet keep them together
    for (size_t k = 0; k < d.params.size(); ++k) {
      if (d.params[k].dead) continue;
      if (k >= edge.args.size()) ouro_bug("%s: a jump lacks arguments", b.f_.name.c_str());
      args.push_back(atom(edge.args[k]));
    }
    Place p;
    if constexpr (requires { p.handler; })
      p.handler = new_block_id[index(edge.to)];
    else
      p.block = new_block_id[index(edge.to)];
    p.args_begin = static_cast<uint32_t>(out.atoms.size());
    p.nargs = static_cast<uint32_t>(args.size());
    out.atoms.insert(out.atoms.end(), args.begin(), args.end());
    return p;
  }
  uint32_t handover(EdgeId e) {
    if (e == kNoEdge) return Let::kNoHandover;
    out.handovers.push_back(place<Handover>(e));
    return static_cast<uint32_t>(out.handovers.size() - 1);
  }

  void emit_params(const BlockData& d, Block& to) {
    if (d.exception != NameId::none) to.params.push_back(name(d.exception));
    for (const auto& p : d.params)
      if (!p.dead) to.params.push_back(name(p.name));
    if (d.resumed != NameId::none) to.params.push_back(name(d.resumed));
    to.handler = d.handler;
  }
  void emit_lets(const BlockData& d, Block& to) {
    for (const LetData& l : d.lets) {
      if (dropped.count(&l)) continue;
      Let n;
      n.op = l.op;
      n.attr = attr(op_facts(l.op).attr, l.attr);
      n.args_begin = static_cast<uint32_t>(out.atoms.size());
      n.nargs = l.nargs;
      out.atoms.resize(out.atoms.size() + l.nargs);
      for (uint32_t k = 0; k < l.nargs; ++k) out.atoms[n.args_begin + k] = atom(b.f_.atoms[l.args_begin + k]);
      n.handover = handover(l.handover);
      n.result = name(l.result);
      n.span = l.span;
      to.lets.push_back(n);
    }
  }
  void emit_terminator(const BlockData& d, Block& to) {
    to.term.kind = d.kind;
    to.term.a = atom(d.a);
    to.term.b = atom(d.b);
    for (EdgeId e : d.targets) to.term.targets.push_back(place<Target>(e));
    to.term.handover = handover(d.handover);
    to.term.span = d.span;
  }

  // Marks the targets of edges that go back to a block still on the depth-first path.
  void mark_loop_heads() {
    enum : uint8_t { unseen, open, done };
    std::vector<uint8_t> state(out.blocks.size(), unseen);
    std::vector<std::vector<uint32_t>> successors(out.blocks.size());
    for (size_t i = 0; i < out.blocks.size(); ++i) {
      const Block& block = out.blocks[i];
      auto unwind = [&](uint32_t h) {
        if (h != Let::kNoHandover) successors[i].push_back(index(out.handovers[h].handler));
      };
      for (const Let& l : block.lets) unwind(l.handover);
      unwind(block.term.handover);
      for (const Target& t : block.term.targets) successors[i].push_back(index(t.block));
    }
    std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
    state[0] = open;
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      if (next == successors[n].size()) {
        state[n] = done;
        stack.pop_back();
        continue;
      }
      uint32_t s = successors[n][next++];
      if (state[s] == open) out.blocks[s].loop_head = true;
      if (state[s] != unseen) continue;
      state[s] = open;
      stack.push_back({s, 0});
    }
  }

  Function run() {
    reach();
    join_chains();
    if (b.drop_unused_) drop_unused();
    Function& f = b.f_;
    out.name = f.name, out.qualname = f.qualname, out.kind = f.kind, out.is_generator = f.is_generator;
    out.is_method = f.is_method, out.derived = f.derived, out.sig = std::move(f.sig),
    out.captures = std::move(f.captures), out.locals = std::move(f.locals), out.span = f.span;
    new_name_id.assign(b.names_.size(), NameId::none);
    new_const_id.assign(f.constants.size(), ConstId::none);
    new_call_id.assign(f.calls.size(), UINT32_MAX);
    new_path_id.assign(f.paths.size(), UINT32_MAX);
    new_block_id.assign(b.blocks_.size(), BlockId::none);
    out.doc = constant(f.doc);
    std::vector<BlockId> heads;
    for (BlockId id : b.order_) {
      if (!reached[index(id)] || appended[index(id)]) continue;
      new_block_id[index(id)] = BlockId{static_cast<uint32_t>(heads.size())};
      heads.push_back(id);
    }
    for (BlockId id : heads) {
      Block block;
      emit_params(b.data(id), block);
      emit_lets(b.data(id), block);
      while (next_in_chain[index(id)] != BlockId::none) {
        id = next_in_chain[index(id)];
        emit_lets(b.data(id), block);
      }
      emit_terminator(b.data(id), block);
      out.blocks.push_back(std::move(block));
    }
    mark_loop_heads();
    return std::move(out);
  }
};

FunctionRef FunctionBuilder::finish() {
  if (reachable()) ouro_bug("%s: the last block has no terminator", f_.name.c_str());
  for (BlockId b : order_)
    if (!data(b).sealed) ouro_bug("%s: a block was never sealed", f_.name.c_str());
  drain();
  unbound();  // may be needed below; constants must not grow while they are numbered
  Finisher finisher{*this};
  auto f = std::make_shared<const Function>(finisher.run());
  check_if_asked(*f);
  return f;
}

}  // namespace ouro::ir
