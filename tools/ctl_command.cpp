#include "tools/ctl_command.h"

#include <charconv>
#include <cstdio>

#include <fmt/format.h>

#include "runtime/demand/control.h"
#include "runtime/demand/kind.h"

namespace ouro::tools {

int wrong_use(const std::string& what) {
  std::fprintf(stderr, "ouro: %s\nTry `ouro help'.\n", what.c_str());
  return 2;
}

bool read_pid(const std::string& number, int& pid) {
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), pid);
  return error == std::errc() && end == number.data() + number.size() && pid >= 1;
}

bool ask_program(int pid, const std::string& request, std::string& answer) {
  std::string reply;
  if (runtime::control_request(pid, request, reply) && reply.starts_with("ok\n")) {
    answer = reply.substr(3);
    return true;
  }
  while (reply.ends_with('\n')) reply.pop_back();
  if (reply.starts_with("error: ")) reply.erase(0, 7);
  std::fprintf(stderr, "ouro: %s\n", reply.c_str());
  return false;
}

namespace {

// A word of `ouro ctl PID`, and how many others follow it.
struct Verb {
  std::string_view name;
  size_t least, most;
  std::string_view needs;
};
constexpr Verb kVerbs[] = {{"get", 0, 1, ""},
                           {"log", 0, 1, ""},
                           {"set", 1, 64, "NAME=VALUE"},
                           {"veto", 1, 1, "the name of a response"},
                           {"pin", 1, 1, "the name of a response"},
                           {"allow", 1, 1, "the name of a response"},
                           {"do", 1, 1, "the name of a response"}};

void list_demands() {
  for (const runtime::DemandKind* k : runtime::demand_kinds())
    std::fputs(fmt::format("{:<10} {}{}\n           {}\n", k->name, k->is_goal() ? "goal: " : "", k->values, k->changes)
                   .c_str(),
               stdout);
}

}  // namespace

int ctl_command(const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == "demands") return list_demands(), 0;
  if (args.size() < 2) return wrong_use("ctl needs the number of a process, and get or set NAME=VALUE...");
  int pid = 0;
  if (!read_pid(args[0], pid)) return wrong_use("'" + args[0] + "' is not the number of a process");
  const Verb* verb = nullptr;
  for (const Verb& v : kVerbs)
    if (args[1] == v.name) verb = &v;
  if (!verb) return wrong_use("ctl gets, logs, sets, vetoes, pins, allows or does; it cannot '" + args[1] + "'");
  const size_t n = args.size() - 2;
  if (verb->most == 1 && verb->needs.empty() && (n > 1 || (n == 1 && args[2] != "--json")))
    return wrong_use(fmt::format("ctl {} takes nothing else but --json", verb->name));
  if (n < verb->least || n > verb->most) return wrong_use(fmt::format("ctl {} needs {}", verb->name, verb->needs));
  std::string request = args[1], answer;
  for (size_t i = 2; i < args.size(); ++i) {
    if (args[i].find_first_of(" \n") != std::string::npos)
      return wrong_use(fmt::format("'{}' is not {}", args[i], verb->needs));
    request += " " + args[i];
  }
  if (!ask_program(pid, request, answer)) return 1;
  std::fputs(answer.c_str(), stdout);
  return 0;
}

}  // namespace ouro::tools
