// Making and freeing heap objects. Everything made here has one reference, which the returned Value (or the caller of
// new_object) owns.
//
// Where there is no memory, std::bad_alloc is thrown; call_native() and run() make it a MemoryError.
//
// Memory comes from per-thread free lists by size (blocks of 16 bytes up to 512, else malloc), because objects belong
// to one thread. Freeing is iterative: a long chain of objects never recurses deeply (destroy() queues beyond a fixed
// depth).
#pragma once

#include <initializer_list>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/object.h"

namespace ouro::runtime {

struct FreeBlock {
  FreeBlock* next;
};
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kPooled = 0;
#else
constexpr size_t kPooled = 512;
#endif
// This thread's free lists, by size in blocks of 16 bytes.
struct FreeLists {
  FreeBlock* heads[kPooled / 16 + 1];
};
extern constinit thread_local FreeLists t_free;

void* allocate_elsewhere(size_t bytes);  // more than is pooled, or the free list is empty
void free_elsewhere(void* p);

inline void* allocate_memory(size_t bytes) {
  if (bytes <= kPooled) [[likely]] {
    FreeBlock*& head = t_free.heads[(bytes + 15) / 16];
    if (FreeBlock* b = head) [[likely]] {
      head = b->next;
      return b;
    }
  }
  return allocate_elsewhere(bytes);
}
inline void free_memory(void* p, size_t bytes) {
  if (bytes > kPooled) return free_elsewhere(p);
  FreeBlock*& head = t_free.heads[(bytes + 15) / 16];
  auto* b = static_cast<FreeBlock*>(p);
  b->next = head;
  head = b;
}

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
