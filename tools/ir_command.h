// `ouro ir --stage=… FILE`: prints what a stage of the pipeline makes of a file.
#pragma once

#include <string>

namespace ouro::tools {

// Stages: tokens, tree, ast, anf, code. `file` "-" is standard input, empty means `text`. Returns the exit status.
int print_stage(const std::string& stage, const std::string& file, const std::string& text);

}  // namespace ouro::tools
