#include "tools/ctl_command.h"

#include <charconv>
#include <cstdio>

#include "runtime/demand/control.h"

namespace ouro::tools {

int ctl_command(const std::vector<std::string>& args) {
  auto wrong = [](const std::string& what) {
    std::fprintf(stderr, "ouro: %s\nTry `ouro help'.\n", what.c_str());
    return 2;
  };
  if (args.size() < 2) return wrong("ctl needs the number of a process, and get or set NAME=VALUE...");
  int pid = 0;
  const std::string& number = args[0];
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), pid);
  if (error != std::errc() || end != number.data() + number.size() || pid < 1)
    return wrong("'" + number + "' is not the number of a process");
  if (args[1] != "get" && args[1] != "set") return wrong("ctl gets or sets; it cannot '" + args[1] + "'");
  if (args[1] == "get" && args.size() > 2) return wrong("ctl get takes nothing else");
  if (args[1] == "set" && args.size() < 3) return wrong("ctl set needs NAME=VALUE");
  std::string request = args[1];
  for (size_t i = 2; i < args.size(); ++i) {
    if (args[i].find_first_of(" \n") != std::string::npos) return wrong("'" + args[i] + "' is not NAME=VALUE");
    request += " " + args[i];
  }
  std::string reply;
  bool good = runtime::control_request(pid, request, reply) && reply.starts_with("ok\n");
  if (good) {
    std::fputs(reply.c_str() + 3, stdout);
    return 0;
  }
  while (reply.ends_with('\n')) reply.pop_back();
  if (reply.starts_with("error: ")) reply.erase(0, 7);
  std::fprintf(stderr, "ouro: %s\n", reply.c_str());
  return 1;
}

}  // namespace ouro::tools
