#include "jit/output.h"

#include <unordered_map>

#include "runtime/autodiff/autodiff.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"

namespace ouro::jit {

namespace {

using runtime::cast_exact;

class Builder {
 public:
  Builder(Session& s, std::span<Value> nodes, std::span<Value> outputs) : s_(s), nodes_(nodes), outputs_(outputs) {}

  Value build(const OutputTree& t) {
    using K = OutputTree::Kind;
    switch (t.kind) {
      case K::constant:
        return t.constant;
      case K::output:
        return outputs_[static_cast<size_t>(t.index)];
      case K::node:
        return nodes_[static_cast<size_t>(t.index)];
      case K::tuple: {
        std::vector<Value> items;
        for (const OutputTree& p : t.parts) {
          OURO_TRY(v, build(p));
          items.push_back(std::move(v));
        }
        return runtime::make_tuple_moved(items);
      }
      case K::list: {
        if (auto old = made_.find(t.share); t.share != UINT32_MAX && old != made_.end()) return old->second;
        Value list = runtime::make_list();
        if (t.share != UINT32_MAX) made_[t.share] = list;
        for (const OutputTree& p : t.parts) {
          OURO_TRY(v, build(p));
          list.as<runtime::List>()->push(std::move(v));
        }
        return list;
      }
      case K::dict: {
        if (auto old = made_.find(t.share); t.share != UINT32_MAX && old != made_.end()) return old->second;
        Value dict = runtime::make_dict();
        if (t.share != UINT32_MAX) made_[t.share] = dict;
        for (size_t i = 0; i < t.parts.size(); ++i) {
          OURO_TRY(v, build(t.parts[i]));
          if (!runtime::set_item(s_, dict, t.keys[i], v)) return Value::error();
        }
        return dict;
      }
      case K::record: {
        if (auto old = made_.find(t.share); old != made_.end()) return old->second;
        auto* r = runtime::new_object<runtime::autodiff::Record>(runtime::ObjectKind::record);
        Value object = Value::steal(r);
        r->name = t.constant;
        made_[t.share] = object;
        for (size_t i = 0; i < t.parts.size(); ++i) {
          OURO_TRY(v, build(t.parts[i]));
          if (!runtime::set_attr(s_, object, t.names[i], v)) return Value::error();
        }
        return object;
      }
      case K::instance: {
        if (auto old = made_.find(t.share); old != made_.end()) return old->second;
        OURO_TRY(object, runtime::new_instance(s_, t.constant.as<runtime::Type>()));
        made_[t.share] = object;
        for (size_t i = 0; i < t.parts.size(); ++i) {
          OURO_TRY(v, build(t.parts[i]));
          runtime::set_own_attribute(s_, object.as<runtime::Instance>(), t.names[i], v);
        }
        return object;
      }
    }
    return Value::none();
  }

 private:
  Session& s_;
  std::span<Value> nodes_, outputs_;
  std::unordered_map<uint32_t, Value> made_;
};

bool write_one(Session& s, const WriteBack& w, std::span<Value> nodes, Value v) {
  using K = WriteBack::Kind;
  switch (w.kind) {
    case K::attribute: {
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

}  // namespace

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
