// Rows that say how a native is executed on abstract values.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>

#include "jit/specialiser.h"

namespace ouro::jit {

using NativeHandler = AVal (*)(Specialiser&, const std::vector<AVal>&, const std::vector<std::pair<Symbol, AVal>>&);
struct NativeRow {
  std::string_view name;
  NativeHandler handler;
};
std::span<const NativeRow> autodiff_natives();  // of module `_ad`
std::span<const NativeRow> row_natives();       // of module `_ad_rows`
std::span<const NativeRow> protocol_natives();  // of module `_protocol`

/// tensor(data, dtype=); unbound: the interpreter makes it (exec_make.cpp).
AVal make_tensor_of(Specialiser& s, const std::vector<AVal>& args,
                    const std::vector<std::pair<Symbol, AVal>>& keywords);

}  // namespace ouro::jit
