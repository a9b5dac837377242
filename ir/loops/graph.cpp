#include "ir/loops/graph.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/effect.h"
#include "ir/loops/graph_build.h"
#include "ir/loops/micro_batch.h"
#include "ir/ops/sig.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "support/diag.h"
#include "support/give_up.h"

namespace ouro::ir::loops {
namespace {

bool is_tensor(const Function& f, NameId n) {
  const Type* t = f.name_info(n).type;
  return t && t->is_tensor();
}

std::optional<int> wrap_axis(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<int>(axis);
}

class Builder {
 public:
  Builder(const Function& f, BlockId block, size_t most_joined)
      : f_(f), most_joined_(most_joined), made_by_(f.names.size(), nullptr) {
    for (const Let& l : f.block(block).lets) made_by_[index(l.result)] = &l;
    g_.function = &f;
    g_.block = block;
    g_.of_name.assign(f.names.size(), kNoValue);
    for (NameId n : f.blocks[0].params)
      if (is_tensor(f, n))
        for (const SymDim& d : f.name_info(n).type->dims)
          if (!d.known()) entry_symbols_.insert(d.symbol);
  }

  Graph run() {
    const Block& b = f_.block(g_.block);
    for (uint32_t i = 0; i < b.lets.size(); ++i) {
      may_give_up();
      let(b.lets[i], i);
    }
    finish(b);
    return std::move(g_);
  }

 private:
  ValueId add(Value v) {
    g_.values.push_back(std::move(v));
    return static_cast<ValueId>(g_.values.size() - 1);
  }

  ValueId value_of(NameId n) {
    ValueId& v = g_.of_name[index(n)];
    if (v == kNoValue) {
      const Type& t = *f_.name_info(n).type;
      v = add({.form = form::Input{}, .type = t.dtype, .dims = polys(t.dims), .name = n});
    }
    return v;
  }

  Use use(Atom a) {
    if (a.is_name() && is_tensor(f_, a.name())) return Use::of(value_of(a.name()));
    if (auto s = scalar_use(f_, a)) return *s;
    return {};
  }

  void let(const Let& l, uint32_t at) {
    for_each_arg(f_, l, [&](Atom a) {
      if (a.is_name() && is_tensor(f_, a.name())) value_of(a.name());
    });
    if (!is_tensor(f_, l.result)) return;
    const Type& t = *f_.name_info(l.result).type;
    Value v{.form = form::Opaque{}, .type = t.dtype, .dims = polys(t.dims), .name = l.result, .let = at};
    if (is_tensor_op(l.op)) {
      LetArgs args(f_, l);
      Value made = v;
      if (!many_axes(l, t) && sizes_are_told(l, args.op(), t) && tensor_op(l, args, made)) v = std::move(made);
    } else if (l.op == prim::move) {
      ValueId source = value_of(f_.args(l)[0].name());
      g_.of_name[index(l.result)] = source;
      return;
    }
    g_.of_name[index(l.result)] = add(std::move(v));
  }

  // A kernel has a bounded number of loops.
  bool many_axes(const Let& l, const Type& result) const {
    constexpr size_t kMost = 16;
    bool many = result.dims.size() > kMost;
    for_each_arg(f_, l, [&](Atom a) {
      many |= a.is_name() && is_tensor(f_, a.name()) && f_.name_info(a.name()).type->dims.size() > kMost;
    });
    return many;
  }

  // Sizes that the arguments do not tell are found while the step runs: by the row that makes them, which stays a row,
  // and so do rows that bring such a size together with another one, since they look whether the two fit. (What
  // arguments tell is checked before a version runs: jit/specialise/outside/access.h.)
  bool sizes_are_told(const Let& l, const OpInfo& op, const Type& result) const {
    std::vector<const Type*> inputs;
    for_each_arg(f_, l, [&](Atom a) {
      if (a.is_name() && is_tensor(f_, a.name())) inputs.push_back(f_.name_info(a.name()).type);
    });
    auto has = [](const Type& t, uint32_t symbol) {
      return std::ranges::any_of(t.dims, [&](const SymDim& d) { return !d.known() && d.symbol == symbol; });
    };
    auto found_here = [&](const SymDim& d) {
      return !d.known() && !entry_symbols_.count(d.symbol) && !is_chunk(d.symbol);
    };
    for (const SymDim& d : result.dims)
      if (found_here(d) && std::ranges::none_of(inputs, [&](const Type* t) { return has(*t, d.symbol); })) return false;
    if (std::ranges::none_of(inputs, [&](const Type* t) { return std::ranges::any_of(t->dims, found_here); }))
      return true;
    if (op.elementwise()) {
      for (const Type* t : inputs)
        for (size_t i = 0; i < t->dims.size(); ++i) {
          const SymDim &d = t->dims[t->dims.size() - 1 - i], &r = result.dims[result.dims.size() - 1 - i];
          if (!(d == r) && !(d == SymDim::number(1))) return false;
        }
      return true;
    }
    return inputs.size() == 1 && (op.def->loop.kind == LoopKind::reduce || op.def->symbol == "cast");
  }

  // False: not one of the kinds (or with parameters that are known only at run time).
  bool tensor_op(const Let& l, const LetArgs& args, Value& v) {
    const OpInfo& op = args.op();
    if (op.elementwise()) return elementwise(args, v);
    const LoopSpec& loop = op.def->loop;
    if (loop.kind == LoopKind::reduce) return reduce(args, v);
    if (loop.kind == LoopKind::view) return view(l, args, v);
    if (loop.kind == LoopKind::contract) return matmul(args, v, loop.index);
    if (loop.kind == LoopKind::conv) return convolve(args, v, loop.index);
    if (loop.kind == LoopKind::gather) return gather(args, v, loop.index);
    if (loop.kind == LoopKind::scatter) return scatter(args, v, loop.index);
    if (loop.kind == LoopKind::window) return window(args, v, loop.index);
    if (op.def->symbol == "cast" || op.def->symbol == "cast_like") return cast(args, v);
    return make(args, v);
  }

  bool input(const LetArgs& args, size_t i, Use& out) {
    const auto& s = args.slot(static_cast<size_t>(args.op().input_at[i]));
    if (s.atoms.size() != 1) return false;
    out = use(s.atoms[0]);
    return out.kind != Use::Kind::absent;
  }

  bool elementwise(const LetArgs& args, Value& v) {
    const OpInfo& op = args.op();
    std::vector<std::optional<TensorType>> types;
    std::vector<DType> stored;
    for (int i = 0; i < op.inputs; ++i) {
      Use u;
      if (!input(args, static_cast<size_t>(i), u)) return false;
      TensorType t;
      if (u.kind == Use::Kind::value) {
        t.dtype = g_[u.value].type;
        t.dims = f_.name_info(args.slot(static_cast<size_t>(op.input_at[static_cast<size_t>(i)])).atoms[0].name())
                     .type->dims;
      } else {
        t.scalar = true;
        t.dtype = is_bool(u.type) ? DType::boolean : is_float(u.type) ? kDefaultFloat : kDefaultInt;
      }
      types.push_back(t);
      v.inputs.push_back(u);
    }
    std::vector<Param> params;
    form::Elementwise e;
    for (int i : op.param_at) {
      params.push_back(args.param(static_cast<size_t>(i)));
      Use u{.kind = Use::Kind::number, .type = DType::f64};
      const Param& p = params.back();
      if (p.kind == Param::Kind::unknown) {
        const auto& atoms = args.slot(static_cast<size_t>(i)).atoms;
        auto s = atoms.size() == 1 ? scalar_use(f_, atoms[0]) : std::nullopt;
        if (!s) return false;
        u = *s;
      } else if (p.kind == Param::Kind::floating) {
        u.f = p.floating;
      } else if (p.kind == Param::Kind::integer || p.kind == Param::Kind::boolean) {
        u = Use::integer(p.integer.c);
      }
      e.params.push_back(u);
    }
    SigCall call{.op = &op, .inputs = types, .params = params};
    if (!infer(call)) return false;
    if (!is_float(call.compute) && may_raise(op, v)) return false;
    for (size_t i = 0; i < types.size(); ++i) {
      // A Python number becomes one of the type that it takes part as.
      stored.push_back(types[i]->scalar ? compute_type(call.input_types[i]) : types[i]->dtype);
    }
    e.program = typed(op.body_for(call.compute), stored, call.input_types, call.compute, v.type);
    if (!std::ranges::all_of(e.program.steps, defined)) return false;
    drop_unread(e.program, v);
    v.form = std::move(e);
    return true;
  }

  // An operand that the program does not read is none: nobody has to store it. (The slope of tanh is made of its value
  // alone.)
  static void drop_unread(ExprProgram& program, Value& v) {
    std::vector<uint8_t> now(v.inputs.size(), 0);
    for (const ExprStep& s : program.steps)
      if (s.leaf == Leaf::arg) now[s.index] = 1;
    SmallVec<Use, 3> read;
    for (size_t i = 0; i < now.size(); ++i)
      if (now[i]) {
        now[i] = static_cast<uint8_t>(read.size());
        read.push_back(v.inputs[i]);
      }
    for (ExprStep& s : program.steps)
      if (s.leaf == Leaf::arg) s.index = now[s.index];
    v.inputs = std::move(read);
  }

  // Integers: a divisor that is not known to be a good one is left to the row that looks at it.
  static bool may_raise(const OpInfo& op, const Value& v) {
    if (!op.def->integer_zero_raises || v.inputs.size() < 2) return false;
    const Use& second = v.inputs[1];
    return second.kind != Use::Kind::number || second.i == 0;
  }
  // A leaf that its type does not have is the row's, which has another way (powers of integers) or says so.
  static bool defined(const ExprStep& s) {
    if (ir::info(s.leaf).function) return is_float(s.operand_type);
    return s.operand_type != DType::boolean || (s.leaf != Leaf::shl && s.leaf != Leaf::shr);
  }

  // astype, cast_back: one cast.
  bool cast(const LetArgs& args, Value& v) {
    Use u;
    if (!input(args, 0, u) || u.kind != Use::Kind::value) return false;
    DType from = g_[u.value].type;
    v.inputs.push_back(u);
    ExprStep arg{.leaf = Leaf::arg, .type = compute_type(from), .operand_type = compute_type(from)};
    form::Elementwise e;
    e.program.steps.push_back(arg);
    e.program.result = 0;
    if (compute_type(v.type) != compute_type(from) || (v.type != from && v.type != compute_type(v.type))) {
      e.program.steps.push_back({.leaf = Leaf::cast, .type = v.type, .operand_type = compute_type(from), .a = 0});
      e.program.result = 1;
    }
    v.form = std::move(e);
    return true;
  }

  // Groups of neighbouring axes, the last group first, each a reduction of its own (reduce_order.h C).
  bool reduce(const LetArgs& args, Value& v) {
    Use u;
    if (!input(args, 0, u) || u.kind != Use::Kind::value) return false;
    const OpInfo& op = args.op();
    Polys dims = g_[u.value].dims;
    size_t rank = dims.size();
    std::vector<bool> reduced(rank, false);
    bool keep = args.flag("keepdim");
    size_t lead = 0;  // axes that go although the others are kept
    if (op.def->loop.index == "to") {
      if (!axes_of_sum_to(dims, v.dims, reduced)) return false;
      keep = true;
      lead = rank - v.dims.size();
    } else {
      Param axis = args.param("axis");
      if (axis.kind == Param::Kind::unknown) return false;
      auto list = args.integers("axis");
      if (!axis.is_none() && !list) return false;
      bool all = axis.is_none() || (list->empty() && axis.kind == Param::Kind::list);
      if (all)
        reduced.assign(rank, true);
      else
        for (int64_t a : *list) {
          auto w = wrap_axis(a, rank);
          if (!w) return rank == 0;
          reduced[static_cast<size_t>(*w)] = true;
        }
    }
    DType element = g_[u.value].type;
    DType combined = is_float(v.type) ? compute_type(v.type) : v.type;
    ExprProgram before = before_program(op, element, combined);
    return reduce_groups(v, u.value, dims, reduced, keep, lead, op, before, combined);
  }

  static ExprProgram before_program(const OpInfo& op, DType element, DType combined) {
    OpArgs a;
    a.x[0] = make_arg(0);
    a.integer = !is_float(element);
    S e = op.def->loop.before ? op.def->loop.before(a) : a.x[0];
    DType stored[] = {element};
    DType compute = op.def->loop.before ? compute_type(element) : combined;
    DType promoted[] = {compute};
    return typed(e, stored, promoted, compute, combined);
  }

  bool reduce_groups(Value& v, ValueId source, Polys dims, const std::vector<bool>& reduced, bool keep, size_t lead,
                     const OpInfo& op, const ExprProgram& before, DType combined) {
    size_t rank = dims.size();
    struct Group {
      size_t begin, end;
    };
    std::vector<Group> groups;
    for (size_t a = 0; a < rank;) {
      if (!reduced[a]) {
        ++a;
        continue;
      }
      size_t e = a;
      while (e < rank && reduced[e]) ++e;
      groups.push_back({a, e});
      a = e;
    }
    std::reverse(groups.begin(), groups.end());
    if (groups.empty()) groups.push_back({rank, rank});  // over no axis: one element each
    Polys final_dims = v.dims;
    ValueId current = source;
    for (size_t gi = 0; gi < groups.size(); ++gi) {
      bool last_step = gi + 1 == groups.size();
      bool kept = keep && groups[gi].end > lead;
      form::Reduce reduce{.combine = op.def->loop.combine,
                          .last = groups[gi].end == dims.size(),
                          .keepdim = kept,
                          .part_of = v.name,
                          .stage = static_cast<int>(gi)};
      if (gi == 0) reduce.before = before;
      for (size_t a = groups[gi].begin; a < groups[gi].end; ++a) reduce.axes.push_back(static_cast<int>(a));
      const bool whole =
          last_step && dims.size() - reduce.axes.size() + (kept ? reduce.axes.size() : 0) == v.dims.size();
      if (whole) reduce.stage = -1;
      Value r{.form = std::move(reduce), .type = last_step ? v.type : combined, .let = v.let};
      r.inputs.push_back(Use::of(current));
      Polys out;
      for (size_t a = 0; a < dims.size(); ++a) {
        bool gone = a >= groups[gi].begin && a < groups[gi].end;
        if (!gone)
          out.push_back(dims[a]);
        else if (kept)
          out.push_back(1);
      }
      r.dims = out;
      dims = out;
      if (last_step) {
        if (out.size() != final_dims.size()) {  // sum_to also drops leading axes
          r.type = v.type;
          current = add(std::move(r));
          v.inputs = {Use::of(current)};
          drop_ones(v, out);
          return true;
        }
        r.name = v.name;
        r.dims = final_dims;
        v = std::move(r);
        return true;
      }
      current = add(std::move(r));
    }
    return false;
  }

  static bool axes_of_sum_to(const Polys& from, const Polys& to, std::vector<bool>& reduced) {
    if (to.size() > from.size()) return false;
    size_t lead = from.size() - to.size();
    for (size_t a = 0; a < from.size(); ++a) {
      if (a < lead)
        reduced[a] = true;
      else if (!(to[a - lead] == from[a])) {
        if (!to[a - lead].is(1)) return false;
        reduced[a] = true;
      }
    }
    return true;
  }

  bool two_inputs(const LetArgs& args, Value& v);
  bool matmul(const LetArgs& args, Value& v, std::string_view index);
  bool convolve(const LetArgs& args, Value& v, std::string_view which);
  bool make(const LetArgs& args, Value& v);
  bool gather(const LetArgs& args, Value& v, std::string_view rule);
  bool scatter(const LetArgs& args, Value& v, std::string_view rule);
  bool window(const LetArgs& args, Value& v, std::string_view rule);
  bool unpool(const LetArgs& args, Value& v);
  bool index_map(const Let& let, IndexMap& map);
  bool view(const Let& let, const LetArgs& args, Value& v);
  static void drop_ones(Value& v, const Polys& in) {
    form::Read read{.at = {}, .only_ones = true};
    if (same_but_for_ones(in, v.dims, read.at))
      v.form = std::move(read);
    else
      v.form = form::Reshape{};
  }
  static bool same_but_for_ones(const Polys& in, const Polys& out, SmallVec<AxisAt, 6>& at);
  bool concatenate(const LetArgs& args, Value& v);

  void finish(const Block& b) {
    if (g_.values.empty()) return;  // programs with thousands of blocks without tensors are made in linear time
    find_lists(b);
    g_.users.resize(g_.values.size());
    g_.live_out.assign(g_.values.size(), false);
    for (ValueId v = 0; v < g_.values.size(); ++v)
      for (const Use& u : g_[v].inputs)
        if (u.kind == Use::Kind::value) g_.users[u.value].push_back(v);
    auto needed = [&](Atom a) {
      if (a.is_name() && g_.of_name[index(a.name())] != kNoValue) g_.live_out[g_.of_name[index(a.name())]] = true;
    };
    // Uses by lets that are no graph values, and by the terminator; names used in other blocks.
    for (uint32_t i = 0; i < b.lets.size(); ++i) {
      const Let& l = b.lets[i];
      ValueId v = is_tensor(f_, l.result) ? g_.of_name[index(l.result)] : kNoValue;
      bool in_graph = v != kNoValue && !g_[v].is<form::Opaque>() && l.op != prim::move;
      if (!in_graph && l.op != prim::move && !g_.lists[i]) for_each_arg(f_, l, needed);
    }
    for (BlockId other = BlockId{0}; index(other) < f_.blocks.size(); other = BlockId{index(other) + 1}) {
      if (other == g_.block) continue;
      for_each_use(f_, f_.block(other), [&](uint32_t, NameId n) { needed(Atom(n)); });
    }
    auto terminator = [&](const Atom* a, uint32_t n) {
      for (uint32_t i = 0; i < n; ++i) needed(a[i]);
    };
    if (!b.term.a.is_none()) needed(b.term.a);
    if (!b.term.b.is_none()) needed(b.term.b);
    for (const Target& t : b.term.targets) terminator(f_.args(t), t.nargs);
    for_each_handover(f_, b, [&](uint32_t, const Handover& h) { terminator(f_.args(h), h.nargs); });
  }

  void find_lists(const Block& b) {
    g_.lists.assign(b.lets.size(), false);
    std::vector<uint32_t> uses(f_.names.size(), 0);  // all of them, less those by joins
    bool any = false;
    for (const Let& l : b.lets) any = any || l.op == prim::tuple || l.op == prim::list;
    if (!any) return;
    for (const Block& other : f_.blocks) for_each_use(f_, other, [&](uint32_t, NameId n) { ++uses[index(n)]; });
    for (const Value& v : g_.values)
      if (v.is<form::Cat>())
        for_each_arg(f_, b.lets[v.let], [&](Atom a) {
          if (a.is_name()) --uses[index(a.name())];
        });
    for (uint32_t i = 0; i < b.lets.size(); ++i)
      g_.lists[i] = (b.lets[i].op == prim::tuple || b.lets[i].op == prim::list) && uses[index(b.lets[i].result)] == 0 &&
                    b.lets[i].nargs > 0;
  }

  const Function& f_;
  size_t most_joined_;
  std::vector<const Let*> made_by_;   // by name: the let of this block
  std::set<uint32_t> entry_symbols_;  // sizes that the function's arguments tell
  Graph g_;
};

// Both inputs in the result's float type.
bool Builder::two_inputs(const LetArgs& args, Value& v) {
  Use a, b;
  if (!input(args, 0, a) || !input(args, 1, b) || a.kind != Use::Kind::value || b.kind != Use::Kind::value)
    return false;
  if (!is_float(v.type) || g_[a.value].type != v.type || g_[b.value].type != v.type) return false;
  v.inputs = {a, b};
  return true;
}

// Matrices and batches of them; a batch that is repeated in part is the runtime's.
bool Builder::matmul(const LetArgs& args, Value& v, std::string_view index) {
  if ((v.type != DType::f32 && v.type != DType::f64) || !two_inputs(args, v)) return false;
  Polys lead[2];
  for (int i = 0; i < 2; ++i) {
    const Polys& d = g_[v.inputs[static_cast<size_t>(i)].value].dims;
    if (d.size() > 2) lead[i].assign(d.begin(), d.end() - 2);
    if (d.empty()) return v.inputs.clear(), false;
  }
  Poly na = product(lead[0]), nb = product(lead[1]);
  if (!na.is(1) && !nb.is(1) && lead[0] != lead[1]) return v.inputs.clear(), false;
  v.form = form::Matmul{.a_transposed = index.starts_with("km"), .b_transposed = index.substr(3, 2) == "nk"};
  return true;
}

bool Builder::convolve(const LetArgs& args, Value& v, std::string_view which) {
  auto stride = args.integers("stride"), padding = args.integers("padding"), dilation = args.integers("dilation");
  auto groups = args.known_integer("groups");
  if ((v.type != DType::f32 && v.type != DType::f64) || !stride || !padding || !dilation || !groups ||
      !two_inputs(args, v))
    return false;
  size_t rank = stride->size();
  bool ok = rank >= 1 && rank <= 3 && padding->size() == rank && dilation->size() == rank && v.dims.size() == rank + 2;
  for (const Use& u : v.inputs) ok = ok && g_[u.value].dims.size() == rank + 2;
  if (!ok) {
    v.inputs.clear();
    return false;
  }
  using Result = form::Convolve::Result;
  form::Convolve c{.result = which == "forward" ? Result::forward
                             : which == "input" ? Result::input
                                                : Result::weight,
                   .groups = *groups};
  c.stride.assign(stride->begin(), stride->end());
  c.padding.assign(padding->begin(), padding->end());
  c.dilation.assign(dilation->begin(), dilation->end());
  v.form = std::move(c);
  return true;
}

// full, zeros, ones, ..._like: a program without inputs; arange of integers.
bool Builder::make(const LetArgs& args, Value& v) {
  std::string_view symbol = args.op().def->symbol;
  if (symbol == "arange") {
    if (!is_integer(v.type)) return false;
    auto start = args.known_integer("start"), step = args.known_integer("step");
    bool one = args.param("stop").is_none();
    if ((!start && !one) || !step) return false;
    v.form = form::Iota{Use::integer(one ? 0 : *start), Use::integer(*step)};
    return true;
  }
  DType t = compute_type(v.type);
  form::Elementwise e;
  ExprStep step{.leaf = Leaf::constant, .type = t, .operand_type = t};
  if (symbol == "ones" || symbol == "ones_like")
    step.imm = 1;
  else if (symbol == "full" || symbol == "full_like") {
    const auto* value = args.find("value");
    auto u = value && value->atoms.size() == 1 ? scalar_use(f_, value->atoms[0]) : std::nullopt;
    if (!u) return false;
    step.leaf = Leaf::param;
    e.params.push_back(*u);
  } else if (symbol != "zeros" && symbol != "zeros_like") {
    return false;
  }
  e.program = {{step}, 0};
  v.form = std::move(e);
  return true;
}

bool Builder::gather(const LetArgs& args, Value& v, std::string_view rule) {
  if (rule != "axis" && rule != "select") return false;
  Use x, places;
  auto axis = args.known_integer("axis");
  if (!axis || !input(args, 0, x) || !input(args, 1, places)) return false;
  if (x.kind != Use::Kind::value || places.kind != Use::Kind::value || g_[places.value].type != DType::i64)
    return false;
  auto w = wrap_axis(*axis, g_[x.value].dims.size());
  if (!w || (rule == "select" && g_[places.value].dims.size() != 1)) return false;
  v.form = form::Gather{.axis = *w, .along = rule == "axis"};
  v.inputs = {x, places};
  return true;
}

bool Builder::scatter(const LetArgs& args, Value& v, std::string_view rule) {
  if (rule == "plane add") return unpool(args, v);
  if (rule != "axis add" && rule != "axis set") return false;
  if (rule == "axis add" && v.type == DType::boolean) return false;  // the sum of bytes would be no bool
  Use x, places, source;
  auto axis = args.known_integer("axis");
  if (!axis || !input(args, 0, x) || !input(args, 1, places) || !input(args, 2, source)) return false;
  if (x.kind != Use::Kind::value || places.kind != Use::Kind::value || g_[places.value].type != DType::i64)
    return false;
  const Polys &dims = g_[x.value].dims, &at = g_[places.value].dims;
  auto w = wrap_axis(*axis, dims.size());
  if (!w || at.size() != dims.size() || !at[static_cast<size_t>(*w)].is(1)) return false;
  for (size_t a = 0; a < dims.size(); ++a)
    if (a != static_cast<size_t>(*w) && !(at[a] == dims[a])) return false;
  if (source.kind == Use::Kind::value && (g_[source.value].dims != at || g_[source.value].type != v.type)) return false;
  if (g_[x.value].type != v.type || compute_type(v.type) != v.type) return false;
  v.form = form::ScatterOne{.axis = *w, .add = rule == "axis add"};
  v.inputs = {x, places, source};
  return true;
}

bool Builder::window(const LetArgs& args, Value& v, std::string_view rule) {
  if (rule != "max" && rule != "argmax") return false;
  Use x;
  auto size = args.integers("kernel"), stride = args.integers("stride"), padding = args.integers("padding"),
       dilation = args.integers("dilation");
  if (!input(args, 0, x) || x.kind != Use::Kind::value || !size || !stride || !padding || !dilation ||
      args.flag("ceil_mode"))
    return false;
  size_t n = size->size();
  if (stride->size() != n || padding->size() != n || dilation->size() != n || n > g_[x.value].dims.size()) return false;
  constexpr int64_t kUnrolled = 16;  // larger windows are the runtime's
  int64_t elements = 1;
  std::vector<form::WindowDim> dims;
  for (size_t i = 0; i < n; ++i) {
    if ((*padding)[i] != 0) return false;
    elements *= (*size)[i];
    dims.push_back({(*size)[i], (*stride)[i], (*dilation)[i]});
  }
  if (elements > kUnrolled) return false;
  v.inputs.push_back(x);
  if (rule == "max")
    v.form = form::Window{std::move(dims)};
  else
    v.form = form::WindowIndex{std::move(dims)};
  return true;
}

bool Builder::unpool(const LetArgs& args, Value& v) {
  Use g, places;
  if (!input(args, 0, g) || !input(args, 1, places) || g.kind != Use::Kind::value || places.kind != Use::Kind::value)
    return false;
  const auto* found = g_[places.value].get<form::WindowIndex>();
  if (!found) return false;
  for (const form::WindowDim& d : found->dims)
    if (d.size > d.stride || d.dilation != 1) return false;  // windows overlap
  v.form = form::Unpool{found->dims};
  v.inputs = {g, places};
  return true;
}

// The map of a view, if its places can be told from the inputs' sizes: else they are known only when the step runs, and
// may be out of range.
bool Builder::index_map(const Let& let, IndexMap& map) {
  LetCall made;
  if (!made.infer(f_, let)) return false;
  map = std::move(made.call.map);
  auto told = [&](const SymDim& d) {
    if (d.known()) return true;
    for (const auto& t : made.inputs)
      for (const SymDim& n : t->dims)
        if (!n.known() && n.symbol == d.symbol) return true;
    return false;
  };
  return std::ranges::all_of(map.at, [&](const AxisAt& at) { return told(at.start); });
}

bool Builder::view(const Let& let, const LetArgs& args, Value& v) {
  using Way = IndexMap::Way;
  if (args.op().def->loop.map == view::cat) return concatenate(args, v);
  Use u;
  if (!input(args, 0, u) || u.kind != Use::Kind::value) return false;
  v.inputs.push_back(u);
  if (view::only_shape(args.op().def->loop.map)) {
    drop_ones(v, g_[u.value].dims);
    return true;
  }
  IndexMap map;
  if (!index_map(let, map)) return false;
  switch (map.way) {
    case Way::reads:
      v.form = form::Read{std::move(map.at)};
      return true;
    case Way::places: {
      form::Place place{std::move(map.at), Use::integer(0)};
      if (const auto* fill = args.find("value"); fill && fill->given) {
        auto number = fill->atoms.size() == 1 ? scalar_use(f_, fill->atoms[0]) : std::nullopt;
        if (!number) return false;
        place.fill = *number;
      }
      v.form = std::move(place);
      return true;
    }
    case Way::band: {
      auto diagonal = integer_use(f_, args, "diagonal");
      if (!diagonal) return false;
      v.form = form::Triangle{*diagonal, map.upper};
      return true;
    }
    case Way::flat:
    case Way::joins:
      break;
  }
  return false;
}

// squeeze, unsqueeze: the dims other than 1 are the same.
bool Builder::same_but_for_ones(const Polys& in, const Polys& out, SmallVec<AxisAt, 6>& at) {
  size_t k = 0;
  SmallVec<AxisAt, 6> map;
  for (const Poly& d : in) {
    if (d.is(1)) {
      map.push_back({});
      continue;
    }
    while (k < out.size() && out[k].is(1)) ++k;
    if (k == out.size() || !(out[k] == d)) return false;
    map.push_back({.axis = static_cast<int>(k++)});
  }
  while (k < out.size() && out[k].is(1)) ++k;
  if (k != out.size()) return false;
  at = std::move(map);
  return true;
}

bool Builder::concatenate(const LetArgs& args, Value& v) {
  const auto& list = args.slot(0);
  std::vector<Atom> parts = list.atoms;
  if (parts.size() == 1 && parts[0].is_name() && !is_tensor(f_, parts[0].name())) {
    // A tuple or list made in this block.
    const Let* maker = made_by_[index(parts[0].name())];
    if (!maker || (maker->op != prim::tuple && maker->op != prim::list)) return false;
    parts.assign(f_.args(*maker), f_.args(*maker) + maker->nargs);
  }
  auto axis = args.known_integer("axis");
  auto w = axis ? wrap_axis(*axis, v.dims.size()) : std::nullopt;
  if (!w || parts.size() > most_joined_) return false;
  for (Atom a : parts) {
    if (!a.is_name() || !is_tensor(f_, a.name())) return false;
    Use u = Use::of(value_of(a.name()));
    if (g_[u.value].dims.size() != v.dims.size()) return false;  // the empty tensor of rank 1
    v.inputs.push_back(u);
  }
  v.form = form::Cat{*w};
  return !v.inputs.empty();
}

}  // namespace

Graph build_graph(const Function& f, BlockId block, size_t most_joined) { return Builder(f, block, most_joined).run(); }

namespace {

template <class... F>
struct Cases : F... {
  using F::operator()...;
};

const ExprProgram* program_of(const Value& v) {
  if (const auto* e = v.get<form::Elementwise>()) return &e->program;
  if (const auto* r = v.get<form::Reduce>()) return &r->before;
  return nullptr;
}

}  // namespace

bool has_diagonal(std::span<const AxisAt> at) {
  uint64_t seen = 0;  // (a kernel has fewer axes than bits)
  for (const AxisAt& a : at) {
    if (a.axis < 0) continue;
    if (seen >> a.axis & 1) return true;
    seen |= uint64_t{1} << a.axis;
  }
  return false;
}

int index_axis(const Value& v) {
  const auto* g = v.get<form::Gather>();
  return g ? g->axis : v.get<form::ScatterOne>()->axis;
}

const std::vector<form::WindowDim>* windows_of(const Value& v) {
  using Dims = const std::vector<form::WindowDim>*;
  return std::visit(
      Cases{[](const form::Window& w) -> Dims { return &w.dims; },
            [](const form::WindowIndex& w) -> Dims { return &w.dims; },
            [](const form::Unpool& w) -> Dims { return &w.dims; }, [](const auto&) -> Dims { return nullptr; }},
      v.form);
}

std::vector<Use> scalar_params(const Value& v) {
  using Uses = std::vector<Use>;
  return std::visit(
      Cases{[](const form::Elementwise& e) { return Uses(e.params.begin(), e.params.end()); },
            [](const form::Place& p) { return Uses{p.fill}; }, [](const form::Triangle& t) { return Uses{t.diagonal}; },
            [](const form::Iota& i) {
              return Uses{i.first, i.step};
            },
            [](const auto&) { return Uses{}; }},
      v.form);
}

int cost_of(const Value& v) {
  int cost = 0;
  if (const auto* dims = windows_of(v); dims && !v.is<form::Unpool>()) {
    cost = 2;
    for (const form::WindowDim& d : *dims) cost *= static_cast<int>(d.size);
  }
  const ExprProgram* program = program_of(v);
  if (!program) return cost;
  for (const ExprStep& s : program->steps) {
    if (s.leaf <= Leaf::constant) continue;
    cost += is_function(s.leaf)                            ? 12
            : s.leaf == Leaf::div || s.leaf == Leaf::sqrt  ? 4
            : s.leaf == Leaf::idiv || s.leaf == Leaf::irem ? 20
                                                           : 1;
  }
  return cost;
}

std::string_view name_of(Op op) { return is_tensor_op(op) ? std::string_view(op_info(op).name) : op_name(op); }

std::string print(const Graph& g) {
  constexpr std::string_view kKinds[] = {"input",        "elementwise", "read",   "reshape",  "place",       "cat",
                                         "triangle",     "reduce",      "iota",   "gather",   "scatter_one", "window",
                                         "window_index", "unpool",      "matmul", "convolve", "opaque"};
  static_assert(std::size(kKinds) == std::variant_size_v<Form>);
  using Ints = std::vector<int>;
  auto list = [](const SmallVec<int, 4>& axes) { return Ints(axes.begin(), axes.end()); };
  auto followed = [](const SmallVec<AxisAt, 6>& at) {
    Ints axes;
    for (const AxisAt& a : at) axes.push_back(a.axis);
    return axes;
  };
  const Cases axes_of{[&](const form::Read& r) { return followed(r.at); },
                      [&](const form::Place& p) { return followed(p.at); },
                      [&](const form::Reduce& r) { return list(r.axes); },
                      [](const form::Cat& c) { return Ints{c.axis}; },
                      [](const form::Gather& c) { return Ints{c.axis}; },
                      [](const form::ScatterOne& c) { return Ints{c.axis}; },
                      [](const auto&) { return Ints{}; }};
  std::string out;
  for (ValueId v = 0; v < g.values.size(); ++v) {
    const Value& x = g[v];
    std::string dims, args;
    for (const Poly& d : x.dims) dims += (dims.empty() ? "" : ", ") + d.text();
    for (const Use& u : x.inputs) {
      std::string one = u.kind == Use::Kind::value ? fmt::format("v{}", u.value)
                        : u.kind == Use::Kind::number
                            ? fmt::format("{}", is_float(u.type) ? u.f : static_cast<double>(u.i))
                        : u.kind == Use::Kind::scalar ? fmt::format("%{}", index(u.name))
                                                      : "none";
      args += (args.empty() ? "" : ", ") + one;
    }
    out += fmt::format("v{} = {} {}[{}]({})", v, kKinds[x.form.index()], name(x.type), dims, args);
    if (const Ints on = std::visit(axes_of, x.form); !on.empty()) {
      std::string axes;
      for (int a : on) axes += (axes.empty() ? "" : ", ") + std::to_string(a);
      out += " axes " + axes;
    }
    if (const auto* r = x.get<form::Reduce>())
      out += fmt::format(" {}{}", info(r->combine).name, r->last ? " last" : "");
    if (g.live_out[v]) out += " out";
    out += "\n";
  }
  return out;
}

}  // namespace ouro::ir::loops
