// The executor's part in how many versions a function has.
//
//   eight                      each is code, and a call looks at the guards of one after the other
//   one more for each          that has served some calls more: what differs comes again, such as the lengths of
//                              sentences
//   none for a while           where no call has used the last versions: what differs will hardly come again (trees,
//                              dicts with other keys each time, lists of lists). The wait grows with each unused one
//   one in place of another    where there is no room, after many calls that fit none: a program that comes to rest
//                              late, such as one that fills a queue first, is compiled
#include <algorithm>
#include <cmath>

#include "ir/grad/reverse.h"
#include "jit/specialise/spans.h"
#include "jit/versions/executor.h"
#include "runtime/interpreter/frame.h"

namespace ouro::jit {

using runtime::Session;

// Those of this plan, but for superseded ones, of which the oldest are dropped when there are many.
size_t JitExecutor::count_versions(Session& s, FunctionVersions& f) {
  for (const auto& v : f.versions) v->superseded = v->superseded || f.pins.superseded(v->made->access);
  for (size_t i = f.versions.size(); i-- > 0 && f.versions.size() > 2 * most_versions(f);)
    if (f.versions[i]->superseded && f.versions[i]->state != Version::State::compiling)
      f.versions.erase(f.versions.begin() + static_cast<ptrdiff_t>(i));
  return static_cast<size_t>(std::ranges::count_if(
      f.versions, [&](const auto& v) { return !v->superseded && (v->placed || v->demands == s.demands.plan()); }));
}

size_t JitExecutor::most_versions(const FunctionVersions& f) {
  const auto comes_again = [](const auto& v) { return v->fitted > kCallsForOneMore; };
  return std::min(kMaxVersions + static_cast<size_t>(std::ranges::count_if(f.versions, comes_again)), kMostVersions);
}

bool JitExecutor::has_room(Session& s, FunctionVersions& f) {
  if (f.full.empty()) return true;
  if (count_versions(s, f) < most_versions(f)) {
    f.full.clear();
    return true;
  }
  if (f.misses >= f.misses_to_replace && f.replaced_in_vain < kMostInVain) replace_oldest(s, f);
  return f.full.empty();
}

void JitExecutor::replace_oldest(Session& s, FunctionVersions& f) {
  const auto replaceable = [&](const std::shared_ptr<Version>& v) {
    return !v->superseded && v->state.load(std::memory_order_acquire) != Version::State::compiling &&
           (v->placed || v->demands == s.demands.plan());
  };
  auto oldest = f.versions.end();
  for (auto v = f.versions.begin(); v != f.versions.end(); ++v)
    if (replaceable(*v) && (oldest == f.versions.end() || (*v)->last_call < (*oldest)->last_call)) oldest = v;
  if (oldest == f.versions.end()) return;
  if (f.misses_to_replace > kMissesToReplace)  // the newest one was made so
    f.replaced_in_vain = f.versions.front()->fitted > 1 ? 0 : f.replaced_in_vain + 1;
  if (f.replaced_in_vain == kMostInVain) return;
  f.versions.erase(oldest);
  f.full.clear();
  f.misses_to_replace *= 2;
}

// Does a function call itself inside of it, as one that walks over a tree does?
static bool is_recursive(const FunctionVersions& f) {
  return std::ranges::any_of(f.versions, [](const auto& v) { return v->made->recursive; });
}

// Is it called by a function that is compiled, for other trees?
bool JitExecutor::is_part_of_walk(const runtime::Frame& frame) const {
  bool found = false;
  runtime::each_caller(frame, [&](const ir::Function& code) {
    const auto at = index_.find(&code);
    found = found || (at != index_.end() && std::ranges::any_of(at->second->functions, [](const FunctionVersions* f) {
                        return is_recursive(*f);
                      }));
    return !found;
  });
  return found;
}

bool JitExecutor::backs_off(Session& s, const FunctionVersions& f) const {
  const auto is_unused = [](const auto& v) {
    return !v->superseded && v->fitted < 2 && v->state != Version::State::failed;
  };
  const auto unused = std::ranges::count_if(f.versions, is_unused);
  if (unused < 2) return false;
  // In the mode graph by calls, so that each run of a script makes the same versions. What forms call has compiled
  // forms of its own.
  if (s.options.mode != runtime::Mode::auto_) {
    const auto most = ir::grad::is_forward_form(*f.code) ? kUnusedForms
                      : is_recursive(f)                  ? kUnusedRecursive
                                                         : kUnusedInGraph;
    return unused >= most && f.misses < kMissesToReplace << 2 * (unused - most);
  }
  const Version& newest = **std::ranges::find_if(f.versions, is_unused);
  if (newest.state.load(std::memory_order_acquire) == Version::State::compiling) return true;
  // The script waits for the specialiser, and not for the rest.
  const double cost = 10 * newest.specialise_ms + newest.compile_ms;
  return ms_since(newest.made_at) < cost * std::exp2(static_cast<double>(unused - 1));
}

}  // namespace ouro::jit
