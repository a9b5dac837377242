// The system calls behind the modules os, shutil and tempfile: ouro.native.os.
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

void register_os_module(runtime::Session& s);

}  // namespace ouro::stdlib
