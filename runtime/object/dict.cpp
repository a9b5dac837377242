#include "runtime/object/dict.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/object/interrupt.h"
#include "runtime/object/leftovers.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {

namespace {

constexpr int32_t kFree = -1, kDeleted = -2;

// Compares a stored key with a wanted one of equal hash where no script runs: 1, 0; otherwise -2.
inline int plain_key_equals(const Value& stored, const Value& key) {
  if (stored.same(key)) return 1;
  if (stored.is_object() && key.is_object()) {
    Object *a = stored.object(), *b = key.object();
    if (a->object_kind() == ObjectKind::str && b->object_kind() == ObjectKind::str)
      return static_cast<Str*>(a)->view() == static_cast<Str*>(b)->view();
  } else if (stored.is_int() && key.is_int()) {
    return 0;  // equal ones are the same
  }
  return -2;
}

void free_index(Dict* d) {
  if (d->index) free_memory(d->index, (d->mask + size_t{1}) * sizeof(int32_t));
}
void free_entries(Dict::Entry* entries, size_t capacity) {
  if (entries) free_memory(entries, capacity * sizeof(Dict::Entry));
}

// A block that is given back unless it is taken.
template <class T>
class Block {
 public:
  explicit Block(size_t n) : size_(n), items_(static_cast<T*>(allocate_memory(n * sizeof(T)))) {}
  ~Block() {
    if (items_) free_memory(items_, size_ * sizeof(T));
  }
  Block(const Block&) = delete;
  T* get() { return items_; }
  T* take() { return std::exchange(items_, nullptr); }

 private:
  size_t size_;
  T* items_;
};

// The index of the entries that are there, as if the others were gone. An interrupt may throw.
void fill_index(int32_t* index, size_t size, const Dict* d) {
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t at = 0; at < size; at += kPiece) {
    if (at) poll_interrupt();
    std::memset(index + at, 0xff, std::min(kPiece, size - at) * sizeof(int32_t));
  }
  const uint64_t mask = size - 1;
  int32_t out = 0;
  for (uint32_t i = 0; i < d->filled; ++i) {
    if ((i & 0xffff) == 0xffff) poll_interrupt();
    if (d->entries[i].key.is_unbound()) continue;
    uint64_t perturb = static_cast<uint64_t>(d->entries[i].hash);
    uint64_t at = perturb & mask;
    while (index[at] != kFree) {
      perturb >>= 5;
      at = (at * 5 + perturb + 1) & mask;
    }
    index[at] = out++;
  }
}

// Entries are relocatable.
Dict::Entry* moved_entries(const Dict* d, size_t capacity) {
  const size_t old_bytes = d->capacity * sizeof(Dict::Entry), bytes = capacity * sizeof(Dict::Entry);
  if (d->entries && old_bytes > kPooled && bytes > kPooled)
    return static_cast<Dict::Entry*>(reallocate_elsewhere(d->entries, old_bytes, bytes));
  auto* fresh = static_cast<Dict::Entry*>(allocate_memory(bytes));
  if (d->entries) std::memcpy(static_cast<void*>(fresh), d->entries, std::min(old_bytes, bytes));
  free_entries(d->entries, d->capacity);
  return fresh;
}

// Room for n live entries; drops deleted ones. Where there is no memory for that, or an interrupt comes, nothing that
// shows has changed.
void resize(Dict* d, size_t n) {
  constexpr size_t kMost = size_t{1} << 30;
  if (n > kMost) throw std::bad_alloc();
  uint32_t capacity = 8;
  while (capacity < n) capacity *= 2;
  if (capacity > d->capacity) {
    d->entries = moved_entries(d, capacity);
    d->capacity = capacity;
  }
  Block<int32_t> index(capacity * size_t{2});
  fill_index(index.get(), capacity * size_t{2}, d);
  free_index(d);
  d->index = index.take();
  d->mask = capacity * 2 - 1;
  uint32_t out = 0;
  if (d->filled == d->used) out = d->filled;
  for (uint32_t i = out; i < d->filled; ++i) {
    if (d->entries[i].key.is_unbound()) {
      d->entries[i].~Entry();
      continue;
    }
    if (out != i) std::memcpy(static_cast<void*>(d->entries + out), d->entries + i, sizeof(Dict::Entry));
    ++out;
  }
  d->filled = d->index_fill = out;
  if (capacity < d->capacity) {
    d->entries = moved_entries(d, capacity);
    d->capacity = capacity;
  }
}

// The position of the key in `entries`: kFree if absent, -3 if a comparison failed. `slot` is its place in the index.
int32_t lookup(Session& s, Dict* d, const Value& key, int64_t hash, uint64_t* slot = nullptr) {
restart:
  if (!d->index) return kFree;  // also after a comparison that cleared the table
  uint64_t perturb = static_cast<uint64_t>(hash);
  uint64_t at = perturb & d->mask;
  for (;;) {
    int32_t i = d->index[at];
    if (i == kFree) return kFree;
    if (i >= 0 && d->entries[i].hash == hash) {
      int same = plain_key_equals(d->entries[i].key, key);
      if (same == -2) {
        const int32_t* index = d->index;
        const Value there = d->entries[i].key;
        same = equals(s, there, key);
        if (same < 0) return -3;
        // Only another table, or another key in this place, means to look again.
        if (index != d->index || i >= static_cast<int32_t>(d->filled) || !d->entries[i].key.same(there)) goto restart;
      }
      if (same) {
        if (slot) *slot = at;
        return i;
      }
    }
    perturb >>= 5;
    at = (at * 5 + perturb + 1) & d->mask;
  }
}

inline bool hash_key(Session& s, const Value& key, int64_t& h) {
  if (key.is_object() && key.object()->object_kind() == ObjectKind::str) {
    h = str_hash(key.as<Str>());
    return true;
  }
  if (key.is_int()) {
    h = hash_int(key.as_int());
    return true;
  }
  return hash(s, key, h);
}

void append(Dict* d, const Value& key, int64_t hash, Value v) {
  if (d->filled == d->capacity || d->index_fill * 4 > d->mask * 3) resize(d, size_t{d->used} + d->used / 2 + 1);
  uint64_t perturb = static_cast<uint64_t>(hash);
  uint64_t at = perturb & d->mask;
  while (d->index[at] >= 0) {
    perturb >>= 5;
    at = (at * 5 + perturb + 1) & d->mask;
  }
  d->index_fill += d->index[at] == kFree;
  d->index[at] = static_cast<int32_t>(d->filled);
  new (d->entries + d->filled++) Dict::Entry{hash, key, std::move(v)};
  ++d->used;
  ++d->version;
}

}  // namespace

Dict::~Dict() {
  free_index(this);
  drop_items<false>(entries, filled, entries, capacity * sizeof(Entry));
}

Value make_dict() { return Value::steal(new_object<Dict>(ObjectKind::dict)); }

void dict_reserve(Dict* d, size_t n) {
  if (n > d->capacity) resize(d, n);
}

Dict::Entry* dict_entry(Session& s, Dict* d, const Value& key) {
  int64_t h;
  return hash_key(s, key, h) ? dict_entry_hashed(s, d, key, h) : nullptr;
}
Dict::Entry* dict_entry_hashed(Session& s, Dict* d, const Value& key, int64_t hash) {
  int32_t i = lookup(s, d, key, hash);
  return i < 0 ? nullptr : d->entries + i;
}
Value* dict_find(Session& s, Dict* d, const Value& key) {
  Dict::Entry* e = dict_entry(s, d, key);
  return e ? &e->value : nullptr;
}

Dict::Entry* dict_plain_entry(Dict* d, const Value& key, bool& asks) {
  Str* text = cast_exact<Str>(key);
  asks = !text && !key.is_int();
  if (asks || !d->index) return nullptr;
  const int64_t hash = text ? str_hash(text) : hash_int(key.as_int());
  auto perturb = static_cast<uint64_t>(hash);
  for (uint64_t at = perturb & d->mask;; perturb >>= 5, at = (at * 5 + perturb + 1) & d->mask) {
    const int32_t i = d->index[at];
    if (i == kFree) return nullptr;
    if (i < 0 || d->entries[i].hash != hash) continue;
    Dict::Entry* e = d->entries + i;
    if (e->key.same(key)) return e;
    if (Str* other = cast_exact<Str>(e->key); other && text) {
      if (other->view() == text->view()) return e;
    } else if (!(other && key.is_int()) && !(e->key.is_int() && (text || key.is_int()))) {
      asks = true;  // of another kind
      return nullptr;
    }
  }
}

Value dict_get(Session& s, Dict* d, const Value& key) {
  int64_t h;
  return hash_key(s, key, h) ? dict_get_hashed(s, d, key, h) : Value::error();
}
Value dict_get_hashed(Session& s, Dict* d, const Value& key, int64_t hash) {
  int32_t i = lookup(s, d, key, hash);
  if (i == -3) return Value::error();
  return i < 0 ? Value() : d->entries[i].value;
}

bool dict_set_hashed(Session& s, Dict* d, const Value& key, int64_t hash, Value v) {
  int32_t i = lookup(s, d, key, hash);
  if (i == -3) return false;
  if (i >= 0) {
    Value old = std::move(d->entries[i].value);
    d->entries[i].value = std::move(v);
    return true;
  }
  append(d, key, hash, std::move(v));
  return true;
}
bool dict_set(Session& s, Dict* d, const Value& key, Value v) {
  int64_t h;
  return hash_key(s, key, h) && dict_set_hashed(s, d, key, h, std::move(v));
}

Value dict_set_default(Session& s, Dict* d, const Value& key, const Value& v) {
  int64_t h;
  if (!hash_key(s, key, h)) return Value::error();
  int32_t i = lookup(s, d, key, h);
  if (i == -3) return Value::error();
  if (i >= 0) return d->entries[i].value;
  append(d, key, h, v);
  return v;
}

int dict_contains(Session& s, Dict* d, const Value& key) {
  int64_t h;
  return hash_key(s, key, h) ? dict_contains_hashed(s, d, key, h) : -1;
}
int dict_contains_hashed(Session& s, Dict* d, const Value& key, int64_t hash) {
  int32_t i = lookup(s, d, key, hash);
  return i == -3 ? -1 : i >= 0;
}

// Of the entry i, which `index[slot]` names.
static void remove_entry(Dict* d, uint64_t slot, uint32_t i, Value& key, Value& value) {
  d->index[slot] = kDeleted;
  --d->used;
  ++d->version;
  key = std::move(d->entries[i].key);
  value = std::move(d->entries[i].value);
  // Deleted entries at the end are given back (popitem works from there); index slots stay marked until the next
  // rebuild.
  while (d->filled && d->entries[d->filled - 1].key.is_unbound()) d->entries[--d->filled].~Entry();
}

bool dict_take_last(Dict* d, Value& key, Value& value) {
  if (d->used == 0) return false;
  uint32_t i = d->filled;
  while (d->entries[--i].key.is_unbound()) continue;
  auto perturb = static_cast<uint64_t>(d->entries[i].hash);
  uint64_t at = perturb & d->mask;
  while (d->index[at] != static_cast<int32_t>(i)) {
    perturb >>= 5;
    at = (at * 5 + perturb + 1) & d->mask;
  }
  remove_entry(d, at, i, key, value);
  return true;
}

int dict_delete(Session& s, Dict* d, const Value& key, Value* removed) {
  int64_t h;
  return hash_key(s, key, h) ? dict_delete_hashed(s, d, key, h, removed) : -1;
}
int dict_delete_hashed(Session& s, Dict* d, const Value& key, int64_t hash, Value* removed) {
  uint64_t slot = 0;
  int32_t i = lookup(s, d, key, hash, &slot);
  if (i == -3) return -1;
  if (i < 0) return 0;
  Value old_key, old;
  remove_entry(d, slot, static_cast<uint32_t>(i), old_key, old);
  if (removed) *removed = std::move(old);
  return 1;
}

void dict_clear(Dict* d) {
  Dict::Entry* entries = d->entries;
  uint32_t filled = d->filled, capacity = d->capacity;
  free_index(d);
  d->entries = nullptr;
  d->index = nullptr;
  d->used = d->filled = d->capacity = d->mask = d->index_fill = 0;
  ++d->version;
  drop_items<false>(entries, filled, entries, capacity * sizeof(Dict::Entry));
}

Value dict_get_str(Session& s, Dict* d, std::string_view key) { return dict_get(s, d, make_str(key)); }
void dict_set_str(Session& s, Dict* d, std::string_view key, Value v) {
  if (!dict_set(s, d, make_str(key), std::move(v))) clear_pending(s);
}
void dict_set_symbol(Session& s, Dict* d, Symbol key, Value v) {
  if (!dict_set(s, d, s.str(key), std::move(v))) clear_pending(s);
}
Value* dict_find_symbol(Session& s, Dict* d, Symbol key) { return dict_find(s, d, s.str(key)); }

bool dict_next(const Dict* d, size_t& pos, Value*& key, Value*& value, int64_t* hash) {
  while (pos < d->filled) {
    Dict::Entry& e = d->entries[pos++];
    if (e.key.is_unbound()) continue;
    key = &e.key;
    value = &e.value;
    if (hash) *hash = e.hash;
    return true;
  }
  return false;
}

Value dict_copy(Dict* d) {
  Value copy = make_dict();
  Dict* c = copy.as<Dict>();
  if (d->used) dict_reserve(c, d->used);
  size_t pos = 0;
  while (pos < d->filled) {
    if ((pos & 0xffff) == 0xffff) poll_interrupt();
    const Dict::Entry& e = d->entries[pos++];
    if (!e.key.is_unbound()) append(c, e.key, e.hash, e.value);
  }
  return copy;
}

// A dict that a subclass iterates in its own way is a mapping like any other.
static bool iterates_itself(Session& s, const Value& mapping) {
  Instance* i = cast_exact<Instance>(mapping);
  return i && is_overridden(find_dunder(s, i->type, Dunder::iter_), Dunder::iter_);
}

bool dict_merge(Session& s, Dict* into, const Value& mapping) {
  if (Dict* d = cast<Dict>(mapping); d && !iterates_itself(s, mapping)) {
    if (d == into) return true;
    const Value keep = Value::share(d);
    const bool copies = into->used == 0 && d->used == d->filled;  // no key is asked
    if (copies) dict_reserve(into, d->used);
    const uint32_t filled = d->filled;
    size_t pos = 0;
    int64_t hash = 0;
    Value *k, *v;
    while (dict_next(d, pos, k, v, &hash)) {
      if ((pos & 0xffff) == 0xffff) poll_interrupt(s);
      const Value key = *k;
      if (copies)
        append(into, key, hash, *v);
      else if (!dict_set_hashed(s, into, key, hash, *v))
        return false;
      if (d->filled > filled || !d->entries) {
        raise_error(s, ExcKind::RuntimeError, "dict mutated during update");
        return false;
      }
    }
    return true;
  }
  static const Symbol keys_name = intern("keys");
  Value keys = call_method(s, mapping, keys_name);
  if (keys.is_error()) return false;
  Value it = iter(s, keys);
  if (it.is_error() && pending_is(s, ExcKind::TypeError)) {
    clear_pending(s);
    raise_type_error(s, "%s.keys() returned a non-iterable (type %s)", type_name(s, mapping).c_str(),
                     type_name(s, keys).c_str());
  }
  if (it.is_error()) return false;
  Value list = make_list();  // all of them first: asking for a value may change the mapping
  if (!for_each_of(s, it, [&](Value& key) { return list.as<List>()->push(key), true; })) return false;
  return for_each(s, list, [&](Value& key) {
    Value v = get_item(s, mapping, key);
    return !v.is_error() && dict_set(s, into, key, std::move(v));
  });
}

}  // namespace ouro::runtime
