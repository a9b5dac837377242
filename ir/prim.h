// The language's primitives: one row each. The operations of untyped ANF, as the frontend emits them and the
// interpreter runs them. (Tensor operations are rows of ir/ops; a row's index there plus kFirstTensorOp is its Op.)
//
// Columns: id, text name, number of arguments (-1: any), meaning of `attr`, effects when the types are not known (RULES
// A1), what it is.
#pragma once

#include <string_view>

#include "ir/anf.h"

namespace ouro::ir {

enum class AttrKind : uint8_t { none, symbol, integer, constant, call, path };

// Effect bits; see ir/effect.h for locations and for the effects once types are known.
enum Effects : uint32_t {
  kPure = 0,
  kRaises = 1,
  kAlloc = 2,
  kReads = 4,
  kWrites = 8,
  kRng = 16,
  kIo = 32,
  kUnknown = 64 | kRaises | kAlloc | kReads | kWrites | kRng | kIo,
};

// clang-format off
#define OURO_PRIMS(X) \
  /* arithmetic on any operands (dunder protocol, tensors included) */ \
  X(neg,        "op.neg",       1, none, kUnknown, "-a") \
  X(pos,        "op.pos",       1, none, kUnknown, "+a") \
  X(invert,     "op.invert",    1, none, kUnknown, "~a") \
  X(not_,       "op.not",       1, none, kUnknown, "not a") \
  X(add,        "op.add",       2, none, kUnknown, "a + b") \
  X(sub,        "op.sub",       2, none, kUnknown, "a - b") \
  X(mul,        "op.mul",       2, none, kUnknown, "a * b") \
  X(matmul,     "op.matmul",    2, none, kUnknown, "a @ b") \
  X(truediv,    "op.truediv",   2, none, kUnknown, "a / b") \
  X(floordiv,   "op.floordiv",  2, none, kUnknown, "a // b") \
  X(mod,        "op.mod",       2, none, kUnknown, "a % b") \
  X(pow,        "op.pow",       2, none, kUnknown, "a ** b") \
  X(lshift,     "op.lshift",    2, none, kUnknown, "a << b") \
  X(rshift,     "op.rshift",    2, none, kUnknown, "a >> b") \
  X(and_,       "op.and",       2, none, kUnknown, "a & b") \
  X(or_,        "op.or",        2, none, kUnknown, "a | b") \
  X(xor_,       "op.xor",       2, none, kUnknown, "a ^ b") \
  /* in-place forms: the result is to be bound to the target again */ \
  X(iadd,       "iop.add",      2, none, kUnknown, "a += b") \
  X(isub,       "iop.sub",      2, none, kUnknown, "a -= b") \
  X(imul,       "iop.mul",      2, none, kUnknown, "a *= b") \
  X(imatmul,    "iop.matmul",   2, none, kUnknown, "a @= b") \
  X(itruediv,   "iop.truediv",  2, none, kUnknown, "a /= b") \
  X(ifloordiv,  "iop.floordiv", 2, none, kUnknown, "a //= b") \
  X(imod,       "iop.mod",      2, none, kUnknown, "a %= b") \
  X(ipow,       "iop.pow",      2, none, kUnknown, "a **= b") \
  X(ilshift,    "iop.lshift",   2, none, kUnknown, "a <<= b") \
  X(irshift,    "iop.rshift",   2, none, kUnknown, "a >>= b") \
  X(iand,       "iop.and",      2, none, kUnknown, "a &= b") \
  X(ior,        "iop.or",       2, none, kUnknown, "a |= b") \
  X(ixor,       "iop.xor",      2, none, kUnknown, "a ^= b") \
  X(eq,         "cmp.eq",       2, none, kUnknown, "a == b") \
  X(ne,         "cmp.ne",       2, none, kUnknown, "a != b") \
  X(lt,         "cmp.lt",       2, none, kUnknown, "a < b") \
  X(le,         "cmp.le",       2, none, kUnknown, "a <= b") \
  X(gt,         "cmp.gt",       2, none, kUnknown, "a > b") \
  X(ge,         "cmp.ge",       2, none, kUnknown, "a >= b") \
  X(is,         "cmp.is",       2, none, kPure,    "a is b") \
  X(is_not,     "cmp.is_not",   2, none, kPure,    "a is not b") \
  X(in,         "cmp.in",       2, none, kUnknown, "a in b") \
  X(not_in,     "cmp.not_in",   2, none, kUnknown, "a not in b") \
  X(truth,      "truth",        1, none, kUnknown, "bool(a), as a branch needs it") \
  X(move,       "move",         1, none, kPure,    "a itself") \
  /* variables */ \
  X(check_bound,"check.bound",  1, symbol, kRaises, "a, or UnboundLocalError naming `attr` if a is unbound") \
  X(global_get, "global.get",   0, symbol, kUnknown & ~kWrites, "module global, else builtin, else NameError") \
  X(global_set, "global.set",   1, symbol, kWrites, "assign a module global") \
  X(global_del, "global.del",   0, symbol, kWrites | kRaises, "delete a module global") \
  X(builtin_get,"builtin.get",  0, symbol, kPure, "a builtin by name, never shadowed") \
  X(class_get,  "class.get",    1, symbol, kUnknown, "name in the class body namespace a (a dict), else global") \
  X(class_set,  "class.set",    2, symbol, kWrites, "set attr in the class body namespace a to b") \
  X(class_del,  "class.del",    1, symbol, kWrites | kRaises, "delete attr from the class body namespace a") \
  X(cell_new,   "cell.new",     1, none, kAlloc, "a fresh cell holding a (which may be unbound)") \
  X(cell_get,   "cell.get",     1, symbol, kReads | kRaises, \
      "the cell's value; NameError/UnboundLocalError if it has none") \
  X(cell_set,   "cell.set",     2, none, kWrites, "set cell a to b") \
  /* functions and classes */ \
  X(function,   "function",    -1, constant, kAlloc, \
      "closure of code `attr`; args: tuple of defaults, dict of keyword defaults or None, annotations dict or " \
      "None, then captures") \
  X(make_class, "class",       -1, call, kUnknown, \
      "build a class; args: body function, name (str), then bases and keywords as in a call; the body gets the " \
      "namespace dict and returns the `__class__` cell, to be filled, or None") \
  X(method_get, "method.get",   1, symbol, kUnknown, \
      "what a.attr(...) calls, before its arguments: unbound for a plain method of a's class, else a.attr") \
  X(call,       "call",        -1, call, kUnknown, "call a(args...)") \
  X(call_method,"call.method", -1, call, kUnknown, "a.method(args...); method name in the CallSig") \
  X(call_loaded,"call.loaded", -1, call, kUnknown, \
      "call a, which method.get gave for b: a(args...), or b.method(args...) if a is unbound") \
  /* attributes, items, places */ \
  X(attr_get,   "attr.get",     1, symbol, kUnknown, "a.attr") \
  X(attr_set,   "attr.set",     2, symbol, kUnknown, "a.attr = b") \
  X(attr_del,   "attr.del",     1, symbol, kUnknown, "del a.attr") \
  X(item_get,   "item.get",     2, none, kUnknown, "a[b]") \
  X(item_set,   "item.set",     3, none, kUnknown, "a[b] = c, no place: an error if a is a tensor") \
  X(item_del,   "item.del",     2, none, kUnknown, "del a[b]") \
  X(update,     "update",      -1, path, kUnknown, \
      "write to a place (RULES C16); args: root (none if global), item atoms..., value; result: the new root " \
      "(itself unless a tensor)") \
  X(slice,      "slice",        3, none, kAlloc, "slice(a, b, c)") \
  /* containers */ \
  X(tuple,      "tuple",       -1, none, kAlloc, "(args...)") \
  X(list,       "list",        -1, none, kAlloc, "[args...]") \
  X(set,        "set",         -1, none, kUnknown, "{args...}") \
  X(dict,       "dict",        -1, none, kUnknown, "{k: v, ...}; args alternate") \
  X(list_append,"list.append",  2, none, kWrites, "append b to list a (displays and comprehensions)") \
  X(list_extend,"list.extend",  2, none, kUnknown, "extend list a by iterable b (displays)") \
  X(list_to_tuple,"list.to_tuple", 1, none, kAlloc, "tuple of the list a") \
  X(set_add,    "set.add",      2, none, kUnknown, "add b to set a") \
  X(set_update, "set.update",   2, none, kUnknown, "add all of iterable b to set a") \
  X(dict_set,   "dict.set",     3, none, kUnknown, "a[b] = c in a display or comprehension") \
  X(dict_update,"dict.update",  2, none, kUnknown, "merge mapping b into dict a (displays)") \
  X(tuple_get,  "tuple.get",    1, integer, kPure, "item `attr` of tuple a, known to have it") \
  X(unpack,     "unpack",       1, integer, kUnknown, "tuple of exactly `attr` items of iterable a") \
  X(unpack_star,"unpack.star",  1, integer, kUnknown, \
      "attr = before | after << 16: tuple of before items, a list, after items") \
  X(format,     "format",       2, integer, kUnknown, "format(conv(a), b); attr is 0 or the character r, s, a") \
  X(tensor_item,"tensor.item", 1, none, kPure, "the one element of tensor a as a number (typed programs only)") \
  X(str_concat, "str.concat",  -1, none, kAlloc, "concatenation of strings") \
  /* iteration */ \
  X(iter,       "iter",         1, none, kUnknown, "hidden iterator over a (RULES A6)") \
  X(iter_next,  "iter.next",    1, none, kUnknown, "next value, or the end marker") \
  X(is_end,     "is.end",       1, none, kPure, "is a the end marker") \
  /* exceptions */ \
  X(exc_match,  "exc.match",    2, none, kUnknown, "does exception a match class or tuple of classes b") \
  X(exc_enter,  "exc.enter",    1, none, kWrites, "a becomes the handled exception; result: the one before (or None)") \
  X(exc_leave,  "exc.leave",    1, none, kWrites, "the handled exception is a (or None) again") \
  X(exc_current,"exc.current",  0, none, kReads, "the handled exception or None") \
  X(with_methods,"with.methods",1, none, kUnknown, \
      "the tuple of a's __enter__ and __exit__, as its class has them, or TypeError") \
  /* pattern matching: None when it does not match */ \
  X(match_sequence,"match.sequence", 1, none, kUnknown, "is a a sequence (not str, bytes)") \
  X(match_mapping, "match.mapping",  1, none, kUnknown, "is a a mapping") \
  X(match_keys,    "match.keys",     2, none, kUnknown, "tuple of a's values for keys b (tuple), or None") \
  X(match_rest,    "match.rest",     2, none, kUnknown, "dict of a without keys b") \
  X(match_class,   "match.class",    3, integer, kUnknown, \
      "a: subject, b: class, c: tuple of keyword names; attr positional count: tuple of attributes, or None") \
  X(length,        "length",         1, none, kUnknown, "len(a)") \
  /* modules */ \
  X(import,     "import",       0, symbol, kUnknown, "module `attr` (dotted name; the top package)") \
  X(import_as,  "import.as",    0, symbol, kUnknown, "the module `attr` itself") \
  X(import_from,"import.from",  1, symbol, kUnknown, "name `attr` of module a") \
  X(import_star,"import.star",  1, none, kUnknown, "all public names of module a into the globals") \
  /* reverse mode (ir/grad/reverse.cpp). A *forward form* of f takes f's arguments and gives (y, pullback); a pullback
     takes (dy, env) and gives a tuple with one cotangent per argument. env is the shadow map of one backward call:
     (object, slot) -> cotangent */ \
  X(ad_forward, "ad.forward",   1, none, kAlloc | kRaises, "the forward form of callable a; None if a is None") \
  X(ad_method,  "ad.method",    1, symbol, kUnknown, \
      "the forward form of a's method `attr`, to be called with a as its first argument") \
  X(ad_special, "ad.special",  -1, symbol, kAlloc | kRaises, \
      "None if the primitive named `attr` needs no call on these operands, else the forward form of what it calls") \
  X(ad_try_call,"ad.try_call", -1, call, kUnknown, "None if a is None, else the call a(args...)") \
  X(ad_value,   "ad.value",    -1, symbol, kUnknown, \
      "a[0] if a is a pair, else primitive `attr` on the other arguments") \
  X(ad_bind,    "ad.bind",     -1, call, kRaises | kAlloc, \
      "arguments of a call to forward form a: (tuple of parameters, keywords left, plan)") \
  X(ad_unbind,  "ad.unbind",    3, none, kWrites | kAlloc, \
      "a: plan, b: cotangents of the parameters, c: env; cotangents of the call's arguments") \
  X(ad_flat,    "ad.flat",      1, none, kAlloc, "forward form a, taking its entry parameters by position") \
  X(ad_part,    "ad.part",      1, integer, kPure, "item `attr` of the pair a, None if a is None") \
  X(ad_keep,    "ad.keep",      2, none, kPure, \
      "what backward needs of operand b: itself, or the pullback of the pair a if that is not None") \
  X(ad_like,    "ad.like",      2, none, kAlloc, \
      "as ad.keep, but only kind, shape and dtype of b where it is a number or tensor") \
  X(ad_select,  "ad.select",    2, integer, kPure, \
      "cotangent b if a is None (attr 0) or is not None (attr 1), else zero") \
  X(ad_rule,    "ad.rule",     -1, symbol, kPure, \
      "the rule named `attr` for cotangent a; None if a is zero; the pullback's caller if another argument is a " \
      "pullback") \
  X(ad_always,  "ad.always",   -1, symbol, kPure, "as ad.rule, also for a zero cotangent") \
  X(ad_get,     "ad.get",       1, integer, kPure, "item `attr` of the cotangent a of a tuple") \
  X(ad_one_hot, "ad.one_hot",   1, integer, kAlloc, \
      "the cotangent of a tuple whose item `attr` has cotangent a and whose others have zero") \
  X(ad_add,     "ad.add",       2, none, kAlloc | kRaises, "sum of two cotangents; in place where a is unshared") \
  X(ad_item,    "ad.item",      5, none, kWrites | kAlloc | kRaises, \
      "a plus the cotangent of x in x[c], whose result has b; d: what ad.like kept of x, e: env") \
  X(ad_index,   "ad.index",     2, none, kReads, \
      "index b of container a as backward needs it (a list's from its start)") \
  X(ad_acc,     "ad.acc",       4, none, kWrites, "env a: add d to the cotangent of slot c of object b") \
  X(ad_take,    "ad.take",      3, none, kWrites | kReads, \
      "env a: the cotangent of slot c of object b, which becomes zero") \
  X(ad_peek,    "ad.peek",      3, none, kReads, "env a: the cotangent of slot c of object b") \
  X(ad_put,     "ad.put",       4, none, kWrites, "env a: d becomes the cotangent of slot c of object b") \
  X(ad_source,  "ad.source",    1, none, kReads | kAlloc, "the place that iterator a's last value came from") \
  X(ad_globals, "ad.globals",   0, none, kPure, "the module whose globals the function sees") \
  X(ad_place,   "ad.place",    -1, path, kUnknown, \
      "before an update with the same path and arguments: what backward needs of it") \
  X(ad_update,  "ad.update",    3, none, kUnknown, \
      "a: cotangent of an update's result, b: env, c: what ad.place kept: cotangents of (root, value)") \
  X(ad_yielded, "ad.yielded",   2, none, kWrites | kRaises, \
      "append b to list a: what a generator yields that is run at once; an error at a million") \
  X(ad_fail,    "ad.fail",      1, symbol, kRaises, \
      "an error if cotangent a is not zero: operation `attr` has no derivative") \
  X(seq_new,    "seq.new",      0, none, kAlloc, \
      "an empty sequence of records: appended to by one loop, read by its backward") \
  X(seq_push,   "seq.push",    -1, none, kWrites, "append the record (b, c, ...) to sequence a; result: its index") \
  X(seq_get,    "seq.get",      2, integer, kReads, "item `attr` of record b of sequence a") \
  X(seq_len,    "seq.len",      1, none, kReads, "number of records") \
  X(seq_prev,   "seq.prev",     1, none, kPure, "a - 1, of a record's index")
// clang-format on

namespace prim {
enum : uint16_t {
#define X(id, ...) id##_,
  OURO_PRIMS(X)
#undef X
      count_
};
// Op constants: prim::add, prim::call, ...
#define X(id, ...) inline constexpr Op id = static_cast<Op>(id##_);
OURO_PRIMS(X)
#undef X
}  // namespace prim

// `a += b` for `a + b`, and so on.
constexpr Op in_place_form(Op op) {
  constexpr uint16_t first = prim::add_, last = prim::xor__, in_place = prim::iadd_;
  static_assert(prim::ixor_ - in_place == last - first);
  const auto i = static_cast<uint16_t>(op);
  return i >= first && i <= last ? static_cast<Op>(i - first + in_place) : op;
}

// The arguments of a call's let before those that its CallSig tells of.
constexpr uint32_t call_lead(Op op) { return op == prim::make_class || op == prim::call_loaded ? 2 : 1; }

struct PrimDef {
  Op op;
  std::string_view name;
  int nargs;  // -1: any
  AttrKind attr;
  uint32_t effects;
  std::string_view doc;
};
inline constexpr PrimDef kPrims[] = {
#define X(id, text, n, attr, eff, doc) {prim::id, text, n, AttrKind::attr, static_cast<uint32_t>(eff), doc},
    OURO_PRIMS(X)
#undef X
};

}  // namespace ouro::ir
