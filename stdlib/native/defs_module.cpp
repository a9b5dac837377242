// Module _defs: functions that the library makes from text, where their parameters are only known when the script runs
// (stdlib/python/dataclasses.ouro). No script can import it: it would be a way to run text.
#include "runtime/interpreter/modules.h"
#include "runtime/object/alloc.h"
#include "runtime/object/dict.h"
#include "runtime/object/ops.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

Value define(Session& s, const Args& a) {
  Value scope = make_module(s, cast<Str>(a[1])->view());
  Module* m = scope.as<Module>();
  m->names.set(intern("__name__"), a[1]);
  m->ouro_names = true;
  size_t pos = 0;
  Value *name, *v;
  while (dict_next(cast<Dict>(a[2]), pos, name, v))
    if (Str* n = cast<Str>(*name)) m->names.set(str_symbol(n), *v);
  const size_t given = m->names.size();
  m->version = s.next_version++;
  OURO_TRY_DO(run_source(s, "<string>", cast<Str>(a[0])->view(), scope));
  Value made = make_dict();
  for (size_t i = given; i < m->names.size(); ++i)
    if (const auto& e = m->names.entries()[i]; !e.value.is_unbound())  // its own text may have deleted it
      dict_set_symbol(s, made.as<Dict>(), e.name, e.value);
  return made;
}

constexpr NativeDef kFunctions[] = {
    {.name = "define",
     .params = "text: str, module: str, names: dict, /",
     .fn = define,
     .doc = "The functions that the text of def statements makes, by name. They refer to `names`, which nobody else "
            "sees, and are of the module of that name."},
};

}  // namespace

const NativeModule kDefsModule{"_defs", kFunctions};

}  // namespace ouro::stdlib
