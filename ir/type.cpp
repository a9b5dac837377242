#include "ir/type.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace ouro::ir {
namespace {

size_t hash_of(const Type& t) {
  size_t h = static_cast<size_t>(t.kind) * 31 + static_cast<size_t>(t.dtype);
  auto mix = [&h](uint64_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15u, h ^= h >> 29; };
  for (const SymDim& d : t.dims) mix(static_cast<uint64_t>(d.c)), mix(static_cast<uint64_t>(d.m)), mix(d.symbol);
  for (const Type* i : t.items) mix(reinterpret_cast<uintptr_t>(i));
  for (Symbol s : t.fields) mix(s.id());
  mix(t.identity);
  mix(t.name.id());
  return h;
}

struct Table {
  std::mutex lock;
  std::unordered_multimap<size_t, std::unique_ptr<const Type>> types;
};
Table& table() {
  static Table* t = new Table;
  return *t;
}

constexpr std::string_view kKindNames[] = {"none",  "bool",     "int",    "float",    "str",    "bytes",
                                           "dtype", "ellipsis", "slice",  "range",    "tensor", "tuple",
                                           "list",  "dict",     "object", "function", "native", "class"};

std::string to_string(const SymDim& d) {
  if (d.m == 0) return std::to_string(d.c);
  std::string s = (d.m == 1 ? "" : std::to_string(d.m) + "*") + "s" + std::to_string(d.symbol);
  if (d.c > 0) s += "+";
  return d.c ? s + std::to_string(d.c) : s;
}

}  // namespace

uint32_t fresh_symbol() {
  static std::atomic<uint32_t> next{1};
  return next++;
}
static int64_t saturated(__int128 n) {
  return n > kTooLarge ? kTooLarge : n < -kTooLarge ? -kTooLarge : static_cast<int64_t>(n);
}
SymDim add(SymDim a, SymDim b) {
  const int64_t c = saturated(static_cast<__int128>(a.c) + b.c);
  if (a.known()) return {c, b.m, b.symbol};
  if (b.known()) return {c, a.m, a.symbol};
  if (a.symbol != b.symbol) return SymDim::of(fresh_symbol());
  const int64_t m = saturated(static_cast<__int128>(a.m) + b.m);
  return {c, m, m ? a.symbol : 0};
}
SymDim multiply(SymDim a, SymDim b) {
  if (!a.known()) std::swap(a, b);
  if (!a.known()) return SymDim::of(fresh_symbol());
  const int64_t m = saturated(static_cast<__int128>(a.c) * b.m);
  return {saturated(static_cast<__int128>(a.c) * b.c), m, m ? b.symbol : 0};
}

const Type* intern_type(Type t) {
  size_t h = hash_of(t);
  Table& tb = table();
  std::lock_guard guard(tb.lock);
  auto [begin, end] = tb.types.equal_range(h);
  for (auto it = begin; it != end; ++it)
    if (*it->second == t) return it->second.get();
  return tb.types.emplace(h, std::make_unique<const Type>(std::move(t)))->second.get();
}

namespace types {
const Type* simple(TypeKind kind) { return intern_type({.kind = kind}); }
const Type* tensor(DType dtype, std::span<const SymDim> dims) {
  return intern_type({.kind = TypeKind::tensor, .dtype = dtype, .dims = {dims.begin(), dims.end()}});
}
const Type* tuple(std::span<const Type* const> items) {
  return intern_type({.kind = TypeKind::tuple, .items = {items.begin(), items.end()}});
}
const Type* list(const Type* item) { return intern_type({.kind = TypeKind::list, .items = {item}}); }
const Type* dict(const Type* key, const Type* value) {
  return intern_type({.kind = TypeKind::dict, .items = {key, value}});
}
const Type* object(uint64_t identity, Symbol name, std::span<const Symbol> fields, std::span<const Type* const> items) {
  return intern_type({.kind = TypeKind::object,
                      .items = {items.begin(), items.end()},
                      .fields = {fields.begin(), fields.end()},
                      .identity = identity,
                      .name = name});
}
const Type* function(uint64_t identity, Symbol name, std::span<const Type* const> captures) {
  return intern_type(
      {.kind = TypeKind::function, .items = {captures.begin(), captures.end()}, .identity = identity, .name = name});
}
}  // namespace types

std::string to_string(const Type* t) {
  if (!t) return "any";
  std::string s;
  if (t->kind == TypeKind::tensor) {
    s = std::string(name(t->dtype)) + "[";
    for (size_t i = 0; i < t->dims.size(); ++i) s += (i ? ", " : "") + to_string(t->dims[i]);
    return s + "]";
  }
  s = kKindNames[static_cast<int>(t->kind)];
  if (t->kind < TypeKind::tensor) return s;
  s += "(";
  bool first = true;
  auto comma = [&] { s += first ? "" : ", ", first = false; };
  if (t->kind >= TypeKind::object) comma(), s += t->name.str() + "#" + std::to_string(t->identity);
  for (size_t i = 0; i < t->items.size(); ++i) {
    comma();
    if (i < t->fields.size()) s += t->fields[i].str() + ": ";
    s += to_string(t->items[i]);
  }
  return s + ")";
}

}  // namespace ouro::ir
