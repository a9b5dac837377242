// The share of zeros among weights. The library prunes (stdlib/nn/pruning.ouro) when the demand has changed, and says
// what came of it (Loop::served). A value is a list of parts, the later before the earlier: "0.5,0.9:fc*" asks 0.9 of
// the weights whose names fit fc*, and 0.5 of all others.
#include "runtime/demand/kind.h"

namespace ouro::runtime {

namespace {

constexpr std::string_view kName = "sparsity";

// "0.9" or "0.9:fc1.weight"
std::optional<double> amount_of_part(std::string_view part) {
  const size_t colon = part.find(':');
  if (colon != std::string_view::npos && colon + 1 == part.size()) return std::nullopt;
  const std::optional<double> amount = read_number(part.substr(0, colon));
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
    .values = "a share from 0 to below 1, of all weights or of some ('0.9', '0.9:fc*', '0.5,0.9:fc1.weight')",
    .changes = "the weights of smallest magnitude of matrices and convolutions that are trained are zero, and stay so",
    .relation = DemandKind::Relation::at_least,
    .takes =
        [](std::string_view v) {
          for (; v.find(',') != std::string_view::npos; v = v.substr(0, v.rfind(',')))
            if (!amount_of_part(last_part(v))) return false;
          return amount_of_part(v).has_value();
        },
    .target = [](std::string_view v, const Measures&) { return *amount_of_part(last_part(v)); },
    .measured = [](std::string_view, const Measures& m) { return reported_metric(kName, m); },
    .show = number_text,
};

}  // namespace ouro::runtime
