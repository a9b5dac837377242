// Exceptions as text: ouro.native.errors.
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

void register_errors_module(runtime::Session& s);

}  // namespace ouro::stdlib
