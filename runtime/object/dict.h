// Operations on the insertion-ordered hash table (Dict) and on CPython's set table (Set). Keys compare as `==` with
// identity first; a comparison may run a script, so tables are checked for change meanwhile.
#pragma once

#include <string_view>

#include "runtime/object/object.h"

namespace ouro::runtime {

// The value of a key: unbound if absent, error if hashing or comparing failed.
Value dict_get(Session& s, Dict* d, const Value& key);
// Borrowed pointer to the value, or null if absent or failed (`s.has_error()` tells); valid until the dict changes.
Value* dict_find(Session& s, Dict* d, const Value& key);
Dict::Entry* dict_entry(Session& s, Dict* d, const Value& key);  // the same, with the key as the dict has it
// Without a script: null where the key is absent, or where one would have to be asked (`asks`).
Dict::Entry* dict_plain_entry(Dict* d, const Value& key, bool& asks);
[[nodiscard]] bool dict_set(Session& s, Dict* d, const Value& key, Value v);
int dict_contains(Session& s, Dict* d, const Value& key);                          // 1, 0, -1
int dict_delete(Session& s, Dict* d, const Value& key, Value* removed = nullptr);  // 1 removed, 0 absent, -1 failed
Value dict_set_default(Session& s, Dict* d, const Value& key, const Value& v);     // what stands there then
bool dict_take_last(Dict* d, Value& key, Value& value);                            // false if empty
// The same of a key whose hash another table knows.
Dict::Entry* dict_entry_hashed(Session& s, Dict* d, const Value& key, int64_t hash);
Value dict_get_hashed(Session& s, Dict* d, const Value& key, int64_t hash);
[[nodiscard]] bool dict_set_hashed(Session& s, Dict* d, const Value& key, int64_t hash, Value v);
int dict_contains_hashed(Session& s, Dict* d, const Value& key, int64_t hash);
int dict_delete_hashed(Session& s, Dict* d, const Value& key, int64_t hash, Value* removed = nullptr);
void dict_clear(Dict* d);
// Text keys never fail and never run a script (unless instances are keys; then hash equality of str decides).
Value dict_get_str(Session& s, Dict* d, std::string_view key);
void dict_set_str(Session& s, Dict* d, std::string_view key, Value v);
void dict_set_symbol(Session& s, Dict* d, Symbol key, Value v);
Value* dict_find_symbol(Session& s, Dict* d, Symbol key);
// Walks entries in order: start with pos = 0; false at the end. The pointers are borrowed.
bool dict_next(const Dict* d, size_t& pos, Value*& key, Value*& value, int64_t* hash = nullptr);
[[nodiscard]] bool dict_merge(Session& s, Dict* into, const Value& mapping);  // a dict or an object with keys()
Value dict_copy(Dict* d);
void dict_reserve(Dict* d, size_t n);

int set_contains(Session& s, Set* t, const Value& key);  // 1, 0, -1
int set_add(Session& s, Set* t, const Value& key);       // 1 added, 0 was there, -1 failed
int set_discard(Session& s, Set* t, const Value& key);   // 1 removed, 0 absent, -1 failed
int set_contains_hashed(Session& s, Set* t, const Value& key, int64_t hash);
int set_add_hashed(Session& s, Set* t, const Value& key, int64_t hash);
int set_discard_hashed(Session& s, Set* t, const Value& key, int64_t hash);
Value set_pop(Set* t);  // unbound if empty
void set_clear(Set* t);
bool set_next(const Set* t, size_t& pos, Value*& key, int64_t* hash = nullptr);
[[nodiscard]] bool set_update(Session& s, Set* t,
                              const Value& iterable);  // a set or dict is copied without hashing again
Value set_copy(Set* t, ObjectKind kind);
Value set_clone(
    const Set* t);  // with the same table, deleted entries included: what is done to both has the same order

// Hashes of numbers and tuples as CPython's (numeric hash modulo 2^61-1, xxHash-based tuple hash).
int64_t hash_int(int64_t i);
int64_t hash_float(double f);
int64_t hash_bytes(std::string_view raw);  // SipHash-1-3, key 0

}  // namespace ouro::runtime
