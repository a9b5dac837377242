// Threads: fewer of them, where the processor time of a step is too much, or where they mostly wait for each other.
//
// Waking threads and waiting for the last of them takes processor time, and where kernels are short more time than is
// won. How much depends on the model and on what else the machine does, so little is promised: the loop tries half of
// the threads, measures, and goes back where that brings nothing. What it measured is remembered. No bit of any result
// changes. Where somebody asks for `threads`, the number is theirs.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/demand/kind.h"
#include "runtime/demand/loop.h"
#include "runtime/demand/response.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

namespace {

constexpr double kSaved = 0.9;      // of the processor time, with half of the threads
constexpr double kQuicker = 0.95;   // of the step's time, where threads mostly wait
constexpr double kAtWork = 1.05;    // cores: more than one has something to do
constexpr double kBadlyUsed = 0.6;  // of the threads
constexpr double kExact = 0.99;     // as a cost: all threads are better where nobody asks for less

std::string text_of(int threads) { return fmt::format("threads={}", threads); }

bool missed(const Situation& now, std::string_view goal, double measured) {
  const auto target = now.wanted.find(goal);
  return target != now.wanted.end() && measured > target->second;
}
bool time_missed(const Situation& now) {
  return missed(now, "step_time", now.measures.step_time) || missed(now, "latency", now.measures.latency);
}

// A time is missed, more than one core has something to do, and most of the time not all of them have.
bool badly_used(const Situation& now) {
  const double busy = now.measures.energy / now.measures.step_time;
  return time_missed(now) && busy > kAtWork && busy < kBadlyUsed * now.threads;
}

Proposal to_threads(const Situation& now, int threads) {
  const double ratio = static_cast<double>(threads) / now.threads;
  const double step = now.measures.step_time, busy = step > 0 ? now.measures.energy / step : 0;
  Proposal p;
  p.text = text_of(threads);
  if (threads < now.threads)  // at most `threads` cores do what `busy` do now
    p.cost = badly_used(now) ? kQuicker : std::max(1.0, kSaved * busy / threads);
  else
    p.cost = std::max(1 / ratio, kSaved);
  p.predicted["energy"] = now.measures.energy * (threads < now.threads ? kSaved : 1 / kSaved);
  p.predicted["step_time"] = step * p.cost;
  p.predicted["latency"] = now.measures.latency * p.cost;
  auto choose = [](int to) { return [to](Session& s) { s.demands.loop().choose_threads(to); }; };
  p.apply = choose(threads < now.most_threads ? threads : 0);
  p.undo = choose(now.threads < now.most_threads ? now.threads : 0);
  return p;
}

bool may(const Situation& now) { return now.most_threads > 1 && now.measures.energy > 0 && now.measures.step_time > 0; }

std::optional<Proposal> propose(const Situation& now) {
  if (!may(now)) return std::nullopt;
  const bool energy = missed(now, "energy", now.measures.energy);
  if (time_missed(now) && !energy && now.threads < now.most_threads)
    return to_threads(now, std::min(2 * now.threads, now.most_threads));
  if (now.threads < 2 || !(energy || badly_used(now))) return std::nullopt;
  return to_threads(now, (now.threads + 1) / 2);
}

// Where the goals leave room for all of them.
std::optional<Proposal> relax(const Situation& now) {
  if (!may(now) || now.threads == now.most_threads) return std::nullopt;
  Proposal p = to_threads(now, now.most_threads);
  for (const auto& [goal, amount] : p.predicted)
    if (const auto target = now.wanted.find(goal); target != now.wanted.end() && amount > target->second)
      return std::nullopt;
  p.cost = kExact;
  return p;
}

std::string limit(const Situation& now) {
  if (now.most_threads == 0) return "somebody asks for the number of threads";
  if (now.threads == 1) return "one thread runs";
  return {};
}

std::string in_force(const Situation& now, std::string_view) { return text_of(now.threads); }

std::optional<Proposal> again(const Situation& now, std::string_view text) {
  if (!may(now)) return std::nullopt;
  const std::optional<double> n = read_number(text.substr(text.find('=') + 1));
  if (!n || *n < 1 || *n > now.most_threads) return std::nullopt;
  return to_threads(now, static_cast<int>(*n));
}

}  // namespace

extern const Response threads_response;
const Response threads_response{
    .name = "threads",
    .moves = "energy step_time latency",
    .what = "kernels run with fewer threads, where these take more processor time than they are worth; no bit changes",
    .propose = propose,
    .relax = relax,
    .limit = limit,
    .in_force = in_force,
    .again = again,
};

}  // namespace ouro::runtime
