#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "ir/ops/let_args.h"
#include "ir/opt/edit.h"
#include "ir/opt/passes.h"
#include "ir/prim.h"
#include "ir/type.h"
#include "ir/walk.h"

namespace ouro::ir::opt {
namespace {

constexpr size_t kFew = 8;  // pieces that are left as they are: a kernel chooses among few, more are copied
constexpr size_t kMost = 50'000;

// A part of a tensor along an axis.
struct Piece {
  int64_t length = 0;
  Atom value;
};
using Pieces = std::map<int64_t, Piece>;  // by start, none upon another

bool apart(const Pieces& pieces, int64_t start, int64_t length) {
  auto next = pieces.lower_bound(start);
  if (next != pieces.end() && next->first < start + length) return false;
  return next == pieces.begin() || std::prev(next)->first + std::prev(next)->second.length <= start;
}

// What a tensor is along an axis: pieces, and where there are none a part of another tensor.
struct Written {
  size_t axis = 0;
  Atom elsewhere;
  Pieces pieces;
  uint32_t let = 0;  // that makes it
};

// Tensors that are zero but for a piece, added up, and a tensor of another kind with them, or none.
struct Sum {
  size_t axis = 0;
  Atom like, other;
  Pieces pieces;
  uint32_t let = 0;
};

struct Slice {
  Atom of;
  size_t axis = 0;
  int64_t start = 0, length = 0;
};

class Gatherer {
 public:
  explicit Gatherer(const FunctionRef& source)
      : e_(source), f_(*source), uses_(f_.names.size(), 0), made_by_(f_.names.size(), nullptr) {
    for (const Block& b : f_.blocks) for_each_use(f_, b, [&](uint32_t, NameId n) { ++uses_[index(n)]; });
  }

  FunctionRef run() {
    for (block_ = BlockId{0}; index(block_) < f_.blocks.size(); block_ = BlockId{index(block_) + 1}) {
      const std::vector<Let>& lets = f_.block(block_).lets;
      for (uint32_t i = 0; i < lets.size(); ++i) {
        made_by_[index(lets[i].result)] = &lets[i];
        if (!is_tensor_op(lets[i].op) || lets[i].nargs == 0) continue;
        const std::string_view op = op_info(lets[i].op).name;
        if (op == "narrow")
          read(lets[i], i);
        else if (op == "cat")
          write(lets[i], i);
        else if (op == "add")
          sum(lets[i], i);
      }
      for (const Read& r : reads_) redirect(r);
      for (const auto& [name, w] : written_) join(w);
      for (const auto& [name, s] : sums_) join(s);
      for (const Let& l : lets) made_by_[index(l.result)] = nullptr;  // what is known is known of one block
      reads_.clear();
      written_.clear();
      sums_.clear();
    }
    return e_.finish();
  }

 private:
  const Type* type(Atom a) const { return a.is_name() ? f_.name_info(a.name()).type : nullptr; }
  const Let* made(Atom a, std::string_view op) const {
    const Let* l = a.is_name() ? made_by_[index(a.name())] : nullptr;
    return l && is_tensor_op(l->op) && op_info(l->op).name == op ? l : nullptr;
  }
  // Of a tensor whose size there is known.
  static std::optional<size_t> axis_of(const LetArgs& args, const Type* t) {
    const auto axis = args.known_integer("axis");
    if (!axis || !t || !t->is_tensor()) return {};
    const auto rank = static_cast<int64_t>(t->dims.size());
    const int64_t at = *axis < 0 ? *axis + rank : *axis;
    if (at < 0 || at >= rank || !t->dims[static_cast<size_t>(at)].known()) return {};
    return static_cast<size_t>(at);
  }
  static int64_t size(const Type* t, size_t axis) { return t->dims[axis].c; }

  std::optional<Slice> slice(const Let* l) const {
    if (!l) return {};
    const LetArgs args(f_, *l);
    const Atom x = f_.args(*l)[0];
    const auto axis = axis_of(args, type(x));
    const auto start = args.known_integer("start"), length = args.known_integer("length");
    if (!axis || !start || !length || *start < 0 || *start + *length > size(type(x), *axis)) return {};
    return Slice{x, *axis, *start, *length};
  }

  // ---- a tensor that is written piece by piece

  // cat(x before the piece, the piece, x behind it) is x with a piece written.
  void write(const Let& l, uint32_t at_let) {
    const Atom joined = f_.args(l)[0];
    const Let* tuple = joined.is_name() ? made_by_[index(joined.name())] : nullptr;
    const Type* whole = f_.name_info(l.result).type;
    const auto axis = axis_of(LetArgs(f_, l), whole);
    if (!tuple || tuple->op != prim::tuple || tuple->nargs > 3 || !axis) return;
    Atom x;
    int64_t at = 0, start = 0;
    Piece piece;
    for (uint32_t k = 0; k < tuple->nargs; ++k) {
      const Atom part = f_.args(*tuple)[k];
      const Type* t = type(part);
      if (!t || t->dims.size() != whole->dims.size() || !t->dims[*axis].known() || t->dtype != whole->dtype) return;
      const auto s = slice(made(part, "narrow"));
      if (s && s->axis == *axis && s->start == at && type(s->of) == whole && (x.is_none() || s->of == x)) {
        x = s->of;
      } else {
        if (!piece.value.is_none()) return;
        piece = {size(t, *axis), part};
        start = at;
      }
      at += size(t, *axis);
    }
    if (x.is_none() || piece.value.is_none()) return;
    Written w{*axis, x, {}, at_let};
    if (auto before = written_.find(index(x.name())); before != written_.end() && before->second.axis == *axis) {
      const auto same = before->second.pieces.find(start);
      const bool again = same != before->second.pieces.end() && same->second.length == piece.length;
      if (again || apart(before->second.pieces, start, piece.length)) {
        w = std::move(before->second);
        written_.erase(before);
        w.let = at_let;
      }
    }
    w.pieces.insert_or_assign(start, piece);
    written_.emplace(index(l.result), std::move(w));
  }

  // What is read of such a tensor is a piece, or stands elsewhere. (Here, for soon it will be written again.)
  void read(const Let& l, uint32_t at_let) {
    const auto s = slice(&l);
    if (!s || !s->of.is_name()) return;
    const auto at = written_.find(index(s->of.name()));
    if (at == written_.end() || at->second.axis != s->axis) return;
    const Written& w = at->second;
    const auto piece = w.pieces.find(s->start);
    if (apart(w.pieces, s->start, s->length))
      reads_.push_back({at_let, w.elsewhere, false});
    else if (piece != w.pieces.end() && piece->second.length == s->length &&
             type(piece->second.value) == f_.name_info(l.result).type)
      reads_.push_back({at_let, piece->second.value, true});
  }
  struct Read {
    uint32_t let;
    Atom from;
    bool whole;  // all of it
  };
  void redirect(const Read& r) {
    const Let& l = f_.block(block_).lets[r.let];
    if (r.whole) {
      e_.replace(l.result, r.from);
      e_.remove(block_, r.let);
      return;
    }
    std::vector<Atom> args(f_.args(l), f_.args(l) + l.nargs);
    args[0] = r.from;
    e_.rewrite(block_, r.let, l.op, args, l.attr);
  }

  void join(const Written& w) {
    if (w.pieces.size() <= kFew || w.pieces.size() > kMost) return;
    const Type* whole = type(w.elsewhere);
    std::vector<Atom> parts;
    int64_t at = 0;
    auto keep_until = [&](int64_t end) {
      if (at == end) return;
      const Atom args[] = {w.elsewhere, integer(static_cast<int64_t>(w.axis)), integer(at), integer(end - at)};
      parts.push_back(insert(w.let, "narrow", args, resized(whole, w.axis, end - at)));
    };
    for (const auto& [start, piece] : w.pieces) {
      keep_until(start);
      parts.push_back(piece.value);
      at = start + piece.length;
    }
    keep_until(size(whole, w.axis));
    become(w.let, cat(w.let, parts, w.axis, whole));
  }

  // ---- a sum of tensors that are zero but for a piece, as the gradients of slices are

  std::optional<Sum> summand(Atom a) {
    if (!a.is_name() || uses_[index(a.name())] != 1) return {};
    if (auto at = sums_.find(index(a.name())); at != sums_.end()) {
      Sum s = std::move(at->second);
      sums_.erase(at);
      return s;
    }
    const Let* l = made(a, "narrow_back");
    if (!l) return {};
    const LetArgs args(f_, *l);
    const Atom x = f_.args(*l)[0];
    const auto axis = axis_of(args, type(a));
    const auto start = args.known_integer("start");
    if (!axis || !start || !type(x) || !type(x)->dims[*axis].known() || type(x)->dtype != type(a)->dtype) return {};
    return Sum{*axis, f_.args(*l)[1], {}, {{*start, {size(type(x), *axis), x}}}, 0};
  }

  void sum(const Let& l, uint32_t at_let) {
    if (l.nargs != 2) return;
    const Atom a = f_.args(l)[0], b = f_.args(l)[1];
    const Type* t = f_.name_info(l.result).type;
    if (!t || !t->is_tensor() || !is_float(t->dtype) || type(a) != t || type(b) != t || a == b) return;
    std::optional<Sum> x = summand(a), y = summand(b);
    const Atom other = x ? b : a;  // if only one of them is such a tensor
    if (!x) std::swap(x, y);
    if (!x) return;
    bool together = x->other.is_none();
    if (y) {
      if (x->pieces.size() < y->pieces.size()) std::swap(x, y);
      together = x->axis == y->axis && (x->other.is_none() || y->other.is_none());
      for (const auto& [start, piece] : y->pieces) together = together && apart(x->pieces, start, piece.length);
    }
    if (!together) {  // they stay two
      for (const auto& s : {x, y})
        if (s && s->let != 0) sums_.emplace(index(f_.block(block_).lets[s->let].result), *s);
      return;
    }
    if (y) {
      x->pieces.merge(y->pieces);
      if (x->other.is_none()) x->other = y->other;
    } else {
      x->other = other;
    }
    x->let = at_let;
    sums_.emplace(index(l.result), std::move(*x));
  }

  // Each element is the sum of its piece's and of zeros, which make of -0.0 a 0.0.
  void join(const Sum& s) {
    if (s.pieces.size() <= kFew || s.pieces.size() > kMost) return;
    const Type* whole = f_.name_info(f_.block(block_).lets[s.let].result).type;
    struct Run {
      int64_t start, end;
      std::vector<Atom> parts;
    };
    std::vector<Run> runs;
    for (const auto& [start, piece] : s.pieces) {
      if (runs.empty() || runs.back().end != start) runs.push_back({start, start, {}});
      runs.back().end += piece.length;
      runs.back().parts.push_back(piece.value);
    }
    if (2 * runs.size() > s.pieces.size()) return;
    Atom total = s.other;
    for (Run& run : runs) {
      for (Atom& part : run.parts) {
        const Atom args[] = {part, number(0.0)};
        part = insert(s.let, "add", args, type(part));
      }
      Atom value = cat(s.let, run.parts, s.axis, resized(whole, s.axis, run.end - run.start));
      if (run.start != 0 || run.end != size(whole, s.axis)) {
        const Atom args[] = {value, s.like, integer(static_cast<int64_t>(s.axis)), integer(run.start)};
        value = insert(s.let, "narrow_back", args, whole);
      }
      const Atom both[] = {total, value};
      total = total.is_none() ? value : insert(s.let, "add", both, whole);
    }
    become(s.let, total);
  }

  // ---- what is written instead
  Atom insert(uint32_t let, std::string_view op, std::span<const Atom> args, const Type* t) {
    return e_.insert(block_, let, find_op(op)->op, args, t);
  }
  Atom cat(uint32_t let, const std::vector<Atom>& parts, size_t axis, const Type* whole) {
    if (parts.size() == 1) return parts[0];
    std::vector<const Type*> types;
    for (Atom a : parts) types.push_back(e_.function().name_info(a.name()).type);
    const Atom args[] = {e_.insert(block_, let, prim::tuple, parts, types::tuple(types)),
                         integer(static_cast<int64_t>(axis))};
    return insert(let, "cat", args, whole);
  }
  void become(uint32_t let, Atom value) {
    e_.replace(f_.block(block_).lets[let].result, value);
    e_.remove(block_, let);
  }
  static const Type* resized(const Type* t, size_t axis, int64_t n) {
    std::vector<SymDim> dims(t->dims.begin(), t->dims.end());
    dims[axis] = SymDim::number(n);
    return types::tensor(t->dtype, dims);
  }
  Atom integer(int64_t n) {
    Constant c;
    c.kind = Constant::Kind::integer;
    c.i = n;
    return e_.constant(std::move(c));
  }
  Atom number(double n) {
    Constant c;
    c.kind = Constant::Kind::floating;
    c.f = n;
    return e_.constant(std::move(c));
  }

  Edit e_;
  const Function& f_;  // the source: what is recognised is what stood there
  BlockId block_{};
  std::vector<uint32_t> uses_;
  std::vector<const Let*> made_by_;  // of the block
  std::vector<Read> reads_;
  std::map<uint32_t, Written> written_;  // by name: tensors as they are after their last write
  std::map<uint32_t, Sum> sums_;         // by name
};

}  // namespace

FunctionRef gather_slices(const FunctionRef& source) { return Gatherer(source).run(); }

}  // namespace ouro::ir::opt
