#include "tools/prompt/cell.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

namespace ouro::tools {
namespace {

std::string_view first_word(std::string_view line) {
  size_t i = 0;
  while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
  size_t begin = i;
  while (i < line.size() && (std::isalnum(static_cast<unsigned char>(line[i])) || line[i] == '_')) ++i;
  return line.substr(begin, i - begin);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool opens_block(std::string_view word) {
  return is_one_of(word, {"if", "while", "for", "def", "class", "try", "with"});
}

bool leaves_block(std::string_view word) { return is_one_of(word, {"return", "raise", "break", "continue", "pass"}); }

// Moves i behind the string that starts at text[i]; false if a triple-quoted one, or a line that
// ends in a backslash, has no end.
bool skip_string(std::string_view text, size_t& i) {
  const char quote = text[i];
  const bool triple = text.substr(i, 3) == std::string(3, quote);
  i += triple ? 3 : 1;
  while (i < text.size()) {
    if (text[i] == '\\') {
      i += 2;
    } else if (triple ? text.substr(i, 3) == std::string(3, quote) : text[i] == quote) {
      i += triple ? 3 : 1;
      return true;
    } else if (!triple && text[i] == '\n') {
      return true;  // an error, for the parser to tell
    } else {
      ++i;
    }
  }
  return !triple && !text.ends_with("\\\n");
}

}  // namespace

CellState cell_state(std::string_view text) {
  CellState state;
  int depth = 0;
  bool first = true;
  char last = 0;          // last character of the logical line that is no blank
  size_t line_start = 0;  // of the logical line
  auto end_line = [&](size_t next) {
    std::string_view line = text.substr(line_start, next - line_start);
    line_start = next;
    if (is_blank(line)) return;
    state.decorated = line[0] == '@';
    state.blanks = line.substr(0, line.find_first_not_of(" \t"));
    state.begins_block = last == ':';
    state.ends_block = leaves_block(first_word(line));
    if (first) {
      state.block = last == ':' || line[0] == '@' || opens_block(first_word(line));
      first = false;
    }
    last = 0;
  };
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
      continue;
    }
    if (c == '"' || c == '\'') {
      last = c;
      if (!skip_string(text, i)) {
        state.open = true;
        return state;
      }
      continue;
    }
    if (c == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
      i += 2;
      state.open = i >= text.size();
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth < 0) return {};  // an error: let it be told
    if (c == '\n' && depth == 0) end_line(i + 1);
    if (!std::isspace(static_cast<unsigned char>(c))) last = c;
    ++i;
  }
  if (line_start < text.size() && depth == 0) end_line(text.size());
  if (depth > 0) state.open = true;
  return state;
}

std::string indent_after(std::string_view text) {
  constexpr size_t kStep = 4;
  const CellState state = cell_state(text);
  if (state.open) return {};
  std::string out(state.blanks);
  if (state.begins_block) return out + std::string(kStep, ' ');
  if (state.ends_block && out.ends_with(std::string(kStep, ' '))) out.resize(out.size() - kStep);
  return out;
}

bool is_blank(std::string_view line) {
  for (char c : line) {
    if (c == '#') return true;
    if (!std::isspace(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

bool continues_block(std::string_view line) {
  if (is_blank(line) || line[0] == ' ' || line[0] == '\t') return true;
  const std::string_view word = first_word(line);
  return word == "else" || word == "elif" || word == "except" || word == "finally";
}

}  // namespace ouro::tools
