// The module ouro.native.pack: what file formats written in Ouro need of the host (pack_module.cpp).
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

void register_pack_module(runtime::Session& s);

}  // namespace ouro::stdlib
