// Colours of the prompt, where the terminal has them.
//
// A colour is an SGR escape (ECMA-48, `\x1b[31m`) of the eight old colours, which every theme of a terminal maps to
// something readable. There are none where standard output is no terminal, where TERM is `dumb` or not set, and where
// NO_COLOR is set (no-color.org). The
// library's pictures go by the same (stdlib/plot/terminal.ouro).
#pragma once

#include <string>
#include <string_view>

namespace ouro::tools {

enum class Look { prompt, title, note, error, keyword, text, number, comment };

class Style {
 public:
  Style() = default;
  /// Of standard output as it is now.
  static Style of_terminal();

  bool on() const { return on_; }
  /// `text` with its colour, or as it is.
  std::string paint(Look look, std::string_view text) const;
  /// A piece of source text: its keywords, texts, numbers and comments.
  std::string highlight(std::string_view source) const;
  /// What an exception prints: the lines that name it, in the colour of errors.
  std::string traceback(std::string_view text) const;

 private:
  bool on_ = false;
};

/// Is standard output a terminal that knows escapes?
bool terminal_knows_escapes();
/// Columns of the terminal; 80 where there is none.
int terminal_width();

}  // namespace ouro::tools
