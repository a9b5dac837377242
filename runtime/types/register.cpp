#include "runtime/types/register.h"

#include "runtime/object/type_slots.h"

namespace ouro::runtime {

void register_builtin_types(Session& s) {
  register_singleton_types(s);
  register_int_types(s);
  register_float_type(s);
  register_str_type(s);
  register_bytes_types(s);
  register_memory_view_type(s);
  register_list_type(s);
  register_tuple_type(s);
  register_dict_types(s);
  register_set_types(s);
  register_range_types(s);
  register_iterator_types(s);
}

}  // namespace ouro::runtime
