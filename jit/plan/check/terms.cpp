#include "jit/plan/check/terms.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace ouro::jit::check {

using ir::Leaf;

namespace {

uint64_t mix(uint64_t h, uint64_t x) {
  h ^= x + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
  return h * 0xBF58476D1CE4E5B9u;
}

bool whole(DType t) { return t == DType::i64 || t == DType::boolean; }

}  // namespace

Term Terms::make(Node n, std::span<const Term> parts) {
  uint64_t h = mix(static_cast<uint64_t>(n.kind) << 24 | static_cast<uint64_t>(n.leaf) << 12 |
                       static_cast<uint64_t>(n.type) << 4 | n.last_axis,
                   parts.size());
  const bool compound = n.kind == Kind::leaf || n.kind == Kind::reduction;
  if (!compound) h = mix(mix(h, n.a), n.b);
  for (Term t : parts) h = mix(h, static_cast<uint64_t>(t));
  if ((nodes_.size() + 1) * 2 > index_.size()) grow();
  size_t slot = h & (index_.size() - 1);
  for (; index_[slot]; slot = (slot + 1) & (index_.size() - 1)) {
    const uint32_t id = index_[slot] - 1;
    if (hashes_[id] != h) continue;
    const Node& o = nodes_[id];
    if (o.kind != n.kind || o.leaf != n.leaf || o.type != n.type || o.last_axis != n.last_axis) continue;
    if (!compound
            ? o.a == n.a && o.b == n.b
            : o.b == parts.size() && std::equal(parts.begin(), parts.end(), parts_.begin() + static_cast<long>(o.a)))
      return Term{id};
  }
  if (compound) {
    n.a = parts_.size();
    n.b = parts.size();
    parts_.insert(parts_.end(), parts.begin(), parts.end());
  }
  const uint32_t id = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(n);
  hashes_.push_back(h);
  index_[slot] = id + 1;
  return Term{id};
}

void Terms::grow() {
  index_.assign(std::max<size_t>(1024, index_.size() * 2), 0);
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    size_t slot = hashes_[id] & (index_.size() - 1);
    while (index_[slot]) slot = (slot + 1) & (index_.size() - 1);
    index_[slot] = id + 1;
  }
}

Term Terms::number(DType type, int64_t value) {
  return make({.kind = Kind::number, .type = type, .a = static_cast<uint64_t>(value)}, {});
}

Term Terms::constant(DType type, double value) {
  if (type == DType::boolean) return number(type, value != 0);
  if (!is_float(type)) return number(type, static_cast<int64_t>(value));
  if (type == DType::f32) value = static_cast<float>(value);
  return make({.kind = Kind::constant, .type = type, .a = std::bit_cast<uint64_t>(value)}, {});
}

Term Terms::element(DType type, uint64_t owner, int64_t index) {
  return make({.kind = Kind::element, .type = type, .a = owner, .b = static_cast<uint64_t>(index)}, {});
}

Term Terms::scalar(DType type, uint64_t owner) { return make({.kind = Kind::scalar, .type = type, .a = owner}, {}); }

std::optional<int64_t> Terms::known(Term t) const {
  const Node& n = nodes_[static_cast<uint32_t>(t)];
  if (n.kind != Kind::number) return std::nullopt;
  return static_cast<int64_t>(n.a);
}

std::optional<int64_t> Terms::fold(Leaf leaf, DType type, std::span<const Term> args) const {
  if (!whole(type)) return std::nullopt;
  int64_t v[3] = {};
  for (size_t i = 0; i < args.size(); ++i) {
    auto k = whole(this->type(args[i])) ? known(args[i]) : std::nullopt;
    if (!k) return std::nullopt;
    v[i] = *k;
  }
  const int64_t a = v[0], b = v[1];
  auto wrap = [](uint64_t x) { return static_cast<int64_t>(x); };
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (leaf) {
    case Leaf::add:
      return type == DType::boolean ? (a | b) : wrap(x + y);
    case Leaf::sub:
      return wrap(x - y);
    case Leaf::mul:
      return type == DType::boolean ? (a & b) : wrap(x * y);
    case Leaf::neg:
      return wrap(0 - x);
    case Leaf::idiv:
      return b == 0 ? 0 : b == -1 ? wrap(0 - x) : a / b;
    case Leaf::irem:
      return b == 0 || b == -1 ? 0 : a % b;
    case Leaf::min:
      return std::min(a, b);
    case Leaf::max:
      return std::max(a, b);
    case Leaf::eq:
      return a == b;
    case Leaf::ne:
      return a != b;
    case Leaf::lt:
      return a < b;
    case Leaf::le:
      return a <= b;
    case Leaf::gt:
      return a > b;
    case Leaf::ge:
      return a >= b;
    case Leaf::and_:
      return a & b;
    case Leaf::or_:
      return a | b;
    case Leaf::xor_:
      return a ^ b;
    case Leaf::not_:
      return type == DType::boolean ? !a : ~a;
    case Leaf::cast:
      return type == DType::boolean ? a != 0 : a;
    default:
      return std::nullopt;
  }
}

Term Terms::leaf(Leaf leaf, DType type, std::span<const Term> args) {
  if (leaf == Leaf::select)
    if (auto c = known(args[0])) return *c ? args[1] : args[2];
  if (auto v = fold(leaf, type, args)) return number(type, *v);
  if ((leaf == Leaf::and_ || leaf == Leaf::or_) && type == DType::boolean)
    for (size_t i = 0; i < 2; ++i)
      if (auto k = known(args[i])) return (*k != 0) == (leaf == Leaf::and_) ? args[1 - i] : args[i];
  if (leaf == Leaf::cast) {
    if (this->type(args[0]) == type) return args[0];
    // What is a half float already is kept by being rounded to one again.
    const Node& n = nodes_[static_cast<uint32_t>(args[0])];
    if ((type == DType::f16 || type == DType::bf16) && n.kind == Kind::leaf && n.leaf == Leaf::cast &&
        n.type == DType::f32 && this->type(parts_[n.a]) == type)
      return parts_[n.a];
  }
  return make({.kind = Kind::leaf, .leaf = leaf, .type = type}, args);
}

Term Terms::reduction(Leaf combine, bool last_axis, DType type, std::span<const Term> parts) {
  return make({.kind = Kind::reduction, .leaf = combine, .type = type, .last_axis = last_axis}, parts);
}

Term Terms::cast(Term t, DType to) { return leaf(Leaf::cast, to, {&t, 1}); }

Term Terms::rounded(Term t, DType to) {
  if (to != DType::f16 && to != DType::bf16) return cast(t, to);
  return cast(cast(cast(t, DType::f32), to), DType::f32);
}

std::string Terms::text(Term t, int depth) const {
  const Node& n = nodes_[static_cast<uint32_t>(t)];
  switch (n.kind) {
    case Kind::number:
      return std::to_string(static_cast<int64_t>(n.a));
    case Kind::constant:
      return fmt::format("{}", std::bit_cast<double>(n.a));
    case Kind::element:
      return fmt::format("%{}{}[{}]", n.a >> 8, (n.a & 255) ? fmt::format("/{}", (n.a & 255) - 1) : "",
                         static_cast<int64_t>(n.b));
    case Kind::scalar:
      return fmt::format("%{}", n.a);
    default:
      break;
  }
  if (depth == 0) return "...";
  std::string out =
      n.kind == Kind::reduction ? fmt::format("{} over", info(n.leaf).name) : std::string(info(n.leaf).name);
  if (n.leaf == Leaf::cast) out = std::string(name(n.type));
  out += "(";
  const uint64_t shown = std::min<uint64_t>(n.b, 4);
  for (uint64_t i = 0; i < shown; ++i) out += (i ? ", " : "") + text(parts_[n.a + i], depth - 1);
  return out + (shown < n.b ? fmt::format(", ... {} in all)", n.b) : ")");
}

}  // namespace ouro::jit::check
