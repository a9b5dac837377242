// The classes of the object model itself, one file each.
#pragma once

namespace ouro::runtime {

class Session;

void register_object_type(Session& s);       // object, type
void register_exception_types(Session& s);   // BaseException and all below, traceback
void register_function_types(Session& s);    // function, method, builtin_function_or_method, generator, cell
void register_descriptor_types(Session& s);  // property, staticmethod, classmethod, super, member, getset
void register_module_type(Session& s);       // module, generic alias

}  // namespace ouro::runtime
