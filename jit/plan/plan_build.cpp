// Typed ANF to a program, as it stands (plan_changes.cpp: what a plan changes before): block by block, clusters to
// kernel instructions, values to registers and arena slots, lifetimes to drops and donors.
#include <algorithm>
#include <set>

#include "ir/loops/contraction.h"
#include "ir/loops/micro_batch.h"
#include "ir/loops/overlap.h"
#include "ir/loops/shared_sizes.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "jit/plan/plan_program.h"
#include "support/diag.h"
#include "support/give_up.h"

namespace ouro::jit {
namespace {

using namespace ir::loops;
using ir::Atom;
using ir::BlockId;
using ir::Let;
using ir::NameId;

class BlockBuilder;

class ProgramBuilder {
 public:
  ProgramBuilder(ir::FunctionRef f, runtime::ExecutionPlan plan, std::vector<Fence> fences)
      : f_(*f), fences_(std::move(fences)) {
    p_.function = std::move(f);
    p_.plan = plan;
  }

  Program run();

  SizeId size(const Poly& poly) {
    for (SizeId i = 0; i < p_.sizes.size(); ++i)
      if (p_.sizes[i] == poly) return i;
    for (const auto& [symbols, c] : poly.terms())
      for (uint32_t s : symbols) symbol(s);
    p_.sizes.push_back(poly);
    return static_cast<SizeId>(p_.sizes.size() - 1);
  }
  std::vector<SizeId> sizes(const Polys& polys) {
    std::vector<SizeId> out;
    for (const Poly& x : polys) out.push_back(size(x));
    return out;
  }
  void symbol(uint32_t s) {
    if (p_.symbol_index.try_emplace(s, static_cast<uint32_t>(p_.symbols.size())).second) p_.symbols.push_back(s);
  }
  bool bound_at_entry(const Polys& dims) const {
    for (const Poly& d : dims)
      for (const auto& [symbols, c] : d.terms())
        for (uint32_t s : symbols)
          if (!entry_symbols_.count(s) && !is_chunk(s)) return false;
    return true;
  }
  static bool has_chunk(const Polys& dims) {
    for (const Poly& d : dims)
      for (const auto& [symbols, c] : d.terms())
        if (std::ranges::any_of(symbols, is_chunk)) return true;
    return false;
  }
  Reg new_reg() { return p_.registers++; }
  Program& program() { return p_; }
  const ir::Function& function() const { return f_; }
  const ir::Liveness& liveness() const { return liveness_; }
  Graph graph_of(BlockId block) const {
    Graph g = build_graph(f_, block, most_joined(p_.plan));
    for (const Fence& fence : fences_)
      if (g.of_name[index(fence.late)] != kNoValue) g.fences.push_back(fence);
    return g;
  }

 private:
  void find_entry_symbols();
  LoopEntry entry(BlockId head, uint32_t begin) const;

  const ir::Function& f_;
  const std::vector<Fence> fences_;
  Program p_;
  ir::Liveness liveness_{f_};
  std::set<uint32_t> entry_symbols_;
};

class BlockBuilder {
 public:
  BlockBuilder(ProgramBuilder& b, BlockId id)
      : b_(b),
        f_(b.function()),
        p_(b.program()),
        id_(id),
        g_(b.graph_of(id)),
        c_(cluster(g_)),
        first_(p_.code.size()) {}

  void run() {
    find_needed();
    place_values();
    bind_params();
    for (const Step& s : c_.steps) {
      may_give_up();
      step(s);
    }
    for (const auto& [name, live] : live_out_)  // a view that later blocks take is made here at the latest
      if (live) reg_of(NameId{name});
    terminate();
    finish_lifetimes();
    p_.parts.push_back({id_, static_cast<uint32_t>(first_), static_cast<uint32_t>(p_.code.size())});
  }

 private:
  const ir::Block& block() const { return f_.block(id_); }

  // Names whose values something other than kernels and contractions takes.
  void find_needed() {
    needed_.assign(f_.names.size(), false);
    leaves_.assign(f_.names.size(), false);
    for (NameId n : b_.liveness().live_out(f_, id_)) needed_[index(n)] = leaves_[index(n)] = live_out_[index(n)] = true;
    const ir::Terminator& t = block().term;
    returned_tuple_ = t.kind == ir::Terminator::Kind::return_ && t.a.is_name() ? tuple_of(t.a.name()) : nullptr;
    auto leaves = [&](Atom a) {
      if (a.is_name()) needed_[index(a.name())] = leaves_[index(a.name())] = true;
    };
    if (returned_tuple_)
      ir::for_each_arg(f_, *returned_tuple_, leaves);
    else if (!t.a.is_none())
      leaves(t.a);
    for (const ir::Target& target : t.targets)
      for (uint32_t i = 0; i < target.nargs; ++i) leaves(f_.args(target)[i]);
    for (const Step& s : c_.steps) {
      if (s.kind != Step::Kind::let) continue;
      const Let& l = block().lets[s.let];
      if (&l == returned_tuple_ || is_contraction_let(l)) continue;
      ir::for_each_arg(f_, l, [&](Atom a) {
        if (!a.is_name()) return;
        needed_[index(a.name())] = true;
        if (!ir::is_tensor_op(l.op)) leaves_[index(a.name())] = true;
      });
    }
  }

  // The let of a tuple that only the return uses.
  const Let* tuple_of(NameId n) const {
    const Let* made = nullptr;
    size_t uses = 0;
    for (const Let& l : block().lets) {
      if (l.result == n && l.op == ir::prim::tuple) made = &l;
      ir::for_each_arg(f_, l, [&](Atom a) { uses += a.is_name() && a.name() == n; });
    }
    return uses == 0 ? made : nullptr;
  }

  bool is_contraction_let(const Let& l) const {
    ValueId v = g_.of_name[index(l.result)];
    return v != kNoValue && is_contraction(g_[v]);
  }

  void place_values() {
    buffer_.resize(g_.values.size());
    std::vector<bool> needed(g_.values.size(), false), leaves(g_.values.size(), false);
    for (uint32_t n = 0; n < f_.names.size(); ++n) {
      ValueId v = g_.of_name[n];
      if (v == kNoValue) continue;
      ValueId r = c_.root[v];
      needed[r] = needed[r] || needed_[n];
      leaves[r] = leaves[r] || leaves_[n];
    }
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      const ir::loops::Value& x = g_[v];
      if (c_.root[v] != v) continue;
      bool made_here = c_.stored[v] || is_contraction(x);
      if (!made_here) {
        if (x.name != NameId::none) buffer_[v] = {false, index(x.name)};
        continue;
      }
      if (needed[v] || !b_.bound_at_entry(x.dims)) {
        buffer_[v] = {false, x.name != NameId::none ? index(x.name) : b_.new_reg()};
        if (!leaves[v]) cached_.insert(buffer_[v].index);
      } else {
        buffer_[v] = {true, static_cast<uint32_t>(p_.arena.size())};
        ArenaSlot slot;
        slot.bytes = b_.size(product(x.dims) * Poly(static_cast<int64_t>(size_of(x.type))));
        slot.first = UINT32_MAX;
        p_.arena.push_back(slot);
      }
    }
  }

  // The next instruction, and what it does.
  template <class W>
  std::pair<Instr&, W&> emit() {
    Instr& i = p_.code.emplace_back();
    return {i, i.work.emplace<W>()};
  }
  uint32_t here() const { return static_cast<uint32_t>(p_.code.size() - 1); }

  // ---- uses
  void use_reg(Reg r) { last_use_[r] = here(); }
  Claim claim(ValueId v) const {
    const ir::loops::Value& x = g_[v];
    if (x.name != NameId::none) return {x.name, -1};
    const auto* part = x.get<form::Reduce>();
    return part ? Claim{part->part_of, part->stage} : Claim{};
  }
  // The buffer of v becomes the instruction's next one.
  void add_buffer(Instr& i, ValueId v) {
    i.buffers.push_back(use_buffer(v));
    i.claims.push_back(claim(c_.root[v]));
  }
  BufferRef use_buffer(ValueId v) {
    BufferRef b = buffer_[c_.root[v]];
    if (b.arena)
      touch(b.index);
    else
      use_reg(b.index);
    return b;
  }
  void touch(uint32_t slot) {
    ArenaSlot& s = p_.arena[slot];
    s.first = std::min(s.first, here());
    s.last = std::max(s.last, here());
  }

  Keep keep(bool leaves) {
    Keep k{p_.caches, leaves ? 2u : 1u};
    p_.caches += k.count;
    return k;
  }

  void make(Instr& i, ValueId v) {
    BufferRef b = buffer_[v];
    if (b.arena) return;
    MakeTensor m;
    m.reg = b.index;
    m.dtype = g_[v].type;
    m.dims = b_.sizes(g_[v].dims);
    m.keep = keep(!cached_.count(b.index));
    i.make.push_back(std::move(m));
  }

  // The register that holds a name's value; a view in another shape is made when first wanted.
  Reg reg_of(NameId n) {
    ValueId v = g_.of_name[index(n)];
    if (v == kNoValue) return index(n);
    ValueId r = c_.root[v];
    if (r == v) return buffer_[v].index;
    if (!shared_.count(v)) {
      auto [i, share] = emit<work::Share>();
      share.result = g_[v].name != NameId::none ? index(g_[v].name) : b_.new_reg();
      share.source = buffer_[r].index;
      share.dims = b_.sizes(g_[v].dims);
      i.claims = {claim(r), claim(v)};
      shared_[v] = share.result;
      use_reg(buffer_[r].index);
    }
    return shared_[v];
  }
  std::vector<Operand> operands(const Atom* a, uint32_t n) {
    std::vector<Operand> out;
    for (uint32_t k = 0; k < n; ++k) out.push_back(operand(a[k]));
    return out;
  }
  Operand operand(Atom a) {
    if (a.is_const()) return {kNoReg, a.constant()};
    if (a.is_none()) return {};
    return {reg_of(a.name()), ir::ConstId::none};
  }
  void use(const std::vector<Operand>& list) {
    for (const Operand& o : list)
      if (o.reg != kNoReg) use_reg(o.reg);
  }

  // ---- steps
  void step(const Step& s) {
    switch (s.kind) {
      case Step::Kind::kernel:
        kernel(s);
        break;
      case Step::Kind::check_places:
        check_places(s);
        break;
      case Step::Kind::let: {
        const Let& l = block().lets[s.let];
        if (&l == returned_tuple_) break;
        ValueId v = g_.of_name[index(l.result)];
        if (v != kNoValue && is_contraction(g_[v]))
          contraction(v, l);
        else
          loose(l, s.let, s.ahead);
        break;
      }
    }
  }

  void kernel(const Step& s) {
    LoweredKernel k = lower(g_, s.cluster, c_.root);
    auto [i, launch] = emit<work::Kernel>();
    launch.kernel = static_cast<uint32_t>(p_.kernels.size());
    for (ValueId v : k.buffers) add_buffer(i, v);
    for (ValueId v : s.cluster.outputs) make(i, v);
    launch.sizes = b_.sizes(k.sizes);
    launch.sizes.resize(std::max<size_t>(launch.sizes.size(), k.kernel.sizes), b_.size(0));
    for (const Use& u : k.scalars) {
      launch.scalars.push_back({index(u.name), is_float(u.type)});
      use_reg(index(u.name));
    }
    launch.range = b_.size(k.range);
    launch.work = b_.size(k.work);
    i.span = span_of(s.cluster);
    p_.kernels.push_back(std::move(k));
  }

  Span span_of(const Cluster& c) const {
    for (ValueId v : c.outputs)
      if (g_[v].let != UINT32_MAX) return block().lets[g_[v].let].span;
    return {};
  }

  void check_places(const Step& s) {
    const ir::loops::Value& v = g_[s.value];
    ValueId places = v.inputs[1].value;
    auto [i, check] = emit<work::CheckPlaces>();
    add_buffer(i, places);
    i.let = s.let;
    check.op = block().lets[s.let].op;
    const Polys& dims = g_[v.inputs[0].value].dims;
    check.places = b_.size(product(g_[places].dims));
    check.bound = b_.size(dims[static_cast<size_t>(index_axis(v))]);
    i.span = block().lets[s.let].span;
    i.inlined = block().lets[s.let].inlined;
  }

  void contraction(ValueId v, const Let& l) {
    if (const auto* m = g_[v].get<form::Matmul>())
      matmul(v, *m, l);
    else
      convolve(v, *g_[v].get<form::Convolve>(), l);
  }
  void call_library(Instr& i, ValueId v, const Let& l) {
    const ir::loops::Value& x = g_[v];
    i.span = l.span;
    i.inlined = l.inlined;
    for (const Use& u : x.inputs) add_buffer(i, u.value);
    add_buffer(i, v);
    i.let = x.let;
    make(i, v);
  }

  void matmul(ValueId v, const form::Matmul& m, const Let& l) {
    auto [i, call] = emit<work::Matmul>();
    call_library(i, v, l);
    const ir::loops::Value& x = g_[v];
    runtime::Matmul& d = call.form;
    d.dtype = x.type;
    d.precision = p_.plan.precision;
    d.a_transposed = m.a_transposed;
    d.b_transposed = m.b_transposed;
    call.sizes = b_.sizes(matmul_sizes(x, m, g_[x.inputs[0].value].dims, g_[x.inputs[1].value].dims));
    if (on_host()) return;
    call.kernel = add_contraction(matmul_kernel({.dtype = d.dtype,
                                                 .round_operands = rounds_operands(d.dtype),
                                                 .a_transposed = d.a_transposed,
                                                 .b_transposed = d.b_transposed,
                                                 .batched = true}));
  }

  void convolve(ValueId v, const form::Convolve& c, const Let& l) {
    auto [i, call] = emit<work::Convolve>();
    call_library(i, v, l);
    const ir::loops::Value& x = g_[v];
    using Kind = runtime::Convolution::Kind;
    runtime::Convolution& d = call.form;
    bool forward = c.result == form::Convolve::Result::forward, input = c.result == form::Convolve::Result::input;
    d.kind = forward ? Kind::forward : input ? Kind::input : Kind::weight;
    d.dtype = x.type;
    d.precision = p_.plan.precision;
    d.rank = static_cast<int>(x.dims.size() - 2);
    d.groups = c.groups;
    for (int k = 0; k < d.rank; ++k) {
      size_t at = static_cast<size_t>(k);
      d.stride[k] = c.stride[at];
      d.padding[k] = c.padding[at];
      d.dilation[k] = c.dilation[at];
    }
    const Polys &a = g_[x.inputs[0].value].dims, &b = g_[x.inputs[1].value].dims;
    const Polys& image = forward ? a : input ? x.dims : b;
    const Polys& result = forward ? x.dims : a;
    const Polys& weight = forward || input ? b : x.dims;
    Polys sizes{image[0], image[1], weight[0]};
    for (const Polys* p : {&image, &result, &weight}) sizes.insert(sizes.end(), p->begin() + 2, p->end());
    call.sizes = b_.sizes(sizes);
    if (on_host()) return;
    ir::loops::ConvolutionForm form{.kind = static_cast<ir::loops::ConvolutionForm::Kind>(d.kind),
                                    .dtype = d.dtype,
                                    .round_operands = rounds_operands(d.dtype),
                                    .rank = d.rank,
                                    .groups = d.groups};
    std::copy_n(d.stride, 3, form.stride);
    std::copy_n(d.padding, 3, form.padding);
    std::copy_n(d.dilation, 3, form.dilation);
    call.kernel = add_contraction(convolution_kernel(form));
  }

  // The host asks its contraction engine, devices get a kernel each.
  bool on_host() const { return p_.plan.device == runtime::DeviceId::cpu; }
  bool rounds_operands(DType t) const { return p_.plan.precision == runtime::Precision::bf16 && t == DType::f32; }
  uint32_t add_contraction(ir::loops::Kernel k) {
    p_.contractions.push_back(std::move(k));  // behind the other kernels, when all are known
    return static_cast<uint32_t>(p_.contractions.size() - 1);
  }

  // The static arguments of a row stand in its attribute; what is missing is the default.
  void complete_args(const Let& l, std::vector<Operand>& args) const {
    size_t wanted = ir::op_info(l.op).params.size();
    if (args.size() < wanted && l.attr < f_.constants.size())
      for (ir::ConstId c : f_.constants[l.attr].items) args.push_back({kNoReg, c});
    while (args.size() < wanted) args.push_back({});
  }

  // A vector is a row on the left, a column on the right.
  static Polys matmul_sizes(const ir::loops::Value& x, const form::Matmul& m, Polys a, Polys b) {
    if (a.size() == 1) a.insert(a.begin(), Poly(1));
    if (b.size() == 1) b.push_back(1);
    size_t ra = a.size(), rb = b.size();
    Poly na = product(std::span(a).first(ra - 2)), nb = product(std::span(b).first(rb - 2));
    return {a[ra - (m.a_transposed ? 1 : 2)],
            b[rb - (m.b_transposed ? 2 : 1)],
            a[ra - (m.a_transposed ? 2 : 1)],
            na,
            nb,
            product(x.dims)};
  }

  void loose(const Let& l, uint32_t at, bool ahead) {
    std::vector<Operand> args = operands(f_.args(l), l.nargs);
    if (!ir::is_tensor_op(l.op)) {
      auto [i, prim] = emit<work::Prim>();
      prim.ahead = ahead;
      return operation(i, prim, l, at, std::move(args));
    }
    complete_args(l, args);
    auto [i, row] = emit<work::Row>();
    operation(i, row, l, at, std::move(args));
    // What is written to items of a tensor that dies here is written in its place: nobody else may hold it.
    const bool in_place = ir::op_info(l.op).def->loop.index.starts_with("key ");
    if (row.type && row.type->is_tensor() && !in_place) row.keep = keep(leaves_[index(l.result)]);
  }
  void operation(Instr& i, work::Operation& x, const Let& l, uint32_t at, std::vector<Operand> args) {
    i.let = at;
    i.span = l.span;
    i.inlined = l.inlined;
    x.op = l.op;
    x.effect = l.effect;
    x.attr = l.attr;
    x.args = std::move(args);
    x.result = index(l.result);
    x.type = f_.name_info(l.result).type;
    x.binds =
        x.type && x.type->is_tensor() && (!b_.bound_at_entry(polys(x.type->dims)) || b_.has_chunk(polys(x.type->dims)));
    use(x.args);
  }

  void bind_params() {
    if (index(id_) == 0) return;
    for (NameId n : block().params) {
      const ir::Type* t = f_.name_info(n).type;
      if (!t || !t->is_tensor() || b_.bound_at_entry(polys(t->dims))) continue;
      auto [i, bind] = emit<work::Bind>();
      bind.source = index(n);
      bind.type = t;
    }
  }

  void terminate() {
    const ir::Terminator& t = block().term;
    using K = ir::Terminator::Kind;
    if (t.kind == K::return_) {
      std::vector<Operand> args =
          returned_tuple_ ? operands(f_.args(*returned_tuple_), returned_tuple_->nargs) : operands(&t.a, 1);
      auto [i, back] = emit<work::Return>();
      back.outputs = returned_tuple_ != nullptr;
      back.values = std::move(args);
      return use(back.values);
    }
    if (t.kind != K::jump && t.kind != K::branch) {
      auto [i, leave] = emit<work::Leave>();
      leave.why = t.a.is_const() ? f_.constant(t.a.constant()).text : "an exception";
      i.span = t.span;
      return;
    }
    std::vector<Edge> edges;
    for (const ir::Target& target : t.targets) {
      Edge e;
      e.target = index(target.block);  // the instruction is set when all blocks stand
      for (uint32_t k = 0; k < target.nargs; ++k)
        e.moves.emplace_back(index(f_.block(target.block).params[k]), operand(f_.args(target)[k]));
      edges.push_back(std::move(e));
    }
    if (t.kind == K::jump) {
      auto [i, jump] = emit<work::Jump>();
      jump.to = std::move(edges[0]);
      return use(jump.to);
    }
    const Operand condition = operand(t.a);
    auto [i, branch] = emit<work::Branch>();
    branch.condition = condition;
    branch.then = std::move(edges[0]);
    branch.otherwise = std::move(edges[1]);
    if (condition.reg != kNoReg) use_reg(condition.reg);
    use(branch.then);
    use(branch.otherwise);
  }
  void use(const Edge& e) {
    for (const auto& [to, from] : e.moves)
      if (from.reg != kNoReg) use_reg(from.reg);
  }

  // ---- lifetimes
  bool stays(Reg r) const { return r < f_.names.size() && live_out_.count(r) && live_out_.at(r); }

  void finish_lifetimes() {
    for (const auto& [reg, at] : last_use_) {
      // What the terminator hands on is let go, so that the next block may be its only holder; but for what it binds.
      if (stays(reg) || (at == here() && is_bound_by(p_.code[at], reg))) continue;
      p_.code[at].drop.push_back(reg);
    }
    for (uint32_t at = static_cast<uint32_t>(first_); at < p_.code.size(); ++at) {
      Instr& i = p_.code[at];
      const auto* launch = i.get<work::Kernel>();
      if (!launch) continue;
      const LoweredKernel& k = p_.kernels[launch->kernel];
      for (MakeTensor& m : i.make) find_donors(i, k, m);
      share_arena(i, k, at);
    }
  }

  static bool is_bound_by(const Instr& i, Reg reg) {
    const std::vector<const Edge*> edges = i.edges();
    if (edges.empty()) return true;  // the plan ends: everything is cleared
    return std::ranges::any_of(edges, [&](const Edge* e) {
      return std::ranges::any_of(e->moves, [&](const auto& m) { return m.first == reg; });
    });
  }

  bool may_overwrite(const LoweredKernel& k, uint32_t in, uint32_t out) const {
    const ir::loops::Value &from = g_[k.buffers[in]], &to = g_[k.buffers[out]];
    return k.kernel.buffers[in].access == Access::in && from.type == to.type &&
           product(from.dims) == product(to.dims) &&
           ir::loops::may_overwrite(k, in, out, p_.plan.device != runtime::DeviceId::cpu);
  }

  void find_donors(const Instr& i, const LoweredKernel& k, MakeTensor& m) {
    uint32_t out = position(i, {false, m.reg});
    for (uint32_t in = 0; in < i.buffers.size(); ++in) {
      const BufferRef& b = i.buffers[in];
      if (b.arena || cached_.count(b.index)) continue;
      bool dies = std::find(i.drop.begin(), i.drop.end(), b.index) != i.drop.end();
      const std::vector<ValueId>& values = k.buffers;
      if (dies && g_[values[in]].dims == g_[values[out]].dims && may_overwrite(k, in, out)) m.donors.push_back(b.index);
    }
  }
  static uint32_t position(const Instr& i, BufferRef b) {
    return static_cast<uint32_t>(std::find(i.buffers.begin(), i.buffers.end(), b) - i.buffers.begin());
  }

  // Outputs in the arena take the place of inputs there that die in this instruction, one output each.
  void share_arena(const Instr& i, const LoweredKernel& k, uint32_t at) {
    std::set<uint32_t> taken;
    for (uint32_t out = 0; out < i.buffers.size(); ++out) {
      if (!i.buffers[out].arena || k.kernel.buffers[out].access == Access::in) continue;
      for (uint32_t in = 0; in < i.buffers.size(); ++in) {
        if (!i.buffers[in].arena || taken.count(in) || p_.arena[i.buffers[in].index].last != at) continue;
        if (!may_overwrite(k, in, out)) continue;
        p_.arena[i.buffers[out].index].in_place_of = static_cast<int32_t>(i.buffers[in].index);
        taken.insert(in);
        break;
      }
    }
  }

  ProgramBuilder& b_;
  const ir::Function& f_;
  Program& p_;
  BlockId id_;
  Graph g_;
  Clustering c_;
  size_t first_;
  std::vector<bool> needed_, leaves_;  // by name: wanted as a value; leaves the plan or the block
  std::map<uint32_t, bool> live_out_;
  const Let* returned_tuple_ = nullptr;
  std::vector<BufferRef> buffer_;  // of root values
  std::set<Reg> cached_;
  std::map<ValueId, Reg> shared_;
  std::map<Reg, uint32_t> last_use_;
};

void ProgramBuilder::find_entry_symbols() {
  for (const ir::Type* t : p_.param_types) {
    if (!t || !t->is_tensor()) continue;
    for (const ir::SymDim& d : t->dims)
      if (!d.known()) {
        symbol(d.symbol);
        entry_symbols_.insert(d.symbol);
      }
  }
}

LoopEntry ProgramBuilder::entry(BlockId head, uint32_t begin) const {
  LoopEntry e{.block = head, .begin = begin, .live = {}};
  const auto add = [&](NameId n) {
    e.live.push_back(index(n));
    e.boxed = e.boxed || !f_.name_info(n).type;
  };
  std::ranges::for_each(f_.block(head).params, add);
  std::ranges::for_each(liveness_.live_in[index(head)], add);
  return e;
}

Program ProgramBuilder::run() {
  p_.registers = static_cast<uint32_t>(f_.names.size());
  for (NameId n : f_.blocks[0].params) {
    p_.params.push_back(index(n));
    p_.param_types.push_back(f_.name_info(n).type);
  }
  find_entry_symbols();
  std::vector<bool> reachable(f_.blocks.size(), false);
  for (BlockId b : ir::reverse_postorder(f_)) reachable[index(b)] = true;
  std::vector<uint32_t> start;
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    start.push_back(static_cast<uint32_t>(p_.code.size()));
    if (reachable[b]) BlockBuilder(*this, BlockId{b}).run();
  }
  for (uint32_t b = 1; b < f_.blocks.size(); ++b)
    if (reachable[b] && f_.blocks[b].loop_head) p_.entries.push_back(entry(BlockId{b}, start[b]));
  share_sizes(p_.kernels);
  for (Instr& i : p_.code) {
    for (Edge* e : i.edges()) e->target = start[e->target];
    if (auto* k = i.get<work::Kernel>()) {
      const Polys& all = p_.kernels[k->kernel].sizes;
      for (size_t n = k->sizes.size(); n < all.size(); ++n) k->sizes.push_back(size(all[n]));
    }
    const auto behind = static_cast<uint32_t>(p_.kernels.size());
    if (auto* m = i.get<work::Matmul>()) m->kernel += behind;
    if (auto* c = i.get<work::Convolve>()) c->kernel += behind;
  }
  return std::move(p_);
}

}  // namespace

Program lower_blocks(ir::FunctionRef f, runtime::ExecutionPlan plan, std::vector<Fence> fences) {
  return ProgramBuilder(std::move(f), plan, std::move(fences)).run();
}

}  // namespace ouro::jit
