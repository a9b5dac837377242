#include "jit/plan/check/plan_check.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/effect.h"
#include "ir/opt/edit.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "jit/plan/check/kernel_terms.h"
#include "jit/plan/check/meaning.h"

namespace ouro::jit::check {
namespace {

using ir::Atom;
using ir::Let;
using ir::NameId;
using ir::loops::Access;

std::string text(const Claim& c) {
  return c.stage < 0 ? fmt::format("%{}", index(c.name)) : fmt::format("%{} after group {}", index(c.name), c.stage);
}

// The memory of tensors. A register has seen it as it was after some number of writes.
struct Memory {
  uint64_t writes = 0;
};
struct Register {
  std::shared_ptr<Memory> memory;
  uint64_t seen = 0;
  Claim content;
};

// A stretch of the arena.
struct Stretch {
  int64_t begin = 0, end = 0;
  Claim content;
};

class BlockCheck {
 public:
  BlockCheck(const Program& p, const PlanSizes& sizes, const Program::Part& part, bool donate)
      : p_(p),
        f_(*p.function),
        sizes_(sizes),
        part_(part),
        donate_(donate),
        block_(f_.block(part.block)),
        meaning_(f_, part.block, sizes.of_symbol, terms_) {}

  void run() {
    enter();
    for (at_ = part_.begin; at_ < part_.end; ++at_) {
      const Instr& i = p_.code[at_];
      try {
        step(i);
      } catch (const Raised&) {
        return;
      } catch (const Violation& v) {
        throw Violation(fmt::format("instruction {} ({}): {}", at_, describe(i), v.what()));
      }
      for (Reg r : i.drop) regs_.erase(r);
    }
    at_ = part_.end;
    every_effect_once();
  }

 private:
  // A place in an axis without elements: the step raises, and nothing behind it runs.
  struct Raised {};

  int64_t size(SizeId id) const { return sizes_.sizes[id]; }

  std::string describe(const Instr& i) const {
    if (const auto* k = i.get<work::Kernel>()) return fmt::format("kernel {}", k->kernel);
    if (i.is<work::Matmul>()) return "matmul";
    if (i.is<work::Convolve>()) return "convolve";
    if (const auto* row = i.get<work::Row>()) return ir::op_info(row->op).name;
    return "a step";
  }

  // ---- registers
  NameId name(NameId n) const { return meaning_.origin(n); }
  bool is_tensor(NameId n) const {
    const ir::Type* t = f_.name_info(n).type;
    return t && t->is_tensor();
  }

  // Registers of names from elsewhere hold them.
  void enter() {
    auto holds = [&](NameId n) { define(index(n), {n, -1}); };
    std::vector<bool> made(f_.names.size(), false);
    for (const Let& l : block_.lets)
      if (l.result != NameId::none) made[index(l.result)] = true;
    for (NameId n : block_.params) holds(n);
    auto used = [&](Atom a) {
      if (a.is_name() && !made[index(a.name())]) holds(a.name());
    };
    for (const Let& l : block_.lets) ir::for_each_arg(f_, l, used);
    used(block_.term.a);
    used(block_.term.b);
    for (const ir::Target& t : block_.term.targets)
      for (uint32_t k = 0; k < t.nargs; ++k) used(f_.args(t)[k]);
    // What passes through to later blocks.
    for (NameId n : ir::Liveness(f_).live_out(f_, part_.block))
      if (!made[index(n)] && !regs_.count(index(n))) holds(n);
  }

  void expect(Reg r, const Claim& wanted, const char* what) const {
    auto it = regs_.find(r);
    if (it == regs_.end())
      throw Violation(fmt::format("{} {} from register {}, which holds nothing any more", what, text(wanted), r));
    const Register& held = it->second;
    if (!(canonical(held.content) == canonical(wanted)))
      throw Violation(fmt::format("{} {} from register {}, which holds {}", what, text(wanted), r, text(held.content)));
    if (held.seen != held.memory->writes)
      throw Violation(fmt::format("{} {} from register {}, whose memory was written since", what, text(wanted), r));
  }
  Claim canonical(Claim c) const {
    if (c.name != NameId::none) c.name = name(c.name);
    return c;
  }

  // A name of the function, or a tensor that is it in another shape, is what an operand is.
  void expect_atom(const Operand& o, Atom a, const char* what) const {
    if (a.is_none() || a.is_const()) {
      if (o.reg != kNoReg) throw Violation(fmt::format("{} a constant from register {}", what, o.reg));
      if (a.is_const() && !(o.constant == a.constant())) throw Violation(fmt::format("{} another constant", what));
      return;
    }
    if (o.reg == kNoReg) throw Violation(fmt::format("{} %{} from no register", what, index(a.name())));
    expect(o.reg, {a.name(), -1}, what);
  }

  void define(Reg r, const Claim& c) { regs_[r] = {std::make_shared<Memory>(), 0, c}; }

  // ---- memory
  std::pair<int64_t, int64_t> range(const BufferRef& b, const Claim& c) const {
    const int64_t bytes = elements(meaning_.shape(c)) * static_cast<int64_t>(size_of(meaning_.dtype(c)));
    const int64_t begin = sizes_.offsets[b.index];
    if (bytes > size(p_.arena[b.index].bytes))
      throw Violation(
          fmt::format("{} has {} bytes, its slot a{} {}", text(c), bytes, b.index, size(p_.arena[b.index].bytes)));
    return {begin, begin + bytes};
  }

  void reads(const BufferRef& b, const Claim& c) const {
    if (!b.arena) return expect(b.index, c, "reads");
    auto [begin, end] = range(b, c);
    if (begin == end) return;
    for (const Stretch& s : arena_)
      if (s.begin == begin && s.end >= end && canonical(s.content) == canonical(c)) return;
    std::string there;
    for (const Stretch& s : arena_)
      if (s.begin < end && begin < s.end)
        there += (there.empty() ? "" : ", ") + fmt::format("{} at {}..{}", text(s.content), s.begin, s.end);
    throw Violation(fmt::format("reads {} from bytes {}..{} of the arena (a{}), where {} stands", text(c), begin, end,
                                b.index, there.empty() ? "nothing" : there));
  }

  void writes(const BufferRef& b, const Claim& c) {
    if (!b.arena) {
      auto it = regs_.find(b.index);
      if (it == regs_.end())
        throw Violation(fmt::format("writes {} to register {}, which has no memory", text(c), b.index));
      it->second.content = c;
      it->second.seen = ++it->second.memory->writes;
      return;
    }
    auto [begin, end] = range(b, c);
    std::vector<Stretch> left;
    for (const Stretch& s : arena_) {  // what is overwritten in part is lost whole
      if (s.end <= begin || end <= s.begin) left.push_back(s);
    }
    left.push_back({begin, end, c});
    arena_ = std::move(left);
  }

  // New memory for an output, or that of a donor, if nobody else has it.
  void make(const MakeTensor& m) {
    if (donate_)
      for (Reg donor : m.donors) {
        auto it = regs_.find(donor);
        if (it == regs_.end()) throw Violation(fmt::format("register {} gives its memory and has none", donor));
        if (it->second.memory.use_count() > 1) continue;
        regs_[m.reg] = it->second;
        return;
      }
    define(m.reg, {});
  }

  // Do two buffers of an instruction have the same memory? Shifted against each other they must not be.
  bool shared(const Instr& i, size_t a, size_t b) const {
    const BufferRef &x = i.buffers[a], &y = i.buffers[b];
    if (x.arena != y.arena) return false;
    if (!x.arena) {
      auto p = regs_.find(x.index), q = regs_.find(y.index);
      return p != regs_.end() && q != regs_.end() && p->second.memory == q->second.memory;
    }
    auto [begin_x, end_x] = range(x, i.claims[a]);
    auto [begin_y, end_y] = range(y, i.claims[b]);
    if (begin_x == end_x || begin_y == end_y || end_x <= begin_y || end_y <= begin_x) return false;
    if (begin_x != begin_y)
      throw Violation(
          fmt::format("{} and {} overlap in the arena, one behind the other", text(i.claims[a]), text(i.claims[b])));
    return true;
  }

  // ---- instructions
  void step(const Instr& i) {
    std::visit([&](const auto& work) { step(work, i); }, i.work);
  }
  void step(const work::Bind& b, const Instr&) { expect(b.source, {NameId{b.source}, -1}, "binds"); }
  void step(const work::Leave&, const Instr&) {}

  void step(const work::Share& x, const Instr& i) {
    if (i.claims.size() != 2) throw Violation("a view without claims");
    expect(x.source, i.claims[0], "a view of");
    // The same elements in the same order: what the result is of the source must be that, element by element.
    const Claim &from = i.claims[0], &to = i.claims[1];
    const Shape s = meaning_.shape(to);
    if (elements(s) != elements(meaning_.shape(from))) throw Violation("a view with another number of elements");
    meaning_.in_memory({{name(from.name), from.stage}});
    const int64_t n = elements(s);
    for (int64_t k = 0; k < n; k = k < 8 || k >= n - 4 ? k + 1 : std::min(n - 4, k + 1 + n / 16))
      if (meaning_.computed(to, k) != meaning_.load(from, k))
        throw Violation(fmt::format("{} is not {} in another shape", text(to), text(from)));
    Register view = regs_.at(x.source);
    view.content = to;
    regs_[x.result] = view;
  }

  void step(const work::Row& row, const Instr& i) { operation(row, i); }
  void step(const work::Prim& prim, const Instr& i) {
    operation(prim, i);
    if (prim.ahead) done_.erase(i.let);  // what it does is not done before its place
  }
  void operation(const work::Operation& x, const Instr& i) {
    const Let& l = let_of(i);
    if (l.op != x.op) throw Violation("another operation than the function's");
    const Atom* args = f_.args(l);
    for (uint32_t k = 0; k < l.nargs; ++k) {
      if (k >= x.args.size()) throw Violation("an operand is missing");
      expect_atom(x.args[k], args[k], "takes");
    }
    done_[i.let] = at_;
    if (l.result != NameId::none) define(x.result, {l.result, -1});
  }

  const Let& let_of(const Instr& i) const {
    if (i.let >= block_.lets.size()) throw Violation("no operation of the function");
    return block_.lets[i.let];
  }

  void step(const work::CheckPlaces& x, const Instr& i) {
    reads(i.buffers.at(0), i.claims.at(0));
    const Let& l = let_of(i);
    const Atom* args = f_.args(l);
    int64_t bound = meaning_.bound(i.claims[0].name);
    if (size(x.places) != elements(meaning_.shape(i.claims[0]))) throw Violation("not all places are looked at");
    bool indexed = false;
    for (uint32_t k = 0; k < l.nargs; ++k) indexed |= args[k].is_name() && is_tensor(args[k].name());
    if (!indexed || size(x.bound) < bound) throw Violation("places are looked at for another axis");
    checked_[index(name(i.claims[0].name))] = size(x.bound);
    if (size(x.bound) == 0 && size(x.places) > 0) throw Raised();
  }

  void step(const work::Kernel& launch, const Instr& i) {
    const auto& lowered = p_.kernels.at(launch.kernel);
    const ir::loops::Kernel& k = lowered.kernel;
    if (i.buffers.size() != k.buffers.size() || i.claims.size() != k.buffers.size())
      throw Violation("buffers are missing");
    KernelRun run{.kernel = k, .sizes = {}, .scalars = {}, .buffer_elements = {}, .load = {}, .access = {}};
    for (SizeId id : launch.sizes) run.sizes.push_back(size(id));
    if (run.sizes.size() < k.sizes) throw Violation("sizes are missing");
    for (const ScalarRef& r : launch.scalars) {
      expect(r.reg, {NameId{r.reg}, -1}, "takes the number");
      run.scalars.push_back(terms_.scalar(r.is_float ? DType::f64 : DType::i64, r.reg));
    }
    std::set<std::pair<NameId, int>> memory;
    for (size_t b = 0; b < i.buffers.size(); ++b) {
      const Claim& c = i.claims[b];
      if (k.buffers[b].access == Access::in) {
        reads(i.buffers[b], c);
        memory.insert({name(c.name), c.stage});
      }
      if (meaning_.dtype(c) != k.buffers[b].type)
        throw Violation(fmt::format("{} is read as {}", text(c), ouro::name(k.buffers[b].type)));
      run.buffer_elements.push_back(elements(meaning_.shape(c)));
    }
    for (const MakeTensor& m : i.make) {
      auto b = std::find(i.buffers.begin(), i.buffers.end(), BufferRef{false, m.reg});
      if (b == i.buffers.end()) throw Violation("a tensor is made for no buffer");
      const Claim& c = i.claims[static_cast<size_t>(b - i.buffers.begin())];
      make_shape(m, c);
      make(m);
    }
    if (first_extent(k, run.sizes) != size(launch.range))
      throw Violation("the launch is not as long as the kernel's first loop");
    std::vector<std::pair<size_t, size_t>> pairs;  // an input, an output in its memory
    for (size_t out = 0; out < i.buffers.size(); ++out) {
      if (k.buffers[out].access == Access::in) continue;
      for (size_t b = 0; b < i.buffers.size(); ++b)
        if (b != out && shared(i, b, out)) {
          if (k.buffers[b].access != Access::in)
            throw Violation(fmt::format("two outputs in one memory: {}, {}", text(i.claims[b]), text(i.claims[out])));
          pairs.emplace_back(b, out);
        }
    }
    if (!donate_ || !pairs.empty()) follow(i, run, std::move(memory), pairs);
    for (size_t b = 0; b < i.buffers.size(); ++b)
      if (k.buffers[b].access != Access::in) writes(i.buffers[b], i.claims[b]);
  }

  void make_shape(const MakeTensor& m, const Claim& c) const {
    Shape s;
    for (SizeId d : m.dims) s.push_back(size(d));
    if (s != meaning_.shape(c) || m.dtype != meaning_.dtype(c))
      throw Violation(fmt::format("{} is made in another shape", text(c)));
  }

  // Questions 2 and 3.
  void follow(const Instr& i, KernelRun& run, std::set<std::pair<NameId, int>> memory,
              const std::vector<std::pair<size_t, size_t>>& pairs) {
    meaning_.in_memory(std::move(memory));
    struct Written {
      size_t order;
      std::vector<std::pair<uint32_t, int64_t>> iterations;
    };
    std::vector<std::unordered_map<int64_t, Written>> stores(i.buffers.size());
    struct Read {
      size_t order;
      KernelAccess access;
    };
    std::vector<std::vector<Read>> loads(i.buffers.size());
    std::vector<bool> watched(i.buffers.size(), false);
    for (auto [in, out] : pairs) watched[in] = true;
    size_t order = 0;
    run.load = [&](uint32_t b, int64_t at) {
      const Claim& c = i.claims[b];
      return meaning_.load(c, at);
    };
    run.access = [&](const KernelAccess& a) {
      ++order;
      if (!a.store) {
        if (watched[a.buffer]) loads[a.buffer].push_back({order, a});
        return;
      }
      const Claim& c = i.claims[a.buffer];
      auto [it, fresh] = stores[a.buffer].try_emplace(a.at, Written{order, a.iterations});
      if (!fresh) throw Violation(fmt::format("element {} of {} is stored twice", a.at, text(c)));
      if (donate_) return;  // what is computed has been looked at
      const Term wanted = meaning_.computed(c, a.at);
      if (wanted != a.value)
        throw Violation(fmt::format("element {} of {} is {}, and {} is stored (b{})", a.at, text(c),
                                    terms_.text(wanted, 6), terms_.text(a.value, 6), a.buffer));
    };
    bool whole = false;
    try {
      whole = run_kernel(run, terms_);
    } catch (const TooLong&) {
      return;
    }
    for (NameId n : meaning_.followed())
      if (!donate_ && !checked_.count(index(n)))
        throw Violation(fmt::format("%{} says which elements are meant, before it is looked at", index(n)));
    for (size_t b = 0; whole && b < i.buffers.size(); ++b)
      if (run.kernel.buffers[b].access != Access::in &&
          static_cast<int64_t>(stores[b].size()) != run.buffer_elements[b])
        throw Violation(fmt::format("{} of {} elements of {} are stored", stores[b].size(), run.buffer_elements[b],
                                    text(i.claims[b])));
    for (auto [in, out] : pairs)
      for (const Read& r : loads[in]) {
        auto it = stores[out].find(r.access.at);
        if (it == stores[out].end()) continue;
        const Written& w = it->second;
        // What stands in front of the first loop is computed by every thread, whenever it begins.
        bool together = !r.access.iterations.empty() || w.iterations.empty();
        for (size_t d = 0; d < std::min(r.access.iterations.size(), w.iterations.size()); ++d) {
          if (r.access.iterations[d].first != w.iterations[d].first) break;
          together = together && r.access.iterations[d].second == w.iterations[d].second;
        }
        if (together && r.order < w.order) continue;
        std::string when;
        for (auto [v, n] : r.access.iterations) when += fmt::format(" i{} = {}", v, n);
        throw Violation(fmt::format("the load of b{}[{}]{} sees the store to b{}[{}]{}: {} has the memory of {}", in,
                                    r.access.at, when, out, r.access.at, together ? "" : " of another iteration",
                                    text(i.claims[out]), text(i.claims[in])));
      }
  }

  // A library call reads its operands and writes its result; the numbers it is told are the operands' dims.
  void step(const work::Convolve&, const Instr& i) {
    operands_and_result(i);
    writes(i.buffers[2], i.claims[2]);
  }
  void operands_and_result(const Instr& i) {
    const Let& l = let_of(i);
    if (i.buffers.size() != 3 || i.claims.size() != 3) throw Violation("buffers are missing");
    reads(i.buffers[0], i.claims[0]);
    reads(i.buffers[1], i.claims[1]);
    const Atom* args = f_.args(l);
    for (uint32_t k = 0; k < 2; ++k)
      if (!args[k].is_name() || !same_elements(i.claims[k], args[k].name()))
        throw Violation(fmt::format("takes {} for operand {}", text(i.claims[k]), k));
    if (!(canonical(i.claims[2]) == canonical({l.result, -1}))) throw Violation("gives another name");
    for (const MakeTensor& m : i.make) {
      make_shape(m, i.claims[2]);
      make(m);
    }
    for (size_t b = 0; b < 2; ++b)
      if (shared(i, b, 2)) throw Violation("the result has the memory of an operand");
  }
  void step(const work::Matmul& product, const Instr& i) {
    operands_and_result(i);
    const Let& l = let_of(i);
    const Atom* args = f_.args(l);
    const std::string_view rule = ir::op_info(l.op).def->loop.index;
    Shape a = meaning_.shape(args[0].name()), b = meaning_.shape(args[1].name());
    const bool ta = rule.starts_with("km"), tb = rule.substr(3, 2) == "nk";
    if (product.form.a_transposed != ta || product.form.b_transposed != tb) throw Violation("another transposition");
    if (a.size() == 1) a.insert(a.begin(), 1);
    if (b.size() == 1) b.push_back(1);
    const size_t ra = a.size(), rb = b.size();
    const int64_t m = ta ? a[ra - 1] : a[ra - 2], k = ta ? a[ra - 2] : a[ra - 1], n = tb ? b[rb - 2] : b[rb - 1];
    const bool any_a = elements(a) && m != 0 && k != 0, any_b = elements(b) && k != 0 && n != 0;
    const int64_t products_a = any_a ? elements(a) / (m * k) : elements(Shape(a.begin(), a.end() - 2));
    const int64_t products_b = any_b ? elements(b) / (k * n) : elements(Shape(b.begin(), b.end() - 2));
    const int64_t wanted[] = {m, n, k, products_a, products_b, elements(meaning_.shape({l.result, -1}))};
    for (size_t s = 0; s < 6; ++s)
      if (size(product.sizes.at(s)) != wanted[s])
        throw Violation(fmt::format("size {} of a product is {}, not {}", s, size(product.sizes[s]), wanted[s]));
    writes(i.buffers[2], i.claims[2]);
  }

  // Is a buffer, taken as it lies, the named tensor? (A reshape needs no copy.)
  bool same_elements(const Claim& c, NameId n) {
    if (canonical(c) == canonical({n, -1})) return true;
    const Shape s = meaning_.shape({n, -1});
    const int64_t count = elements(s);
    if (count != elements(meaning_.shape(c))) return false;
    meaning_.in_memory({{name(c.name), c.stage}});
    for (int64_t k = 0; k < count; k = k < 8 || k >= count - 4 ? k + 1 : std::min(count - 4, k + 1 + count / 16))
      if (meaning_.computed({name(n), -1}, k) != meaning_.load(c, k)) return false;
    return true;
  }

  void step(const work::Jump&, const Instr& i) { leave_block(i); }
  void step(const work::Branch& branch, const Instr& i) {
    expect_atom(branch.condition, block_.term.a, "branches on");
    leave_block(i);
  }
  void leave_block(const Instr& i) {
    const ir::Terminator& t = block_.term;
    const std::vector<const Edge*> edges = i.edges();
    if (edges.size() != t.targets.size()) throw Violation("another number of ways out");
    for (size_t e = 0; e < edges.size(); ++e) {
      const ir::Target& target = t.targets[e];
      if (edges[e]->moves.size() != target.nargs) throw Violation("not every parameter gets a value");
      for (uint32_t k = 0; k < target.nargs; ++k) {
        const auto& [to, from] = edges[e]->moves[k];
        if (to != index(f_.block(target.block).params[k])) throw Violation("a value goes to another parameter");
        expect_atom(from, f_.args(target)[k], "hands over");
      }
    }
    for (NameId n : ir::Liveness(f_).live_out(f_, part_.block)) expect(index(n), {n, -1}, "leaves for later blocks");
  }

  void step(const work::Return& back, const Instr&) {
    const ir::Terminator& t = block_.term;
    if (!back.outputs) return expect_atom(back.values.at(0), t.a, "returns");
    const Let* made = meaning_.let_of(t.a.name());
    if (!made || made->op != ir::prim::tuple || made->nargs != back.values.size())
      throw Violation("returns another tuple");
    for (uint32_t k = 0; k < made->nargs; ++k) expect_atom(back.values[k], f_.args(*made)[k], "returns");
    for (uint32_t k = 0; k < block_.lets.size(); ++k)
      if (&block_.lets[k] == made) done_[k] = at_;
  }

  // Operations with effects stand in the plan once, in their order.
  void every_effect_once() const {
    uint32_t before = 0;
    for (uint32_t k = 0; k < block_.lets.size(); ++k) {
      const Let& l = block_.lets[k];
      const bool effect = ir::is_tensor_op(l.op) ? ir::op_info(l.op).def->effect != ir::OpEffect::none
                                                 : !ir::opt::is_pure(f_, l) && !ir::deletable(ir::effects_of(f_, l));
      if (!effect) continue;
      auto it = done_.find(k);
      if (it == done_.end())
        throw Violation(fmt::format("an operation with effects, let {} of the block, is not in the plan", k));
      if (it->second < before)
        throw Violation(fmt::format("let {} of the block, which has effects, comes too early", k));
      before = it->second;
    }
  }

  const Program& p_;
  const ir::Function& f_;
  const PlanSizes& sizes_;
  const Program::Part& part_;
  bool donate_;
  const ir::Block& block_;
  Terms terms_;
  Meaning meaning_;
  uint32_t at_ = 0;
  std::map<Reg, Register> regs_;
  std::vector<Stretch> arena_;
  std::map<uint32_t, int64_t> checked_;  // index names whose places were looked at
  std::map<uint32_t, uint32_t> done_;    // lets, by the instruction that carried them out
};

std::atomic<int> checking{-1};

}  // namespace

/// Does a block touch no memory of tensors?
static bool moves_no_tensors(const Program& p, const Program::Part& part) {
  return std::all_of(p.code.begin() + part.begin, p.code.begin() + part.end, [](const Instr& i) {
    return i.make.empty() && i.buffers.empty() && !i.is<work::Row>() && !i.is<work::Share>();
  });
}

std::string check_program(const Program& p, const PlanSizes& sizes) {
  // Of a program with very many blocks (scalar code, unrolled) only those are followed that can go wrong: each costs as
  // much as the function has names.
  constexpr size_t kMany = 256;
  for (const Program::Part& part : p.parts) {
    if (p.parts.size() > kMany && moves_no_tensors(p, part)) continue;
    for (bool donate : {false, true}) try {
        BlockCheck(p, sizes, part, donate).run();
      } catch (const NoSuchSizes&) {
      } catch (const Violation& v) {
        return fmt::format("block ^{}{}: {}", index(part.block), donate ? ", dying inputs give their memory" : "",
                           v.what());
      }
  }
  return {};
}

bool checking_plans() {
  int on = checking.load(std::memory_order_relaxed);
  if (on < 0) {
    on = std::getenv("OURO_CHECK_PLANS") != nullptr;
    checking.store(on, std::memory_order_relaxed);
  }
  return on == 1;
}

void set_checking_plans(bool on) { checking.store(on, std::memory_order_relaxed); }

}  // namespace ouro::jit::check
