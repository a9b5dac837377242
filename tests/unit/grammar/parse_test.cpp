#include "grammar/parse.h"

#include <catch2/catch.hpp>

#include "frontend/build_ast.h"
#include "frontend/dump_ast.h"
#include "grammar/indent_lexer.h"
#include "grammar/refused.h"

using namespace ouro;

namespace {

std::string parse(const std::string& text) {
  SourceFile file(1, "t.ouro", text);
  Arena arena;
  Diagnostics diags;
  ast::Module* m = frontend::parse_module(file, arena, diags);
  if (m) return frontend::dump_ast(m);
  REQUIRE(diags.first_error());
  return render(*diags.first_error(), &file);
}

std::string last_line(std::string text) {
  text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

std::string tokens(const std::string& text) {
  SourceFile file(1, "t.ouro", text);
  std::string out;
  for (const grammar::Token& t : grammar::tokenize(file, 0, file.size(), grammar::LexMode::file).tokens)
    out += std::string(out.empty() ? "" : " ") + grammar::token_name(t.kind);
  return out;
}

std::string repeat(const std::string& unit, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += unit;
  return out;
}

}  // namespace

TEST_CASE("indentation becomes tokens") {
  CHECK(tokens("if x:\n  y\n\n  # c\nz") == "IF NAME COLON NEWLINE INDENT NAME NEWLINE DEDENT NAME NEWLINE END");
  CHECK(tokens("x = (1,\n  2)\n") == "NAME EQUAL LPAR NUMBER COMMA NUMBER RPAR NEWLINE END");
  CHECK(tokens("x + \\\n y") == "NAME PLUS NAME NEWLINE END");
  CHECK(tokens("") == "END");
  CHECK(tokens("# only") == "END");
  CHECK(tokens("if x:\n y") == "IF NAME COLON NEWLINE INDENT NAME NEWLINE DEDENT END");
}

TEST_CASE("soft keywords are keywords only where they act") {
  CHECK(tokens("match x:\n case 1: pass\n").substr(0, 46) == "MATCH NAME COLON NEWLINE INDENT CASE NUMBER CO");
  CHECK(tokens("match = 1") == "NAME EQUAL NUMBER NEWLINE END");
  CHECK(tokens("match(x)") == "NAME LPAR NAME RPAR NEWLINE END");
  CHECK(tokens("case = 1") == "NAME EQUAL NUMBER NEWLINE END");
  CHECK(tokens("type = 1") == "NAME EQUAL NUMBER NEWLINE END");
  CHECK(tokens("type X = 1") == "TYPE NAME EQUAL NUMBER NEWLINE END");
}

TEST_CASE("two words are one operator") {
  CHECK(tokens("a not in b is not c") == "NAME NOT_IN NAME IS_NOT NAME NEWLINE END");
  CHECK(tokens("not a in b") == "NOT NAME IN NAME NEWLINE END");
}

TEST_CASE("the bracket of with is found by its as") {
  CHECK(tokens("with (a as b): pass").substr(0, 19) == "WITH WITH_LPAR NAME");
  CHECK(tokens("with (a, b) as c: pass").substr(0, 14) == "WITH LPAR NAME");
}

TEST_CASE("operators nest by precedence") {
  CHECK(parse("-a**-b") ==
        "Module(body=[Expr(value=UnaryOp(op=USub(), operand=BinOp(left=Name(id='a', ctx=Load()), "
        "op=Pow(), "
        "right=UnaryOp(op=USub(), operand=Name(id='b', ctx=Load())))))], type_ignores=[])");
  CHECK(parse("a and b and c").find("BoolOp(op=And(), values=[Name(id='a', ctx=Load()), Name(id='b'") !=
        std::string::npos);
  CHECK(parse("(a and b) and c").find("values=[BoolOp") != std::string::npos);
}

TEST_CASE("limits of nesting are errors") {
  CHECK(parse("x = " + repeat("(", 200) + "1" + repeat(")", 200)).starts_with("Module"));
  CHECK(last_line(parse("x = " + repeat("(", 201))) == "SyntaxError: too many nested parentheses");
  CHECK(last_line(parse("x = " + repeat("([{", 20000))) == "SyntaxError: too many nested parentheses");
  std::string deep;
  for (int i = 0; i < 101; ++i) deep += repeat(" ", i) + "if 1:\n";
  CHECK(last_line(parse(deep)) == "IndentationError: too many levels of indentation");
  CHECK(parse("x = " + repeat("1", 4300)).starts_with("Module"));
  CHECK(last_line(parse("x = " + repeat("1", 4301))).starts_with("SyntaxError: Exceeds the limit (4300 digits)"));
  CHECK(parse("x = 0x" + repeat("f", 5000)).starts_with("Module"));
}

TEST_CASE("chains of any length never overflow the stack") {
  const std::string too_deep = "RecursionError: maximum recursion depth exceeded during compilation\n";
  for (const char* unit : {"1 + ", "- ", "not ", "1 ** ", "1 if 0 else ", "lambda: "})
    CHECK(parse("x = " + repeat(unit, 2900) + "1").starts_with("Module"));
  for (const char* unit : {"1 + ", "- ", "not ", "1 ** "}) CHECK(parse("x = " + repeat(unit, 20000) + "1") == too_deep);
  for (const char* unit : {"1 if 0 else ", "lambda: "})
    CHECK(parse("x = " + repeat(unit, 20000) + "1") == "MemoryError\n");
  for (const char* unit : {".a", "()", "[0]"}) CHECK(parse("x = x" + repeat(unit, 20000)) == too_deep);
  CHECK(parse("if 0: pass\n" + repeat("elif 0: pass\n", 2900)).starts_with("Module"));
  CHECK(parse("if 0: pass\n" + repeat("elif 0: pass\n", 20000)) == too_deep);
  for (const char* unit : {"1 and ", "1 < "}) CHECK(parse("x = " + repeat(unit, 20000) + "1").starts_with("Module"));
  CHECK(parse(repeat("x; ", 20000)).starts_with("Module"));
}

TEST_CASE("an earlier mistake is reported before a later one") {
  CHECK(last_line(parse("1 = x\ny = = 2\n")).starts_with("SyntaxError: cannot assign to literal here"));
  CHECK(last_line(parse("y = = 2\n1 = x\n")) == "SyntaxError: invalid syntax");
}

TEST_CASE("every refused construct is refused with its sentence") {
  struct Row {
    grammar::Refused what;
    const char* source;
  };
  const Row rows[] = {{grammar::Refused::async_def, "async def f(): pass"},
                      {grammar::Refused::async_for, "async for x in y: pass"},
                      {grammar::Refused::async_with, "async with x: pass"},
                      {grammar::Refused::async_comprehension, "[x async for x in y]"},
                      {grammar::Refused::await_expr, "x = await y"},
                      {grammar::Refused::type_statement, "type X = int"},
                      {grammar::Refused::except_star, "try: pass\nexcept* A: pass"},
                      {grammar::Refused::complex_number, "x = 1j"},
                      {grammar::Refused::named_character, "'\\N{BULLET}'"}};
  CHECK(std::size(rows) == grammar::refused_constructs().size());
  for (const Row& r : rows) {
    INFO(r.source);
    CHECK(grammar::refused_row(r.what).what == r.what);
    CHECK(last_line(parse(r.source)) == std::string("SyntaxError: ") + grammar::refused_row(r.what).text);
  }
}

TEST_CASE("bytes that are no text are a syntax error") {
  CHECK(last_line(parse("x = '\xff'"))
            .starts_with("SyntaxError: Non-UTF-8 code starting with '\\xff' in file t.ouro on line 1"));
  CHECK(last_line(parse("# coding: klingon\n")) == "SyntaxError: encoding problem: klingon");
  CHECK(parse("# coding: latin-1\nx = '\xe9'").find("'é'") != std::string::npos);
}

TEST_CASE("an expression is parsed alone") {
  SourceFile good(1, "<string>", "a + 1\n"), bad(2, "<string>", "a = 1");
  Arena arena;
  Diagnostics diags;
  ast::ExprNode* e = frontend::parse_expression(good, arena, diags);
  REQUIRE(e);
  CHECK(frontend::dump_ast(e) == "BinOp(left=Name(id='a', ctx=Load()), op=Add(), right=Constant(value=1))");
  CHECK_FALSE(frontend::parse_expression(bad, arena, diags));
  CHECK(diags.has_errors());
}

TEST_CASE("the tree can be shown") {
  SourceFile file(1, "t.ouro", "x = 1\n");
  grammar::Tree tree;
  REQUIRE_FALSE(grammar::parse(file, grammar::Start::file, 0, file.size(), tree));
  CHECK(grammar::dump_tree(file, tree).starts_with("file_input.stmt.simple_stmts\n"));
  CHECK(grammar::dump_tokens(file, tree.tokens).starts_with("1:0-1:1: NAME 'x'\n1:2-1:3: EQUAL '='\n"));
}
