#include "ir/ops/registry.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "ir/effect.h"
#include "ir/ops/sig.h"
#include "ir/ops/sig_parse.h"
#include "support/diag.h"
#include "support/forever.h"

namespace ouro::ir {

namespace {

std::vector<OpParam> parse_params(std::string_view text, const std::string& op) {
  std::vector<OpParam> out;
  bool keyword_only = false;
  while (!text.empty()) {
    const ParamText t = next_param(text);
    if (t.separator) {
      keyword_only = true;
      continue;
    }
    if (t.name.empty()) continue;
    OpParam p;
    p.name = t.name;
    p.default_text = t.default_text;
    p.has_default = t.has_default;
    p.variadic = t.variadic;
    p.input = t.input;
    p.keyword_only = keyword_only;
    p.optional = t.optional;
    p.kind_text = t.kind;
    if (!t.kind.empty() && !find_param_kind(t.kind, p.kind))
      ouro_bug("%s: no kind of parameter '%s'", op.c_str(), p.kind_text.c_str());
    if (p.kind == ParamKind::choice)
      for (std::string_view rest = t.kind; !rest.empty();) {
        const size_t bar = rest.find('|');
        p.choices.emplace_back(rest.substr(0, bar));
        rest = bar == rest.npos ? "" : rest.substr(bar + 1);
      }
    keyword_only = keyword_only || t.variadic;
    out.push_back(std::move(p));
  }
  return out;
}

struct Registry {
  std::vector<const OpInfo*> rows;  // of the tables
  // All, by index: op_info reads them without the lock that they are added under.
  std::vector<std::atomic<const OpInfo*>> infos{4096};
  std::atomic<uint32_t> count = 0;
  std::map<std::string, const OpInfo*, std::less<>> names;
  std::map<std::pair<uint16_t, int>, const OpInfo*> derivatives;
  std::map<Leaf, const OpInfo*> leaves;
  mutable std::shared_mutex lock;

  Registry() {
    for (const OpDef* def : op_rows()) rows.push_back(add(*def, std::string(def->name)));
    for (const OpInfo* info : rows) {
      std::string_view rest = info->def->alias;
      while (!rest.empty()) {
        size_t space = rest.find(' ');
        names.emplace(std::string(rest.substr(0, space)), info);
        rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
      }
      if (info->body) remember_leaf(info);
    }
  }

  const OpInfo* add(const OpDef& def, std::string name) {
    auto info = std::make_unique<OpInfo>();
    info->op = static_cast<Op>(kFirstTensorOp + count);
    info->def = &def;
    info->name = std::move(name);
    info->shown = shown_name(def, info->name);
    info->sig = parse_sig(def.sig, info->name);
    info->inputs = static_cast<int>(info->sig->inputs.size());
    std::string_view params = def.params;
    if (params.empty())
      params = info->inputs == 0 ? "" : info->inputs == 1 ? "x" : info->inputs == 2 ? "x, y" : "x, y, z";
    info->params = parse_params(params, info->name);
    place_inputs(*info);
    if (def.body) {
      OpArgs args;
      for (int i = 0; i < 5; ++i) args.x[i] = make_arg(i);
      info->body = def.body(args);
      args.integer = true;
      info->integer_body = def.body(args);
      args.integer = false;
      for (int i = 0; i < 4; ++i)
        if (def.d[i]) info->d[i] = def.d[i](args, make_arg(info->inputs));
    }
    return keep(std::move(info));
  }

  const OpInfo* keep(std::unique_ptr<OpInfo> info) {
    if (count == infos.size()) ouro_bug("too many derived operations");
    const OpInfo* out = info.release();  // lives as long as the process
    if (!names.emplace(out->name, out).second) ouro_bug("two rows have one name");
    infos[count].store(out, std::memory_order_release);
    ++count;
    return out;
  }

  // `add_scaled` is what scripts call add: the row `add` is the operator.
  static std::string shown_name(const OpDef& def, const std::string& name) {
    const std::string_view alias = def.alias.substr(0, def.alias.find(' '));
    for (const OpDef* other : op_rows())
      if (!alias.empty() && other->name == alias) return std::string(alias);
    return name;
  }

  static void place_inputs(OpInfo& info) {
    bool marked = false;
    for (const OpParam& p : info.params) marked |= p.input;
    for (size_t i = 0; i < info.params.size(); ++i) {
      if (!marked) info.params[i].input = static_cast<int>(i) < info.inputs;
      (info.params[i].input ? info.input_at : info.param_at).push_back(static_cast<int>(i));
    }
    if (static_cast<int>(info.input_at.size()) != info.inputs)
      ouro_bug("%s: parameters and signature differ", info.name.c_str());
  }

  void remember_leaf(const OpInfo* info) {
    const ExprNode& n = *info->body.node;
    if (n.leaf <= Leaf::constant || n.leaf == Leaf::cast || n.leaf == Leaf::bitcast) return;
    for (int i = 0; i < kLeaves[static_cast<int>(n.leaf)].operands; ++i)
      if (n.kid[i].node != make_arg(i).node) return;
    leaves.emplace(n.leaf, info);
  }

  // The operation whose body is d (over x..., y), as a row of its own; null if d is zero. Called with the lock held.
  const OpInfo* derive(const OpInfo& of, int input) {
    std::pair key{static_cast<uint16_t>(of.op), input};
    if (auto it = derivatives.find(key); it != derivatives.end()) return it->second;
    S d = of.d[input];
    if (!d && of.body && !of.def->d[0] && of.def->nondiff.empty()) d = derivative(of.body, input);
    if (!d || (d.node->leaf == Leaf::constant && d.node->imm == 0)) return derivatives[key] = nullptr;
    auto info = std::make_unique<OpInfo>();
    info->op = static_cast<Op>(kFirstTensorOp + count);
    info->name = of.name + ".d" + std::to_string(input);
    info->shown = info->name;
    info->doc_storage = "The local derivative of " + of.name + " by input " + std::to_string(input) + ".";
    info->inputs = of.inputs + 1;
    for (int i = 0; i < info->inputs; ++i) info->sig_storage += i ? ", f[*s]" : "f[*s]";
    info->sig_storage += " -> f[*s]";
    for (int i : of.input_at) info->params_storage += of.params[i].name + ", ";
    info->params_storage += "y";
    for (int i : of.param_at) {
      const OpParam& p = of.params[i];
      info->params_storage +=
          ", " + p.name + ": " + p.kind_text + (p.optional ? "?" : "") + (p.has_default ? " = " + p.default_text : "");
    }
    info->body = info->integer_body = d;
    for (int i = 0; i < info->inputs; ++i) info->d[i] = derivative(d, i);
    info->storage =
        OpDef{.name = info->name, .doc = info->doc_storage, .sig = info->sig_storage, .params = info->params_storage};
    info->storage.method = info->storage.function = false;
    info->def = &info->storage;
    info->sig = parse_sig(info->sig_storage, info->name);
    info->params = parse_params(info->params_storage, info->name);
    place_inputs(*info);
    return derivatives[key] = keep(std::move(info));
  }
};

Registry& registry() {
  static Registry* r = new Registry;  // lives as long as the process
  return *r;
}

}  // namespace

const OpInfo& op_info(Op op) {
  return *registry().infos[static_cast<uint16_t>(op) - kFirstTensorOp].load(std::memory_order_acquire);
}

const OpInfo* op_numbered(int64_t number) {
  const int64_t at = number - kFirstTensorOp;
  if (number < kFirstTensorOp || at >= static_cast<int64_t>(registry().infos.size())) return nullptr;
  return registry().infos[static_cast<size_t>(at)].load(std::memory_order_acquire);
}

const OpInfo* find_op(std::string_view name) {
  Registry& r = registry();
  {
    std::shared_lock guard(r.lock);
    if (auto it = r.names.find(name); it != r.names.end()) return it->second;
  }
  size_t dot = name.rfind(".d");
  if (dot == std::string_view::npos || dot + 3 != name.size() || name[dot + 2] < '0' || name[dot + 2] > '4')
    return nullptr;
  const OpInfo* base = find_op(name.substr(0, dot));
  int input = name[dot + 2] - '0';
  return base && base->body && input < base->inputs ? local_derivative(base->op, input) : nullptr;
}

namespace {

// Names and effects for those who know only the IR (verifier, printer, reader). Atoms: as many as the call names;
// scalars known when the let was made stand in its constant.
OpFacts facts_of(uint32_t row) {
  Registry& r = registry();
  std::shared_lock guard(r.lock);
  if (row >= r.count) ouro_bug("no tensor operation %u", row);
  const OpInfo& info = *r.infos[row];
  return {info.name, -1, AttrKind::constant,
          static_cast<uint32_t>(kAlloc | kRaises | (info.def->effect == OpEffect::rng ? kRng : kPure))};
}
std::optional<uint32_t> row_of_name(std::string_view name) {
  const OpInfo* info = find_op(name);
  if (!info) return std::nullopt;
  return static_cast<uint32_t>(info->op) - kFirstTensorOp;
}
const bool kInstalled =
    (install_tensor_ops({.count = UINT16_MAX - kFirstTensorOp, .facts = facts_of, .find = row_of_name}), true);

}  // namespace

std::span<const OpInfo* const> all_ops() { return registry().rows; }

std::span<const OpDef* const> op_rows() {
  static const std::vector<const OpDef*>& rows = support::forever([] {
    std::vector<const OpDef*> v;
    for (std::span<const OpDef> table : {elementwise_rows(), reduce_rows(), shape_rows(), index_rows(), linalg_rows(),
                                         sparse_rows(), neural_rows(), make_rows(), random_rows(), ouro_rows()})
      for (const OpDef& def : table) v.push_back(&def);
    return v;
  }());
  return rows;
}

const OpInfo* local_derivative(Op op, int input) {
  Registry& r = registry();
  std::unique_lock guard(r.lock);
  return r.derive(*r.infos[static_cast<uint16_t>(op) - kFirstTensorOp], input);
}

const OpInfo* op_of_leaf(Leaf leaf) {
  Registry& r = registry();
  auto it = r.leaves.find(leaf);
  return it == r.leaves.end() ? nullptr : it->second;
}

}  // namespace ouro::ir
