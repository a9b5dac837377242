#include <charconv>

#include "runtime/demand/kind.h"

namespace ouro::runtime {

namespace {

uint32_t to_rows(std::string_view text) {
  int32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n > 0 ? static_cast<uint32_t>(n) : 0;
}

}  // namespace

extern const DemandKind micro_batch_kind;
const DemandKind micro_batch_kind{
    .name = "micro_batch",
    .values = "a number of rows from 1 on",
    .changes =
        "a compiled step works on so many rows of its batch at a time and adds up what they give, in order; "
        "'auto': as a goal asks for it",
    .takes = [](std::string_view v) { return to_rows(v) > 0; },
    .leaves_choice = true,
    .put = [](std::string_view v, Draft& d) { d.plan.micro_batch = v == "auto" ? d.chosen_micro_batch : to_rows(v); },
};

}  // namespace ouro::runtime
