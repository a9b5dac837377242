// Where what a run of a program has measured stays for the next one: the loop's measures
// (runtime/demand/remembered.h), what was learned of functions (jit/versions/experience.h). It is an entry of the
// user's store of compiled code (disk_store.h), whose rules hold for it, too. It is found again by the program (the
// bytes of its script, its arguments), the machine (its processor, its cores), the build of Ouro, and its subject.
#pragma once

#include <memory>

#include "jit/cache/code_cache.h"
#include "runtime/demand/remembered.h"

namespace ouro::jit {

/// For the script whose path is sys.argv[0]; nothing is remembered of a program that is no file.
std::unique_ptr<runtime::RememberedStore> remembered_on_disk(runtime::Session& s, std::shared_ptr<CodeCache> cache,
                                                             std::string_view subject);

}  // namespace ouro::jit
