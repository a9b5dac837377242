// Offsets in the arena: what lives at the same time never overlaps, and what takes another one's place stands in it or
// apart.
#include "ir/loops/memory.h"

#include <random>

#include <catch2/catch.hpp>

using ouro::ir::loops::ArenaItem;
using ouro::ir::loops::plan_arena;

TEST_CASE("items that live at the same time are apart") {
  std::mt19937 random(3);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 400; ++round) {
    std::vector<ArenaItem> items(static_cast<size_t>(1 + below(30)));
    for (ArenaItem& i : items) {
      i.first = static_cast<uint32_t>(below(20));
      i.last = i.first + static_cast<uint32_t>(below(6));
      i.bytes = below(4) == 0 ? below(2) : below(1000);
    }
    std::vector<bool> taken(items.size(), false);
    for (ArenaItem& i : items) {
      const size_t of = static_cast<size_t>(below(static_cast<int64_t>(items.size())));
      if (&items[of] == &i || items[of].last != i.first || items[of].first == i.first || taken[of]) continue;
      i.in_place_of = static_cast<int32_t>(of);
      taken[of] = true;
    }
    const int64_t total = plan_arena(items);
    for (const ArenaItem& a : items) {
      REQUIRE(a.offset % 64 == 0);
      REQUIRE(a.offset + a.bytes <= total);
      for (const ArenaItem& b : items) {
        if (&a == &b || a.bytes == 0 || b.bytes == 0 || a.first > b.last || b.first > a.last) continue;
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        auto takes = [&](const ArenaItem& x, const ArenaItem& y) { return x.in_place_of == &y - items.data(); };
        const bool partners = takes(a, b) || takes(b, a);
        REQUIRE((apart || (partners && a.offset == b.offset)));
      }
    }
  }
}
