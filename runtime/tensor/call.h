// One call of a row that is not elementwise: arguments in order, inference done, inputs brought to their types; and the
// table of those who carry rows out.
#pragma once

#include <string>
#include <vector>

#include "ir/ops/sig.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime {

struct OpCall {
  Session& s;
  const ir::OpInfo& op;
  std::span<Value> args;      // in the order of the row's parameters
  std::vector<Value> inputs;  // tensors (numbers made 0-d), unbound if absent; a list's parts behind each other
  std::vector<ir::Param> params;
  ir::SigCall sig;
  std::vector<std::optional<ir::TensorType>> types;
  std::vector<int64_t> shape;  // of results[0]

  const Tensor* in(size_t i = 0) const { return inputs[i].as<Tensor>(); }
  DType dtype() const { return sig.results[0].dtype; }
  const ir::Param& param(std::string_view name) const { return sig.param(name); }
  int64_t integer(std::string_view name, int64_t fallback = 0) const {
    const ir::Param& p = param(name);
    return p.kind == ir::Param::Kind::integer || p.kind == ir::Param::Kind::boolean ? p.integer.c
           : p.kind == ir::Param::Kind::floating                                    ? static_cast<int64_t>(p.floating)
                                                                                    : fallback;
  }
  double number(std::string_view name, double fallback = 0) const {
    const ir::Param& p = param(name);
    return p.kind == ir::Param::Kind::floating                                        ? p.floating
           : p.kind == ir::Param::Kind::integer || p.kind == ir::Param::Kind::boolean ? static_cast<double>(p.integer.c)
                                                                                      : fallback;
  }
  bool flag(std::string_view name) const { return param(name).truthy(); }
  std::vector<int64_t> integers(std::string_view name) const;  // an int or a (possibly doubly nested) list of ints
  const Value& argument(std::string_view name) const;          // as it was passed
  int axis(std::string_view name, int rank) const;             // resolved
  std::vector<int> axes(int rank) const;                       // of the parameter `axis`
  Value result() { return make_tensor(s, dtype(), shape); }
  Value raise(const std::string& kind, const std::string& text) const;
};

// Those who carry out rows, by "reduce", "view", "gather key", ..., or a symbol.
using OpExecutor = Value (*)(OpCall&);
struct ExecutorRow {
  std::string_view name;
  OpExecutor run;
  bool infers = true;  // false: finds its result's shape itself (indexing)
};
std::span<const ExecutorRow> reduce_executors();
std::span<const ExecutorRow> view_executors();
std::span<const ExecutorRow> index_executors();
std::span<const ExecutorRow> make_executors();
std::span<const ExecutorRow> random_executors();
std::span<const ExecutorRow> order_executors();
std::span<const ExecutorRow> window_executors();
std::span<const ExecutorRow> contract_executors();
std::span<const ExecutorRow> decompose_executors();
std::span<const ExecutorRow> sparse_executors();
std::span<const ExecutorRow> block_sparse_executors();

// The rows as natives, in the order of ir::op_rows(); and their further names. Made without parsing any row.
std::span<const NativeDef> operation_natives();
struct OperationAlias {
  NativeDef native;
  const ir::OpDef* row;
};
std::span<const OperationAlias> operation_aliases();
// Do scripts know the row by its alias alone, as `add_scaled`, which is their `add`? (ir::OpInfo::shown)
bool has_alias_alone(const ir::OpDef& row);

// An argument as inference sees it, for a parameter of that kind.
ir::Param to_param(Session& s, const Value& v, ir::ParamKind kind = ir::ParamKind::any, int depth = 3);
Value raise_kind(Session& s, std::string_view kind, std::string_view text);

}  // namespace ouro::runtime
