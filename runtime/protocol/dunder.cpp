#include "runtime/object/dunder.h"

#include <array>
#include <string>

namespace ouro::runtime {

namespace {

const std::array<Symbol, kDunderCount>& symbols() {
  static const std::array<Symbol, kDunderCount> all = [] {
    std::array<Symbol, kDunderCount> a;
    for (int i = 0; i < kDunderCount; ++i) a[static_cast<size_t>(i)] = intern(kDunderNames[i]);
    return a;
  }();
  return all;
}

}  // namespace

Symbol dunder_symbol(Dunder d) { return symbols()[static_cast<size_t>(d)]; }
std::string_view dunder_name(Dunder d) { return kDunderNames[static_cast<int>(d)]; }
Dunder dunder_of(Symbol name) {
  const auto& all = symbols();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] == name) return static_cast<Dunder>(i);
  return Dunder::count_;
}

}  // namespace ouro::runtime
