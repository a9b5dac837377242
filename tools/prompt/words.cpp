#include "tools/prompt/words.h"

#include <algorithm>

namespace ouro::tools {

namespace {

constexpr std::string_view kKeywords[] = {"False",  "None",    "True",     "and",   "as",       "assert", "break",
                                          "case",   "class",   "continue", "def",   "del",      "elif",   "else",
                                          "except", "finally", "for",      "from",  "global",   "if",     "import",
                                          "in",     "is",      "lambda",   "match", "nonlocal", "not",    "or",
                                          "pass",   "raise",   "return",   "try",   "while",    "with",   "yield"};

}  // namespace

std::span<const std::string_view> keywords() { return kKeywords; }

bool is_keyword(std::string_view word) { return std::ranges::find(kKeywords, word) != std::end(kKeywords); }

bool is_dotted_name(std::string_view text) {
  while (!text.empty()) {
    const size_t dot = std::min(text.find('.'), text.size());
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || std::isdigit(static_cast<unsigned char>(part[0])) || !std::ranges::all_of(part, is_name_char))
      return false;
    if (dot == text.size()) return true;
    text.remove_prefix(dot + 1);
  }
  return false;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace ouro::tools
