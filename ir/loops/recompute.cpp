#include "ir/loops/recompute.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/loops/cluster.h"
#include "ir/loops/recompute_choice.h"
#include "ir/ops/registry.h"
#include "ir/opt/edit.h"
#include "ir/opt/passes.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "support/give_up.h"

namespace ouro::ir::loops {
namespace {

using SizeOf = std::function<int64_t(uint32_t)>;

constexpr uint32_t kNoLet = UINT32_MAX;
constexpr double kWorkOfAByte = 4;  // of memory traffic, in multiplications of a matrix product

// ---------------------------------------------------------------- the schedule

// Which temporaries a block holds at each of its steps.
class Schedule {
 public:
  Schedule(const FunctionRef& f, BlockId block, const std::vector<Fence>& fences, const SizeOf& size_of,
           size_t most_joined)
      : g(build_graph(*f, block, most_joined)), size_of_(size_of) {
    for (const Fence& fence : fences)
      if (g.of_name[index(fence.late)] != kNoValue) g.fences.push_back(fence);
    c = cluster(g);
    held_.assign(g.values.size(), false);
    for (ValueId v = 0; v < g.values.size(); ++v)
      if (g.live_out[v]) held_[c.root[v]] = true;
    life.resize(g.values.size());
    reads.resize(c.steps.size());
    for (size_t s = 0; s < c.steps.size(); ++s) follow(s);
    std::vector<int64_t> change(c.steps.size() + 1, 0);
    for (const Life& x : life)
      if (x.bytes) {
        change[static_cast<size_t>(x.first)] += x.bytes;
        change[static_cast<size_t>(x.last) + 1] -= x.bytes;
      }
    int64_t now = 0;
    for (size_t s = 0; s < c.steps.size(); ++s) live.push_back(now += change[s]);
  }

  struct Life {
    int first = -1, last = -1;  // steps
    int64_t bytes = 0;          // 0: no temporary of the block
  };

  int64_t peak() const { return live.empty() ? 0 : *std::ranges::max_element(live); }
  int64_t bytes_of(const Value& x) const {
    return product(x.dims).evaluate(size_of_) * static_cast<int64_t>(size_of(x.type));
  }

  Graph g;
  Clustering c;
  std::vector<Life> life;                   // by value
  std::vector<std::vector<ValueId>> reads;  // by step: what is in memory
  std::vector<int64_t> live;                // by step: bytes

 private:
  void follow(size_t s) {
    const Step& step = c.steps[s];
    const Function& f = *g.function;
    auto read = [&](ValueId v) {
      const ValueId r = c.root[v];
      reads[s].push_back(r);
      life[r].last = static_cast<int>(s);
    };
    auto written = [&](ValueId v) {
      Life& x = life[v];
      x.first = x.last = static_cast<int>(s);
      x.bytes = held_[v] ? 0 : bytes_of(g[v]);
    };
    if (step.kind == Step::Kind::check_places) return read(g[step.value].inputs[1].value);
    if (step.kind == Step::Kind::let) {
      const Let& l = f.block(g.block).lets[step.let];
      for_each_arg(f, l, [&](Atom a) {
        if (a.is_name() && g.of_name[index(a.name())] != kNoValue) read(g.of_name[index(a.name())]);
      });
      if (const ValueId v = g.of_name[index(l.result)]; v != kNoValue && is_contraction(g[v])) written(v);
      return;
    }
    const std::set<ValueId> members(step.cluster.members.begin(), step.cluster.members.end());
    for (ValueId m : step.cluster.members)
      for (const Use& u : g[m].inputs)
        if (u.kind == Use::Kind::value && !(c.root[u.value] == u.value && members.count(u.value))) read(u.value);
    for (ValueId v : step.cluster.outputs) written(v);
  }

  const SizeOf& size_of_;
  std::vector<bool> held_;  // leaves the block, or is taken by an operation of the runtime: has memory of its own
};

// ---------------------------------------------------------------- the copies

// A block some of whose values are dropped: which lets are done again, and where. Positions are indices of the lets as
// they were; a copy at `i` stands in front of let `i`.
class Copies {
 public:
  Copies(const FunctionRef& f, BlockId block, const Schedule& first) : f_(*f), source_(f), block_(block) {
    const auto& lets = f_.block(block).lets;
    let_of_.assign(f_.names.size(), kNoLet);
    for (uint32_t i = 0; i < lets.size(); ++i) let_of_[index(lets[i].result)] = i;
    facts_.resize(lets.size());
    for (uint32_t i = 0; i < lets.size(); ++i) {
      const ValueId v = first.g.of_name[index(lets[i].result)];
      Fact& x = facts_[i];
      x.again = may_run_again(lets[i]);
      if (v == kNoValue) {
        x.inlined = lets[i].op == prim::tuple;
        x.held = !x.inlined;
        continue;
      }
      const Value& value = first.g[v];
      x.held = value.is<form::Opaque>() || first.g.live_out[v];
      x.inlined = !x.held && !(first.c.root[v] == v && (first.c.stored[v] || is_contraction(value)));
      x.bytes = first.bytes_of(value);
      x.work = work_of(first, value);
    }
  }

  struct Fact {
    bool again = false;    // may be done a second time
    bool inlined = false;  // no memory of its own: a part of the kernels that read it, or another name
    bool held = false;     // is there until the block ends
    int64_t bytes = 0;
    double work = 0;
  };

  /// Readers of `let`'s value that stand behind let `early` read a copy of it.
  void copy_behind(uint32_t let, uint32_t early) { early_[let] = early; }
  void clear() { early_.clear(); }
  bool empty() const { return early_.empty(); }
  const Fact& fact(uint32_t let) const { return facts_[let]; }
  uint32_t let_of(NameId n) const { return index(n) < let_of_.size() ? let_of_[index(n)] : kNoLet; }

  double work_of_all() const {
    double sum = 0;
    for (const Fact& x : facts_) sum += x.work;
    return sum;
  }

  FunctionRef build(std::vector<Fence>& fences, size_t& copies) {
    place();
    opt::Edit edit(source_);
    const auto& lets = f_.block(block_).lets;
    std::vector<Atom> copy(lets.size());
    std::vector<std::vector<uint32_t>> in_front(lets.size());
    for (uint32_t i = 0; i < lets.size(); ++i)
      if (at_[i] != kNoLet) in_front[at_[i]].push_back(i);
    auto arguments = [&](uint32_t i, uint32_t at, bool of_copy) {
      std::vector<Atom> args(f_.args(lets[i]), f_.args(lets[i]) + lets[i].nargs);
      for (Atom& a : args)
        if (const uint32_t j = copied(a, at, of_copy); j != kNoLet) a = copy[j];
      return args;
    };
    for (uint32_t at = 0; at < lets.size(); ++at) {
      for (uint32_t i : in_front[at]) {
        copy[i] = edit.insert_copy(block_, at, lets[i], arguments(i, at, true));
        ++copies;
        if (const uint32_t after = stands_before(at, i); after != kNoLet)
          fences.push_back({copy[i].name(), lets[after].result});
      }
      if (std::vector<Atom> args = arguments(at, at, false);
          !std::equal(args.begin(), args.end(), f_.args(lets[at]), f_.args(lets[at]) + lets[at].nargs))
        edit.rewrite(block_, at, lets[at].op, args, lets[at].attr);
    }
    return edit.finish();
  }

 private:
  bool may_run_again(const Let& l) const {
    if (l.handover != Let::kNoHandover || l.effect) return false;
    if (!is_tensor_op(l.op)) return l.op == prim::tuple;
    const Type* t = f_.name_info(l.result).type;
    return t && t->is_tensor() && op_info(l.op).def->effect == OpEffect::none;
  }

  static double work_of(const Schedule& s, const Value& v) {
    if (v.is<form::Input>() || v.is<form::Opaque>()) return 0;
    double bytes = static_cast<double>(s.bytes_of(v)), work = 0;
    if (const auto* m = v.get<form::Matmul>()) {
      const Polys& a = s.g[v.inputs[0].value].dims;
      const Poly inner = a.size() == 1 ? a[0] : a[a.size() - (m->a_transposed ? 2 : 1)];
      work = bytes / static_cast<double>(size_of(v.type)) * static_cast<double>(s.bytes_of({.dims = {inner}})) /
             static_cast<double>(size_of(DType::f32));
    } else if (v.is<form::Convolve>()) {
      const Value& weight = s.g[v.inputs[1].value];
      work = bytes * static_cast<double>(s.bytes_of(weight)) / static_cast<double>(weight.dims.empty() ? 1 : 16);
    }
    return work + bytes * kWorkOfAByte + kWorkOfAKernel;
  }

  // Where each copy stands: in front of the first let, or the first copy, that reads it. From the last let to the
  // first, so that all readers of a copy are known before its own operands are looked at.
  void place() {
    const auto& lets = f_.block(block_).lets;
    at_.assign(lets.size(), kNoLet);
    for (uint32_t i = static_cast<uint32_t>(lets.size()); i-- > 0;) {
      request(i, i, false);
      if (at_[i] != kNoLet) request(i, at_[i], true);
    }
  }
  void request(uint32_t i, uint32_t at, bool of_copy) {
    for_each_arg(f_, f_.block(block_).lets[i], [&](Atom a) {
      if (const uint32_t j = copied(a, at, of_copy); j != kNoLet) at_[j] = std::min(at_[j], at);
    });
  }
  // The let whose copy stands for operand `a` of a let (or of the copy of one) at `at`; kNoLet: the operand itself
  // does.
  uint32_t copied(Atom a, uint32_t at, bool of_copy) const {
    const uint32_t own = a.is_name() ? let_of(a.name()) : kNoLet;
    if (own == kNoLet || facts_[own].held || !facts_[own].again) return kNoLet;
    if (facts_[own].inlined) return of_copy || (own < at && depends(own, at)) ? own : kNoLet;
    const auto early = early_.find(own);
    return early != early_.end() && at > early->second ? own : kNoLet;
  }
  // Is this, which has no memory of its own, made of something of which readers at `at` read the copy, and it does not?
  bool depends(uint32_t own, uint32_t at) const {
    bool found = false;
    for_each_arg(f_, f_.block(block_).lets[own], [&](Atom a) {
      const uint32_t j = a.is_name() ? let_of(a.name()) : kNoLet;
      if (found || j == kNoLet) return;
      if (facts_[j].inlined && !facts_[j].held)
        found = depends(j, at);
      else if (auto early = early_.find(j); early != early_.end())
        found = own <= early->second && at > early->second;
    });
    return found;
  }
  // The nearest let before `at` that a kernel or a library call carries out, and that `copy` does not feed.
  uint32_t stands_before(uint32_t at, uint32_t copy) const {
    for (uint32_t i = at; i-- > copy + 1;)
      if (!facts_[i].inlined && facts_[i].bytes > 0 && !facts_[i].held) return i;
    return kNoLet;
  }

  const Function& f_;
  FunctionRef source_;
  BlockId block_;
  std::vector<uint32_t> let_of_;  // by name
  std::vector<Fact> facts_;       // by let
  std::map<uint32_t, uint32_t> early_;
  std::vector<uint32_t> at_;  // by let: where its copy stands
};

// ---------------------------------------------------------------- the values

// What has memory in the block, as the choice is made (recompute_choice.h), and where it stands in the text.
class Values {
 public:
  struct At {
    uint32_t let = kNoLet;
    uint32_t last = 0;            // the last let that reads it
    std::vector<uint32_t> early;  // the last one that reads it before each of its gaps
  };

  Values(const Function& f, const Schedule& s, const Copies& copies) : f_(f), s_(s), copies_(copies) {
    at_.resize(s.life.size());
    std::vector<std::vector<int>> reads(s.life.size());
    for (size_t step = 0; step < s.reads.size(); ++step)
      for (ValueId v : s.reads[step])
        if (has_memory(v) && (reads[v].empty() || reads[v].back() != static_cast<int>(step)))
          reads[v].push_back(static_cast<int>(step));
    for (ValueId v = 0; v < s.life.size(); ++v) {
      if (!has_memory(v)) continue;
      Droppable x{.id = v, .bytes = s.life[v].bytes, .made = s.life[v].first};
      x.reads = std::move(reads[v]);
      fill(x);
      values_.push_back(std::move(x));
    }
    std::ranges::sort(values_, {}, [](const Droppable& x) { return std::pair(x.made, x.id); });
  }

  const std::vector<Droppable>& list() const { return values_; }
  const At& at(uint32_t id) const { return at_[id]; }

 private:
  bool has_memory(ValueId v) const { return s_.life[v].bytes > 0; }

  void fill(Droppable& x) {
    At& at = at_[x.id];
    const NameId name = s_.g[x.id].name;
    if (name == NameId::none || (at.let = copies_.let_of(name)) == kNoLet) return;
    x.again = true;
    std::set<ValueId> seen;
    add_sources(at.let, x, seen);
    for (int step : x.reads) at.last = std::max(at.last, last_let(step));
    at.last = std::max(at.last, last_let(x.made));
    if (!x.again || x.bytes <= kNegligible) return;
    // What its own kernel gives besides has read it, too. In the text, too, early readers stand before late ones.
    for (int gap : gaps_of(x.made, x.reads)) {
      uint32_t early = std::max(at.let, last_let(x.made)), late = kNoLet;
      for (int step : x.reads)
        if (step <= gap)
          early = std::max(early, last_let(step));
        else
          for (uint32_t let : lets_of(static_cast<size_t>(step))) late = std::min(late, let);
      if (late == kNoLet || early >= late) continue;
      x.gaps.push_back(gap);
      at.early.push_back(early);
    }
  }
  uint32_t last_let(int step) const {
    uint32_t last = 0;
    for (uint32_t let : lets_of(static_cast<size_t>(step))) last = std::max(last, let);
    return last;
  }
  // The let, and those without memory that it is made of.
  void add_sources(uint32_t let, Droppable& x, std::set<ValueId>& seen) {
    x.again = x.again && copies_.fact(let).again;
    x.work += copies_.fact(let).work;
    for_each_arg(f_, f_.block(s_.g.block).lets[let], [&](Atom a) {
      const uint32_t own = a.is_name() ? copies_.let_of(a.name()) : kNoLet;
      if (own == kNoLet) return;
      const ValueId v = s_.g.of_name[index(a.name())];
      if (copies_.fact(own).inlined) return add_sources(own, x, seen);
      if (v != kNoValue && has_memory(v) && seen.insert(v).second) x.sources.push_back(v);
    });
  }
  // What step `at` gives to others.
  std::vector<uint32_t> lets_of(size_t at) const {
    const Step& step = s_.c.steps[at];
    if (step.kind != Step::Kind::kernel) return {step.let};
    std::vector<uint32_t> out;
    for (ValueId v : step.cluster.outputs)
      if (s_.g[v].name != NameId::none)
        if (const uint32_t let = copies_.let_of(s_.g[v].name); let != kNoLet) out.push_back(let);
    return out;
  }

  const Function& f_;
  const Schedule& s_;
  const Copies& copies_;
  std::vector<Droppable> values_;  // in the order in which they are made
  std::vector<At> at_;             // by value
};

struct Block {
  FunctionRef function;
  std::vector<Fence> fences;
  size_t copies = 0;
  int64_t before = 0, after = 0;
  double work = 0, work_of_all = 0;
};

Block recompute_block(const FunctionRef& f, BlockId block, int64_t budget, const SizeOf& size_of, size_t most_joined) {
  const Schedule now(f, block, {}, size_of, most_joined);
  Block out{.function = f, .before = now.peak(), .after = now.peak()};
  if (out.before <= budget) return out;
  Copies copies(f, block, now);
  const Values values(*f, now, copies);
  RecomputeModel model(values.list(), now.c.steps.size());
  out.work_of_all = copies.work_of_all();
  const RecomputeModel::Outcome chosen = choose(model, budget);
  for (size_t i = 0; i < model.values().size(); ++i)
    if (model.is_copied(i)) {
      const Values::At& at = values.at(model.values()[i].id);
      copies.copy_behind(at.let, model.dropped[i] ? at.early[model.dropped[i] - 1] : at.last);
    }
  if (copies.empty()) return out;
  out.after = chosen.peak;
  out.work = chosen.work;
  out.function = opt::drop_dead(copies.build(out.fences, out.copies));
  return out;
}

}  // namespace

Recomputed recompute(const FunctionRef& f, int64_t budget, const SizeOf& size_of, size_t most_joined) {
  Recomputed out{.function = f, .fences = {}};
  double work = 0, of_all = 0;
  for (uint32_t b = 0; b < f->blocks.size(); ++b) {
    Block block = recompute_block(out.function, BlockId{b}, budget, size_of, most_joined);
    out.before = std::max(out.before, block.before);
    out.after = std::max(out.after, block.after);
    work += block.work;
    of_all += block.work_of_all;
    out.copies += block.copies;
    out.fences.insert(out.fences.end(), block.fences.begin(), block.fences.end());
    out.function = std::move(block.function);
  }
  out.work = of_all > 0 ? work / of_all : 0;
  return out;
}

}  // namespace ouro::ir::loops
