// Special methods with a cached place in each class (Type::dunders), so that an operator on an instance finds its
// method by index.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/intern.h"

namespace ouro::runtime {

// The binary ones stand in the order of BinOp three times over: plain, reflected, in-place.
// clang-format off
#define OURO_DUNDERS(X) \
  X(new) X(init) X(del) X(repr) X(str) X(format) X(bytes) X(hash) X(bool) X(len) X(length_hint) \
  X(getattr) X(getattribute) X(setattr) X(delattr) X(dir) \
  X(get) X(set) X(delete) X(set_name) X(init_subclass) X(class_getitem) X(instancecheck) X(subclasscheck) X(missing) \
  X(getitem) X(setitem) X(delitem) X(contains) X(iter) X(next) X(reversed) X(call) X(enter) X(exit) \
  X(int) X(float) X(index) X(complex) X(round) X(trunc) X(floor) X(ceil) X(abs) X(divmod) X(rdivmod) X(fspath) X(copy) X(deepcopy)
// clang-format on

enum class Dunder : uint8_t {
#define BINARY(id, ast, symbol, special, ...) special##_,
#include "ir/operators.inc"
#define BINARY(id, ast, symbol, special, ...) r##special##_,
#include "ir/operators.inc"
#define BINARY(id, ast, symbol, special, ...) i##special##_,
#include "ir/operators.inc"
#define UNARY(id, ast, symbol, special, ...) special##_,
#include "ir/operators.inc"
#define COMPARE(id, ast, symbol, special, ...) special##_,
#include "ir/operators.inc"
#define X(n) n##_,
  OURO_DUNDERS(X)
#undef X
      count_
};
constexpr int kDunderCount = static_cast<int>(Dunder::count_);
// "__add__", ... by Dunder.
inline constexpr std::string_view kDunderNames[] = {
#define BINARY(id, ast, symbol, special, ...) "__" #special "__",
#include "ir/operators.inc"
#define BINARY(id, ast, symbol, special, ...) "__r" #special "__",
#include "ir/operators.inc"
#define BINARY(id, ast, symbol, special, ...) "__i" #special "__",
#include "ir/operators.inc"
#define UNARY(id, ast, symbol, special, ...) "__" #special "__",
#include "ir/operators.inc"
#define COMPARE(id, ast, symbol, special, ...) "__" #special "__",
#include "ir/operators.inc"
#define X(n) "__" #n "__",
    OURO_DUNDERS(X)
#undef X
};
static_assert(sizeof kDunderNames / sizeof *kDunderNames == kDunderCount);

// The name with its underscores, as a Symbol.
Symbol dunder_symbol(Dunder d);
std::string_view dunder_name(Dunder d);
// The dunder of that name, or count_.
Dunder dunder_of(Symbol name);

}  // namespace ouro::runtime
