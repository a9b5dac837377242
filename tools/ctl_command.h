// `ouro ctl PID get | set NAME=VALUE... | veto, pin, allow or do RESPONSE`: the demands of a running program, and its
// responses.
#pragma once

#include <string>
#include <vector>

namespace ouro::tools {

/// Exit status: 0, 1 when the program refused or does not answer, 2 for a wrong command line.
int ctl_command(const std::vector<std::string>& args);

// For commands that talk to a running program.
/// Prints what is wrong with the command line; 2.
int wrong_use(const std::string& what);
bool read_pid(const std::string& number, int& pid);
/// The program's answer. False: it refused or does not answer, and the error has been printed.
bool ask_program(int pid, const std::string& request, std::string& answer);

}  // namespace ouro::tools
