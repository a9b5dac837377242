#include "ir/loops/memory.h"

#include <algorithm>
#include <numeric>

namespace ouro::ir::loops {
namespace {

constexpr int64_t kAlign = 64;
int64_t rounded(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

// An item that has its place.
struct Placed {
  int64_t begin, end;
  uint32_t first, last;
  size_t item;
};

class ArenaPlan {
 public:
  explicit ArenaPlan(std::span<ArenaItem> items) : items_(items) {}

  int64_t run() {
    std::vector<size_t> order(items_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return items_[a].bytes > items_[b].bytes; });
    int64_t total = 0;
    placed_.reserve(items_.size());
    for (size_t i : order) {
      ArenaItem& item = items_[i];
      item.offset = lowest_place(i);
      const Placed p{item.offset, item.offset + rounded(item.bytes), item.first, item.last, i};
      placed_.insert(std::ranges::upper_bound(placed_, p.begin, {}, &Placed::begin), p);
      total = std::max(total, p.end);
    }
    return total;
  }

 private:
  // One that takes the other's place as it is computed.
  bool partners(size_t a, size_t b) const {
    auto takes = [&](const ArenaItem& x, size_t of) {
      return x.in_place_of == static_cast<int32_t>(of) && items_[of].last == x.first;
    };
    return takes(items_[a], b) || takes(items_[b], a);
  }

  int64_t lowest_place(size_t i) const {
    const ArenaItem& item = items_[i];
    const int64_t bytes = rounded(item.bytes);
    int64_t at = 0;
    // Behind what is in the way, as long as something is: partners are at one offset or apart, never shifted.
    for (int64_t before = -1; before != at;) {
      before = at;
      for (const Placed& p : placed_) {
        if (p.begin >= at + bytes) break;
        if (p.end <= at || p.first > item.last || item.first > p.last) continue;
        if (!partners(i, p.item))
          at = p.end;
        else if (p.begin != at)
          at = p.begin > at ? p.begin : p.end;
      }
    }
    return at;
  }

  std::span<ArenaItem> items_;
  std::vector<Placed> placed_;  // by offset
};

}  // namespace

int64_t plan_arena(std::span<ArenaItem> items) { return ArenaPlan(items).run(); }

}  // namespace ouro::ir::loops
