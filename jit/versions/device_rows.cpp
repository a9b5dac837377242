#include "jit/versions/device_rows.h"

#include <algorithm>
#include <unordered_map>

#include "jit/plan/plan.h"
#include "jit/specialise/residual/output.h"
#include "jit/specialise/specialise.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/modules.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

using runtime::Device;
using runtime::Value;

namespace {

constexpr size_t kMostVersionsOfRow = 64;  // of one operation: static arguments are part of their key
constexpr size_t kMostRefusals = 8;

struct RowVersion {
  std::shared_ptr<SpecialiseResult> made;
  runtime::ExecutionPlan plan;
  PlanRef code;  // null: left to the host
};

struct RowVersions {
  Value function;
  std::vector<RowVersion> versions;  // newest first
  size_t refusals = 0;
};

struct DeviceRows {
  std::unordered_map<const ir::OpInfo*, RowVersions> rows;
};

// The function that specialises a row: also of rows that no script can name (`tanh.d0`).
Value function_of(Session& s, const ir::OpInfo& op) {
  std::string params, args;
  for (const ir::OpParam& p : op.params) {
    params += (params.empty() ? "" : ", ") + p.name;
    args += p.name + ", ";
  }
  std::string body = "row_run(" + std::to_string(static_cast<uint32_t>(op.op)) + ", (" + args + "))";
  if (op.name == "getitem") body = "x[key]";
  OURO_TRY(module, runtime::make_module(s, "ouro.device"));
  OURO_TRY_DO(runtime::run_source(s, "ouro/device",
                                  "from _ad_rows import row_run\nrow = lambda " + params + ": " + body + "\n", module));
  return *module.as<runtime::Module>()->names.find(intern("row"));
}

// Arguments that a version may be keyed by. A position in a subscript is not: it changes with every call.
bool takes(const Value& v, bool is_key, int depth = 3) {
  using runtime::ObjectKind;
  auto all = [&](std::span<Value> items) {
    return depth > 0 && std::ranges::all_of(items, [&](const Value& i) { return takes(i, is_key, depth - 1); });
  };
  switch (runtime::kind_of(v)) {
    case ObjectKind::tensor:
      return true;
    case ObjectKind::none:
    case ObjectKind::boolean:
    case ObjectKind::integer:
    case ObjectKind::floating:
    case ObjectKind::str:
    case ObjectKind::dtype:
      return !is_key;
    case ObjectKind::tuple:
      return all({v.as<runtime::Tuple>()->items(), v.as<runtime::Tuple>()->size});
    case ObjectKind::list:
      return all({v.as<runtime::List>()->items, v.as<runtime::List>()->size});
    default:
      return false;
  }
}

RowVersion make_version(Session& s, Device& device, const RowVersions& row, std::span<const Value> args) {
  RowVersion v;
  v.plan = s.demands.plan();
  v.plan.device = device.id;
  SpecialiseRequest request;
  request.function = row.function;
  request.args.assign(args.begin(), args.end());
  if (!row.versions.empty())
    request.symbolic = differences(s, row.versions.front().made->access, row.function, args).dims;
  v.made = std::make_shared<SpecialiseResult>(specialise_sizes(s, request));
  s.pending = Value();
  if (!v.made->ok || v.made->has_effects || !v.made->writes.empty()) return v;
  std::string error;
  v.code = build_plan(v.made->typed, {device.backend, nullptr, v.plan}, error);
  if (!v.code) device.cannot_build(error);
  if (v.code && v.code->loose() > 0) v.code = nullptr;
  return v;
}

// The session's errors that the host would not find in its own way.
bool of_the_device(Session& s) {
  for (runtime::ExcKind k : {runtime::ExcKind::MemoryError, runtime::ExcKind::RuntimeError})
    if (runtime::is_instance(s, s.pending, Value::share(s.exceptions[static_cast<int>(k)])) == 1) return true;
  return false;
}

Value run_row(Session& s, Device& device, uint8_t place, const ir::OpInfo& op, std::span<const Value> given,
              bool& done) {
  std::vector<Value> args(given.begin(), given.end());
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].is_unbound()) args[i] = runtime::default_argument(s, op, i);
    if (!takes(args[i], op.params[i].name == "key")) return {};
  }
  RowVersions& row = s.state<DeviceRows>().rows[&op];
  if (row.function.is_unbound()) {
    row.function = function_of(s, op);
    if (row.function.is_error()) {
      s.pending = Value();
      row.function = Value::none();
    }
  }
  if (row.function.is_none()) return {};
  if (row.refusals >= kMostRefusals &&
      std::ranges::none_of(row.versions, [](const RowVersion& v) { return v.code != nullptr; }))
    return {};
  runtime::ExecutionPlan plan = s.demands.plan();
  plan.device = device.id;
  std::vector<Value> nodes, inputs, outputs;
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (RowVersion& v : row.versions) {
      if (!(v.plan == plan) || !v.made->access.load(s, row.function, args, nodes, inputs, nullptr)) continue;
      if (!v.code) return {};
      PlanRef code = v.code;
      std::shared_ptr<SpecialiseResult> made = v.made;
      RunContext context{.session = s, .place = place};
      PlanExit exit = code->run(inputs, outputs, context);
      if (exit == PlanExit::left) return {};
      if (exit != PlanExit::returned) {
        done = exit == PlanExit::interrupted || of_the_device(s);
        if (!done) s.pending = Value();  // the host says it in the operation's words
        return done ? Value::error() : Value();
      }
      done = true;
      return carry_out(s, *made, nodes, outputs);
    }
    if (attempt == 1 || row.versions.size() >= kMostVersionsOfRow) break;
    RowVersion v = make_version(s, device, row, args);
    if (!v.code) ++row.refusals;
    if (!v.made->ok) return {};
    row.versions.insert(row.versions.begin(), std::move(v));
  }
  return {};
}

}  // namespace

void install_device_rows(Session& s) { s.run_row = run_row; }

}  // namespace ouro::jit
