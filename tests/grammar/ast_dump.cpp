// Prints stages of the front end, for check_ast.py and check_errors.py.
//   ast_dump --stage=ast|positions|tokens|tree FILE...   one block per file, ended by a line "---"
//   ast_dump --time FILE                                 microseconds of the first parse and of ten
//   more
#include <cstdio>
#include <cstring>

#include "frontend/build_ast.h"
#include "frontend/dump_ast.h"
#include "grammar/indent_lexer.h"
#include "grammar/parse.h"
#include "support/trace.h"

using namespace ouro;

namespace {

std::string show(const SourceFile& file, const std::string& stage, Diagnostics& diags) {
  if (stage == "tokens")
    return grammar::dump_tokens(file, grammar::tokenize(file, 0, file.size(), grammar::LexMode::file).tokens);
  if (stage == "tree") {
    grammar::Tree tree;
    if (auto error = grammar::parse(file, grammar::Start::file, 0, file.size(), tree)) diags.report(*error);
    return grammar::dump_tree(file, tree);
  }
  Arena arena;
  ast::Module* m = frontend::parse_module(file, arena, diags);
  if (!m) return {};
  return frontend::dump_ast(m, stage == "positions" ? &file : nullptr) + "\n";
}

int time_parse(const char* path) {
  SourceManager sources;
  const SourceFile* file = sources.load(path);
  if (!file) return 2;
  for (int i = 0; i < 11; ++i) {
    Arena arena;
    Diagnostics diags;
    uint64_t start = now_ns();
    frontend::parse_module(*file, arena, diags);
    std::printf("%s%.0f", i ? " " : "", static_cast<double>(now_ns() - start) / 1000);
  }
  std::printf(" us\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string stage = "ast";
  int failures = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--stage=", 8) == 0) {
      stage = argv[i] + 8;
      continue;
    }
    if (std::strcmp(argv[i], "--time") == 0) return time_parse(argv[i + 1]);
    SourceManager sources;
    Diagnostics diags;
    const SourceFile* file = sources.load(argv[i]);
    if (!file) {
      std::perror(argv[i]);
      return 2;
    }
    std::string text = show(*file, stage, diags);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (const Diagnostic* d = diags.first_error()) {
      std::string message = render(*d, sources);
      std::printf("ERROR %s\n%s", d->code.c_str(), message.c_str());
      ++failures;
    }
    std::printf("---\n");
  }
  return failures ? 1 : 0;
}
