// The state of one reverse-mode transformation (reverse.cpp has the theory; rules.cpp what becomes of each operation).
#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "ir/build.h"
#include "ir/effect.h"
#include "ir/grad/flow.h"
#include "ir/walk.h"

namespace ouro::ir::grad {

// How a primitive is differentiated. `keep` has one letter per operand: v value, l kind and shape, . nothing.
enum class Form : uint8_t {
  plain,       // no derivative, and nothing that could need one (bools, strings, structure)
  fail,        // no derivative: an error if one is asked for
  identity,    // y = a
  arithmetic,  // pure rule over the operands; may call a method
  custom,
};

class Reverse;
using Emit = void (Reverse::*)(const Let&);
struct PrimForm {
  Op op;
  Form form;
  const char* keep = "";
  Emit emit = nullptr;
};

class Reverse {
 public:
  Reverse(const Function& f, bool flat)
      : f_(f), flat_(flat), flow_(f), fwd_(f.name, f.span), bwd_(pullback_name(f), f.span) {}

  FunctionRef run(std::string* error) {
    if (f_.is_generator) {
      if (error) *error = "generator " + f_.qualname.str();
      return nullptr;
    }
    head();
    for (BlockId b : flow_.order()) forward_block(b);
    exit();
    fwd_.drop_unused_lets();
    return fwd_.finish();
  }

 private:
  // What backward needs of a forward value: a constant, a captured variable, or an item of a node's record.
  struct Residual {
    enum class Kind : uint8_t { constant, variable, record } kind = Kind::constant;
    Atom constant{};      // of f_
    uint32_t index = 0;   // into variables_, or item of the record
    uint32_t record = 0;  // which
  };
  struct Record {  // of a node in a loop, or of the let that ends it
    NameId seq = NameId::none;
    std::vector<Atom> items;
    uint32_t count = 0;
    Variable counter = Variable::none;  // in the pullback
    Atom position{};                    // in the pullback, while the node is emitted
    size_t capture = SIZE_MAX;
  };
  using Adjoint = std::function<void()>;
  struct NodeWork {
    std::vector<Adjoint> adjoints, last;  // of the let that ends the node, if it hands over
    uint32_t record = UINT32_MAX, last_record = UINT32_MAX;
    BlockId rest = BlockId::none, full = BlockId::none;  // in the pullback
    Residual label;
  };

  static Symbol pullback_name(const Function& f) { return intern(f.name.str() + "'"); }

  // ---- forward form ---------------------------------------------------------------------------------------------

  void head() {
    Function& h = fwd_.head();
    h.qualname = f_.qualname, h.kind = f_.kind, h.is_method = f_.is_method, h.captures = f_.captures;
    h.captures.push_back({intern("<self>"), false});
    h.sig = f_.sig;
    if (flat_) {
      h.sig = {};
      h.sig.names = f_.sig.names;
      h.sig.posonly = h.sig.positional = static_cast<uint16_t>(f_.sig.count());
    }
    if (f_.doc != ConstId::none) h.doc = fwd_.constant_from(f_, f_.doc).constant();
    map_.resize(f_.names.size());
    for (NameId p : f_.blocks[0].params) map_[index(p)] = fwd_.entry_param(f_.name_info(p).hint, f_.name_info(p).type);
    self_ = fwd_.entry_param(intern("<self>"));
    work_.resize(flow_.nodes().size());
    for (uint32_t n = 0; n < work_.size(); ++n) {
      const Node& node = flow_.nodes()[n];
      if (!node.in_loop || !node.returns) continue;
      work_[n].record = new_record();
      if (node.splits) work_[n].last_record = new_record();
    }
    blocks_.resize(f_.blocks.size());
    labels_.resize(f_.blocks.size());
    handler_vars_.resize(f_.blocks.size());
    for (uint32_t b = 1; b < f_.blocks.size(); ++b) declare_block(b);
    exit_ = fwd_.new_block();
    exit_value_ = fwd_.block_param(exit_, {});
    exit_label_ = fwd_.block_param(exit_, {});
  }

  uint32_t new_record() {
    records_.push_back({});
    records_.back().seq = fwd_.let(prim::seq_new);
    return static_cast<uint32_t>(records_.size() - 1);
  }

  bool needs_label(uint32_t b) const {
    return flow_.in_edges(BlockId{b}).size() > 1 && flow_.node_of(BlockId{b}).returns;
  }

  void declare_block(uint32_t b) {
    const Block& block = f_.blocks[b];
    if (block.handler) {
      blocks_[b] = fwd_.new_handler();
      map_[index(block.params[0])] = fwd_.exception_of(blocks_[b]);
      for (size_t i = 1; i < block.params.size(); ++i)
        handler_vars_[b].push_back(fwd_.declare_var(f_.name_info(block.params[i]).hint));
      if (needs_label(b)) handler_vars_[b].push_back(fwd_.declare_var({}));
      return;
    }
    blocks_[b] = fwd_.new_block();
    for (NameId p : block.params)
      map_[index(p)] = fwd_.block_param(blocks_[b], f_.name_info(p).hint, f_.name_info(p).type);
    if (needs_label(b)) labels_[b] = fwd_.block_param(blocks_[b], {});
  }

  Atom fatom(Atom a) {
    if (a.is_const()) return fwd_.constant_from(f_, a.constant());
    return a.is_none() ? a : map_[index(a.name())];
  }
  std::vector<Atom> fatoms(const Atom* a, uint32_t n) {
    std::vector<Atom> result;
    for (uint32_t i = 0; i < n; ++i) result.push_back(fatom(a[i]));
    return result;
  }
  std::vector<Atom> fargs(const Let& l) { return fatoms(f_.args(l), l.nargs); }

  // The arguments of the edge with this number, its label behind them.
  std::vector<Atom> edge_args(const Target& t, uint32_t number) {
    std::vector<Atom> args = fatoms(f_.args(t), t.nargs);
    if (needs_label(index(t.block))) args.push_back(fwd_.integer(number));
    return args;
  }

  void forward_block(BlockId b) {
    if (index(b) != 0) {
      fwd_.switch_to(blocks_[index(b)]);
    }
    const Block& block = f_.block(b);
    uint32_t node = flow_.first_node(b);
    node_ = node;
    current_ = &work_[node].adjoints;
    record_ = work_[node].record;
    if (block.handler) {
      for (size_t i = 1; i < block.params.size(); ++i)
        map_[index(block.params[i])] = fwd_.read_var(handler_vars_[index(b)][i - 1]);
      if (needs_label(index(b))) labels_[index(b)] = fwd_.read_var(handler_vars_[index(b)].back());
    }
    if (needs_label(index(b))) work_[node].label = save(labels_[index(b)]);
    for (const Let& l : block.lets) {
      bool ends = l.handover != Let::kNoHandover;
      if (ends) {
        push_record();
        enter_handler(l.handover, flow_.handover_number(l.handover));
        current_ = &work_[node_].last;
        record_ = work_[node_].last_record;
      }
      forward_let(l);
      if (!ends) continue;
      fwd_.pop_handler();
      push_record();
      ++node_;
      current_ = &work_[node_].adjoints;
      record_ = work_[node_].record;
    }
    push_record();
    forward_terminator(block.term);
  }

  // What the handler receives, in its variables, then the handler itself.
  void enter_handler(uint32_t handover, uint32_t number) {
    const Handover& h = f_.handovers[handover];
    const auto& vars = handler_vars_[index(h.handler)];
    for (uint32_t i = 0; i < h.nargs; ++i) fwd_.write_var(vars[i], fatom(f_.args(h)[i]));
    if (needs_label(index(h.handler))) fwd_.write_var(vars.back(), fwd_.integer(number));
    fwd_.push_handler(blocks_[index(h.handler)]);
  }

  void push_record() {
    if (record_ == UINT32_MAX) return;
    Record& r = records_[record_];
    if (r.items.empty()) return;
    std::vector<Atom> args{r.seq};
    args.insert(args.end(), r.items.begin(), r.items.end());
    fwd_.let(prim::seq_push, args);
    r.count = static_cast<uint32_t>(r.items.size());
    r.items.clear();
  }

  void forward_terminator(const Terminator& t) {
    using K = Terminator::Kind;
    fwd_.set_span(t.span);
    auto number = [&](size_t i) { return flow_.target_number(&t, i); };
    switch (t.kind) {
      case K::return_: {
        Atom args[] = {fatom(t.a), fwd_.integer(static_cast<int64_t>(returns_.size()))};
        returns_.push_back({node_, t.a});
        fwd_.jump(exit_, args);
        break;
      }
      case K::jump:
        fwd_.jump(blocks_[index(t.targets[0].block)], edge_args(t.targets[0], number(0)));
        break;
      case K::branch:
        fwd_.branch(fatom(t.a), blocks_[index(t.targets[0].block)], edge_args(t.targets[0], number(0)),
                    blocks_[index(t.targets[1].block)], edge_args(t.targets[1], number(1)));
        break;
      case K::switch_: {
        std::vector<BlockId> to;
        std::vector<std::vector<Atom>> args;
        for (size_t i = 0; i < t.targets.size(); ++i) {
          to.push_back(blocks_[index(t.targets[i].block)]);
          args.push_back(edge_args(t.targets[i], number(i)));
        }
        fwd_.switch_on(fatom(t.a), to, args);
        break;
      }
      case K::raise:
        if (t.handover != Let::kNoHandover) enter_handler(t.handover, flow_.handover_number(t.handover));
        fwd_.raise(fatom(t.a), fatom(t.b));
        if (t.handover != Let::kNoHandover) fwd_.pop_handler();
        break;
      default:
        fwd_.unreachable();
    }
  }

  // ---- residuals ------------------------------------------------------------------------------------------------

  // Keeps forward atom `a` for the pullback of the node that is emitted.
  Residual save(Atom a) {
    if (a.is_const()) return {Residual::Kind::constant, a, 0, 0};
    if (record_ == UINT32_MAX || record_ >= records_.size()) {
      for (uint32_t i = 0; i < variables_.size(); ++i)
        if (variables_[i].value == a) {
          fwd_.write_var(variables_[i].var, a);
          return {Residual::Kind::variable, {}, i, 0};
        }
      variables_.push_back({a, fwd_.declare_var({})});
      fwd_.init_var(variables_.back().var, fwd_.none());
      fwd_.write_var(variables_.back().var, a);
      return {Residual::Kind::variable, {}, static_cast<uint32_t>(variables_.size() - 1), 0};
    }
    Record& r = records_[record_];
    for (uint32_t i = 0; i < r.items.size(); ++i)
      if (r.items[i] == a) return {Residual::Kind::record, {}, i, record_};
    r.items.push_back(a);
    return {Residual::Kind::record, {}, static_cast<uint32_t>(r.items.size() - 1), record_};
  }
  std::vector<Residual> save_all(const std::vector<Atom>& atoms) {
    std::vector<Residual> result;
    for (Atom a : atoms) result.push_back(save(a));
    return result;
  }

  // The residual in the pullback.
  Atom get(const Residual& r) {
    switch (r.kind) {
      case Residual::Kind::constant:
        return constant_to_pullback(r.constant);
      case Residual::Kind::variable:
        return captures_[r.index];
      case Residual::Kind::record: {
        Record& rec = records_[r.record];
        return bwd_.let(prim::seq_get, {captures_[rec.capture], rec.position}, r.index);
      }
    }
    return {};
  }
  Atom constant_to_pullback(Atom a) { return bwd_.constant_from(fwd_.head(), a.constant()); }

  // ---- one let --------------------------------------------------------------------------------------------------

  void forward_let(const Let& l);
  void plain(const Let& l) { bind(l, copy(l)); }
  NameId copy(const Let& l) { return copy(l, fargs(l)); }
  NameId copy(const Let& l, const std::vector<Atom>& args) {
    switch (op_facts(l.op).attr) {
      case AttrKind::call:
        return fwd_.let(l.op, args, fwd_.add_call(f_.calls[l.attr]));
      case AttrKind::path:
        return fwd_.let(l.op, args, fwd_.add_path(f_.paths[l.attr]));
      case AttrKind::constant:
        return fwd_.let(l.op, args,
                        l.attr == kNoAttr ? l.attr : index(fwd_.constant_from(f_, ConstId{l.attr}).constant()));
      default:
        return fwd_.let(l.op, args, l.attr);
    }
  }
  void bind(const Let& l, NameId n) {
    map_[index(l.result)] = n;
    const NameInfo& info = f_.name_info(l.result);
    if (info.hint) fwd_.set_hint(n, info.hint);
    if (info.type) fwd_.set_type(n, info.type);
  }
  void adjoint(Adjoint a) { current_->push_back(std::move(a)); }

  static uint32_t attr(std::string_view name) { return intern(name).id(); }
  Atom name_string(FunctionBuilder& b, uint32_t symbol) { return b.string(Symbol::from_id(symbol).text()); }
  NameId call_f(Atom callee, const std::vector<Atom>& args, Op op = prim::call) {
    return call_in(fwd_, callee, args, op);
  }
  NameId call_b(Atom callee, const std::vector<Atom>& args, Op op = prim::call) {
    return call_in(bwd_, callee, args, op);
  }
  static NameId call_in(FunctionBuilder& b, Atom callee, const std::vector<Atom>& args, Op op) {
    std::vector<Atom> all{callee};
    all.insert(all.end(), args.begin(), args.end());
    CallSig sig;
    sig.args.resize(args.size());
    return b.let_call(op, all, std::move(sig));
  }

  // In the pullback: the cotangent of a name of f, and adding to it.
  Atom cotangent(NameId n) { return bwd_.read_var(cotangents_[index(n)]); }
  bool is_zero(Atom a) { return a.is_const() && bwd_.constant(a).kind == Constant::Kind::zero; }
  void set_cotangent(NameId n, Atom d) { bwd_.write_var(cotangents_[index(n)], d); }
  void accumulate(Atom a, Atom d) {
    if (!a.is_name() || is_zero(d)) return;
    Atom sum = cotangent(a.name());
    set_cotangent(a.name(), is_zero(sum) ? d : Atom(bwd_.let(prim::ad_add, {sum, d})));
  }
  // The rule named `name` on (dy, env, args...): its tuple of cotangents, None where dy is zero. `witness` may be a
  // pullback.
  Atom apply_rule(std::string_view name, Atom dy, std::vector<Atom> args, bool always = false) {
    std::vector<Atom> look{dy};
    look.insert(look.end(), args.begin(), args.end());
    NameId rule = bwd_.let(always ? prim::ad_always : prim::ad_rule, look, attr(name));
    std::vector<Atom> all{dy, env_};
    all.insert(all.end(), args.begin(), args.end());
    return call_b(rule, all, prim::ad_try_call);
  }
  Atom item(Atom tuple, uint32_t i) { return bwd_.let(prim::ad_get, {tuple}, i); }
  std::vector<Atom> get_all(const std::vector<Residual>& rs) {
    std::vector<Atom> result;
    for (const Residual& r : rs) result.push_back(get(r));
    return result;
  }
  NameId key_pair(Atom object, Atom key) { return bwd_.let(prim::tuple, {object, key}); }

  // `op` on operands that may need a call: the pair or None, and the value.
  struct Special {
    NameId pair, value;
  };
  Special special(std::string_view name, const std::vector<Atom>& args) {
    NameId form = fwd_.let(prim::ad_special, args, attr(name));
    NameId pair = call_f(form, args, prim::ad_try_call);
    std::vector<Atom> all{pair};
    all.insert(all.end(), args.begin(), args.end());
    return {pair, fwd_.let(prim::ad_value, all, attr(name))};
  }
  // What is taken apart at once: `a` itself, or a list of the items of what they have to be drawn from (an iterator, an
  // object with __iter__).
  Special spread(Atom a) { return special("move", {a}); }
  NameId keep(NameId pair, Atom a) { return fwd_.let(prim::ad_keep, {pair, a}); }
  NameId like(Atom pair, Atom a) { return fwd_.let(prim::ad_like, {pair, a}); }

  void arithmetic(const Let& l, const char* kept);
  void kept_arithmetic(const Let& l, std::string_view rule, NameId pair, const Atom* operands, uint32_t n,
                       const char* kept);
  void call_let(const Let& l);
  void method_let(const Let& l);
  void method_get_let(const Let& l);
  void loaded_let(const Let& l);
  void try_call_let(const Let& l);
  void finish_call(const Let& l, NameId pair, uint32_t first, uint32_t count, Op op);
  void bound_call(const Let& l, NameId form, std::vector<Atom> args, uint32_t first);
  void attr_get_let(const Let& l);
  void attr_set_let(const Let& l);
  void item_get_let(const Let& l);
  void item_set_let(const Let& l);
  void item_del_let(const Let& l);
  void update_let(const Let& l);
  void tuple_let(const Let& l);
  void list_let(const Let& l);
  void dict_let(const Let& l);
  void tuple_get_let(const Let& l);
  void list_append_let(const Let& l);
  void taken_apart(Atom a, Atom d, Residual pair);
  void list_extend_let(const Let& l);
  void dict_set_let(const Let& l);
  void rule_let(const Let& l);
  void always_let(const Let& l);
  void unpack_star_let(const Let& l);
  void iter_let(const Let& l);
  void iter_next_let(const Let& l);
  void cell_new_let(const Let& l);
  void cell_get_let(const Let& l);
  void cell_set_let(const Let& l);
  void global_get_let(const Let& l);
  void global_set_let(const Let& l);
  void function_let(const Let& l);
  // order two and higher
  void value_let(const Let& l);
  void keep_let(const Let& l);
  void get_let(const Let& l);
  void one_hot_let(const Let& l);
  void add_let(const Let& l);
  void ad_item_let(const Let& l);
  void acc_let(const Let& l);
  void take_let(const Let& l);
  void peek_let(const Let& l);
  void put_let(const Let& l);
  void push_let(const Let& l);
  void seq_get_let(const Let& l);
  void bind_let(const Let& l);
  void unbind_let(const Let& l);
  void ad_update_let(const Let& l);
  static const std::map<Op, PrimForm>& forms();

  // ---- pullback -------------------------------------------------------------------------------------------------

  // The exit block: the pullback is made of what was kept, and returned with the value.
  void exit() {
    for (BlockId b : flow_.order())
      if (index(b) != 0) fwd_.seal(blocks_[index(b)]);
    fwd_.seal(exit_);
    if (!fwd_.has_edges_to(exit_)) return;  // f never returns
    fwd_.switch_to(exit_);
    fwd_.set_span(f_.span);
    std::vector<Atom> kept;
    NameId dy = bwd_.entry_param(intern("dy"));
    env_ = bwd_.entry_param(intern("env"));
    Function& h = bwd_.head();
    h.qualname = intern(f_.qualname.str() + "'");
    h.sig.names = {intern("dy"), intern("env")};
    h.sig.posonly = h.sig.positional = 2;
    auto capture = [&](Atom a, std::string_view name) {
      kept.push_back(a);
      h.captures.push_back({intern(name), false});
      captures_.push_back(bwd_.entry_param({}));
      return captures_.size() - 1;
    };
    for (const auto& v : variables_) capture(fwd_.read_var(v.var), "r");
    for (Record& r : records_)
      if (r.count) r.capture = capture(r.seq, "seq");
    size_t label = returns_.size() > 1 ? capture(exit_label_, "exit") : SIZE_MAX;
    size_t self = f_.captures.empty() ? SIZE_MAX : capture(self_, "self");
    backward(dy, label, self);
    bwd_.drop_unused_lets();
    FunctionRef code = without_unused_captures(*bwd_.finish(), kept);
    std::vector<Atom> args{fwd_.tuple_const({}), fwd_.none(), fwd_.none()};
    args.insert(args.end(), kept.begin(), kept.end());
    NameId pullback = fwd_.let(prim::function, args, index(fwd_.code(code).constant()));
    fwd_.return_(fwd_.let(prim::tuple, {exit_value_, pullback}));
  }

  // Captures that no rule read are not kept.
  static FunctionRef without_unused_captures(Function code, std::vector<Atom>& kept) {
    std::vector<bool> used(code.names.size(), false);
    for (const Block& b : code.blocks) for_each_use(code, b, [&](uint32_t, NameId n) { used[index(n)] = true; });
    auto& params = code.blocks[0].params;
    size_t to = 0, first = code.sig.count();
    for (size_t i = 0; i < kept.size(); ++i) {
      if (!used[index(params[first + i])]) continue;
      kept[to] = kept[i], code.captures[to] = code.captures[i], params[first + to] = params[first + i];
      ++to;
    }
    kept.resize(to), code.captures.resize(to), params.resize(first + to);
    return std::make_shared<const Function>(std::move(code));
  }

  void backward(NameId dy, size_t label, size_t self) {
    for (const NameInfo& n : f_.names) {
      cotangents_.push_back(bwd_.declare_var(n.hint ? intern("d_" + n.hint.str()) : Symbol{}));
      bwd_.write_var(cotangents_.back(), bwd_.zero());
    }
    for (Record& r : records_)
      if (r.count) {
        r.counter = bwd_.declare_var({});
        bwd_.write_var(r.counter, bwd_.let(prim::seq_len, {captures_[r.capture]}));
      }
    for (uint32_t n = 0; n < work_.size(); ++n) {
      work_[n].rest = bwd_.new_block();
      work_[n].full = flow_.nodes()[n].splits ? bwd_.new_block() : work_[n].rest;
    }
    emitted_.assign(work_.size(), false);
    std::vector<BlockId> returns;
    for (size_t i = 0; i < returns_.size(); ++i) returns.push_back(bwd_.new_block());
    if (returns.size() == 1)
      bwd_.jump(returns[0]);
    else
      bwd_.switch_on(captures_[label], returns);
    for (size_t i = 0; i < returns.size(); ++i) {
      bwd_.seal(returns[i]);
      bwd_.switch_to(returns[i]);
      accumulate(returns_[i].value, dy);
      go(work_[returns_[i].node].full, returns_[i].node);
    }
    while (!todo_.empty()) {  // from the end of the forward code: what needs no loop is sealed before it is emitted
      auto [key, node] = *todo_.rbegin();
      todo_.erase(std::prev(todo_.end()));
      if (key & 1)
        backward_full(node);
      else
        backward_rest(node, self);
    }
    for (const NodeWork& w : work_) {
      if (w.full != w.rest) bwd_.seal(w.full);
      bwd_.seal(w.rest);
    }
  }

  void go(BlockId block, uint32_t node) {
    if (!bwd_.has_edges_to(block)) todo_[flow_.position(node) * 2 + (block != work_[node].rest)] = node;
    bwd_.jump(block);
  }

  void step_back(uint32_t record) {
    if (record == UINT32_MAX || !records_[record].count) return;
    Record& r = records_[record];
    r.position = bwd_.let(prim::seq_prev, {bwd_.read_var(r.counter)});
    bwd_.write_var(r.counter, r.position);
  }
  static void run_reversed(const std::vector<Adjoint>& list) {
    for (auto it = list.rbegin(); it != list.rend(); ++it) (*it)();
  }

  void backward_full(uint32_t node) {
    bwd_.seal(work_[node].full);
    bwd_.switch_to(work_[node].full);
    step_back(work_[node].last_record);
    run_reversed(work_[node].last);
    go(work_[node].rest, node);
  }

  void backward_rest(uint32_t node, size_t self) {
    bool complete = true;
    for (uint32_t s : flow_.successors(node)) complete = complete && (emitted_[s] || !flow_.nodes()[s].returns);
    if (complete) bwd_.seal(work_[node].rest);
    bwd_.switch_to(work_[node].rest);
    emitted_[node] = true;
    step_back(work_[node].record);
    run_reversed(work_[node].adjoints);
    const Node& n = flow_.nodes()[node];
    if (!n.first) return go(work_[node - 1].full, node - 1);
    if (n.block == BlockId{0}) return finish_pullback(self);
    const auto& edges = flow_.in_edges(n.block);
    if (edges.size() == 1) return along(edges[0]);
    std::vector<BlockId> targets;
    for (size_t i = 0; i < edges.size(); ++i) targets.push_back(bwd_.new_block());
    bwd_.switch_on(get(work_[node].label), targets);
    for (size_t i = 0; i < edges.size(); ++i) {
      bwd_.seal(targets[i]);
      bwd_.switch_to(targets[i]);
      along(edges[i]);
    }
  }

  // Backwards over one edge: what a parameter has, its argument gets.
  void along(const InEdge& e) {
    const Block& b = f_.block(e.to);
    size_t shift = b.handler ? 1 : 0;
    if (b.handler) set_cotangent(b.params[0], bwd_.zero());
    std::vector<Atom> given;
    for (uint32_t i = 0; i < e.nargs; ++i) {
      given.push_back(cotangent(b.params[i + shift]));
      set_cotangent(b.params[i + shift], bwd_.zero());
    }
    for (uint32_t i = 0; i < e.nargs; ++i) accumulate(f_.atoms[e.args_begin + i], given[i]);
    go(e.handover ? work_[e.node].rest : work_[e.node].full, e.node);
  }

  void finish_pullback(size_t self) {
    const auto& params = f_.blocks[0].params;
    std::vector<Atom> result;
    size_t n = f_.sig.count();
    for (size_t i = 0; i < n; ++i) result.push_back(cotangent(params[i]));
    for (size_t i = n; i < params.size(); ++i) {
      Atom d = f_.captures[i - n].cell ? bwd_.zero() : cotangent(params[i]);
      if (!is_zero(d)) bwd_.let(prim::ad_acc, {env_, captures_[self], bwd_.integer(static_cast<int64_t>(i - n)), d});
    }
    size_t positional = f_.sig.positional;
    if (!flat_ && f_.sig.varargs &&
        !is_zero(result[positional])) {  // the arguments behind the named ones, each for itself
      std::vector<Atom> named(result.begin(), result.begin() + static_cast<ptrdiff_t>(positional));
      NameId rule = bwd_.let(prim::ad_always, {bwd_.none()}, attr("splice"));
      bwd_.return_(call_b(rule, {bwd_.let(prim::tuple, named), result[positional]}));
      return;
    }
    bwd_.return_(bwd_.let(prim::tuple, result));
  }

  struct Return {
    uint32_t node;
    Atom value;  // of f_
  };
  struct Kept {
    Atom value;
    Variable var;
  };

  const Function& f_;
  bool flat_;
  Flow flow_;
  FunctionBuilder fwd_, bwd_;
  std::vector<Atom> map_;  // name of f → forward atom
  std::vector<BlockId> blocks_;
  std::vector<Atom> labels_;
  std::vector<std::vector<Variable>> handler_vars_;
  NameId self_{}, exit_value_{}, exit_label_{}, env_{};
  BlockId exit_{};
  std::vector<NodeWork> work_;
  std::vector<Record> records_;
  std::vector<Kept> variables_;
  std::vector<Return> returns_;
  std::vector<Variable> cotangents_;
  std::vector<Atom> captures_;         // parameters of the pullback
  std::map<uint32_t, uint32_t> todo_;  // pullback blocks to emit, by position
  std::vector<bool> emitted_;
  uint32_t node_ = 0, record_ = UINT32_MAX;
  std::vector<Adjoint>* current_ = nullptr;
};

}  // namespace ouro::ir::grad
