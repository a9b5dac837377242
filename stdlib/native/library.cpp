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

// What a name of module `ouro` stands for: a package of the library, such as `ouro.nn`, or the class `progress` of the
// module of that name. `ops` is no module, but the operations themselves.
Value library_name(Session& s, std::string_view name) {
  constexpr std::string_view kMember = "progress";
  const EmbeddedModule* m = find_embedded(name);
  if (!m || name == "ops" || !(m->is_package || name == kMember)) return Value();
  OURO_TRY(module, import_module(s, intern("ouro." + std::string(name))));
  if (name != kMember) return module;
  OURO_TRY(member, get_attr(s, module, intern(name)));
  // Importing bound the module under its name: `ouro.progress` is to mean what stands in it.
  Value* ouro = s.modules.find(intern("ouro"));
  if (ouro && !set_attr(s, *ouro, intern(name), member)) return Value::error();
  return member;
}

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
  for (const NativeModule* m : {&kTensorsModule, &kRandomModule, &kJsonModule, &kCsvModule, &kStreamsModule})
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
