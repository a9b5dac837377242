#include "grammar/tree_parser.h"
#include "support/forever.h"

using ouro::grammar::kMaxRuleDepth;
using ouro::grammar::ParseStop;
using ouro::grammar::TreeNode;

namespace {

// The first error ends the parse: it is the one CPython reports.
class StopAtError final : public antlr4::ANTLRErrorStrategy {
 public:
  void reset(antlr4::Parser*) override {}
  antlr4::Token* recoverInline(antlr4::Parser* p) override { stop(p); }
  void recover(antlr4::Parser* p, std::exception_ptr) override { stop(p); }
  void sync(antlr4::Parser*) override {}
  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser*) override {}
  void reportError(antlr4::Parser* p, const antlr4::RecognitionException&) override { stop(p); }

  [[noreturn]] static void stop(antlr4::Parser* p) {
    auto* tree_parser = static_cast<TreeParser*>(p);
    tree_parser->failed_open = tree_parser->open;
    throw ParseStop{static_cast<uint32_t>(p->getTokenStream()->index()), false};
  }
};

}  // namespace

TreeParser::TreeParser(antlr4::TokenStream* input) : antlr4::Parser(input) {
  static const auto& strategy = ouro::support::forever(std::make_shared<StopAtError>());  // has no state
  setBuildParseTree(false);
  setErrorHandler(strategy);
}

void TreeParser::leaf(size_t type) {
  uint32_t at = stream().at;
  uint32_t next = static_cast<uint32_t>(nodes->size()) + 1;
  nodes->push_back({true, static_cast<uint8_t>(type), at, at + 1, next});
  ++stream().at;
}

antlr4::Token* TreeParser::match(size_t type) {
  if (stream().LA(1) != type) StopAtError::stop(this);
  if (type != antlr4::Token::EOF) leaf(type);
  return nullptr;
}

antlr4::Token* TreeParser::consume() {
  leaf(stream().LA(1));
  return nullptr;
}

void TreeParser::enterRule(antlr4::ParserRuleContext* ctx, size_t state, size_t rule) {
  if (open.size() >= kMaxRuleDepth) {
    failed_open = open;
    throw ParseStop{stream().at, true};
  }
  setState(state);
  _ctx = ctx;
  open.push_back(static_cast<uint32_t>(nodes->size()));
  nodes->push_back({false, static_cast<uint8_t>(rule), stream().at, 0, 0});
}

void TreeParser::exitRule() {
  TreeNode& n = (*nodes)[open.back()];
  n.last = stream().at;
  n.next = static_cast<uint32_t>(nodes->size());
  open.pop_back();
  setState(_ctx->invokingState);
  _ctx = static_cast<antlr4::ParserRuleContext*>(_ctx->parent);
}
