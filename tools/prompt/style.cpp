#include "tools/prompt/style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "tools/prompt/words.h"

namespace ouro::tools {

namespace {

constexpr std::string_view kReset = "\x1b[0m";

constexpr struct {
  Look look;
  std::string_view escape;
} kLooks[] = {
    {Look::prompt, "\x1b[1;32m"}, {Look::title, "\x1b[1m"}, {Look::note, "\x1b[2m"},    {Look::error, "\x1b[1;31m"},
    {Look::keyword, "\x1b[34m"},  {Look::text, "\x1b[32m"}, {Look::number, "\x1b[36m"}, {Look::comment, "\x1b[2m"},
};

std::string_view variable(const char* name) {
  const char* v = std::getenv(name);
  return v ? v : "";
}

// Behind the string that begins at `at`, which may have three quotes.
size_t end_of_text(std::string_view source, size_t at) {
  const std::string quotes(source.substr(at, 3) == std::string(3, source[at]) ? 3 : 1, source[at]);
  for (size_t i = at + quotes.size(); i < source.size(); ++i) {
    if (source[i] == '\\')
      ++i;
    else if (source.substr(i, quotes.size()) == quotes)
      return i + quotes.size();
    else if (quotes.size() == 1 && source[i] == '\n')
      return i;
  }
  return source.size();
}

bool begins_number(std::string_view source, size_t at) {
  return std::isdigit(static_cast<unsigned char>(source[at])) != 0;
}

}  // namespace

bool terminal_knows_escapes() {
  const std::string_view term = variable("TERM");
  return isatty(STDOUT_FILENO) && !term.empty() && term != "dumb";
}

int terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<int>(size.ws_col, 20);
  return 80;
}

Style Style::of_terminal() {
  Style out;
  out.on_ = terminal_knows_escapes() && variable("NO_COLOR").empty();
  return out;
}

std::string Style::paint(Look look, std::string_view text) const {
  if (!on() || text.empty()) return std::string(text);
  const auto* row = std::ranges::find(kLooks, look, [](const auto& r) { return r.look; });
  return std::string(row->escape) + std::string(text) + std::string(kReset);
}

std::string Style::highlight(std::string_view source) const {
  if (!on()) return std::string(source);
  std::string out;
  for (size_t i = 0; i < source.size();) {
    const size_t begin = i;
    const char c = source[i];
    if (c == '#') {
      i = std::min(source.find('\n', i), source.size());
      out += paint(Look::comment, source.substr(begin, i - begin));
    } else if (c == '"' || c == '\'') {
      i = end_of_text(source, i);
      out += paint(Look::text, source.substr(begin, i - begin));
    } else if (is_name_char(c)) {
      while (i < source.size() && (is_name_char(source[i]) || (begins_number(source, begin) && source[i] == '.'))) ++i;
      const std::string_view word = source.substr(begin, i - begin);
      out += begins_number(source, begin) ? paint(Look::number, word)
             : is_keyword(word)           ? paint(Look::keyword, word)
                                          : std::string(word);
    } else {
      out += c;
      ++i;
    }
  }
  return out;
}

std::string Style::traceback(std::string_view text) const {
  if (!on()) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool names_it = !line.empty() && line[0] != ' ' && !line.ends_with("):") && !line.ends_with("occurred:") &&
                          !line.starts_with("The above exception");
    out += names_it ? paint(Look::error, line) : std::string(line);
    text.remove_prefix(end);
    if (text.empty()) break;
    out += '\n';
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace ouro::tools
