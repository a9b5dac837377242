// Running a program, on an activation (activation.h).
//
// An interrupt is looked for before each instruction, and by what works for long inside of one (kernels, contractions,
// rows): the activation is given up then, and what it had begun to write is written anew by the next run.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "ir/effect.h"
#include "jit/plan/check/plan_check.h"
#include "jit/plan/compiled_plan.h"
#include "runtime/interpreter/code.h"
#include "runtime/interpreter/sampler.h"
#include "runtime/machine/contract.h"
#include "runtime/machine/device.h"
#include "runtime/machine/memory.h"
#include "runtime/object/exception.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/coherence.h"
#include "runtime/tensor/indexing.h"
#include "runtime/tensor/tensor.h"
#include "support/diag.h"
#include "support/small_vec.h"
#include "support/timeline.h"
#include "support/trace.h"

namespace ouro::jit {
namespace {

using runtime::Session;
using runtime::Tensor;
using runtime::Value;

// No memory holds so much; a fused loop, which needs none, would not end.
constexpr int64_t kMostElements = int64_t{1} << 48;

// Sets of sizes for which a plan is checked.
constexpr int kMostChecks = 2;

alignas(64) char empty_memory[64];  // where the address of no element points

constinit thread_local std::string_view leave_text;  // of the plan, or a literal

}  // namespace

std::string_view CompiledPlan::leave_reason() const { return leave_text; }

// One run.
struct Runner {
  CompiledPlan& plan;
  const Program& p;
  Activation& a;
  RunContext& ctx;
  Session& s;
  std::shared_ptr<runtime::Device> device{};  // where the kernels run; null: the host
  uint32_t at = UINT32_MAX;                   // the instruction; none yet
  bool leaves = false;                        // the instruction asks the interpreter to do the call
  bool waits = false;                         // the instruction is ad.wait
  PlanRef successor{};                        // the run goes on there, from the head of the loop that `at` begins

  Value& reg(Reg r) { return a.regs[r]; }
  int64_t size(SizeId id) const { return a.sizes[id]; }

  // ---- sizes
  bool bind(const ir::Type* t, const Value& v) {
    auto* tensor = v.is_object() && runtime::kind_of(v) == runtime::ObjectKind::tensor ? v.as<Tensor>() : nullptr;
    if (!tensor || tensor->rank != t->dims.size()) return true;
    bool same = true;
    for (size_t i = 0; i < t->dims.size(); ++i) {
      const ir::SymDim& d = t->dims[i];
      if (d.known()) continue;
      auto it = p.symbol_index.find(d.symbol);
      if (it == p.symbol_index.end()) continue;
      int64_t value = (tensor->dim(static_cast<int>(i)) - d.c) / d.m;
      if (a.symbols[it->second] != value) same = false;
      a.symbols[it->second] = value;
    }
    return same;
  }

  void evaluate_sizes() {
    a.sizes.resize(p.sizes.size());
    auto value = [&](uint32_t symbol) { return a.symbols[p.symbol_index.at(symbol)]; };
    a.endless = false;
    for (size_t i = 0; i < p.sizes.size(); ++i) {
      a.sizes[i] = p.sizes[i].evaluate(value);
      a.endless |= a.sizes[i] > kMostElements;
    }
  }

  // In the middle of a run: what depends on the new sizes has buffers of its own.
  bool resize() {
    evaluate_sizes();
    if (!a.endless) return true;
    a.sized = false;
    runtime::raise_text(s, runtime::ExcKind::MemoryError, "not enough memory for a tensor of a compiled step");
    return false;
  }

  bool place_arena() {
    std::vector<ir::loops::ArenaItem> items;
    for (const ArenaSlot& slot : p.arena)
      items.push_back(
          {.first = slot.first, .last = slot.last, .bytes = size(slot.bytes), .in_place_of = slot.in_place_of});
    int64_t bytes = ir::loops::plan_arena(items);
    if (!items.empty()) bytes = std::max<int64_t>(bytes, 64);  // elements that there are none of have an address, too
    a.offsets.clear();
    for (const auto& i : items) a.offsets.push_back(i.offset);
    plan.peak_ = bytes;
    plan.last_sizes_.clear();
    for (size_t i = 0; i < p.symbols.size(); ++i) plan.last_sizes_.emplace_back(p.symbols[i], a.symbols[i]);
    if (bytes > a.arena_bytes) {
      a.drop_arena();
      if (device || runtime::HeldMemory::take(static_cast<size_t>(bytes), a.held))
        a.arena = static_cast<char*>(plan.backend_->allocate(static_cast<size_t>(bytes)));
      a.backend = plan.backend_;
      a.arena_bytes = a.arena ? bytes : 0;
      if (!a.arena) {
        runtime::raise_error(s, runtime::ExcKind::MemoryError, "a compiled step needs %lld bytes",
                             static_cast<long long>(bytes));
        return false;
      }
    }
    return true;
  }

  bool start(std::span<Value> inputs) {
    a.regs.resize(p.registers);
    a.caches.resize(p.caches);
    a.constants.resize(p.function->constants.size());
    a.symbols.resize(p.symbols.size(), -1);
    bool same = a.sized;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (p.param_types[i] && p.param_types[i]->is_tensor() && !bind(p.param_types[i], inputs[i])) same = false;
      reg(p.params[i]) = std::move(inputs[i]);
    }
    at = 0;
    // The last chunk of the run before may have been a smaller one.
    bool smaller = false;
    if (p.chunk) {
      int64_t& rows = a.symbols[p.symbol_index.at(p.chunk)];
      smaller = rows != p.chunk_rows;
      rows = p.chunk_rows;
    }
    if (same && smaller) evaluate_sizes();
    if (same) return true;
    evaluate_sizes();
    a.sized = !a.endless && place_arena();
    if (a.sized && check::checking_plans() && plan.checks_ < kMostChecks) return check_plan();
    return a.sized || a.endless;
  }

  // The debug option (jit/plan/check): a plan that is not what the function says is not run.
  bool check_plan() {
    ++plan.checks_;
    auto size_of = [&](uint32_t symbol) {
      const auto it = p.symbol_index.find(symbol);
      return it == p.symbol_index.end() ? -1 : a.symbols[it->second];  // -1: not known before the step runs
    };
    const std::string wrong = check::check_program(p, {size_of, a.sizes, a.offsets});
    if (wrong.empty()) return true;
    const std::string text = fmt::format("plan of {}: {}", p.function->qualname.text(), wrong);
    if (std::getenv("OURO_ABORT_ON_BUG")) ouro_bug("%s", text.c_str());
    std::fprintf(stderr, "%s\n", text.c_str());
    a.sized = false;
    runtime::raise_text(s, runtime::ExcKind::RuntimeError, text);
    return false;
  }

  // ---- poison (the debug option): memory without a value is filled with NaNs, which no result may show
  static constexpr int kPoison = 0xff;

  void poison_arena() {
    if (check::checking_plans() && !device && a.arena)
      std::memset(a.arena, kPoison, static_cast<size_t>(a.arena_bytes));
  }
  // Slots whose last use was instruction `at`, but for what others have of their memory.
  void poison_dead(uint32_t at) {
    if (device) return;
    for (size_t dead = 0; dead < p.arena.size(); ++dead) {
      if (p.arena[dead].last != at) continue;
      const int64_t begin = a.offsets[dead], end = begin + size(p.arena[dead].bytes);
      const bool taken = [&] {
        for (size_t k = 0; k < p.arena.size(); ++k)
          if (k != dead && p.arena[k].first <= at && p.arena[k].last > at && a.offsets[k] < end &&
              a.offsets[k] + size(p.arena[k].bytes) > begin)
            return true;
        return false;
      }();
      if (!taken && end > begin) std::memset(a.arena + begin, kPoison, static_cast<size_t>(end - begin));
    }
  }
  void poison(const Value& v) {
    auto* t = v.as<Tensor>();
    if (!device && t->size && t->buffer->data) std::memset(t->data(), kPoison, t->nbytes());
  }

  // ---- memory
  // Null with the exception pending: the elements cannot be brought there.
  void* pointer(const BufferRef& b) {
    if (b.arena) return a.arena + a.offsets[b.index];
    runtime::Buffer* buffer = reg(b.index).as<Tensor>()->buffer;
    if (!device && buffer->data) return buffer->data;
    if (device) return runtime::to_device(s, device, buffer);
    if (!buffer->data && !runtime::to_host(s, buffer)) return nullptr;
    return buffer->data ? buffer->data : empty_memory;
  }
  bool pointers(const Instr& i) {
    a.pointers.resize(i.buffers.size());
    void** to = a.pointers.data();
    for (const BufferRef& b : i.buffers)
      if (!(*to++ = pointer(b))) return false;
    return true;
  }
  // May a kernel write this tensor's elements where they are?
  bool reusable(const Tensor* t) const {
    if (!device) return t->unshared();
    const runtime::Buffer* b = t->buffer;
    return t->refs == 1 && b->refs == 1 && b->device && b->device->on == device && !b->read_only && !b->release;
  }
  // One that this activation has made, in a loop's iteration before, and that nobody but it holds: the register, and
  // what keeps it for later runs, where it may stay.
  bool is_own(const Tensor* t) const {
    if (device || t->refs != 2 || t->buffer->refs != 1 || !t->buffer->data || t->buffer->read_only) return false;
    return std::ranges::any_of(a.caches, [&](const Value& v) { return v.is_object() && v.as<Tensor>() == t; });
  }
  Value new_tensor(DType dtype, std::span<const int64_t> dims) {
    return device ? runtime::make_device_tensor(s, device, dtype, dims) : runtime::make_tensor(s, dtype, dims);
  }

  bool make(const MakeTensor& m) {
    Value& to = reg(m.reg);
    a.numbers.clear();
    for (SizeId d : m.dims) a.numbers.push_back(size(d));
    for (Reg donor : m.donors) {
      Value& v = reg(donor);
      if (!v.is_object() || !(reusable(v.as<Tensor>()) || is_own(v.as<Tensor>()))) continue;
      to = v;  // both, until the instruction is done: the donor's register is dropped then
      to.as<Tensor>()->place = ctx.place;
      ++plan.counters_.donated;
      return true;
    }
    Value* kept = slot(m.keep);
    if (kept && kept->is_object() && reusable(kept->as<Tensor>()) &&
        std::ranges::equal(kept->as<Tensor>()->shape(), a.numbers)) {
      to = *kept;
      to.as<Tensor>()->place = ctx.place;
      if (check::checking_plans()) poison(to);
      return true;
    }
    to = new_tensor(m.dtype, a.numbers);
    if (to.is_error()) return false;
    to.as<Tensor>()->place = ctx.place;
    if (check::checking_plans()) poison(to);
    ++plan.counters_.tensors_made;
    if (kept) *kept = to;
    return true;
  }

  // The first slot whose tensor may be written, or else the last; null when nothing is kept.
  Value* slot(const Keep& keep) {
    for (uint32_t k = 0; k < keep.count; ++k) {
      Value& kept = a.caches[keep.first + k];
      if (k + 1 == keep.count || !kept.is_object() || reusable(kept.as<Tensor>())) return &kept;
    }
    return nullptr;
  }

  Value operand(const Operand& o) {
    if (o.reg != kNoReg) return reg(o.reg);
    if (o.constant == ir::ConstId::none) return Value();  // a row's default
    Value& c = a.constants[index(o.constant)];
    if (c.is_unbound()) c = runtime::constant_value(s, *p.function, o.constant);
    return c;
  }

  // ---- instructions
  bool prepare(const Instr& i) {
    for (const MakeTensor& m : i.make)
      if (!make(m)) return false;
    return pointers(i);
  }
  bool step(const work::Kernel& k, const Instr& i) {
    if (!prepare(i)) return false;
    a.numbers.clear();
    for (SizeId id : k.sizes) a.numbers.push_back(size(id));
    a.scalars.clear();
    for (const ScalarRef& r : k.scalars) {
      if (reg(r.reg).is_object()) return too_long();
      a.scalars.push_back(scalar(reg(r.reg), r.is_float));
    }
    return launch(i, k.kernel, size(k.range), size(k.work));
  }

  // With the pointers, numbers and scalars in the activation.
  bool launch(const Instr& i, uint32_t kernel, int64_t range, int64_t work) {
    ++plan.counters_.launches;
    ++(device ? device->counters : s.devices.host).launches;
    if (device) {
      const ir::loops::Kernel& k = *plan.kernels_[kernel];
      for (size_t b = 0; b < k.buffers.size(); ++b)
        if (k.buffers[b].access != ir::loops::Access::in && !i.buffers[b].arena)
          runtime::written_on_device(reg(i.buffers[b].index).as<Tensor>()->buffer);
    }
    runtime::KernelArgs args{a.pointers.data(), a.numbers.data(), a.scalars.data(), range, work, &s.poll};
    std::string error;
    if (plan.backend_->launch(*plan.module_, kernel, args, ctx.threads, error)) return true;
    if (error.empty()) throw runtime::Interrupted();
    if (device) error = fmt::format("device '{}': {}", runtime::device_name(device->id), error);
    runtime::raise_text(s, runtime::ExcKind::RuntimeError, error);
    return false;
  }

  // An int of more than 64 bits, which others became: the interpreter knows what it is among tensors.
  bool too_long() {
    leaves = !ctx.effects;
    leave_text = "an int of more than 64 bits";
    if (!leaves) runtime::raise_text(s, runtime::ExcKind::OverflowError, "int too large for compiled code");
    return false;
  }

  static runtime::ScalarArg scalar(const Value& v, bool is_float) {
    runtime::ScalarArg out;
    if (is_float)
      out.f = v.is_float() ? v.as_float() : static_cast<double>(v.as_int());
    else
      out.i = v.is_float() ? static_cast<int64_t>(v.as_float()) : v.as_int();
    return out;
  }

  // On a device contractions are kernels of the module (ir/loops/contraction.h).
  bool step(const work::Matmul& m, const Instr& i) {
    if (!prepare(i)) return false;
    const runtime::Matmul d = matmul_of(m);
    if (device) {
      a.numbers = {d.m, d.n, d.k, d.batch, d.a_stride, d.b_stride, d.c_stride};
      a.scalars.clear();
      return launch(i, m.kernel, 1, 1);
    }
    ++s.devices.host.launches;
    runtime::matmul(d, a.pointers[0], a.pointers[1], a.pointers[2], ctx.threads);
    return true;
  }
  bool step(const work::Convolve& c, const Instr& i) {
    if (!prepare(i)) return false;
    if (device) {
      a.numbers.clear();
      for (SizeId id : c.sizes) a.numbers.push_back(size(id));
      a.scalars.clear();
      return launch(i, c.kernel, 1, 1);
    }
    ++s.devices.host.launches;
    runtime::Convolution d = c.form;
    d.batch = size(c.sizes[0]);
    d.in_channels = size(c.sizes[1]);
    d.out_channels = size(c.sizes[2]);
    size_t r = static_cast<size_t>(d.rank);
    for (size_t k = 0; k < r; ++k) {
      d.in[k] = size(c.sizes[3 + k]);
      d.out[k] = size(c.sizes[3 + r + k]);
      d.kernel[k] = size(c.sizes[3 + 2 * r + k]);
    }
    runtime::convolve(d, a.pointers[0], a.pointers[1], a.pointers[2], ctx.threads);
    return true;
  }

  // As the eager row describes it (runtime/tensor/contract.cpp).
  runtime::Matmul matmul_of(const work::Matmul& m) const {
    runtime::Matmul d = m.form;
    d.m = size(m.sizes[0]), d.n = size(m.sizes[1]), d.k = size(m.sizes[2]);
    int64_t na = size(m.sizes[3]), nb = size(m.sizes[4]), total = size(m.sizes[5]);
    d.batch = d.m * d.n > 0 ? total / (d.m * d.n) : 0;
    d.a_stride = na == 1 ? 0 : d.m * d.k;
    d.b_stride = nb == 1 ? 0 : d.k * d.n;
    d.c_stride = d.m * d.n;
    if (nb == 1 && !d.a_transposed && d.batch > 1 &&
        na == d.batch) {  // one b for all: the batches of a are rows of one matrix
      d.m *= d.batch;
      d.batch = 1;
    }
    return d;
  }

  // Indices are checked on the host, before a kernel follows them.
  const int64_t* host_places(const BufferRef& b, int64_t n) {
    if (!device) return static_cast<const int64_t*>(pointer(b));
    if (!b.arena) {
      runtime::Buffer* buffer = reg(b.index).as<Tensor>()->buffer;
      if (!runtime::to_host(s, buffer)) return nullptr;
      return static_cast<const int64_t*>(buffer->data ? buffer->data : empty_memory);
    }
    a.numbers.resize(static_cast<size_t>(std::max<int64_t>(n, 1)));
    std::string error;
    size_t bytes = static_cast<size_t>(n) * sizeof(int64_t);
    if (plan.backend_->copy_out(a.numbers.data(), pointer(b), bytes, runtime::poll_word(s), error)) {
      device->counters.bytes_out += bytes;
      return a.numbers.data();
    }
    if (error.empty()) throw runtime::Interrupted();
    runtime::raise_text(s, runtime::ExcKind::RuntimeError, error);
    return nullptr;
  }

  bool step(const work::CheckPlaces& c, const Instr& i) {
    int64_t n = size(c.places), bound = size(c.bound);
    const int64_t* places = host_places(i.buffers[0], n);
    if (!places) return false;
    int64_t low = 0, high = 0;
    for (int64_t k = 0; k < n; ++k) low = std::min(low, places[k]), high = std::max(high, places[k]);
    const ir::OpInfo& op = ir::op_info(c.op);
    const int64_t least = op.def->loop.from_end ? -bound : 0;
    if (low >= least && (high < bound || n == 0)) return true;
    int64_t bad = *std::find_if(places, places + n, [&](int64_t x) { return x < least || x >= bound; });
    runtime::raise_text(s, runtime::ExcKind::IndexError, runtime::bad_index_text(op, bad, bound));
    return false;
  }

  bool step(const work::Share& x, const Instr&) {
    a.numbers.clear();
    for (SizeId d : x.dims) a.numbers.push_back(size(d));
    reg(x.result) = runtime::share_tensor(reg(x.source).as<Tensor>(), a.numbers);
    return !reg(x.result).is_error();
  }

  bool step(const work::Row& row, const Instr& i) {
    SmallVec<Value, 4> args = operands(row.args);
    for (Reg r : i.drop) reg(r) = Value();  // a tensor that dies here may be overwritten
    reg(row.result) = Value();  // in a loop, what the iteration before gave is a parameter of the head by now
    ++plan.counters_.rows;
    ctx.effects |= row.effect;
    Value v = run_row(row, {args.data(), args.size()});
    args.clear();
    return give(row, std::move(v));
  }
  bool step(const work::Prim& prim, const Instr&) {
    if (prim.op == ir::prim::ad_wait) return waits = true, false;
    SmallVec<Value, 4> args = operands(prim.args);
    ++plan.counters_.boxed;
    if (!prim.ahead) ctx.effects |= prim.effect;
    Value v = run_primitive(s, *p.function, prim.op, prim.attr, {args.data(), args.size()});
    args.clear();
    if (v.is_error() && prim.ahead) {
      runtime::clear_pending(s);
      v = Value::floating(0);
    }
    return give(prim, std::move(v));
  }
  SmallVec<Value, 4> operands(const std::vector<Operand>& list) {
    SmallVec<Value, 4> values;
    for (const Operand& o : list) values.push_back(operand(o));
    return values;
  }
  bool give(const work::Operation& x, Value v) {
    if (v.is_error()) return false;
    if (x.binds && x.type && !bind(x.type, v) && !resize()) return false;
    reg(x.result) = std::move(v);
    return true;
  }

  // A row writes where it wrote before. What it gives is kept if it is its own: not an argument, nor a view of one.
  Value run_row(const work::Row& i, std::span<Value> args) {
    Value* kept = slot(i.keep);
    if (!kept) return runtime::run_operation(s, ir::op_info(i.op), args);
    Value old = std::move(*kept);
    if (old.is_object() && !old.as<Tensor>()->unshared()) old = Value();
    runtime::ResultOffer offer(s, std::move(old));
    Value v = runtime::run_operation(s, ir::op_info(i.op), args);
    if (v.is_object() && runtime::kind_of(v) == runtime::ObjectKind::tensor && v.as<Tensor>()->unshared()) *kept = v;
    return v;
  }

  uint32_t follow(const Instr& i, const Edge& e) {
    SmallVec<Value, 4> moved;
    for (const auto& [to, from] : e.moves) moved.push_back(operand(from));
    for (Reg r : i.drop) reg(r) = Value();
    for (size_t k = 0; k < moved.size(); ++k) reg(e.moves[k].first) = std::move(moved[k]);
    return e.target;
  }

  bool step(const work::Bind& b, const Instr&) { return bind(b.type, reg(b.source)) || resize(); }
  bool step(const work::Jump&, const Instr&) { not_a_step(); }
  bool step(const work::Branch&, const Instr&) { not_a_step(); }
  bool step(const work::Return&, const Instr&) { not_a_step(); }
  bool step(const work::Leave&, const Instr&) { not_a_step(); }
  [[noreturn]] static void not_a_step() { ouro_bug("a plan's instruction is not a step"); }

  PlanExit execute(std::vector<Value>& outputs) {
    outputs.clear();
    if (a.endless) {  // the interpreter tells which operation it is
      leave_text = "a tensor of more elements than any memory holds";
      return PlanExit::left;
    }
    const bool poisons = check::checking_plans();
    for (;;) {
      runtime::poll_interrupt(s);
      if (ctx.leave_after >= 0 && ctx.leave_after-- == 0) {
        leave_text = "stress";
        return PlanExit::left;
      }
      const Instr& i = p.code[at];
      if (const auto* jump = i.get<work::Jump>()) {
        at = follow(i, jump->to);
        ctx.threads = runtime::session_threads(s);  // what is asked for holds in the middle of a loop, too
        if (ctx.next && moves()) return PlanExit::left;
        continue;
      }
      if (const auto* branch = i.get<work::Branch>()) {
        at = follow(i, operand(branch->condition).as_bool() ? branch->then : branch->otherwise);
        continue;
      }
      if (const auto* back = i.get<work::Return>()) {
        return_values(*back, outputs);
        return PlanExit::returned;
      }
      if (const auto* leave = i.get<work::Leave>()) {
        leave_text = leave->why;
        return PlanExit::left;
      }
      const uint64_t begin = ctx.times ? now_ns() : 0;
      if (ctx.times) runtime::compiled_place = {&i.span, s.interpreter->top};
      if (!std::visit([&](const auto& work) { return step(work, i); }, i.work)) {
        if (waits) return hand_out(*i.operation(), outputs);
        return leaves ? PlanExit::left : PlanExit::raised;
      }
      if (ctx.times) count_time(i, begin);
      if (poisons) poison_dead(at);
      for (Reg r : i.drop) reg(r) = Value();
      ++at;
    }
  }

  // ---- waiting in the middle (WaitingRun)
  PlanExit hand_out(const work::Operation& wait, std::vector<Value>& outputs) {
    for (const Operand& o : wait.args) outputs.push_back(operand(o));
    return PlanExit::waits;
  }
  void take(Value cotangents) {
    const Instr& wait = p.code[at];
    reg(wait.operation()->result) = std::move(cotangents);
    for (Reg r : wait.drop) reg(r) = Value();
    ++at;
  }

  // ---- going on in another plan (NextPlan)
  const LoopEntry* entry_at(uint32_t instruction) const {
    const auto it = std::ranges::find(p.entries, instruction, &LoopEntry::begin);
    return it == p.entries.end() ? nullptr : &*it;
  }
  // Where that plan goes on; null: it cannot. What a derivative has kept of the turns so far is used up by code of the
  // precision that made it.
  const LoopEntry* entry_of(const CompiledPlan& other, const LoopEntry& here) const {
    const Program& q = other.p_;
    if (q.base != p.base || q.chunk || p.chunk || device || q.plan.device != runtime::DeviceId::cpu) return nullptr;
    if (q.plan.precision != p.plan.precision && here.boxed) return nullptr;
    const auto it = std::ranges::find(q.entries, here.block, &LoopEntry::block);
    if (it == q.entries.end()) return nullptr;
    const auto known = [&](Reg r) { return r < p.base->names.size() && std::ranges::count(here.live, r); };
    if (!std::ranges::all_of(it->live, known)) return nullptr;
    return q.function->block(here.block).params == p.function->block(here.block).params ? &*it : nullptr;
  }
  bool moves() {
    const LoopEntry* here = entry_at(at);
    if (!here) return false;
    PlanRef next = ctx.next->next();
    if (!next || next.get() == &plan || !entry_of(static_cast<const CompiledPlan&>(*next), *here)) return false;
    successor = std::move(next);
    return true;
  }
  // From where `before` has stopped. Its registers are moved from.
  bool go_on(Runner& before) {
    const LoopEntry* there = before.entry_of(plan, *before.entry_at(before.at));
    a.regs.resize(p.registers);
    a.caches.resize(p.caches);
    a.constants.resize(p.function->constants.size());
    a.symbols.resize(p.symbols.size(), -1);
    for (Reg r : there->live) reg(r) = std::move(before.reg(r));
    for (size_t i = 0; i < p.symbols.size(); ++i)
      if (auto it = before.p.symbol_index.find(p.symbols[i]); it != before.p.symbol_index.end())
        a.symbols[i] = before.a.symbols[it->second];
    at = there->begin;
    evaluate_sizes();
    a.sized = !a.endless && place_arena();
    return a.sized && (!check::checking_plans() || plan.checks_ >= kMostChecks || check_plan());
  }

  void count_time(const Instr& i, uint64_t begin) {
    const uint64_t end = now_ns();
    plan.times_.resize(p.code.size());
    auto& [runs, ns, name] = plan.times_[at];
    ++runs;
    ns += end - begin;
    if (!timeline_on()) return;
    if (!name) name = intern(what_it_is(i));
    add_time_span({name, i.is<work::Prim>() ? "interpreted operation" : "operation", begin, end});
  }

  // As a script does it: what is asked to end ends here, and memory has its limit.
  template <class Begin>
  PlanExit run(Begin&& begin, std::vector<Value>& outputs) {
    runtime::MemoryLimited limited(s.memory);
    try {
      const PlanExit exit = begin() ? execute(outputs) : PlanExit::raised;
      return exit == PlanExit::raised && runtime::interrupt_pending(s) ? PlanExit::interrupted : exit;
    } catch (const runtime::Interrupted&) {
      runtime::raise_interrupt(s);
      return PlanExit::interrupted;
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    runtime::raise_memory_error(s);
    return PlanExit::raised;
  }

  void return_values(const work::Return& back, std::vector<Value>& outputs) {
    for (const Operand& o : back.values) outputs.push_back(operand(o));
    if (back.outputs || outputs.size() != 1 || !outputs[0].is_object() ||
        runtime::kind_of(outputs[0]) != runtime::ObjectKind::tuple)
      return;
    Value whole = std::move(outputs[0]);
    outputs.clear();
    for (const Value& v : *whole.as<runtime::Tuple>()) outputs.push_back(v);
  }
};

class WaitingPlan final : public WaitingRun {
 public:
  WaitingPlan(CompiledPlan& plan, const Program& p, std::unique_ptr<Activation> a, uint32_t at,
              std::shared_ptr<runtime::Device> device)
      : plan_(plan), p_(p), a_(std::move(a)), at_(at), device_(std::move(device)) {}

  PlanExit go_on(Value cotangents, std::vector<Value>& outputs, RunContext& context) override {
    const runtime::CompiledPlace place = runtime::compiled_place;
    Runner r{plan_, p_, *a_, context, context.session};
    r.device = device_;
    r.at = at_;
    const PlanExit exit = r.run([&] { return r.take(std::move(cotangents)), true; }, outputs);
    runtime::compiled_place = place;
    plan_.put_back(context.session, std::move(a_));
    return exit;
  }

 private:
  CompiledPlan& plan_;
  const Program& p_;
  std::unique_ptr<Activation> a_;
  uint32_t at_;
  std::shared_ptr<runtime::Device> device_;
};

PlanExit CompiledPlan::run(std::span<Value> inputs, std::vector<Value>& outputs, RunContext& context) {
  Session& s = context.session;
  const runtime::CompiledPlace place = runtime::compiled_place;
  std::unique_ptr<Activation> a = take_activation(s);
  ++counters_.runs;
  std::optional<Runner> r(std::in_place, *this, p_, *a, context, s);
  if (p_.plan.device != runtime::DeviceId::cpu) r->device = s.devices.at(p_.plan.device);
  PlanExit exit = r->run([&] { return r->start(inputs) && (r->poison_arena(), true); }, outputs);
  PlanRef running;  // where it has gone on
  while (PlanRef next = std::move(r->successor)) {
    auto& plan = static_cast<CompiledPlan&>(*next);
    context.next->moved();
    std::unique_ptr<Activation> b = plan.take_activation(s);
    ++plan.counters_.runs;
    Runner to{plan, plan.p_, *b, context, s};
    const auto begin = [&] {
      const bool goes_on = to.go_on(*r);
      to.poison_arena();
      a->make_room();  // its memory may be what the other plan is to do without
      r->plan.put_back(s, std::move(a));
      return goes_on;
    };
    exit = to.run(begin, outputs);
    r.emplace(std::move(to));
    a = std::move(b);
    running = std::move(next);
  }
  runtime::compiled_place = place;
  if ((exit == PlanExit::raised || exit == PlanExit::interrupted) && r->at < r->p.code.size()) {
    const Instr& i = r->p.code[r->at];
    context.raised = {i.span, r->p.function->inlined, i.inlined};
  }
  if (exit == PlanExit::waits)
    context.waiting = std::make_unique<WaitingPlan>(r->plan, r->p, std::move(a), r->at, r->device);
  else
    r->plan.put_back(s, std::move(a));
  return exit;
}

}  // namespace ouro::jit
