// The precision of contractions, under an error contract (the goal `error`).
//
// What is measured: now and then a step runs a second time from the same state, in the other precision (a shadow run:
// jit/versions/shadow.cpp). The relative difference of what both return is one sample. The contract bounds that
// difference of a single step; it does not bound how far a training run in bf16 drifts from one in f32 over many steps.
//
// While bf16 runs and a sample is above the contract, the program steps back to f32. There the shadow runs go on, in
// bf16, and when enough samples in a row are below half of the contract, bf16 comes back. Each step back asks for four
// times as many samples, so that a model at the border does not change to and fro.
//
// Where nobody asks for a precision, the contract permits bf16: it is tried for a missed time.
#include <algorithm>

#include "runtime/demand/response.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

namespace {

constexpr double kMargin = 0.5;    // of the contract, to come back
constexpr double kQuicker = 0.75;  // of a step's time, where nothing is measured yet
constexpr double kSlower = 1 / kQuicker;
constexpr double kExact = 0.99;  // as a cost: exact numbers are better where no time is asked for

Proposal to_precision(const Situation& now, Precision to) {
  const Precision before = now.plan.precision;
  Proposal p;
  p.text = to == Precision::bf16 ? "bf16" : "f32";
  p.cost = to == Precision::bf16 ? kQuicker : kSlower;
  p.predicted["error"] = to == Precision::bf16 ? now.measures.lowered.worst : 0;
  p.predicted["step_time"] = now.measures.step_time * p.cost;
  p.predicted["latency"] = now.measures.latency * p.cost;
  p.predicted["energy"] = now.measures.energy * p.cost;
  auto choose = [](Precision precision) { return [=](Session& s) { s.demands.choose_precision(precision); }; };
  p.apply = choose(to);
  p.undo = choose(before);
  return p;
}

// Do the samples permit bf16?
bool permitted(const Situation& now) {
  const auto contract = now.wanted.find("error");
  const Measures::Lowered& l = now.measures.lowered;
  return contract != now.wanted.end() && l.samples >= l.needed && l.worst <= kMargin * contract->second;
}

std::optional<Proposal> propose(const Situation& now) {
  const auto contract = now.wanted.find("error");
  if (contract == now.wanted.end() || now.plan.device != DeviceId::cpu) return std::nullopt;
  const bool low = now.plan.precision == Precision::bf16;
  if (low) {
    if (now.measures.lowered.worst <= contract->second) return std::nullopt;
    return to_precision(now, Precision::f32);
  }
  // For a time that is missed: of what a shadow run has shown to be exact enough.
  if (!permitted(now)) return std::nullopt;
  return to_precision(now, Precision::bf16);
}

// Somebody asks for bf16, and it is exact enough again; or nobody asks, and no time asks for it any more.
std::optional<Proposal> relax(const Situation& now) {
  if (now.asked_precision == Precision::bf16 && now.plan.precision == Precision::f32 && permitted(now))
    return to_precision(now, Precision::bf16);
  const bool times =
      now.wanted.contains("step_time") || now.wanted.contains("latency") || now.wanted.contains("energy");
  if (now.asked_precision || now.plan.precision == Precision::f32 || times) return std::nullopt;
  Proposal p = to_precision(now, Precision::f32);
  p.cost = kExact;
  return p;
}

std::string limit(const Situation& now) {
  if (now.plan.precision == Precision::f32) return "the step runs in f32 already";
  return {};
}

}  // namespace

extern const Response precision_response;
const Response precision_response{
    .name = "precision",
    .moves = "error step_time latency energy",
    .what =
        "under an error contract: contractions go back to f32 where bf16 is not exact enough, and to bf16 where it is",
    .propose = propose,
    .relax = relax,
    .limit = limit,
};

}  // namespace ouro::runtime
