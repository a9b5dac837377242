// Ouro in a C++ program: docs/embedding.md.
//
//     ouro::Session session;
//     session.run("def f(x): return x * x").value();
//     ouro::Value f = session.get("f").value();
//     double y = *f(3.0)->as_float();
//
// The library is hidden behind these headers: of its own symbols it exports only these, and it interposes nobody's
// LLVM. C++20; the API may change until 1.0, the inline namespace then names its version.
#pragma once

#include "ouro/error.h"
#include "ouro/session.h"
#include "ouro/value.h"
