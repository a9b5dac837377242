#include "tools/top_command.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/demand/kind.h"
#include "runtime/demand/sensor.h"
#include "support/byte_size.h"
#include "tools/ctl_command.h"

namespace ouro::tools {

namespace {

constexpr auto kPeriod = std::chrono::seconds(1);

std::string shown(const nlohmann::json& amount, std::string_view goal) {
  if (!amount.is_number()) return "-";
  for (const runtime::DemandKind* k : runtime::demand_kinds())
    if (k->name == goal && k->show) return k->show(amount.get<double>());
  return runtime::number_text(amount.get<double>());
}

// What is known, four to a line.
std::string sensors_text(const nlohmann::json& values) {
  std::string out;
  size_t shown = 0;
  for (const runtime::Sensor* x : runtime::sensors()) {
    const auto at = values.find(x->name);
    if (at == values.end() || !at->is_number()) continue;
    const auto amount = at->get<double>();
    const std::string text = x->unit == "bytes" && amount < 1e18 ? byte_size_text(static_cast<int64_t>(amount))
                                                                 : fmt::format("{:.4g}", amount);
    out += fmt::format("{}{} {:<9}", shown % 4 ? "  " : "\n  ", x->name, text);
    ++shown;
  }
  return out + "\n";
}

std::string screen(int pid, const nlohmann::json& r) {
  const auto& m = r["measures"];
  std::string out =
      fmt::format("process {}   {} steps   a step {} (longest {})   memory {} (highest {})   threads {}\n", pid,
                  r["steps"].get<uint64_t>(), runtime::duration_text(m["step_time"].get<double>()),
                  runtime::duration_text(m["latency"].get<double>()), byte_size_text(m["memory"].get<int64_t>()),
                  byte_size_text(m["highest_memory"].get<int64_t>()), r["threads"].get<int>());
  out += "runs with";
  for (const auto& [name, value] : r["running"].items())
    out += fmt::format(" {}={}", name,
                       value.is_number() ? byte_size_text(value.get<int64_t>()) : value.get<std::string>());
  out += fmt::format(" for {:.0f} s\n\n{:<12} {:>10} {:>10} {:>10} {:>10}  met\n", r["since"].get<double>(), "goal",
                     "asked", "target", "promised", "measured");
  for (const auto& [goal, t] : r["targets"].items())
    out += fmt::format("{:<12} {:>10} {:>10} {:>10} {:>10}  {}{}\n", goal, t["asked"].get<std::string>(),
                       shown(t["target"], goal), shown(t["predicted"], goal), shown(t["measured"], goal),
                       t["met"].get<bool>() ? "yes" : "no",
                       t["why"].get<std::string>().empty() ? "" : ": " + t["why"].get<std::string>());
  out += "\nsensors" + sensors_text(r["sensors"]);
  out += "\ndecisions\n";
  const auto& all = r["decisions"];
  for (size_t i = all.size() > 8 ? all.size() - 8 : 0; i < all.size(); ++i)
    out +=
        fmt::format("  step {:<7} {} {}: {}\n", all[i]["step"].get<uint64_t>(), all[i]["response"].get<std::string>(),
                    all[i]["value"].get<std::string>(), all[i]["outcome"].get<std::string>());
  return out;
}

}  // namespace

int top_command(const std::vector<std::string>& args) {
  int pid = 0;
  bool as_json = false, once = false, has_pid = false;
  for (const std::string& a : args) {
    if (a == "--json")
      as_json = true;
    else if (a == "--once")
      once = true;
    else if (!has_pid && read_pid(a, pid))
      has_pid = true;
    else
      return wrong_use("'" + a + "' is not the number of a process, --json or --once");
  }
  if (!has_pid) return wrong_use("top needs the number of a process");
  const bool live = !as_json && !once && ::isatty(STDOUT_FILENO);
  for (;;) {
    std::string answer;
    if (!ask_program(pid, "get --json", answer)) return 1;
    const nlohmann::json report = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
    if (report.is_discarded()) {
      std::fprintf(stderr, "ouro: process %d has given an answer that is none\n", pid);
      return 1;
    }
    if (live) std::fputs("\033[H\033[2J", stdout);
    std::fputs(as_json ? (report.dump() + "\n").c_str() : screen(pid, report).c_str(), stdout);
    if (std::fflush(stdout) != 0) return 1;
    if (once) return 0;
    std::this_thread::sleep_for(kPeriod);
  }
}

}  // namespace ouro::tools
