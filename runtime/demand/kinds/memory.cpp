#include "runtime/demand/kind.h"
#include "support/byte_size.h"

namespace ouro::runtime {

namespace {

constexpr double kLeast = 1 << 20;
constexpr std::string_view kAvailable = "available";

std::optional<double> to_bytes(std::string_view v) {
  uint64_t bytes = 0;
  if (v.ends_with(".0")) v.remove_suffix(2);  // a float of the script: 1e9
  if (!read_byte_size(v, bytes) || static_cast<double>(bytes) < kLeast) return std::nullopt;
  return static_cast<double>(bytes);
}

}  // namespace

extern const DemandKind memory_kind;
const DemandKind memory_kind{
    .name = "memory",
    .values =
        "bytes from 1M on ('600M', '2G'), a share of the highest use so far ('60%'), or 'available': as much as the "
        "machine and its control groups have left",
    .changes = "what values and compiled steps hold after a step is to stay within it; no bit of any result",
    .relation = DemandKind::Relation::at_most,
    .takes = [](std::string_view v) { return v == kAvailable || to_bytes(v).has_value() || read_share(v).has_value(); },
    .target =
        [](std::string_view v, const Measures& m) {
          if (v == kAvailable) return m.allowance;
          if (const std::optional<double> bytes = to_bytes(v)) return *bytes;
          return m.highest_memory ? *read_share(v) * static_cast<double>(m.highest_memory) : kUnknownAmount;
        },
    .measured = [](std::string_view,
                   const Measures& m) { return m.memory ? static_cast<double>(m.memory) : kUnknownAmount; },
    .follows = [](std::string_view v) { return v == kAvailable; },
    .show = [](double bytes) { return byte_size_text(static_cast<int64_t>(bytes)); },
};

}  // namespace ouro::runtime
