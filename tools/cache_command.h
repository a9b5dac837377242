// `ouro cache`: the disk cache of compiled code (jit/cache), shown and emptied.
#pragma once

#include <string>
#include <vector>

#include "jit/cache/code_cache.h"

namespace ouro::tools {

// What stands behind `ouro cache`: nothing, or `clear`. Returns the exit status.
int cache_command(const std::vector<std::string>& args, const jit::CacheWish& wish);

// One line on standard error when a cache that is wanted cannot be used.
void tell_if_cache_is_refused(uint64_t limit);

}  // namespace ouro::tools
