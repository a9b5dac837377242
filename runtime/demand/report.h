// What the loop knows, as JSON: for `ouro ctl PID get --json`, `ouro top --json`, hosts, and `demand.report()`, which
// is made of it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ouro::runtime {

class Demands;

/// steps, measures, targets (the matrix: goal -> asked, target, measured, predicted, met), candidates, decisions,
/// vetoed, pinned, sensors. Any thread.
nlohmann::json loop_report(Demands& demands);
/// The decisions, a line each.
std::string decisions_text(Demands& demands, bool as_json);
/// All of it: loop_report(), and what was asked, threads, plan, running, since, log.
nlohmann::json whole_report(Demands& demands);

}  // namespace ouro::runtime
