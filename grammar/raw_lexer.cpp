#include "grammar/raw_lexer.h"

#include <OuroLexer.h>

#include <array>

namespace ouro::grammar {
namespace {

// The generated lexer caches its automaton's edges for symbols up to 127 only, so all bytes of
// multi-byte characters are shown as 127, which the grammar allows in names, strings and comments.
// A true DEL is shown as 1, which it allows nowhere but in strings and comments.
constexpr std::array<uint8_t, 256> kShown = [] {
  std::array<uint8_t, 256> t{};
  for (int i = 0; i < 256; ++i) t[i] = static_cast<uint8_t>(i < 127 ? i : i == 127 ? 1 : 127);
  return t;
}();

class ByteStream final : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text) : text_(text) {}

  void consume() override { ++at_; }
  size_t LA(ssize_t i) override {
    size_t p = i > 0 ? at_ + static_cast<size_t>(i) - 1 : at_ + static_cast<size_t>(i);
    return i != 0 && p < text_.size() ? kShown[static_cast<uint8_t>(text_[p])] : EOF;
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  size_t index() override { return at_; }
  void seek(size_t index) override { at_ = index; }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return {}; }
  std::string getText(const antlr4::misc::Interval& i) override {
    return std::string(text_.substr(static_cast<size_t>(i.a), static_cast<size_t>(i.b - i.a + 1)));
  }
  std::string toString() const override { return std::string(text_); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// Tok and the generated constants are the same numbers.
#define X(name, text) static_assert(static_cast<size_t>(Tok::name) == OuroLexer::name);
OURO_TOKENS(X)
#undef X

}  // namespace

struct RawLexer::Impl {
  explicit Impl(std::string_view text)
      : stream(text), lexer(&stream), simulator(lexer.getInterpreter<antlr4::atn::LexerATNSimulator>()) {}
  ByteStream stream;
  OuroLexer lexer;
  antlr4::atn::LexerATNSimulator* simulator;
};

RawLexer::RawLexer(std::string_view text) : impl_(std::make_unique<Impl>(text)) {}
RawLexer::~RawLexer() = default;

Tok RawLexer::match(uint32_t begin, uint32_t& end) {
  Impl& m = *impl_;
  end = begin;
  if (begin >= m.stream.size()) return Tok::END;
  m.stream.seek(begin);
  size_t type = m.simulator->match(&m.stream, 0);
  end = static_cast<uint32_t>(m.stream.index());
  return static_cast<Tok>(type);
}

}  // namespace ouro::grammar
