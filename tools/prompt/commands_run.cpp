// `:time` and `:load`: what runs code.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>

#include "jit/versions/executor.h"
#include "runtime/object/session.h"
#include "support/source.h"
#include "tools/prompt/command.h"
#include "tools/prompt/shell.h"

namespace ouro::tools {

namespace {

// Seconds in a unit that leaves one to three digits before the point.
std::string seconds_text(double seconds) {
  constexpr std::pair<double, std::string_view> kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
  for (const auto& [unit, name] : kUnits)
    if (seconds >= unit) return fmt::format("{:.3g} {}", seconds / unit, name);
  return fmt::format("{:.0f} ns", seconds * 1e9);
}

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

}  // namespace

bool time_statement(Shell& shell, const std::string& statement) {
  jit::JitExecutor* compiler = jit::executor_of(shell.session());
  const uint64_t waited = compiler ? compiler->compile_wait_ns : 0;
  const double processor = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  const bool go_on = shell.run(statement + "\n");
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string text = fmt::format("took {}; the processors worked for {}", seconds_text(took),
                                 seconds_text(processor_seconds() - processor));
  if (compiler && compiler->compile_wait_ns > waited)
    text += fmt::format("; it waited {} for the compiler",
                        seconds_text(static_cast<double>(compiler->compile_wait_ns - waited) / 1e9));
  if (go_on) shell.say(shell.style().paint(Look::note, text));
  return go_on;
}

bool load_file(Shell& shell, const std::string& path) {
  std::error_code ignored;
  std::string name = path;
  if (const char* home = std::getenv("HOME"); home && path.starts_with("~/")) name = home + path.substr(1);
  const std::filesystem::path whole = std::filesystem::absolute(name, ignored);
  if (std::filesystem::is_directory(whole, ignored))
    return shell.complain(fmt::format("{} is a folder; :load takes a script.", path)), true;
  std::string text;
  if (!read_file(whole.string(), text)) {
    if (errno == ENOENT)
      shell.complain(
          fmt::format("There is no file {} in {}.", whole.filename().string(), whole.parent_path().string()));
    else
      shell.complain(fmt::format("{} cannot be read: {}.", path, std::strerror(errno)));
    return true;
  }
  // Modules that stand beside the script are found, as when it is run.
  std::vector<std::string>& folders = shell.session().path;
  const std::string folder = whole.parent_path().string();
  if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  if (const int status = shell.run_file(whole.string(), text))
    shell.complain(fmt::format("{} has ended with status {}.", path, status));
  return true;
}

}  // namespace ouro::tools
