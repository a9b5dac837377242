// Rows that say how a native is executed on abstract values.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

using NativeHandler = AVal (*)(Specialiser&, const std::vector<AVal>&, const std::vector<std::pair<Symbol, AVal>>&);
// What a call must look like for a handler to see it: so many arguments, and of keywords that one (`*`: any). Another
// call is the interpreter's, which says what is wrong with it.
struct Shape {
  size_t least, most;
  std::string_view keyword = {};
  bool fits(const std::vector<AVal>& a, const std::vector<std::pair<Symbol, AVal>>& k) const {
    if (a.size() < least || a.size() > most) return false;
    return k.empty() || keyword == "*" || (k.size() == 1 && k[0].first.text() == keyword && a.size() < most);
  }
};
constexpr size_t kAny = SIZE_MAX;

struct NativeRow {
  std::string_view name;
  NativeHandler handler;
};
struct MethodRow {
  runtime::ObjectKind kind;
  std::string_view name;
  NativeHandler handler;
  Shape shape;  // the receiver counts
};
std::span<const MethodRow> method_rows();       // of built-in classes
std::span<const NativeRow> autodiff_natives();  // of module `_ad`
std::span<const NativeRow> row_natives();       // of module `_ad_rows`
std::span<const NativeRow> protocol_natives();  // of module `_protocol`

/// What dict() and update() take: another mapping or pairs, and keywords.
void put_all(Specialiser& s, const AVal& dict, const std::vector<AVal>& args,
             const std::vector<std::pair<Symbol, AVal>>& keywords);

/// max(), min(), sorted() (execute/order.cpp).
AVal most_of(Specialiser& s, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
AVal least_of(Specialiser& s, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
AVal sorted_of(Specialiser& s, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);

/// tensor(data, dtype=); unbound: the interpreter makes it (execute/make.cpp).
AVal make_tensor_of(Specialiser& s, const std::vector<AVal>& args,
                    const std::vector<std::pair<Symbol, AVal>>& keywords);

}  // namespace ouro::jit
