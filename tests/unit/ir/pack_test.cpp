// The binary form: every golden text of the lowering comes back the same, spans and all kinds of constants too; damaged
// bytes are refused or give what can be looked at. (tests/unit/frontend holds every script of the corpus against it.)
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "ir/pack.h"
#include "ir/print.h"
#include "ir/read.h"
#include "ir/verify.h"

using namespace ouro;
namespace fs = std::filesystem;

static ir::FunctionRef parsed(std::string_view text) {
  ir::ReadResult r = ir::read(text);
  INFO(r.error);
  REQUIRE(r.function);
  return r.function;
}

// Texts of functions, in the order of their names, so that the seeded damage is the same everywhere.
static std::vector<std::string> golden_texts() {
  std::vector<fs::path> paths;
  for (const auto& e : fs::recursive_directory_iterator(fs::path(OURO_SOURCE_DIR) / "tests/lower"))
    if (e.path().extension() == ".anf") paths.push_back(e.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> out(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) REQUIRE(read_file(paths[i].string(), out[i]));
  return out;
}

static const char* kEverything =
    R"(func @f(%0.x, /, %1.y=z, *%2.rest, %3.k, **%4.kw; cell %5.c, %6.d) name="m.f g" kind=lambda doc="a \"b\"\n" @1:10:40 {
^0:
  %7 = op.add %0, 2.5 unwind ^2(%0) @1:12:15
  %8.t = tuple nan:7ff8000000000001, -inf, 123456789012345678901234567890n, -5, (1, (True, None), ()) @2:1:2
  %9 = call %7 (%0, *%1, key="tail\x00", **%4) unwind ^2(%0) @1:0:4294967295
  %10 = function[&0] (), None, None, %5, %6
  %11 = function[&0] (), None, None, %5, %6
  %12 = call.method["name with space"] %9 (b"\xff\x00", dtype.bf16, Ellipsis, NotImplemented, unbound)
  %13 = update[value x attr w item op.add =] %0, %1, 1
  %14 = unpack.star[65538] %9
  if True ^1(%9) ^3
loop ^1(%15.i):
  jump ^1(%15)
handler ^2(%16, %17):
  raise %16 from None @1:20:30
^3:
  yield %9 ^1 @1:0:1
  func &0 @g(; cell %0.a, %1.b) {
  ^0:
    return -9223372036854775808
  }
}
)";

TEST_CASE("packed_functions_come_back_the_same") {
  std::vector<std::string> texts = golden_texts();
  CHECK(texts.size() > 5);
  texts.push_back(ir::print(*parsed(kEverything)));
  for (const std::string& text : texts) {
    ir::FunctionRef f = parsed(text);
    std::string bytes = ir::pack(*f);
    ir::UnpackResult back = ir::unpack(bytes);
    INFO(back.error);
    REQUIRE(back.function);
    CHECK(ir::print(*back.function) == ir::print(*f));
    CHECK(ir::pack(*back.function) == bytes);
    CHECK(bytes.size() < text.size());
  }
}

TEST_CASE("inner_functions_that_are_one_stay_one") {
  ir::FunctionRef back = ir::unpack(ir::pack(*parsed(kEverything))).function;
  REQUIRE(back);
  std::vector<ir::FunctionRef> codes;
  for (const ir::Constant& c : back->constants)
    if (c.code) codes.push_back(c.code);
  REQUIRE(!codes.empty());
  for (const auto& c : codes) CHECK(c == codes[0]);
}

TEST_CASE("unpacking_puts_spans_into_the_file_asked_for") {
  ir::FunctionRef back = ir::unpack(ir::pack(*parsed(kEverything)), 7).function;
  REQUIRE(back);
  CHECK(back->span == Span{7, 10, 40});
  CHECK(back->blocks[0].lets[1].span == Span{7, 1, 2});
  CHECK(back->blocks[0].lets[3].span == Span{});
}

TEST_CASE("what_is_not_a_packed_function_is_refused") {
  std::string bytes = ir::pack(*parsed(kEverything));
  CHECK(ir::unpack("").error == "not a packed function");
  CHECK(ir::unpack("OANX\1").error == "not a packed function");
  std::string newer = bytes;
  newer[4] = 9;
  CHECK(ir::unpack(newer).error == "packed by version 9");
  CHECK(ir::unpack(bytes + "x").error == "bytes behind the end");
  for (size_t n = 0; n < bytes.size(); ++n) {
    ir::UnpackResult r = ir::unpack(std::string_view(bytes).substr(0, n));
    CHECK(!r.function);
    CHECK(!r.error.empty());
  }
}

TEST_CASE("damaged_bytes_do_no_harm") {
  std::mt19937 random(20);
  std::vector<std::string> texts = golden_texts();
  texts.push_back(kEverything);
  size_t refused = 0, whole = 0;
  for (const std::string& text : texts) {
    std::string bytes = ir::pack(*parsed(text));
    for (int round = 0; round < 300; ++round) {
      std::string bad = bytes;
      for (unsigned k = 0, n = 1 + random() % 3; k < n; ++k)
        bad[5 + random() % (bad.size() - 5)] = static_cast<char>(random());
      ir::UnpackResult r = ir::unpack(bad);
      if (!r.function) {
        ++refused;
        continue;
      }
      ++whole;
      (void)ir::verify(*r.function);
      (void)ir::print(*r.function);
    }
  }
  CHECK(refused > 100);
  CHECK(whole > 10);
}
