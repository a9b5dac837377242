// filetest [--bless] [DIR or FILE...]: runs the tests of passes, tests/ir/**/*.anf.
//
//   ; run: PASS [PASS...]        a file may have several comment lines first; `read-error` expects the reader's
//   message, func @f(...) { ... }         `verify-error` the verifier's ; --- expected text, or message
//
// --bless writes what came out as what is expected. Prints ok or FAIL per file; the last line counts.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ir/opt/pass.h"
#include "ir/print.h"
#include "ir/read.h"
#include "ir/verify.h"
#include "support/source.h"

using namespace ouro;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSeparator = "\n; ---\n";

struct Test {
  std::vector<std::string> run;
  std::string input, expected;
};

bool parse_test(const std::string& text, Test& t) {
  size_t run = text.find("; run:"), cut = text.find(kSeparator);
  if (run == std::string::npos) return false;
  size_t eol = text.find('\n', run);
  std::istringstream words(text.substr(run + 6, eol - run - 6));
  for (std::string w; words >> w;) t.run.push_back(w);
  if (cut == std::string::npos)
    t.input = text + (text.ends_with('\n') ? "" : "\n");
  else
    t.input = text.substr(0, cut + 1), t.expected = text.substr(cut + kSeparator.size());
  return true;
}

std::string outcome(const Test& t) {
  ir::ReadResult r = ir::read(t.input);
  if (!r.function) return "read error: " + r.error + "\n";
  std::string errors = ir::verify(*r.function);
  if (!errors.empty()) return errors;
  for (const std::string& name : t.run) {
    const ir::PassFn* pass = ir::find_pass(name);
    if (!pass) return "no such pass: " + name + "\n";
    r.function = (*pass)(r.function);
    errors = ir::verify(*r.function);
    if (!errors.empty()) return "after " + name + ":\n" + errors + ir::print(*r.function);
    ir::ReadResult again = ir::read(ir::print(*r.function));
    if (!again.function) return "does not read back: " + again.error + "\n" + ir::print(*r.function);
    if (ir::print(*again.function) != ir::print(*r.function))
      return "reads back as something else:\n" + ir::print(*again.function);
  }
  return ir::print(*r.function);
}

}  // namespace

int main(int argc, char** argv) {
  bool bless = false;
  std::vector<fs::path> roots;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--bless")
      bless = true;
    else
      roots.push_back(argv[i]);
  }
  if (roots.empty()) roots.push_back("tests/ir");
  std::vector<fs::path> files;
  for (const fs::path& root : roots) {
    if (fs::is_regular_file(root))
      files.push_back(root);
    else if (fs::is_directory(root))
      for (const auto& e : fs::recursive_directory_iterator(root))
        if (e.path().extension() == ".anf") files.push_back(e.path());
  }
  std::sort(files.begin(), files.end());
  int passed = 0, failed = 0;
  for (const fs::path& path : files) {
    std::string text;
    Test t;
    if (!read_file(path.string(), text) || !parse_test(text, t)) {
      std::printf("FAIL %s (no `; run:` line)\n", path.c_str()), ++failed;
      continue;
    }
    std::string got = outcome(t);
    if (bless && got != t.expected) {
      std::ofstream(path) << t.input.substr(0, t.input.size() - 1) << kSeparator << got;
      std::printf("blessed %s\n", path.c_str());
    }
    bool ok = bless || got == t.expected;
    ++(ok ? passed : failed);
    std::printf("%s %s\n", ok ? "ok" : "FAIL", path.c_str());
    if (!ok) std::printf("--- expected\n%s--- got\n%s", t.expected.c_str(), got.c_str());
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
