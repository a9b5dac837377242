// The share of zeros among weights. The library prunes (stdlib/nn/pruning.ouro) when the demand has changed, and says
// what came of it (Loop::served). A value is a list of parts, the later before the earlier: "0.5,0.9:fc*" asks 0.9 of
// the weights whose names fit fc*, and 0.5 of all others. Behind the amount may stand what is left out together:
// "0.5/units" asks for whole units, "0.9/4x4" for blocks of 4 rows and 4 columns. "auto" leaves the amount to the loop
// (responses/pruning.cpp).
#include <charconv>

#include "runtime/demand/kind.h"

namespace ouro::runtime {

namespace {

constexpr std::string_view kName = "sparsity";

constexpr int kMostSide = 64;  // of a block

bool is_side(std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n >= 1 && n <= kMostSide;
}

bool is_form(std::string_view form) {
  const size_t by = form.find('x');
  return form == "units" ||
         (by != std::string_view::npos && is_side(form.substr(0, by)) && is_side(form.substr(by + 1)));
}

// "0.9", "0.9:fc1.weight", "0.5/units" or "0.9/4x4:fc*"
std::optional<double> amount_of_part(std::string_view part) {
  const size_t colon = part.find(':');
  if (colon != std::string_view::npos && colon + 1 == part.size()) return std::nullopt;
  part = part.substr(0, colon);
  const size_t slash = part.find('/');
  if (slash != std::string_view::npos && !is_form(part.substr(slash + 1))) return std::nullopt;
  const std::optional<double> amount = read_number(part.substr(0, slash));
  return amount && *amount >= 0 && *amount < 1 ? amount : std::nullopt;
}

std::string_view last_part(std::string_view value) {
  const size_t comma = value.rfind(',');
  return comma == std::string_view::npos ? value : value.substr(comma + 1);
}

}  // namespace

extern const DemandKind sparsity_kind;
const DemandKind sparsity_kind{
    .name = kName,
    .values =
        "a share from 0 to below 1, of all weights or of some ('0.9', '0.9:fc*', '0.5,0.9:fc1.weight'), of whole units "
        "('0.5/units') or of blocks ('0.9/4x4')",
    .changes =
        "the weights of smallest magnitude of matrices and convolutions that are trained are zero, and stay so; "
        "'auto': as goals ask for it, while a metric has a floor",
    .relation = DemandKind::Relation::at_least,
    .takes =
        [](std::string_view v) {
          for (; v.find(',') != std::string_view::npos; v = v.substr(0, v.rfind(',')))
            if (!amount_of_part(last_part(v))) return false;
          return amount_of_part(v).has_value();
        },
    .leaves_choice = true,
    .target = [](std::string_view v, const Measures&) { return *amount_of_part(last_part(v)); },
    .measured = [](std::string_view, const Measures& m) { return reported_metric(kName, m); },
    .show = number_text,
};

}  // namespace ouro::runtime
