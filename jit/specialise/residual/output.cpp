#include "jit/specialise/residual/output.h"

#include <unordered_map>

#include "runtime/autodiff/autodiff.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/object/dict.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"
#include "support/diag.h"

namespace ouro::jit {

namespace {

namespace ad = runtime::autodiff;
using runtime::cast_exact;

class Builder {
 public:
  Builder(Session& s, std::span<Value> nodes, std::span<Value> outputs) : s_(s), nodes_(nodes), outputs_(outputs) {}

  Value build(const OutputTree& t) {
    if (t.share == UINT32_MAX) return made(t);
    if (auto old = made_.find(t.share); old != made_.end()) return old->second;
    Value v = made(t);
    if (!v.is_error()) made_.emplace(t.share, v);  // what can hold itself is there already
    return v;
  }
  const Value& found(uint32_t share) const { return made_.at(share); }

 private:
  Value made(const OutputTree& t) {
    using K = OutputTree::Kind;
    switch (t.kind) {
      case K::constant:
        return t.constant;
      case K::output:
        return outputs_[static_cast<size_t>(t.index)];
      case K::node:
        return nodes_[static_cast<size_t>(t.index)];
      case K::list:
        return list(t);
      case K::dict:
        return dict(t);
      case K::set:
        return runtime::set_clone(t.constant.as<runtime::Set>());
      case K::record:
      case K::instance:
        return object(t);
      case K::cell:
        return cell(t);
      case K::closure:
        return closure(t);
      case K::tuple:
        return tuple(t);
      case K::bound:
        return bound(t);
      case K::slice:
        return slice(t);
      case K::view:
        return view(t);
      case K::range:
        return range(t);
    }
    return Value::none();
  }

  // From here on others may refer to it: its parts.
  void begin(const OutputTree& t, const Value& v) {
    if (t.share != UINT32_MAX) made_.emplace(t.share, v);
  }

  Value tuple(const OutputTree& t) {
    Value tuple = runtime::alloc_tuple(t.parts.size()), object = tuple;
    if (!t.constant.is_unbound()) {
      object = runtime::new_instance(s_, t.constant.as<runtime::Type>());
      object.as<runtime::Instance>()->native = tuple;
    }
    begin(t, object);
    for (size_t i = 0; i < t.parts.size(); ++i) {
      OURO_TRY(v, build(t.parts[i]));
      (*tuple.as<runtime::Tuple>())[i] = std::move(v);
    }
    return object;
  }
  Value bound(const OutputTree& t) {
    OURO_TRY(function, build(t.parts[0]));
    auto* n = cast_exact<runtime::Native>(function);
    Value method = n ? runtime::make_native(*n->def, Value::none(), n->owner)
                     : runtime::make_bound_method(function, Value::none());
    if (n) method.as<runtime::Native>()->params = n->params;
    begin(t, method);
    OURO_TRY(self, build(t.parts[1]));
    (n ? method.as<runtime::Native>()->self : method.as<runtime::BoundMethod>()->self) = std::move(self);
    return method;
  }
  Value slice(const OutputTree& t) {
    Value slice = runtime::make_slice(Value::none(), Value::none(), Value::none());
    begin(t, slice);
    auto* s = slice.as<runtime::Slice>();
    Value* ends[] = {&s->start, &s->stop, &s->step};
    for (size_t i = 0; i < 3; ++i) {
      OURO_TRY(v, build(t.parts[i]));
      *ends[i] = std::move(v);
    }
    return slice;
  }
  Value view(const OutputTree& t) {
    auto* of = runtime::new_object<runtime::DictView>(t.constant.as<runtime::Type>()->layout);
    Value view = Value::steal(of);
    begin(t, view);
    OURO_TRY(dict, build(t.parts[0]));
    of->dict = std::move(dict);
    return view;
  }
  Value range(const OutputTree& t) {
    int64_t ends[3];
    for (size_t i = 0; i < 3; ++i) ends[i] = build(t.parts[i]).as_int();
    return runtime::make_range(ends[0], ends[1], ends[2]);
  }
  Value list(const OutputTree& t) {
    Value list = runtime::make_list();
    begin(t, list);
    for (const OutputTree& p : t.parts) {
      OURO_TRY(v, build(p));
      list.as<runtime::List>()->push(std::move(v));
    }
    return list;
  }
  Value dict(const OutputTree& t) {
    Value dict = runtime::make_dict();
    begin(t, dict);
    for (size_t i = 0; i < t.parts.size(); ++i) {
      OURO_TRY(v, build(t.parts[i]));
      if (!runtime::set_item(s_, dict, t.keys[i], v)) return Value::error();
    }
    return dict;
  }
  Value object(const OutputTree& t) {
    const bool record = t.kind == OutputTree::Kind::record;
    Value object;
    if (record) {
      auto* r = runtime::new_object<ad::Record>(runtime::ObjectKind::record);
      object = Value::steal(r);
      r->cls = t.constant;
    } else {
      object = runtime::new_instance(s_, t.constant.as<runtime::Type>());
      if (object.is_error()) return object;
    }
    begin(t, object);
    for (size_t i = 0; i < t.parts.size(); ++i) {
      OURO_TRY(v, build(t.parts[i]));
      if (!t.names[i])  // the dict of one that extends dict
        object.as<runtime::Instance>()->native = std::move(v);
      else if (!record)
        runtime::set_own_attribute(s_, object.as<runtime::Instance>(), t.names[i], v);
      else if (!runtime::set_attr(s_, object, t.names[i], v))
        return Value::error();
    }
    return object;
  }
  Value cell(const OutputTree& t) {
    Value cell = runtime::make_cell(Value());
    begin(t, cell);
    OURO_TRY(v, build(t.parts[0]));
    cell.as<runtime::Cell>()->value = std::move(v);
    return cell;
  }
  Value closure(const OutputTree& t) {
    Value function = runtime::make_function(s_, t.code, t.constant, {});
    begin(t, function);
    auto* f = function.as<runtime::Function>();
    OURO_TRY(defaults, build(t.parts[0]));
    f->defaults = std::move(defaults);
    OURO_TRY(by_name, build(t.parts[1]));
    f->kwdefaults = std::move(by_name);
    OURO_TRY(annotations, build(t.parts[2]));
    if (!annotations.is_none()) f->annotations = std::move(annotations);
    for (size_t i = 3; i < t.parts.size(); ++i) {
      OURO_TRY(v, build(t.parts[i]));
      f->captures.push_back(std::move(v));
    }
    return function;
  }

  Session& s_;
  std::span<Value> nodes_, outputs_;
  std::unordered_map<uint32_t, Value> made_;
};

bool write_one(Session& s, const WriteBack& w, std::span<Value> nodes, Value v) {
  using K = WriteBack::Kind;
  switch (w.kind) {
    case K::attribute: {
      if (runtime::kind_of(nodes[w.node]) == runtime::ObjectKind::record)
        return runtime::set_attr(s, nodes[w.node], w.name, v);
      auto* inst = nodes[w.node].as<runtime::Instance>();
      int slot = inst->shape ? inst->shape->find(w.name) : -1;
      if (slot >= 0) {
        inst->slots[slot] = std::move(v);
        return true;
      }
      runtime::set_own_attribute(s, inst, w.name, v);  // hooks and descriptors were executed
      return true;
    }
    case K::item: {
      auto* list = nodes[w.node].as<runtime::List>();
      if (w.index < list->size) list->items[w.index] = std::move(v);
      return true;
    }
    case K::cell:
      nodes[w.node].as<runtime::Cell>()->value = std::move(v);
      return true;
    case K::global:
      return runtime::set_attr(s, w.object, w.name, v);
    case K::list_contents: {
      auto* list = nodes[w.node].as<runtime::List>();
      auto* from = v.as<runtime::List>();
      list->clear();
      for (size_t i = 0; i < from->size; ++i) list->push(from->items[i]);
      return true;
    }
    case K::dict_anew:
      runtime::dict_clear(nodes[w.node].as<runtime::Dict>());
      [[fallthrough]];
    case K::dict_contents: {
      auto* from = v.as<runtime::Dict>();
      for (uint32_t i = 0; i < from->filled; ++i)
        if (!from->entries[i].key.is_unbound() &&
            !runtime::set_item(s, nodes[w.node], from->entries[i].key, from->entries[i].value))
          return false;
      return true;
    }
  }
  return true;
}

// args: the recipe, then the operands
Value made_by_recipe(Session& s, const runtime::Args& args) {
  const auto& recipe = *static_cast<const Recipe*>(args.positional[0].as<runtime::Opaque>()->data.get());
  std::vector<Value> parts(args.positional.begin() + 1, args.positional.end());
  Builder b(s, {}, parts);
  OURO_TRY(value, b.build(recipe.value));
  std::vector<Value> all{value};
  for (uint32_t share : recipe.made) all.push_back(b.found(share));
  return runtime::make_tuple_moved(all);
}
constexpr runtime::NativeDef kRecipe{.name = "made", .params = "", .fn = made_by_recipe, .doc = "", .raw = true};

}  // namespace

Value recipe_native(Session& s, Recipe recipe) {
  return runtime::make_native(kRecipe,
                              runtime::make_opaque(s.object_type(), std::make_shared<Recipe>(std::move(recipe))));
}

Value carry_back(Session& s, const Back::Way& way, std::span<Value> nodes, std::span<Value> outputs, const Value& env) {
  Builder b(s, nodes, outputs);
  for (const Back::Sent& sent : way.sent) {
    OURO_TRY(object, b.build(sent.object));
    OURO_TRY(slot, b.build(sent.slot));
    OURO_TRY(d, b.build(sent.cotangent));
    if (!ad::shadow_add(s, env, object, slot, d)) return Value::error();
  }
  return b.build(way.cotangents);
}

Value carry_out(Session& s, const SpecialiseResult& made, std::span<Value> nodes, std::span<Value> outputs) {
  Builder b(s, nodes, outputs);
  OURO_TRY(result, b.build(made.result));
  for (const WriteBack& w : made.writes) {
    OURO_TRY(v, b.build(w.value));
    if (!write_one(s, w, nodes, std::move(v))) return Value::error();
  }
  return result;
}

}  // namespace ouro::jit
