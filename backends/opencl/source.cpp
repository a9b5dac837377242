#include "backends/opencl/source.h"

#include <fmt/format.h>

#include "backends/device/kernel_walk.h"
#include "backends/opencl/leaf_text.h"
#include "backends/opencl/text.h"
#include "support/diag.h"

namespace ouro::backends::opencl {
namespace {
using ir::Leaf;
using ir::loops::Kernel;
using ir::loops::loaded_type;

// Values and variables are names; every operation is a line.
class TextWriter final : public device::KernelWriter {
 public:
  TextWriter(const Kernel& k, LeafText& leaves) : k_(k), leaves_(leaves) {}

  std::string take() { return std::move(out_); }

  Value size(uint32_t id) override { return named(DType::i64, "n" + std::to_string(id)); }
  Value scalar(uint32_t id) override { return named(k_.scalars[id], "s" + std::to_string(id)); }
  Value constant(DType type, uint64_t bits) override { return named(type, literal(type, bits)); }

  Value leaf(Leaf leaf, DType type, DType operand, const Value* args) override {
    std::string text[3];
    for (int i = 0; i < ir::info(leaf).operands; ++i) text[i] = name(args[i]);
    return let(type, leaves_.apply(leaf, type, operand, text));
  }
  Value index(Leaf op, Value a, Value b) override {
    switch (op) {
      case Leaf::add:
        return let(DType::i64, name(a) + " + " + name(b));
      case Leaf::sub:
        return let(DType::i64, name(a) + " - " + name(b));
      case Leaf::mul:
        return let(DType::i64, name(a) + " * " + name(b));
      case Leaf::idiv:
        return let(DType::i64, name(a) + " / " + name(b));
      case Leaf::irem:
        return let(DType::i64, name(a) + " % " + name(b));
      case Leaf::min:
      case Leaf::max:
        return let(DType::i64, fmt::format("{0} {2} {1} ? {0} : {1}", name(a), name(b), op == Leaf::min ? "<" : ">"));
      default:
        ouro_bug("no such index operation");
    }
  }
  Value less(Value a, Value b) override { return let(DType::boolean, name(a) + " < " + name(b)); }

  Value load(uint32_t buffer, Value at) override {
    return let(loaded_type(k_.buffers[buffer].type), element(buffer, at));
  }
  Value load_if(uint32_t buffer, Value at, Value condition, Value otherwise) override {
    return let(loaded_type(k_.buffers[buffer].type),
               fmt::format("{} ? {} : {}", name(condition), element(buffer, at), name(otherwise)));
  }
  void store(uint32_t buffer, Value at, Value v) override {
    DType t = k_.buffers[buffer].type;
    line(fmt::format("b{}[{}] = {};", buffer, name(at),
                     is_bool(t) ? "(uchar)" + name(v) : LeafText::cast(name(v), loaded_type(t), t)));
  }

  Variable variable(DType type, Value initial) override {
    variables_.push_back({type, "x" + std::to_string(variables_.size())});
    line(fmt::format("{} {} = {};", register_type(type), variables_.back().text, name(initial)));
    return static_cast<Variable>(variables_.size() - 1);
  }
  // A name of its own: the variable may change before the value is used.
  Value get(Variable v) override { return let(of(v).type, of(v).text); }
  void set(Variable v, Value x) override { line(of(v).text + " = " + name(x) + ";"); }

  void loop(Value begin, Value end, int64_t step, const std::function<void(Value)>& body) override {
    std::string i = "i" + std::to_string(loops_++);
    line(fmt::format("for (long {0} = {1}; {0} < {2}; {0} += {3}) {{", i, name(begin), name(end), step));
    nested([&] { body(named(DType::i64, i)); });
  }
  void when(Value condition, const std::function<void()>& body) override {
    line("if (" + name(condition) + ") {");
    nested(body);
  }

  Value item() override { return named(DType::i64, "(long)get_global_id(0)"); }
  Value group() override { return named(DType::i64, "(long)get_group_id(0)"); }
  Value lane() override { return named(DType::i64, "(long)get_local_id(0)"); }
  void shared_put(uint32_t array, DType type, Value at, Value v) override {
    line(fmt::format("{}[{}] = {};", shared(array, type), name(at), name(v)));
  }
  Value shared_get(uint32_t array, DType type, Value at) override {
    return let(type, fmt::format("{}[{}]", shared(array, type), name(at)));
  }
  void shared_get_run(uint32_t array, DType type, Value at, int count, Value* out) override {
    std::string vector = fmt::format("{}{}", memory_type(type), count), v = "v" + std::to_string(values_.size());
    line(fmt::format("const {0} {1} = *(__local {0}*)&{2}[{3}];", vector, v, shared(array, type), name(at)));
    named(type, v);
    for (int i = 0; i < count; ++i) out[i] = let(type, fmt::format("{}.s{}", v, i));
  }
  void barrier(bool global) override {
    line(global ? "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);" : "barrier(CLK_LOCAL_MEM_FENCE);");
  }

 private:
  struct Typed {
    DType type;
    std::string text;
  };
  const std::string& name(Value v) const { return values_[static_cast<uint32_t>(v)].text; }
  const Typed& of(Variable v) const { return variables_[static_cast<uint32_t>(v)]; }
  Value named(DType t, std::string text) {
    values_.push_back({t, std::move(text)});
    return static_cast<Value>(values_.size() - 1);
  }
  Value let(DType t, const std::string& expression) {
    std::string n = "v" + std::to_string(values_.size());
    line(fmt::format("const {} {} = {};", register_type(t), n, expression));
    return named(t, n);
  }
  std::string element(uint32_t buffer, Value at) const {
    DType t = k_.buffers[buffer].type;
    std::string e = fmt::format("b{}[{}]", buffer, name(at));
    return is_bool(t) ? "(" + e + " != 0)" : LeafText::cast(e, t, loaded_type(t));
  }
  static std::string shared(uint32_t array, DType t) {
    return fmt::format("((__local {}*)shared{})", memory_type(t), array);
  }
  template <class Fn>
  void nested(Fn&& fn) {
    ++depth_;
    fn();
    --depth_;
    line("}");
  }
  void line(const std::string& text) {
    out_.append(2 * depth_, ' ');
    out_ += text;
    out_ += '\n';
  }

  const Kernel& k_;
  LeafText& leaves_;
  std::string out_;
  size_t depth_ = 1;
  std::vector<Typed> values_, variables_;
  size_t loops_ = 0;
};

std::string kernel_text(const Kernel& k, size_t number, LeafText& leaves) {
  std::string head =
      fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void k{}(", device::kGroup, number);
  std::string separator;
  auto parameter = [&](const std::string& text) {
    head += separator + text;
    separator = ", ";
  };
  for (size_t i = 0; i < k.buffers.size(); ++i)
    parameter(fmt::format("__global {}{}* b{}", k.buffers[i].access == ir::loops::Access::in ? "const " : "",
                          memory_type(k.buffers[i].type), i));
  for (uint32_t i = 0; i < k.sizes; ++i) parameter(fmt::format("long n{}", i));
  for (size_t i = 0; i < k.scalars.size(); ++i) parameter(fmt::format("{} s{}", register_type(k.scalars[i]), i));
  parameter("int go");  // 0: the driver makes its code, and nothing is done
  head += ") {\n";
  device::Grid grid = device::grid_of(k);
  for (size_t i = 0; i < grid.shared.size(); ++i)
    head += fmt::format("  __local long shared{}[{}] __attribute__((aligned(32)));\n", i, (grid.shared[i] + 7) / 8);
  TextWriter w(k, leaves);
  device::write_kernel(k, grid, w);
  // A group that meets at barriers goes through a loop of one turn: PoCL makes wrong code of barriers behind a
  // condition.
  if (grid.grouped) return head + "  for (int turn = 0; turn < go; ++turn) {\n" + w.take() + "  }\n}\n";
  return head + "  if (!go) return;\n" + w.take() + "}\n";
}

}  // namespace

std::string source(std::span<const Kernel* const> kernels) {
  LeafText leaves;
  std::string body;
  bool f64 = false;
  for (size_t i = 0; i < kernels.size(); ++i) {
    body += kernel_text(*kernels[i], i, leaves) + "\n";
    f64 = f64 || needs_f64(*kernels[i]);
  }
  std::string definitions = leaves.definitions();
  f64 = f64 || definitions.find("double") != std::string::npos;
  return (f64 ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "") +
         std::string("#pragma OPENCL FP_CONTRACT OFF\n") + definitions + "\n" + body;
}

bool needs_f64(const Kernel& k) {
  auto is_f64 = [](DType t) { return t == DType::f64; };
  for (const auto& b : k.buffers)
    if (is_f64(b.type)) return true;
  for (DType t : k.scalars)
    if (is_f64(t)) return true;
  for (const auto& n : k.nodes)
    if (is_f64(n.type)) return true;
  return false;
}

}  // namespace ouro::backends::opencl
