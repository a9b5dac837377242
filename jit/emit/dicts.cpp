// Dicts with ints and texts as keys (translator.h): they are hashed and compared without a script. Where another kind
// of key is met, or nothing is there, it is the interpreter's.
#include "jit/emit/translator.h"

namespace ouro::jit::plain {

Translator::Shared Translator::shared(int32_t a) {
  const RegType t = type(a);
  if (const Number n = number(a)) return {b_.getInt32(static_cast<uint32_t>(tag_of(n.kind))), as_bits(n)};
  if (t.kind == Kind::none) return {b_.getInt32(static_cast<uint32_t>(Tag::none)), b_.getInt64(0)};
  llvm::Value* tag = b_.getInt32(static_cast<uint32_t>(Tag::object));
  if (t.kind == Kind::known) {
    keep(t.object);
    return {tag, b_.getInt64(reinterpret_cast<uint64_t>(t.object))};
  }
  if (t.kind != Kind::held || !t.object || a < 0) return {};
  return {tag, load(i64_, reg_at(a), kBitsAt)};
}

Translator::Shared Translator::plain_key(int32_t a) {
  const RegType t = type(a);
  const bool text =
      (t.kind == Kind::held || t.kind == Kind::known) && t.object && t.object->object_kind() == ObjectKind::str;
  return text || t.kind == Kind::integer ? shared(a) : Shared{};
}

// Where the value of a key stands.
llvm::Value* Translator::entry_of(llvm::Value* dict, const Shared& key) {
  llvm::Value* entry = call(reinterpret_cast<const void*>(&ouro_plain_entry), ptr_, {dict, key.tag, key.bits});
  check(b_.CreateIsNotNull(entry), bail());
  return entry;
}

Translator::After Translator::item_of_dict(const Instr& in, const RegType& dict) {
  const Shared key = plain_key(in.b);
  const Expected like = item_of_example(dict, in.b);
  if (!key || like.like.is_unbound() || in.b == in.dst) return After::untranslated;
  llvm::Value* entry = entry_of(held_object(in.a, ObjectKind::dict), key);
  used(in.b, in.use_b);
  return load_value(entry, like.like, in, in.a, in.use_a, May::be_none) ? After::next : After::untranslated;
}

// `key in dict`
Translator::After Translator::contains(const Instr& in) {
  const RegType dict = type(in.b);
  const Shared key = plain_key(in.a);
  if (!key || dict.kind != Kind::held || in.b < 0 || !dict.object || dict.object->object_kind() != ObjectKind::dict)
    return After::untranslated;
  llvm::Value* r = call(reinterpret_cast<const void*>(&ouro_plain_contains), i32_,
                        {held_object(in.b, ObjectKind::dict), key.tag, key.bits});
  check(b_.CreateICmpSGE(r, b_.getInt32(0)), bail());
  used(in.a, in.use_a), used(in.b, in.use_b);
  put_bool(in.dst, b_.CreateICmpEQ(r, b_.getInt32(in.op == I::in ? 1 : 0)));
  return After::next;
}

// `dict[key] = value`
Translator::After Translator::dict_set(const Instr&, const Operand* ops, const Operand& value) {
  const Shared key = plain_key(ops[1].at);
  if (!key || !storable(value)) return After::untranslated;
  const Shared v = shared(value.at);
  llvm::Value* dict = held_object(ops[0].at, ObjectKind::dict);
  llvm::Value* r = call(reinterpret_cast<const void*>(&ouro_plain_dict_set), i32_,
                        {session(), dict, key.tag, key.bits, v.tag, v.bits});
  check(b_.CreateICmpNE(r, b_.getInt32(0)), bail());
  check(b_.CreateICmpEQ(r, b_.getInt32(1)), leave(before_, at_, true));
  used(ops[1].at, static_cast<uint8_t>(ops[1].use));
  used(value.at, static_cast<uint8_t>(value.use));
  return After::next;
}

// `dict.get(key)` and `dict.get(key, number)`: what is not there is None on a way of its own.
Translator::After Translator::dict_get(const Instr& in, const Operand* ops, uint32_t count) {
  const RegType dict = type(ops[0].at);
  const Expected like = item_of_example(dict, ops[1].at);
  const Shared key = plain_key(ops[1].at);
  const Kind k = kind_of_tag(like.like.tag());
  if (!key || like.like.is_unbound() || ops[0].use == Use::dies || ops[1].at == in.dst) return After::untranslated;
  const Number other = count == 3 ? number(ops[2].at) : Number{};
  if (count == 3 && (!other || other.kind != k)) return After::untranslated;
  if (count == 2 && k == Kind::none) return After::untranslated;
  llvm::Value* d = held_object(ops[0].at, ObjectKind::dict);
  llvm::Value* known = call(reinterpret_cast<const void*>(&ouro_plain_contains), i32_, {d, key.tag, key.bits});
  check(b_.CreateICmpSGE(known, b_.getInt32(0)), bail());
  llvm::BasicBlock *some = make(), *none = make();
  b_.CreateCondBr(b_.CreateICmpNE(known, b_.getInt32(0)), some, none);
  b_.SetInsertPoint(none);
  const State as_was = state();
  used(ops[1].at, static_cast<uint8_t>(ops[1].use));
  if (count == 3) {
    used(ops[2].at, static_cast<uint8_t>(ops[2].use));
    put_number(in.dst, other);
  } else {
    put(in.dst, {Kind::none});
  }
  b_.CreateBr(block(at_ + 1, types_));
  restore(as_was);
  b_.SetInsertPoint(some);
  llvm::Value* entry = entry_of(d, key);
  used(ops[1].at, static_cast<uint8_t>(ops[1].use));
  if (count == 3) used(ops[2].at, static_cast<uint8_t>(ops[2].use));
  return load_value(entry, like.like, in, -1, 0, May::be_none) ? After::next : After::untranslated;
}

}  // namespace ouro::jit::plain
