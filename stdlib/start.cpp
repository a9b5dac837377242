#include "stdlib/start.h"

#include <algorithm>

#include "backends/contract/onednn.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/opencl/opencl_backend.h"
#include "jit/versions/device_rows.h"
#include "jit/versions/executor.h"
#include "runtime/object/collect.h"
#include "runtime/object/exception.h"
#include "runtime/object/object.h"
#include "runtime/object/ops.h"
#include "runtime/object/session.h"
#include "runtime/text/foreign.h"
#include "stdlib/native/library.h"
#include "stdlib/native/python.h"
#include "stdlib/native/transform.h"

namespace ouro::stdlib {

using namespace runtime;

void start(Session& s) {
  register_python_natives(s);
  register_library(s);
  register_transforms(s);
  backends::register_onednn();
  register_device(DeviceId::opencl, backends::make_opencl_backend);
  register_device(DeviceId::cuda, backends::make_cuda_backend);
  jit::install_device_rows(s);
  if (s.options.mode != Mode::eager) jit::install(s);
}

bool call_excepthook(Session& s, const Value& exception) {
  Value* sys = s.modules.find(intern("sys"));
  Module* module = sys ? cast<Module>(*sys) : nullptr;
  Value* hook = module ? module->names.find(intern("excepthook")) : nullptr;
  Exception* e = cast<Exception>(exception);
  if (!hook || hook->is_unbound() || !e || kind_of(*hook) == ObjectKind::native) return false;
  Value keep = *hook, traceback = e->traceback.is_unbound() ? Value::none() : e->traceback;
  Value r = call(s, keep, {Value::share(e->type), exception, traceback});
  if (!r.is_error()) return true;
  s.err.write(text::shown_text("Error in sys.excepthook:\n" + format_exception(s, take_pending(s)) +
                               "\nOriginal exception was:\n"));
  return false;
}

// Cycles that have finalizers go while all names are there still, as in CPython.
static bool has_finalizers(Type* t) {
  return std::ranges::any_of(with_subclasses(t), [](const Type* of) { return of->has_del; });
}

void end_program(Session& s) {
  settle_files(s, -1);
  run_finalizers(s);
  if (has_finalizers(s.object_type())) {
    collect(s);
    run_finalizers(s);
  }
  if (Value* m = s.modules.find(intern("__main__")); m && cast<Module>(*m)) {
    Value keep = *m;
    for (auto& e : cast<Module>(keep)->names.entries()) {
      if (!e.name || e.name.text().starts_with("__")) continue;
      Value gone = std::move(e.value);
      gone = Value();
      if (!s.finalizers.empty()) run_finalizers(s);
    }
  }
  collect(s);
  run_finalizers(s);
  settle_files(s, -1);
}

}  // namespace ouro::stdlib
