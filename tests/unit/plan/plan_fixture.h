// Runs a typed function as a plan and operation by operation through the eager rows, and compares the bits.
#pragma once

#include "../host/graph_fixture.h"
#include "backends/contract/onednn.h"
#include "ir/prim.h"
#include "jit/plan/plan_program.h"
#include "runtime/interpreter/code.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"

namespace ouro::test {

using runtime::Session;
using runtime::Tensor;
using runtime::Value;

inline std::shared_ptr<runtime::Backend> shared_host() {
  static std::shared_ptr<runtime::Backend> backend = [] {
    backends::register_onednn();
    std::string error;
    return std::shared_ptr<runtime::Backend>(
        backends::HostBackend::create({.target = backends::detect_target()}, error));
  }();
  return backend;
}

/// A value of the parameter's type; symbols are 5 + symbol.
inline Value random_value(Session& s, const ir::Type* t, uint64_t seed) {
  if (t->kind == ir::TypeKind::floating) return Value::floating(0.01 * static_cast<double>(seed % 7 + 1));
  if (t->kind == ir::TypeKind::integer) return Value::integer(static_cast<int64_t>(seed % 5 + 1));
  std::vector<int64_t> dims;
  for (const ir::SymDim& d : t->dims) dims.push_back(d.c + d.m * (5 + static_cast<int64_t>(d.symbol)));
  Value v = runtime::make_tensor(s, t->dtype, dims);
  auto* tensor = v.as<Tensor>();
  std::vector<char> bytes = random_elements(t->dtype, static_cast<size_t>(tensor->size), seed, false);
  if (tensor->size) std::memcpy(tensor->data(), bytes.data(), tensor->nbytes());
  if (t->dtype == DType::i64)
    for (int64_t i = 0; i < tensor->size; ++i) tensor->data<int64_t>()[i] = i * 7 % 3;
  return v;
}

inline Value copy_of(Session& s, const Value& v) {
  if (!v.is_object() || runtime::kind_of(v) != runtime::ObjectKind::tensor) return v;
  auto* t = v.as<Tensor>();
  Value c = runtime::make_tensor(s, t->dtype, t->shape());
  if (t->size) std::memcpy(c.as<Tensor>()->data(), t->data(), t->nbytes());
  return c;
}

/// The entry block, let by let.
inline std::vector<Value> run_eagerly(Session& s, const ir::Function& f, const std::vector<Value>& inputs) {
  std::map<uint32_t, Value> names;
  const ir::Block& b = f.blocks[0];
  for (size_t i = 0; i < b.params.size(); ++i) names[index(b.params[i])] = inputs[i];
  auto value = [&](ir::Atom a) {
    return a.is_name() ? names.at(index(a.name())) : runtime::constant_value(s, f, a.constant());
  };
  for (const ir::Let& l : b.lets) {
    std::vector<Value> args;
    for (uint32_t k = 0; k < l.nargs; ++k) args.push_back(value(f.args(l)[k]));
    Value out;
    if (ir::is_tensor_op(l.op)) {
      if (args.size() < ir::op_info(l.op).params.size() && l.attr != ir::kNoAttr)
        for (ir::ConstId c : f.constants[l.attr].items) args.push_back(runtime::constant_value(s, f, c));
      args.resize(ir::op_info(l.op).params.size());
      out = runtime::run_operation(s, ir::op_info(l.op), args);
    } else {
      out = jit::run_primitive(s, f, l.op, l.attr, args);
    }
    if (out.is_error()) {
      INFO(runtime::format_exception(s, s.pending));
      CHECK(ir::loops::name_of(l.op) == "");
      return {};
    }
    names[index(l.result)] = out;
  }
  Value r = value(b.term.a);
  std::vector<Value> out;
  if (r.is_object() && runtime::kind_of(r) == runtime::ObjectKind::tuple)
    for (const Value& v : *r.as<runtime::Tuple>()) out.push_back(v);
  else
    out.push_back(r);
  return out;
}

inline bool same_bits(const Value& a, const Value& b) {
  if (a.is_float() && b.is_float()) return a.as_float() == b.as_float();
  if (!a.is_object() || !b.is_object()) return a.same(b);
  auto *x = a.as<Tensor>(), *y = b.as<Tensor>();
  if (x->dtype != y->dtype || !std::ranges::equal(x->shape(), y->shape())) return false;
  std::vector<char> p(x->bytes(), x->bytes() + x->nbytes()), q(y->bytes(), y->bytes() + y->nbytes());
  canonical_nans(x->dtype, p);
  canonical_nans(y->dtype, q);
  return p == q;
}

struct PlanCheck {
  jit::PlanRef plan;
  std::string text;
  jit::PlanCounters counters;
};

/// Three runs of the plan against the eager rows, with one thread and with three.
inline PlanCheck check_plan(const std::string& text) {
  ir::FunctionRef f = read_function(text);
  Session s;
  std::vector<Value> inputs;
  for (size_t i = 0; i < f->blocks[0].params.size(); ++i)
    inputs.push_back(random_value(s, f->name_info(f->blocks[0].params[i]).type, 31 + i));
  std::vector<Value> kept;
  for (const Value& v : inputs) kept.push_back(copy_of(s, v));
  std::vector<Value> expected = run_eagerly(s, *f, kept);
  std::string error;
  PlanCheck out;
  out.plan = jit::build_plan(f, {.backend = shared_host()}, error);
  INFO(error);
  REQUIRE(out.plan);
  out.text = out.plan->text();
  INFO(out.text);
  for (int run = 0; run < 3; ++run) {
    std::vector<Value> moved, results;
    for (const Value& v : kept) moved.push_back(copy_of(s, v));
    jit::RunContext context{s, run == 1 ? 3 : 1};
    jit::PlanExit exit = out.plan->run(moved, results, context);
    if (exit == jit::PlanExit::raised) FAIL(runtime::format_exception(s, s.pending));
    REQUIRE(exit == jit::PlanExit::returned);
    REQUIRE(results.size() == expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      INFO("run " << run << ", output " << i);
      CHECK(same_bits(results[i], expected[i]));
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) CHECK(same_bits(inputs[i], kept[i]));
  out.counters = out.plan->counters();
  return out;
}

}  // namespace ouro::test
