// CPython's set table (Objects/setobject.c of 3.11): open addressing, LINEAR_PROBES neighbours before each jump of the
// perturbed sequence, growth by 4 (by 2 beyond 50,000). The order of iteration is the order of the table, so it must be
// the same algorithm.
#include <cstring>

#include "runtime/object/interrupt.h"
#include "runtime/object/leftovers.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {

namespace {

constexpr size_t kLinearProbes = 9, kMinSize = 8;
constexpr int kPerturbShift = 5;

// Tag::unbound is 0.
Set::Entry* new_table(size_t n) {
  const size_t bytes = n * sizeof(Set::Entry);
  if (bytes > kPooled) return static_cast<Set::Entry*>(allocate_cleared(bytes));
  return static_cast<Set::Entry*>(std::memset(allocate_memory(bytes), 0, bytes));
}
void free_table(Set::Entry* table, size_t mask) {
  if (table) free_memory(table, (mask + 1) * sizeof(Set::Entry));
}
bool is_free(const Set::Entry& e) { return e.key.is_unbound(); }
bool is_dummy(const Set::Entry& e) { return e.key.is_end(); }

void ensure_table(Set* t) {
  if (t->table) return;
  t->table = new_table(kMinSize);
  t->mask = kMinSize - 1;
}

// Where a key of this hash goes in a table that has neither it nor deleted entries.
Set::Entry* free_place(Set::Entry* table, size_t mask, int64_t hash) {
  size_t perturb = static_cast<size_t>(hash), i = perturb & mask;
  for (;;) {
    Set::Entry* e = table + i;
    size_t probes = i + kLinearProbes <= mask ? kLinearProbes : 0;
    do {
      if (is_free(*e)) return e;
      ++e;
    } while (probes--);
    perturb >>= kPerturbShift;
    i = (i * 5 + 1 + perturb) & mask;
  }
}

// Nothing has changed where an interrupt comes: entries are relocatable.
void resize(Set* t, size_t min_used) {
  size_t n = kMinSize;
  while (n <= min_used) n *= 2;
  Set::Entry* old = t->table;
  size_t old_mask = t->mask;
  Set::Entry* fresh = new_table(n);
  try {
    for (size_t i = 0; old && i <= old_mask; ++i) {
      if ((i & 0xffff) == 0xffff) poll_interrupt();
      if (is_free(old[i]) || is_dummy(old[i])) continue;
      std::memcpy(static_cast<void*>(free_place(fresh, n - 1, old[i].hash)), old + i, sizeof(Set::Entry));
    }
  } catch (const Interrupted&) {
    free_table(fresh, n - 1);
    throw;
  }
  t->table = fresh;
  t->mask = n - 1;
  t->fill = t->used;
  free_table(old, old_mask);
}

int key_equals(Session& s, const Value& stored, const Value& key) {
  if (stored.same(key)) return 1;
  if (Str* a = cast_exact<Str>(stored))
    if (Str* b = cast_exact<Str>(key)) return a->view() == b->view();
  Value keep = stored;
  return equals(s, keep, key);
}

// Finds the entry of the key (found = 1), or where it would go (0): the last deleted entry on the way, else the free
// one; -1 if a comparison failed. What is added need not be put anywhere once it was equal to a key, even if that key
// is gone by then.
template <bool adding = false>
int find(Session& s, Set* t, const Value& key, int64_t hash, Set::Entry*& entry) {
restart:
  ensure_table(t);  // a comparison may have cleared the set
  size_t mask = t->mask, perturb = static_cast<size_t>(hash), i = perturb & mask;
  Set::Entry* deleted = nullptr;
  for (;;) {
    Set::Entry* e = t->table + i;
    size_t probes = i + kLinearProbes <= mask ? kLinearProbes : 0;
    do {
      if (is_free(*e)) {
        entry = deleted ? deleted : e;
        return 0;
      }
      if (is_dummy(*e)) {
        deleted = e;
      } else if (e->hash == hash) {
        Set::Entry* table = t->table;
        Value stored = e->key;
        int same = key_equals(s, stored, key);
        if (same < 0) return -1;
        if (adding && same) return 1;
        if (table != t->table || mask != t->mask || !e->key.same(stored)) goto restart;
        if (same) {
          entry = e;
          return 1;
        }
      }
      ++e;
    } while (probes--);
    perturb >>= kPerturbShift;
    i = (i * 5 + 1 + perturb) & mask;
  }
}

int add_entry(Session& s, Set* t, const Value& key, int64_t hash) {
  ensure_table(t);
  Set::Entry* e = nullptr;
  int found = find<true>(s, t, key, hash, e);
  if (found) return found < 0 ? -1 : 0;
  bool again = is_dummy(*e);
  e->key = key;
  e->hash = hash;
  ++t->used;
  if (again) return 1;
  ++t->fill;
  if (t->fill * 5 >= t->mask * 3) resize(t, t->used > 50000 ? t->used * 2 : t->used * 4);
  return 1;
}

void grow_for(Set* t, size_t more) {
  ensure_table(t);
  if ((t->fill + more) * 5 >= t->mask * 3) resize(t, (t->used + more) * 2);
}

bool merge_set(Session& s, Set* t, Set* other) {
  if (other == t || other->used == 0) return true;
  grow_for(t, other->used);
  if (t->fill == 0) {
    bool copy = t->mask == other->mask && other->fill == other->used;
    for (size_t i = 0; i <= other->mask; ++i) {
      if ((i & 0xffff) == 0xffff) poll_interrupt(s);
      const Set::Entry& e = other->table[i];
      if (is_free(e) || is_dummy(e)) continue;
      Set::Entry* to = copy ? t->table + i : free_place(t->table, t->mask, e.hash);
      to->key = e.key;
      to->hash = e.hash;
      t->fill = ++t->used;
    }
    return true;
  }
  for (size_t i = 0; i <= other->mask; ++i) {
    if ((i & 0xffff) == 0xffff) poll_interrupt(s);
    const Set::Entry& e = other->table[i];
    if (is_free(e) || is_dummy(e)) continue;
    Value key = e.key;
    if (add_entry(s, t, key, e.hash) < 0) return false;
  }
  return true;
}

}  // namespace

Set::~Set() { set_clear(this); }

Value make_set() { return Value::steal(new_object<Set>(ObjectKind::set)); }
Value make_frozenset() { return Value::steal(new_object<Set>(ObjectKind::frozenset)); }

int set_contains(Session& s, Set* t, const Value& key) {
  int64_t h;
  return hash(s, key, h) ? set_contains_hashed(s, t, key, h) : -1;
}
int set_contains_hashed(Session& s, Set* t, const Value& key, int64_t hash) {
  if (!t->table) return 0;
  Set::Entry* e = nullptr;
  return find(s, t, key, hash, e);
}

int set_add(Session& s, Set* t, const Value& key) {
  int64_t h;
  return hash(s, key, h) ? add_entry(s, t, key, h) : -1;
}
int set_add_hashed(Session& s, Set* t, const Value& key, int64_t hash) { return add_entry(s, t, key, hash); }

int set_discard(Session& s, Set* t, const Value& key) {
  int64_t h;
  return hash(s, key, h) ? set_discard_hashed(s, t, key, h) : -1;
}
int set_discard_hashed(Session& s, Set* t, const Value& key, int64_t hash) {
  if (!t->table) return 0;
  Set::Entry* e = nullptr;
  int found = find(s, t, key, hash, e);
  if (found <= 0) return found;
  Value old = std::move(e->key);
  e->key = Value::end();
  e->hash = -1;
  --t->used;
  return 1;
}

Value set_pop(Set* t) {
  if (!t->used) return Value();
  Set::Entry *e = t->table + (t->finger & t->mask), *limit = t->table + t->mask;
  while (is_free(*e) || is_dummy(*e))
    if (++e > limit) e = t->table;
  Value key = std::move(e->key);
  e->key = Value::end();
  e->hash = -1;
  --t->used;
  t->finger = static_cast<size_t>(e - t->table) + 1;
  return key;
}

void set_clear(Set* t) {
  Set::Entry* table = t->table;
  size_t mask = t->mask;
  t->table = nullptr;
  t->fill = t->used = t->mask = t->finger = 0;
  if (!table) return;
  drop_items<false>(table, mask + 1, table, (mask + 1) * sizeof(Set::Entry));
}

bool set_next(const Set* t, size_t& pos, Value*& key, int64_t* hash) {
  if (!t->table) return false;
  while (pos <= t->mask) {
    Set::Entry& e = t->table[pos++];
    if (is_free(e) || is_dummy(e)) continue;
    key = &e.key;
    if (hash) *hash = e.hash;
    return true;
  }
  return false;
}

bool set_update(Session& s, Set* t, const Value& iterable) {
  if (Set* other = cast<Set>(iterable)) return merge_set(s, t, other);
  if (Dict* d = cast_exact<Dict>(iterable)) {
    grow_for(t, d->used);
    for (size_t pos = 0; pos < d->filled; ++pos) {
      if ((pos & 0xffff) == 0xffff) poll_interrupt(s);
      Value key = d->entries[pos].key;
      if (!key.is_unbound() && add_entry(s, t, key, d->entries[pos].hash) < 0) return false;
    }
    return true;
  }
  return for_each(s, iterable, [&](Value& v) { return set_add(s, t, v) >= 0; });
}

Value set_clone(const Set* t) {
  Value v = make_set();
  Set* copy = v.as<Set>();
  copy->of_others = t->of_others;
  if (!t->table) return v;
  copy->table = new_table(t->mask + 1);
  copy->mask = t->mask;
  for (size_t i = 0; i <= t->mask; ++i) copy->table[i] = t->table[i];
  copy->fill = t->fill, copy->used = t->used, copy->finger = t->finger;
  return v;
}

Value set_copy(Set* t, ObjectKind kind) {
  Value v = kind == ObjectKind::frozenset ? make_frozenset() : make_set();
  Session* s = current_session();
  merge_set(*s, v.as<Set>(), t);
  return v;
}

}  // namespace ouro::runtime
