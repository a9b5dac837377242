#include "runtime/tensor/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>

#include "ir/ops/sig.h"
#include "runtime/machine/threads.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/route.h"
#include "support/per_thread.h"

namespace ouro::runtime {

namespace {

constexpr int64_t kBlock = 1024;
constexpr int kMaxInputs = 5;
constexpr int64_t kParallel = 65536;  // elements from which threads pay

// ---------------------------------------------------------------- plans

struct PlanStep {
  LeafKernel leaf = nullptr;
  CastKernel cast = nullptr;
  int16_t out = 0, a = -1, b = -1, c = -1;  // registers; out -1: the result
};
struct PlanFill {  // a constant or parameter, filled once per run
  int16_t reg;
  int16_t param;  // -1: constant
  DType type;
  uint64_t bits;
};
struct ElementPlan {
  std::string error_kind, error;  // not empty: these operands have no meaning
  DType compute = DType::f32, result = DType::f32;
  DType stored[kMaxInputs] = {};  // of scalars: the type they are stored as
  int inputs = 0, registers = 0;  // registers 0..inputs-1 are the inputs
  std::vector<PlanFill> fills;
  std::vector<PlanStep> steps;
  bool zero_check = false;  // integer division: input 1 must have no zero
  bool pow_check = false;   // integer power: input 1 must not be negative
};

struct PlanKey {
  uint64_t bits;
  bool operator==(const PlanKey&) const = default;
};

OperandKind kind_of_operand(const Value& v) {
  auto* t = cast<Tensor>(v);
  return !t ? OperandKind::scalar : t->rank == 0 ? OperandKind::zero_dim : OperandKind::tensor;
}
DType dtype_of_operand(const Value& v) {
  if (auto* t = cast<Tensor>(v)) return t->dtype;
  return v.is_bool() ? DType::boolean : v.is_float() ? kDefaultFloat : kDefaultInt;
}

void assign_registers(ElementPlan& p, const ir::ExprProgram& program) {
  const KernelTable& k = kernels();
  std::vector<int> last(program.steps.size(), -1);
  for (size_t i = 0; i < program.steps.size(); ++i)
    for (int16_t o : {program.steps[i].a, program.steps[i].b, program.steps[i].c})
      if (o >= 0) last[o] = static_cast<int>(i);
  std::vector<int16_t> reg(program.steps.size(), -1), spare;
  p.registers = p.inputs;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const ir::ExprStep& s = program.steps[i];
    if (s.leaf == ir::Leaf::arg) {
      reg[i] = s.index;
      continue;
    }
    if (s.leaf == ir::Leaf::constant || s.leaf == ir::Leaf::param) {
      PlanFill f{static_cast<int16_t>(p.registers++), static_cast<int16_t>(s.leaf == ir::Leaf::param ? s.index : -1),
                 s.type, 0};
      if (f.param < 0) store_number(s.type, &f.bits, Value::floating(s.imm));
      reg[i] = f.reg;
      p.fills.push_back(f);
      continue;
    }
    PlanStep step;
    auto operand = [&](int16_t o) { return o < 0 ? int16_t{-1} : reg[o]; };
    step.a = operand(s.a), step.b = operand(s.b), step.c = operand(s.c);
    if (s.leaf == ir::Leaf::cast)
      step.cast = k.cast[static_cast<int>(s.operand_type)][static_cast<int>(s.type)];
    else
      step.leaf = k.leaf[static_cast<int>(s.leaf)][static_cast<int>(s.operand_type)];
    if (!step.cast && !step.leaf) {
      p.error_kind = "TypeError";
      p.error = std::string(info(s.leaf).name) + " is not defined for " + std::string(name(s.operand_type));
      return;
    }
    bool is_result = static_cast<int>(i) == program.result;
    // Operands that end here give their registers back, but not to this step: kernels of changing width must not
    // overlap.
    if (is_result) {
      step.out = -1;
    } else if (!spare.empty()) {
      step.out = spare.back();
      spare.pop_back();
    } else {
      step.out = static_cast<int16_t>(p.registers++);
    }
    reg[i] = step.out;
    for (int16_t o : {s.a, s.b, s.c}) {
      if (o < 0 || last[o] != static_cast<int>(i)) continue;
      ir::Leaf l = program.steps[o].leaf;
      if (l != ir::Leaf::arg && l != ir::Leaf::constant && l != ir::Leaf::param &&
          std::find(spare.begin(), spare.end(), reg[o]) == spare.end())
        spare.push_back(reg[o]);
    }
    p.steps.push_back(step);
  }
  if (p.steps.empty() || p.steps.back().out != -1) {  // the result is an input or a constant: copy it
    DType t = program.steps[program.result].type;
    p.steps.push_back({.cast = k.cast[static_cast<int>(t)][static_cast<int>(t)], .out = -1, .a = reg[program.result]});
  }
}

std::unique_ptr<ElementPlan> build_plan(const ir::OpInfo& op, std::span<const Value> inputs, bool numbers) {
  auto p = std::make_unique<ElementPlan>();
  std::vector<std::optional<ir::TensorType>> types;
  for (const Value& v : inputs) {
    ir::TensorType t{dtype_of_operand(v), {}, false};
    OperandKind kind = kind_of_operand(v);
    if (kind == OperandKind::tensor) t.dims.push_back(ir::dim(1));
    t.scalar = kind == OperandKind::scalar;
    if (numbers && t.dtype == kDefaultFloat) t.dtype = DType::f64;  // Python's floats are doubles
    types.emplace_back(t);
  }
  ir::SigCall call;
  call.op = &op;
  call.inputs = types;
  if (!ir::infer(call)) {
    p->error_kind = call.error->kind, p->error = call.error->text;
    return p;
  }
  p->compute = call.compute, p->result = call.results[0].dtype;
  if (numbers && p->result == DType::f32) p->compute = p->result = DType::f64;  // sqrt(2): a double
  p->inputs = static_cast<int>(inputs.size());
  std::vector<DType> stored, promoted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    DType want = numbers && is_float(call.input_types[i]) ? DType::f64 : call.input_types[i];
    DType t = kind_of_operand(inputs[i]) == OperandKind::scalar ? ir::compute_type(want) : dtype_of_operand(inputs[i]);
    p->stored[i] = t;
    stored.push_back(t), promoted.push_back(want);
  }
  p->zero_check = op.def->integer_zero_raises && !is_float(p->compute);
  p->pow_check = op.name == "pow" && !is_float(p->compute);
  assign_registers(*p, ir::typed(op.body_for(p->compute), stored, promoted, p->compute, p->result));
  return p;
}

const ElementPlan& plan_for(const ir::OpInfo& op, std::span<const Value> inputs, bool numbers) {
  struct Slot {
    uint64_t key = 0;
    const ElementPlan* plan = nullptr;
  };
  struct Plans {
    Slot quick[256];
    std::unordered_map<uint64_t, std::unique_ptr<ElementPlan>> all;
  };
  Plans& plans = support::PerThread<Plans>::get();
  uint64_t key = static_cast<uint64_t>(op.op) | 1ull << 63 | static_cast<uint64_t>(numbers) << 62;
  int shift = 16;
  for (const Value& v : inputs) {
    key |= (static_cast<uint64_t>(dtype_of_operand(v)) | static_cast<uint64_t>(kind_of_operand(v)) << 4) << shift;
    shift += 6;
  }
  Slot& slot = plans.quick[(key * 0x9e3779b97f4a7c15ull) >> 56];
  if (slot.key == key) return *slot.plan;
  auto& p = plans.all[key];
  if (!p) p = build_plan(op, inputs, numbers);
  slot = {key, p.get()};
  return *p;
}

// ---------------------------------------------------------------- running

struct Source {
  const char* data = nullptr;
  size_t element = 1;
  bool single = false;
  const BroadcastReader* reader = nullptr;  // null: the elements themselves
};

struct Runner {
  const ElementPlan& plan;
  const Source* sources;
  std::span<const uint64_t> param_bits;
  char* out;
  size_t out_element;
  int64_t n;

  static constexpr size_t kRegister = kBlock * 8;

  void fill(char* reg, DType t, uint64_t bits, int64_t count) const {
    kernels().fill[__builtin_ctz(static_cast<unsigned>(size_of(t)))](reg, bits, count);
  }

  // Blocks [first, last).
  void run(int64_t first, int64_t last) const {
    int64_t most = std::min(kBlock, n - first * kBlock);
    struct Scratch {
      char* memory = nullptr;
      size_t bytes = 0;
      ~Scratch() { std::free(memory); }
    };
    Scratch& scratch = support::PerThread<Scratch>::get();
    size_t need = static_cast<size_t>(plan.registers) * kRegister;
    if (scratch.bytes < need) {
      std::free(scratch.memory);
      scratch.bytes = 0;
      scratch.memory = static_cast<char*>(std::aligned_alloc(64, need));
      if (!scratch.memory) throw std::bad_alloc();
      scratch.bytes = need;
    }
    const char* at[64];
    char* regs[64];
    for (int r = 0; r < plan.registers; ++r) at[r] = regs[r] = scratch.memory + r * kRegister;
    for (const PlanFill& f : plan.fills) fill(regs[f.reg], f.type, f.param < 0 ? f.bits : param_bits[f.param], most);
    for (int i = 0; i < plan.inputs; ++i)
      if (sources[i].single) {
        uint64_t bits = 0;
        std::memcpy(&bits, sources[i].data, sources[i].element);
        fill(regs[i], plan.stored[i], bits, most);
      }
    for (int64_t b = first; b < last; ++b) {
      int64_t from = b * kBlock, count = std::min(kBlock, n - from);
      for (int i = 0; i < plan.inputs; ++i) {
        const Source& s = sources[i];
        if (s.single) continue;
        if (!s.reader)
          at[i] = s.data + from * static_cast<int64_t>(s.element);
        else
          s.reader->read(regs[i], s.data, from, count);
      }
      for (const PlanStep& s : plan.steps) {
        void* to = s.out < 0 ? out + from * static_cast<int64_t>(out_element) : regs[s.out];
        if (s.cast)
          s.cast(to, at[s.a], count);
        else
          s.leaf(to, at[s.a], s.b < 0 ? nullptr : at[s.b], s.c < 0 ? nullptr : at[s.c], count);
      }
    }
  }
};

Value fail(Session& s, const std::string& kind, const std::string& text) {
  return raise_text(s,
                    kind == "TypeError"      ? ExcKind::TypeError
                    : kind == "RuntimeError" ? ExcKind::RuntimeError
                    : kind == "IndexError"   ? ExcKind::IndexError
                                             : ExcKind::ValueError,
                    text);
}

bool any_zero_or_negative(const char* data, DType t, int64_t n, bool negative) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t v;
    kernels().cast[static_cast<int>(t)][static_cast<int>(DType::i64)](&v, data + i * static_cast<int64_t>(size_of(t)),
                                                                      1);
    if (negative ? v < 0 : v == 0) return true;
  }
  return false;
}

std::string broadcast_error(const ir::OpInfo& op, std::span<const Value> inputs) {
  std::string text;
  for (const Value& v : inputs)
    if (auto* t = cast<Tensor>(v)) text += (text.empty() ? "" : " and ") + shape_text(t->shape());
  return op.name + ": " + text + " do not broadcast";
}

}  // namespace

bool broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b, std::vector<int64_t>& out) {
  auto big = a.size() >= b.size() ? a : b, small = a.size() >= b.size() ? b : a;
  std::vector<int64_t> r(big.begin(), big.end());
  size_t off = big.size() - small.size();
  for (size_t i = 0; i < small.size(); ++i) {
    int64_t x = r[off + i], y = small[i];
    if (x != y && x != 1 && y != 1) return false;
    r[off + i] = x == 1 ? y : x;
  }
  out = std::move(r);
  return true;
}

BroadcastReader::BroadcastReader(std::span<const int64_t> shape, std::span<const int64_t> as, size_t element)
    : element_(element) {
  int64_t stride = 1, strides[kMaxRank];
  size_t off = as.size() - shape.size();
  for (size_t i = as.size(); i-- > 0;) {
    int64_t d = i >= off ? shape[i - off] : 1;
    strides[i] = d == 1 ? 0 : stride;
    stride *= d;
  }
  // Neighbouring axes that are walked as one.
  for (size_t i = 0; i < as.size(); ++i) {
    if (as[i] == 1) continue;
    if (rank_ > 0 && strides_[rank_ - 1] == strides[i] * as[i]) {
      dims_[rank_ - 1] *= as[i], strides_[rank_ - 1] = strides[i];
    } else {
      dims_[rank_] = as[i], strides_[rank_++] = strides[i];
    }
  }
  single_ = rank_ == 0 || (rank_ == 1 && strides_[0] == 0);
  direct_ = rank_ == 0 || (rank_ == 1 && strides_[0] == 1);
}

void BroadcastReader::read(void* to, const char* data, int64_t from, int64_t n) const {
  char* out = static_cast<char*>(to);
  const KernelTable& k = kernels();
  int log = __builtin_ctz(static_cast<unsigned>(element_));
  int64_t index[kMaxRank], rest = from, offset = 0;
  for (int i = rank_ - 1; i >= 0; --i) {
    index[i] = rest % dims_[i], rest /= dims_[i];
    offset += index[i] * strides_[i];
  }
  int last = rank_ - 1;
  while (n > 0) {
    int64_t run = std::min(n, dims_[last] - index[last]);
    const char* p = data + offset * static_cast<int64_t>(element_);
    if (strides_[last] == 1) {
      std::memcpy(out, p, run * element_);
    } else {
      uint64_t bits = 0;
      std::memcpy(&bits, p, element_);
      if (strides_[last] == 0)
        k.fill[log](out, bits, run);
      else
        k.gather[log](out, p, strides_[last], run);
    }
    out += run * element_, n -= run;
    index[last] += run, offset += run * strides_[last];
    for (int i = last; i > 0 && index[i] == dims_[i]; --i) {
      offset -= dims_[i] * strides_[i], index[i] = 0;
      ++index[i - 1], offset += strides_[i - 1];
    }
  }
}

static Value run_on_host(Session& s, const ir::OpInfo& op, std::span<const Value> inputs, std::span<const Value> params,
                         bool may_reuse) {
  bool numbers = true;
  for (const Value& v : inputs) numbers &= cast<Tensor>(v) == nullptr;
  const ElementPlan& plan = plan_for(op, inputs, numbers);
  if (!plan.error.empty()) return fail(s, plan.error_kind, plan.error);
  // The shape of the result.
  const Tensor* first = nullptr;
  bool same = true;
  for (const Value& v : inputs)
    if (auto* t = cast<Tensor>(v)) {
      if (!first)
        first = t;
      else if (t->rank != first->rank || std::memcmp(t->dims(), first->dims(), t->rank * sizeof(int64_t)))
        same = false;
    }
  std::vector<int64_t> joined;
  std::span<const int64_t> shape;
  if (first) shape = first->shape();
  if (!same) {
    for (const Value& v : inputs)
      if (auto* t = cast<Tensor>(v))
        if (!broadcast_shapes(joined, t->shape(), joined)) return fail(s, "ValueError", broadcast_error(op, inputs));
    shape = joined;
  }
  // Operands.
  Source sources[kMaxInputs];
  uint64_t scalars[kMaxInputs] = {};
  alignas(BroadcastReader) char readers[kMaxInputs][sizeof(BroadcastReader)];
  Value result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Source& src = sources[i];
    src.element = size_of(plan.stored[i]);
    if (auto* t = cast<Tensor>(inputs[i])) {
      src.data = t->bytes();
      if (!same && (t->rank != shape.size() || std::memcmp(t->dims(), shape.data(), shape.size() * sizeof(int64_t)))) {
        auto* reader = new (readers[i]) BroadcastReader(t->shape(), shape, src.element);
        if (reader->single())
          src.single = true;
        else if (!reader->direct())
          src.reader = reader;
      } else if (may_reuse && result.is_unbound() && plan.result == t->dtype && t->unshared()) {
        result = inputs[i];
      }
    } else {
      if (!store_number(plan.stored[i], &scalars[i], inputs[i]))
        return raise_type_error(s, "%s: a tensor or a number expected, not '%s'", op.name.c_str(),
                                type_name(s, inputs[i]).c_str());
      src.data = reinterpret_cast<const char*>(&scalars[i]);
      src.single = true;
    }
  }
  if (plan.zero_check || plan.pow_check) {
    auto* t = cast<Tensor>(inputs[1]);
    if (any_zero_or_negative(sources[1].data, plan.stored[1], t ? t->size : 1, plan.pow_check))
      return plan.pow_check ? fail(s, "ValueError", "pow: integers to negative integer powers are not allowed")
                            : raise_error(s, ExcKind::ZeroDivisionError, "integer division by zero");
  }
  uint64_t param_bits[16] = {};
  for (const PlanFill& f : plan.fills) {
    if (f.param < 0) continue;
    if (!store_number(f.type, &param_bits[f.param], params[f.param]))
      return raise_type_error(s, "%s: '%s' must be a number, not '%s'", op.name.c_str(),
                              op.params[op.param_at[f.param]].name.c_str(), type_name(s, params[f.param]).c_str());
  }
  if (result.is_unbound()) {
    result = make_tensor(s, plan.result, shape);
    if (result.is_error()) return result;
  }
  auto* out = result.as<Tensor>();
  Runner run{plan, sources, param_bits, out->bytes(), size_of(plan.result), out->size};
  int64_t blocks = (out->size + kBlock - 1) / kBlock;
  if (out->size < kParallel) {
    if (blocks) run.run(0, blocks);
  } else {
    constexpr int64_t group = 16;
    parallel_for_or_stop(session_threads(s), (blocks + group - 1) / group,
                         [&](int64_t g) { run.run(g * group, std::min(blocks, (g + 1) * group)); });
  }
  return numbers ? tensor_item(s, out, 0) : result;
}

Value run_elementwise(Session& s, const ir::OpInfo& op, std::span<const Value> inputs, std::span<const Value> params,
                      bool may_reuse) {
  if (!s.devices.used()) [[likely]]
    return run_on_host(s, op, inputs, params, may_reuse);
  std::vector<Value> args(op.params.size());
  for (size_t i = 0; i < inputs.size(); ++i) args[op.input_at[i]] = inputs[i];
  for (size_t i = 0; i < params.size(); ++i) args[op.param_at[i]] = params[i];
  return run_anywhere(s, op, args, [&] { return run_on_host(s, op, inputs, params, false); });
}

bool update_elementwise(Session& s, const ir::OpInfo& op, Value& target, const Value& v) {
  auto* t = target.as<Tensor>();
  Value inputs[2] = {Value(), v};
  // Both live in `inputs` now, so that an unshared target is seen as such.
  inputs[0] = std::move(target);
  DType before = t->dtype;
  bool unshared = t->unshared();
  if (unshared && &unwrap(v) != nullptr)
    if (auto* o = cast<Tensor>(v)) unshared = o != t;
  const ElementPlan& plan = plan_for(op, inputs, false);
  std::string problem;
  if (plan.error.empty() && plan.result != before)
    problem = op.name + "=: the result has dtype " + std::string(name(plan.result)) + ", which a tensor of " +
              std::string(name(before)) + " cannot take in place";
  if (auto* o = cast<Tensor>(v); o && problem.empty() && plan.error.empty()) {
    std::vector<int64_t> joined;
    if (broadcast_shapes(t->shape(), o->shape(), joined) &&
        !std::equal(joined.begin(), joined.end(), t->shape().begin(), t->shape().end()))
      problem = op.name + "=: " + shape_text(o->shape()) + " does not fit into " + shape_text(t->shape());
  }
  struct GiveBack {  // the target stays the script's
    Value &target, &taken;
    ~GiveBack() {
      if (target.is_unbound()) target = std::move(taken);
    }
  } give_back{target, inputs[0]};
  std::optional<InterruptGrace> grace;
  if (unshared) grace.emplace(s);  // it is written where it is
  Value r;
  if (!problem.empty())
    r = raise_text(s, ExcKind::RuntimeError, problem);
  else {
    if (!unshared && t->refs == 1) ++tensor_counters(s).copies;
    r = run_elementwise(s, op, inputs, {}, unshared);
  }
  if (r.is_error()) return false;
  target = std::move(r);
  return true;
}

}  // namespace ouro::runtime
