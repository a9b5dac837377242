// Equal kernels of a step share their code.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/loops/loop_ir.h"
#include "runtime/machine/backend.h"

namespace ouro::backends {

struct DistinctKernels {
  std::vector<const ir::loops::Kernel*> kernels;
  std::deque<std::string> texts;  // of these
  std::vector<uint32_t> where;    // of each that was given
};

/// Their texts go to `dump` where it asks for them.
inline DistinctKernels distinct(std::span<const ir::loops::Kernel* const> kernels, runtime::KernelDump* dump) {
  DistinctKernels d;
  std::unordered_map<std::string_view, uint32_t> seen;
  for (const ir::loops::Kernel* k : kernels) {
    const std::string& text = d.texts.emplace_back(print(*k));
    auto [it, fresh] = seen.try_emplace(text, static_cast<uint32_t>(d.kernels.size()));
    d.where.push_back(it->second);
    if (!fresh) {
      d.texts.pop_back();
      continue;
    }
    d.kernels.push_back(k);
    if (dump && dump->want_loops) dump->loops += text;
  }
  return d;
}

}  // namespace ouro::backends
