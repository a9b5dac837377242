// What the tests of the API share.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "ouro/ouro.h"

// A name of __main__ after a text has run.
inline ouro::Value after(ouro::Session& s, const std::string& text, std::string_view name) {
  if (auto done = s.run(text); !done) FAIL(done.error().traceback());
  auto v = s.get(name);
  if (!v) FAIL(v.error().traceback());
  return *v;
}
