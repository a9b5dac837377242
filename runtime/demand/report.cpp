#include "runtime/demand/report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/demand/demand.h"
#include "runtime/demand/loop.h"
#include "runtime/demand/sensor.h"
#include "runtime/text/foreign.h"

namespace ouro::runtime {

using nlohmann::json;

namespace {

json amount(double x) { return std::isnan(x) ? json() : json(x); }

json amounts(const std::vector<std::pair<std::string, double>>& all) {
  json out = json::object();
  for (const auto& [goal, x] : all) out[goal] = amount(x);
  return out;
}

json decision(const Loop::Decision& d) {
  return {{"step", d.step},         {"at", d.at},      {"goal", d.goal},
          {"response", d.response}, {"value", d.text}, {"outcome", d.outcome}};
}

json plan(ExecutionPlan p) {
  json out{{"precision", p.precision == Precision::bf16 ? "bf16" : "f32"}, {"device", device_name(p.device)}};
  if (p.temporaries) out["temporaries"] = temporaries_at(p.temporaries);
  if (p.micro_batch) out["micro_batch"] = p.micro_batch;
  return out;
}

}  // namespace

json loop_report(Demands& demands) {
  const Loop::State s = demands.loop().state();
  json out;
  out["steps"] = s.measures.steps;
  out["measures"] = {{"step_time", s.measures.step_time},
                     {"latency", s.measures.latency},
                     {"energy", s.measures.energy},
                     {"memory", s.measures.memory},
                     {"highest_memory", s.measures.highest_memory},
                     {"metrics", s.measures.metrics}};
  out["targets"] = json::object();
  for (const Loop::Target& t : s.targets)
    out["targets"][t.goal] = {{"asked", t.asked},
                              {"target", amount(t.target)},
                              {"measured", amount(t.measured)},
                              {"predicted", amount(t.predicted)},
                              {"met", t.met},
                              {"why", t.why}};
  out["candidates"] = json::array();
  for (const Loop::Tried& t : s.candidates)
    out["candidates"].push_back({{"name", t.name},
                                 {"value", t.text},
                                 {"predicted", amounts(t.predicted)},
                                 {"measured", amounts(t.measured)},
                                 {"remembered", amounts(t.remembered)},
                                 {"cost", t.cost},
                                 {"taken", t.taken},
                                 {"why", t.why}});
  out["decisions"] = json::array();
  for (const Loop::Decision& d : s.decisions) out["decisions"].push_back(decision(d));
  out["vetoed"] = s.vetoed;
  out["pinned"] = s.pinned;
  out["choices"] = json::object();
  for (const Choice& c : s.choices) out["choices"][c.name] = {{"value", c.ways[c.way]}, {"ways", c.ways}};
  out["sensors"] = json::object();
  for (const Sensor* x : sensors()) out["sensors"][x->name] = amount(x->value(s.measures));
  return out;
}

std::string decisions_text(Demands& demands, bool as_json) {
  std::string out;
  for (const Loop::Decision& d : demands.loop().state().decisions)
    out += as_json ? decision(d).dump() + "\n"
                   : fmt::format("{:.3f} s, step {}: {} {}{}: {}\n", d.at, d.step, d.response, d.text,
                                 d.goal.empty() ? "" : ", for " + d.goal, d.outcome);
  return out;
}

json whole_report(Demands& demands) {
  json out = loop_report(demands);
  const Demands::State s = demands.state();
  out["asked"] = json::object();
  for (const DemandRow& r : s.asked)
    if (r.origin != DemandOrigin::standard)
      out["asked"][r.name] = {{"value", text::shown_text(r.value)}, {"by", origin_name(r.origin)}};
  out["threads"] = s.threads;
  out["plan"] = plan(s.wanted);
  out["running"] = plan(s.running);
  out["since"] = s.since;
  out["log"] = json::array();
  for (const std::string& line : s.log) out["log"].push_back(text::shown_text(line));
  return out;
}

}  // namespace ouro::runtime
