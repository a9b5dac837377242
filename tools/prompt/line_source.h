// Where the prompt's lines come from: a terminal with libedit (history, completion, editing), or
// any other standard input, read line by line without prompts.
//
// Text that is pasted comes at once, and what it says must not depend on blank lines in it: the terminal is asked to
// mark it (bracketed paste); where it does not, lines that are there already when one has ended are taken for pasted.
//
// A line of a block begins with blanks that nobody has typed. They give way to those of who brings his own: pasted text
// that begins with a blank, and a blank that is typed as the first key. So what is pasted, or sent by a program, is
// never indented twice.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/prompt/style.h"

namespace ouro::tools {

enum class LineEnd { line, end_of_input, interrupted };

class LineSource {
 public:
  virtual ~LineSource() = default;
  // The next line, with its newline if it had one.
  virtual LineEnd read(const char* prompt, std::string& line) = 0;
  // The blanks that the next line to be typed begins with.
  virtual void indent(std::string) {}
  // The first of the lines to come, if it is known to be there; null at the end. Of a terminal: what was pasted.
  virtual const std::string* peek() = 0;
  virtual bool interactive() const = 0;
};

// All ways to go on with a word at the end of `text`: whole words, and in `start` where they begin.
using Completer = std::function<std::vector<std::string>(std::string_view text, size_t& start)>;

// A terminal if standard input and output are one. History is kept in `history_file` (empty:
// nowhere). `style` is that of the prompts.
std::unique_ptr<LineSource> make_line_source(const std::string& history_file, Completer completer, const Style& style);

}  // namespace ouro::tools
