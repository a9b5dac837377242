#include "runtime/model/model.h"
#include "runtime/object/type_slots.h"

namespace ouro::runtime {

void register_model_types(Session& s) {
  register_object_type(s);
  register_exception_types(s);
  register_function_types(s);
  register_descriptor_types(s);
  register_module_type(s);
}

}  // namespace ouro::runtime
