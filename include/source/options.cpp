#include "include/source/options.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "include/source/core.h"
#include "runtime/tensor/kernels.h"
#include "runtime/text/foreign.h"

namespace ouro {
inline namespace v0 {

namespace {

bool has_nul(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), [](const std::string& t) { return t.find('\0') != t.npos; });
}

}  // namespace

std::string problem_of(const Options& o) {
  if (o.mode != Mode::eager && o.mode != Mode::graph && o.mode != Mode::automatic)
    return fmt::format("mode is eager, graph or automatic, not {}", static_cast<int>(o.mode));
  if (o.threads < 0 || o.threads > 1024) return fmt::format("threads is a number from 0 to 1024, not {}", o.threads);
  if (o.memory && o.memory < runtime::kLeastMemory)
    return fmt::format("memory is 0, or a number of bytes from {} on, not {}", runtime::kLeastMemory, o.memory);
  if (!std::isfinite(o.time) || o.time < 0) return fmt::format("time is a number of seconds, not {}", o.time);
  if (o.recursion < 1) return fmt::format("recursion is a number from 1 on, not {}", o.recursion);
  if (!runtime::is_processor(o.cpu))
    return fmt::format("cpu is native, x86-64-v2, x86-64-v3 or x86-64-v4, not '{}'", runtime::text::shown_text(o.cpu));
  if (has_nul(o.path)) return "a folder of path holds a NUL";
  if (has_nul(o.argv)) return "an argument of argv holds a NUL";
  return {};
}

runtime::Options runtime_options(const Options& o) {
  runtime::Options r;
  r.mode = o.mode == Mode::eager   ? runtime::Mode::eager
           : o.mode == Mode::graph ? runtime::Mode::graph
                                   : runtime::Mode::auto_;
  r.threads = o.threads;
  r.memory = std::min(o.memory, runtime::kMostMemory);
  r.time = o.time;
  r.steps = o.steps;
  r.sense = true;
  r.cpu = o.cpu;
  return r;
}

}  // namespace v0
}  // namespace ouro
