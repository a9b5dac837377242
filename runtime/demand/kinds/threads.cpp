#include <charconv>

#include "runtime/demand/kind.h"

namespace ouro::runtime {

namespace {

constexpr int kMostThreads = 1024;

int to_threads(std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n <= kMostThreads ? n : 0;
}

}  // namespace

extern const DemandKind threads_kind;
const DemandKind threads_kind{
    .name = "threads",
    .values = "a number from 1 to 1024",
    .changes = "threads of kernels, from the next operation on; no bit of any result",
    .takes = [](std::string_view v) { return to_threads(v) > 0; },
    .put = [](std::string_view v, Draft& d) { d.threads = to_threads(v); },
};

}  // namespace ouro::runtime
