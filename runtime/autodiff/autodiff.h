// What reverse mode needs at run time (ir/grad/reverse.cpp has the theory): forward forms of whatever is called, shadow
// maps, cotangents, sequences of residuals, records of gradients.
//
// A *forward form* of a callable takes its arguments and gives the tuple (y, pullback); a *pullback* takes (dy, env)
// and gives a tuple of cotangents, one per argument (None: all zero). For script functions both are derived ANF; for
// natives, classes and operators they are functions of the module `grad_rules` (stdlib/grad_rules), where the
// rules stand by name in the dict `RULES`.
//
// Cotangents of numbers and tensors are numbers and tensors; of tuples, tuples (possibly shorter: the rest is zero); of
// everything else they are slots in the ShadowMap `env`. The symbolic zero is Value::zero_cotangent(); None counts as
// zero.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/anf.h"
#include "runtime/object/ops.h"
#include "support/dtype.h"

namespace ouro::runtime::autodiff {

// ---- objects

// Records of one loop of a forward form, appended while it runs, read by its pullback.
struct Seq : GcObject {
  std::vector<Value> items;
  size_t width = 0;  // items per record
  size_t records() const { return width ? items.size() / width : 0; }
  static constexpr ObjectKind kKind = ObjectKind::seq;
};

// (object, slot) -> cotangent, of one backward call. Objects are compared by identity and kept alive; slots are
// indices, names or keys of a dict or set, which are compared as a dict does, or the (object, slot) pair of an inner
// map.
struct ShadowMap : GcObject {
  struct Slots {
    Value object;
    std::vector<Value> list;  // slots that are small ints, but of dicts and sets
    Value others;             // Dict; unbound: none
    Value inner;              // of a shadow map: a ShadowMap with its pairs; unbound: none
  };
  std::unordered_map<const Object*, Slots> objects;
  static constexpr ObjectKind kKind = ObjectKind::shadow_map;
};

// Marks what ad.keep kept as a pullback.
struct Pullback : GcObject {
  Value function;
  static constexpr ObjectKind kKind = ObjectKind::pullback;
};

// Attributes by name: the gradient of an object. Where the object's class says with a method `_parts` which list or
// dict it is taken for (nn.Sequential), items, length and iteration are those of that list or dict in the gradient.
struct Record : GcObject {
  Value cls;  // the class of what it is the gradient of
  NameTable<Value> fields;
  static constexpr ObjectKind kKind = ObjectKind::record;
};

// Shape and dtype of a float tensor, in place of its value.
struct Like : Object {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  static constexpr ObjectKind kKind = ObjectKind::opaque_zero;
};

// The class of what `v` is the gradient of, or of v itself.
Value model_class(Session& s, const Value& v);
constexpr std::string_view kParts = "_parts";
// What a gradient has besides the attributes of its object: parameters and named_parameters, functions of the library
// that take it; unbound for another name.
Value function_of_gradients(Session& s, std::string_view name);
inline bool is_method_of_parts(std::string_view name) {
  return name == "keys" || name == "values" || name == "items" || name == "get";
}

// ---- forward forms (forward.cpp)
// Are the tests of a function followed (ir/grad/reverse.h)? Those of the library's own models and operations are of
// sizes, numbers and options: their forms stay small.
bool follows_tests(Session& s, const ir::Function& code);
Value forward_form(Session& s, const Value& f);  // ad.forward
// Its default values were computed by differentiated code: its forward form brings their cotangents.
void mark_computed_defaults(Function* f);
// The class that has the slot of a class attribute, if differentiated code made the class or wrote to it; else None.
// `v` is an object or a class.
Value class_of_slot(Session& s, const Value& v, Symbol name);
// What stands in it may have a derivative from now on.
void mark_class(Session& s, Type* t);
// Of a class, without what its metaclass says of calls.
Value constructing_form(Session& s, const Value& cls);
// Of the variant of f that gives (y, None), or (None, e) where f raises e; None where f runs no script
// (catching.cpp).
Value catching_form(Session& s, const Value& f);
Value forward_method(Session& s, const Value& receiver, Symbol name);  // ad.method: takes the receiver first
bool update_is_called(Session& s, std::span<const Value> args);        // does ad.special have a form for this update?
bool load_is_called(Session& s, const Value& object, Symbol name);     // and for this attribute?
bool is_scripted(const Value& v);                                      // an object of a script class
Value forward_special(Session& s, std::string_view prim, std::span<const Value> args);  // ad.special: None if plain
// Before a primitive's name in ad.special: not the form, but what is to be called, and gives (y, None) or (None, e)
// where it raises e (ir/grad/raising.h).
constexpr std::string_view kCaught = "caught.";
// (y, pullback) of a call without derivative: the pullback is that of the scripts that are called meanwhile.
Value recorded_call(Session& s, const Args& args);
Value flat_form(Session& s, const Value& form);  // ad.flat
// A function of grad_rules by name (unbound if absent), and a rule of its RULES.
Value rules_function(Session& s, std::string_view name);
Value find_rule(Session& s, std::string_view name);

// ---- plain operation by primitive name, for ad.value (value.cpp)
Value plain_primitive(Session& s, std::string_view prim, std::span<Value> args);

// ---- cotangents (cotangent.cpp)
inline bool is_zero(const Value& v) { return v.is(Tag::zero_cotangent) || v.is_none(); }
Value add(Session& s, Value a, const Value& b);
Value like(Session& s, const Value& v);
Value fit(Session& s, const Value& dy,
          const Value& like);  // dy reduced to what `like` is: sum over broadcast dims, dtype, kind
Value item(const Value& tuple, int64_t i);
Value one_hot(const Value& v, int64_t i);
Value add_item(Session& s, Value sum, const Value& dy, const Value& index, const Value& kept,
               const Value& env);                          // ad.item
Value dense(Session& s, const Value& dy, const Value& y);  // zeros like y if dy is zero
bool is_tensor(const Value& v);
bool is_float_tensor(Session& s, const Value& v);
bool active(Session& s, const Value& v);  // could have a cotangent of its own: float, float tensor, tuple

// ---- shadow maps (shadow.cpp)
Value make_env();
/// Is `slot` of the module `object` a global that holds the symbolic zero (ZERO of grad_rules)? It is a constant, so it
/// gets no cotangent. A global that is None may have been a tensor when the function read it, so it gets one.
bool is_zero_global(const Value& object, const Value& slot);
[[nodiscard]] bool shadow_add(Session& s, const Value& env, const Value& object, const Value& slot, const Value& d);
Value shadow_take(Session& s, const Value& env, const Value& object, const Value& slot);
Value shadow_peek(Session& s, const Value& env, const Value& object, const Value& slot);
[[nodiscard]] bool shadow_put(Session& s, const Value& env, const Value& object, const Value& slot, Value d);
// The slot of container[key]: of lists and tuples, an index from their start. A script's __index__ is only asked if
// `ask`.
Value item_slot(Session& s, const Value& container, const Value& key, bool ask);
// Lists: an item was inserted at i (its slot goes, the others move down), or removed (a zero slot comes).
void shadow_close(const Value& env, const Value& list, int64_t i);
void shadow_open(const Value& env, const Value& list, int64_t i);
// The object that has an object's slots: of a derived closure the function it was made of, of an object whose
// attributes are a dict that.
const Value& slot_owner(const Value& object);
// Does the object extend list, dict or set? Then its items have slots, and its attributes need others.
bool slots_by_item(const Value& object);
// The pair (object, slot) that holds an attribute's cotangent. Where a key could be the attribute's name, the slot is
// kAttribute and that name.
inline constexpr std::string_view kAttribute = "\1attribute ";
Value attribute_slot(Session& s, const Value& object, const Value& name);
// A mappingproxy of a plain dict, which is the owner of its items.
inline bool is_dict_proxy(const Value& v) {
  return kind_of(v) == ObjectKind::mapping_proxy && cast<Dict>(v.as<DictView>()->dict);
}

// ---- places and calls (place.cpp, call.cpp)
Value enters_tensor(Session& s, const ir::PlacePath& path, const Value& globals,
                    std::span<Value> args);                                                          // ad.enters_tensor
Value place_of(Session& s, const ir::PlacePath& path, const Value& globals, std::span<Value> args);  // ad.place
Value source_of(Session& s, const Value& iterator);                                                  // ad.source
Value places_of(const Value& container);                                                             // ad.places
bool holds_float(const Value& item);                                            // a key of a dict or an item of a set
bool has_cotangents(const Value& env, const Value& object);                     // in slots of it
Value update_back(Session& s, Value dy, const Value& env, const Value& place);  // ad.update
[[nodiscard]] bool feed(Session& s, const Value& env, const Value& place, const Value& d);
Value bind_call(Session& s, const ir::CallSig& sig, std::span<Value> args);  // ad.bind
Value bind_args(Session& s, const Value& form, const Args& args);            // the same for arguments already collected
Value unbind_call(Session& s, const Value& plan, const Value& d, const Value& env);

// ---- the ad.* and seq.* primitives, for the interpreter (prims.cpp)
// Args that die with the operation are moved in. ad.try_call is the interpreter's own.
Value run_primitive(Session& s, const ir::Function& code, const Value& globals, ir::Op op, uint32_t attr,
                    std::span<Value> args);

}  // namespace ouro::runtime::autodiff
