#include "jit/specialise/outside/access.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/autodiff/autodiff.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"
#include "runtime/tensor/tensor.h"
#include "support/per_thread.h"

namespace ouro::jit {

using runtime::cast_exact;

// A number, a text, or a tuple of such.
static std::string key_text(const Value& key) {
  if (auto* s = cast_exact<runtime::Str>(key)) return fmt::format("'{}'", s->view());
  auto* t = cast_exact<runtime::Tuple>(key);
  if (!t) return fmt::format("{}", key.as_int());
  std::string out;
  for (const Value& item : *t) out += (out.empty() ? "" : ", ") + key_text(item);
  return "(" + out + ")";
}
static bool same_key(const Value& a, const Value& b) {
  if (a.same(b)) return true;
  auto* x = cast_exact<runtime::Str>(a);
  auto* y = cast_exact<runtime::Str>(b);
  if (x && y) return x->view() == y->view();
  auto* t = cast_exact<runtime::Tuple>(a);
  auto* u = cast_exact<runtime::Tuple>(b);
  return t && u && std::equal(t->begin(), t->end(), u->begin(), u->end(), same_key);
}

// Does the gradient of an object have these, in this order?
static bool has_fields(const runtime::autodiff::Record& r, const std::vector<Symbol>& names) {
  size_t k = 0;
  for (const auto& e : r.fields.entries()) {
    if (!e.name) continue;
    if (k == names.size() || !(e.name == names[k++])) return false;
  }
  return k == names.size();
}

std::string AccessNode::text() const {
  switch (step) {
    case Step::argument:
      return fmt::format("{}", name ? std::string(name.text()) : fmt::format("argument {}", index));
    case Step::function:
      return "the function";
    case Step::capture:
      return fmt::format("{}:capture{}", parent, index);
    case Step::default_:
      return fmt::format("{}:default{}", parent, index);
    case Step::kwdefault:
      return fmt::format("{}:default {}", parent, name.text());
    case Step::global:
      return fmt::format("global {}", name.text());
    case Step::field:
    case Step::attribute:
      return fmt::format("{}.{}", parent, name.text());
    case Step::class_attr:
      return fmt::format("{}.{}", object.as<runtime::Type>()->text(), name.text());
    case Step::item:
      return fmt::format("{}[{}]", parent, index);
    case Step::dict_value:
      return fmt::format("{}[{}]", parent, key_text(object));
    case Step::cell:
      return fmt::format("{}:cell", parent);
    case Step::native:
      return fmt::format("{}:items", parent);
    case Step::function_dict:
      return fmt::format("{}:attributes", parent);
    case Step::function_text:
      return fmt::format("{}.{}", parent, kFunctionTexts[index]);
    case Step::wrapped:
      return fmt::format("{}:function", parent);
    case Step::method_self:
      return fmt::format("{}:self", parent);
    case Step::method_function:
      return fmt::format("{}:function", parent);
    case Step::slice_bound:
      return fmt::format("{}.{}", parent, index == 0 ? "start" : index == 1 ? "stop" : "step");
    case Step::numbers:
      return fmt::format("{}:numbers", parent);
  }
  return "?";
}

std::string AccessProgram::path_before(uint32_t id) const {
  const AccessNode& n = nodes[id];
  if (n.step == AccessNode::Step::function) return {};
  return n.step == AccessNode::Step::global ? std::string(n.name.text()) : path(id);
}

std::string AccessProgram::path(uint32_t id) const {
  using S = AccessNode::Step;
  const AccessNode& n = nodes[id];
  if (!n.has_parent()) return n.text();
  const AccessNode& from = nodes[n.parent];
  std::string before = path_before(n.parent);
  if (n.step == S::capture && from.code && n.index < from.code->captures.size()) {
    if (!before.empty()) before += '.';
    return before + std::string(from.code->captures[n.index].name.text());
  }
  if (n.step == S::cell || n.step == S::native || n.step == S::function_dict || n.step == S::numbers) return before;
  const std::string text = n.text();
  return before + text.substr(text.find_first_not_of("0123456789"));
}

const Value& function_in(const Value& descriptor) {
  if (auto* p = cast_exact<runtime::Property>(descriptor)) return p->get;
  if (auto* m = cast_exact<runtime::StaticMethod>(descriptor)) return m->function;
  return descriptor.as<runtime::ClassMethod>()->function;
}

Value access_step(Session& s, const AccessNode& n, const Value& parent, const Value& function,
                  std::span<const Value> args) {
  using S = AccessNode::Step;
  switch (n.step) {
    case S::argument:
      return n.index < args.size() ? args[n.index] : Value();
    case S::function:
      return function;
    case S::capture: {
      auto* f = parent.as<runtime::Function>();
      return n.index < f->captures.size() ? f->captures[n.index] : Value();
    }
    case S::default_: {
      auto* d = cast_exact<runtime::Tuple>(parent.as<runtime::Function>()->defaults);
      return d && n.index < d->size ? (*d)[n.index] : Value();
    }
    case S::kwdefault: {
      auto* d = cast_exact<runtime::Dict>(parent.as<runtime::Function>()->kwdefaults);
      bool asks = false;
      auto* e = d ? runtime::dict_plain_entry(d, s.str(n.name), asks) : nullptr;
      return e ? e->value : Value();
    }
    case S::global: {
      Value* v = n.object.as<runtime::Module>()->names.find(n.name);
      return v ? *v : Value();
    }
    case S::field: {
      const Value* v = parent.as<runtime::autodiff::Record>()->fields.find(n.name);
      return v ? *v : Value();
    }
    case S::attribute:
      return parent.as<runtime::Instance>()->slots[n.index];
    case S::class_attr:
      return runtime::type_lookup(s, n.object.as<runtime::Type>(), n.name);
    case S::item:
      if (auto* l = cast_exact<runtime::List>(parent)) return n.index < l->size ? l->items[n.index] : Value();
      if (auto* t = cast_exact<runtime::Tuple>(parent)) return n.index < t->size ? (*t)[n.index] : Value();
      return Value();
    case S::dict_value: {
      Value* v = runtime::dict_find(s, parent.as<runtime::Dict>(), n.object);
      return v ? *v : Value();
    }
    case S::cell:
      return parent.as<runtime::Cell>()->value;
    case S::function_dict:
      return parent.as<runtime::Function>()->dict;
    case S::function_text: {
      const auto* f = parent.as<runtime::Function>();
      return n.index == 0 ? f->name : n.index == 1 ? f->qualname : f->doc;
    }
    case S::native:
      return parent.as<runtime::Instance>()->native;
    case S::wrapped:
      return function_in(parent);
    case S::method_self:
      return parent.as<runtime::BoundMethod>()->self;
    case S::method_function:
      return parent.as<runtime::BoundMethod>()->function;
    case S::slice_bound: {
      const auto* slice = parent.as<runtime::Slice>();
      return n.index == 0 ? slice->start : n.index == 1 ? slice->stop : slice->step;
    }
    case S::numbers:
      return numbers_in(s, parent);
  }
  return Value();
}

bool access_guard(Session& s, const AccessNode& n, const Value& v) {
  using G = AccessNode::Guard;
  switch (n.guard) {
    case G::any:  // what has an end that shows would have it at another moment
      return !runtime::cast_exact<runtime::Instance>(v) || !v.as<runtime::Instance>()->type->has_del;
    case G::none:
      return true;
    case G::alias:
      return true;  // load() compares
    case G::absent:
      return v.is_unbound();
    case G::same: {
      if (v.same(n.expected)) return true;
      auto* a = cast_exact<runtime::Str>(v);
      auto* b = cast_exact<runtime::Str>(n.expected);
      return a && b && a->view() == b->view();
    }
    case G::code: {
      auto* f = cast_exact<runtime::Function>(v);
      return f && f->code.get() == n.code;
    }
    case G::shape: {
      auto* i = cast_exact<runtime::Instance>(v);
      if (i && !i->shape) runtime::restore_shape(s, i);  // somebody has asked for __dict__ since
      return i && i->shape == n.shape && i->type->version == n.type_version;
    }
    case G::length: {
      if (auto* l = cast_exact<runtime::List>(v)) return l->size == n.count && n.distinct;
      auto* t = cast_exact<runtime::Tuple>(v);
      return t && t->size == n.count && !n.distinct;
    }
    case G::set:
      return runtime::cast<runtime::Set>(v) != nullptr;
    case G::list:
      return cast_exact<runtime::List>(v) != nullptr;
    case G::keys: {
      if (auto* t = runtime::cast<runtime::Set>(v)) {
        const auto has = [&](const Value& key) { return runtime::set_contains(s, t, key) == 1; };
        if (n.distinct || t->used != n.keys.size() || !std::ranges::all_of(n.keys, has)) return false;
        Value* key = nullptr;
        size_t k = 0;
        for (size_t at = 0; n.count && runtime::set_next(t, at, key);)
          if (!same_key(*key, n.keys[k++])) return false;
        return true;
      }
      auto* d = cast_exact<runtime::Dict>(v);
      if (!d || d->used != n.keys.size()) return false;
      size_t k = 0;
      for (uint32_t i = 0; i < d->filled; ++i) {
        if (d->entries[i].key.is_unbound()) continue;
        if (!same_key(d->entries[i].key, n.keys[k++])) return false;
      }
      return true;
    }
    case G::fields:
      return runtime::cast_exact<runtime::autodiff::Record>(v) &&
             v.as<runtime::autodiff::Record>()->cls.same(n.expected) &&
             has_fields(*v.as<runtime::autodiff::Record>(), n.fields);
    case G::cell:
      return cast_exact<runtime::Cell>(v) != nullptr;
    case G::bound:
      return cast_exact<runtime::BoundMethod>(v) != nullptr;
    case G::slice:
      return cast_exact<runtime::Slice>(v) != nullptr;
    case G::tensor: {
      auto* t = cast_exact<runtime::Tensor>(v);
      return t && t->dtype == n.type->dtype && static_cast<size_t>(t->rank) == n.type->dims.size();
    }
    case G::integer:
      return v.is_int();
    case G::floating:
      return v.is_float();
    case G::boolean:
      return v.is_bool();
    case G::text:
      return cast_exact<runtime::Str>(v) != nullptr;
  }
  return false;
}

// The numbers that the symbols stand for; without one for every symbol, nothing.
static std::optional<ir::Dim> known_dim(ir::Dim d, const std::vector<AccessProgram::Extent>& extents,
                                        std::span<const int64_t> sizes) {
  if (d.known()) return d;
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i].symbol == d.symbol) return ir::dim(d.m * sizes[i] + d.c);
  return {};
}

bool AccessProgram::holds(std::span<const Value> inputs) const {
  auto size = [&](const Extent& e) { return inputs[static_cast<size_t>(e.input)].as_int(); };
  if (std::ranges::equal(extents, verified_, {}, size)) return true;  // at every call: no allocation
  std::vector<int64_t> sizes;
  for (const Extent& e : extents) sizes.push_back(size(e));
  bool whole = true;  // all symbols of what is looked at are known
  bool one = false;   // an axis that might have been taken for longer is repeated
  auto know = [&](ir::Dim& d) {
    auto n = known_dim(d, extents, sizes);
    whole = whole && n;
    one = one || (n && !d.known() && is(*n, 1));
    if (n) d = *n;
  };
  auto know_param = [&](auto& self, ir::Param& p) -> void {
    know(p.integer);
    for (ir::Param& item : p.list) self(self, item);
  };
  for (const ShapeCheck& check : checks) {
    auto types = check.inputs;
    auto params = check.params;
    whole = true;
    for (auto& t : types)
      if (t)
        for (ir::Dim& d : t->dims) know(d);
    if (one) return false;
    for (ir::Param& p : params) know_param(know_param, p);
    if (!whole) continue;  // depends on sizes that are found while it runs
    ir::SigCall call{.op = check.op, .inputs = types, .params = params};
    if (!check.op->def->source.empty()) {
      if ((!types.empty() && !ir::check_dims(call)) || !ir::check_params(call)) return false;
      continue;
    }
    if (!ir::infer(call) || call.results.size() != check.results.size()) return false;
    for (size_t r = 0; r < check.results.size(); ++r) {
      ir::Dims want = check.results[r];
      const ir::Dims& got = call.results[r].dims;
      if (got.size() != want.size()) return false;
      for (size_t i = 0; i < want.size(); ++i) {
        whole = true;
        know(want[i]);
        if (whole && got[i].known() && !(want[i] == got[i])) return false;
      }
    }
  }
  verified_ = std::move(sizes);
  return true;
}

bool AccessProgram::load(Session& s, const Value& function, std::span<const Value> args, std::vector<Value>& values,
                         std::vector<Value>& out, Miss* miss) const {
  values.resize(nodes.size());
  out.resize(inputs);
  auto fail = [&](uint32_t node, bool dims) {
    if (miss) *miss = {node, dims};
    return false;
  };
  if (no_ends && s.any_del) return fail(0, false);
  bool dims_missed = false;
  uint32_t dims_node = 0;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const AccessNode& n = nodes[i];
    static const Value kNothing;
    const Value& parent = n.has_parent() ? values[n.parent] : kNothing;
    values[i] = access_step(s, n, parent, function, args);
    if (values[i].is_unbound() && n.guard != AccessNode::Guard::absent) return fail(i, false);
    if (!access_guard(s, n, values[i])) return fail(i, false);
    if (n.guard == AccessNode::Guard::alias && !values[i].same(values[n.count])) return fail(i, false);
    if (n.guard == AccessNode::Guard::tensor) {
      const int64_t* dims = values[i].as<runtime::Tensor>()->dims();
      for (size_t k = 0; k < n.type->dims.size(); ++k)
        if (n.type->dims[k].known() && dims[k] != n.type->dims[k].c) {
          dims_missed = true;
          dims_node = i;
        }
    }
    if (n.input >= 0) out[static_cast<size_t>(n.input)] = values[i];
  }
  if (dims_missed) return fail(dims_node, true);
  // Symbols: one size each.
  for (const Extent& e : extents)
    out[static_cast<size_t>(e.input)] = Value::integer(values[e.node].as<runtime::Tensor>()->dims()[e.axis]);
  if (!extents.empty())
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      const AccessNode& n = nodes[i];
      if (n.guard != AccessNode::Guard::tensor) continue;
      const int64_t* dims = values[i].as<runtime::Tensor>()->dims();
      for (size_t k = 0; k < n.type->dims.size(); ++k) {
        const ir::SymDim& d = n.type->dims[k];
        if (d.known()) continue;
        for (const Extent& e : extents)
          if (e.symbol == d.symbol && out[static_cast<size_t>(e.input)].as_int() * d.m + d.c != dims[k])
            return fail(i, true);
      }
    }
  if (!checks.empty() && !holds(out)) return fail(extents[0].node, true);
  // Mutable objects that were different must be different.
  struct Seen {
    std::vector<const void*> objects;  // this runs at every call: no allocation
  };
  std::vector<const void*>& seen = support::PerThread<Seen>::get().objects;
  seen.clear();
  bool lists = false;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].distinct) seen.push_back(values[i].object());
    lists = lists || nodes[i].guard == AccessNode::Guard::list;
  }
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) return fail(0, false);
  for (uint32_t i = 0; lists && i < nodes.size(); ++i)
    if (nodes[i].guard == AccessNode::Guard::list &&
        std::binary_search(seen.begin(), seen.end(), static_cast<const void*>(values[i].object())))
      return fail(i, false);
  for (size_t i = 0; i < pool.size(); ++i) out[static_cast<size_t>(pool_inputs[i])] = pool[i];
  return true;
}

Differences differences(Session& s, const AccessProgram& access, const Value& function, std::span<const Value> args) {
  Differences out;
  std::map<std::pair<std::string, int64_t>, uint32_t> classes;
  std::vector<Value> values(access.nodes.size());  // unbound: not reached
  for (uint32_t i = 0; i < values.size(); ++i) {
    const AccessNode& n = access.nodes[i];
    if (n.has_parent() && values[n.parent].is_unbound()) continue;
    Value v = access_step(s, n, n.has_parent() ? values[n.parent] : Value(), function, args);
    const bool there = !v.is_unbound() || n.guard == AccessNode::Guard::absent;
    if (!there || !access_guard(s, n, v)) {
      if (there && n.pin != AccessNode::Pin::none && runtime::kind_of(v) == runtime::kind_of(n.expected))
        out.pins.push_back(i);
      else
        out.structure = true;
      continue;
    }
    values[i] = std::move(v);
    if (n.guard != AccessNode::Guard::tensor) continue;
    const int64_t* dims = values[i].as<runtime::Tensor>()->dims();
    for (size_t k = 0; k < n.type->dims.size(); ++k) {
      const ir::SymDim& d = n.type->dims[k];
      if (d.known() && d.c == dims[k]) continue;
      auto key = std::make_pair(d.known() ? fmt::format("{}", d.c) : fmt::format("s{}", d.symbol), dims[k]);
      auto at = classes.try_emplace(key, static_cast<uint32_t>(classes.size())).first;
      out.dims[access.path(i)][static_cast<int>(k)] = at->second;
    }
  }
  if (out.structure) out.dims.clear();
  return out;
}

}  // namespace ouro::jit
