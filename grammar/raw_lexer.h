// OuroLexer.g4 run over bytes: one longest match at a time, with no token objects.
#pragma once

#include <memory>
#include <string_view>

#include "grammar/tree.h"

namespace ouro::grammar {

class RawLexer {
 public:
  explicit RawLexer(std::string_view text);
  ~RawLexer();

  /// The kind of the longest token at `begin`; `end` becomes the offset behind it. END only at the
  /// end of the text.
  Tok match(uint32_t begin, uint32_t& end);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ouro::grammar
