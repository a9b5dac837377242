// Global variables, lists and instances, and the loops over them (translator.h). They are read in place, each behind a
// check that it is still what it was like when the code was translated.
#include "jit/emit/translator.h"

#include <algorithm>

#include "runtime/object/alloc.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"

namespace ouro::jit::plain {

namespace {
using Entries = std::vector<runtime::NameTable<Value>::Entry>;
constexpr uint64_t entry_at(uint32_t slot) {
  return slot * sizeof(Entries::value_type) + offsetof(Entries::value_type, value);
}
}  // namespace

// A function that captures variables, or has objects as defaults: translations, which stay, would keep them.
bool Translator::holds_objects(const Value& v) {
  if (runtime::kind_of(v) != ObjectKind::function) return false;
  const auto* f = v.as<runtime::Function>();
  auto* defaults = runtime::cast_exact<runtime::Tuple>(f->defaults);
  return !f->captures.empty() || f->kwdefaults.is_object() || f->dict.is_object() ||
         (defaults && std::any_of(defaults->begin(), defaults->end(), [](const Value& d) { return d.is_object(); }));
}

Translator::After Translator::global_get(const Instr& in) {
  const runtime::Cache& c = now_->code->sites[static_cast<size_t>(in.b)].cache;
  runtime::Module* m = now_->globals;
  if (c.owner != m) return After::untranslated;
  if (c.object) {  // a built-in one, as long as the module has no such name
    if (c.key != m->version) return After::untranslated;
    check(b_.CreateICmpEQ(load(i32_, address(&m->version), 0), b_.getInt32(c.key)), bail());
    keep(c.object);
    put(in.dst, {Kind::known, c.object});
    return After::next;
  }
  const auto slot = static_cast<uint32_t>(c.slot);
  const Value& v = m->names.at(slot);
  if (v.is_unbound()) return After::untranslated;
  llvm::Value* from = at(load(ptr_, address(&m->names.entries()), 0), entry_at(slot));
  if (holds_objects(v)) return load_value(from, v, in, -1, 0) ? After::next : After::untranslated;
  switch (runtime::kind_of(v)) {
    case ObjectKind::function:
    case ObjectKind::native:
    case ObjectKind::module:
    case ObjectKind::type: {
      llvm::Value* tag = b_.CreateICmpEQ(load(i8_, from, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object)));
      llvm::Value* same =
          b_.CreateICmpEQ(load(i64_, from, kBitsAt), b_.getInt64(reinterpret_cast<uint64_t>(v.object())));
      check(b_.CreateAnd(tag, same), bail());
      keep(v.object());
      put(in.dst, {Kind::known, v.object()});
      return After::next;
    }
    default:
      return load_value(from, v, in, -1, 0) ? After::next : After::untranslated;
  }
}

Translator::After Translator::global_set(const Instr& in) {
  const runtime::Cache& c = now_->code->sites[static_cast<size_t>(in.b)].cache;
  const Number n = number(in.a);
  const Operand value{in.a, static_cast<Use>(in.use_a)};
  if (c.owner != now_->globals || !storable(value)) return After::untranslated;
  llvm::Value* to =
      at(load(ptr_, address(&now_->globals->names.entries()), 0), entry_at(static_cast<uint32_t>(c.slot)));
  if (!n || now_->globals->names.at(static_cast<uint32_t>(c.slot)).is_object()) {
    check(b_.CreateICmpNE(load(i8_, to, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::unbound))), bail());
    store_value(to, value);
    return After::next;
  }
  llvm::Value* tag = load(i8_, to, kTagAt);
  check(b_.CreateICmpULT(b_.CreateSub(tag, b_.getInt8(1)), b_.getInt8(static_cast<uint8_t>(Tag::object) - 1)), bail());
  store_number(to, n);
  used(in.a, in.use_a);
  return After::next;
}

// The cell in a register: its value, and an example of what it holds.
llvm::Value* Translator::value_of_cell(int32_t a, const Value*& like) {
  const RegType t = type(a);
  if (a < 0 || t.kind != Kind::held || !t.object || t.object->object_kind() != ObjectKind::cell) return nullptr;
  like = &static_cast<const runtime::Cell*>(t.object)->value;
  return at(held_object(a, ObjectKind::cell), offsetof(runtime::Cell, value));
}

Translator::After Translator::cell_get(const Instr& in) {
  const Value* like = nullptr;
  llvm::Value* from = value_of_cell(in.a, like);
  return from && load_value(from, *like, in, in.a, in.use_a) ? After::next : After::untranslated;
}

Translator::After Translator::cell_set(const Instr& in) {
  const Value* like = nullptr;
  const Number n = number(in.b);
  const Operand value{in.b, static_cast<Use>(in.use_b)};
  const bool translated = storable(value) && in.use_a == static_cast<uint8_t>(Use::keep);
  llvm::Value* to = translated ? value_of_cell(in.a, like) : nullptr;
  if (!to) return After::untranslated;
  if (!n || like->is_object()) {
    store_value(to, value);
    return After::next;
  }
  check(b_.CreateICmpNE(load(i8_, to, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object))), bail());
  store_number(to, n);
  used(in.b, in.use_b);
  return After::next;
}

void Translator::store_number(llvm::Value* to, Number n) {
  store(b_.getInt8(static_cast<uint8_t>(tag_of(n.kind))), to, kTagAt);
  store(as_bits(n), to, kBitsAt);
}

// What stands in memory is of the kind that `like` has.
void Translator::check_like(llvm::Value* from, const Value& like, llvm::BasicBlock* otherwise) {
  check(b_.CreateICmpEQ(load(i8_, from, kTagAt), b_.getInt8(static_cast<uint8_t>(like.tag()))), otherwise);
  if (!like.is_object()) return;
  const auto kind = static_cast<uint8_t>(like.object()->object_kind());
  check(b_.CreateICmpEQ(load(i8_, load(ptr_, from, kBitsAt), kKindAt), b_.getInt8(kind)), otherwise);
}

// What stands in memory into the result's register: of the kind that `like` has now. An operand that it is a part of,
// and that dies, is let go of afterwards.
bool Translator::load_value(llvm::Value* from, const Value& like, const Instr& in, int32_t container, uint8_t use,
                            May may) {
  const Kind k = kind_of_tag(like.tag());
  const bool checked = may == May::be_checked;
  if (like.is_unbound() || like.is_error() || like.is_end()) return false;
  if (k == Kind::held && !like.is_object()) return false;
  const bool optional = k == Kind::none || (k == Kind::held && like.object()->object_kind() == ObjectKind::instance);
  if (may == May::be_none && optional) split_none(from, in, container, use);
  if (k == Kind::none && !checked) {  // what may be None mostly is something else elsewhere
    check(b_.CreateICmpNE(load(i8_, from, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::unbound))), bail());
    ++unknown_;
    copy_into(in.dst, from, false);
    if (container != in.dst) used(container, use);
    holds(in.dst, nullptr);
    return true;
  }
  if (!checked) check_like(from, like, bail());
  if (k != Kind::held) {
    llvm::Value* v = load(i64_, from, kBitsAt);
    used(container, use);
    put_bits(in.dst, v, k);
    return true;
  }
  copy_into(in.dst, from, true);
  if (container != in.dst) used(container, use);
  holds(in.dst, like.object());
  return true;
}

// A link that ends somewhere (a list's next one, a tree's child) is None there: the translation goes on with that for
// itself, so that a question for it behind this instruction has one answer in either.
void Translator::split_none(llvm::Value* from, const Instr& in, int32_t container, uint8_t use) {
  llvm::BasicBlock *none = make(), *some = make();
  llvm::Value* is_none = b_.CreateICmpEQ(load(i8_, from, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::none)));
  b_.CreateCondBr(is_none, none, some);
  b_.SetInsertPoint(none);
  const State as_was = state();
  if (container != in.dst) used(container, use);
  put(in.dst, {Kind::none});
  b_.CreateBr(block(at_ + 1, types_));
  restore(as_was);
  b_.SetInsertPoint(some);
}

// ---------------------------------------------------------------- objects

// The object in a register, of this kind.
llvm::Value* Translator::held_object(int32_t a, ObjectKind kind) {
  llvm::Value* reg = reg_at(a);
  if (type(a).object) return load(ptr_, reg, kBitsAt);
  check(b_.CreateICmpEQ(load(i8_, reg, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object))), bail());
  llvm::Value* o = load(ptr_, reg, kBitsAt);
  check(b_.CreateICmpEQ(load(i8_, o, kKindAt), b_.getInt8(static_cast<uint8_t>(kind))), bail());
  return o;
}

// The instance in a register, of the shape and class that the example has.
llvm::Value* Translator::instance_like(int32_t a) {
  const auto* like = static_cast<const runtime::Instance*>(type(a).object);
  llvm::Value* instance = held_object(a, ObjectKind::instance);
  const runtime::Shape*& known = classes_[static_cast<size_t>(a)];
  if (known == like->shape) return instance;
  known = like->shape;
  check(b_.CreateICmpEQ(load(ptr_, instance, offsetof(runtime::Instance, shape)), address(like->shape)), bail());
  llvm::Value* type = load(ptr_, instance, offsetof(runtime::Instance, type));
  check(b_.CreateICmpEQ(load(i32_, type, offsetof(runtime::Type, version)), b_.getInt32(like->type->version)), bail());
  keep(like->type);
  return instance;
}

// From the end where it is negative; behind a check that there is such an item.
llvm::Value* Translator::index_in(Number i, llvm::Value* n) {
  llvm::Value* from_end = b_.CreateAdd(i.v, n);
  llvm::Value* index = b_.CreateSelect(b_.CreateICmpSLT(i.v, b_.getInt64(0)), from_end, i.v);
  check(b_.CreateICmpULT(index, n), bail());
  return index;
}

llvm::Value* Translator::item_of(llvm::Value* list, Number i) {
  llvm::Value* index = index_in(i, load(i64_, list, offsetof(runtime::List, size)));
  llvm::Value* items = load(ptr_, list, offsetof(runtime::List, items));
  return b_.CreateInBoundsGEP(i8_, items, b_.CreateShl(index, b_.getInt64(4)));
}

Translator::After Translator::item_get(const Instr& in) {
  const RegType t = type(in.a);
  const Number i = number(in.b);
  if (t.kind == Kind::held && t.object && t.object->object_kind() == ObjectKind::dict) return item_of_dict(in, t);
  if (t.kind != Kind::held || i.kind != Kind::integer || !t.object) return After::untranslated;
  if (t.object->object_kind() == ObjectKind::str) {
    check(call(reinterpret_cast<const void*>(&ouro_plain_char), i1_, {reg_at(in.dst), reg_at(in.a), i.v}), bail());
    used(in.b, in.use_b);
    if (in.a != in.dst) used(in.a, in.use_a);
    holds(in.dst, t.object);
    return After::next;
  }
  const Expected like = item_of_example(t, in.b);
  if (like.like.is_unbound()) return After::untranslated;
  llvm::Value* item = nullptr;
  if (t.object->object_kind() == ObjectKind::list) {
    item = item_of(held_object(in.a, ObjectKind::list), i);
  } else if (t.object->object_kind() == ObjectKind::tuple) {
    llvm::Value* tuple = held_object(in.a, ObjectKind::tuple);
    llvm::Value* index = index_in(i, load(i64_, tuple, offsetof(runtime::Tuple, size)));
    item = b_.CreateInBoundsGEP(i8_, at(tuple, sizeof(runtime::Tuple)), b_.CreateShl(index, b_.getInt64(4)));
  } else {
    return After::untranslated;
  }
  used(in.b, in.use_b);
  return load_value(item, like.like, in, in.a, in.use_a, May::be_none) ? After::next : After::untranslated;
}

// An item of the tuple that unpack has made, or found.
Translator::After Translator::tuple_get(const Instr& in, uint32_t pc) {
  const RegType t = type(in.a);
  if (t.kind != Kind::held || in.a < 0) return After::untranslated;
  const uint32_t i = now_->code->sites[static_cast<size_t>(in.b)].attr;
  Expected like;
  if (t.object && t.object->object_kind() == ObjectKind::tuple) {
    const auto* tuple = static_cast<const runtime::Tuple*>(t.object);
    if (i < tuple->size) like.like = (*tuple)[i];
  } else {
    like = now_in(in.dst);
  }
  llvm::Value* item = at(load(ptr_, reg_at(in.a), kBitsAt), sizeof(runtime::Tuple) + i * sizeof(Value));
  const uint8_t use = in.dst == in.a ? static_cast<uint8_t>(Use::keep) : in.use_a;
  if (!like.like.is_unbound()) return load_value(item, like.like, in, in.a, use) ? After::next : After::untranslated;
  copy_into(in.dst, item, false);
  used(in.a, use);
  holds(in.dst, nullptr);
  return narrow(in.dst, like, pc + 1);
}

llvm::Value* Translator::slot_of(int32_t instance, int32_t slot) {
  return at(load(ptr_, instance_like(instance), offsetof(runtime::Instance, slots)),
            static_cast<uint64_t>(slot) * sizeof(Value));
}

namespace {
// An instance of the shape that the site has met.
const runtime::Instance* met(const RegType& t, const runtime::Cache& c) {
  if (t.kind != Kind::held || !t.object || t.object->object_kind() != ObjectKind::instance) return nullptr;
  const auto* i = static_cast<const runtime::Instance*>(t.object);
  return i->shape && i->shape->id == c.key && i->type->version == c.type_key && c.slot >= 0 ? i : nullptr;
}
}  // namespace

// What the slot holds in an instance like this: not None, if one that was met has something else there.
const Value& Translator::better_example(const runtime::Instance& i, int32_t slot) const {
  const Value& own = i.slots[slot];
  if (!own.is_none()) return own;
  for (size_t at = instances_.size(); at-- > 0;) {
    const runtime::Instance& other = *instances_[at];
    if (other.shape == i.shape && !other.slots[slot].is_none()) return other.slots[slot];
  }
  for (uint32_t at = 0; at < i.shape->count; ++at) {
    const auto* near = runtime::cast_exact<runtime::Instance>(i.slots[at]);
    if (near && near->shape == i.shape && !near->slots[slot].is_none()) return near->slots[slot];
  }
  return own;
}

Translator::After Translator::attr_get(const Instr& in) {
  const Site& x = now_->code->sites[static_cast<size_t>(in.b)];
  const RegType t = type(in.a);
  if (const runtime::Instance* i = met(t, x.cache)) {
    llvm::Value* slot = slot_of(in.a, x.cache.slot);
    const Value& like = better_example(*i, x.cache.slot);
    return load_value(slot, like, in, in.a, in.use_a, May::be_none) ? After::next : After::untranslated;
  }
  const RegType member = module_member(t, Symbol::from_id(x.attr));
  if (member.kind == Kind::known) {
    put(in.dst, member);
    return After::next;
  }
  if (t.kind != Kind::known || t.object->object_kind() != ObjectKind::module) return After::untranslated;
  auto* m = static_cast<runtime::Module*>(t.object);
  const uint32_t slot = m->names.position(Symbol::from_id(x.attr));
  if (slot == runtime::NameTable<Value>::kAbsent || m->names.at(slot).is_object()) return After::untranslated;
  llvm::Value* from = at(load(ptr_, address(&m->names.entries()), 0), entry_at(slot));
  return load_value(from, m->names.at(slot), in, -1, 0) ? After::next : After::untranslated;
}

// A value that may stand anywhere as it is. (A tensor's buffer may be in use where it stands now.)
bool Translator::storable(const Operand& v) const {
  const RegType t = type(v.at);
  const auto is_tensor = [&] { return t.object && t.object->object_kind() == ObjectKind::tensor; };
  return is_unboxed(t.kind) || (t.kind == Kind::known && !is_tensor()) ||
         (t.kind == Kind::held && v.at >= 0 && t.object && !is_tensor());
}

llvm::Value* Translator::two_words() {
  llvm::IRBuilder<> at_entry(now_->entry, now_->entry->begin());
  return at_entry.CreateAlloca(llvm::ArrayType::get(i64_, 2));
}

// The operand's value into memory. `fresh`: there is nothing yet; otherwise what is there is let go of afterwards.
void Translator::store_value(llvm::Value* to, const Operand& v, bool fresh) {
  const RegType t = type(v.at);
  llvm::Value* old = nullptr;
  if (!fresh) {
    old = two_words();
    store(load(i64_, to, kTagAt), old, kTagAt);
    store(load(i64_, to, kBitsAt), old, kBitsAt);
  }
  if (t.kind == Kind::held) {
    llvm::Value* bits = load(i64_, reg_at(v.at), kBitsAt);
    store(b_.getInt8(static_cast<uint8_t>(Tag::object)), to, kTagAt);
    store(bits, to, kBitsAt);
    if (v.use == Use::dies) {
      store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg_at(v.at), kTagAt);
      types_[static_cast<size_t>(v.at)] = {};
    } else {
      count_up(b_.CreateIntToPtr(bits, ptr_));
    }
  } else if (t.kind == Kind::known) {
    keep(t.object);
    count_up(address(t.object));
    store(b_.getInt8(static_cast<uint8_t>(Tag::object)), to, kTagAt);
    store(b_.getInt64(reinterpret_cast<uint64_t>(t.object)), to, kBitsAt);
    used(v.at, static_cast<uint8_t>(v.use));
  } else {
    store(b_.getInt8(static_cast<uint8_t>(tag_of(t.kind))), to, kTagAt);
    store(bits(v.at), to, kBitsAt);
    used(v.at, static_cast<uint8_t>(v.use));
  }
  if (old) let_go(old);
}

Translator::After Translator::attr_set(const Instr& in) {
  const Site& x = now_->code->sites[static_cast<size_t>(in.a)];
  const Operand *target = now_->code->operands.data() + x.first, *value = target + 1;
  const runtime::Instance* i = target->at < 0 ? nullptr : met(type(target->at), x.cache);
  if (!i || !storable(*value) || target->at == value->at) return After::untranslated;
  if (x.cache.owner) return add_attribute(*target, *value, x.cache);
  llvm::Value* slot = slot_of(target->at, x.cache.slot);
  if (const Number n = number(value->at); n && !i->slots[x.cache.slot].is_object()) {
    check(b_.CreateICmpNE(load(i8_, slot, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object))), bail());
    store_number(slot, n);
    used(value->at, static_cast<uint8_t>(value->use));
  } else {
    store_value(slot, *value);
  }
  used(target->at, static_cast<uint8_t>(target->use));
  return After::next;
}

// The instance gets one more slot, and the shape that the interpreter has found for it.
Translator::After Translator::add_attribute(const Operand& target, const Operand& value, const runtime::Cache& c) {
  auto* next = static_cast<runtime::Shape*>(const_cast<void*>(c.owner));
  const auto* before = static_cast<const runtime::Instance*>(type(target.at).object);
  if (before->shape->count != static_cast<uint32_t>(c.slot) || next->count != before->shape->count + 1)
    return After::untranslated;
  if (before->type->has_del) return After::untranslated;  // nobody is to see the end of an example
  // The example of what it is then.
  Value example_value = example(value.at);
  if (example_value.is_unbound()) return After::untranslated;
  Value like = runtime::new_instance(s_, const_cast<runtime::Type*>(before->type));
  auto* after = like.as<runtime::Instance>();
  runtime::grow_slots(after, next->count);
  for (uint32_t i = 0; i < before->shape->count; ++i) new (after->slots + i) Value(before->slots[i]);
  new (after->slots + c.slot) Value(std::move(example_value));
  after->shape = next;
  examples_.push_back(std::move(like));

  llvm::Value* instance = instance_like(target.at);
  llvm::BasicBlock *small = make(), *room = make();
  llvm::Value* capacity = load(i32_, instance, offsetof(runtime::Instance, slot_capacity));
  b_.CreateCondBr(b_.CreateICmpULT(capacity, b_.getInt32(next->count)), small, room);
  b_.SetInsertPoint(small);
  check(
      call(reinterpret_cast<const void*>(&ouro_plain_grow_slots), i1_, {session(), instance, b_.getInt32(next->count)}),
      leave(before_, at_, true));
  b_.CreateBr(room);
  b_.SetInsertPoint(room);
  llvm::Value* slots = load(ptr_, instance, offsetof(runtime::Instance, slots));
  store_value(at(slots, static_cast<uint64_t>(c.slot) * sizeof(Value)), value, /*fresh=*/true);
  store(address(next), instance, offsetof(runtime::Instance, shape));
  std::ranges::fill(classes_, nullptr);  // other registers may hold the same instance
  holds(target.at, after);
  classes_[static_cast<size_t>(target.at)] = next;
  if (!now_->outer && target.at == 0) now_->made = after;
  used(target.at, static_cast<uint8_t>(target.use));
  return After::next;
}

// A function that a module has under this name, and has as long as the code is right.
RegType Translator::module_member(const RegType& module, Symbol name) {
  if (module.kind != Kind::known || module.object->object_kind() != ObjectKind::module) return {};
  auto* m = static_cast<runtime::Module*>(module.object);
  const uint32_t slot = m->names.position(name);
  if (slot == runtime::NameTable<Value>::kAbsent) return {};
  const Value& v = m->names.at(slot);
  const ObjectKind k = runtime::kind_of(v);
  if ((k != ObjectKind::native && k != ObjectKind::function) || holds_objects(v)) return {};
  llvm::Value* from = at(load(ptr_, address(&m->names.entries()), 0), entry_at(slot));
  llvm::Value* tag = b_.CreateICmpEQ(load(i8_, from, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object)));
  llvm::Value* same = b_.CreateICmpEQ(load(i64_, from, kBitsAt), b_.getInt64(reinterpret_cast<uint64_t>(v.object())));
  check(b_.CreateAnd(tag, same), bail());
  keep(v.object());
  return {Kind::known, v.object()};
}

// The place of an update: an item of a list, an attribute, a global variable. `like`: what stands there now.
llvm::Value* Translator::place_of(const Site& x, const ir::PlacePath& path, const Operand* ops, const Value*& like) {
  const uint32_t last = x.count - 1;
  const auto is_container = [](const runtime::Object* o) {
    return o && (o->object_kind() == ObjectKind::list || o->object_kind() == ObjectKind::dict);
  };
  const auto item = [&](llvm::Value* list, const runtime::Object* of, int32_t key_at) -> llvm::Value* {
    if (of && of->object_kind() == ObjectKind::dict) {
      const auto* d = static_cast<const runtime::Dict*>(of);
      const Shared key = plain_key(key_at);
      like = nullptr;
      for (uint32_t i = 0; i < d->filled && !like; ++i)
        if (!d->entries[i].key.is_unbound()) like = &d->entries[i].value;
      return key && like ? entry_of(list, key) : nullptr;
    }
    const Number key = number(key_at);
    if (key.kind != Kind::integer || !of || of->object_kind() != ObjectKind::list) return nullptr;
    const auto* l = static_cast<const runtime::List*>(of);
    if (l->size == 0) return nullptr;
    like = l->items;
    return item_of(list, key);
  };
  const bool of_value = path.root == ir::PlacePath::Root::value;
  if (of_value && (ops[0].at < 0 || type(ops[0].at).kind != Kind::held)) return nullptr;
  if (const uint32_t n = path.containers(); n > 0) {  // the last of them is there
    const int32_t container = ops[last - 1].at;
    const RegType t = type(container);
    if (t.kind != Kind::held || !is_container(t.object)) return nullptr;
    return item(held_object(container, t.object->object_kind()), t.object, ops[last - n - 1].at);
  }
  if (path.root == ir::PlacePath::Root::global && path.steps.empty()) {
    if (x.cache.owner != now_->globals) return nullptr;
    const auto slot = static_cast<uint32_t>(x.cache.slot);
    like = &now_->globals->names.at(slot);
    return at(load(ptr_, address(&now_->globals->names.entries()), 0), entry_at(slot));
  }
  if (path.root == ir::PlacePath::Root::cell && path.steps.empty()) return value_of_cell(ops[0].at, like);
  if (!of_value || path.steps.empty()) return nullptr;
  const RegType root = type(ops[0].at);
  if (path.steps.size() == 1 && !path.steps[0].is_item) {
    const runtime::Instance* i = met(root, x.cache);
    if (!i) return nullptr;
    like = &i->slots[x.cache.slot];
    return slot_of(ops[0].at, x.cache.slot);
  }
  const runtime::Object* of = root.object;
  llvm::Value* slot = nullptr;
  for (size_t step = 0; step < path.steps.size(); ++step) {
    if (!path.steps[step].is_item || !is_container(of)) return nullptr;
    llvm::Value* list = nullptr;
    if (step == 0) {
      list = held_object(ops[0].at, of->object_kind());
    } else {
      check(b_.CreateICmpEQ(load(i8_, slot, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object))), bail());
      list = load(ptr_, slot, kBitsAt);
      check(b_.CreateICmpEQ(load(i8_, list, kKindAt), b_.getInt8(static_cast<uint8_t>(of->object_kind()))), bail());
    }
    slot = item(list, of, ops[step + 1].at);
    if (!slot) return nullptr;
    of = like->is_object() ? like->object() : nullptr;
  }
  return slot;
}

// `place = v` and `place op= v` of numbers.
Translator::After Translator::update(const Instr& in) {
  const Site& x = now_->code->sites[static_cast<size_t>(in.a)];
  const ir::PlacePath& path = now_->code->function->paths[x.attr];
  const Operand* ops = now_->code->operands.data() + x.first;
  const Operand& last = ops[x.count - 1];
  const bool of_value = path.root == ir::PlacePath::Root::value;
  const Number value = number(last.at);
  if ((path.augmented ? !value : !storable(last)) || x.count != path.arguments()) return After::untranslated;
  if (of_value && (ops[0].at != in.dst || ops[0].at == last.at)) return After::untranslated;
  const Value* like = nullptr;
  const runtime::Object* root = of_value ? type(ops[0].at).object : nullptr;
  if (root && root->object_kind() == ObjectKind::dict && !path.augmented && path.steps.size() == 1 &&
      path.containers() == 0 && !path.loaded && type(ops[0].at).kind == Kind::held && ops[0].at >= 0)
    return dict_set(in, ops, last);
  llvm::Value* slot = place_of(x, path, ops, like);
  if (!slot) return After::untranslated;
  llvm::Value* tag = load(i8_, slot, kTagAt);
  if (path.augmented) {
    Number before;
    if (path.loaded) {
      before = number(ops[x.count - 2].at);
      check(b_.CreateICmpULT(b_.CreateSub(tag, b_.getInt8(1)), b_.getInt8(static_cast<uint8_t>(Tag::object) - 1)),
            bail());
    } else if (const Kind k = kind_of_tag(like->tag()); is_number(k)) {
      check(b_.CreateICmpEQ(tag, b_.getInt8(static_cast<uint8_t>(like->tag()))), bail());
      llvm::Value* old = load(i64_, slot, kBitsAt);
      before = {k, k == Kind::floating ? b_.CreateBitCast(old, f64_) : old};
    }
    if (!before) return After::untranslated;
    const Number r = binary(runtime::binary_of(path.in_place), before, value);
    if (!r) return After::untranslated;
    if (!path.loaded && r.kind == before.kind)
      store(as_bits(r), slot, kBitsAt);  // its tag is there
    else
      store_number(slot, r);
  } else {
    if (path.loaded) return After::untranslated;
    if (value && !like->is_object()) {
      check(b_.CreateICmpULT(b_.CreateSub(tag, b_.getInt8(1)), b_.getInt8(static_cast<uint8_t>(Tag::object) - 1)),
            bail());
      store_number(slot, value);
    } else {
      check(b_.CreateICmpNE(tag, b_.getInt8(static_cast<uint8_t>(Tag::unbound))), bail());
      store_value(slot, last);
      for (uint32_t i = of_value; i + 1 < x.count; ++i) used(ops[i].at, static_cast<uint8_t>(ops[i].use));
      return After::next;
    }
  }
  for (uint32_t i = of_value; i < x.count; ++i) used(ops[i].at, static_cast<uint8_t>(ops[i].use));
  return After::next;
}

// The hidden list of a comprehension grows.
Translator::After Translator::list_append(const Instr& in) {
  if (type(in.a).kind != Kind::held) return After::untranslated;
  const RegType t = type(in.b);
  if (const Number n = number(in.b)) {
    check(call(reinterpret_cast<const void*>(&ouro_plain_append), i1_,
               {reg_at(in.a), b_.getInt32(static_cast<uint32_t>(tag_of(n.kind))), as_bits(n)}),
          bail());
  } else if (t.kind == Kind::held && t.object) {
    if (in.b < 0) return After::untranslated;
    check(call(reinterpret_cast<const void*>(&ouro_plain_append_held), i1_,
               {reg_at(in.a), reg_at(in.b), b_.getInt1(in.use_b == static_cast<uint8_t>(Use::dies))}),
          bail());
    if (in.use_b == static_cast<uint8_t>(Use::dies)) types_[static_cast<size_t>(in.b)] = {};
    return After::next;
  } else {
    return After::untranslated;
  }
  used(in.b, in.use_b);
  return After::next;
}

// ---------------------------------------------------------------- loops

Translator::After Translator::iter(const Instr& in) {
  const RegType t = type(in.a);
  if (t.kind == Kind::range) {
    const auto& from = now_->ranges[static_cast<size_t>(in.a)];
    llvm::Value *start = b_.CreateLoad(i64_, from[0]), *stop = b_.CreateLoad(i64_, from[1]),
                *step = b_.CreateLoad(i64_, from[2]), *zero = b_.getInt64(0), *one = b_.getInt64(1);
    llvm::Value* up = b_.CreateICmpSGT(step, zero);
    llvm::Value* way = b_.CreateSelect(up, b_.CreateSub(stop, start), b_.CreateSub(start, stop));
    llvm::Value* size = b_.CreateSelect(up, step, b_.CreateNeg(step));
    llvm::Value* some = b_.CreateSelect(up, b_.CreateICmpSLT(start, stop), b_.CreateICmpSGT(start, stop));
    llvm::Value* full = b_.CreateAdd(b_.CreateUDiv(b_.CreateSub(way, one), size), one);
    llvm::Value* count = b_.CreateSelect(some, full, zero);
    check(b_.CreateICmpSGE(count, zero), bail());
    used(in.a, in.use_a);
    put(in.dst, {Kind::steps});
    const auto& to = now_->ranges[static_cast<size_t>(in.dst)];
    b_.CreateStore(start, to[0]), b_.CreateStore(count, to[1]), b_.CreateStore(step, to[2]);
    return After::next;
  }
  if (t.kind != Kind::held || !t.object || t.object->object_kind() != ObjectKind::list || in.dst == in.a)
    return After::untranslated;
  const auto* list = static_cast<const runtime::List*>(t.object);
  if (list->size == 0) return After::untranslated;
  (void)held_object(in.a, ObjectKind::list);
  check(call(reinterpret_cast<const void*>(&ouro_plain_iter), i1_, {reg_at(in.dst), reg_at(in.a)}), bail());
  used(in.a, in.use_a);
  examples_.push_back(runtime::make_iterator(runtime::kListIterator, Value::share(t.object)));
  holds(in.dst, examples_.back().object());
  return After::next;
}

Translator::After Translator::for_iter(const Instr& in, uint32_t pc) {
  const RegType t = type(in.a);
  const auto done = static_cast<uint32_t>(in.dst);
  if (t.kind == Kind::steps) {
    const auto& it = now_->ranges[static_cast<size_t>(in.a)];
    llvm::Value* left = b_.CreateLoad(i64_, it[1]);
    llvm::BasicBlock *go_on = make(), *over = make();
    b_.CreateCondBr(b_.CreateICmpSGT(left, b_.getInt64(0)), go_on, over);
    b_.SetInsertPoint(over);
    const Types as_was = types_;
    types_[static_cast<size_t>(in.a)] = {};
    b_.CreateBr(block(done, types_));
    types_ = as_was;
    b_.SetInsertPoint(go_on);
    llvm::Value* i = b_.CreateLoad(i64_, it[0]);
    b_.CreateStore(b_.CreateSub(left, b_.getInt64(1)), it[1]);
    b_.CreateStore(b_.CreateAdd(i, b_.CreateLoad(i64_, it[2])), it[0]);
    put_word(in.b, i);
    return jump(pc + 1);
  }
  if (t.kind != Kind::held || !t.object || t.object->object_kind() != ObjectKind::iterator) return After::untranslated;
  const auto* like = static_cast<const runtime::Iterator*>(t.object);
  if (like->def != &runtime::kListIterator || runtime::kind_of(like->source) != ObjectKind::list)
    return After::untranslated;
  const auto* list_now = like->source.as<runtime::List>();
  if (list_now->size == 0) return After::untranslated;
  llvm::Value* it = held_object(in.a, ObjectKind::iterator);
  check(b_.CreateICmpEQ(load(ptr_, it, offsetof(runtime::Iterator, def)), address(&runtime::kListIterator)), bail());
  llvm::Value* source = at(it, offsetof(runtime::Iterator, source));
  check(b_.CreateICmpEQ(load(i8_, source, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object))), bail());
  llvm::Value* list = load(ptr_, source, kBitsAt);
  check(b_.CreateICmpEQ(load(i8_, list, kKindAt), b_.getInt8(static_cast<uint8_t>(ObjectKind::list))), bail());
  llvm::Value* index = load(i64_, it, offsetof(runtime::Iterator, index));
  llvm::BasicBlock *some = make(), *over = make();
  b_.CreateCondBr(b_.CreateICmpULT(index, load(i64_, list, offsetof(runtime::List, size))), some, over);
  b_.SetInsertPoint(over);
  const Types as_was = types_;
  call(reinterpret_cast<const void*>(&ouro_plain_end), b_.getVoidTy(), {reg_at(in.a)});
  types_[static_cast<size_t>(in.a)] = {};
  b_.CreateBr(block(done, types_));
  types_ = as_was;
  b_.SetInsertPoint(some);
  llvm::Value* item =
      b_.CreateInBoundsGEP(i8_, load(ptr_, list, offsetof(runtime::List, items)), b_.CreateShl(index, b_.getInt64(4)));
  Instr to = in;
  to.dst = in.b;
  const Value& like_item = list_now->items[0];
  const Kind k = kind_of_tag(like_item.tag());
  if (k == Kind::held && !like_item.is_object()) return After::untranslated;
  check_like(item, like_item, bail());
  store(b_.CreateAdd(index, b_.getInt64(1)), it, offsetof(runtime::Iterator, index));
  if (!load_value(item, like_item, to, -1, 0, May::be_checked)) return After::untranslated;
  return jump(pc + 1);
}

}  // namespace ouro::jit::plain
