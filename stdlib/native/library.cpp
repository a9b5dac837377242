#include "stdlib/native/library.h"

#include <map>
#include <string>

#include "runtime/interpreter/modules.h"
#include "runtime/object/ops.h"
#include "stdlib/embedded.h"
#include "stdlib/native/demand_module.h"
#include "stdlib/native/errors_module.h"
#include "stdlib/native/file_modules.h"
#include "stdlib/native/os_module.h"
#include "stdlib/native/pack_module.h"
#include "stdlib/native/tables.h"
#include "stdlib/native/tensor.h"
#include "support/per_thread.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

// `ouro.nn` of a script is `nn` of stdlib/; Python's own modules, such as `abc`, are those of stdlib/python/.
const EmbeddedModule* find_text(std::string_view dotted) {
  constexpr std::string_view kPrefix = "ouro.";
  if (dotted == "ouro") return nullptr;
  if (!dotted.starts_with(kPrefix)) return find_embedded("python." + std::string(dotted));
  const std::string_view name = dotted.substr(kPrefix.size());
  return name.starts_with("python.") || name == "python" ? nullptr : find_embedded(name);
}

const Session::Embedded* find_library(std::string_view dotted) {
  const EmbeddedModule* m = find_text(dotted);
  if (!m) return nullptr;
  struct Kept {
    std::string path;  // as tracebacks show it
    Session::Embedded module;
  };
  struct Found {
    std::map<std::string_view, Kept> modules;
  };
  Kept& kept = support::PerThread<Found>::get().modules[m->name];
  kept.path = "ouro/" + std::string(m->path);
  kept.module = {kept.path, m->text, m->packed, m->is_package};
  return &kept.module;
}

// What a name of module `ouro` stands for: a package of the library, such as `ouro.nn`, or one of the names below.
// Their modules have other names: importing a module binds it in its package. `ops` is no module, but the operations
// themselves.
struct NameIn {
  std::string_view name, module;
};
constexpr NameIn kNamesIn[] = {{"progress", "ouro.progress_bar"},
                               {"tree_map", "ouro.trees"},
                               {"tree_leaves", "ouro.trees"},
                               {"finfo", "ouro.number_limits"},
                               {"iinfo", "ouro.number_limits"}};
Value library_name(Session& s, std::string_view name) {
  for (const NameIn& row : kNamesIn) {
    if (row.name != name) continue;
    OURO_TRY(module, import_module(s, intern(row.module)));
    return get_attr(s, module, intern(name));
  }
  const EmbeddedModule* m = find_embedded(name);
  if (!m || name == "ops" || !m->is_package) return Value();
  return import_module(s, intern("ouro." + std::string(name)));
}

// `help` is Ouro (stdlib/help.ouro), imported when it is first named.
constexpr std::string_view kHelp[] = {"help"};
Value help(Session& s, std::string_view name) {
  if (name != kHelp[0]) return Value();
  OURO_TRY(module, import_module(s, intern("ouro.help")));
  return get_attr(s, module, intern(name));
}
constexpr NativeModule kHelpName{.name = kPython, .functions = {}, .constant = help, .constants = kHelp};

constexpr NativeModule kOuroModule{.name = kOuro, .functions = {}, .attribute = library_name};
constexpr NativeModule kNativePackage{.name = "ouro.native", .functions = {}};

}  // namespace

Value make_late_type(Session& s, const runtime::TypeDef& def) {
  runtime::Type* t = define_type(s, def);
  return s.type(def.kind) == t ? Value::share(t) : Value::steal(t);
}

void register_library(Session& s) {
  s.find_embedded = find_library;
  s.register_natives(&kOuroModule);
  s.register_natives(&kNativePackage);
  for (const NativeModule* m :
       {&kHelpName, &kTensorsModule, &kRandomModule, &kJsonModule, &kCsvModule, &kPrefetchModule, &kStreamsModule})
    s.register_natives(m);
  register_internal(s, &kDefsModule);
  register_tensor_natives(s);
  register_file_modules(s);
  register_os_module(s);
  register_errors_module(s);
  register_pack_module(s);
  register_demand_module(s);
}

}  // namespace ouro::stdlib
