// The forward form: the function as it was, with its calls made to forward forms, keeping what backward needs.
#include "ir/grad/reverser.h"

namespace ouro::ir::grad {

FunctionRef Reverse::run(std::string* error) {
  if (f_.is_generator) {
    if (error) *error = "generator " + f_.qualname.str() + ", which takes what is sent to it or returned to it";
    return nullptr;
  }
  head();
  for (BlockId b : flow_.order()) forward_block(b);
  exit();
  fwd_.drop_unused_lets();
  return fwd_.finish();
}

void Reverse::head() {
  Function& h = fwd_.head();
  h.qualname = f_.qualname, h.kind = f_.kind, h.is_method = f_.is_method, h.captures = f_.captures;
  h.captures.push_back({intern("<self>"), false});
  h.derived = true;
  h.sig = f_.sig;
  if (flat_) {
    h.sig = {};
    h.sig.names = f_.sig.names;
    h.sig.posonly = h.sig.positional = static_cast<uint32_t>(f_.sig.count());
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

uint32_t Reverse::new_record() {
  records_.push_back({});
  records_.back().seq = fwd_.let(prim::seq_new);
  return static_cast<uint32_t>(records_.size() - 1);
}

bool Reverse::needs_label(uint32_t b) const {
  return flow_.in_edges(BlockId{b}).size() > 1 && flow_.node_of(BlockId{b}).returns;
}

void Reverse::declare_block(uint32_t b) {
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

Atom Reverse::fatom(Atom a) {
  if (a.is_const()) return fwd_.constant_from(f_, a.constant());
  return a.is_none() ? a : map_[index(a.name())];
}

std::vector<Atom> Reverse::fatoms(const Atom* a, uint32_t n) {
  std::vector<Atom> result;
  for (uint32_t i = 0; i < n; ++i) result.push_back(fatom(a[i]));
  return result;
}

std::vector<Atom> Reverse::fargs(const Let& l) { return fatoms(f_.args(l), l.nargs); }

// The arguments of the edge with this number, its label behind them.
std::vector<Atom> Reverse::edge_args(const Target& t, uint32_t number) {
  std::vector<Atom> args = fatoms(f_.args(t), t.nargs);
  if (needs_label(index(t.block))) args.push_back(fwd_.integer(number));
  return args;
}

void Reverse::forward_block(BlockId b) {
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
void Reverse::enter_handler(uint32_t handover, uint32_t number) {
  const Handover& h = f_.handovers[handover];
  const auto& vars = handler_vars_[index(h.handler)];
  for (uint32_t i = 0; i < h.nargs; ++i) fwd_.write_var(vars[i], fatom(f_.args(h)[i]));
  if (needs_label(index(h.handler))) fwd_.write_var(vars.back(), fwd_.integer(number));
  fwd_.push_handler(blocks_[index(h.handler)]);
}

void Reverse::push_record() {
  if (record_ == UINT32_MAX) return;
  Record& r = records_[record_];
  if (r.items.empty()) return;
  std::vector<Atom> args{r.seq};
  args.insert(args.end(), r.items.begin(), r.items.end());
  fwd_.let(prim::seq_push, args);
  r.count = static_cast<uint32_t>(r.items.size());
  r.items.clear();
}

void Reverse::forward_terminator(const Terminator& t) {
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

// ---- residuals

// Keeps forward atom `a` for the pullback of the node that is emitted.
Reverse::Residual Reverse::save(Atom a) {
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

std::vector<Reverse::Residual> Reverse::save_all(const std::vector<Atom>& atoms) {
  std::vector<Residual> result;
  for (Atom a : atoms) result.push_back(save(a));
  return result;
}

// The residual in the pullback.
Atom Reverse::get(const Residual& r) {
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

Atom Reverse::constant_to_pullback(Atom a) { return bwd_.constant_from(fwd_.head(), a.constant()); }

}  // namespace ouro::ir::grad
