#include "grammar/tree.h"

namespace ouro::grammar {
namespace {

struct TokenRow {
  const char* name;
  const char* text;
};
constexpr TokenRow kTokens[] = {{"END", ""},
#define X(name, text) {#name, text},
                                OURO_TOKENS(X)
#undef X
};
constexpr const char* kRules[] = {
#define X(name) #name,
    OURO_RULES(X)
#undef X
};

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || c == '\'')
      (out += '\\') += c;
    else
      out += c;
  }
  return out + "'";
}

std::string place(const SourceFile& file, uint32_t offset) {
  LineCol at = file.line_col(offset);
  return std::to_string(at.line) + ":" + std::to_string(at.col);
}

std::string token_line(const SourceFile& file, const Token& t) {
  std::string out = token_name(t.kind);
  std::string_view text = file.text(file.span(t.begin, t.end));
  if (!text.empty()) out += " " + quoted(text);
  return out;
}

}  // namespace

const char* token_name(Tok t) { return kTokens[static_cast<int>(t)].name; }
const char* rule_name(Rule r) { return kRules[static_cast<int>(r)]; }

std::string dump_tokens(const SourceFile& file, const std::vector<Token>& tokens) {
  std::string out;
  for (const Token& t : tokens)
    out += place(file, t.begin) + "-" + place(file, t.end) + ": " + token_line(file, t) + "\n";
  return out;
}

std::string dump_tree(const SourceFile& file, const Tree& tree) {
  std::string out;
  std::vector<uint32_t> ends;  // where the open rules end
  bool joined = false;
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& n = tree.nodes[i];
    while (!ends.empty() && ends.back() <= i) ends.pop_back();
    if (!joined) out.append(ends.size() * 2, ' ');
    if (n.is_token) {
      out += token_line(file, tree.tokens[n.first]) + "\n";
      joined = false;
      continue;
    }
    out += rule_name(static_cast<Rule>(n.kind));
    joined = n.next > i + 1 && tree.nodes[i + 1].next == n.next;
    out += joined ? "." : "\n";
    if (!joined) ends.push_back(n.next);
  }
  return out;
}

}  // namespace ouro::grammar
