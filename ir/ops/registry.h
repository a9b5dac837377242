// All operations: rows of the tables, and the local derivatives that are made of them on demand.
//
// Ids are dense and stable within a process: Op = kFirstTensorOp + index. Derived rows ("tanh.d0": the expression
// dy/dx0 over (x..., y) as an elementwise operation of its own) get the next free ids when first asked for, from any
// thread; their own derivatives follow from their expressions, so every order exists.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/anf.h"
#include "ir/ops/op.h"
#include "ir/ops/param_kinds.h"

namespace ouro::ir {

struct Sig;

// A parsed parameter of a row.
struct OpParam {
  std::string name;
  std::string default_text;  // as written; empty: required
  bool has_default = false;
  bool variadic = false;  // *shape
  bool input = false;     // a tensor of `sig`
  bool keyword_only = false;
  ParamKind kind = ParamKind::any;  // of what is no input
  bool optional = false;            // None is let through
  std::vector<std::string> choices;
  std::string kind_text;  // as written, without `?`
};

// A row with what is derived from its texts once.
struct OpInfo {
  Op op{};
  const OpDef* def = nullptr;
  std::string name;
  std::string shown;  // what errors call it: its alias, if that is also the name of a row that scripts cannot name
  const Sig* sig = nullptr;
  std::vector<OpParam> params;
  int inputs = 0;                       // of `sig`
  std::vector<int> input_at, param_at;  // positions in `params` of the inputs, and of the others
  S body{}, integer_body{};             // of elementwise rows, built: over floats, and over integers and bools
  std::array<S, 5> d{};                 // dy/dx_i over arg(0..inputs) and arg(inputs) = y; null if there is none
  OpDef storage{};                      // of derived rows (def points here)
  std::string name_storage, doc_storage, sig_storage, params_storage;
  bool elementwise() const { return static_cast<bool>(body); }
  S body_for(DType compute) const { return is_float(compute) ? body : integer_body; }
};

// The row of a tensor operation's id. Precondition: is_tensor_op(op) and registered.
const OpInfo& op_info(Op op);
const OpInfo* op_numbered(int64_t number);  // of any number: null if it is no tensor operation's
// By name ("tanh", an alias, or a derived "tanh.d0"); null if there is none.
const OpInfo* find_op(std::string_view name);
// The rows of the tables, in order (no derived ones, no aliases).
std::span<const OpInfo* const> all_ops();
// The same rows as they are written, for callers that need only names and flags: nothing is parsed or built for them (a
// program's start).
std::span<const OpDef* const> op_rows();
inline bool has_inputs(const OpDef& row) { return !row.sig.starts_with("->"); }
// dy/dx_i of an elementwise row as an elementwise operation over (x..., y); null when the derivative is zero
// everywhere.
const OpInfo* local_derivative(Op op, int input);
// The elementwise row that is exactly this leaf ("add", "exp", "where" for select); null if there is none (const, arg,
// cast).
const OpInfo* op_of_leaf(Leaf leaf);

// The tables; each is defined beside its rows.
std::span<const OpDef> elementwise_rows();
std::span<const OpDef> reduce_rows();
std::span<const OpDef> shape_rows();
std::span<const OpDef> index_rows();
std::span<const OpDef> linalg_rows();
std::span<const OpDef> sparse_rows();
std::span<const OpDef> neural_rows();
std::span<const OpDef> make_rows();
std::span<const OpDef> random_rows();
std::span<const OpDef> ouro_rows();  // of stdlib/ops, generated (tools/stage0)

}  // namespace ouro::ir
