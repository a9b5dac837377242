#include "runtime/demand/remembered.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace ouro::runtime {

using nlohmann::json;

namespace {
constexpr int kFormat = 1;
constexpr size_t kLongest = 256;  // bytes of a name
}  // namespace

const Remembered::Values* Remembered::of(std::string_view response) const {
  const auto at = responses_.find(response);
  return at == responses_.end() ? nullptr : &at->second;
}

const Remembered::Amounts* Remembered::of(std::string_view response, std::string_view value) const {
  const Values* values = of(response);
  if (!values) return nullptr;
  const auto at = values->find(value);
  return at == values->end() ? nullptr : &at->second;
}

bool Remembered::keep(std::string_view response, std::string_view value, const Amounts& measured) {
  if (response.size() > kLongest || value.size() > kLongest || measured.empty()) return false;
  if (!of(response, value)) {
    if (values_ == kMost) return false;
    ++values_;
  }
  Amounts& kept = responses_[std::string(response)][std::string(value)];
  for (const auto& [goal, amount] : measured)
    if (std::isfinite(amount) && goal.size() <= kLongest) kept.insert_or_assign(goal, amount);
  return true;
}

std::string Remembered::text() const {
  return json{{"format", kFormat}, {"responses", responses_}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

Remembered Remembered::read(std::string_view text) {
  Remembered out;
  const json j = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object() || !j.contains("format") || j["format"] != kFormat || !j.contains("responses") ||
      !j["responses"].is_object())
    return out;
  for (const auto& [response, values] : j["responses"].items())
    for (const auto& [value, amounts] : values.items()) {
      Amounts measured;
      if (!values.is_object() || !amounts.is_object()) continue;
      for (const auto& [goal, amount] : amounts.items())
        if (amount.is_number()) measured[goal] = amount.get<double>();
      (void)out.keep(response, value, measured);
    }
  return out;
}

}  // namespace ouro::runtime
