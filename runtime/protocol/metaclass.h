// Metaclasses: classes that derive from `type`, whose objects are classes.
//
// A class of another metaclass than `type` carries a mark, so that nothing else pays for them; the special methods of
// such a class object are those of its metaclass, as an instance's are those of its class. abc's
// (stdlib/python/abc.ouro) is none of them: it only adds names to the class.
#pragma once

#include <string>

#include "runtime/object/dunder.h"
#include "runtime/object/ops.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

constexpr uint8_t kFlagMetaclass = kFlagUser << 1;
// Where the metaclass stands: behind the special methods, which the collector visits.
constexpr int kMetaclassPlace = kMaxDunders - 1;
static_assert(kDunderCount <= kMetaclassPlace);

inline bool has_metaclass(const Type* t) { return t->flags & kFlagMetaclass; }
inline Type* metaclass_of(Session& s, const Type* t) {
  Type* m = has_metaclass(t) ? cast_exact<Type>(t->dunders[kMetaclassPlace]) : nullptr;
  return m ? m : s.type(ObjectKind::type);
}
// Is `v` a class whose metaclass may say what operators, items, calls and attributes of it mean?
inline bool is_metaclassed(const Value& v) { return kind_of(v) == ObjectKind::type && has_metaclass(v.as<Type>()); }
inline bool is_metaclass(const Type* t) { return t->layout == ObjectKind::type; }

// Does the metaclass of `t` have such a method of its own: __call__, __instancecheck__, ...?
inline bool asks_metaclass(Session& s, Type* t, Dunder d) {
  return has_metaclass(t) && is_overridden(find_dunder(s, metaclass_of(s, t), d), d);
}
inline bool called_by_metaclass(Session& s, Type* t) { return asks_metaclass(s, t, Dunder::call_); }

// The metaclass of a class with these bases, asked to be of `given`: the one that derives from all of theirs. Null,
// with the error, if none does.
Type* metaclass_among(Session& s, Type* given, std::span<const Value> bases);
// The methods that a class of abc.ABC still has to define, in alphabetical order, as the message names them; empty:
// none.
std::string abstract_names(Session& s, Type* t);
// type(x), and type(name, bases, names): a class, also of the metaclass of its bases.
Value call_type_itself(Session& s, const Args& args);
// make_class, with the metaclass.
Value make_class_of(Session& s, Type* metaclass, const Value& name, const Value& bases, const Value& ns,
                    const Args& keywords);

}  // namespace ouro::runtime
