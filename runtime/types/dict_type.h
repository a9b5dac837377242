// Inside of dict: views and iterators (dict_views.cpp).
#pragma once

#include "runtime/object/object.h"

namespace ouro::runtime {

class Session;
struct Dict;

enum class DictPart : int64_t { keys, values, items };
Value make_dict_view(ObjectKind kind, Value dict);
Value make_dict_iterator(const Value& dict, DictPart part, bool reversed);
// dict.update(from): a mapping, or an iterable of pairs.
[[nodiscard]] bool dict_update_from(Session& s, Dict* d, const Value& from);
void register_dict_views(Session& s);
// A read-only view of a mapping.
Value make_mapping_proxy(Value mapping);
void register_mapping_proxy(Session& s);

}  // namespace ouro::runtime
