#include "ir/loops/micro_batch.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/ops/let_args.h"
#include "ir/ops/registry.h"
#include "ir/opt/passes.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "support/give_up.h"

namespace ouro::ir::loops {
namespace {

using Part = Batch::Part;

// ---------------------------------------------------------------- the loop

class Rewriter {
 public:
  Rewriter(const FunctionRef& source, const Graph& g, const Batch& batch, int64_t size)
      : source_(*source), f_(*source), g_(g), batch_(batch), at_(g.block) {
    const SymDim& rows = batch.rows;
    even_ = rows.known() && rows.c % size == 0;
    symbol_ = even_ ? 0 : fresh_symbol() | 1u << 31;
    chunk_ = even_ ? SymDim::number(size) : SymDim::of(symbol_);
    size_ = rows.known() ? std::min(size, rows.c) : size;
  }

  // Null: some size of a chunk cannot be written.
  FunctionRef run() {
    const std::vector<Let> lets = f_.block(at_).lets;
    const Terminator term = f_.block(at_).term;
    std::vector<Let> before, after;
    std::vector<uint32_t> inside;
    for (uint32_t i = 0; i < lets.size(); ++i) {
      const Part part = batch_.part[i];
      const bool in_rows = part == Part::rows || part == Part::sum;
      if (part == Part::before || batch_.also_before[i]) before.push_back(lets[i]);
      if (in_rows) inside.push_back(i);
      if (in_rows && batch_.drawn_by[i]) {
        out_ = &before;
        span_ = lets[i].span;
        draw_[i] = row("next_draw", {}, types::tensor(DType::i64, {}));
      }
      if (part == Part::after) after.push_back(lets[i]);
    }
    const BlockId head = new_block(), pick = even_ ? head : new_block(), body = new_block(), rest = new_block();

    // What the sums start from.
    out_ = &before;
    std::vector<Atom> first{integer(0)};
    std::vector<NameId> sums;
    for (uint32_t i : inside)
      if (batch_.part[i] == Part::sum) {
        first.push_back(start_of(lets[i], i));
        sums.push_back(lets[i].result);
      }
    const Atom rows = rows_ = number_of_rows();
    f_.blocks[index(at_)].lets = std::move(before);
    f_.blocks[index(at_)].term = jump(head, first);

    // The head: is there another chunk?
    std::vector<Let> lets_of_head;
    out_ = &lets_of_head;
    const NameId start = new_name(types::integer());
    const Atom more = let(prim::lt, {Atom(start), rows}, types::boolean());
    Block& h = f_.blocks[index(head)];
    h.params = {start};
    h.params.insert(h.params.end(), sums.begin(), sums.end());
    h.loop_head = true;
    h.lets = std::move(lets_of_head);
    h.term = branch(more, {even_ ? body : pick, {}}, {rest, {}});

    // How many rows it has.
    Atom length = integer(size_);
    if (!even_) {
      std::vector<Let> lets_of_pick;
      out_ = &lets_of_pick;
      const Atom left = let(prim::sub, {rows, Atom(start)}, types::integer());
      const Atom last = let(prim::lt, {left, integer(size_)}, types::boolean());
      f_.blocks[index(pick)].lets = std::move(lets_of_pick);
      const NameId n = new_name(types::integer());
      f_.blocks[index(body)].params = {n};
      f_.blocks[index(pick)].term = branch(last, {body, {left}}, {body, {integer(size_)}});
      length = Atom(n);
    }

    // The chunk.
    std::vector<Let> lets_of_body;
    out_ = &lets_of_body;
    start_ = Atom(start), length_ = length;
    for (ValueId v : batch_.sliced) slice(v);
    std::vector<Atom> next{let(prim::add, {start_, length_}, types::integer())};
    for (uint32_t i : inside) {
      may_give_up();
      if (!copy(lets[i], i)) return nullptr;
      if (batch_.part[i] == Part::sum) next.push_back(becomes_.at(index(lets[i].result)));
    }
    f_.blocks[index(body)].lets = std::move(lets_of_body);
    f_.blocks[index(body)].term = jump(head, next);

    f_.blocks[index(rest)].lets = std::move(after);
    f_.blocks[index(rest)].term = term;
    return std::make_shared<const Function>(std::move(f_));
  }
  uint32_t symbol() const { return symbol_; }
  int64_t size() const { return size_; }

 private:
  struct Edge {
    BlockId block;
    std::vector<Atom> args;
  };

  // ---- writing
  BlockId new_block() {
    f_.blocks.emplace_back();
    return BlockId{static_cast<uint32_t>(f_.blocks.size() - 1)};
  }
  NameId new_name(const Type* t, Symbol hint = {}) {
    f_.names.push_back({.hint = hint, .type = t});
    return NameId{static_cast<uint32_t>(f_.names.size() - 1)};
  }
  uint32_t push(std::span<const Atom> args) {
    const auto begin = static_cast<uint32_t>(f_.atoms.size());
    f_.atoms.insert(f_.atoms.end(), args.begin(), args.end());
    return begin;
  }
  Atom let(Op op, const std::vector<Atom>& args, const Type* t, uint32_t attr = 0) {
    Let l;
    l.op = op;
    l.attr = is_tensor_op(op) ? kNoAttr : attr;
    l.result = new_name(t);
    l.args_begin = push(args);
    l.nargs = static_cast<uint32_t>(args.size());
    l.span = span_;
    out_->push_back(l);
    return Atom(l.result);
  }
  Atom row(std::string_view op, const std::vector<Atom>& args, const Type* t) { return let(find_op(op)->op, args, t); }
  Target target(const Edge& e) { return {e.block, push(e.args), static_cast<uint32_t>(e.args.size())}; }
  Terminator jump(BlockId to, const std::vector<Atom>& args) {
    Terminator t;
    t.kind = Terminator::Kind::jump;
    t.targets = {target({to, args})};
    return t;
  }
  Terminator branch(Atom condition, const Edge& then, const Edge& otherwise) {
    Terminator t;
    t.kind = Terminator::Kind::branch;
    t.a = condition;
    t.targets = {target(then), target(otherwise)};
    return t;
  }
  Atom constant(Constant c) {
    f_.constants.push_back(std::move(c));
    return Atom(ConstId{static_cast<uint32_t>(f_.constants.size() - 1)});
  }
  Atom integer(int64_t n) {
    Constant c;
    c.kind = Constant::Kind::integer;
    c.i = n;
    return constant(std::move(c));
  }
  Atom tuple(const std::vector<Atom>& items) {
    if (std::ranges::all_of(items, &Atom::is_const)) {
      Constant c;
      c.kind = Constant::Kind::tuple;
      for (Atom a : items) c.items.push_back(a.constant());
      return constant(std::move(c));
    }
    const std::vector<const Type*> ints(items.size(), types::integer());
    return let(prim::tuple, items, types::tuple(ints));
  }

  // ---- sizes
  Atom product(Atom n, const SymDim& times) {
    if (times == SymDim::number(1)) return n;
    if (n.is_const()) return integer(f_.constant(n.constant()).i * times.c);
    return let(prim::mul, {n, integer(times.c)}, types::integer());
  }
  // Of the batch, from a tensor that has it.
  Atom number_of_rows() {
    if (batch_.rows.known()) return integer(batch_.rows.c);
    const ValueId v = *std::ranges::find_if(batch_.sliced, [&](ValueId s) { return batch_.axis[s].times.known(); });
    const RowAxis& x = batch_.axis[v];
    const Atom n = let(prim::tensor_size, {Atom(g_[v].name)}, types::integer(), static_cast<uint32_t>(x.axis));
    return x.times == SymDim::number(1) ? n : let(prim::floordiv, {n, integer(x.times.c)}, types::integer());
  }
  const Type* of_chunk(const Type* t, const RowAxis& x) const {
    std::vector<SymDim> dims(t->dims.begin(), t->dims.end());
    dims[static_cast<size_t>(x.axis)] = multiply(chunk_, x.times);
    return types::tensor(t->dtype, dims);
  }
  // Sizes as arguments; nothing if one of them is no number here, but for one that `follows` from the others (-1).
  std::optional<std::vector<Atom>> sizes(const Type* t, const RowAxis& x, bool follows = false) {
    std::vector<Atom> out;
    for (size_t a = 0; a < t->dims.size(); ++a) {
      const bool known = static_cast<int>(a) == x.axis ? x.times.known() : t->dims[a].known();
      if (!known && !follows) return std::nullopt;
      if (!known) {
        out.push_back(integer(-1));
        follows = false;
      } else if (static_cast<int>(a) == x.axis) {
        out.push_back(product(length_, x.times));
      } else {
        out.push_back(integer(t->dims[a].c));
      }
    }
    return out;
  }

  // ---- the chunk
  Atom start_of(const Let& l, uint32_t i) {
    span_ = l.span;
    if (batch_.onto[i] >= 0) return f_.args(l)[tensor_argument(l, batch_.onto[i])];
    const Type* t = f_.name_info(l.result).type;
    Constant dtype;
    dtype.kind = Constant::Kind::dtype;
    dtype.i = static_cast<int64_t>(t->dtype);
    return row("zeros", {tuple(*sizes(t, {})), constant(std::move(dtype))}, t);
  }
  // Which argument the tensor operand number `n` is.
  uint32_t tensor_argument(const Let& l, int n) const {
    for (uint32_t k = 0; k < l.nargs; ++k) {
      const Atom a = source_.args(l)[k];
      if (a.is_name() && g_.of_name[index(a.name())] != kNoValue && n-- == 0) return k;
    }
    return 0;
  }
  void slice(ValueId v) {
    const RowAxis& x = batch_.axis[v];
    const Type* t = f_.name_info(g_[v].name).type;
    std::vector<Atom> args{Atom(g_[v].name), integer(x.axis), start_, length_};
    if (x.times.known()) {
      for (size_t k : {2, 3}) args[k] = product(args[k], x.times);
    } else {
      const Atom n = let(prim::tensor_size, {args[0]}, types::integer(), static_cast<uint32_t>(x.axis));
      const Atom times = let(prim::floordiv, {n, rows_}, types::integer());
      for (size_t k : {2, 3}) args[k] = let(prim::mul, {args[k], times}, types::integer());
    }
    becomes_[index(g_[v].name)] = row("narrow", args, of_chunk(t, x));
  }
  Atom resolve(Atom a) const {
    if (!a.is_name()) return a;
    const auto at = becomes_.find(index(a.name()));
    return at == becomes_.end() ? a : at->second;
  }

  bool copy(const Let& l, uint32_t i) {
    span_ = l.span;
    std::vector<Atom> args(source_.args(l), source_.args(l) + l.nargs);
    for (Atom& a : args) a = resolve(a);
    const bool sum = batch_.part[i] == Part::sum;
    if (sum && batch_.onto[i] >= 0) {
      args[tensor_argument(l, batch_.onto[i])] = Atom(l.result);  // the sum so far
      becomes_[index(l.result)] = again(l, args, source_.name_info(l.result).type);
      return true;
    }
    const Type* t = source_.name_info(l.result).type;
    Atom made;
    if (!is_tensor_op(l.op)) {
      made = again(l, args, l.op == prim::tuple ? tuple_of(args) : type_of(args[0]));
    } else if (const ValueId v = g_.of_name[index(l.result)]; !sum) {
      const RowAxis& x = batch_.axis[v];
      const Type* chunk = of_chunk(t, x);
      if (batch_.drawn_by[i]) return draw(l, i, args[0], chunk, x);
      const OpInfo& op = op_info(l.op);
      if (op.def->loop.kind == LoopKind::view && view::only_shape(op.def->loop.map)) {
        const auto shape = sizes(t, x, true);
        if (!shape) return false;
        made = row("reshape", {args[0], tuple(*shape)}, chunk);
      } else {
        const bool whole = op.name == "narrow" && is_along(l, x);  // from its first row to its last
        if (whole) return becomes_[index(l.result)] = args[0], true;
        if (!say_sizes(l, op, args, t, x)) return false;
        made = again(l, args, chunk);
      }
    } else {
      made = row("add", {Atom(l.result), again(l, args, t)}, t);
    }
    becomes_[index(l.result)] = made;
    return true;
  }
  bool is_along(const Let& l, const RowAxis& x) const {
    const auto axis = LetArgs(source_, l).known_integer("axis");
    const auto rank = static_cast<int64_t>(source_.name_info(l.result).type->dims.size());
    return axis && (*axis < 0 ? *axis + rank : *axis) == x.axis;
  }
  // The numbers of the draw from the chunk's first element on: the batch stands first, so they are neighbours.
  bool draw(const Let& l, uint32_t i, Atom like, const Type* chunk, const RowAxis& x) {
    SymDim row_size = x.times;
    for (size_t a = 1; a < chunk->dims.size(); ++a) row_size = multiply(row_size, chunk->dims[a]);
    if (!row_size.known()) return false;
    becomes_[index(l.result)] = let(batch_.drawn_by[i]->op, {like, draw_.at(i), product(start_, row_size)}, chunk);
    return true;
  }
  // Arguments that say the result's sizes say those of the chunk.
  bool say_sizes(const Let& l, const OpInfo& op, std::vector<Atom>& args, const Type* t, const RowAxis& x) {
    for (size_t k = 0; k < op.params.size(); ++k) {
      const ParamKind kind = op.params[k].kind;
      if (op.params[k].input || (kind != ParamKind::shape && kind != ParamKind::sizes)) continue;
      if (k >= args.size()) {
        if (l.attr != kNoAttr || !op.params[k].has_default) return false;
        continue;
      }
      const auto shape = sizes(t, x);
      if (!shape) return false;
      args[k] = tuple(*shape);
    }
    return true;
  }
  Atom again(const Let& l, const std::vector<Atom>& args, const Type* t) {
    Let copy = l;
    copy.result = new_name(t, source_.name_info(l.result).hint);
    copy.args_begin = push(args);
    copy.nargs = static_cast<uint32_t>(args.size());
    out_->push_back(copy);
    return Atom(copy.result);
  }
  const Type* type_of(Atom a) const { return f_.name_info(a.name()).type; }
  const Type* tuple_of(const std::vector<Atom>& items) const {
    std::vector<const Type*> t;
    for (Atom a : items) t.push_back(a.is_name() ? type_of(a) : nullptr);
    return types::tuple(t);
  }

  const Function& source_;
  Function f_;
  const Graph& g_;
  const Batch& batch_;
  const BlockId at_;
  bool even_ = false;
  uint32_t symbol_ = 0;
  SymDim chunk_{};
  int64_t size_ = 0;
  std::vector<Let>* out_ = nullptr;
  Span span_{};
  Atom rows_{}, start_{}, length_{};
  std::map<uint32_t, Atom> draw_;     // by let: the number of its draw
  std::map<uint32_t, Atom> becomes_;  // by name: what it is in the chunk
};

// Sums whose sizes are numbers can start from zero; and places of rows are multiples of numbers.
bool sizes_are_known(const Function& f, const Graph& g, const Batch& batch, int64_t size, uint32_t& which) {
  const bool even = batch.rows.known() && batch.rows.c % size == 0;
  const auto& lets = f.block(g.block).lets;
  for (uint32_t i = 0; i < lets.size(); ++i) {
    const ValueId v = g.of_name[index(lets[i].result)];
    const bool row = batch.part[i] == Part::rows && v != kNoValue && batch.axis[v].axis >= 0;
    if (row && !batch.axis[v].times.known() && !even) return which = i, false;
  }
  for (uint32_t i = 0; i < lets.size(); ++i) {
    if (batch.part[i] != Part::sum || batch.onto[i] >= 0) continue;
    for (const SymDim& d : f.name_info(lets[i].result).type->dims)
      if (!d.known()) return which = i, false;
  }
  return true;
}

}  // namespace

MicroBatches micro_batches(const FunctionRef& f, int64_t size, const std::function<int64_t(uint32_t)>& size_of,
                           size_t most_joined) {
  MicroBatches out{.function = f};
  std::optional<Graph> where;
  BatchOfBlock found;
  for (BlockId b : reverse_postorder(*f)) {
    Graph g = build_graph(*f, b, most_joined);
    BatchOfBlock here = find_batch(g, size_of);
    const bool better = here.batch && !found.batch;
    const bool worse = !here.batch && found.batch;
    if (better || (!worse && here.bytes > found.bytes)) found = std::move(here), where = std::move(g);
  }
  if (!found.batch) {
    out.refusal = found.refusal.empty() ? "nothing is computed for each row of a batch" : found.refusal;
    out.where = found.where;
    return out;
  }
  const Batch& batch = *found.batch;
  out.rows = batch.rows;
  for (uint32_t i = 0; i < batch.part.size(); ++i)
    if (batch.part[i] == Part::sum) {
      const Type* t = f->name_info(f->block(where->block).lets[i].result).type;
      out.sums += product(polys(t->dims)).evaluate(size_of) * static_cast<int64_t>(ouro::size_of(t->dtype));
    }
  if (batch.rows.known() && batch.rows.c <= size) return out;
  if (uint32_t sum = 0; !sizes_are_known(*f, *where, batch, size, sum)) {
    const Let& l = f->block(where->block).lets[sum];
    out.refusal = "a size that is not the batch's changes from step to step";
    out.where = l.span;
    return out;
  }
  Rewriter rewriter(f, *where, batch, size);
  if (FunctionRef made = rewriter.run()) {
    out.function = opt::drop_dead(made);
    out.size = rewriter.size();
    out.symbol = rewriter.symbol();
  } else {
    out.refusal = "a size that is not the batch's changes from step to step";
  }
  return out;
}

}  // namespace ouro::ir::loops
