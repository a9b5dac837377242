// The natives behind checkpoints and data sets: ouro.native.{safetensors,idx,files}.
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

void register_file_modules(runtime::Session& s);

}  // namespace ouro::stdlib
