// Typed ANF to a program: block by block, clusters to kernel instructions, values to registers and arena slots,
// lifetimes to drops and donors.
#include <algorithm>
#include <set>

#include "ir/loops/contraction.h"
#include "ir/loops/overlap.h"
#include "ir/opt/pipeline.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "jit/plan/plan_program.h"
#include "support/diag.h"

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
  ProgramBuilder(ir::FunctionRef f, runtime::ExecutionPlan plan) : f_(*f) {
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
          if (!entry_symbols_.count(s)) return false;
    return true;
  }
  Reg new_reg() { return p_.registers++; }
  Program& program() { return p_; }
  const ir::Function& function() const { return f_; }
  const ir::Liveness& liveness() const { return liveness_; }

 private:
  void find_entry_symbols();

  const ir::Function& f_;
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
        g_(build_graph(f_, id)),
        c_(cluster(g_)),
        first_(p_.code.size()) {}

  void run() {
    find_needed();
    place_values();
    bind_params();
    for (const Step& s : c_.steps) step(s);
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
      const Value& x = g_[v];
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

  Instr& emit(Instr::Kind kind) {
    p_.code.emplace_back();
    p_.code.back().kind = kind;
    return p_.code.back();
  }
  uint32_t here() const { return static_cast<uint32_t>(p_.code.size() - 1); }

  // ---- uses
  void use_reg(Reg r) { last_use_[r] = here(); }
  Claim claim(ValueId v) const {
    const Value& x = g_[v];
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
      Instr& i = emit(Instr::Kind::share);
      i.result = g_[v].name != NameId::none ? index(g_[v].name) : b_.new_reg();
      i.source = buffer_[r].index;
      i.claims = {claim(r), claim(v)};
      i.dims = b_.sizes(g_[v].dims);
      shared_[v] = i.result;
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
          loose(l, s.let);
        break;
      }
    }
  }

  void kernel(const Step& s) {
    LoweredKernel k = lower(g_, s.cluster, c_.root);
    Instr& i = emit(Instr::Kind::kernel);
    i.kernel = static_cast<uint32_t>(p_.kernels.size());
    for (ValueId v : k.buffers) add_buffer(i, v);
    for (ValueId v : s.cluster.outputs) make(i, v);
    i.sizes = b_.sizes(k.sizes);
    i.sizes.resize(std::max<size_t>(i.sizes.size(), k.kernel.sizes), b_.size(0));
    for (const Use& u : k.scalars) {
      i.scalars.push_back({index(u.name), is_float(u.type)});
      use_reg(index(u.name));
    }
    i.range = b_.size(k.range);
    i.work = b_.size(k.work);
    i.span = span_of(s.cluster);
    p_.kernels.push_back(std::move(k));
  }

  Span span_of(const Cluster& c) const {
    for (ValueId v : c.outputs)
      if (g_[v].let != UINT32_MAX) return block().lets[g_[v].let].span;
    return {};
  }

  void check_places(const Step& s) {
    const Value& v = g_[s.value];
    ValueId places = v.inputs[1].value;
    Instr& i = emit(Instr::Kind::check_places);
    add_buffer(i, places);
    i.let = s.let;
    i.op = block().lets[s.let].op;
    const Polys& dims = g_[v.inputs[0].value].dims;
    i.sizes = {b_.size(product(g_[places].dims)), b_.size(dims[static_cast<size_t>(index_axis(v))])};
    i.span = block().lets[s.let].span;
  }

  void contraction(ValueId v, const Let& l) {
    const Value& x = g_[v];
    const auto* product_of = x.get<form::Matmul>();
    Instr& i = emit(product_of ? Instr::Kind::matmul : Instr::Kind::convolve);
    i.span = l.span;
    for (const Use& u : x.inputs) add_buffer(i, u.value);
    add_buffer(i, v);
    i.let = x.let;
    make(i, v);
    const Polys &a = g_[x.inputs[0].value].dims, &b = g_[x.inputs[1].value].dims;
    if (product_of) {
      i.matmul.dtype = x.type;
      i.matmul.precision = p_.plan.precision;
      i.matmul.a_transposed = product_of->a_transposed;
      i.matmul.b_transposed = product_of->b_transposed;
      i.sizes = b_.sizes(matmul_sizes(x, *product_of, a, b));
      contraction_kernel(i);
      return;
    }
    using Kind = runtime::Convolution::Kind;
    runtime::Convolution& d = i.convolution;
    const auto& c = *x.get<form::Convolve>();
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
    const Polys& image = forward ? a : input ? x.dims : b;
    const Polys& result = forward ? x.dims : a;
    const Polys& weight = forward || input ? b : x.dims;
    Polys sizes{image[0], image[1], weight[0]};
    for (const Polys* p : {&image, &result, &weight}) sizes.insert(sizes.end(), p->begin() + 2, p->end());
    i.sizes = b_.sizes(sizes);
    contraction_kernel(i);
  }

  // The host asks its contraction engine, devices get a kernel each.
  void contraction_kernel(Instr& i) {
    if (p_.plan.device == runtime::DeviceId::cpu) return;
    i.kernel = static_cast<uint32_t>(p_.contractions.size());  // behind the other kernels, when all are known
    const bool round = p_.plan.precision == runtime::Precision::bf16;
    if (i.kind == Instr::Kind::matmul) {
      p_.contractions.push_back(ir::loops::matmul_kernel({.dtype = i.matmul.dtype,
                                                          .round_operands = round && i.matmul.dtype == DType::f32,
                                                          .a_transposed = i.matmul.a_transposed,
                                                          .b_transposed = i.matmul.b_transposed,
                                                          .batched = true}));
      return;
    }
    const runtime::Convolution& d = i.convolution;
    ir::loops::ConvolutionForm form{.kind = static_cast<ir::loops::ConvolutionForm::Kind>(d.kind),
                                    .dtype = d.dtype,
                                    .round_operands = round && d.dtype == DType::f32,
                                    .rank = d.rank,
                                    .groups = d.groups};
    std::copy_n(d.stride, 3, form.stride);
    std::copy_n(d.padding, 3, form.padding);
    std::copy_n(d.dilation, 3, form.dilation);
    p_.contractions.push_back(ir::loops::convolution_kernel(form));
  }

  // The static arguments of a row stand in its attribute; what is missing is the default.
  void complete_args(const Let& l, std::vector<Operand>& args) const {
    size_t wanted = ir::op_info(l.op).params.size();
    if (args.size() < wanted && l.attr < f_.constants.size())
      for (ir::ConstId c : f_.constants[l.attr].items) args.push_back({kNoReg, c});
    while (args.size() < wanted) args.push_back({});
  }

  // A vector is a row on the left, a column on the right.
  static Polys matmul_sizes(const Value& x, const form::Matmul& m, Polys a, Polys b) {
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

  void loose(const Let& l, uint32_t at) {
    std::vector<Operand> args = operands(f_.args(l), l.nargs);
    if (ir::is_tensor_op(l.op)) complete_args(l, args);
    Instr& i = emit(ir::is_tensor_op(l.op) ? Instr::Kind::row : Instr::Kind::prim);
    i.op = l.op;
    i.effect = l.effect;
    i.let = at;
    i.attr = l.attr;
    i.args = std::move(args);
    i.result = index(l.result);
    i.type = f_.name_info(l.result).type;
    i.binds = i.type && i.type->is_tensor() && !b_.bound_at_entry(polys(i.type->dims));
    i.span = l.span;
    if (i.kind == Instr::Kind::row && i.type && i.type->is_tensor()) i.keep = keep(leaves_[index(l.result)]);
    use(i.args);
  }

  void bind_params() {
    if (index(id_) == 0) return;
    for (NameId n : block().params) {
      const ir::Type* t = f_.name_info(n).type;
      if (!t || !t->is_tensor() || b_.bound_at_entry(polys(t->dims))) continue;
      Instr& i = emit(Instr::Kind::bind);
      i.source = index(n);
      i.type = t;
    }
  }

  void terminate() {
    const ir::Terminator& t = block().term;
    using K = ir::Terminator::Kind;
    if (t.kind == K::return_) {
      std::vector<Operand> args =
          returned_tuple_ ? operands(f_.args(*returned_tuple_), returned_tuple_->nargs) : operands(&t.a, 1);
      Instr& i = emit(Instr::Kind::return_);
      i.attr = returned_tuple_ ? 1 : 0;  // whether args are the outputs already
      i.args = std::move(args);
      return use(i.args);
    }
    if (t.kind != K::jump && t.kind != K::branch) {
      Instr& i = emit(Instr::Kind::leave);
      i.why = t.a.is_const() ? f_.constant(t.a.constant()).text : "an exception";
      i.span = t.span;
      return;
    }
    std::vector<Instr::Edge> edges;
    for (const ir::Target& target : t.targets) {
      Instr::Edge e;
      e.target = index(target.block);  // the instruction is set when all blocks stand
      for (uint32_t k = 0; k < target.nargs; ++k)
        e.moves.emplace_back(index(f_.block(target.block).params[k]), operand(f_.args(target)[k]));
      edges.push_back(std::move(e));
    }
    Operand condition = t.kind == K::branch ? operand(t.a) : Operand{};
    Instr& i = emit(t.kind == K::jump ? Instr::Kind::jump : Instr::Kind::branch);
    i.condition = condition;
    i.edges = std::move(edges);
    if (condition.reg != kNoReg) use_reg(condition.reg);
    for (const Instr::Edge& e : i.edges)
      for (const auto& [to, from] : e.moves)
        if (from.reg != kNoReg) use_reg(from.reg);
  }

  // ---- lifetimes
  bool stays(Reg r) const { return r < f_.names.size() && live_out_.count(r) && live_out_.at(r); }

  void finish_lifetimes() {
    for (const auto& [reg, at] : last_use_) {
      if (stays(reg) || at == here()) continue;  // the terminator's are cleared with everything else
      p_.code[at].drop.push_back(reg);
    }
    for (uint32_t at = static_cast<uint32_t>(first_); at < p_.code.size(); ++at) {
      Instr& i = p_.code[at];
      if (i.kind != Instr::Kind::kernel) continue;
      for (MakeTensor& m : i.make) find_donors(i, m);
      share_arena(i, at);
    }
  }

  bool may_overwrite(const Instr& i, uint32_t in, uint32_t out) const {
    const LoweredKernel& k = p_.kernels[i.kernel];
    const Value &from = g_[k.buffers[in]], &to = g_[k.buffers[out]];
    return k.kernel.buffers[in].access == Access::in && from.type == to.type &&
           product(from.dims) == product(to.dims) &&
           ir::loops::may_overwrite(k, in, out, p_.plan.device != runtime::DeviceId::cpu);
  }

  void find_donors(const Instr& i, MakeTensor& m) {
    uint32_t out = position(i, {false, m.reg});
    for (uint32_t in = 0; in < i.buffers.size(); ++in) {
      const BufferRef& b = i.buffers[in];
      if (b.arena || cached_.count(b.index)) continue;
      bool dies = std::find(i.drop.begin(), i.drop.end(), b.index) != i.drop.end();
      const std::vector<ValueId>& values = p_.kernels[i.kernel].buffers;
      if (dies && g_[values[in]].dims == g_[values[out]].dims && may_overwrite(i, in, out)) m.donors.push_back(b.index);
    }
  }
  static uint32_t position(const Instr& i, BufferRef b) {
    return static_cast<uint32_t>(std::find(i.buffers.begin(), i.buffers.end(), b) - i.buffers.begin());
  }

  // Outputs in the arena take the place of inputs there that die in this instruction, one output each.
  void share_arena(const Instr& i, uint32_t at) {
    std::set<uint32_t> taken;
    for (uint32_t out = 0; out < i.buffers.size(); ++out) {
      if (!i.buffers[out].arena || p_.kernels[i.kernel].kernel.buffers[out].access == Access::in) continue;
      for (uint32_t in = 0; in < i.buffers.size(); ++in) {
        if (!i.buffers[in].arena || taken.count(in) || p_.arena[i.buffers[in].index].last != at) continue;
        if (!may_overwrite(i, in, out)) continue;
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
  for (Instr& i : p_.code) {
    for (Instr::Edge& e : i.edges) e.target = start[e.target];
    if (i.kind == Instr::Kind::matmul || i.kind == Instr::Kind::convolve)
      i.kernel += static_cast<uint32_t>(p_.kernels.size());
  }
  return std::move(p_);
}

}  // namespace

Program build_program(ir::FunctionRef typed, runtime::ExecutionPlan plan) {
  return ProgramBuilder(ir::opt::optimise(std::move(typed)), plan).run();
}

}  // namespace ouro::jit
