// The commands of the prompt: lines that begin with a colon. Each is a row: its name, what it takes, its text in
// `:help`, what Tab offers for its argument, and the function. The functions stand in commands_*.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ouro::tools {

class Shell;

bool is_command(std::string_view text);
/// False: it asked to leave.
bool run_command(Shell& shell, const std::string& text);
/// As complete() (complete.h), of a line that is a command.
std::vector<std::string> complete_command(Shell& shell, std::string_view text, size_t& start);

// The functions of the rows.
bool tell_commands(Shell& shell, const std::string& name);
bool time_statement(Shell& shell, const std::string& statement);
bool load_file(Shell& shell, const std::string& path);
bool explain_function(Shell& shell, const std::string& name);
bool print_ir(Shell& shell, const std::string& name_and_stage);
bool change_mode(Shell& shell, const std::string& mode);

}  // namespace ouro::tools
