// Python's own names: the built-in functions and the modules math, time and sys (typing, abc and __future__ are Ouro
// source).
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

void register_python_natives(runtime::Session& s);

}  // namespace ouro::stdlib
