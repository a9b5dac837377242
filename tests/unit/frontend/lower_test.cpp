// AST → ANF: golden texts (tests/lower/*.ouro beside *.anf; OURO_BLESS=1 writes them), and for
// every script of tests/lang: the lowered module verifies, and its text reads back as the same
// function, and so do its packed bytes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "frontend/module.h"
#include "ir/pack.h"
#include "ir/prim.h"
#include "ir/print.h"
#include "ir/read.h"
#include "ir/verify.h"

using namespace ouro;
namespace fs = std::filesystem;

static const fs::path kTests = fs::path(OURO_SOURCE_DIR) / "tests";

static std::vector<fs::path> scripts(const fs::path& below) {
  std::vector<fs::path> out;
  if (!fs::exists(below)) return out;
  for (const auto& e : fs::recursive_directory_iterator(below))
    if (e.path().extension() == ".ouro") out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

static std::string contents(const fs::path& p) {
  std::string s;
  read_file(p.string(), s);
  return s;
}

static ir::FunctionRef compile(const fs::path& p, SourceManager& sources, std::string& error,
                               bool interactive = false) {
  const SourceFile* file = sources.load(p.string());
  REQUIRE(file);
  Diagnostics diags;
  ir::FunctionRef f = frontend::compile_module(*file, diags, {.interactive = interactive});
  if (!f && diags.first_error()) error = render(*diags.first_error(), sources);
  return f;
}

TEST_CASE("lowering_matches_its_golden_text") {
  bool bless = std::getenv("OURO_BLESS") != nullptr;
  for (const fs::path& p : scripts(kTests / "lower")) {
    INFO(p.string());
    SourceManager sources;
    std::string error;
    ir::FunctionRef f = compile(p, sources, error, p.filename() == "interactive.ouro");
    INFO(error);
    REQUIRE(f);
    std::string text = ir::print(*f, {.spans = false});
    fs::path golden = fs::path(p).replace_extension(".anf");
    if (bless) std::ofstream(golden) << text;
    CHECK(text == contents(golden));
  }
}

TEST_CASE("lowered_scripts_verify_and_round_trip") {
  size_t done = 0;
  for (const char* folder : {"lang", "lower"}) {
    for (const fs::path& p : scripts(kTests / folder)) {
      INFO(p.string());
      SourceManager sources;
      std::string error;
      ir::FunctionRef f = compile(p, sources, error);
      if (!f) {
        INFO(error);
        CHECK(p.string().find("syntax_error") != std::string::npos);
        continue;
      }
      CHECK(ir::verify(*f) == "");
      std::string text = ir::print(*f);
      ir::ReadResult again = ir::read(text);
      INFO(again.error);
      REQUIRE(again.function);
      CHECK(ir::print(*again.function) == text);
      ir::FunctionRef unpacked = ir::unpack(ir::pack(*f)).function;
      REQUIRE(unpacked);
      CHECK(ir::print(*unpacked) == text);
      ++done;
    }
  }
  CHECK(done > 20);
}

TEST_CASE("lowering_a_long_script_is_quick") {
  std::string text;
  for (int i = 0; i < 25; ++i) {
    std::string n = std::to_string(i);
    text += "def f" + n + "(a, b=" + n + "):\n    xs = [a * i for i in range(b)]\n    for x in xs:\n        if x > " +
            n + ": a += x\n    return a\n";
  }
  SourceManager sources;
  const SourceFile& file = sources.add("long.ouro", text);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto begin = std::chrono::steady_clock::now();
    Diagnostics diags;
    REQUIRE(frontend::compile_module(file, diags));
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  WARN("125 lines: " << best << " ms");
  CHECK(best < 200);
}

TEST_CASE("displays_and_calls_of_any_length_lower") {
  constexpr int kCount = 70000;  // more than a let can count
  std::string items;
  for (int i = 0; i < kCount; ++i) items += "x,";
  SourceManager sources;
  const SourceFile& file =
      sources.add("long.ouro", "x = 1\na = [" + items + "]\nb = (" + items + ")\nf(" + items + ")\n");
  Diagnostics diags;
  ir::FunctionRef f = frontend::compile_module(file, diags);
  REQUIRE(f);
  CHECK(ir::verify(*f) == "");
  size_t loads = 0, operands = 0;
  for (const ir::Let& l : f->blocks[0].lets) {
    loads += l.op == ir::prim::global_get;
    operands += l.op == ir::prim::list ? l.nargs : l.op == ir::prim::list_append;
  }
  CHECK(loads == 3 * kCount + 1);
  CHECK(operands == 3 * kCount);
}
