// Items of tensors: x[key] and what a write to it gives.
//
// A key of known numbers and slices is rows that the kernels know (narrow, flip, squeeze, index_select). Any other key,
// of several tensors, of masks, of numbers that are computed, is the row `getitem`, or `index_put` for a write, which
// the runtime does; the shape of what it gives follows from the kinds in the key (NumPy's rules, as
// runtime/tensor/indexing.cpp has them), with a symbol for each size that depends on data.
#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/registry.h"
#include "jit/specialise/execute/native_table.h"
#include "jit/specialise/specialiser.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::SymDim;
using runtime::cast_exact;

namespace {

using Dims = std::vector<SymDim>;

bool is_known(const AVal& k, runtime::Tag tag) { return k.is(AKind::known) && k.known.is(tag); }
bool is_slice(const AVal& k) {
  return k.is(AKind::slice) || (k.is(AKind::known) && cast_exact<runtime::Slice>(k.known));
}

bool whole(const runtime::Slice& slice) {
  const auto is_default = [](const Value& bound, int64_t otherwise) {
    return bound.is_none() || (bound.is_int() && bound.as_int() == otherwise);
  };
  return is_default(slice.start, 0) && slice.stop.is_none() && is_default(slice.step, 1);
}

SymDim unknown_size() { return SymDim::of(ir::fresh_symbol()); }

// Where two sizes are broadcast of which one depends on data: it is 1 or the other one.
bool broadcast(Dims& to, const Dims& from) {
  if (from.size() > to.size()) to.insert(to.begin(), from.size() - to.size(), SymDim::number(1));
  const size_t offset = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    SymDim& a = to[offset + i];
    const SymDim b = from[i];
    if (a == b || b == SymDim::number(1)) continue;
    if (a == SymDim::number(1))
      a = b;
    else if (a.known() && b.known())
      return false;
    else if (!a.known())
      a = b.known() ? b : unknown_size();
  }
  return true;
}

// The shape of x[key], read item by item as the runtime's KeyReader does.
class KeyShape {
 public:
  KeyShape(Specialiser& s, const AVal& x, const std::vector<AVal>& keys) : s_(s), x_(x), sizes_(x.type->dims) {
    int64_t used = 0, ellipses = 0;
    for (const AVal& k : keys) {
      if (is_known(k, runtime::Tag::ellipsis))
        ++ellipses;
      else
        used += width(k);
      any_ = any_ || s.is_tensor(k) || is_bool(k);
    }
    if (ellipses > 1) s.abandon(Reason::raises, "an index with two ellipses");
    const auto rank = static_cast<int64_t>(sizes_.size());
    if (used > rank) s.abandon(Reason::raises, "too many indices");
    for (const AVal& k : keys) {
      if (is_known(k, runtime::Tag::ellipsis)) {
        for (int64_t n = rank - used; n > 0; --n) keep_axis();
        last_advanced_ = false;
      } else {
        item(k);
      }
    }
    while (axis_ < sizes_.size()) keep_axis();
  }

  Dims shape() {
    if (!seen_) return kept_;
    Dims out = kept_;
    out.insert(out.begin() + static_cast<ptrdiff_t>(separated_ ? 0 : before_), common_.begin(), common_.end());
    return out;
  }

 private:
  bool is_bool(const AVal& k) const { return s_.is_number(k) && s_.type_of(k)->kind == ir::TypeKind::boolean; }
  int64_t width(const AVal& k) const {
    if (is_known(k, runtime::Tag::none) || is_bool(k)) return 0;
    if (s_.is_tensor(k) && k.type->dtype == DType::boolean) return static_cast<int64_t>(k.type->rank());
    return 1;
  }
  void keep_axis() { kept_.push_back(sizes_[axis_++]); }
  void advanced(const Dims& shape) {
    if (seen_ && !last_advanced_) separated_ = true;
    if (!seen_) before_ = kept_.size();
    seen_ = last_advanced_ = true;
    if (!broadcast(common_, shape)) s_.abandon(Reason::raises, "indices of shapes that do not fit");
  }

  void item(const AVal& k) {
    if (is_known(k, runtime::Tag::none)) {
      kept_.push_back(SymDim::number(1));
      last_advanced_ = false;
    } else if (is_slice(k)) {
      kept_.push_back(sliced(k, sizes_[axis_++]));
      last_advanced_ = false;
    } else if (is_bool(k)) {  // a new axis of size 1 or 0
      const auto v = s_.concrete(k);
      advanced({v ? SymDim::number(v->as_bool() ? 1 : 0) : unknown_size()});
    } else if (s_.is_tensor(k) && k.type->dtype == DType::boolean) {
      for (const SymDim& d : k.type->dims) {
        const SymDim size = sizes_[axis_++];
        if (d.known() && size.known() && !(d == size)) s_.abandon(Reason::raises, "a mask of another shape");
      }
      advanced({unknown_size()});
    } else if (s_.is_tensor(k)) {
      if (is_float(k.type->dtype)) s_.abandon(Reason::raises, "an index of floats");
      ++axis_;
      advanced(k.type->dims);
    } else {
      if (!s_.is_number(k) || s_.type_of(k)->kind != ir::TypeKind::integer)
        s_.abandon(Reason::unknown_value, "an index of a tensor that is not followed");
      const auto v = s_.concrete(k);
      const SymDim n = sizes_[axis_];
      if (v && n.known() && (v->as_int() < -n.c || v->as_int() >= n.c))
        s_.abandon(Reason::raises, "index out of range");
      ++axis_;
      if (any_) advanced({});
    }
  }

  SymDim sliced(const AVal& k, SymDim n) {
    std::optional<Value> v;
    if (k.is(AKind::known))
      v = k.known;
    else
      v = s_.concrete(k);
    auto* slice = v ? cast_exact<runtime::Slice>(*v) : nullptr;
    if (!slice) {
      for (const AVal& bound : k.items())
        if (!is_known(bound, runtime::Tag::none) &&
            !(s_.is_number(bound) && s_.type_of(bound)->kind == ir::TypeKind::integer) &&
            !(s_.is_tensor(bound) && !is_float(bound.type->dtype)))
          s_.abandon(Reason::unknown_value, "a slice's bound that is not followed");
      return unknown_size();
    }
    if (whole(*slice)) return n;
    if (!n.known()) return unknown_size();
    int64_t start, stop, step;
    const int64_t count = runtime::slice_indices(s_.session, *slice, n.c, start, stop, step);
    if (count < 0) s_.abandon(Reason::raises, "a slice that raises");
    return SymDim::number(count);
  }

  Specialiser& s_;
  const AVal& x_;
  Dims sizes_;          // of x
  size_t axis_ = 0;     // of x, the next
  Dims kept_, common_;  // axes that slices leave; the shape of all indices together
  size_t before_ = 0;   // kept axes before the first index
  bool any_ = false, seen_ = false, last_advanced_ = false, separated_ = false;
};

}  // namespace

// The items of a key, with a tensor for each list.
std::vector<AVal> Specialiser::key_items(const AVal& given) {
  const AVal key = as_value(given);
  std::vector<AVal> keys;
  if (key.is(AKind::tuple) || (key.is(AKind::known) && cast_exact<runtime::Tuple>(key.known)))
    keys = items_of(key, "is an index");
  else
    keys.push_back(key);
  for (AVal& k : keys) {
    if (!k.is(AKind::ref) || kind_at(k.heap) != AObject::Kind::list) continue;
    const bool makes = makes_tensors;
    const std::vector<AVal> items = items_of(k, "is an index");
    AVal made = items.empty() ? tensor_op("zeros", {AVal::tuple({AVal::of(Value::integer(0))}),
                                                    AVal::of(runtime::make_dtype(session, DType::i64))})
                              : make_tensor_of(*this, {AVal::tuple(items)}, {});
    makes_tensors = makes;
    if (made.is(AKind::unbound)) abandon(Reason::container, "a list as an index whose items are not followed");
    k = std::move(made);
  }
  return keys;
}

AVal Specialiser::key_operand(std::vector<AVal> keys) {
  AVal key = keys.size() == 1 ? keys[0] : AVal::tuple(std::move(keys));
  return AVal::dynamic(materialise(key), nullptr);
}

// The sizes that are found while the program runs are asked of the tensor that has them (size).
void Specialiser::note_sizes(const AVal& made) {
  for (size_t i = 0; i < made.type->rank(); ++i) {
    const SymDim d = made.type->dims[i];
    if (!d.known() && d.m == 1 && d.c == 0 && !extents_.count(d.symbol))
      found_sizes_.try_emplace(d.symbol, made, static_cast<uint32_t>(i));
  }
}

// One element at a time, in a loop of the program: the interpreter is faster than the rows are.
void Specialiser::not_by_element(const std::vector<SymDim>& shape) {
  const auto kept = [](const AFrame* f) {
    return std::ranges::any_of(f->loops, [](const AFrame::LoopState& l) { return l.residual != ir::BlockId::none; });
  };
  if (shape.empty() && std::ranges::any_of(frames_, kept))
    abandon(Reason::loop_state, "a loop over the elements of a tensor");
}

AVal Specialiser::index_by_row(const AVal& x, std::vector<AVal> keys) {
  const Dims shape = KeyShape(*this, x, keys).shape();
  not_by_element(shape);
  static const ir::OpInfo& row = *ir::find_op("getitem");
  const ir::Type* type = ir::types::tensor(x.type->dtype, shape);
  AVal out = AVal::dynamic(code.let(row.op, {atom(x), key_operand(std::move(keys)).atom}, 0, type, span), type);
  note_sizes(out);
  return out;
}

// x with v at key (`row`: index_put), or with v added there (index_accumulate: places that are named twice get both).
AVal Specialiser::put_by_row(std::string_view row, const AVal& x, std::vector<AVal> keys, const AVal& v) {
  const Dims shape = KeyShape(*this, x, keys).shape();
  not_by_element(shape);
  if (!is_tensor(v) && !is_number(v)) abandon(Reason::raises, "assignment to items of a tensor of what is no number");
  if (is_tensor(v)) {
    Dims given(v.type->dims.begin(), v.type->dims.end());
    while (given.size() > shape.size() && given[0] == SymDim::number(1)) given.erase(given.begin());
    Dims together = shape;
    if (given.size() > shape.size() || !broadcast(together, given) || together.size() != shape.size())
      abandon(Reason::raises, "assignment of a tensor that does not fit");
  }
  const ir::OpInfo& op = *ir::find_op(row);
  return AVal::dynamic(code.let(op.op, {atom(x), key_operand(std::move(keys)).atom, atom(v)}, 0, x.type, span), x.type);
}

AVal Specialiser::take_step(const AVal& x, const IndexStep& step) {
  const AVal axis = AVal::of(Value::integer(step.axis));
  switch (step.kind) {
    case IndexStep::Kind::unsqueeze:
      return tensor_op("unsqueeze", {x, axis});
    case IndexStep::Kind::squeeze:
      return tensor_op("squeeze", {x, axis});
    case IndexStep::Kind::narrow:
      return tensor_op("narrow", {x, axis, AVal::of(Value::integer(step.start)), AVal::of(Value::integer(step.count))});
    case IndexStep::Kind::flip:
      return tensor_op("flip", {x, AVal::tuple({axis})});
  }
  return x;
}

// x with v in place of what the steps lead to.
AVal Specialiser::put_back(const AVal& x, std::span<const IndexStep> steps, const AVal& v) {
  if (steps.empty()) return v;
  using Kind = IndexStep::Kind;
  const IndexStep& step = steps.front();
  const AVal part = put_back(take_step(x, step), steps.subspan(1), v);
  if (step.kind == Kind::unsqueeze) return take_step(part, {Kind::squeeze, step.axis});
  if (step.kind == Kind::squeeze) return take_step(part, {Kind::unsqueeze, step.axis});
  if (step.kind == Kind::flip) return take_step(part, step);
  const int64_t n = x.type->dims[static_cast<size_t>(step.axis)].c, end = step.start + step.count;
  if (step.count == 0) return x;
  std::vector<AVal> parts;
  if (step.start > 0) parts.push_back(take_step(x, {Kind::narrow, step.axis, 0, step.start}));
  parts.push_back(part);
  if (end < n) parts.push_back(take_step(x, {Kind::narrow, step.axis, end, n - end}));
  return parts.size() == 1 ? part
                           : tensor_op("cat", {AVal::tuple(std::move(parts)), AVal::of(Value::integer(step.axis))});
}

// What the kernels can do with a key.
enum class Specialiser::KeyUse : uint8_t {
  parts,  // rows that put_back can undo: numbers and slices that are known
  reads,  // rows of the kernels, too: one tensor of places, slices of axes whose size is a symbol
  row,    // the runtime's
};

Specialiser::KeyUse Specialiser::use_of_key(const AVal& x, const std::vector<AVal>& keys) {
  size_t used = 0, tensors = 0, ellipses = 0, numbers = 0;
  KeyUse use = KeyUse::parts;
  for (const AVal& k : keys) {
    if (is_known(k, runtime::Tag::ellipsis))
      ++ellipses;
    else
      used += !is_known(k, runtime::Tag::none);
    if (is_tensor(k)) {
      if (k.type->dtype == DType::boolean || is_float(k.type->dtype)) return KeyUse::row;
      ++tensors;
      use = KeyUse::reads;
    } else if (is_number(k)) {
      if (!k.is(AKind::known) || type_of(k)->kind == ir::TypeKind::boolean) return KeyUse::row;
      ++numbers;
    } else if (!is_slice(k) && !is_known(k, runtime::Tag::none) && !is_known(k, runtime::Tag::ellipsis)) {
      return KeyUse::row;
    }
  }
  // Several indices stand together in front if something is between them: the row knows.
  if (tensors > 1 || (tensors && numbers) || (tensors && ellipses && used > 1)) return KeyUse::row;
  if (ellipses > 1 || used > x.type->rank()) return KeyUse::row;  // which says so
  size_t axis = 0;
  for (const AVal& k : keys) {
    if (is_known(k, runtime::Tag::none)) continue;
    if (is_known(k, runtime::Tag::ellipsis)) {
      axis += x.type->rank() - used;
      continue;
    }
    const SymDim n = x.type->dims[axis++];
    if (is_tensor(k)) continue;
    if (is_slice(k)) {
      const auto v = concrete(k);
      if (!v) return KeyUse::row;
      auto* slice = v->as<runtime::Slice>();
      if (whole(*slice)) continue;
      const auto is_plain = [](const Value& bound) { return bound.is_none() || bound.is_int(); };
      if (!is_plain(slice->start) || !is_plain(slice->stop) || !is_plain(slice->step)) return KeyUse::row;
      const int64_t step = slice->step.is_none() ? 1 : slice->step.as_int();
      if (step != 1 && (step != -1 || !n.known())) return KeyUse::row;
    }
    if (n.known()) continue;
    // Of a size that is found while the program runs nobody has looked whether this is inside.
    if (!extents_.count(n.symbol)) return KeyUse::row;
    use = KeyUse::reads;
  }
  return use;
}

// Where known bounds lie on an axis of unknown size. That they are inside is looked at before the program runs.
static std::pair<SymDim, SymDim> range_of(const runtime::Slice& slice, SymDim n) {
  const auto at = [&](const Value& bound, SymDim otherwise) {
    if (bound.is_none()) return otherwise;
    const int64_t i = bound.as_int();
    return i < 0 ? ir::add(n, SymDim::number(i)) : SymDim::number(i);
  };
  const SymDim start = at(slice.start, SymDim::number(0)), stop = at(slice.stop, n);
  return {start, ir::add(stop, ir::multiply(start, SymDim::number(-1)))};
}

// x[key]; with `steps`, which are told there, of a key that is made of parts.
AVal Specialiser::tensor_index(const AVal& x, const AVal& key, std::vector<IndexStep>* steps) {
  auto number = [](int64_t i) { return AVal::of(Value::integer(i)); };
  auto taken = [&](const AVal& from, IndexStep step) {
    if (steps) steps->push_back(step);
    return take_step(from, step);
  };
  using Kind = IndexStep::Kind;
  std::vector<AVal> keys = key_items(key);
  if (use_of_key(x, keys) == KeyUse::row) return index_by_row(x, std::move(keys));
  const auto used = static_cast<size_t>(std::ranges::count_if(
      keys, [](const AVal& k) { return !is_known(k, runtime::Tag::none) && !is_known(k, runtime::Tag::ellipsis); }));
  AVal out = x;
  int64_t axis = 0;
  for (const AVal& k : keys) {
    if (is_known(k, runtime::Tag::none)) {
      out = taken(out, {Kind::unsqueeze, axis++});
      continue;
    }
    if (is_known(k, runtime::Tag::ellipsis)) {
      axis += static_cast<int64_t>(x.type->rank() - used);
      continue;
    }
    const SymDim n = out.type->dims[static_cast<size_t>(axis)];
    if (is_tensor(k)) {
      AVal flat = tensor_op("reshape", {k, AVal::tuple({number(-1)})});
      std::vector<AVal> shape;
      for (size_t i = 0; i < out.type->rank(); ++i) {
        if (static_cast<int64_t>(i) != axis) {
          shape.push_back(size(out.type->dims[i]));
          continue;
        }
        for (const SymDim& d : k.type->dims) shape.push_back(size(d));
      }
      out = tensor_op("index_select", {out, number(axis), flat});
      if (k.type->rank() != 1) out = tensor_op("reshape", {out, AVal::tuple(std::move(shape))});
      axis += static_cast<int64_t>(k.type->rank());
      continue;
    }
    if (is_slice(k)) {
      const Value sl = k.is(AKind::slice) ? concrete_slice(k) : k.known;
      auto* slice = sl.as<runtime::Slice>();
      if (whole(*slice)) {
        ++axis;
        continue;
      }
      if (!n.known()) {
        const auto [start, count] = range_of(*slice, n);
        out = tensor_op("narrow", {out, number(axis++), size(start), size(count)});
        continue;
      }
      int64_t start, stop, step;
      const int64_t count = runtime::slice_indices(session, *slice, n.c, start, stop, step);
      if (count < 0) abandon(Reason::raises, "a slice that raises");
      if (step == 1) {
        out = taken(out, {Kind::narrow, axis, start, count});
      } else {
        out = taken(out, {Kind::narrow, axis, start - count + 1, count});
        out = taken(out, {Kind::flip, axis});
      }
      ++axis;
      continue;
    }
    int64_t i = k.known.as_int();
    if (!n.known()) {
      const SymDim start = i < 0 ? ir::add(n, SymDim::number(i)) : SymDim::number(i);
      out = tensor_op("narrow", {out, number(axis), size(start), number(1)});
      out = take_step(out, {Kind::squeeze, axis});
      continue;
    }
    if (i < 0) i += n.c;
    if (i < 0 || i >= n.c) abandon(Reason::raises, "index out of range");
    out = taken(out, {Kind::narrow, axis, i, 1});
    out = taken(out, {Kind::squeeze, axis});
  }
  return out;
}

// x with x[key] = value, put together from its neighbours.
AVal Specialiser::tensor_store(const AVal& x, const AVal& key, const AVal& value) {
  if (const std::vector<AVal> keys = key_items(key); use_of_key(x, keys) != KeyUse::parts)
    return put_by_row("index_put", x, keys, value);
  std::vector<IndexStep> steps;
  const AVal old = tensor_index(x, key, &steps);
  std::vector<AVal> shape;
  for (const ir::SymDim& d : old.type->dims) shape.push_back(size(d));
  AVal v = value;
  if (!is_tensor(v)) {
    v = tensor_op("full", {AVal::tuple(shape), v, AVal::of(runtime::make_dtype(session, x.type->dtype))});
  } else {
    if (v.type->rank() > old.type->rank()) abandon(Reason::raises, "assignment of a tensor of more axes");
    if (v.type->dtype != x.type->dtype)
      v = tensor_op("astype", {v, AVal::of(runtime::make_dtype(session, x.type->dtype))});
    v = tensor_op("expand", {v, AVal::tuple(shape)});
  }
  return put_back(x, steps, v);
}

// Places that several indices name get all that is added there.
AVal Specialiser::add_at(const AVal& x, const AVal& key, const AVal& v) {
  const std::vector<AVal> keys = key_items(key);
  if (use_of_key(x, keys) == KeyUse::parts) return tensor_store(x, key, binary(prim::add, tensor_index(x, key), v));
  if (keys.size() == 1 && is_tensor(keys[0]) && keys[0].type->rank() == 1 && keys[0].type->dtype == DType::i64)
    return tensor_op("index_add", {x, AVal::of(Value::integer(0)), keys[0], v});
  return put_by_row("index_accumulate", x, keys, v);
}

}  // namespace ouro::jit
