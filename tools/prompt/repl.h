// The prompt: reads a statement, runs it, shows its value, until Ctrl-D or exit(). Lines that begin with `:` are
// commands (command.h), `?name` and `name?` questions (about.h).
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::tools {

// Statements run in the module __main__ through the same pipeline as files. The last value that is not None is
// shown and kept in `_`. An error or Ctrl-C ends the statement, never the prompt. The caller has
// set up the session (natives, paths, Ctrl-C as Session::kInterrupt). Returns the exit status.
int run_repl(runtime::Session& s);

}  // namespace ouro::tools
