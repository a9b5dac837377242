// The messages of scope errors are CPython 3.11's.
#include <catch2/catch.hpp>

#include "frontend/module.h"

using namespace ouro;

static std::string error_of(std::string text) {
  SourceManager sources;
  const SourceFile& file = sources.add("t.ouro", text);
  Diagnostics diags;
  if (frontend::compile_module(file, diags)) return "no error";
  const Diagnostic* d = diags.first_error();
  return d->kind + ": " + d->text + " @" + std::to_string(file.line_col(d->span.begin).line);
}

TEST_CASE("scope_errors_are_worded_as_in_cpython") {
  struct {
    const char* text;
    const char* error;
  } rows[] = {
      {"def f(x):\n  global x\n", "SyntaxError: name 'x' is parameter and global @2"},
      {"def f(x):\n  nonlocal x\n", "SyntaxError: name 'x' is parameter and nonlocal @2"},
      {"def f():\n  x = 1\n  global x\n", "SyntaxError: name 'x' is assigned to before global declaration @3"},
      {"def f():\n  print(x)\n  global x\n", "SyntaxError: name 'x' is used prior to global declaration @3"},
      {"def f():\n  x: int\n  global x\n", "SyntaxError: annotated name 'x' can't be global @3"},
      {"def f():\n  global x\n  x: int = 1\n", "SyntaxError: annotated name 'x' can't be global @3"},
      {"def f():\n  nonlocal x\n", "SyntaxError: no binding for nonlocal 'x' found @2"},
      {"x = 1\ndef f():\n  nonlocal x\n", "SyntaxError: no binding for nonlocal 'x' found @3"},
      {"nonlocal x\n", "SyntaxError: nonlocal declaration not allowed at module level @1"},
      {"def g():\n  x = 1\n  def f():\n    global x\n    nonlocal x\n",
       "SyntaxError: name 'x' is nonlocal and global @4"},
      {"def f():\n  from math import *\n", "SyntaxError: import * only allowed at module level @2"},
      {"return 1\n", "SyntaxError: 'return' outside function @1"},
      {"class A:\n  return\n", "SyntaxError: 'return' outside function @2"},
      {"yield 1\n", "SyntaxError: 'yield' outside function @1"},
      {"break\n", "SyntaxError: 'break' outside loop @1"},
      {"for i in x:\n  def f():\n    break\n", "SyntaxError: 'break' outside loop @3"},
      {"if 1:\n  continue\n", "SyntaxError: 'continue' not properly in loop @2"},
      {"[(i := 1) for i in x]\n",
       "SyntaxError: assignment expression cannot rebind comprehension iteration variable 'i' @1"},
      {"[i for i in (j := x)]\n",
       "SyntaxError: assignment expression cannot be used in a comprehension iterable expression "
       "@1"},
      {"class A:\n  [(j := i) for i in x]\n",
       "SyntaxError: assignment expression within a comprehension cannot be used in a class body "
       "@2"},
      {"[[(j := 1) for j in x] for i in x]\n",
       "SyntaxError: assignment expression cannot rebind comprehension iteration variable 'j' @1"},
      {"def f():\n  [(yield i) for i in x]\n", "SyntaxError: 'yield' inside list comprehension @2"},
      {"def f():\n  ((yield i) for i in x)\n", "SyntaxError: 'yield' inside generator expression @2"},
      {"from __future__ import annotations\nx: (y := 1) = 2\n",
       "SyntaxError: 'named expression' can not be used within an annotation @2"},
      {"break\nnonlocal y\n", "SyntaxError: nonlocal declaration not allowed at module level @2"},
  };
  for (auto& r : rows) {
    INFO(r.text);
    CHECK(error_of(r.text) == r.error);
  }
}

TEST_CASE("scopes_that_are_right_compile") {
  for (const char* text : {
           "def f():\n  x = 1\n  def g():\n    nonlocal x\n    x += 1\n  return g\n",
           "class A:\n  def f(self):\n    return super().f() + __class__.x\n",
           "global x\nx = 1\n",
           "def f():\n  if (n := 1): pass\n  return [(m := n) for _ in [2]], m\n",
           "for i in []:\n  try: break\n  finally: pass\n",
           "while 1:\n  try: continue\n  finally: break\n",
           "def f():\n  for i in x:\n    with a as b, c as (d, e): return 1\n  else: yield i\n",
       }) {
    INFO(text);
    CHECK(error_of(text) == "no error");
  }
}
