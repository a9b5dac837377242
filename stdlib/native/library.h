// What the library in Ouro (stdlib/**/*.ouro) stands on.
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

// Lets a session find the library as modules `ouro.NAME`, with the natives it uses
// (`ouro.native.*`).
void register_library(runtime::Session& s);

}  // namespace ouro::stdlib
