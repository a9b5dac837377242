// How a file could not be read or written, for natives that work on files.
#pragma once

#include <string>

namespace ouro::stdlib {

struct FileProblem {
  int error_number = 0;  // errno: an OSError
  std::string text;      // otherwise what is wrong with the contents: a ValueError
  bool ok() const { return error_number == 0 && text.empty(); }

  static FileProblem os(int error_number) { return {error_number, {}}; }
  static FileProblem format(std::string text) { return {0, std::move(text)}; }
};

}  // namespace ouro::stdlib
