#include "jit/plan/check/meaning.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "ir/ops/sig.h"
#include "ir/prim.h"

namespace ouro::jit::check {

using ir::Atom;
using ir::Constant;
using ir::ConstId;
using ir::Leaf;
using ir::Let;
using ir::LoopKind;
using ir::NameId;
using ir::OpInfo;
using ir::Param;
namespace prim = ir::prim;

int64_t elements(const Shape& s) { return std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>()); }

int64_t flat(const Index& at, const Shape& s) {
  int64_t n = 0;
  for (size_t a = 0; a < s.size(); ++a) n = n * s[a] + at[a];
  return n;
}

Index unflat(int64_t n, const Shape& s) {
  Index at(s.size());
  for (size_t a = s.size(); a-- > 0;) {
    at[a] = s[a] ? n % s[a] : 0;
    n = s[a] ? n / s[a] : 0;
  }
  return at;
}

namespace {

DType in_registers(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

[[noreturn]] void lacking(const OpInfo& op) {
  throw Violation("no meaning is written for " + op.name + " in a kernel");
}

}  // namespace

// ---------------------------------------------------------------- arguments of a let, by parameter

class Meaning::Args {
 public:
  Args(const Meaning& m, const Let& l) : m(m), let(l), op(ir::op_info(l.op)), given_(op.params.size()) {
    const ir::Function& f = m.f_;
    std::vector<Atom> all(f.args(l), f.args(l) + l.nargs);
    if (l.attr != ir::kNoAttr && l.attr < f.constants.size() && all.size() < op.params.size() &&
        f.constants[l.attr].kind == Constant::Kind::tuple)
      for (ConstId c : f.constants[l.attr].items) all.emplace_back(c);
    size_t next = 0;
    for (size_t i = 0; i < given_.size() && next < all.size(); ++i) {
      size_t take = 1;
      if (op.params[i].variadic) {
        size_t needed = 0;
        for (size_t k = i + 1; k < op.params.size(); ++k) needed += op.params[k].has_default ? 0 : 1;
        take = std::max<size_t>(1, all.size() - next - std::min(needed, all.size() - next));
      }
      for (size_t k = 0; k < take && next < all.size(); ++k) given_[i].push_back(all[next++]);
    }
  }

  size_t at(std::string_view name) const {
    for (size_t i = 0; i < op.params.size(); ++i)
      if (op.params[i].name == name) return i;
    throw Violation(fmt::format("{} has no parameter {}", op.name, name));
  }
  const std::vector<Atom>& atoms(size_t i) const { return given_[i]; }
  Atom input(size_t k) const {
    const auto& list = given_[static_cast<size_t>(op.input_at[k])];
    if (list.size() != 1) throw Violation(op.name + ": an input that is not one atom");
    return list[0];
  }
  NameId tensor(size_t k) const {
    Atom a = input(k);
    if (!a.is_name()) throw Violation(op.name + ": a tensor expected");
    return a.name();
  }
  Param value(size_t i) const {
    if (given_[i].empty()) return ir::default_of(op.params[i]);
    if (given_[i].size() == 1) return value(given_[i][0]);
    Param p;
    p.kind = Param::Kind::list;
    for (Atom a : given_[i]) p.list.push_back(value(a));
    return p;
  }
  Param value(std::string_view name) const { return value(at(name)); }
  int64_t integer(std::string_view name) const {
    Param p = value(name);
    if ((p.kind != Param::Kind::integer && p.kind != Param::Kind::boolean) || !p.integer.known())
      throw Violation(fmt::format("{}: {} is no number", op.name, name));
    return p.integer.c;
  }
  bool is_none(std::string_view name) const { return value(name).kind == Param::Kind::none; }
  std::vector<int64_t> integers(std::string_view name) const {
    Param p = value(name);
    if (p.kind == Param::Kind::list && p.list.size() == 1 && p.list[0].kind == Param::Kind::list) p = Param(p.list[0]);
    std::vector<int64_t> out;
    if (p.kind == Param::Kind::integer) return {p.integer.c};
    for (const Param& e : p.list) out.push_back(e.integer.c);
    return out;
  }
  Shape shape(size_t k) const { return m.shape(tensor(k)); }
  Shape result() const { return m.shape(let.result); }
  DType result_type() const { return m.type(let.result).dtype; }

  const Meaning& m;
  const Let& let;
  const OpInfo& op;

 private:
  Param value(Atom a) const {
    Param p;
    p.kind = Param::Kind::unknown;
    return a.is_const() ? of_constant(a.constant()) : p;
  }
  Param of_constant(ConstId id) const {
    const Constant& c = m.f_.constant(id);
    switch (c.kind) {
      case Constant::Kind::none:
        return Param::none();
      case Constant::Kind::true_:
      case Constant::Kind::false_:
        return Param::of_bool(c.kind == Constant::Kind::true_);
      case Constant::Kind::integer:
        return Param::of(c.i);
      case Constant::Kind::floating:
        return Param::of_float(c.f);
      case Constant::Kind::string:
        return Param::of_text(c.text);
      case Constant::Kind::dtype:
        return Param::of_dtype(static_cast<DType>(c.i));
      case Constant::Kind::tuple: {
        Param p;
        p.kind = Param::Kind::list;
        for (ConstId item : c.items) p.list.push_back(of_constant(item));
        return p;
      }
      default: {
        Param p;
        p.kind = Param::Kind::unknown;
        return p;
      }
    }
  }

  std::vector<std::vector<Atom>> given_;
};

// ---------------------------------------------------------------- what is told beforehand

// Groups of neighbouring axes, the last group first. `shapes[k]` is what stands after group k.
struct Meaning::Reduction {
  NameId source{};
  struct Group {
    size_t begin, end;
    bool last_axis;
  };
  std::vector<Group> groups;
  std::vector<Shape> shapes;
  bool keep = false;
  ir::ExprProgram before;  // of an element, in the first group
};

struct Meaning::Elementwise {
  ir::ExprProgram program;
  std::vector<Param> params;
};

struct Meaning::Prepared {
  Args args;
  Elementwise body;
  Reduction reduction;
};

const Meaning::Prepared& Meaning::prepared(const Let& l) const {
  std::shared_ptr<Prepared>& p = prepared_[&l];
  if (p) return *p;
  p = std::make_shared<Prepared>(Prepared{Args(*this, l), {}, {}});
  if (p->args.op.elementwise()) p->body = program_of(p->args);
  if (p->args.op.def->loop.kind == LoopKind::reduce) p->reduction = reduction(p->args);
  return *p;
}

// ---------------------------------------------------------------- names

Meaning::Meaning(const ir::Function& f, ir::BlockId block, std::function<int64_t(uint32_t)> size_of_symbol,
                 Terms& terms)
    : f_(f), size_of_symbol_(std::move(size_of_symbol)), t_(terms) {
  for (const Let& l : f.block(block).lets)
    if (l.result != NameId::none) lets_[index(l.result)] = &l;
  find_bounds(f.block(block));
}

const Let* Meaning::let_of(NameId n) const {
  auto it = lets_.find(index(n));
  return it == lets_.end() ? nullptr : it->second;
}

NameId Meaning::origin(NameId n) const {
  for (const Let* l = let_of(n); l && l->op == prim::move; l = let_of(n)) {
    if (!f_.args(*l)[0].is_name()) break;
    n = f_.args(*l)[0].name();
  }
  return n;
}

const Shape& Meaning::shape_of(NameId n) const {
  auto [it, fresh] = shapes_.try_emplace(index(n));
  if (fresh)
    for (const ir::SymDim& d : type(n).dims) {
      it->second.push_back(d.c + (d.m ? d.m * size_of_symbol_(d.symbol) : 0));
      if (it->second.back() < 0) throw NoSuchSizes();
    }
  return it->second;
}

// Index names, and the names that they are views of: an element of one is a number in the range of every axis that it
// indexes.
void Meaning::find_bounds(const ir::Block& b) {
  auto limit = [&](NameId n, int64_t bound) {
    for (;;) {
      n = origin(n);
      auto [it, fresh] = bounds_.try_emplace(index(n), bound);
      it->second = std::min(it->second, bound);
      const Let* l = let_of(n);
      if (!l || !ir::is_tensor_op(l->op)) return;
      const OpInfo& op = ir::op_info(l->op);
      const bool view = op.def->loop.kind == LoopKind::view && op.name != "cat";
      if (!view || l->nargs < 1 || !f_.args(*l)[0].is_name()) return;
      n = f_.args(*l)[0].name();
    }
  };
  for (const Let& l : b.lets) {
    if (!ir::is_tensor_op(l.op)) continue;
    const OpInfo& op = ir::op_info(l.op);
    const LoopKind kind = op.def->loop.kind;
    const std::string_view rule = op.def->loop.index;
    const bool along = (kind == LoopKind::gather && (rule == "axis" || rule == "select")) ||
                       (kind == LoopKind::scatter && (rule == "axis add" || rule == "axis set"));
    if (!along) continue;
    Args a(*this, l);
    if (!a.input(0).is_name() || !a.input(1).is_name() || a.value("axis").kind != Param::Kind::integer) continue;
    const ir::Type* indices = f_.name_info(a.tensor(1)).type;
    const ir::Type* source = f_.name_info(a.tensor(0)).type;
    if (!indices || !indices->is_tensor() || indices->dtype != DType::i64 || !source || !source->is_tensor()) continue;
    const Shape s = shape(a.tensor(0));
    int64_t axis = a.integer("axis");
    if (axis < 0) axis += static_cast<int64_t>(s.size());
    if (axis >= 0 && axis < static_cast<int64_t>(s.size())) limit(a.tensor(1), s[static_cast<size_t>(axis)]);
  }
}

int64_t Meaning::bound(NameId n) const {
  auto it = bounds_.find(index(origin(n)));
  return it == bounds_.end() ? 0 : it->second;
}

// ---------------------------------------------------------------- elements

Term Meaning::load(const Claim& c, int64_t at) {
  const DType t = in_registers(dtype(c));
  const NameId n = origin(c.name);
  if (following_) followed_.insert(n);
  if (c.stage < 0 && t == DType::i64)
    if (int64_t b = bound(n); b > 0) {
      // Any number will do that is the same each time: which element a place names is what matters.
      const uint64_t h = (static_cast<uint64_t>(at) * 0x9E3779B97F4A7C15u + index(n)) * 0xBF58476D1CE4E5B9u >> 33;
      return t_.number(DType::i64, static_cast<int64_t>(h % static_cast<uint64_t>(2 * b)) - b);
    }
  return t_.element(t, static_cast<uint64_t>(index(n)) << 8 | static_cast<uint64_t>(c.stage + 1), at);
}

Term Meaning::element(NameId n, const Index& at) {
  n = origin(n);
  const int64_t i = flat(at, shape_of(n));
  if (memory_.count({n, -1})) return load({n, -1}, i);
  auto key = std::pair(index(n), i);
  if (auto it = done_.find(key); it != done_.end()) return it->second;
  const Let* l = let_of(n);
  if (!l || !ir::is_tensor_op(l->op))
    throw Violation(fmt::format("a kernel computes with %{}, which it does not load", index(n)));
  Term t = compute(*l, at);
  done_.emplace(key, t);
  return t;
}

Term Meaning::computed(const Claim& c, int64_t at) {
  const Let* l = let_of(origin(c.name));
  if (!l || !ir::is_tensor_op(l->op))
    throw Violation(fmt::format("a kernel computes %{}, which is none's to compute", index(c.name)));
  const Index where = unflat(at, shape(c));
  return c.stage < 0 ? compute(*l, where) : reduced(*l, c.stage, where);
}

Term Meaning::compute(const Let& l, const Index& at) {
  const Prepared& known = prepared(l);
  const Args& a = known.args;
  const OpInfo& op = a.op;
  if (op.elementwise()) return elementwise(known, at);
  const ir::LoopSpec& loop = op.def->loop;
  switch (loop.kind) {
    case LoopKind::reduce:
      return reduced(l, -1, at);
    case LoopKind::view:
      return view(a, at);
    case LoopKind::gather:
      return gathered(a, at);
    case LoopKind::scatter:
      return loop.index == "plane add" ? unpooled(a, at) : scattered(a, at);
    case LoopKind::window:
      return window(a, loop.index == "argmax", at);
    default:
      break;
  }
  if (op.def->symbol == "cast" || op.def->symbol == "cast_like") {
    Term x = element(a.tensor(0), at);
    const DType from = type(a.tensor(0)).dtype, to = a.result_type();
    return from == to ? x : t_.rounded(x, to);
  }
  return made(a, at);
}

Term Meaning::scalar(Atom a, DType to) {
  if (a.is_const()) {
    const Constant& c = f_.constant(a.constant());
    switch (c.kind) {
      case Constant::Kind::integer:
        return is_float(to) || to == DType::boolean ? t_.constant(to, static_cast<double>(c.i)) : t_.number(to, c.i);
      case Constant::Kind::true_:
      case Constant::Kind::false_: {
        const int64_t v = c.kind == Constant::Kind::true_;
        return is_float(to) ? t_.constant(to, static_cast<double>(v)) : t_.number(to, v);
      }
      case Constant::Kind::floating:
        return t_.constant(to, c.f);
      default:
        throw Violation("an operand that is neither a tensor nor a number");
    }
  }
  const ir::Type* t = f_.name_info(a.name()).type;
  if (!t) throw Violation(fmt::format("%{} is used as a number and has no type", index(a.name())));
  const DType stored = t->kind == ir::TypeKind::floating ? DType::f64 : DType::i64;
  return t_.cast(t_.scalar(stored, index(a.name())), to);
}

// An operand's element for the element `at` of a result to which it broadcasts.
Term Meaning::operand(Atom a, const Shape& out, const Index& at, DType to) {
  const ir::Type* t = a.is_name() ? f_.name_info(a.name()).type : nullptr;
  if (!t || !t->is_tensor()) return scalar(a, to);
  const Shape& s = shape_of(a.name());
  Index mine;
  mine.reserve(s.size());
  for (size_t k = 0; k < s.size(); ++k) mine.push_back(s[k] == 1 ? 0 : at[k + out.size() - s.size()]);
  return element(a.name(), mine);
}

Term Meaning::run(const ir::ExprProgram& p, DType result, const std::function<Term(const ir::ExprStep&)>& given) {
  std::vector<Term> steps;
  for (const ir::ExprStep& s : p.steps) {
    Term t = Term::none;
    if (s.leaf == Leaf::arg || s.leaf == Leaf::param) {
      t = given(s);
    } else if (s.leaf == Leaf::constant) {
      t = t_.constant(s.type, s.imm);
    } else {
      std::vector<Term> args;
      for (int16_t k : {s.a, s.b, s.c})
        if (k >= 0) args.push_back(steps[static_cast<size_t>(k)]);
      t = s.leaf == Leaf::cast ? t_.rounded(args[0], s.type) : t_.leaf(s.leaf, s.type, args);
    }
    steps.push_back(t);
  }
  const Term t = steps[static_cast<size_t>(p.result)];
  const bool half = result == DType::f16 || result == DType::bf16;
  return half && p.steps[static_cast<size_t>(p.result)].type != result ? t_.rounded(t, result) : t;
}

Meaning::Elementwise Meaning::program_of(const Args& a) const {
  const OpInfo& op = a.op;
  std::vector<std::optional<ir::TensorType>> types;
  for (int k = 0; k < op.inputs; ++k) {
    const Atom x = a.input(static_cast<size_t>(k));
    const ir::Type* t = x.is_name() ? f_.name_info(x.name()).type : nullptr;
    ir::TensorType type;
    if (t && t->is_tensor()) {
      type.dtype = t->dtype;
      type.dims = t->dims;
    } else {
      type.scalar = true;
      const Constant::Kind kind = x.is_const() ? f_.constant(x.constant()).kind : Constant::Kind::none;
      const bool floating = t ? t->kind == ir::TypeKind::floating : kind == Constant::Kind::floating;
      const bool boolean =
          t ? t->kind == ir::TypeKind::boolean : kind == Constant::Kind::true_ || kind == Constant::Kind::false_;
      type.dtype = boolean ? DType::boolean : floating ? kDefaultFloat : kDefaultInt;
    }
    types.push_back(type);
  }
  std::vector<Param> params;
  for (int i : op.param_at) params.push_back(a.value(static_cast<size_t>(i)));
  ir::SigCall call{.op = &op, .inputs = types, .params = params};
  if (!ir::infer(call)) throw Violation(op.name + " in a kernel does not fit its signature");
  std::vector<DType> stored;
  for (size_t k = 0; k < types.size(); ++k)
    stored.push_back(types[k]->scalar ? in_registers(call.input_types[k]) : types[k]->dtype);
  return {ir::typed(op.body_for(call.compute), stored, call.input_types, call.compute, a.result_type()), params};
}

Term Meaning::elementwise(const Prepared& l, const Index& at) {
  const Args& a = l.args;
  const OpInfo& op = a.op;
  const Shape& out = shape_of(a.let.result);
  return run(l.body.program, a.result_type(), [&](const ir::ExprStep& s) {
    if (s.leaf == Leaf::arg) return operand(a.input(s.index), out, at, s.type);
    const size_t i = static_cast<size_t>(op.param_at[s.index]);
    const Param& d = l.body.params[s.index];  // None counts as 0
    if (!a.atoms(i).empty() && d.kind != Param::Kind::none) return scalar(a.atoms(i)[0], s.type);
    const double v = d.kind == Param::Kind::floating ? d.floating : static_cast<double>(d.integer.c);
    return t_.constant(s.type, v);
  });
}

// ---------------------------------------------------------------- reductions (ir/ops/reduce_order.h)

Meaning::Reduction Meaning::reduction(const Args& a) const {
  Reduction r;
  const Let& l = a.let;
  r.source = a.tensor(0);
  const Shape in = a.shape(0);
  const size_t rank = in.size();
  std::vector<bool> gone(rank, false);
  std::vector<bool> kept(rank, false);  // of those that are reduced: stays as 1
  if (a.op.def->loop.index == "to") {
    const Shape to = a.result();
    const size_t lead = rank - to.size();
    const auto& from_dims = type(r.source).dims;
    const auto& to_dims = type(l.result).dims;
    for (size_t k = 0; k < rank; ++k) {
      gone[k] = k < lead || !(to_dims[k - lead] == from_dims[k]);
      kept[k] = k >= lead;
    }
  } else {
    const Param axis = a.value("axis");
    const bool all = axis.kind == Param::Kind::none || (axis.kind == Param::Kind::list && axis.list.empty());
    if (all) gone.assign(rank, true);
    if (!all)
      for (int64_t k : a.integers("axis")) {
        const int64_t w = k < 0 ? k + static_cast<int64_t>(rank) : k;
        if (w >= 0 && w < static_cast<int64_t>(rank)) gone[static_cast<size_t>(w)] = true;
      }
    r.keep = a.integer("keepdim") != 0;
    kept.assign(rank, r.keep);
  }
  for (size_t k = rank; k-- > 0;) {
    if (!gone[k]) continue;
    size_t begin = k;
    while (begin > 0 && gone[begin - 1]) --begin;
    r.groups.push_back({begin, k + 1, false});
    k = begin;
  }
  if (r.groups.empty()) r.groups.push_back({rank, rank, true});
  // Axes are counted in what stands before the group: nothing in front of it has gone yet.
  Shape now = in;
  for (Reduction::Group& g : r.groups) {
    g.last_axis = g.end == now.size();
    Shape next;
    // Only a group that is wholly in front of the kept axes of `sum_to` is dropped; one that is both keeps its ones.
    const bool ones = a.op.def->loop.index == "to" ? g.end > rank - a.result().size() : r.keep;
    for (size_t k = 0; k < now.size(); ++k) {
      const bool in_group = k >= g.begin && k < g.end;
      if (!in_group)
        next.push_back(now[k]);
      else if (ones)
        next.push_back(1);
    }
    now = next;
    r.shapes.push_back(now);
  }
  const OpInfo& op = a.op;
  const DType element = type(r.source).dtype, result = a.result_type();
  const DType combined = is_float(result) ? in_registers(result) : result;
  ir::OpArgs x;
  x.x[0] = ir::make_arg(0);
  x.integer = !is_float(element);
  const bool with = op.def->loop.before != nullptr;
  const DType stored[] = {element}, promoted[] = {with ? in_registers(element) : combined};
  r.before = ir::typed(with ? op.def->loop.before(x) : x.x[0], stored, promoted, promoted[0], combined);
  return r;
}

Term Meaning::reduced(const Let& l, int stage, const Index& at) {
  const OpInfo& op = ir::op_info(l.op);
  const Reduction& r = prepared(l).reduction;
  const int last = static_cast<int>(r.groups.size()) - 1;
  const DType result = type(l.result).dtype, combined = is_float(result) ? in_registers(result) : result;
  Index where = at;
  if (stage < 0) {  // of the result: in the shape that the last group leaves
    stage = last;
    where = unflat(flat(at, shape(l.result)), r.shapes[static_cast<size_t>(last)]);
    if (memory_.count({origin(l.result), last})) return load({origin(l.result), last}, flat(at, shape(l.result)));
  }
  const Claim here{origin(l.result), stage};
  const Reduction::Group& g = r.groups[static_cast<size_t>(stage)];
  const Shape before = stage == 0 ? shape(r.source) : r.shapes[static_cast<size_t>(stage) - 1];
  const bool kept = r.shapes[static_cast<size_t>(stage)].size() == before.size();
  // Row-major over the group's axes.
  Shape inner(before.begin() + static_cast<long>(g.begin), before.begin() + static_cast<long>(g.end));
  std::vector<Term> parts;
  const int64_t n = elements(inner);
  for (int64_t i = 0; i < n; ++i) {
    Index in;
    const Index in_group = unflat(i, inner);
    for (size_t k = 0; k < before.size(); ++k) {
      if (k >= g.begin && k < g.end)
        in.push_back(in_group[k - g.begin]);
      else
        in.push_back(where[kept || k < g.begin ? k : k - (g.end - g.begin)]);
    }
    Term e;
    if (stage > 0) {
      const Claim below{here.name, stage - 1};
      e = memory_.count({below.name, below.stage}) ? load(below, flat(in, before)) : reduced(l, stage - 1, in);
    } else {
      e = element(r.source, in);
      e = run(r.before, t_.type(e), [&](const ir::ExprStep&) { return e; });
    }
    parts.push_back(e);
  }
  const DType t = parts.empty() ? combined : t_.type(parts[0]);
  Term sum = t_.reduction(op.def->loop.combine, g.last_axis, t, parts);
  const DType to = stage == last ? result : combined;
  return t_.rounded(t_.cast(sum, in_registers(to)), to);
}

Shape Meaning::shape(const Claim& c) const {
  if (c.stage < 0) return shape(c.name);
  const Let* l = let_of(origin(c.name));
  if (!l) throw Violation("a part of a reduction that is none");
  const Reduction& r = prepared(*l).reduction;
  if (c.stage >= static_cast<int>(r.shapes.size())) throw Violation("a part of a reduction that it does not have");
  return r.shapes[static_cast<size_t>(c.stage)];
}

DType Meaning::dtype(const Claim& c) const {
  const DType result = type(c.name).dtype;
  if (c.stage < 0) return result;
  const Let* l = let_of(origin(c.name));
  const bool last = l && c.stage + 1 == static_cast<int>(prepared(*l).reduction.groups.size());
  return last || !is_float(result) ? result : in_registers(result);
}

// ---------------------------------------------------------------- rearrangements

namespace {

// What kind of rearrangement an operation is, by its name.
std::string_view rearrangement(std::string_view op) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"flatten", "reshape"},      {"unflatten", "reshape"}, {"squeeze", "reshape"}, {"unsqueeze", "reshape"},
      {"permute_back", "permute"}, {"transpose", "permute"}, {"t", "permute"},       {"movedim", "permute"},
      {"expand_as", "expand"},     {"pad_constant", "pad"}};
  for (const auto& [name, kind] : kKinds)
    if (name == op) return kind;
  return op;
}

}  // namespace

Term Meaning::view(const Args& a, const Index& at) {
  const std::string_view rule = rearrangement(a.op.name);
  const Shape out = a.result();
  if (rule == "cat") {
    std::vector<Atom> parts = a.atoms(0);
    if (parts.size() == 1 && parts[0].is_name() &&
        !(f_.name_info(parts[0].name()).type && type(parts[0].name()).is_tensor())) {
      const Let* made = let_of(parts[0].name());
      if (!made) throw Violation("cat of a list from elsewhere");
      parts.assign(f_.args(*made), f_.args(*made) + made->nargs);
    }
    int64_t axis = a.integer("axis");
    if (axis < 0) axis += static_cast<int64_t>(out.size());
    Index in = at;
    int64_t& k = in[static_cast<size_t>(axis)];
    for (Atom p : parts) {
      const int64_t n = shape(p.name())[static_cast<size_t>(axis)];
      if (k < n) {
        Term e = element(p.name(), in);
        return t_.type(e) == in_registers(a.result_type()) ? e : t_.rounded(e, a.result_type());
      }
      k -= n;
    }
    throw Violation("cat: an element behind all parts");
  }
  const NameId x = a.tensor(0);
  const Shape in = shape(x);
  const size_t rank = in.size();
  auto axis_of = [&](int64_t k, size_t r) {
    const int64_t w = k < 0 ? k + static_cast<int64_t>(r) : k;
    if (w < 0 || w >= static_cast<int64_t>(r)) throw Violation(a.op.name + ": an axis out of range");
    return static_cast<size_t>(w);
  };
  const Term zero = t_.constant(in_registers(a.result_type()), 0);
  if (rule == "reshape") return element(x, unflat(flat(at, out), in));
  if (rule == "permute") {
    Index from(rank);
    const std::string& name = a.op.name;
    if (name == "t") {
      for (size_t k = 0; k < rank; ++k) from[rank - 1 - k] = at[k];
    } else if (name == "transpose") {
      from = at;
      if (rank > 0) std::swap(from[axis_of(a.integer("dim0"), rank)], from[axis_of(a.integer("dim1"), rank)]);
    } else if (name == "movedim") {
      const auto source = a.integers("source"), target = a.integers("destination");
      std::vector<int> of_result(rank, -1);  // which axis of x the result's axis is
      std::vector<bool> used(rank, false);
      for (size_t k = 0; k < source.size(); ++k) {
        of_result[axis_of(target[k], rank)] = static_cast<int>(axis_of(source[k], rank));
        used[axis_of(source[k], rank)] = true;
      }
      size_t next = 0;
      for (size_t k = 0; k < rank; ++k) {
        if (of_result[k] >= 0) continue;
        while (used[next]) ++next;
        of_result[k] = static_cast<int>(next++);
      }
      for (size_t k = 0; k < rank; ++k) from[static_cast<size_t>(of_result[k])] = at[k];
    } else {
      const auto dims = a.integers("dims");
      for (size_t k = 0; k < rank; ++k) {
        const size_t d = axis_of(dims[k], rank);
        if (name == "permute_back")
          from[k] = at[d];
        else
          from[d] = at[k];
      }
    }
    return element(x, from);
  }
  if (rule == "expand") {
    Index from;
    for (size_t k = 0; k < rank; ++k) from.push_back(in[k] == 1 ? 0 : at[k + out.size() - rank]);
    return element(x, from);
  }
  if (rule == "unreduce") {
    std::vector<bool> gone(out.size(), false);
    const Param axis = a.value("axis");
    if (axis.kind == Param::Kind::none || (axis.kind == Param::Kind::list && axis.list.empty()))
      gone.assign(out.size(), true);
    else
      for (int64_t k : a.integers("axis"))
        if (!out.empty()) gone[axis_of(k, out.size())] = true;
    Index from;
    for (size_t k = 0; k < out.size(); ++k) {
      if (!gone[k])
        from.push_back(at[k]);
      else if (rank == out.size())
        from.push_back(0);
    }
    return element(x, from);
  }
  if (rule == "pad" || rule == "narrow_back") {
    Index from = at;
    if (rule == "narrow_back") {
      const size_t k = axis_of(a.integer("axis"), rank);
      int64_t start = a.integer("start");
      if (start < 0) start += out[k];
      from[k] -= start;
    } else {
      const auto pads = a.integers("pad");
      for (size_t k = 0; 2 * k < pads.size(); ++k) from[rank - 1 - k] -= pads[2 * k];
    }
    for (size_t k = 0; k < rank; ++k)
      if (from[k] < 0 || from[k] >= in[k]) {
        if (rule == "narrow_back" || a.atoms(a.at("value")).empty()) return zero;
        return scalar(a.atoms(a.at("value"))[0], in_registers(a.result_type()));
      }
    return element(x, from);
  }
  if (rule == "flip") {
    Index from = at;
    for (int64_t k : a.integers("dims")) from[axis_of(k, rank)] = in[axis_of(k, rank)] - 1 - at[axis_of(k, rank)];
    return element(x, from);
  }
  if (rule == "narrow") {
    Index from = at;
    const size_t k = axis_of(a.integer("axis"), rank);
    const int64_t start = a.integer("start");
    from[k] += start < 0 ? start + in[k] : start;
    return element(x, from);
  }
  if (rule == "tril" || rule == "triu") {
    const auto& diagonal = a.atoms(a.at("diagonal"));
    Term k = diagonal.empty() ? t_.number(DType::i64, 0) : scalar(diagonal[0], DType::i64);
    Term column = t_.number(DType::i64, at[rank - 1]), row = t_.number(DType::i64, at[rank - 2]);
    const Term bound[] = {row, k};
    const Term sides[] = {column, t_.leaf(Leaf::add, DType::i64, bound)};
    const Term keep = t_.leaf(rule == "triu" ? Leaf::ge : Leaf::le, DType::boolean, sides);
    const Term arms[] = {keep, element(x, at), zero};
    return t_.leaf(Leaf::select, in_registers(a.result_type()), arms);
  }
  if (rule == "diagonal" || rule == "diagonal_back") {
    const size_t big = rule == "diagonal" ? rank : out.size();
    const size_t p = axis_of(a.integer("dim1"), big), q = axis_of(a.integer("dim2"), big);
    const int64_t offset = a.integer("offset");
    if (rule == "diagonal") {
      Index from;
      size_t next = 0;
      for (size_t k = 0; k < rank; ++k) {
        if (k == p)
          from.push_back(at.back() + std::max<int64_t>(0, -offset));
        else if (k == q)
          from.push_back(at.back() + std::max<int64_t>(0, offset));
        else
          from.push_back(at[next++]);
      }
      return element(x, from);
    }
    const int64_t i = at[p] - std::max<int64_t>(0, -offset), j = at[q] - std::max<int64_t>(0, offset);
    if (i != j || i < 0 || i >= in.back()) return zero;
    Index from;
    for (size_t k = 0; k < big; ++k)
      if (k != p && k != q) from.push_back(at[k]);
    from.push_back(i);
    return element(x, from);
  }
  lacking(a.op);
}

// ---------------------------------------------------------------- places

// A place in an axis; negative ones count from the end.
int64_t Meaning::place(NameId places, const Index& at, int64_t size) {
  ++following_;
  const Term t = element(places, at);
  --following_;
  auto k = t_.known(t);
  if (!k) throw Violation("a place that is not in memory: " + t_.text(t));
  const int64_t found = *k < 0 ? *k + size : *k;
  if (found < 0 || found >= size) throw Violation(fmt::format("place {} in an axis of {}", *k, size));
  return found;
}

Term Meaning::gathered(const Args& a, const Index& at) {
  const std::string_view rule = a.op.def->loop.index;
  if (rule != "axis" && rule != "select") lacking(a.op);
  const NameId x = a.tensor(0), places = a.tensor(1);
  const Shape s = shape(x);
  int64_t axis = a.integer("axis");
  if (axis < 0) axis += static_cast<int64_t>(s.size());
  const size_t k = static_cast<size_t>(axis);
  Index from = at;
  from[k] = place(places, rule == "axis" ? at : Index{at[k]}, s[k]);
  return element(x, from);
}

Term Meaning::scattered(const Args& a, const Index& at) {
  const std::string_view rule = a.op.def->loop.index;
  if (rule != "axis add" && rule != "axis set") lacking(a.op);
  const NameId x = a.tensor(0), places = a.tensor(1);
  const Shape s = shape(x);
  int64_t axis = a.integer("axis");
  if (axis < 0) axis += static_cast<int64_t>(s.size());
  Index line = at;
  line[static_cast<size_t>(axis)] = 0;
  if (shape(places)[static_cast<size_t>(axis)] != 1)
    throw Violation(a.op.name + " in a kernel with several places a line");
  const Term old = element(x, at);
  if (place(places, line, s[static_cast<size_t>(axis)]) != at[static_cast<size_t>(axis)]) return old;
  const DType t = a.result_type();
  const Term value = operand(a.input(2), shape(places), line, t);
  if (rule == "axis set") return value;
  const Term both[] = {old, value};
  return t_.leaf(Leaf::add, t, both);
}

// ---------------------------------------------------------------- windows

Term Meaning::window(const Args& a, bool index, const Index& at) {
  const NameId x = a.tensor(0);
  const Shape in = shape(x);
  const auto size = a.integers("kernel"), stride = a.integers("stride"), dilation = a.integers("dilation");
  const size_t n = size.size(), lead = in.size() - n;
  const DType t = in_registers(type(x).dtype);
  Term best = Term::none, where = Term::none;
  int64_t total = 1;
  for (int64_t k : size) total *= k;
  for (int64_t e = 0; e < total; ++e) {
    const Index in_window = unflat(e, Shape(size.begin(), size.end()));
    Index from(at.begin(), at.begin() + static_cast<long>(lead));
    int64_t plane = 0;
    for (size_t k = 0; k < n; ++k) {
      const int64_t p = at[lead + k] * stride[k] + in_window[k] * dilation[k];
      from.push_back(p);
      plane = plane * in[lead + k] + p;
    }
    const Term v = element(x, from), here = t_.number(DType::i64, plane);
    if (best == Term::none) {
      best = v, where = here;
      continue;
    }
    if (!index) {
      const Term two[] = {best, v};
      best = t_.leaf(Leaf::max, t, two);
      continue;
    }
    // The first of the largest; NaN is larger than any number, and the first NaN wins.
    const Term vb[] = {v, best}, vv[] = {v, v}, bb[] = {best, best};
    Term larger = t_.leaf(Leaf::gt, DType::boolean, vb);
    if (is_float(t)) {
      const Term nan[] = {t_.leaf(Leaf::ne, DType::boolean, vv), t_.leaf(Leaf::eq, DType::boolean, bb)};
      const Term either[] = {larger, t_.leaf(Leaf::and_, DType::boolean, nan)};
      larger = t_.leaf(Leaf::or_, DType::boolean, either);
    }
    const Term place_arms[] = {larger, here, where}, value_arms[] = {larger, v, best};
    where = t_.leaf(Leaf::select, DType::i64, place_arms);
    best = t_.leaf(Leaf::select, t, value_arms);
  }
  return index ? where : best;
}

// The gradient of a pooling without overlap: one window may have put something at an element.
Term Meaning::unpooled(const Args& a, const Index& at) {
  const NameId g = a.tensor(0), places = a.tensor(1);
  const Let* made = let_of(origin(places));
  if (!made || !ir::is_tensor_op(made->op)) lacking(a.op);
  const Args& pool = prepared(*made).args;
  const auto stride = pool.integers("stride");
  const Shape windows = shape(g), out = a.result();
  const size_t n = stride.size(), lead = windows.size() - n;
  Index from(at.begin(), at.begin() + static_cast<long>(lead));
  int64_t plane = 0;
  bool inside = true;
  for (size_t k = 0; k < n; ++k) {
    from.push_back(at[lead + k] / stride[k]);
    inside = inside && from.back() < windows[lead + k];
    plane = plane * out[lead + k] + at[lead + k];
  }
  const DType t = in_registers(a.result_type());
  const Term zero = t_.constant(t, 0);
  if (!inside) return zero;
  const Term same[] = {element(places, from), t_.number(DType::i64, plane)};
  const Term sum[] = {zero, element(g, from)};
  const Term arms[] = {t_.leaf(Leaf::eq, DType::boolean, same), t_.rounded(t_.leaf(Leaf::add, t, sum), a.result_type()),
                       zero};
  return t_.leaf(Leaf::select, t, arms);
}

// ---------------------------------------------------------------- constructors

Term Meaning::made(const Args& a, const Index& at) {
  const std::string_view symbol = a.op.def->symbol;
  const DType result = a.result_type(), t = in_registers(result);
  auto number = [&](double v) { return t_.constant(t, v); };
  if (symbol == "zeros" || symbol == "zeros_like") return t_.rounded(number(0), result);
  if (symbol == "ones" || symbol == "ones_like") return t_.rounded(number(1), result);
  if (symbol == "full" || symbol == "full_like") return t_.rounded(scalar(a.atoms(a.at("value"))[0], t), result);
  if (symbol == "arange" && is_integer(result)) {
    const bool one = a.is_none("stop");
    const int64_t start = one ? 0 : a.integer("start"), step = a.integer("step");
    return t_.cast(t_.number(DType::i64, start + at[0] * step), result);
  }
  lacking(a.op);
}

}  // namespace ouro::jit::check
