// The pullback: the nodes of the forward form from the last to the first, each with the adjoints of its operations.
#include <iterator>
#include <memory>

#include "ir/grad/reverser.h"

namespace ouro::ir::grad {

// The exit block: the pullback is made of what was kept, and returned with the value.
void Reverse::exit() {
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
  h.derived = true;
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
FunctionRef Reverse::without_unused_captures(Function code, std::vector<Atom>& kept) {
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

void Reverse::backward(NameId dy, size_t label, size_t self) {
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

void Reverse::go(BlockId block, uint32_t node) {
  if (!bwd_.has_edges_to(block)) todo_[flow_.position(node) * 2 + (block != work_[node].rest)] = node;
  bwd_.jump(block);
}

void Reverse::step_back(uint32_t record) {
  if (record == UINT32_MAX || !records_[record].count) return;
  Record& r = records_[record];
  r.position = bwd_.let(prim::seq_prev, {bwd_.read_var(r.counter), captures_[r.capture]});
  bwd_.write_var(r.counter, r.position);
}

void Reverse::run_reversed(const std::vector<Adjoint>& list) {
  for (auto it = list.rbegin(); it != list.rend(); ++it) (*it)();
}

void Reverse::backward_full(uint32_t node) {
  bwd_.seal(work_[node].full);
  bwd_.switch_to(work_[node].full);
  step_back(work_[node].last_record);
  run_reversed(work_[node].last);
  go(work_[node].rest, node);
}

void Reverse::backward_rest(uint32_t node, size_t self) {
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
void Reverse::along(const InEdge& e) {
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

void Reverse::finish_pullback(size_t self) {
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

}  // namespace ouro::ir::grad
