// Making and freeing heap objects. Everything made here has one reference, which the returned Value (or the caller of
// new_object) owns.
//
// Where there is no memory, or no more than the session may have (runtime/machine/memory.h), std::bad_alloc is thrown;
// call_native() and run() make it a MemoryError.
//
// Freeing is iterative: a long chain of objects never recurses deeply (destroy() queues beyond a fixed depth).
#pragma once

#include <initializer_list>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/object/object.h"
#include "runtime/object/pool.h"

namespace ouro::runtime {

void track(GcObject* o);  // put it under the cycle collector (new_object does)
void untrack(GcObject* o);

template <class T, class... A>
T* new_object(ObjectKind kind, A&&... args) {
  T* o = new (allocate_memory(sizeof(T))) T{std::forward<A>(args)...};
  o->kind = static_cast<uint8_t>(kind);
  if constexpr (std::is_base_of_v<GcObject, T>) track(o);
  return o;
}
template <class T>
void destroy_object(Object* o) {  // KindOps::destroy of a fixed-size T
  T* t = static_cast<T*>(o);
  if constexpr (std::is_base_of_v<GcObject, T>) untrack(t);
  t->~T();
  free_memory(t, sizeof(T));
}

size_t str_memory(const Str* s);  // bytes its block has
size_t bytes_memory(size_t size);
void copy_text(char* to, const char* from, size_t n);  // in pieces, between which an interrupt is seen
Value make_str(std::string_view utf8);
Value make_str(Session& s, Symbol name);            // interned: one Str per symbol and session
Str* alloc_str(size_t bytes, size_t capacity = 0);  // text to be filled in; NUL placed
Value make_char(uint32_t code_point);
Value make_bytes(std::string_view raw);
Value make_bytearray(std::string raw);
Value make_list(std::initializer_list<Value> items = {});
Value make_list(std::span<const Value> items);
Value make_list_moved(std::span<Value> items);  // items are moved out
Value make_list_reserved(size_t capacity);
Value make_tuple(std::initializer_list<Value> items = {});
Value make_tuple(std::span<const Value> items);
Value make_tuple_moved(std::span<Value> items);
Value alloc_tuple(size_t n);  // of unbound items, to be filled in at once
Value make_dict();
Value make_set();
Value make_frozenset();
Value make_range(int64_t start, int64_t stop, int64_t step);
Value make_slice(Value start, Value stop, Value step);
Value make_cell(Value v);
Value make_iterator(const IterDef& def, Value source, int64_t index = 0, int64_t stop = 0, int64_t step = 1,
                    ObjectKind kind = ObjectKind::iterator);
Value make_native(const NativeDef& def, Value self = Value(), Type* owner = nullptr);
Value make_bound_method(Value function, Value self);
Value make_module(Session& s, std::string_view name);
Value make_opaque(Type* type, std::shared_ptr<void> data);

// Text: length in code points (counted once), hash (CPython's SipHash-1-3 with key 0), symbol.
int64_t str_length(Str* s);
int64_t str_hash(Str* s);
Symbol str_symbol(Str* s);

}  // namespace ouro::runtime
