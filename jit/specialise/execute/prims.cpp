// The language's primitives on abstract values, but those of reverse mode.
#include <fmt/format.h>

#include "jit/specialise/execute/prims.h"
#include "runtime/interpreter/code.h"
#include "runtime/interpreter/modules.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::cast_exact;

namespace handlers {

AVal binary(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.binary(l.op, a[0], a[1]); }
AVal unary(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.unary(l.op, a[0]); }
AVal compare(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.compare(l.op, a[0], a[1]); }
AVal truth(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.truth(a[0]); }
AVal move(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>& a) { return a[0]; }
AVal check_bound(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  if (!a[0].is(AKind::unbound)) return a[0];
  if (s.raises_itself())
    s.raise_by(s.protocol_native("raise_unbound"), {AVal::of(runtime::make_str(Symbol::from_id(l.attr).text()))});
  s.raise();
}
AVal global_get(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>&) {
  return s.global(f.globals, Symbol::from_id(l.attr));
}
AVal global_set(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) {
  s.set_global(f.globals, Symbol::from_id(l.attr), a[0]);
  return {};
}
AVal builtin_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>&) {
  Value v = runtime::intrinsic_or_builtin(s.session, Symbol::from_id(l.attr));
  if (v.is_error() || v.is_unbound()) s.abandon(Reason::internal, "a builtin that is not there");
  return AVal::of(v);
}
AVal cell_new(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  AObject o;
  o.kind = AObject::Kind::cell;
  o.slots.push_back({.value = a[0]});
  return AVal::of_heap(s.allocate(std::move(o)));
}
AVal cell_get(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.cell_get(a[0]); }
AVal cell_set(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.cell_set(a[0], a[1]);
  return {};
}
AVal function(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>& a) {
  auto parts = std::make_shared<AParts>();
  parts->code = f.code->constants[l.attr].code;
  parts->globals = f.globals;
  if (!(a[0].is(AKind::known) && a[0].known.is_none())) parts->defaults = s.items_of(a[0], "are defaults");
  if (a[1].is(AKind::ref)) {
    const AObject& o = s.read(a[1].heap);
    for (size_t i = 0; i < o.keys.size(); ++i) parts->kwdefaults.push_back({s.keyword_name(o.keys[i]), o.items[i]});
  }
  if (!(a[2].is(AKind::known) && a[2].known.is_none())) parts->annotations.push_back(a[2]);
  parts->items.assign(a.begin() + 3, a.end());
  AObject self;
  self.kind = AObject::Kind::identity;
  AVal out = AVal::marker(AKind::closure);
  out.heap = s.allocate(std::move(self));
  out.parts = std::move(parts);
  return out;
}
AVal call(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>&) { return s.exec_call(f, l); }
AVal method_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.method_before_call(a[0], Symbol::from_id(l.attr));
}
AVal attr_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.get_attr(a[0], Symbol::from_id(l.attr));
}
AVal attr_set(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  s.set_attr(a[0], Symbol::from_id(l.attr), a[1]);
  return {};
}
AVal attr_del(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  s.delete_attr(a[0], Symbol::from_id(l.attr));
  return {};
}
AVal item_get(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.get_item(a[0], a[1]); }
AVal item_set(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.set_item(a[0], a[1], a[2]);
  return {};
}
AVal item_del(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.delete_item(a[0], a[1]);
  return {};
}
AVal update(Specialiser& s, AFrame& f, const ir::Let& l, std::vector<AVal>&) { return s.update(f, l); }
AVal slice(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  return AVal::compound(AKind::slice, std::move(a));
}
AVal tuple(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>& a) { return AVal::tuple(std::move(a)); }
AVal list(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.new_list(std::move(a)); }
AVal dict(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  AVal d = s.new_dict({}, {});
  for (size_t i = 0; i + 1 < a.size(); i += 2) s.set_item(d, a[i], a[i + 1]);
  return d;
}
AVal set(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.new_set(a); }
AVal set_add(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.set_add(a[0], a[1]);
  return {};
}
AVal set_update(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.set_update(a[0], a[1]);
  return {};
}
AVal list_append(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.list_append(a[0], a[1]);
  return {};
}
AVal list_extend(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.list_extend(a[0], a[1]);
  return {};
}
AVal list_to_tuple(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  return AVal::tuple(s.items_of(a[0], "becomes a tuple"));
}
AVal tuple_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  if (a[0].is(AKind::dynamic)) return s.boxed(prim::tuple_get, a, l.attr);
  return s.items_of(a[0], "is taken apart").at(l.attr);
}
AVal unpack(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  if (a[0].is(AKind::dynamic) && !a[0].type) return s.boxed(prim::unpack, a, l.attr);
  std::vector<AVal> items = s.items_of(a[0], "is unpacked");
  if (items.size() != l.attr) s.abandon(Reason::raises, "unpacking of another length");
  return AVal::tuple(std::move(items));
}
AVal unpack_star(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  const size_t before = ir::before_star(l.attr), after = ir::behind_star(l.attr);
  std::vector<AVal> items;
  if (s.is_instance(a[0]) && !a[0].extends_tuple()) {
    // A list is made of what is left: that asks a script's iterator for itself once more, and for its length.
    const AVal it = s.make_iterator(a[0]);
    for (size_t i = 0; i < before; ++i)
      if (AVal v = s.next(it); !v.is(AKind::end)) items.push_back(std::move(v));
    if (items.size() == before)
      for (AVal& v : s.sized_items_of(it, "is unpacked")) items.push_back(std::move(v));
  } else {
    items = s.items_of(a[0], "is unpacked");
  }
  if (items.size() < before + after) s.abandon(Reason::raises, "unpacking of another length");
  std::vector<AVal> out(items.begin(), items.begin() + static_cast<long>(before));
  out.push_back(s.new_list({items.begin() + static_cast<long>(before), items.end() - static_cast<long>(after)}));
  out.insert(out.end(), items.end() - static_cast<long>(after), items.end());
  return AVal::tuple(std::move(out));
}
AVal format(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.formatted(a[0], a[1], static_cast<char>(l.attr));
}
AVal str_concat(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  std::string text;
  for (const AVal& v : a) {
    auto c = s.concrete(v);
    auto* str = c ? cast_exact<runtime::Str>(*c) : nullptr;
    if (!str) return s.emit(prim::str_concat, a, ir::types::string(), l.attr);  // fields are texts by now
    text += str->view();
  }
  return AVal::of(runtime::make_str(text));
}
AVal iter(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.make_iterator(a[0]); }
AVal with_methods(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.context_methods(a[0]); }
// By the built-in class underneath: a list of a script class is a sequence, too.
AVal match_kind(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  using K = runtime::ObjectKind;
  const K k = s.class_of(a[0]).as<runtime::Type>()->layout;
  const bool sequence = k == K::list || k == K::tuple || k == K::range || k == K::tensor;
  const bool mapping = k == K::dict || k == K::mapping_proxy;
  return AVal::of(Value::boolean(l.op == prim::match_sequence ? sequence : mapping));
}
AVal match(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) { return s.pattern(l.op, a, l.attr); }
AVal iter_next(Specialiser& s, AFrame& f, const ir::Let&, std::vector<AVal>& a) {
  if (!f.loops.empty() && s.over_structure(a[0])) f.loops.back().structural = true;
  const bool followed = !a[0].is(AKind::dynamic);
  AVal item = s.next(a[0]);
  s.given_item = followed && item.is(AKind::dynamic) ? item.atom : ir::Atom{};
  return item;
}
AVal is_end(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  if (a[0].is(AKind::maybe_end)) return AVal::dynamic(a[0].atom, ir::types::boolean());
  const ir::Atom given = std::exchange(s.given_item, ir::Atom{});
  if (a[0].is(AKind::dynamic) && !a[0].type && a[0].atom == given) return AVal::of(Value::boolean(false));
  if (a[0].is(AKind::dynamic) && !a[0].type) return s.boxed(prim::is_end, a, 0, ir::types::boolean());
  return AVal::of(Value::boolean(a[0].is(AKind::end) || (a[0].is(AKind::known) && a[0].known.is_end())));
}
AVal import(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>&) {
  Symbol name = Symbol::from_id(l.attr);
  Value whole = runtime::loaded_module(s.session, name);
  const SourceFile* by = s.span.known() ? s.session.sources.file(s.span.file) : nullptr;
  const bool by_library = by && by->name().starts_with("ouro/");  // whose modules nobody sees being imported
  if (whole.is_unbound() && (by_library || name.text().starts_with("ouro.")))
    whole = runtime::import_module(s.session, name);
  if (whole.is_error()) s.abandon_raises();
  const Value m = l.op != prim::import
                      ? whole
                      : runtime::loaded_module(s.session, intern(name.text().substr(0, name.text().find('.'))));
  if (!cast<runtime::Module>(whole) || !cast<runtime::Module>(m)) s.abandon(Reason::language, "import");
  return AVal::of(m);
}
AVal import_from(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  return s.get_attr(a[0], Symbol::from_id(l.attr));
}
AVal length(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.length(a[0]); }
AVal dict_set(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.set_item(a[0], a[1], a[2]);
  return {};
}

AVal dict_update(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  if (!s.merge_mapping(a[0], a[1])) s.abandon(Reason::raises, "** of something that is no mapping");
  return {};
}

}  // namespace handlers

const PrimRow& handler_of(ir::Op prim) {
  static constexpr PrimRow kRows[] = {
#define EXECUTE(name) \
  { handlers::name, "" }
#define NOT_EXECUTED(why) \
  { nullptr, why }
#define PRIM(id, text, n, attr, effects, location, interpreter, reverse, specialiser, ...) specialiser,
#include "ir/prims.inc"
#undef EXECUTE
#undef NOT_EXECUTED
  };
  return kRows[static_cast<size_t>(prim)];
}

// Primitives that look at none of their operands.
static bool passes_on(ir::Op op) {
  return op == prim::move || op == prim::tuple || op == prim::list || op == prim::dict || op == prim::cell_new ||
         op == prim::cell_set || op == prim::global_set || op == prim::attr_set || op == prim::list_append ||
         op == prim::function || op == prim::format || op == prim::str_concat || op == prim::is || op == prim::is_not ||
         (op >= prim::ad_forward && op <= prim::seq_prev);
}

AVal Specialiser::exec_let(AFrame& f, const ir::Let& let) {
  // call and update read their own atoms.
  std::vector<AVal> args;
  testing_end_ = let.op == prim::is_end;
  if (let.op != prim::call && let.op != prim::call_method && let.op != prim::call_loaded && let.op != prim::update)
    for (uint32_t i = 0; i < let.nargs; ++i) {
      const ir::Atom a = f.code->args(let)[i];
      args.push_back(passes_either(let, i) ? raw_value(f, a) : atom_value(f, a));
    }
  testing_end_ = false;
  if (!passes_on(let.op))
    for (AVal& a : args) a = settled(a);
  f.handles = let.handover != ir::Let::kNoHandover;
  in_try_ = f.in_try || f.handles;
  const size_t before = code.size();
  auto done = [&](AVal v) {
    write_pending();
    in_try_ = f.in_try || f.handles;
    // What raises there is done again by the interpreter, from the start of the call.
    if (in_try_ && code.size() != before) {
      ++redone_;
      if (effects_.done) abandon(Reason::effects, "an operation inside try, after an effect");
    }
    return v;
  };
  if (ir::is_tensor_op(let.op)) return done(tensor_op(let.op, std::move(args)));
  const PrimRow& row = handler_of(let.op);
  if (!row.execute) abandon(Reason::language, row.reason);
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
