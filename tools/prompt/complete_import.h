// What the import statement at the end of a line could go on with: modules (of the library, native ones, files on the
// path), and names of a module.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/object/session.h"

namespace ouro::tools {

struct ImportWords {
  std::string_view typed;       // the last word, as far as it stands there
  std::set<std::string> words;  // each could stand in its place; what is in front of its last dot included
};

/// Nothing if `text` does not end in an import statement. Modules that would have to be run first are not loaded.
std::optional<ImportWords> import_words(runtime::Session& s, std::string_view text);

/// Modules in a package, by the last part of their names; of the empty name: those that `import` finds.
std::set<std::string> modules_in(runtime::Session& s, std::string_view package);

}  // namespace ouro::tools
