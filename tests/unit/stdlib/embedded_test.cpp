// The library inside the program: every module is there, its code is what its text compiles to, and
// unpacking it is quick enough for an import.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>

#include "frontend/module.h"
#include "ir/pack.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "stdlib/embedded.h"

using namespace ouro;

TEST_CASE("embedded_modules_hold_what_their_texts_say") {
  size_t done = 0;
  for (const stdlib::EmbeddedModule& m : stdlib::embedded_modules()) {
    INFO(m.path);
    SourceManager sources;
    const SourceFile& file = sources.add(std::string(m.path), m.text);
    CHECK(file.text() == m.text);  // spans count in the decoded text
    Diagnostics diags;
    ir::FunctionRef compiled = frontend::compile_module(file, diags);
    ir::UnpackResult unpacked = ir::unpack(m.packed, file.id());
    INFO(unpacked.error);
    REQUIRE(compiled);
    REQUIRE(unpacked.function);
    CHECK(ir::verify(*unpacked.function) == "");
    // (The files of operations stand there without their decorators and annotations: tools/stage0/rows.h.)
    if (!m.name.starts_with("ops.")) CHECK(ir::print(*unpacked.function) == ir::print(*compiled));
    ++done;
  }
  CHECK(done > 15);
}

TEST_CASE("embedded_modules_are_found_by_name") {
  REQUIRE(stdlib::find_embedded("nn"));
  CHECK(stdlib::find_embedded("nn")->is_package);
  REQUIRE(stdlib::find_embedded("nn.linear"));
  CHECK(stdlib::find_embedded("nn.linear")->path == "nn/linear.ouro");
  CHECK(!stdlib::find_embedded("nn.no_such"));
  CHECK(!stdlib::find_embedded(""));
}

TEST_CASE("unpacking_a_module_is_quick") {
  for (const stdlib::EmbeddedModule& m : stdlib::embedded_modules()) {
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
      auto begin = std::chrono::steady_clock::now();
      REQUIRE(ir::unpack(m.packed).function);
      std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
    }
    double lines = 100 + static_cast<double>(std::count(m.text.begin(), m.text.end(), '\n'));
    INFO(m.path << ": " << best << " us");
    CHECK(best < 20 * lines);  // measured 0.3 us a line; sanitizers and busy machines included
  }
}
