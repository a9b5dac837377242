// Inside of attribute access, for inline caches, `object`'s methods and class building.
#pragma once

#include "runtime/object/object.h"

namespace ouro::runtime {

bool is_data_descriptor(Session& s, const Value& d);
/// Does what instances have under this name stand in their slots, with no descriptor of a script before it? Of names in
/// `__slots__`, too.
bool is_own_attribute(Session& s, Type* t, Symbol name);
// A built-in method that is not bound yet: found in a class, it is called with the receiver first.
inline bool takes_receiver(const Native* n) { return n->owner && n->self.is_unbound(); }
// `d`, found in class `owner`, as an attribute of `self`; with `self` unbound, of the class itself.
Value bind_descriptor(Session& s, const Value& d, const Value& self, Type* owner);
// Sets the attribute of `self` that a data descriptor stands for; unbound: deletes it.
bool write_descriptor(Session& s, const Value& d, const Value& self, const Value& value);
// The name in the class's own namespace (built-in rows filled in), or null.
std::string class_path(Session& s, const Value& v);  // the __qualname__ of its class
const Value* own_type_name(Session& s, Type* t, Symbol name);
void ready_type(Session& s, Type* t);

// Instances and exceptions, without __getattribute__, __getattr__, __setattr__; unbound if absent.
Value generic_get_attr(Session& s, const Value& v, Symbol name);
bool generic_set_attr(Session& s, const Value& v, Symbol name, const Value& value);
// object.__getattribute__, object.__setattr__ (value unbound: __delattr__), of any value.
Value object_getattribute(Session& s, const Value& v, Symbol name);
bool object_setattr(Session& s, const Value& v, Symbol name, const Value& value);

// Where an instance without a shape has the values of its __slots__, or null.
inline Dict* instance_members(const Instance* i) { return !i->shape && i->slots ? cast<Dict>(i->slots[0]) : nullptr; }
Value* instance_slot(Session& s, Instance* i, Symbol name);
bool has_own_attribute(Session& s, Instance* i, Symbol name);
void set_own_attribute(Session& s, Instance* i, Symbol name, const Value& v);
Dict* instance_dict(Session& s, Instance* i);
// The way back, when nobody else holds the dict and all names fit a shape; false if it stays.
bool restore_shape(Session& s, Instance* i);
Shape* shape_with(Session& s, Shape* shape, Symbol name);
void grow_slots(Instance* i, uint32_t count);

// Of an error r: the end marker if what is pending is a StopIteration, whose value becomes the session's stop_value.
Value end_of(Session& s, Value r);
// iter() over an object with __getitem__ only.
Value index_iterator(const Value& v);
// An instance of the one class can become one of the other: the same slots, and a __dict__ or none.
bool same_places(const Type* a, const Type* b);
// t.__bases__ = bases, its line and those of its subclasses made anew; false: refused, and nothing has changed.
bool set_bases(Session& s, Type* t, const Value& bases);
// What calling class `t` makes before __init__: `native` of instances of built-in subclasses included.
Value construct(Session& s, Type* t, const Args& args);
// object.__new__(t).
Value construct_bare(Session& s, Type* t, const Args& args);

}  // namespace ouro::runtime
