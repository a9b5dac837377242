#include "tools/attach_command.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/ctl_command.h"
#include "tools/prompt/command.h"
#include "tools/prompt/read_cell.h"

namespace ouro::tools {

namespace {

bool run_there(int pid, const std::string& text) {
  std::string answer;
  if (!ask_program(
          pid,
          "run " + nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace),
          answer))
    return false;
  std::fputs(answer.c_str(), stdout);
  return std::fflush(stdout) == 0;
}

}  // namespace

int attach_command(const std::vector<std::string>& args) {
  int pid = 0;
  if (args.empty()) return wrong_use("attach needs the number of a process");
  if (!read_pid(args[0], pid)) return wrong_use("'" + args[0] + "' is not the number of a process");
  if (args.size() == 3 && args[1] == "-c") return run_there(pid, args[2] + "\n") ? 0 : 1;
  if (args.size() > 1) return wrong_use("attach takes nothing else but -c CODE");
  std::string answer;
  if (!ask_program(pid, "get", answer)) return 1;
  auto lines = make_line_source(
      history_file(), [](std::string_view, size_t&) { return std::vector<std::string>(); }, Style::of_terminal());
  if (lines->interactive())
    std::fputs(fmt::format("Process {}. Statements run there, between two of its steps. Ctrl-D leaves it alone.\n", pid)
                   .c_str(),
               stdout);
  std::string text;
  while (read_cell(*lines, text)) {
    if (text.empty()) continue;
    if (asks_to_leave(text)) break;
    if (is_question(text) || is_command(text)) {
      std::fputs("Only statements run there: help(x) tells what x is.\n", stderr);
      continue;
    }
    if (!run_there(pid, text)) return 1;
  }
  return 0;
}

}  // namespace ouro::tools
