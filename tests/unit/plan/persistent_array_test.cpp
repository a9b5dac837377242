// Arrays whose copies share what none of them has written (jit/specialise/abstract/persistent_array.h).
#include "jit/specialise/abstract/persistent_array.h"

#include "plan_fixture.h"

using ouro::jit::PersistentArray;

namespace {
// An element's marks: what it is.
uint64_t itself(const uint64_t& v) { return v; }
}  // namespace

TEST_CASE("marks_of_a_persistent_array_follow_its_writes") {
  PersistentArray<uint64_t> a;
  for (int i = 0; i < 1000; ++i) a.push_back(i % 100 == 7 ? 4 : 0);
  CHECK(a.marks(itself) == 4);
  CHECK(a.those_marked(4, itself) == std::vector<size_t>{7, 107, 207, 307, 407, 507, 607, 707, 807, 907});
  CHECK(a.those_marked(3, itself).empty());
  PersistentArray<uint64_t> b = a;
  b.edit(600) = 1;
  b.edit(607) = 2;
  CHECK(b.marks(itself) == 7);
  CHECK(b.those_marked(3, itself) == std::vector<size_t>{600, 607});
  CHECK(a.those_marked(3, itself).empty());
  b.edit(600) = b.edit(607) = 0;
  CHECK(b.those_marked(3, itself).empty());
  b.resize(100'000);
  b.edit(99'999) = 8;
  CHECK(b.those_marked(8, itself) == std::vector<size_t>{99'999});
  while (b.size() > 50) b.pop_back();
  CHECK(b.marks(itself) == 4);
}
