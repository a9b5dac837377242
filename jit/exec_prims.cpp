// The table of primitives: how each is executed on abstract values. A primitive that is not here is boxed.
#include <array>

#include <fmt/format.h>

#include "jit/specialiser.h"
#include "runtime/interpreter/code.h"
#include "support/forever.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::cast_exact;

namespace {

using Handler = AVal (*)(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>&);

AVal h_binary(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.binary(l.op, a[0], a[1]); }
AVal h_unary(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.unary(l.op, a[0]); }
AVal h_compare(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.compare(l.op, a[0], a[1]); }
AVal h_truth(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.truth(a[0]); }
AVal h_move(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>& a) { return a[0]; }
AVal h_check_bound(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  if (a[0].is(AKind::unbound)) s.abandon(fmt::format("variable {} has no value", Symbol::from_id(l.attr).text()));
  return a[0];
}
AVal h_global_get(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>&) {
  return s.global(f.globals, Symbol::from_id(l.attr));
}
AVal h_global_set(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) {
  s.set_global(f.globals, Symbol::from_id(l.attr), a[0]);
  return {};
}
AVal h_builtin_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>&) {
  Value v = runtime::intrinsic_or_builtin(s.session, Symbol::from_id(l.attr));
  if (v.is_error() || v.is_unbound()) s.abandon("a builtin that is not there");
  return AVal::of(v);
}
AVal h_cell_new(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  AObject o;
  o.kind = AObject::Kind::cell;
  o.slots.push_back({Symbol{}, a[0], {}, false});
  return AVal::of_heap(s.allocate(std::move(o)));
}
AVal h_cell_get(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.cell_get(a[0]); }
AVal h_cell_set(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.cell_set(a[0], a[1]);
  return {};
}
AVal h_function(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) {
  auto parts = std::make_shared<AParts>();
  parts->code = f.code->constants[l.attr].code;
  parts->globals = f.globals;
  if (!(a[0].is(AKind::known) && a[0].known.is_none())) parts->defaults = s.items_of(a[0], "are defaults");
  if (a[1].is(AKind::ref)) {
    const AObject& o = s.read(a[1].heap);
    for (size_t i = 0; i < o.keys.size(); ++i)
      parts->kwdefaults.push_back({runtime::str_symbol(o.keys[i].known.as<runtime::Str>()), o.items[i]});
  }
  parts->items.assign(a.begin() + 3, a.end());
  AVal out = AVal::marker(AKind::closure);
  out.parts = std::move(parts);
  return out;
}
AVal h_call(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>&) { return s.exec_call(f, l); }
AVal h_method_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.method_before_call(a[0], Symbol::from_id(l.attr));
}
AVal h_attr_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.get_attr(a[0], Symbol::from_id(l.attr));
}
AVal h_attr_set(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  s.set_attr(a[0], Symbol::from_id(l.attr), a[1]);
  return {};
}
AVal h_item_get(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.get_item(a[0], a[1]); }
AVal h_item_set(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.set_item(a[0], a[1], a[2]);
  return {};
}
AVal h_update(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>&) { return s.update(f, l); }
AVal h_slice(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  return AVal::compound(AKind::slice, std::move(a));
}
AVal h_tuple(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>& a) { return AVal::tuple(std::move(a)); }
AVal h_list(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.new_list(std::move(a)); }
AVal h_dict(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  AVal d = s.new_dict({}, {});
  for (size_t i = 0; i + 1 < a.size(); i += 2) s.set_item(d, a[i], a[i + 1]);
  return d;
}
AVal h_set(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  AObject o;
  o.kind = AObject::Kind::set;
  for (const AVal& v : a) o.keys.push_back(AVal::of(s.need_constant(v, "is in a set")));
  return AVal::of_heap(s.allocate(std::move(o)));
}
AVal h_list_append(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.list_append(a[0], a[1]);
  return {};
}
AVal h_list_extend(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  for (const AVal& v : s.items_of(a[1], "is spread")) s.list_append(a[0], v);
  return {};
}
AVal h_list_to_tuple(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  return AVal::tuple(s.items_of(a[0], "becomes a tuple"));
}
AVal h_tuple_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  if (a[0].is(AKind::dynamic)) return s.boxed(prim::tuple_get, a, l.attr);
  return s.items_of(a[0], "is taken apart").at(l.attr);
}
AVal h_unpack(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  if (a[0].is(AKind::dynamic) && !a[0].type) return s.boxed(prim::unpack, a, l.attr);
  std::vector<AVal> items = s.items_of(a[0], "is unpacked");
  if (items.size() != l.attr) s.abandon("unpacking of another length");
  return AVal::tuple(std::move(items));
}
AVal h_unpack_star(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  std::vector<AVal> items = s.items_of(a[0], "is unpacked");
  size_t before = l.attr & 0xffff, after = l.attr >> 16;
  if (items.size() < before + after) s.abandon("unpacking of another length");
  std::vector<AVal> out(items.begin(), items.begin() + static_cast<long>(before));
  out.push_back(s.new_list({items.begin() + static_cast<long>(before), items.end() - static_cast<long>(after)}));
  out.insert(out.end(), items.end() - static_cast<long>(after), items.end());
  return AVal::tuple(std::move(out));
}
AVal h_format(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.formatted(a[0], a[1], static_cast<char>(l.attr));
}
AVal h_str_concat(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  std::string text;
  for (const AVal& v : a) {
    auto c = s.concrete(v);
    auto* str = c ? cast_exact<runtime::Str>(*c) : nullptr;
    if (!str) return s.boxed(prim::str_concat, a, l.attr);
    text += str->view();
  }
  return AVal::of(runtime::make_str(text));
}
AVal h_iter(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.make_iterator(a[0]); }
AVal h_with_methods(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.context_methods(a[0]); }
// By the built-in class underneath: a list of a script class is a sequence, too.
AVal h_match_kind(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  using K = runtime::ObjectKind;
  const K k = s.class_of(a[0]).as<runtime::Type>()->layout;
  const bool sequence = k == K::list || k == K::tuple || k == K::range || k == K::tensor;
  const bool mapping = k == K::dict || k == K::mapping_proxy;
  return AVal::of(Value::boolean(l.op == prim::match_sequence ? sequence : mapping));
}
AVal h_match(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.pattern(l.op, a, l.attr); }
AVal h_iter_next(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.next(a[0]); }
AVal h_is_end(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  if (a[0].is(AKind::maybe_end)) return AVal::dynamic(a[0].atom, ir::types::boolean());
  if (a[0].is(AKind::dynamic) && !a[0].type) return s.emit(prim::is_end, a, ir::types::boolean());
  return AVal::of(Value::boolean(a[0].is(AKind::end)));
}
AVal h_import(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>&) {
  Symbol name = Symbol::from_id(l.attr);
  Value* m = s.session.modules.find(l.op == prim::import ? intern(name.text().substr(0, name.text().find('.'))) : name);
  if (!m || !s.session.modules.find(name)) s.abandon("import");
  return AVal::of(*m);
}
AVal h_import_from(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.get_attr(a[0], Symbol::from_id(l.attr));
}
AVal h_length(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.length(a[0]); }
AVal h_dict_set(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.set_item(a[0], a[1], a[2]);
  return {};
}

// How a primitive is executed; or the reason why the interpreter has to. Those of reverse mode are in exec_grad.cpp.
constexpr PrimRow kRows[] = {
    {prim::add, h_binary},
    {prim::sub, h_binary},
    {prim::mul, h_binary},
    {prim::matmul, h_binary},
    {prim::truediv, h_binary},
    {prim::floordiv, h_binary},
    {prim::mod, h_binary},
    {prim::pow, h_binary},
    {prim::lshift, h_binary},
    {prim::rshift, h_binary},
    {prim::and_, h_binary},
    {prim::or_, h_binary},
    {prim::xor_, h_binary},
    {prim::iadd, h_binary},
    {prim::isub, h_binary},
    {prim::imul, h_binary},
    {prim::imatmul, h_binary},
    {prim::itruediv, h_binary},
    {prim::ifloordiv, h_binary},
    {prim::imod, h_binary},
    {prim::ipow, h_binary},
    {prim::ilshift, h_binary},
    {prim::irshift, h_binary},
    {prim::iand, h_binary},
    {prim::ior, h_binary},
    {prim::ixor, h_binary},
    {prim::neg, h_unary},
    {prim::pos, h_unary},
    {prim::invert, h_unary},
    {prim::not_, h_unary},
    {prim::eq, h_compare},
    {prim::ne, h_compare},
    {prim::lt, h_compare},
    {prim::le, h_compare},
    {prim::gt, h_compare},
    {prim::ge, h_compare},
    {prim::is, h_compare},
    {prim::is_not, h_compare},
    {prim::in, h_compare},
    {prim::not_in, h_compare},
    {prim::truth, h_truth},
    {prim::move, h_move},
    {prim::check_bound, h_check_bound},
    {prim::global_get, h_global_get},
    {prim::global_set, h_global_set},
    {prim::builtin_get, h_builtin_get},
    {prim::cell_new, h_cell_new},
    {prim::cell_get, h_cell_get},
    {prim::cell_set, h_cell_set},
    {prim::function, h_function},
    {prim::method_get, h_method_get},
    {prim::call, h_call},
    {prim::call_loaded, h_call},
    {prim::call_method, h_call},
    {prim::attr_get, h_attr_get},
    {prim::attr_set, h_attr_set},
    {prim::item_get, h_item_get},
    {prim::item_set, h_item_set},
    {prim::update, h_update},
    {prim::slice, h_slice},
    {prim::tuple, h_tuple},
    {prim::list, h_list},
    {prim::dict, h_dict},
    {prim::set, h_set},
    {prim::list_append, h_list_append},
    {prim::list_extend, h_list_extend},
    {prim::list_to_tuple, h_list_to_tuple},
    {prim::tuple_get, h_tuple_get},
    {prim::unpack, h_unpack},
    {prim::unpack_star, h_unpack_star},
    {prim::format, h_format},
    {prim::str_concat, h_str_concat},
    {prim::iter, h_iter},
    {prim::with_methods, h_with_methods},
    {prim::match_sequence, h_match_kind},
    {prim::match_mapping, h_match_kind},
    {prim::match_class, h_match},
    {prim::match_keys, h_match},
    {prim::match_rest, h_match},
    {prim::iter_next, h_iter_next},
    {prim::is_end, h_is_end},
    {prim::import, h_import},
    {prim::import_as, h_import},
    {prim::import_from, h_import_from},
    {prim::length, h_length},
    {prim::dict_set, h_dict_set},
    {prim::global_del, nullptr, "a global is deleted"},
    {prim::class_get, nullptr, "a class is made"},
    {prim::class_set, nullptr, "a class is made"},
    {prim::class_del, nullptr, "a class is made"},
    {prim::make_class, nullptr, "a class is made"},
    {prim::attr_del, nullptr, "an attribute is deleted"},
    {prim::item_del, nullptr, "an item is deleted"},
    {prim::set_add, nullptr, "a set is written to"},
    {prim::set_update, nullptr, "a set is written to"},
    {prim::dict_update, nullptr, "a mapping is merged"},
    {prim::tensor_item, nullptr, "it is of typed programs"},
    {prim::exc_match, nullptr, "an exception is handled"},
    {prim::exc_enter, nullptr, "an exception is handled"},
    {prim::exc_leave, nullptr, "an exception is handled"},
    {prim::exc_current, nullptr, "an exception is handled"},
    {prim::import_star, nullptr, "names are imported"},
};
static_assert(each_once(kRows, [](ir::Op op) { return !of_reverse_mode(op); }), "a primitive has no row, or two");

const std::array<PrimRow, prim::count_>& handlers() {
  static const auto& table = support::forever([] {
    std::array<PrimRow, prim::count_> t{};
    for (std::span<const PrimRow> rows : {std::span<const PrimRow>(kRows), grad_prims()})
      for (const PrimRow& r : rows) t[static_cast<size_t>(r.op)] = r;
    return t;
  }());
  return table;
}

}  // namespace

AVal Specialiser::exec_let(AFrame& f, const ir::Let& let) {
  // call and update read their own atoms.
  std::vector<AVal> args;
  testing_end_ = let.op == prim::is_end;
  if (let.op != prim::call && let.op != prim::call_method && let.op != prim::call_loaded && let.op != prim::update)
    for (uint32_t i = 0; i < let.nargs; ++i) args.push_back(atom_value(f, f.code->args(let)[i]));
  testing_end_ = false;
  in_try_ = f.in_try || let.handover != ir::Let::kNoHandover;
  const size_t before = code.size();
  auto done = [&](AVal v) {
    in_try_ = f.in_try || let.handover != ir::Let::kNoHandover;
    // What raises there is done again by the interpreter, from the start of the call.
    if (in_try_ && code.size() != before) {
      ++redone_;
      if (effects_done_) abandon("an operation inside try, after an effect");
    }
    return v;
  };
  if (ir::is_tensor_op(let.op)) return done(tensor_op(let.op, std::move(args)));
  const PrimRow& row = handlers()[static_cast<size_t>(let.op)];
  if (!row.execute) abandon(row.reason);
  return done(row.execute(*this, f, let, args));
}

AVal Specialiser::constant_value(const ir::Function& f, ir::ConstId id) {
  const ir::Constant& c = f.constant(id);
  using K = ir::Constant::Kind;
  switch (c.kind) {
    case K::unbound:
      return {};
    case K::zero:
      return AVal::marker(AKind::zero);
    case K::tuple: {
      std::vector<AVal> items;
      for (ir::ConstId i : c.items) items.push_back(constant_value(f, i));
      return AVal::tuple(std::move(items));
    }
    default:
      return AVal::of(runtime::constant_value(session, f, id));
  }
}

}  // namespace ouro::jit
