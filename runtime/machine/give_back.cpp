#include "runtime/machine/give_back.h"

#include <malloc.h>

#include "runtime/machine/buffer.h"

namespace ouro::runtime {

void give_back_memory() {
  trim_buffer_cache();
  ::malloc_trim(0);
}

}  // namespace ouro::runtime
