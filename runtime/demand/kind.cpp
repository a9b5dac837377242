#include "runtime/demand/kind.h"

#include <charconv>

#include <fmt/format.h>

namespace ouro::runtime {

// One for each file of kinds/ (runtime/CMakeLists.txt makes the list).
#define OURO_ROW(name) extern const DemandKind name##_kind;
#include "demand_kinds.inc"
#undef OURO_ROW

std::span<const DemandKind* const> demand_kinds() {
  static constexpr const DemandKind* kRows[] = {
#define OURO_ROW(name) &name##_kind,
#include "demand_kinds.inc"
#undef OURO_ROW
  };
  return kRows;
}

std::optional<double> read_number(std::string_view text) {
  double n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(n)) return std::nullopt;
  return n;
}

std::optional<double> read_share(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  const std::optional<double> n = read_number(text.substr(0, text.size() - 1));
  if (!n || !(*n > 0) || *n > 100) return std::nullopt;
  return *n / 100;
}

std::optional<double> read_duration(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"", 1}};
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::optional<double> n = read_number(text.substr(0, text.size() - unit.size()));
    if (!n || !(*n > 0)) return std::nullopt;
    return *n * seconds;
  }
  return std::nullopt;
}

std::string number_text(double amount) { return fmt::format("{:.6g}", amount); }

double reported_metric(std::string_view name, const Measures& m) {
  const auto at = m.metrics.find(name);
  return at == m.metrics.end() ? kUnknownAmount : at->second;
}

std::string duration_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g}s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g}ms", seconds * 1e3);
  return fmt::format("{:.3g}us", seconds * 1e6);
}

}  // namespace ouro::runtime
