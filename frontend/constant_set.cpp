#include "frontend/constant_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/unparse.h"
#include "support/hash.h"
#include "support/source.h"

namespace ouro::frontend {
using namespace ast;

namespace {

bool is_number(const ExprNode* e) {
  auto* c = dyn<Constant>(e);
  if (!c) return false;
  const ConstantKind k = c->value_kind;
  return k == ConstantKind::Int || k == ConstantKind::BigInt || k == ConstantKind::Float;
}

bool is_constant(const ExprNode* e) {
  if (is<Constant>(e)) return true;
  if (auto* u = dyn<UnaryOp>(e)) return u->op == UnaryOperator::USub && is_number(u->operand);
  auto* t = dyn<Tuple>(e);
  return t && std::all_of(t->elts.begin(), t->elts.end(), is_constant);
}

// A constant's hash, and a text that is equal where the values are.
struct Item {
  int64_t hash;
  std::string value;
};

// Digits in base ten, or in base 16 behind "0x".
int64_t hash_digits(std::string_view digits) {
  const bool hexadecimal = digits.starts_with("0x");
  unsigned __int128 h = 0;
  for (char c : digits.substr(hexadecimal ? 2 : 0)) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    h = (h * (hexadecimal ? 16 : 10) + static_cast<unsigned>(digit)) % support::kHashModulus;
  }
  return static_cast<int64_t>(h);
}

int64_t hash_text(std::string_view text) {
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) points.push_back(support::next_code_point(text, i));
  return support::hash_points(points);
}

Item negative(const Item& x) {
  if (x.value == "0") return x;
  const int64_t h = -x.hash;  // that of a positive number is none of -1 and -2
  return {h == -1 ? -2 : h, "-" + x.value};
}

Item item_of(const ExprNode* e) {
  if (auto* u = dyn<UnaryOp>(e)) return negative(item_of(u->operand));
  if (auto* t = dyn<Tuple>(e)) {
    support::TupleHash h;
    std::string value = "(";
    for (const ExprNode* part : t->elts) {
      const Item i = item_of(part);
      h.add(i.hash);
      value += std::to_string(i.value.size()) + ':' + i.value;
    }
    return {h.finish(t->elts.size()), value};
  }
  const auto& c = as<Constant>(e);
  switch (c.value_kind) {
    case ConstantKind::True:
    case ConstantKind::False:
      return {c.value_kind == ConstantKind::True, c.value_kind == ConstantKind::True ? "1" : "0"};
    case ConstantKind::Int:
      return {support::hash_int(c.int_value), std::to_string(c.int_value)};
    case ConstantKind::BigInt:
      return {hash_digits(c.text), std::string(c.text)};
    case ConstantKind::Float: {
      const double x = c.float_value;
      return {support::hash_float(x), x == std::trunc(x) ? fmt::format("{:.0f}", x) : fmt::format("{}", x)};
    }
    case ConstantKind::Str:
      return {hash_text(c.text), "s" + std::string(c.text)};
    case ConstantKind::Bytes:
      return {support::hash_bytes(c.text.data(), c.text.size()), "b" + std::string(c.text)};
    default:  // CPython's is an address
      return {0, unparse(e)};
  }
}

// CPython's set (runtime/object/set.cpp), of numbers of items.
class Table {
 public:
  explicit Table(const std::vector<Item>& items) : items_(items), slots_(8, kFree) {}

  void add(int item) {
    int& place = find(item);
    if (place != kFree) return;
    place = item;
    if (++used_ * 5 >= (slots_.size() - 1) * 3) grow();
  }
  std::vector<int> in_order() const {
    std::vector<int> out;
    std::ranges::copy_if(slots_, std::back_inserter(out), [](int item) { return item != kFree; });
    return out;
  }

 private:
  static constexpr int kFree = -1;
  static constexpr size_t kLinearProbes = 9;

  // Where an equal one is, or a free place.
  int& find(int item) {
    const Item& x = items_[static_cast<size_t>(item)];
    const size_t mask = slots_.size() - 1;
    size_t perturb = static_cast<size_t>(x.hash), i = perturb & mask;
    for (;;) {
      const size_t last = i + (i + kLinearProbes <= mask ? kLinearProbes : 0);
      for (size_t at = i; at <= last; ++at) {
        if (slots_[at] == kFree) return slots_[at];
        const Item& y = items_[static_cast<size_t>(slots_[at])];
        if (x.hash == y.hash && x.value == y.value) return slots_[at];
      }
      perturb >>= 5;
      i = (i * 5 + 1 + perturb) & mask;
    }
  }
  void grow() {
    size_t size = 8;
    while (size <= used_ * (used_ > 50000 ? 2 : 4)) size *= 2;
    const std::vector<int> before = in_order();
    slots_.assign(size, kFree);
    for (int item : before) find(item) = item;
  }

  const std::vector<Item>& items_;
  std::vector<int> slots_;
  size_t used_ = 0;
};

}  // namespace

std::vector<ExprNode*> kept_order(const Set& s) {
  std::vector<Item> items;
  for (const ExprNode* e : s.elts) items.push_back(item_of(e));
  Table first(items);
  for (size_t i = 0; i < items.size(); ++i) first.add(static_cast<int>(i));
  std::vector<ExprNode*> out;
  for (int i : first.in_order()) out.push_back(s.elts[static_cast<size_t>(i)]);
  return out;
}

bool is_constant_set(const Set& s) {
  return std::all_of(s.elts.begin(), s.elts.end(), [](const ExprNode* e) { return is_constant(e); });
}

std::string constant_set_key(const Set& s) {
  std::vector<std::string> texts;
  for (const ExprNode* e : kept_order(s)) texts.push_back(unparse(e));  // of equal items of several types the first
  std::ranges::sort(texts);
  std::string key;
  for (const std::string& t : texts) key += t + '\n';
  return key;
}

}  // namespace ouro::frontend
