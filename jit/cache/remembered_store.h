// Where the loop's measures (runtime/demand/remembered.h) stay between two processes: an entry of the user's store of
// compiled code (disk_store.h), whose rules hold for it, too. It is found again by the program (the bytes of its
// script, its arguments), the machine (its processor, its cores) and the build of Ouro.
#pragma once

#include <memory>

#include "jit/cache/code_cache.h"
#include "runtime/demand/remembered.h"

namespace ouro::jit {

/// For the script whose path is sys.argv[0]; nothing is remembered of a program that is no file.
std::unique_ptr<runtime::RememberedStore> remembered_on_disk(runtime::Session& s, std::shared_ptr<CodeCache> cache);

}  // namespace ouro::jit
