#include "runtime/object/alloc.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/object/dict.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/leftovers.h"
#include "runtime/object/session.h"
#include "runtime/object/type_slots.h"
#include "runtime/text/foreign.h"
#include "runtime/text/utf8.h"
#include "support/diag.h"
#include "support/per_thread.h"
#include "support/small_vec.h"

namespace ouro::runtime {

namespace {

constexpr int kMaxDestroyDepth = 32;  // what a thread of 256 kB has room for behind its limit, also under a sanitizer

// Objects whose destruction waits.
struct Destruction {
  int depth = 0;
  std::vector<Object*> deferred;
};
constinit thread_local Session* t_session = nullptr;

KindOps g_kinds[static_cast<int>(ObjectKind::count_)];

}  // namespace

Session* current_session() { return t_session; }
uintptr_t lowest_stack_address();  // runtime/session.cpp
SessionScope::SessionScope(Session& s) : before_(t_session), client_before_(serve_client(&s)) {
  thread_local const uintptr_t lowest = lowest_stack_address();
  t_session = &s;
  s.stack_limit = lowest;
}
SessionScope::~SessionScope() {
  t_session = before_;
  serve_client(client_before_);
}

void track(GcObject* o) {
  Session* s = t_session;
  if (!s || !s->gc_objects) return;
  GcObject* head = s->gc_objects;
  o->gc_next = head->gc_next;
  o->gc_prev = head;
  head->gc_next->gc_prev = o;
  head->gc_next = o;
  o->flags |= kFlagTracked;
  if (++s->gc_count > s->gc_threshold) s->ask(Session::kCollect);
}

void untrack(GcObject* o) {
  if (!(o->flags & kFlagTracked)) return;
  o->gc_prev->gc_next = o->gc_next;
  o->gc_next->gc_prev = o->gc_prev;
  o->flags &= static_cast<uint8_t>(~kFlagTracked);
  if (t_session && t_session->gc_count) --t_session->gc_count;
}

void register_kind(ObjectKind kind, const KindOps& ops) { g_kinds[static_cast<int>(kind)] = ops; }
const KindOps& kind_ops(ObjectKind kind) { return g_kinds[static_cast<int>(kind)]; }

constexpr size_t kStrHead = sizeof(Str) - sizeof(Str::data);
size_t str_memory(const Str* s) { return kStrHead + s->capacity + 1; }

void destroy(Object* o) {
  if (o->object_kind() == ObjectKind::str) {  // holds nothing
    free_memory(o, str_memory(static_cast<Str*>(o)));
    return;
  }
  Destruction& d = support::PerThread<Destruction>::get();
  if (d.depth >= kMaxDestroyDepth) {
    d.deferred.push_back(o);
    return;
  }
  ++d.depth;
  auto destroy_one = g_kinds[o->kind].destroy;
  if (!destroy_one) ouro_bug("no destructor for objects of kind %d", o->kind);
  destroy_one(o);
  --d.depth;
  while (d.depth == 0 && !d.deferred.empty()) {
    Object* next = d.deferred.back();
    d.deferred.pop_back();
    ++d.depth;
    g_kinds[next->kind].destroy(next);
    --d.depth;
  }
}

// ---------------------------------------------------------------- text

size_t bytes_memory(size_t size) { return std::max(sizeof(Bytes), sizeof(Bytes) - sizeof(Bytes::data) + size + 1); }

Str* alloc_str(size_t bytes, size_t capacity) {
  if (capacity < bytes) capacity = bytes;
  if (capacity < 7) capacity = 7;
  // Use all of the block that the size class gives.
  size_t total = (kStrHead + capacity + 1 + 15) & ~size_t{15};
  capacity = total - kStrHead - 1;
  if (capacity > UINT32_MAX) throw std::bad_alloc();
  Str* s = new (allocate_memory(total)) Str;
  s->kind = static_cast<uint8_t>(ObjectKind::str);
  s->size = bytes;
  s->capacity = static_cast<uint32_t>(capacity);
  s->data[bytes] = 0;
  return s;
}

void copy_text(char* to, const char* from, size_t n) {
  constexpr size_t kPiece = size_t{1} << 23;
  for (; n > kPiece; to += kPiece, from += kPiece, n -= kPiece) {
    std::memcpy(to, from, kPiece);
    poll_interrupt();
  }
  if (n) std::memcpy(to, from, n);
}

Value make_str(std::string_view text) {
#ifdef OURO_ASSERTS
  if (text.size() < 4096 && !text::check_utf8(text, 0, true).what.empty())
    ouro_bug("bytes became a str: %s", text::shown_text(text).c_str());
#endif
  Value v = Value::steal(alloc_str(text.size()));
  copy_text(v.as<Str>()->data, text.data(), text.size());
  return v;
}

Value make_str(Session& s, Symbol name) { return s.str(name); }

Value make_char(uint32_t code_point) {
  if (Session* s = t_session; s && code_point < std::size(s->ascii_chars)) [[likely]] {
    Value& known = s->ascii_chars[code_point];
    if (known.is_unbound()) {
      char c = static_cast<char>(code_point);
      known = make_str(std::string_view(&c, 1));
      known.as<Str>()->points = 1;
    }
    return known;
  }
  std::string text;
  append_utf8(text, code_point);
  Value v = make_str(text);
  v.as<Str>()->points = 1;
  return v;
}

int64_t str_length(Str* s) {
  if (s->points < 0) {
    constexpr size_t kPiece = size_t{1} << 23;
    size_t n = 0;
    for (size_t at = 0; at < s->size; at += kPiece) {
      if (at) poll_interrupt();
      n += text::count_points(s->view().substr(at, kPiece));
    }
    s->points = static_cast<int64_t>(n);
  }
  return s->points;
}

// A name that is new stays in the process's table: it is counted, and never given back.
Symbol str_symbol(Str* s) {
  constexpr size_t kRow = 64;
  if (s->symbol) return Symbol::from_id(s->symbol);
  Symbol name = support::find_symbol(s->view());
  if (!name) {
    if (Session* session = current_session()) session->memory.charge(s->view().size() + kRow);
    name = intern(s->view());
  }
  s->symbol = name.id();
  return name;
}

Value make_bytes(std::string_view raw) {
  size_t total = bytes_memory(raw.size());
  Bytes* b = new (allocate_memory(total)) Bytes;
  b->kind = static_cast<uint8_t>(ObjectKind::bytes);
  b->size = raw.size();
  Value v = Value::steal(b);
  copy_text(b->data, raw.data(), raw.size());
  b->data[raw.size()] = 0;
  return v;
}

Value make_bytearray(std::string raw) {
  auto* b = new_object<ByteArray>(ObjectKind::bytearray);
  Value v = Value::steal(b);
  b->data = std::move(raw);
  b->settle();
  return v;
}
void ByteArray::settle() {
  const size_t now = data.capacity();
  if (now == charged) return;
  if (Session* s = current_session()) {
    if (now > charged) s->memory.charge(now - charged);
    if (now < charged) s->memory.release(charged - now);
  }
  charged = now;
}
ByteArray::~ByteArray() {
  if (Session* s = current_session()) s->memory.release(charged);
}

// ---------------------------------------------------------------- lists and tuples

void List::reserve(size_t n) {
  if (n <= capacity) return;
  if (n > SIZE_MAX / sizeof(Value) / 2) throw std::bad_alloc();
  size_t wanted = size + size / 8 + 6;
  if (wanted < n) wanted = n;
  // Values are relocatable. Few of them live in pooled blocks.
  constexpr size_t kFew = kPooled / sizeof(Value);
  if (capacity > kFew) {
    items = static_cast<Value*>(reallocate_elsewhere(items, capacity * sizeof(Value), wanted * sizeof(Value)));
  } else {
    auto* fresh = static_cast<Value*>(allocate_memory(wanted * sizeof(Value)));
    if (size) std::memcpy(static_cast<void*>(fresh), items, size * sizeof(Value));
    if (capacity) free_memory(items, capacity * sizeof(Value));
    items = fresh;
  }
  capacity = wanted;
}
List::~List() { drop_items<true>(items, size, capacity ? items : nullptr, capacity * sizeof(Value)); }
void List::insert(size_t at, Value v) {
  reserve(size + 1);
  std::memmove(static_cast<void*>(items + at + 1), items + at, (size - at) * sizeof(Value));
  new (items + at) Value(std::move(v));
  ++size;
}
Value List::take(size_t at) {
  Value v = std::move(items[at]);
  --size;
  std::memmove(static_cast<void*>(items + at), items + at + 1, (size - at) * sizeof(Value));
  return v;
}
void List::erase(size_t from, size_t to) {
  if (from >= to) return;
  if (const size_t bytes = (to - from) * sizeof(Value); bytes > kPooled * 8) {
    auto* dropped = static_cast<Value*>(allocate_memory(bytes));
    std::memcpy(static_cast<void*>(dropped), items + from, bytes);
    std::memmove(static_cast<void*>(items + from), items + to, (size - to) * sizeof(Value));
    size -= to - from;
    drop_items<false>(dropped, to - from, dropped, bytes);
    return;
  }
  SmallVec<Value, 8> dropped;
  dropped.reserve(to - from);
  for (size_t i = from; i < to; ++i) dropped.push_back(std::move(items[i]));
  std::memmove(static_cast<void*>(items + from), items + to, (size - to) * sizeof(Value));
  size -= to - from;
}
void List::truncate(size_t n) {
  if (n >= size) return;
  Value* old = items;
  size_t old_size = size, old_capacity = capacity;
  if (n == 0) {  // dropping an element may run into this list again
    items = nullptr;
    size = capacity = 0;
    drop_items<false>(old, old_size, old, old_capacity * sizeof(Value));
    return;
  }
  erase(n, size);
}

Value make_list_reserved(size_t capacity) {
  List* l = new_object<List>(ObjectKind::list);
  if (capacity) l->reserve(capacity);
  return Value::steal(l);
}
Value make_list(std::span<const Value> items) {
  Value v = make_list_reserved(items.size());
  List* l = v.as<List>();
  constexpr size_t kPiece = 1 << 16;
  for (size_t at = 0; at < items.size(); at += kPiece) {
    if (at) poll_interrupt();
    for (const Value& i : items.subspan(at, std::min(kPiece, items.size() - at))) new (l->items + l->size++) Value(i);
  }
  return v;
}
Value make_list(std::initializer_list<Value> items) { return make_list(std::span(items.begin(), items.size())); }
Value make_list_moved(std::span<Value> items) {
  Value v = make_list_reserved(items.size());
  List* l = v.as<List>();
  for (Value& i : items) new (l->items + l->size++) Value(std::move(i));
  return v;
}

Value alloc_tuple(size_t n) {
  if (n > SIZE_MAX / sizeof(Value) / 2) throw std::bad_alloc();
  Tuple* t = new (allocate_memory(sizeof(Tuple) + n * sizeof(Value))) Tuple;
  t->kind = static_cast<uint8_t>(ObjectKind::tuple);
  t->size = n;
  for (size_t i = 0; i < n; ++i) new (t->items() + i) Value();
  track(t);
  return Value::steal(t);
}
Value make_tuple(std::span<const Value> items) {
  Value v = alloc_tuple(items.size());
  Value* out = v.as<Tuple>()->items();
  for (size_t i = 0; i < items.size(); ++i) out[i] = items[i];
  return v;
}
Value make_tuple(std::initializer_list<Value> items) { return make_tuple(std::span(items.begin(), items.size())); }
Value make_tuple_moved(std::span<Value> items) {
  Value v = alloc_tuple(items.size());
  Value* out = v.as<Tuple>()->items();
  for (size_t i = 0; i < items.size(); ++i) out[i] = std::move(items[i]);
  return v;
}

// ---------------------------------------------------------------- small objects

Value make_range(int64_t start, int64_t stop, int64_t step) {
  Range* r = new_object<Range>(ObjectKind::range);
  r->start = start, r->stop = stop, r->step = step;
  return Value::steal(r);
}
Value make_slice(Value start, Value stop, Value step) {
  // Of numbers it is part of no cycle.
  Slice* x = new (allocate_memory(sizeof(Slice))) Slice;
  x->kind = static_cast<uint8_t>(ObjectKind::slice);
  if (start.is_object() || stop.is_object() || step.is_object()) track(x);
  x->start = std::move(start), x->stop = std::move(stop), x->step = std::move(step);
  return Value::steal(x);
}
Value make_cell(Value v) {
  Cell* c = new_object<Cell>(ObjectKind::cell);
  c->value = std::move(v);
  return Value::steal(c);
}
Value make_iterator(const IterDef& def, Value source, int64_t index, int64_t stop, int64_t step, ObjectKind kind) {
  Iterator* it = new_object<Iterator>(kind);
  it->def = &def;
  it->source = std::move(source);
  it->index = index, it->stop = stop, it->step = step;
  return Value::steal(it);
}
Value make_native(const NativeDef& def, Value self, Type* owner) {
  Native* n = new_object<Native>(ObjectKind::native);
  n->def = &def;
  n->self = std::move(self);
  n->owner = owner;
  return Value::steal(n);
}
Value make_bound_method(Value function, Value self) {
  BoundMethod* m = new_object<BoundMethod>(ObjectKind::bound_method);
  m->function = std::move(function);
  m->self = std::move(self);
  return Value::steal(m);
}
Value make_module(Session& s, std::string_view name) {
  Module* m = new_object<Module>(ObjectKind::module);
  m->name = make_str(name);
  m->file = Value::none();
  m->doc = Value::none();
  m->version = s.next_version++;
  return Value::steal(m);
}
Value make_opaque(Type* type, std::shared_ptr<void> data) {
  Opaque* o = new_object<Opaque>(ObjectKind::opaque);
  ++type->refs;
  o->type = type;
  o->data = std::move(data);
  return Value::steal(o);
}

}  // namespace ouro::runtime
