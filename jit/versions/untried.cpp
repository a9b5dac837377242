#include "jit/versions/untried.h"

namespace ouro::jit {

Untried::Untried(const std::deque<std::unique_ptr<FunctionVersions>>& functions, const Of& expected_ms,
                 const Of& times) {
  for (const auto& f : functions) look(*f, expected_ms, times);
}

Untried::Entry& Untried::look(const FunctionVersions& f, const Of& expected_ms, const Of& times) {
  auto [at, fresh] = entries_.try_emplace(&f);
  Entry& e = at->second;  // (a function that calls itself gets here again: that part of its time is not open)
  if (!fresh) return e;
  const double scale = times(f);
  double open = 0;
  for (const TimeUnder& u : f.under) {
    const double ms = scale * static_cast<double>(u.ns) / 1e6;
    e.ms += ms;
    if (!u.by) {
      open += ms;
      continue;
    }
    const Entry& by = look(*u.by, expected_ms, times);
    const bool unseen = by.ms == 0;  // no call of it was timed
    if (!by.is_worth()) open += ms * (unseen ? 1 : by.open_ms / by.ms);
  }
  e.open_ms = open;
  if (f.refused.empty() && f.cost.seen()) e.expected_ms = expected_ms(f);
  return e;
}

}  // namespace ouro::jit
