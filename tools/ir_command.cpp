#include "tools/ir_command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "frontend/build_ast.h"
#include "frontend/dump_ast.h"
#include "frontend/module.h"
#include "grammar/indent_lexer.h"
#include "grammar/parse.h"
#include "ir/print.h"
#include "runtime/interpreter/flatten.h"
#include "runtime/object/ops.h"

namespace ouro::tools {

namespace {

using Printer = bool (*)(const SourceFile&, Diagnostics&, std::string& out);

bool tokens(const SourceFile& file, Diagnostics& diags, std::string& out) {
  grammar::TokenList list = grammar::tokenize(file, 0, file.size(), grammar::LexMode::file);
  if (list.error) diags.report(*list.error);
  out = grammar::dump_tokens(file, list.tokens);
  return !list.error;
}
bool tree(const SourceFile& file, Diagnostics& diags, std::string& out) {
  grammar::Tree t;
  if (auto error = grammar::parse(file, grammar::Start::file, 0, file.size(), t)) {
    diags.report(*error);
    return false;
  }
  out = grammar::dump_tree(file, t);
  return true;
}
bool ast_(const SourceFile& file, Diagnostics& diags, std::string& out) {
  Arena arena;
  ast::Module* m = frontend::parse_module(file, arena, diags);
  if (!m) return false;
  out = frontend::dump_ast(m, &file) + "\n";
  return true;
}
bool anf(const SourceFile& file, Diagnostics& diags, std::string& out) {
  ir::FunctionRef f = frontend::compile_module(file, diags);
  if (f) out = ir::print(*f);
  return f != nullptr;
}
void code_of_all(runtime::Session& s, const ir::FunctionRef& f, std::string& out) {
  out += "; " + f->qualname.str() + "\n" + runtime::disassemble(*runtime::flatten(s, f));
  for (const ir::Constant& c : f->constants)
    if (c.kind == ir::Constant::Kind::code) code_of_all(s, c.code, out);
}
bool code(const SourceFile& file, Diagnostics& diags, std::string& out) {
  ir::FunctionRef f = frontend::compile_module(file, diags);
  if (!f) return false;
  runtime::Session s;
  runtime::SessionScope scope(s);
  code_of_all(s, f, out);
  return true;
}

constexpr struct {
  const char* name;
  Printer print;
} kStages[] = {{"tokens", tokens}, {"tree", tree}, {"ast", ast_}, {"anf", anf}, {"code", code}};

}  // namespace

int print_stage(const std::string& stage, const std::string& file, const std::string& text) {
  Printer print = nullptr;
  for (const auto& row : kStages)
    if (stage == row.name || (stage.empty() && std::strcmp(row.name, "anf") == 0)) print = row.print;
  if (!print) {
    std::fprintf(
        stderr, "ouro: no stage '%s'; there are tokens, tree, ast, anf, code, typed, plan, loops, llvm, asm, cl, ptx\n",
        stage.c_str());
    return 2;
  }
  SourceManager sources;
  const SourceFile* source = nullptr;
  if (file == "-") {
    std::string all;
    char buffer[4096];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) all.append(buffer, n);
    source = &sources.add("<stdin>", all);
  } else if (!file.empty()) {
    source = sources.load(file);
  } else {
    source = &sources.add("<string>", text);
  }
  if (!source) {
    std::fprintf(stderr, "ouro: can't open file '%s': [Errno %d] %s\n", file.c_str(), errno, std::strerror(errno));
    return 2;
  }
  Diagnostics diags;
  std::string out;
  bool ok = print(*source, diags, out);
  std::fwrite(out.data(), 1, out.size(), stdout);
  if (ok) return 0;
  if (const Diagnostic* d = diags.first_error()) std::fputs(render(*d, sources).c_str(), stderr);
  return 1;
}

}  // namespace ouro::tools
