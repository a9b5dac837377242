#include "ir/loops/batch.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "ir/ops/registry.h"
#include "ir/opt/edit.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "support/give_up.h"

namespace ouro::ir::loops {
namespace {

using Role = AxisUse::Role;
using Part = Batch::Part;
using SizeOf = std::function<int64_t(uint32_t)>;

// n = by * times, if there is such a size.
std::optional<SymDim> quotient(const SymDim& n, const SymDim& by) {
  if (n == by) return SymDim::number(1);
  if (by.known()) {
    if (by.c <= 0 || n.c % by.c || n.m % by.c) return std::nullopt;
    return SymDim{n.c / by.c, n.m / by.c, n.symbol};
  }
  if (n.known() || n.symbol != by.symbol || n.m % by.m || by.c * (n.m / by.m) != n.c) return std::nullopt;
  return SymDim::number(n.m / by.m);
}
// A dimension as a type has it, if it is one.
std::optional<SymDim> as_dim(const Poly& p) {
  SymDim d;
  for (const auto& [symbols, c] : p.terms()) {
    if (symbols.size() > 1) return std::nullopt;
    if (symbols.empty()) {
      d.c = c;
    } else {
      if (d.m) return std::nullopt;
      d.m = c, d.symbol = symbols[0];
    }
  }
  return d;
}

// ---------------------------------------------------------------- classes of axes

class Classes {
 public:
  explicit Classes(const Graph& g) : g_(g), first_(g.values.size() + 1, 0) {
    for (ValueId v = 0; v < g.values.size(); ++v) first_[v + 1] = first_[v] + static_cast<uint32_t>(g[v].dims.size());
    up_.resize(first_.back());
    std::iota(up_.begin(), up_.end(), 0u);
    maps_.resize(g.values.size());
    for (ValueId v = 0; v < g.values.size(); ++v) {
      if (g[v].is<form::Input>()) continue;
      may_give_up();
      maps_[v] = axis_map(g, v);
      for (const AxisMap::Operand& o : maps_[v].operands)
        for (size_t a = 0; a < o.uses.size(); ++a)
          if (o.uses[a].role == Role::kept) join(node(o.value, a), node(v, static_cast<size_t>(o.uses[a].to)));
      for (const AxisMap::Pair& p : maps_[v].together)
        join(node(maps_[v].operands[p.a].value, p.a_axis), node(maps_[v].operands[p.b].value, p.b_axis));
    }
  }

  uint32_t of(ValueId v, size_t axis) const {
    uint32_t n = node(v, axis);
    while (up_[n] != n) n = up_[n];
    return n;
  }
  const AxisMap& map(ValueId v) const { return maps_[v]; }

 private:
  uint32_t node(ValueId v, size_t axis) const { return first_[v] + static_cast<uint32_t>(axis); }
  void join(uint32_t a, uint32_t b) {
    while (up_[a] != a) a = up_[a] = up_[up_[a]];
    while (up_[b] != b) b = up_[b] = up_[up_[b]];
    up_[std::max(a, b)] = std::min(a, b);
  }

  const Graph& g_;
  std::vector<uint32_t> first_, up_;
  std::vector<AxisMap> maps_;
};

// ---------------------------------------------------------------- the proof for one class

class Proof {
 public:
  Proof(const Graph& g, const Classes& classes, uint32_t which)
      : g_(g), f_(*g.function), lets_(f_.block(g.block).lets), classes_(classes), which_(which) {}

  // Empty, or why it is no batch.
  std::string run() {
    batch.axis.resize(g_.values.size());
    batch.part.assign(lets_.size(), Part::before);
    batch.also_before.assign(lets_.size(), false);
    batch.onto.assign(lets_.size(), -1);
    batch.drawn_by.assign(lets_.size(), nullptr);
    let_of_.assign(f_.names.size(), UINT32_MAX);
    for (uint32_t i = 0; i < lets_.size(); ++i) let_of_[index(lets_[i].result)] = i;
    find_outputs();
    if (!find_axes() || !measure()) return why_;
    state_.assign(g_.values.size(), State::uniform);
    name_state_.assign(f_.names.size(), State::uniform);
    std::vector<std::vector<ValueId>> of_let(lets_.size());
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      if (g_[v].is<form::Input>()) {
        if (has(v)) state_[v] = State::row, slice(v);
        if (g_[v].name != NameId::none) name_state_[index(g_[v].name)] = state_[v];
      } else {
        of_let[g_[v].let].push_back(v);
      }
    }
    for (uint32_t i = 0; i < lets_.size(); ++i)
      if (!let(i, of_let[i])) return why_;
    finish();
    if (!order() || !gains()) return why_;
    return {};
  }

  int64_t bytes(const SizeOf& size_of) const {
    int64_t sum = 0;
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      if (g_[v].is<form::Input>()) continue;
      for (size_t a = 0; a < g_[v].dims.size(); ++a)
        if (classes_.of(v, a) == which_) {
          sum += product(g_[v].dims).evaluate(size_of) * static_cast<int64_t>(size_of_type(v));
          break;
        }
    }
    return sum;
  }

  Batch batch;
  Span where{};
  bool leaves = false;  // rows go out of the block: it may be an axis of the parameters

 private:
  enum class State : uint8_t { uniform, row, sum, after };

  size_t size_of_type(ValueId v) const { return ouro::size_of(g_[v].type); }
  bool has(ValueId v) const { return batch.axis[v].axis >= 0; }
  bool refuse(std::string why, Span at = {}) {
    if (why_.empty()) why_ = std::move(why), where = at;
    return false;
  }
  bool refuse(uint32_t let, std::string_view what) {
    return refuse(fmt::format("the {} {}", called(let), what), lets_[let].span);
  }
  // An operation as people call it: the sum that is divided by a number next is a mean.
  bool is_scaling(const Let& user, NameId n) const {
    if (user.nargs != 2 || !is_tensor_op(user.op)) return false;
    const Atom *a = f_.args(user), of(n);
    return (name_of(user.op) == "div" && a[0] == of) ||
           (name_of(user.op) == "mul" && ((a[0] == of && a[1].is_const()) || (a[1] == of && a[0].is_const())));
  }
  std::string called(uint32_t i) const {
    const Let& l = lets_[i];
    const std::string_view name = name_of(l.op);
    if (name != "sum") return fmt::format("'{}'", name);
    for (const Let& user : lets_)
      if (is_scaling(user, l.result)) return "mean";
    return "sum";
  }

  // ---- where the axis is
  void find_outputs() {
    out_.assign(f_.names.size(), false);
    auto use = [&](Atom a) {
      if (a.is_name()) out_[index(a.name())] = true;
    };
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      for_each_use(f_, f_.blocks[b], [&](uint32_t at, NameId n) {
        if (b != index(g_.block) || at == lets_.size()) use(Atom(n));
      });
    // What the step gives back is a tuple.
    for (const Let& l : lets_)
      if (l.op == prim::tuple && out_[index(l.result)]) for_each_arg(f_, l, use);
  }
  bool find_axes() {
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      const NameId n = g_[v].name;
      if (g_[v].is<form::Input>() || n == NameId::none || !out_[index(n)]) continue;
      for (size_t a = 0; a < g_[v].dims.size(); ++a)
        if (classes_.of(v, a) == which_) {
          leaves = true;
          return refuse(g_[v].let, "gives a row for each of the batch, and these go out of the step");
        }
    }
    for (ValueId v = 0; v < g_.values.size(); ++v)
      for (size_t a = 0; a < g_[v].dims.size(); ++a) {
        if (classes_.of(v, a) != which_) continue;
        if (has(v)) {
          if (g_[v].let != UINT32_MAX)
            return refuse(g_[v].let, "brings each row of the batch together with every other one");
          return refuse("an input has the batch on two axes");
        }
        if (g_[v].is<form::Input>() && f_.name_info(g_[v].name).optional)
          return refuse("an input that has the batch may be None");
        batch.axis[v].axis = static_cast<int>(a);
      }
    return true;
  }
  bool measure() {
    std::vector<std::pair<ValueId, SymDim>> sizes;
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      if (!has(v)) continue;
      const auto d = as_dim(g_[v].dims[static_cast<size_t>(batch.axis[v].axis)]);
      if (!d) return refuse("the size of the batch is no multiple of one number in all places");
      sizes.emplace_back(v, *d);
    }
    for (const auto& [least, rows] : sizes) {
      const SymDim& by = rows;
      if (!std::ranges::all_of(sizes, [&](const auto& s) { return quotient(s.second, by).has_value(); })) continue;
      batch.rows = rows;
      for (const auto& [v, n] : sizes) batch.axis[v].times = *quotient(n, rows);
      if (rows.known() && rows.c <= 1) return refuse("the batch has one row");
      return true;
    }
    for (const auto& [v, n] : sizes)
      if (g_[v].let != UINT32_MAX && !quotient(n, sizes.front().second))
        return refuse(g_[v].let, "cuts across the rows of the batch");
    return refuse("the sizes of the batch in different places have no common row");
  }

  void slice(ValueId v) {
    if (std::ranges::find(batch.sliced, v) == batch.sliced.end()) batch.sliced.push_back(v);
  }

  // ---- what each let is
  State of(Atom a) const {
    if (!a.is_name()) return State::uniform;
    const ValueId v = g_.of_name[index(a.name())];
    return v != kNoValue ? state_[v] : name_state_[index(a.name())];
  }

  bool let(uint32_t i, const std::vector<ValueId>& values) {
    const Let& l = lets_[i];
    State s = State::uniform;
    if (values.empty()) {
      if (!other(i, s)) return false;
    } else {
      for (ValueId v : values)
        if (!value(i, v)) return false;
      s = state_[values.back()];
    }
    name_state_[index(l.result)] = s;
    batch.part[i] = s == State::row ? Part::rows : s == State::sum ? Part::sum : Part::after;
    return true;
  }

  // A number, a tuple, a move: what is no tensor of its own.
  bool other(uint32_t i, State& s) {
    const Let& l = lets_[i];
    bool row = false, late = false;
    for_each_arg(f_, l, [&](Atom a) {
      const State x = of(a);
      row |= x == State::row;
      late |= x == State::sum || x == State::after;
    });
    if (row) {
      const bool from_outside = l.nargs > 0 && let_of_[index(f_.args(l)[0].name())] == UINT32_MAX;
      if (l.op == prim::tensor_size && from_outside) return s = State::uniform, true;
      if (l.op == prim::tuple || l.op == prim::move) return s = State::row, !late || need_before(i, i);
      return refuse(i, "takes rows of the batch as a whole");
    }
    s = late ? State::after : State::uniform;
    return true;
  }

  bool value(uint32_t i, ValueId v) {
    const AxisMap& map = classes_.map(v);
    bool kept = false, summed = false, late = false;
    for (const AxisMap::Operand& o : map.operands) {
      late |= state_[o.value] == State::sum || state_[o.value] == State::after;
      if (state_[o.value] != State::row) continue;
      const AxisUse use = o.uses[static_cast<size_t>(batch.axis[o.value].axis)];
      if (use.role == Role::mixed && o.shape_only && has(v) && is_dtype_only(i)) continue;
      if (use.role == Role::mixed) return mixed(i);
      (use.role == Role::kept ? kept : summed) = true;
    }
    for_each_arg(f_, lets_[i], [&](Atom a) {  // numbers
      if (a.is_name() && g_.of_name[index(a.name())] == kNoValue) {
        const State x = of(a);
        late |= x == State::sum || x == State::after;
      }
    });
    if (summed) {
      if (kept || has(v)) return mixed(i);
      if (map.onto >= 0 && state_[map.operands[static_cast<size_t>(map.onto)].value] == State::row) return mixed(i);
      if (late && !need_before(i, i)) return false;
      state_[v] = State::sum;
      batch.onto[i] = map.onto;
      return true;
    }
    if (!has(v)) {
      if (kept) return mixed(i);
      state_[v] = late ? State::after : State::uniform;
      return true;
    }
    const bool placed = !kept && !map.repeats[static_cast<size_t>(batch.axis[v].axis)];
    if (placed && late) return mixed(i);
    state_[v] = State::row;
    if (placed) {  // made before, as a whole
      slice(v);
      whole_.push_back(i);
      return true;
    }
    if (map.drawn_by && kept) batch.drawn_by[i] = map.drawn_by;
    return !late || need_before(i, i);
  }

  // Does the result have the dtype of another operand, and nothing else of it?
  bool is_dtype_only(uint32_t i) const {
    return is_tensor_op(lets_[i].op) && op_info(lets_[i].op).def->symbol == "cast_like";
  }

  bool mixed(uint32_t i) {
    if (is_tensor_op(lets_[i].op) && op_info(lets_[i].op).def->effect == OpEffect::rng)
      return refuse(i, "draws random numbers for all rows of the batch at once");
    return refuse(i, "mixes the rows of the batch");
  }

  // ---- sums that rows need
  // Every sum that let `user` needs is done before, if it is one over rows of the inputs that costs no memory.
  bool need_before(uint32_t user, uint32_t reason) {
    bool ok = true;
    for_each_arg(f_, lets_[user], [&](Atom a) {
      if (!ok || !a.is_name()) return;
      const State s = of(a);
      const uint32_t i = let_of_[index(a.name())];
      if ((s != State::sum && s != State::after) || i == UINT32_MAX) return;
      ok = before(i, reason);
    });
    return ok;
  }
  bool before(uint32_t i, uint32_t reason) {
    if (batch.also_before[i]) return true;
    batch.also_before[i] = true;
    const ValueId v = g_.of_name[index(lets_[i].result)];
    const State s = v != kNoValue ? state_[v] : name_state_[index(lets_[i].result)];
    if (s == State::row && !costs_nothing(i)) return false;
    if (!opt::is_pure(f_, lets_[i]) && !only_raises(lets_[i]) && lets_[i].op != prim::tuple &&
        lets_[i].op != prim::tensor_item)
      return s != State::row && refuse(i, "stands between two passes over the batch");
    bool ok = true;
    for_each_arg(f_, lets_[i], [&](Atom a) {
      if (!ok || !a.is_name()) return;
      const uint32_t j = let_of_[index(a.name())];
      if (j == UINT32_MAX || of(a) == State::uniform) return;
      ok = before(j, reason);
      // The first sum on the way is what mixes the rows.
      if (!ok && s == State::sum)
        refuse(fmt::format("the {} mixes the rows of the batch", called(i)), lets_[reason].span);
    });
    return ok;
  }
  // Part of the kernel that reads it.
  bool costs_nothing(uint32_t i) const {
    const ValueId v = g_.of_name[index(lets_[i].result)];
    if (v == kNoValue) return lets_[i].op == prim::tuple;
    const Value& x = g_[v];
    return x.is<form::Input>() || x.is<form::Elementwise>() || x.is<form::Read>() || x.is<form::Reshape>() ||
           x.is<form::Place>() || x.is<form::Triangle>() || x.is<form::Iota>() || x.is<form::Reduce>() ||
           x.is<form::Gather>();
  }

  // ---- what else has to hold
  // Such operations may change places: where one raises, the interpreter does the call, in order.
  static bool only_raises(const Let& l) {
    return is_tensor_op(l.op) && op_info(l.op).def->effect == OpEffect::none && l.handover == Let::kNoHandover;
  }
  // What has an effect stays in order, and nothing that may raise moves across it.
  bool order() {
    uint32_t stays = UINT32_MAX;
    for (uint32_t i = 0; i < lets_.size(); ++i) {
      const Let& l = lets_[i];
      if (l.handover != Let::kNoHandover) return refuse(i, "stands in a 'try'");
      const bool pure = !l.effect && opt::is_droppable(f_, l);
      if (batch.part[i] == Part::after) {
        if (!pure && !only_raises(l) && stays == UINT32_MAX) stays = i;
      } else if (!pure && stays != UINT32_MAX) {
        return refuse(stays, "has an effect, or may fail, between operations on the batch");
      }
    }
    return true;
  }

  // Elementwise work needs no memory: only with something else is there something to be gained.
  bool gains() {
    for (uint32_t i = 0; i < lets_.size(); ++i) {
      const ValueId v = g_.of_name[index(lets_[i].result)];
      const bool in_rows = batch.part[i] == Part::rows || batch.part[i] == Part::sum;
      if (in_rows && v != kNoValue && (is_contraction(g_[v]) || is_sparse_product(g_, v))) return true;
    }
    return refuse("no matrix product or convolution has the axis of a batch");
  }

  // What the rows need of the rest stands before them.
  void finish() {
    std::vector<bool> first(lets_.size(), false);
    for (uint32_t i : whole_) first[i] = true;
    for (uint32_t i = lets_.size(); i-- > 0;) {
      const bool in_rows = batch.part[i] == Part::rows || batch.part[i] == Part::sum;
      if (batch.also_before[i]) first[i] = true;
      if (!in_rows && !first[i]) continue;
      for_each_arg(f_, lets_[i], [&](Atom a) {
        const uint32_t j = a.is_name() ? let_of_[index(a.name())] : UINT32_MAX;
        if (j == UINT32_MAX) return;
        const bool row = batch.part[j] == Part::rows || batch.part[j] == Part::sum;
        if (!row || first[i]) first[j] = true;
      });
    }
    for (uint32_t i = 0; i < lets_.size(); ++i) {
      const bool whole = std::ranges::find(whole_, i) != whole_.end();
      const bool row = batch.part[i] == Part::rows || batch.part[i] == Part::sum;
      batch.also_before[i] = row && first[i] && !whole;
      if (whole || (!row && first[i])) batch.part[i] = Part::before;
      if (batch.part[i] == Part::sum && batch.also_before[i]) batch.part[i] = Part::before;
    }
  }

  const Graph& g_;
  const Function& f_;
  const std::vector<Let>& lets_;
  const Classes& classes_;
  const uint32_t which_;
  std::vector<uint32_t> let_of_;  // by name
  std::vector<State> state_;      // by value
  std::vector<State> name_state_;
  std::vector<bool> out_;        // by name: used behind the block
  std::vector<uint32_t> whole_;  // lets with the axis that are made before, as a whole
  std::string why_;
};

}  // namespace

// Candidates are the axes that stand first in what comes from outside. Of those that can be proved, the one that most
// of what the block computes has.
BatchOfBlock find_batch(const Graph& g, const SizeOf& size_of) {
  BatchOfBlock out;
  if (g.values.empty()) return out;
  const Classes classes(g);
  struct Candidate {
    uint32_t which;
    int64_t bytes;
  };
  std::vector<Candidate> candidates;
  for (ValueId v = 0; v < g.values.size(); ++v) {
    if (!g[v].is<form::Input>() || g[v].dims.empty()) continue;
    const uint32_t which = classes.of(v, 0);
    if (std::ranges::find(candidates, which, &Candidate::which) != candidates.end()) continue;
    const int64_t bytes = Proof(g, classes, which).bytes(size_of);
    if (bytes > 0) candidates.push_back({which, bytes});
  }
  std::ranges::stable_sort(candidates, std::greater{}, &Candidate::bytes);
  for (const bool leaving : {false, true})
    for (const Candidate& c : candidates) {
      Proof proof(g, classes, c.which);
      const std::string why = proof.run();
      if (why.empty()) return {std::move(proof.batch), {}, {}, c.bytes};
      if (out.refusal.empty() && proof.leaves == leaving) {
        out.refusal = why;
        out.where = proof.where;
        out.bytes = c.bytes;
      }
    }
  return out;
}

}  // namespace ouro::ir::loops
