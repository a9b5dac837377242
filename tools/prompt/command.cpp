#include "tools/prompt/command.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/object/suggest.h"
#include "tools/prompt/complete.h"
#include "tools/prompt/shell.h"
#include "tools/prompt/words.h"

namespace ouro::tools {

namespace {

enum class Offers { names, files, modes, commands };  // what Tab completes

struct CommandRow {
  std::string_view name, argument, text;
  Offers offers;
  /// `argument` without blanks around it. False: leave the prompt.
  bool (*run)(Shell& shell, const std::string& argument);
};
constexpr CommandRow kCommands[] = {
    {"help", "[COMMAND]", "what there is, or what one command does", Offers::commands, tell_commands},
    {"time", "STATEMENT", "run a statement and tell how long it took", Offers::names, time_statement},
    {"explain", "[FUNCTION]", "what the compiler made of a function, or of all, and what it left to the interpreter",
     Offers::names, explain_function},
    {"ir", "FUNCTION [STAGE]",
     "a function in the intermediate representation, or in another stage: code, typed, loops, …", Offers::names,
     print_ir},
    {"mode", "[eager|graph|auto]", "how functions run from now on; alone, how they run now", Offers::modes,
     change_mode},
    {"load", "FILE", "run a script here, and keep its names", Offers::files, load_file},
};

constexpr std::string_view kModes[] = {"auto", "eager", "graph"};

struct Parts {
  std::string_view name;
  std::string argument;
  size_t at;  // where the argument begins
};
Parts parts_of(std::string_view text) {
  const size_t colon = text.find(':');
  const size_t end = std::min(text.find_first_of(" \t\r\n", colon), text.size());
  const size_t at = std::min(text.find_first_not_of(" \t\r\n", end), text.size());
  return {text.substr(colon + 1, end - colon - 1), std::string(trimmed(text.substr(at))), at};
}

const CommandRow* find_command(std::string_view name) {
  const auto* row = std::ranges::find(kCommands, name, &CommandRow::name);
  return row == std::end(kCommands) ? nullptr : row;
}

std::string all_commands() {
  std::string out;
  for (const CommandRow& row : kCommands) out += fmt::format("{}:{}", out.empty() ? "" : ", ", row.name);
  return out;
}

std::string not_a_command(std::string_view name) {
  if (name.empty()) return "A colon is followed by a command: " + all_commands() + ".";
  std::vector<std::string_view> names;
  for (const CommandRow& row : kCommands) names.push_back(row.name);
  const std::string_view near = runtime::nearest_name(name, names);
  if (!near.empty()) return fmt::format("There is no command :{}. Did you mean :{}?", name, near);
  return fmt::format("There is no command :{}. There are {}.", name, all_commands());
}

// Files and folders that go on with `typed`; folders end in a slash.
std::vector<std::string> files_for(const std::string& typed) {
  namespace fs = std::filesystem;
  const size_t slash = typed.rfind('/');
  const std::string folder = slash == typed.npos ? "" : typed.substr(0, slash + 1);
  const std::string last = typed.substr(folder.size());
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder.empty() ? "." : folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    const bool inside = it->is_directory(ignored);
    const bool script = name.ends_with(".ouro") || name.ends_with(".py");
    if (name.starts_with(last) && (inside || script) && (name[0] != '.' || !last.empty()))
      out.push_back(folder + name + (inside ? "/" : ""));
  }
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> beginning_with(std::string_view typed, std::vector<std::string> words) {
  std::erase_if(words, [&](const std::string& w) { return !w.starts_with(typed); });
  std::ranges::sort(words);
  return words;
}

}  // namespace

bool is_command(std::string_view text) { return trimmed(text).starts_with(':'); }

bool run_command(Shell& shell, const std::string& text) {
  const Parts parts = parts_of(text);
  const CommandRow* row = find_command(parts.name);
  if (!row) return shell.complain(not_a_command(parts.name)), true;
  if (parts.argument.empty() && !row->argument.starts_with('['))
    return shell.complain(fmt::format("Usage: :{} {}: {}.", row->name, row->argument, row->text)), true;
  return row->run(shell, parts.argument);
}

std::vector<std::string> complete_command(Shell& shell, std::string_view text, size_t& start) {
  const Parts parts = parts_of(text);
  std::vector<std::string> names;
  for (const CommandRow& row : kCommands) names.emplace_back(row.name);
  if (parts.at == text.size() && text.ends_with(parts.name)) {  // still at the name
    start = text.size() - parts.name.size();
    return beginning_with(parts.name, names);
  }
  const CommandRow* row = find_command(parts.name);
  start = parts.at;
  if (!row) return {};
  const std::string typed(text.substr(parts.at));
  switch (row->offers) {
    case Offers::names:
      return complete(shell.session(), shell.module(), text, start);
    case Offers::files:
      return files_for(typed);
    case Offers::modes:
      return beginning_with(typed, {std::begin(kModes), std::end(kModes)});
    case Offers::commands:
      return beginning_with(typed, names);
  }
  return {};
}

bool tell_commands(Shell& shell, const std::string& name) {
  const Style& style = shell.style();
  const auto line = [&](std::string_view what, std::string_view text) {
    return "  " + style.paint(Look::keyword, fmt::format("{:<26}", what)) + fmt::format("{}\n", text);
  };
  const auto usage = [](const CommandRow& row) { return fmt::format(":{} {}", row.name, row.argument); };
  if (!name.empty()) {
    const std::string_view word = name.starts_with(':') ? std::string_view(name).substr(1) : name;
    const CommandRow* row = find_command(word);
    if (!row) return shell.complain(not_a_command(word)), true;
    shell.say(line(usage(*row), row->text));
    return true;
  }
  std::string out = style.paint(Look::title, "Statements") +
                    " run as in a script; the value of an expression is shown, and is _ afterwards.\n";
  out += line("?name, name?", "its signature, its text and its source; help(x) tells all of an object");
  out += style.paint(Look::title, "Commands") + "\n";
  for (const CommandRow& row : kCommands) out += line(usage(row), row.text);
  out += style.paint(Look::title, "Keys") + "\n";
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"Tab", "goes on with a name; at the begin of a line, indents"},
      {"Up, Down, Ctrl-R", "earlier lines, also of earlier sessions; Ctrl-R searches them"},
      {"Enter on an empty line", "ends a block"},
      {"Ctrl-C", "stops the statement, compiled code too; names keep their values"},
      {"Ctrl-D", "ends, as exit does"},
  };
  for (const auto& [key, text] : kKeys) out += line(key, text);
  shell.say(out);
  return true;
}

}  // namespace ouro::tools
