// Unicode tables for names. NFKC as in Unicode Standard Annex 15: decompose fully (compatibility
// forms, Hangul by arithmetic), order combining marks by class, compose canonically.
#include "support/unicode_names.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "support/source.h"

namespace ouro {
inline namespace support {
namespace {

struct Range {
  uint32_t first, last;
};
struct Decomposition {
  uint32_t code_point, offset, length;
};
struct CombiningRange {
  uint32_t first, last, ccc;
};
struct Composite {
  uint32_t first, second, result;
};

#include "support/unicode_names_table.inc"

template <class R, size_t N>
const R* find_range(const R (&table)[N], uint32_t cp) {
  const R* r = std::upper_bound(table, table + N, cp, [](uint32_t c, const R& x) { return c < x.first; });
  return r != table && cp <= r[-1].last ? r - 1 : nullptr;
}

uint32_t combining_class(uint32_t cp) {
  const CombiningRange* r = find_range(kCombining, cp);
  return r ? r->ccc : 0;
}

// Hangul syllables, Unicode Standard 3.12.
constexpr uint32_t kS = 0xAC00, kL = 0x1100, kV = 0x1161, kT = 0x11A7, kVs = 21, kTs = 28, kSs = 11172, kLs = 19;

void decompose(uint32_t cp, std::vector<uint32_t>& out) {
  if (cp - kS < kSs) {
    uint32_t s = cp - kS;
    out.push_back(kL + s / (kVs * kTs));
    out.push_back(kV + s % (kVs * kTs) / kTs);
    if (s % kTs) out.push_back(kT + s % kTs);
    return;
  }
  auto* d = std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), cp,
                             [](const Decomposition& x, uint32_t c) { return x.code_point < c; });
  if (d == std::end(kDecompositions) || d->code_point != cp) return out.push_back(cp);
  out.insert(out.end(), kDecomposedText + d->offset, kDecomposedText + d->offset + d->length);
}

uint32_t compose(uint32_t a, uint32_t b) {
  if (a - kL < kLs && b - kV < kVs) return kS + ((a - kL) * kVs + (b - kV)) * kTs;
  if (a - kS < kSs && (a - kS) % kTs == 0 && b > kT && b - kT < kTs) return a + (b - kT);
  auto* c = std::lower_bound(
      std::begin(kComposites), std::end(kComposites), std::pair(a, b),
      [](const Composite& x, std::pair<uint32_t, uint32_t> p) { return std::pair(x.first, x.second) < p; });
  return c != std::end(kComposites) && c->first == a && c->second == b ? c->result : 0;
}

void order_marks(std::vector<uint32_t>& text) {
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (combining_class(text[i]) != 0) {
      while (end < text.size() && combining_class(text[end]) != 0) ++end;
      std::stable_sort(text.begin() + static_cast<long>(i), text.begin() + static_cast<long>(end),
                       [](uint32_t a, uint32_t b) { return combining_class(a) < combining_class(b); });
    }
    i = end;
  }
}

std::vector<uint32_t> composed(const std::vector<uint32_t>& text) {
  std::vector<uint32_t> out;
  size_t starter = SIZE_MAX;
  uint32_t last_class = 0;
  for (uint32_t cp : text) {
    uint32_t ccc = combining_class(cp);
    bool blocked = starter == SIZE_MAX || (out.size() > starter + 1 && last_class >= ccc);
    uint32_t joined = blocked ? 0 : compose(out[starter], cp);
    if (joined) {
      out[starter] = joined;
      continue;
    }
    out.push_back(cp);
    last_class = ccc;
    if (ccc == 0) starter = out.size() - 1;
  }
  return out;
}

}  // namespace

bool is_xid_start(uint32_t cp) { return find_range(kXidStart, cp) != nullptr; }
bool is_xid_continue(uint32_t cp) { return find_range(kXidContinue, cp) != nullptr; }
bool is_printable(uint32_t cp) { return find_range(kPrintable, cp) != nullptr; }

std::string normalize_name(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; }))
    return std::string(text);
  std::vector<uint32_t> parts;
  for (size_t i = 0; i < text.size();) decompose(next_code_point(text, i), parts);
  order_marks(parts);
  std::string out;
  for (uint32_t cp : composed(parts)) append_utf8(out, cp);
  return out;
}

}  // namespace support
}  // namespace ouro
