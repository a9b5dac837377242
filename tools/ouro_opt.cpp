// ouro_opt [PASS...] [FILE]: reads ANF text (from FILE or stdin), runs the passes, prints the result.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "ir/opt/pass.h"
#include "ir/print.h"
#include "ir/read.h"
#include "ir/verify.h"
#include "support/source.h"

using namespace ouro;

static int usage() {
  std::puts("usage: ouro_opt [PASS...] [FILE]\npasses:");
  for (const ir::Pass& p : ir::passes())
    std::printf("  %-14s %s\n", std::string(p.name).c_str(), std::string(p.doc).c_str());
  return 2;
}

static bool sound(const ir::Function& f, const char* when) {
  std::string errors = ir::verify(f);
  if (!errors.empty()) std::fprintf(stderr, "%s%s", errors.c_str(), when);
  return errors.empty();
}

int main(int argc, char** argv) {
  std::string text;
  bool have_file = false;
  std::vector<ir::PassFn> passes;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") return usage();
    if (const ir::PassFn* p = ir::find_pass(argv[i]))
      passes.push_back(*p);
    else if (have_file || !read_file(argv[i], text))
      return std::fprintf(stderr, "ouro_opt: no pass and no file: %s\n", argv[i]), 2;
    else
      have_file = true;
  }
  if (!have_file) text.assign(std::istreambuf_iterator<char>(std::cin), {});
  ir::ReadResult r = ir::read(text);
  if (!r.function) return std::fprintf(stderr, "ouro_opt: %s\n", r.error.c_str()), 1;
  if (!sound(*r.function, "(input)\n")) return 1;
  for (ir::PassFn p : passes) {
    r.function = p(r.function);
    if (!sound(*r.function, "(after a pass)\n")) return 1;
  }
  std::fputs(ir::print(*r.function).c_str(), stdout);
}
