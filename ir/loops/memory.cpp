#include "ir/loops/memory.h"

#include <algorithm>
#include <numeric>

namespace ouro::ir::loops {
namespace {

constexpr int64_t kAlign = 64;
int64_t rounded(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

bool overlap(const ArenaItem& a, const ArenaItem& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

int64_t plan_arena(std::span<ArenaItem> items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return items[a].bytes > items[b].bytes; });
  std::vector<size_t> placed;
  int64_t total = 0;
  for (size_t i : order) {
    ArenaItem& item = items[i];
    auto conflicts = [&](size_t j) {
      if (!overlap(item, items[j])) return false;
      bool takes = item.in_place_of == static_cast<int32_t>(j) && items[j].last == item.first;
      bool is_taken = items[j].in_place_of == static_cast<int32_t>(i) && item.last == items[j].first;
      return !takes && !is_taken;
    };
    std::vector<std::pair<int64_t, int64_t>> used;
    for (size_t j : placed)
      if (conflicts(j)) used.emplace_back(items[j].offset, items[j].offset + rounded(items[j].bytes));
    auto fits = [&](int64_t at) {
      return std::all_of(used.begin(), used.end(),
                         [&](auto u) { return at + rounded(item.bytes) <= u.first || at >= u.second; });
    };
    // An in-place partner is at the same offset exactly or apart, never shifted against it.
    auto partner_ok = [&](int64_t at) {
      return std::all_of(placed.begin(), placed.end(), [&](size_t j) {
        bool partners = overlap(item, items[j]) && !conflicts(j);
        return !partners || at == items[j].offset || at + rounded(item.bytes) <= items[j].offset ||
               at >= items[j].offset + rounded(items[j].bytes);
      });
    };
    std::vector<int64_t> candidates{0};
    for (size_t j : placed)
      candidates.push_back(items[j].offset), candidates.push_back(items[j].offset + rounded(items[j].bytes));
    std::sort(candidates.begin(), candidates.end());
    for (int64_t at : candidates)
      if (fits(at) && partner_ok(at)) {
        item.offset = at;
        break;
      }
    total = std::max(total, item.offset + rounded(item.bytes));
    placed.push_back(i);
  }
  return total;
}

}  // namespace ouro::ir::loops
