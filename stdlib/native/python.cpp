#include "stdlib/native/python.h"

#include "runtime/model/model.h"
#include "stdlib/native/namespaces.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {

void register_python_natives(Session& s) {
  static const NativeModule kObject{.name = runtime::kPython, .functions = object_functions()};
  static const NativeModule kNumber{.name = runtime::kPython, .functions = number_functions()};
  static const NativeModule kSequence{.name = runtime::kPython, .functions = sequence_functions()};
  static const NativeModule kIo{.name = runtime::kPython, .functions = io_functions()};
  for (const NativeModule* m : {&kObject, &kNumber, &kSequence, &kIo, &kMathModule, &kTimeModule, &kSysModule})
    s.register_natives(m);
  s.intrinsics = intrinsics();
  s.state<runtime::NamespaceMaker>().make = module_namespace;
}

}  // namespace ouro::stdlib
