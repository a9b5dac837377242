// The built-in iterators that most loops run over, known below their types.
#pragma once

#include "runtime/object/object.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

extern const IterDef kRangeIterator, kListIterator, kTupleIterator, kAsciiIterator;

// The next item of the iterator of a list, a tuple, a range or plain text: most steps, without a call. False: another
// iterator, or at its end.
[[gnu::always_inline]] inline bool quick_step(const Session& s, const Value& iterator, Value& item) {
  if (kind_of(iterator) != ObjectKind::iterator) return false;
  Iterator& it = *iterator.as<Iterator>();
  auto index = static_cast<size_t>(it.index);
  if (it.def == &kRangeIterator) {
    if (it.stop <= 0) return false;
    --it.stop;
    item.set_integer(it.index);
    it.index = static_cast<int64_t>(index + static_cast<uint64_t>(it.step));
    return true;
  }
  if (it.def == &kListIterator && kind_of(it.source) == ObjectKind::list) {
    List* l = it.source.as<List>();
    if (index >= l->size) return false;
    ++it.index;
    item = l->items[index];
    return true;
  }
  if (it.def == &kTupleIterator && kind_of(it.source) == ObjectKind::tuple) {
    Tuple* t = it.source.as<Tuple>();
    if (index >= t->size) return false;
    ++it.index;
    item = (*t)[index];
    return true;
  }
  if (it.def == &kAsciiIterator && kind_of(it.source) == ObjectKind::str) {
    Str* t = it.source.as<Str>();
    if (index >= t->size) return false;
    const Value& c = s.ascii_chars[static_cast<unsigned char>(t->data[index])];
    if (c.is_unbound()) return false;  // not used yet
    ++it.index;
    item = c;
    return true;
  }
  return false;
}

}  // namespace ouro::runtime
