#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/arena.h"
#include "support/diag.h"
#include "support/intern.h"
#include "support/small_vec.h"
#include "support/source.h"
#include "support/trace.h"
#include "support/unicode_names.h"

using namespace ouro;

TEST_CASE("lines and columns count bytes") {
  SourceFile f(1, "f", "ab\n\xc3\xa9x\n");
  CHECK(f.line_count() == 3);
  CHECK(f.line_col(0) == LineCol{1, 0});
  CHECK(f.line_col(2) == LineCol{1, 2});
  CHECK(f.line_col(3) == LineCol{2, 0});
  CHECK(f.line_col(5) == LineCol{2, 2});
  CHECK(f.line_col(7) == LineCol{3, 0});
  CHECK(f.line_text(2) == "\xc3\xa9x");
  CHECK(f.line_text(3) == "");
  CHECK(f.line_text(9) == "");
  CHECK(f.text(f.span(0, 2)) == "ab");
}

TEST_CASE("bytes become text as Python decodes them") {
  CHECK(SourceFile(1, "f", "\xef\xbb\xbfx\r\ny\rz").text() == "x\ny\nz");
  CHECK(SourceFile(1, "f", "# -*- coding: latin-1 -*-\n\xe9").text() == "# -*- coding: latin-1 -*-\n\xc3\xa9");
  CHECK(SourceFile(1, "f", "x = 1\n# coding: latin-1\n").decode_error() == "");
  CHECK(SourceFile(1, "f", "# vim: set fileencoding=nope :\n").decode_error() == "encoding problem: nope");
  CHECK(SourceFile(1, "f", "\xed\xa0\x80").decode_error() != "");  // a surrogate
  CHECK(SourceFile(1, "f", "\xc0\x80").decode_error() != "");      // overlong
}

TEST_CASE("code points round-trip") {
  for (uint32_t cp : {0x0u, 0x41u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string s;
    append_utf8(s, cp);
    size_t i = 0;
    CHECK(next_code_point(s, i) == cp);
    CHECK(i == s.size());
  }
  size_t i = 0;
  CHECK(next_code_point("\xff", i) == 0xFFFFFFFF);
  CHECK(i == 1);
  CHECK(utf8_length("a\xc3\xa9\xe2\x82\xac") == 3);
}

TEST_CASE("spans cover") {
  CHECK(cover({1, 5, 7}, {1, 2, 6}) == Span{1, 2, 7});
  CHECK(cover({}, {1, 2, 6}) == Span{1, 2, 6});
}

TEST_CASE("a syntax error prints like CPython's") {
  SourceManager sources;
  const SourceFile& f = sources.add("f.ouro", "x\n  y = = 1\n");
  Diagnostic d{f.span(8, 9), "syntax.invalid", "invalid syntax", {}, Severity::error, "SyntaxError", true};
  CHECK(render(d, sources) == "  File \"f.ouro\", line 2\n    y = = 1\n        ^\nSyntaxError: invalid syntax\n");
  d.span = f.span(4, 9);
  CHECK(render(d, sources) == "  File \"f.ouro\", line 2\n    y = = 1\n    ^^^^^\nSyntaxError: invalid syntax\n");
  d.span = f.span(0, 6);  // goes on below: underlined to the end of the line
  CHECK(render(d, sources) == "  File \"f.ouro\", line 1\n    x\n    ^\nSyntaxError: invalid syntax\n");
  d.show_caret = false;
  CHECK(render(d, sources) == "  File \"f.ouro\", line 1\n    x\nSyntaxError: invalid syntax\n");
  d.kind = "MemoryError";
  d.text = "";
  CHECK(render(d, sources) == "MemoryError\n");
}

TEST_CASE("carets count characters, not bytes") {
  CHECK(render_caret("\xc3\xa9\xc3\xa9 = 1", 2, 4) == "    \xc3\xa9\xc3\xa9 = 1\n     ^\n");
}

TEST_CASE("a user error carries its diagnostic") {
  try {
    user_error({1, 2, 3}, "test.code", "wrong", "do it right", "ValueError");
  } catch (const UserError& e) {
    CHECK(e.diagnostic.code == "test.code");
    CHECK(render(e.diagnostic, nullptr) == "ValueError: wrong. do it right\n");
  }
}

TEST_CASE("the first error is remembered") {
  Diagnostics d;
  d.report({{}, "w", "warned", {}, Severity::warning, "SyntaxWarning", false});
  CHECK_FALSE(d.has_errors());
  d.error({}, "a", "first");
  d.error({}, "b", "second");
  CHECK(d.first_error()->text == "first");
  CHECK(d.all().size() == 3);
}

TEST_CASE("equal names are one symbol") {
  CHECK(intern("alpha") == intern(std::string("al") + "pha"));
  CHECK(intern("alpha") != intern("beta"));
  CHECK(intern("alpha").text() == "alpha");
  CHECK(intern("").text() == "");
  CHECK(intern(""));
  CHECK_FALSE(Symbol());
  CHECK(Symbol().text() == "");
  CHECK_FALSE(find_symbol("a name nobody interned"));
}

TEST_CASE("names are interned from many threads", "[threads]") {
  std::vector<std::thread> threads;
  std::vector<std::vector<Symbol>> got(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        got[t].push_back(intern("name" + std::to_string(i)));
        if (got[t].back().text() != "name" + std::to_string(i)) std::abort();
      }
    });
  for (std::thread& t : threads) t.join();
  for (int t = 1; t < 4; ++t) CHECK(got[t] == got[0]);
}

TEST_CASE("an arena keeps what it was given") {
  Arena a;
  std::vector<std::string_view> texts;
  for (int i = 0; i < 10000; ++i) texts.push_back(a.copy_text(std::to_string(i)));
  for (int i = 0; i < 10000; ++i) REQUIRE(texts[static_cast<size_t>(i)] == std::to_string(i));
  CHECK(texts[0].data()[1] == '\0');
  auto big = a.make_array<uint64_t>(1 << 20);
  CHECK(big[12345] == 0);
  CHECK(reinterpret_cast<uintptr_t>(a.allocate(1, 64)) % 64 == 0);
  a.allocate(3, 1);
  CHECK(reinterpret_cast<uintptr_t>(a.allocate(8, 8)) % 8 == 0);
  CHECK(a.copy(std::vector<int>{1, 2, 3})[2] == 3);
  CHECK(a.copy(std::vector<int>{}).empty());
}

TEST_CASE("a small vector behaves like a vector") {
  SmallVec<std::string, 2> v{"a", "b"};
  v.push_back("c");
  v.push_back(v[0]);  // an element of itself, while growing
  CHECK(v.size() == 4);
  CHECK(v.back() == "a");
  v.insert(v.begin() + 1, "x");
  CHECK(v[1] == "x");
  v.erase(v.begin());
  CHECK(v.front() == "x");
  SmallVec<std::string, 2> w = v, moved = std::move(v);
  CHECK(w == moved);
  CHECK(v.empty());
  SmallVec<std::string, 2> inside{"p"};
  SmallVec<std::string, 2> from_inside = std::move(inside);
  CHECK(from_inside[0] == "p");
  w = from_inside;
  CHECK(w.size() == 1);
  w.resize(5, "z");
  CHECK(w[4] == "z");
  w.clear();
  CHECK(w.empty());
}

TEST_CASE("events are kept, in order") {
  set_notice_mode(NoticeMode::never);
  clear_event_log();
  log_event("jit", "one");
  notice("jit", "two");
  auto log = event_log();
  REQUIRE(log.size() == 2);
  CHECK(log[0].text == "one");
  CHECK(log[1].text == "two");
  for (int i = 0; i < 5000; ++i) log_event("t", std::to_string(i));
  CHECK(event_log().size() == 4096);
  CHECK(event_log().back().text == "4999");
  set_notice_mode(NoticeMode::terminal_only);
}

TEST_CASE("a timer adds to its stage") {
  { Timer t("test stage"); }
  { Timer t("test stage"); }
  bool found = false;
  for (const StageTime& s : stage_times())
    if (s.name == "test stage") found = s.calls == 2;
  CHECK(found);
}

TEST_CASE("names follow Unicode") {
  CHECK(is_xid_start('a'));
  CHECK(is_xid_start('_'));
  CHECK_FALSE(is_xid_start('1'));
  CHECK(is_xid_continue('1'));
  CHECK(is_xid_start(0x4E2D));
  CHECK_FALSE(is_xid_continue(0x20AC));
  CHECK(is_printable(0xE9));
  CHECK_FALSE(is_printable(0xA0));
  CHECK(normalize_name("plain") == "plain");
  CHECK(normalize_name("\xef\xac\x81") == "fi");                        // ligature fi
  CHECK(normalize_name("e\xcc\x81") == "\xc3\xa9");                     // e + acute
  CHECK(normalize_name("\xe1\x84\x80\xe1\x85\xa1") == "\xea\xb0\x80");  // Hangul
}
