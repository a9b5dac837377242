// The parts of register_builtin_types, one per file of this folder.
#pragma once

namespace ouro::runtime {

class Session;

void register_int_types(Session& s);  // int, bool
void register_float_type(Session& s);
void register_singleton_types(Session& s);  // None, NotImplemented, Ellipsis
void register_str_type(Session& s);
void register_bytes_types(Session& s);  // bytes, bytearray
// memoryview, the class that builtins find under the kind of opaque objects: it is the first one defined for it.
void register_memory_view_type(Session& s);
void register_list_type(Session& s);
void register_tuple_type(Session& s);
void register_dict_types(Session& s);      // dict, its views
void register_set_types(Session& s);       // set, frozenset
void register_range_types(Session& s);     // range, slice
void register_iterator_types(Session& s);  // enumerate, zip, map, filter, reversed; the hidden ones' class

}  // namespace ouro::runtime
