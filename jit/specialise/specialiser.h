// The specialiser: runs untyped ANF on abstract values and writes typed ANF (docs/design/specialise.md).
//
// One object makes one version. Its members are defined in the rooms of this folder, where each file has one subject:
//   abstract/   what is known of values: value (the kinds), heap (virtual objects), keys (of dicts and sets),
//               persistent_array (copies of the heap share blocks)
//   execute/    what each operation means on abstract values
//     control, loops, raises, stops, holes       branches; loops; exceptions; iterators of scripts' classes that end;
//                                                operations left to the interpreter as a whole
//     call, methods, natives, native_table,      calls, and the tables of built-in functions and of methods;
//     special, protocol                          calls made by primitives; objects of scripts' classes
//     prims, ops, order, attr, items, index,     the language's primitives: operators, sorting, attributes, items of
//     lists, iteration, make                     containers and of tensors, growing lists, iterators, making tensors
//     tuples, values, extended_dicts             objects of classes that extend tuple; int and str; dict
//     tensor                                     rows of tensor operations
//     transforms, grad, ad_natives, places,      grad, vjp, jit and their like; autodiff's primitives and natives;
//     recording                                  its places; changes made by functions that have no derivative
//   states/     joins (join, merge_objects), heads of loops (loop_heads, flow), values that differ between branches
//               (either), records that loops keep for their reverse (records), containers that each turn makes anew
//               (renewed), and going back to an earlier state (checkpoint)
//   outside/    what existed before the call: access paths and guards (access), loading (external), carrying out writes
//               (effects), numbers that must be known (known), lists of numbers as tensors (numbers)
//   residual/   the program that is left: its blocks (residual), its outputs (output, described by describe), making
//               virtual things real (materialise), forward forms compiled by themselves (waiting, apart)
// In the folder itself: specialise (the entry, and what a version needs), state (frames, and states that meet), pins
// (which numbers are constants), attempt (work in slices), reasons (why something is left to the interpreter), spans
// (timing).
// Everything here runs on the session's thread, reads its heap and changes nothing in it.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/ops/registry.h"
#include "ir/ops/sig.h"
#include "ir/prim.h"
#include "jit/specialise/abstract/heap.h"
#include "jit/specialise/abstract/value.h"
#include "jit/specialise/outside/access.h"
#include "jit/specialise/residual/residual.h"
#include "jit/specialise/specialise.h"
#include "jit/specialise/state.h"
#include "jit/specialise/states/records.h"
#include "runtime/object/ops.h"
#include "support/diag.h"

namespace ouro::jit {

using runtime::Args;
struct HeapLocation;
struct NativeTable;
class Apart;

class Specialiser {
 public:
  Specialiser(Session& s, const SpecialiseRequest& request);
  SpecialiseResult run();
  Apart& apart() { return *apart_; }

  // ---- control (execute/control.cpp)
  AVal exec_function(const ir::FunctionRef& code, std::vector<AVal> params, const Value& globals, Span call_site);

  // ---- primitives
  AVal exec_let(AFrame& f, const ir::Let& let);
  AVal binary(ir::Op op, const AVal& a, const AVal& b);
  std::optional<Sum> sum_of(const AVal& a) const;
  void note_sum(const AVal& out, const AVal& a, const AVal& b, int64_t sign);
  AVal arange_of_sums(const std::vector<AVal>& params);
  AVal scalar_binary(ir::Op op, runtime::BinOp rop, const AVal& a, const AVal& b, const ir::Type* ta,
                     const ir::Type* tb);
  AVal unary(ir::Op op, const AVal& a);
  bool holds_pair(const AVal& dict, const AVal& item);
  AVal membership(ir::Op op, const AVal& a, const AVal& b);
  int identical(const AVal& a, const AVal& b);
  bool same_or_equal(const AVal& a, const AVal& b, std::string_view why);
  std::optional<Value> witness(const AVal& a) const;
  void derive_witness(const AVal& out, const std::vector<const AVal*>& from, Value v);
  AVal class_lookup(const AVal& a, Symbol name);  // by the MRO of a's class, unbound if absent
  AVal type_attr(const Value& cls, Symbol name);
  AVal bind(const AVal& f, const AVal& self);
  AVal bind_descriptor(const AVal& d, const AVal& self);
  AVal concrete_function(const Value& v);
  AVal super_attr(const AVal& a, Symbol name);
  AVal loaded_by_text(const AVal& a, Symbol name);
  int dict_position(HeapId id, const AVal& key);  // -1: not there
  int key_position(const Keys<AVal>& keys, const Value& looked_up);
  Value concrete_slice(const AVal& a);
  bool put_back(HeapId place, Symbol name, const AVal& before, const AVal& changed);
  AVal update_path(const AVal& root, const ir::PlacePath& path, size_t step, const std::vector<AVal>& items,
                   size_t item, const AVal& value);
  AVal cell_get(const AVal& cell);
  void cell_set(const AVal& cell, AVal v);
  HeapId module_object(const Value& module);
  void set_global(const Value& module, Symbol name, AVal v);
  AVal compare(ir::Op op, const AVal& a, const AVal& b);
  AVal truth(const AVal& a);
  AVal get_attr(const AVal& a, Symbol name);
  AVal lookup_attr(const AVal& a, Symbol name);  // unbound when there is none
  void delete_attr(const AVal& a, Symbol name);
  AVal attributes_of(const AVal& a);
  AVal attributes_of_gradient(const AObject& o);
  void check_attributes(HeapId dict);
  void keep_attributes(HeapId id, Symbol name, const AVal& v);
  void set_attr(const AVal& a, Symbol name, AVal v);
  AVal placed_on_host(const ir::OpInfo& info, const std::vector<AVal>& params);
  bool is_boxed_list(const AVal& a) const {
    return a.is(AKind::dynamic) && !a.type && a.atom.is_name() && code.name(a.atom.name()).list;
  }
  void stays_absent(const Value& cls, Symbol name);
  AVal numbers_of(const AVal& list, bool differentiated);
  AVal dict_of_function(const AVal& f, Symbol name);
  bool may_be_tensor(const AVal& a) const;
  bool is_set_outside(const AVal& a) const { return a.is(AKind::dynamic) && !a.type && sets_.contains(a.node); }
  bool is_set_of_keys(const AVal& a);
  const runtime::Set* set_outside(const AVal& a, bool in_order = false);
  bool is_text(const AVal& a) const;
  AVal text_binary(ir::Op op, const AVal& a, const AVal& b);
  AVal without_mark(HeapId id, Symbol name, AVal v);
  bool has_buffer(const AVal& object, Symbol name);
  AVal get_item(const AVal& a, const AVal& key);
  bool is_computed_index(const AVal& key) const;
  std::optional<Choice> choice_among(const std::vector<AVal>& items, bool of_list, bool any);
  AVal chosen(const Choice& among, const AVal& index);
  void set_item(const AVal& a, const AVal& key, AVal v);
  void delete_item(const AVal& a, const AVal& key);
  AVal make_reversed(const AVal& a);
  AVal dict_iterator(const AVal& view, bool reversed);
  AVal view_of(const AVal& dict, runtime::ObjectKind kind);  // dict_keys, dict_values, dict_items
  bool is_view(const AVal& a, runtime::ObjectKind kind) const;
  AVal view_item(const AVal& view, size_t i) const;
  AVal update(AFrame& f, const ir::Let& let);
  AVal update(AFrame& f, const ir::PlacePath& path, std::vector<AVal> args, const AVal& value);
  AVal update_held(AFrame& f, const ir::PlacePath& path, std::vector<AVal> args, const std::vector<bool>& objects,
                   const AVal& value);
  AVal call(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords = {});
  AVal exec_call(AFrame& f, const ir::Let& let);
  std::vector<AVal> bind_arguments(const AVal& f, const std::vector<AVal>& args,
                                   const std::vector<std::pair<Symbol, AVal>>& keywords);
  AVal call_closure(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
  AVal call_native(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
  AVal call_type(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
  AVal call_builtin_type(const AVal& f, const std::vector<AVal>& args,
                         const std::vector<std::pair<Symbol, AVal>>& keywords);
  AVal call_opaque(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
  bool can_be_made(const AVal& a) const;
  bool can_box(const AVal& f, const std::vector<AVal>& args,
               const std::vector<std::pair<Symbol, AVal>>& keywords) const;
  // `loaded`: what method.get gave.
  bool reads_list(ir::Op op, const std::vector<AVal>& args) const;
  AVal boxed_method(const AVal& a, Symbol name, const std::vector<AVal>& args,
                    const std::vector<std::pair<Symbol, AVal>>& keywords, const AVal* loaded = nullptr);
  NativeTable& natives();
  const ir::OpInfo* row_of(const runtime::Native& n) const;  // the tensor operation it stands for
  std::vector<AVal> bind_row(const ir::OpInfo& op, const std::vector<AVal>& args,
                             const std::vector<std::pair<Symbol, AVal>>& keywords,
                             std::vector<std::pair<int, int>>* places);
  AVal call_row(const ir::OpInfo& op, const std::vector<AVal>& args,
                const std::vector<std::pair<Symbol, AVal>>& keywords);
  std::optional<Value> known_list(const AVal& a) const;  // a new one
  bool plain_result(const Value& v);
  bool holds_plain(const Value& set);
  bool pure_native(const runtime::Native& n);
  const ir::Type* number_given(const runtime::Native& n, const std::vector<AVal>& args,
                               const std::vector<std::pair<Symbol, AVal>>& keywords);
  // Of a native that has no effect; `type`: of what it gives, null: not known.
  AVal pure_call(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords,
                 const ir::Type* type);
  AVal of_builtin(std::string_view name, const std::vector<AVal>& args, const ir::Type* type);
  // Of one that changes or shows something, and neither runs a script nor changes what scripts see.
  AVal output_call(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords,
                   const ir::Type* type);
  AVal boxed_output(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
  void list_append(const AVal& list, AVal v);
  void list_extend(const AVal& list, const AVal& from);
  AVal called_by(const Value& cls);
  AVal method_before_call(const AVal& a, Symbol name);
  bool in_place_list(const AVal& list) const;
  void box_list(HeapId id);
  bool is_list_method(const AVal& a, Symbol name) const;
  bool ends_run_nothing();
  AVal list_method(const AVal& list, Symbol name, const std::vector<AVal>& args);
  bool change_list(const AVal& list, const AVal& key, const AVal& v);
  void note_item(const AVal& item);
  AVal call_method(const AVal& a, Symbol name, const std::vector<AVal>& args,
                   const std::vector<std::pair<Symbol, AVal>>& keywords = {});
  AVal context_methods(const AVal& a);
  AVal formatted(const AVal& a, const AVal& spec, char conversion);
  AVal pattern(ir::Op op, const std::vector<AVal>& args, uint32_t count);
  AVal make_iterator(const AVal& a);
  AVal next(const AVal& iterator);
  // stops.cpp: iterators of script classes
  struct Stopped {};
  struct NextCall;
  struct NoStop {  // a StopIteration from here on is another exception
    explicit NoStop(Specialiser& s) : s(s), before(std::exchange(s.next_call_, nullptr)) {}
    ~NoStop() { s.next_call_ = before; }
    NoStop(const NoStop&) = delete;
    NoStop& operator=(const NoStop&) = delete;
    Specialiser& s;
    NextCall* before;
  };
  bool is_stop_iteration(const AVal& raised) const;
  bool has_no_cause(AFrame& f, const ir::Terminator& t);
  AVal next_of_object(const AVal& it);
  bool may_stop() const;
  void need_no_stop_inside(size_t notes);
  // The iterator whose next item is asked for has ended.
  [[noreturn]] void stop_iteration();
  AVal make_generator(const ir::FunctionRef& code, std::vector<AVal> params, const Value& globals, Span call_site);
  AVal next_of_generator(const AVal& object);
  bool over_structure(const AVal& iterator) const;
  Symbol keyword_name(const AVal& key);                              // of a dict that is spread over arguments
  std::vector<AVal> items_of(const AVal& a, std::string_view what);  // of known length, else Abandon
  // The same for list(a), [*a], f(*a) and their like: they ask an object for its length once they have its iterator.
  std::vector<AVal> sized_items_of(const AVal& a, std::string_view what);
  // The same, one after the other: the script that gives the next item, or that f calls, sees what f has done, and f
  // sees what it has done. f returns whether to go on.
  void each_item(const AVal& a, std::string_view what, const std::function<bool(const AVal&)>& f);
  void each_item_from(const AVal& iterator, std::string_view what, const std::function<bool(const AVal&)>& f);
  std::vector<AVal> items_from(const AVal& iterator, std::string_view what);
  AVal sized_iterator(const AVal& instance);
  bool merge_mapping(const AVal& dict, const AVal& from);
  AVal length(const AVal& a);
  AVal global(const Value& module, Symbol name);

  // ---- objects of script classes (execute/protocol.cpp; stdlib/protocol.ouro is the meaning)
  bool is_instance(const AVal& a) const;                       // also of a class that extends tuple
  AVal by_protocol(ir::Op op, const std::vector<AVal>& args);  // an operator
  AVal by_protocol(std::string_view name, ir::Op op, const std::vector<AVal>& args, const std::vector<AVal>& operands,
                   uint32_t attr = 0);  // `name` of the text; `op` on `operands` is the same
  AVal protocol_function(std::string_view name);
  AVal protocol_native(std::string_view name);
  bool has_own_new(const Value& cls);  // a __new__ that a script wrote
  AVal special_method(const AVal& a, std::string_view name);
  AVal text_of_native(const runtime::Native& n, const std::vector<AVal>& args);
  void store_slot(HeapId id, Symbol name, AVal v);        // an own attribute
  AVal own_attribute(const AVal& instance, Symbol name);  // unbound: it has none
  const runtime::Type* class_of_instance(const AVal& instance);

  // ---- objects of classes that extend tuple (execute/tuples.cpp)
  bool is_plain_extension(const Value& v);
  AVal wrap_extension(const Value& v, uint32_t node);
  AVal items_alone(const AVal& a) const;  // the tuple that it is
  bool overrides(const AVal& a, std::string_view special);
  bool is_known_outside(const AVal& a) const;

  // ---- objects of classes that extend int or str (execute/values.cpp), or dict (execute/extended_dicts.cpp)
  const AVal& native_of(const AVal& a) const;  // unbound: it extends none
  AVal as_value(const AVal& a);                // which int or text it is, if its class changes nothing of what these do
  bool value_method(const runtime::Native& n, std::vector<AVal>& args);
  AVal dict_within(const AVal& a);                        // unbound: it extends no dict
  AVal as_dict(const AVal& a, std::string_view special);  // the dict in it, if that method is dict's
  AVal item_within(const AVal& a, const AVal& key);
  AVal new_extended_dict(const Value& cls);
  bool dict_method(const runtime::Native& n, std::vector<AVal>& args);
  AVal new_extension(const Value& cls, const std::vector<AVal>& args);
  bool makes(runtime::ObjectKind layout, const runtime::Native& n, const std::vector<AVal>& args) const;
  AVal tuple_method(const AVal& f, const std::vector<AVal>& args);  // unbound: it is called as others are
  AVal tuple_operator(std::string_view special, const AVal& a, const AVal& b);

  // ---- tensors (execute/tensor.cpp)
  // A row applied to its parameters in the order of its signature (absent ones: unbound or None as declared).
  AVal tensor_op(ir::Op op, std::vector<AVal> params);
  AVal tensor_op(std::string_view row, std::vector<AVal> params);
  AVal constant_tensor(const Value& v);
  AVal zero_of(const ir::Type* t, const AVal& like);  // zeros of that type
  AVal tensor_attr(const AVal& a, Symbol name);
  AVal tensor_item(const AVal& a);  // the number in a tensor of one element
  const ir::Type* result_type(const ir::TensorType& t);
  AVal on_numbers(const ir::OpInfo& info, const std::vector<AVal>& params);
  std::optional<ir::TensorType> input_type(const ir::OpInfo& info, const AVal& p);
  bool is_sequence(const AVal& a) const;
  bool holds_list(const AVal& a) const;
  ir::Param to_param(const AVal& a, ir::ParamKind kind = ir::ParamKind::any, int depth = 8);
  bool may_name_size(const AVal& a) const;
  ir::SymDim named_size(const AVal& a);
  ir::Param seen_number(const AVal& a, ir::ParamKind kind);
  ir::Param seen_param(const AVal& a, ir::ParamKind kind, int depth = 3);
  ir::Param last_sizes(const AVal& a, std::span<const ir::Dim> shape);
  void check_arguments(const ir::OpInfo& info, const std::vector<AVal>& params);
  void use_pinned_numbers();
  AVal from_param(const ir::Param& p);
  ir::Atom parameter_atom(const AVal& a);
  AVal call_source(const ir::OpInfo& op, const std::vector<AVal>& params);  // a row that is Ouro source
  // One of the rows that a basic index is made of.
  struct IndexStep {
    enum class Kind : uint8_t { unsqueeze, squeeze, narrow, flip } kind;
    int64_t axis, start = 0, count = 0;
  };
  AVal tensor_index(const AVal& a, const AVal& key, std::vector<IndexStep>* steps = nullptr);
  AVal put_back(const AVal& x, std::span<const IndexStep> steps, const AVal& v);
  enum class KeyUse : uint8_t;
  KeyUse use_of_key(const AVal& x, const std::vector<AVal>& keys);
  std::vector<AVal> key_items(const AVal& key);
  AVal key_operand(std::vector<AVal> keys);
  AVal index_by_row(const AVal& x, std::vector<AVal> keys);
  void not_by_element(const std::vector<ir::SymDim>& shape);
  AVal put_by_row(std::string_view row, const AVal& x, std::vector<AVal> keys, const AVal& v);
  AVal add_at(const AVal& x, const AVal& key, const AVal& v);  // x with v added at key
  void note_sizes(const AVal& made);
  void need_no_one(const ir::SigCall& call);
  void leave_if(const AVal& condition, std::string_view why);
  AVal take_step(const AVal& x, const IndexStep& step);
  AVal tensor_store(const AVal& a, const AVal& key, const AVal& value);
  bool is_tensor(const AVal& a) const;
  bool is_number(const AVal& a) const;

  // ---- autodiff (execute/grad.cpp; runtime/autodiff is the meaning)
  AVal adapter(std::string_view name, const std::vector<AVal>& args);
  AVal rules_value(std::string_view name);
  bool is_of_python(const ir::Function& code) const;
  bool is_shown(const ir::Function& code) const;    // in tracebacks
  bool is_rule(const ir::Function& code) const;     // of grad_rules
  bool is_derived(const ir::Function& code) const;  // a rule's, a forward form's, a pullback's
  AVal forward_form(const AVal& f);
  void need_plain_defaults(const AVal& f);
  void need_no_end(const runtime::Type& cls);
  void makes_object_of(runtime::Type& cls);
  AVal forward_of_closure(const AVal& f, bool flat);
  AVal forward_of_native(const Value& f);
  AVal flat_form(const AVal& form);
  std::vector<Symbol> field_names(HeapId id);  // own attributes of an object, in order
  AVal forward_method(const AVal& receiver, Symbol name);
  bool load_is_called(const AVal& object, Symbol name);
  bool update_is_called(const std::vector<AVal>& operands);
  AVal forward_special(std::string_view name, const std::vector<AVal>& args);
  AVal call_plain(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
  // A call of a built-in operation in differentiated code: (what it gives, the pullback of what scripts did meanwhile),
  // and the call of a script function by one (runtime/autodiff/recording.h).
  AVal recorded(const AVal& of, const AVal& f, const std::vector<AVal>& args,
                const std::vector<std::pair<Symbol, AVal>>& keywords);
  AVal recorded_call(const AVal& f, const std::vector<AVal>& args,
                     const std::vector<std::pair<Symbol, AVal>>& keywords);
  void check_recorded(const std::vector<AVal>& args);
  struct Recording;
  struct RecordingSet;
  AVal plain_primitive(AFrame& f, std::string_view name, std::vector<AVal> args);
  AVal like_of(const AVal& v);
  AVal cotangent_add(const AVal& a, const AVal& b);
  AVal cotangent_item(const AVal& t, int64_t i);
  AVal cotangent_add_item(const AVal& sum, const AVal& dy, const AVal& index, const AVal& kept, const AVal& env);
  std::string identity_text(const AVal& a);
  Value shadow_key(const AVal& object, const AVal& slot);
  void shadow_add(const AVal& env, const AVal& object, const AVal& slot, const AVal& d);
  AVal shadow_peek(const AVal& env, const AVal& object, const AVal& slot);
  AVal shadow_take(const AVal& env, const AVal& object, const AVal& slot);
  void shadow_put(const AVal& env, const AVal& object, const AVal& slot, const AVal& d);
  // The slots of a list's items: one comes at `at` (`open`), or that one goes; those behind it move.
  void shadow_move(const AVal& env, const AVal& list, int64_t at, bool open);
  int64_t shadow_count(const AVal& env, const AVal& list);
  AVal previous_record(const AVal& position);
  const AObject& records_of(const AVal& seq);
  AVal record_item(HeapId seq, const AVal& position, size_t item);
  AVal list_index(const AVal& container, const AVal& index);
  AVal bind_call(const ir::CallSig& sig, const std::vector<AVal>& args);
  AVal unbind_call(const AVal& plan, const AVal& d, const AVal& env);
  bool enters_tensor(const ir::PlacePath& path, const Value& globals, const std::vector<AVal>& args);
  AVal place_of(const ir::PlacePath& path, const Value& globals, const std::vector<AVal>& args);
  AVal places_of(const AVal& container);
  AVal iterator_source(const AVal& it);
  AVal update_back(const AVal& dy, const AVal& env, const AVal& place);
  void feed(const AVal& env, const AVal& place, const AVal& d);
  AVal fit(const AVal& dy, const AVal& kept);
  bool cotangent_is_zero(const AVal& a);  // of a boxed one nobody knows: Abandon

  // ---- facts
  Symbol need_name(const AVal& a);                        // an attribute's name, guarded too
  int64_t need_int(const AVal& a, std::string_view why);  // adds a value guard when it came from outside
  Value need_constant(const AVal& a, std::string_view why);
  bool may_pin(const AVal& a) const;  // a dynamic value that need_constant would give
  /// A number made by the program itself: it has no value now, and it is no size.
  bool is_computed(const AVal& a) const;
  AVal settled(const AVal& a);                           // a text, known if it can be: what is done with it decides
  AVal settled_condition(const AVal& a);                 // likewise a flag from outside that a branch asks for
  static constexpr int64_t kIds = int64_t{0x5eb} << 44;  // of objects, in the program that is made
  int64_t id_of_parts(const std::shared_ptr<const AParts>& parts);
  void stays_inside(const Value& v);                    // Abandon for one of those
  Value need_key(const AVal& a, std::string_view why);  // one that has a hash
  std::optional<Value> concrete(const AVal& a) const;   // the value if it is known (tuples of known included)
  const ir::Type* type_of(const AVal& a) const;         // null: Any or structure; of an either: NeedSide
  Value class_of(const AVal& a);                        // Type object, else Abandon
  Value model_class(const AVal& a);                     // of what `a` is the gradient of, or of `a`
  AVal parts_of_gradient(const AVal& a);  // the list or dict that `a`, a record, is taken for; else `a` (autodiff.h)
  bool same(const AVal& a, const AVal& b) const;  // identical abstract values
  Value class_of_iterator(const AObject& o);

  // ---- external things (external.cpp)
  AVal wrap(const Value& v, AccessNode step);  // loads v, reached by `step`; adds guard and, for numbers, an input
  bool is_fixed(uint32_t node) const;
  bool is_data(uint32_t node) const;
  bool is_constant(uint32_t node, const Value& v) const;
  AVal wrap_plain(const Value& v, uint32_t node);
  AVal load_slot(HeapId id, Symbol name);  // of an external instance; unbound if absent
  void ensure(const AVal& a);
  AVal wrap_tensor(const Value& v, uint32_t node);
  AVal wrap_function(const Value& v, uint32_t node);
  AVal wrapped_function(const AVal& descriptor);  // of a property (its getter), class method or static method
  AVal wrap_object(const Value& v, uint32_t node);
  AVal input(const ir::Type* type, uint32_t node, const Value& witness);
  AVal size(ir::SymDim d);           // a dim as a number
  ir::SymDim dim_of(const AVal& a);  // a number as a dim: symbolic if it came from one
  uint32_t add_node(AccessNode n, bool* fresh);
  uint32_t find_node(const AccessNode& n) const;  // kNoNode: it was not loaded
  uint32_t steps_to(uint32_t node) const;         // from an argument or global; 0: no node

  // ---- heap
  AObject& write(HeapId id);
  AObject& change(HeapId id);  // to be written also where it stands outside: a list or dict
  void assign(HeapId id, Symbol name, AVal v);
  const AObject& read(HeapId id) const { return one_side(*heap_[id]); }
  const AObject& as_left(HeapId id) const { return *heap_[id]; }  // by branches, in one way or in two
  AObject::Kind kind_at(HeapId id) const { return heap_[id]->kind; }
  HeapId allocate(AObject o);
  AVal new_list(std::vector<AVal> items);
  AVal new_dict(std::vector<AVal> keys, std::vector<AVal> values);
  AVal new_set(const std::vector<AVal>& items);
  void set_add(const AVal& set, const AVal& item);
  void set_discard(const AVal& set, const AVal& item);
  runtime::Set& own_table(HeapId id);  // of a set, to be written
  std::vector<AVal> items_of_set(const AObject& o) const;
  void set_update(const AVal& set, const AVal& items);
  bool is_key(const AVal& key, const Value& looked_up);
  AVal new_iterator(AObject::Iter kind, AVal source);

  const ir::Type* type_of_sides(const AVal& v) const;
  ir::Atom joined_atom(const AVal& v, const ir::Type* type);
  std::optional<struct OptionalForm> optional_form(const AVal& head, const AVal& back) const;
  std::pair<ir::Atom, ir::Atom> optional_atoms(const AVal& v, const OptionalForm& form);

  // ---- residual (materialise.cpp)
  ir::Atom atom(const AVal& a);         // of a number, or materialised
  ir::Atom materialise(const AVal& a);  // as a boxed value
  AVal emit(ir::Op op, const std::vector<AVal>& args, const ir::Type* type, uint32_t attr = 0);
  // Executed by the runtime; effects unknown.
  AVal boxed(ir::Op op, const std::vector<AVal>& args, uint32_t attr = 0, const ir::Type* type = nullptr);
  AVal boxed_call(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords,
                  const ir::Type* type = nullptr);
  ir::Atom pool(const Value& v);           // a concrete object as a boxed input
  ir::Atom constant_atom(const Value& v);  // none if it has no constant form
  ir::Atom node_input(uint32_t node);
  ir::Atom made_object(HeapId id);
  ir::Atom made_iterator(HeapId id);
  ir::Atom made_by_recipe(const AVal& a);
  void escape(HeapId id, ir::Atom made);
  bool is_plain(const AVal& a, std::map<HeapId, bool>& seen) const;

  // ---- the world outside (effects.cpp)
  void before_unknown();
  void after_unknown();                         // forget what the interpreter may have changed
  void forget(AObject& o) const;                // the same, of one object
  bool changed_inside(const AObject& o) const;  // an external object that is no longer as the call found it
  void write_all();                             // everything outside is as it would be
  void write_pending();                         // the same, after each step, where that is to be so
  void write_object(HeapId id);
  void write_items(HeapId id, ir::Atom place);
  ir::Atom place_of_object(HeapId id);
  bool may_run_scripts(const AVal& a) const;
  bool shown_by_scripts(const AVal& a, int depth = 8) const;
  bool output_is_replaced();

  AVal emit_call(const AVal& f, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords,
                 const ir::Type* type = nullptr);
  std::string callee_name(const AVal& f);
  // Of an operation that is left to the interpreter: what it gives, and its operands.
  void note_hole(Because why, const AVal& out, const std::vector<AVal>& operands);
  Symbol current_function() const;

  [[noreturn]] void abandon(Reason reason, std::string text);
  [[noreturn]] void raise();  // ends this path
  bool raises_itself() const;
  void raise_by(const AVal& native, const std::vector<AVal>& args);
  bool is_of_script(Span at) const;  // not of the library
  Span script_span() const;  // of the script's operation that is being executed, by a function of the library or not
  [[noreturn]] void abandon_raises();  // what was asked of the runtime; the interpreter is to raise it
  // Where it enters itself as deep as the program or a value is nested.
  void need_stack(const char* nested) {
    if (!session.has_stack()) abandon(Reason::too_large, nested);
  }
  [[noreturn]] void abandon_whole(Reason reason, std::string text);
  [[noreturn]] void abandon_torn(const AObject& o, std::string_view what);
  [[noreturn]] void abandon_at_exit(const AObject& o);  // an object that differs between branches is to leave
  [[noreturn]] void abandon_parted(const AVal& poison, std::string reason);

  Session& session;
  Residual code;
  AccessProgram access;
  bool makes_tensors = false, places = false;  // SpecialiseResult
  Span span{};                                 // of what is being executed
  ir::Atom given_item{};  // by the iter.next just before, of an iterator that is followed: not the end
  Symbol function_name{};

 private:
  friend class Apart;
  template <class Entry>
  AVal handled(const Entry& entry, std::string_view name, const std::vector<AVal>& args,
               const std::vector<std::pair<Symbol, AVal>>& keywords);
  std::set<const ir::Function*> recursive_;  // went too deep: entered once at a time from then on
  int arms_ = 0;                             // of branches that are not decided, being executed
  template <class F>
  AVal executed(std::string_view name, const std::vector<AVal>& args, F boxed_form);
  // holes.cpp
  AVal exec_let_or_hole(AFrame& f, const ir::Let& let);
  std::optional<AVal> hole(AFrame& f, const ir::Let& let);
  std::optional<AVal> hole_of_call(AFrame& f, const ir::Let& let);
  bool keeps_identity(const AVal& a) const;
  bool is_plain_value(const AVal& a, int depth);
  void need_plain(const std::vector<AVal>& values);
  void need_plain_call(const AVal& f, const std::vector<AVal>& args,
                       const std::vector<std::pair<Symbol, AVal>>& keywords);
  void forget_made();
  std::map<const ir::Function*, ir::FunctionRef> generators_;  // as steps
  size_t generator_steps_ = 0, before_generators_ = 0;
  Value protocol_module_;  // once something of it was asked for
  // execute/control.cpp, execute/loops.cpp
  enum class EnterAt : uint8_t {
    block,
    head,        // of a loop that enter_loop has dealt with
    terminator,  // the lets are done
  };
  Outcome run(AFrame& f, ir::BlockId from, ir::BlockId stop, EnterAt entry = EnterAt::block);
  Outcome run_branch(AFrame& f, ir::Atom condition, ir::BlockId from, ir::BlockId stop, ir::BlockId& next,
                     const std::function<Outcome(size_t, ir::BlockId)>& arm);
  Outcome run_arms(AFrame& f, ir::Atom condition, ir::BlockId meet,
                   const std::function<Outcome(size_t, ir::BlockId)>& arm);
  void pause();
  bool enter_loop(AFrame& f, ir::BlockId head, ir::BlockId stop, Outcome& out, ir::BlockId& next);
  void next_turn(AFrame& f, AFrame::LoopState& l);
  void follow_walks(AFrame& f, AFrame::LoopState& l);
  void make_escaping();
  Outcome residual_loop(AFrame& f, ir::BlockId head, ir::BlockId exit, const Fork& start, bool may_roll);
  void join_edges(AFrame& f, ir::BlockId head, std::vector<Fork>& edges, uint32_t names, uint64_t born);
  Outcome run_ways(AFrame& f, const ir::Terminator& t, const AVal& way, size_t first, ir::BlockId at, ir::BlockId stop,
                   ir::BlockId& next);
  bool being_unrolled(const AFrame& f, ir::BlockId at) const;
  void take_edge(AFrame& f, const ir::Target& t);
  AVal atom_value(AFrame& f, ir::Atom a);
  AVal raw_value(AFrame& f, ir::Atom a);  // which may be an either
  AVal usable(const AVal& v);
  AVal constant_value(const ir::Function& f, ir::ConstId c);
  bool is_changeable(Symbol name);
  AVal class_data(const Value& cls, Symbol name, AVal found);
  AVal found_global(const Value& module, Symbol name);  // unbound where it was not read
  void reach(HeapId id);                                // an external object that this state has not
  // join.cpp
  AVal poison(struct JoinBlock& j);
  uint32_t parted_at(struct JoinBlock& j);
  bool is_made_real(const struct JoinBlock& j) const;
  void ask_to_part(uint32_t parted);
  bool can_merge(const AVal& a, const AVal& b) const;
  bool differs(const AObject& x, const AObject& y) const;
  void make_real(Fork& x, AVal& v);
  bool try_make_real(Fork& x, AVal& v);
  void make_real(Fork& a, Fork& b, AVal& va, AVal& vb);
  void make_globals_real(Fork& a, Fork& b, HeapId id);
  void make_objects_real(Fork& a, Fork& b, struct JoinBlock& j);
  void reach_on_both(Fork& a, Fork& b, size_t id);
  Outcome join(AFrame& f, Fork& a, Fork& b, const struct Meet& meet);
  HeapId merged_identity(const AVal& a, const AVal& b, Fork& fa, Fork& fb, struct JoinBlock& j);
  std::shared_ptr<AObject> untouched(const AObject& x, const Effects& there) const;
  void merge_records(AObject& o, const AObject& x, const AObject& y, Fork& a, Fork& b, struct JoinBlock& j);
  // records.cpp
  const struct Rolled& rolled_of(const AVal& flag);
  void need_there(const AVal& flag);
  int64_t turn_records(HeapId seq, const AVal& flag);
  const AObject& unpacked_turn(const Rolled& r, const AVal& chain);
  AVal turn_item(HeapId seq, const AVal& flag, const AVal& chain, size_t item);
  AVal of_turn(const AVal& v, const Rolled& r, struct Turn& t);
  ir::Atom atom_of_turn(ir::Atom a, const Rolled& r, const Turn& t) const;
  void roll_records(const struct LoopPlan& plan, struct LoopHead& lh);
  bool only_pushed(const AObject& head, const AObject& back) const;
  bool describe_turn(const LoopPlan& plan, const Fork& at_head, const Fork& edge, Rolled& r);
  bool roll_turns(const LoopPlan& plan, const Fork& at_head, const std::vector<Fork>& edges, const LoopHead& lh);
  ir::Atom chain_with_turn(const LoopHead& lh);
  AVal settled_position(const AVal& position, const Fork& at);
  AVal without_absent(const AVal& position);
  AVal merged_position(const AVal& a, const AVal& b, const Fork& fa, const Fork& fb);
  AVal turn_before(const AVal& position);
  void to_turn_ends(std::vector<AVal>& env);
  void check_shared_chains(const LoopPlan& plan, const Fork& at_head, const Fork& edge);
  AVal generalise_position(const AVal& position, LoopHead& lh);
  static void pass_turns(const std::vector<AVal>& at_head, std::vector<AVal>& env);
  AVal merge_one_sided(const AObject::Slot& s, const AObject& other, bool other_first, Fork& a, Fork& b,
                       struct JoinBlock& j);
  AVal merge(const AVal& a, const AVal& b, Fork& fa, Fork& fb, struct JoinBlock& j);
  void merge_heaps(Fork& a, Fork& b, struct JoinBlock& j);
  void merge_shadows(AObject& o, const AObject& x, const AObject& y, Fork& a, Fork& b, struct JoinBlock& j);
  void generalise_state(AFrame& f, const LoopPlan& plan, LoopHead& lh);
  AVal generalise(const AVal& v, LoopHead& lh, const struct OptionalForm* optional = nullptr);
  bool fits(AFrame& f, ir::BlockId head, const LoopPlan& of_head, LoopPlan& plan, const Fork& at_head, Fork& edge,
            const std::set<HeapId>& renewed);
  bool escapes_before(HeapId id, const Fork& at_head);
  bool boxed_before(HeapId id, const LoopWay& way, const AObject& head, const AObject& back);
  void require_match(const std::string& what, const AVal& head, const AVal& back, const Fork& edge);
  std::vector<ir::Atom> back_edge_arguments(const LoopPlan& plan, const Fork& at_head, const Fork& edge,
                                            const LoopHead& lh);
  void restore_heap(const AHeap& saved);
  struct Checkpoint;
  bool leave_instead(const Abandon& a, const Checkpoint& before);
  Checkpoint checkpoint(bool with_heap = true) const;
  // Everything is as it was there; it must have the heap.
  void undo(const Checkpoint& to);
  // renewed.cpp
  bool are_renewed(const AVal& head, const AVal& back, const AHeap& at_head, const AHeap& at_edge) const;
  bool reached_by_it_alone(const AFrame& f, const AVal& v, std::optional<uint32_t> name, const HeapLocation* slot,
                           const Fork& at, const std::vector<bool>& live) const;
  AVal renew(const AVal& v, LoopHead& lh);
  void require_renewed(const std::string& what, const AVal& head, const AVal& back, const Fork& at_head,
                       const Fork& edge);
  void renewed_arguments(const AVal& head, const AVal& back, const Fork& at_head, const Fork& edge,
                         const std::function<void(const AVal&, const AVal&)>& pass) const;
  // either.cpp
  static bool passes_either(const ir::Let& let, uint32_t operand);
  AVal settle(const AVal& v) const;
  void settle_heap();
  void enter_side(ir::Atom tag, bool side);
  std::optional<ir::Atom> undecided(AFrame& f, const ir::Let& let) const;
  std::optional<ir::Atom> answered_by_sides(AFrame& f, const ir::Let& let) const;
  AVal exec_let_by_sides(AFrame& f, const ir::Let& let);
  bool too_many_sides() const;
  bool may_split_more();
  AVal on_sides(AFrame& f, ir::Atom tag, const std::function<AVal()>& body);
  AVal either(ir::Atom tag, const AVal& yes, const AVal& no);
  Outcome run_sides(AFrame& f, ir::Atom tag, ir::BlockId at, ir::BlockId stop, ir::BlockId& next);
  ir::Atom materialise_either(const AVal& a);
  AVal generalise_optional(const AVal& v, const OptionalForm& form, LoopHead& lh);
  ir::Atom carried_atom(ir::Atom a, const ir::Type* type, size_t side, struct JoinBlock& j);
  const ir::Type* carried_type(const ir::Type* t, size_t side, struct JoinBlock& j);
  void carry_sizes(const ir::Type* from, const ir::Type* to, size_t side, struct JoinBlock& j);
  AVal carried(const AVal& v, size_t side, struct JoinBlock& j);
  AVal both(const AVal& a, const AVal& b, struct JoinBlock& j);
  std::shared_ptr<const AObject> carried(const std::shared_ptr<const AObject>& object, size_t side,
                                         struct JoinBlock& j);
  std::shared_ptr<AObject> both(const AHeap::Ref& x, const AHeap::Ref& y, struct JoinBlock& j);
  bool differs_in_structure(const AObject& x, const AObject& y) const;
  void carry_objects(const Fork& a, const Fork& b, struct JoinBlock& j);

  // results
  void drop_heap();
  void collect_outputs(const AVal& result);
  void collect_writes(class Describer& b);
  void return_outputs(const Describer& b);
  // waiting.cpp: a forward form that is compiled by itself
  void collect_waiting(const AVal& pair);
  void collect_way(const AVal& value, const AVal& pullback, const struct ResultLeaves& leaves, ir::Atom wait,
                   uint32_t having);
  bool reads_what_may_change() const;
  static AVal as_given(const AVal& d);
  const AVal* outside_owner(const AVal& object) const;
  bool is_sent(const AVal& env, const AVal& object) const {
    return sent_env_ != kNoHeap && env.heap == sent_env_ && outside_owner(object);
  }
  void send(const AVal& env, const AVal& object, const AVal& slot, const AVal& d);
  void need_map(const AVal& env, const AVal& object);
  [[noreturn]] void abandon_crossing();
  std::vector<std::array<AVal, 3>> take_sent(const AVal& env);
  void note_written(const AVal& loaded);
  void note_written(const AObject& o, const AObject::Slot& slot);

  const SpecialiseRequest& request_;
  const std::shared_ptr<Apart> apart_;  // calls that are no part of the program
  AHeap heap_;
  std::unordered_map<const void*, HeapId> external_;  // concrete object → its abstract one
  std::unordered_map<const void*, ir::Atom> pooled_;
  std::map<std::array<uint64_t, 5>, uint32_t> node_index_;                // by what tells a node from others
  std::unordered_map<HeapId, std::pair<Value, uint32_t>> external_info_;  // the witness and node of an external object
  std::unordered_map<uint32_t, ir::Atom> node_inputs_;                    // nodes passed on boxed
  std::vector<AVal> node_values_;                                         // of nodes that are no heap objects
  std::unordered_map<uint32_t, ir::SymDim> dims_of_names_;
  std::unordered_map<uint32_t, AVal> named_sizes_;         // number → the tensor that has it as its size
  std::unordered_map<uint32_t, Sum> sums_;                 // by name
  std::unordered_map<uint32_t, uint32_t> symbol_classes_;  // of the request → symbol
  std::unordered_map<const void*, HeapId> modules_;
  uint32_t next_heap_ = 0;
  bool abandon_symbol_ = false;                                          // a size had to be a number
  std::unordered_map<uint32_t, ir::Atom> extents_;                       // symbol → its int input
  std::unordered_map<uint32_t, std::pair<AVal, uint32_t>> found_sizes_;  // symbol → tensor and axis, or the size
  std::deque<AFrame*> frames_;
  std::vector<SpecialiseNote> fallbacks_;
  std::unordered_map<uint32_t, uint32_t> hole_of_;  // names of no known type → the note of the hole that gives them
  std::unordered_map<const runtime::Function*, AVal> function_dicts_;
  std::unordered_map<uint32_t, SpecialiseNote> items_of_lists_;  // the hole to tell of where one is used (note_item)
  SpecialiseResult* result_ = nullptr;
  int depth_ = 0;
  size_t steps_ = 0;
  Effects effects_;
  std::vector<HeapId> unwritten_;  // objects outside that were changed since everything was written, and maybe others
  bool in_try_ = false;
  int in_generators_ = 0;  // whose next value is asked for
  int raising_ = 0;        // blocks that end in a raise, being executed: they have no holes
  Recording* recording_ = nullptr;
  NextCall* next_call_ = nullptr;  // the innermost one; null: nobody would see a StopIteration end an iterator
  size_t redone_ = 0;  // places from which the interpreter does the call again: a raise, what stands inside try
  std::vector<Parted> parted_;
  std::map<uint32_t, Value> boxed_lists_, sets_;  // lists outside that are passed on boxed, and sets: by node
  std::map<uint32_t, Value> unfollowed_;          // what outside is not looked into, by its node
  std::vector<runtime::Object*> learnt_buffers_;  // classes that get a buffer here, and maybe others
  size_t eithers_ = 0, splits_ = 0;               // made; operations executed for both sides
  size_t side_depth_ = 0, side_start_ = 0, side_steps_ = 0;
  HeapId sent_env_ = kNoHeap;                       // the shadow map of a pullback that goes on behind ad.wait
  std::vector<std::pair<AVal, AVal>> sent_places_;  // object and slot: who gets a cotangent there
  std::set<uint32_t> tags_;                         // names that are tags
  std::vector<std::shared_ptr<Rolled>> rolled_;     // loops of the program whose turns leave records
  std::map<uint32_t, Turn> turns_;                  // by the name of the chain
  std::map<std::shared_ptr<const AParts>, int64_t> ids_of_parts_;
  bool testing_end_ = false;  // the operand is read by is.end
  struct {
    std::set<HeapId> objects, escaped;
    std::set<HeapId> boxed;  // lists that grow by a number in each turn: the runtime's
    std::set<std::pair<HeapId, uint32_t>> slots;
  } preload_;                                                      // what a loop head must have
  std::map<std::pair<const void*, uint32_t>, LoopWay> loop_ways_;  // by function and loop head
  std::set<Symbol> written_names_;  // FlowInfo::written of all functions that were entered
};

}  // namespace ouro::jit
