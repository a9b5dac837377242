#include "stdlib/start.h"

#include "backends/contract/onednn.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/opencl/opencl_backend.h"
#include "jit/device_rows.h"
#include "jit/executor.h"
#include "runtime/collect.h"
#include "runtime/object.h"
#include "runtime/session.h"
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

void end_program(Session& s) {
  run_finalizers(s);
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
}

}  // namespace ouro::stdlib
