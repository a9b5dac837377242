// The kinds of demands: one row each, in a file of its own in kinds/. From the row follow what scripts, `ouro ctl` and
// hosts may ask for, the words of errors, the table of docs/demand.md, and the target matrix of the loop.
//
// A setting says how the program is to run: it goes into the plan, or to the threads. A goal says what is to come of
// it: the loop (loop.h) measures it and looks for responses (response.h) while it is not met.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/demand/measures.h"
#include "runtime/demand/plan.h"

namespace ouro::runtime {

class Devices;

// What settings come to.
struct Draft {
  int threads = 0;
  ExecutionPlan plan;
  uint32_t chosen_micro_batch = 0;  // by a response
};

struct DemandKind {
  enum class Relation : uint8_t { setting, at_most, at_least };

  std::string_view name;
  std::string_view values;   // what it takes: "a number from 1 to 1024"
  std::string_view changes;  // what it is for
  Relation relation = Relation::setting;
  bool (*takes)(std::string_view value) = nullptr;
  bool leaves_choice = false;  // "auto" asks for it, too: the program is to choose. Of others it takes the demand back
  bool names_way = false;      // its values are the ways of the library's choice of that name (choice.h)
  // Why this machine does not do it; empty: it does.
  std::string (*refusal)(std::string_view value, Devices& devices) = nullptr;
  // Of a setting; null: who has asked for the value reads it.
  void (*put)(std::string_view value, Draft& draft) = nullptr;
  // Of a goal, in its unit: what is wanted and what is measured. NaN: not known yet.
  double (*target)(std::string_view value, const Measures& m) = nullptr;
  double (*measured)(std::string_view name, const Measures& m) = nullptr;
  bool (*follows)(std::string_view value) = nullptr;  // this target moves with the machine; null: none does
  std::string (*show)(double amount) = nullptr;
  std::string_view unmeasured;  // why a goal is not measured, where it is not

  bool is_goal() const { return relation != Relation::setting; }
};

/// All rows, in the order of their names.
std::span<const DemandKind* const> demand_kinds();

// For the rows.
inline constexpr double kUnknownAmount = std::numeric_limits<double>::quiet_NaN();
/// "10ms", "2.5s", "500us", or seconds without a unit; more than none.
std::optional<double> read_duration(std::string_view text);
std::string duration_text(double seconds);
/// The row of a goal for what a step takes of time, of any kind.
template <double Measures::*measure>
constexpr DemandKind duration_goal(std::string_view name, std::string_view values, std::string_view changes) {
  return {
      .name = name,
      .values = values,
      .changes = changes,
      .relation = DemandKind::Relation::at_most,
      .takes = [](std::string_view v) { return read_duration(v).has_value(); },
      .target = [](std::string_view v, const Measures&) { return *read_duration(v); },
      .measured = [](std::string_view, const Measures& m) { return m.*measure > 0 ? m.*measure : kUnknownAmount; },
      .show = duration_text,
  };
}
/// "60%", of more than none and at most all.
std::optional<double> read_share(std::string_view text);
std::optional<double> read_number(std::string_view text);
std::string number_text(double amount);
/// What the script has reported last under a name.
double reported_metric(std::string_view name, const Measures& m);

}  // namespace ouro::runtime
