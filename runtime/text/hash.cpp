#include "runtime/text/hash.h"

#include <vector>

#include "runtime/text/utf8.h"

namespace ouro::runtime::text {

int64_t hash_str(std::string_view utf8, bool ascii) {
  if (ascii) return hash_bytes(utf8.data(), utf8.size());
  std::vector<uint32_t> points;
  points.reserve(utf8.size());
  for (uint32_t c : Points(utf8)) points.push_back(c);
  return support::hash_points(points);
}

}  // namespace ouro::runtime::text
