// Base class of the generated parser: builds the neutral Tree while ANTLR's code recognises,
// without ANTLR's own tree, token objects, recovery or prediction. Included by generated code;
// nothing else outside this folder may include it.
#pragma once

#include <antlr4-runtime.h>

#include <vector>

#include "grammar/tree.h"

namespace ouro::grammar {

/// Thrown through the generated parser when it cannot go on.
struct ParseStop {
  uint32_t token;  // the token that did not fit
  bool too_deep;
};

/// CPython's parser gives up (MemoryError) at 6000 nested rules; ours are fewer per construct.
inline constexpr size_t kMaxRuleDepth = 4500;

/// A token stream that knows only kinds.
class KindStream final : public antlr4::TokenStream {
 public:
  explicit KindStream(const std::vector<Token>& tokens) : tokens_(tokens), dummy_(1, "") {}

  size_t LA(ssize_t i) override {
    size_t p = at + static_cast<size_t>(i) - 1;
    if (p >= tokens_.size() || tokens_[p].kind == Tok::END) return antlr4::Token::EOF;
    return static_cast<size_t>(tokens_[p].kind);
  }
  void consume() override { ++at; }
  size_t index() override { return at; }
  void seek(size_t index) override { at = static_cast<uint32_t>(index); }
  size_t size() override { return tokens_.size(); }
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  std::string getSourceName() const override { return {}; }
  antlr4::Token* LT(ssize_t) override { return &dummy_; }
  antlr4::Token* get(size_t) const override { return const_cast<antlr4::CommonToken*>(&dummy_); }
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  std::string getText(const antlr4::misc::Interval&) override { return {}; }
  std::string getText() override { return {}; }
  std::string getText(antlr4::RuleContext*) override { return {}; }
  std::string getText(antlr4::Token*, antlr4::Token*) override { return {}; }

  uint32_t at = 0;

 private:
  const std::vector<Token>& tokens_;
  antlr4::CommonToken dummy_;
};

}  // namespace ouro::grammar

class TreeParser : public antlr4::Parser {
 public:
  explicit TreeParser(antlr4::TokenStream* input);

  /// Where nodes go; set before parsing.
  std::vector<ouro::grammar::TreeNode>* nodes = nullptr;
  /// Rules that are open, as indices into nodes.
  std::vector<uint32_t> open;
  /// What `open` was when the parse stopped.
  std::vector<uint32_t> failed_open;

  antlr4::Token* match(size_t type) override;
  antlr4::Token* consume() override;
  void enterRule(antlr4::ParserRuleContext* ctx, size_t state, size_t rule) override;

 protected:
  void exitRule();  // hides Parser's: generated code calls this one

 private:
  ouro::grammar::KindStream& stream() { return static_cast<ouro::grammar::KindStream&>(*_input); }
  void leaf(size_t type);
};
