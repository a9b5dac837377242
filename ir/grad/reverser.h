// The state of one reverse-mode transformation (reverse.cpp has the theory; forward.cpp and pullback.cpp write its two
// functions; rules.cpp, container_rules.cpp and own_rules.cpp what becomes of each operation).
#pragma once

#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "ir/build.h"
#include "ir/effect.h"
#include "ir/grad/flow.h"
#include "ir/prim.h"
#include "ir/walk.h"

namespace ouro::ir::grad {

// How a primitive is differentiated.
enum class Form : uint8_t {
  plain,       // no derivative, and nothing that could need one (bools, strings, structure)
  fail,        // no derivative: an error if one is asked for
  identity,    // y = a
  arithmetic,  // pure rule over the operands; may call a method
  custom,
};

class Reverse;
using Emit = void (Reverse::*)(const Let&);
struct PrimForm {
  Form form;
  // arithmetic: one letter per operand for what is kept of it: v value, l kind and shape, . nothing. plain: what it
  // gives that has no derivative. fail: why it has none.
  const char* text;
  Emit emit;
};

class Reverse {
 public:
  Reverse(const Function& f, bool flat, bool tests)
      : f_(f), flat_(flat), tests_(tests), flow_(f), fwd_(f.name, f.span), bwd_(pullback_name(f), f.span) {}

  FunctionRef run(std::string* error);

 private:
  // What backward needs of a forward value: a constant, a captured variable, or an item of a node's record.
  struct Residual {
    enum class Kind : uint8_t { constant, variable, record } kind = Kind::constant;
    Atom constant{};      // of f_
    uint32_t index = 0;   // into variables_, or item of the record
    uint32_t record = 0;  // which
  };
  struct Record {  // of a node in a loop, or of the let that ends it
    NameId seq = NameId::none;
    std::vector<Atom> items;
    uint32_t count = 0;
    Variable counter = Variable::none;  // in the pullback
    Atom position{};                    // in the pullback, while the node is emitted
    size_t capture = SIZE_MAX;
  };
  using Adjoint = std::function<void()>;
  struct NodeWork {
    std::vector<Adjoint> adjoints, last;  // of the let that ends the node, if it hands over
    uint32_t record = UINT32_MAX, last_record = UINT32_MAX;
    BlockId rest = BlockId::none, full = BlockId::none;  // in the pullback
    Residual label;
  };

  static Symbol pullback_name(const Function& f) { return intern(f.name.str() + "'"); }

  // ---- forward form ---------------------------------------------------------------------------------------------

  void head();
  uint32_t new_record();
  bool needs_label(uint32_t b) const;
  void declare_block(uint32_t b);
  Atom fatom(Atom a);
  std::vector<Atom> fatoms(const Atom* a, uint32_t n);
  std::vector<Atom> fargs(const Let& l);
  // The arguments of the edge with this number, its label behind them.
  std::vector<Atom> edge_args(const Target& t, uint32_t number);
  void forward_block(BlockId b);
  // What the handler receives, in its variables, then the handler itself.
  void enter_handler(uint32_t handover, uint32_t number);
  void push_record();
  void forward_terminator(const Terminator& t);

  // ---- residuals ------------------------------------------------------------------------------------------------

  // Keeps forward atom `a` for the pullback of the node that is emitted.
  Residual save(Atom a);
  std::vector<Residual> save_all(const std::vector<Atom>& atoms);
  // The residual in the pullback.
  Atom get(const Residual& r);
  Atom constant_to_pullback(Atom a);

  // ---- one let --------------------------------------------------------------------------------------------------

  void forward_let(const Let& l);
  void plain(const Let& l) { bind(l, copy(l)); }
  std::optional<Residual> keyed(const Let& l, const std::vector<Atom>& keys);
  void keys_back(const std::vector<Atom>& to, const std::optional<Residual>& pair);
  NameId copy(const Let& l) { return copy(l, fargs(l)); }
  NameId copy(const Let& l, const std::vector<Atom>& args) {
    switch (op_facts(l.op).attr) {
      case AttrKind::call:
        return fwd_.let(l.op, args, fwd_.add_call(f_.calls[l.attr]));
      case AttrKind::path:
        return fwd_.let(l.op, args, fwd_.add_path(f_.paths[l.attr]));
      case AttrKind::constant:
        return fwd_.let(l.op, args,
                        l.attr == kNoAttr ? l.attr : index(fwd_.constant_from(f_, ConstId{l.attr}).constant()));
      default:
        return fwd_.let(l.op, args, l.attr);
    }
  }
  void bind(const Let& l, NameId n) {
    map_[index(l.result)] = n;
    const NameInfo& info = f_.name_info(l.result);
    if (info.hint) fwd_.set_hint(n, info.hint);
    if (info.type) fwd_.set_type(n, info.type);
  }
  void adjoint(Adjoint a) { current_->push_back(std::move(a)); }

  static uint32_t attr(std::string_view name) { return intern(name).id(); }
  Atom name_string(FunctionBuilder& b, uint32_t symbol) { return b.string(Symbol::from_id(symbol).text()); }
  NameId call_f(Atom callee, const std::vector<Atom>& args, Op op = prim::call) {
    return call_in(fwd_, callee, args, op);
  }
  NameId call_b(Atom callee, const std::vector<Atom>& args, Op op = prim::call) {
    return call_in(bwd_, callee, args, op);
  }
  static NameId call_in(FunctionBuilder& b, Atom callee, const std::vector<Atom>& args, Op op) {
    std::vector<Atom> all{callee};
    all.insert(all.end(), args.begin(), args.end());
    CallSig sig;
    sig.args.resize(args.size());
    return b.let_call(op, all, std::move(sig));
  }

  // In the pullback: the cotangent of a name of f, and adding to it.
  Atom cotangent(NameId n) { return bwd_.read_var(cotangents_[index(n)]); }
  bool is_zero(Atom a) { return a.is_const() && bwd_.constant(a).kind == Constant::Kind::zero; }
  void set_cotangent(NameId n, Atom d) { bwd_.write_var(cotangents_[index(n)], d); }
  void accumulate(Atom a, Atom d) {
    if (!a.is_name() || is_zero(d)) return;
    Atom sum = cotangent(a.name());
    set_cotangent(a.name(), is_zero(sum) ? d : Atom(bwd_.let(prim::ad_add, {sum, d})));
  }
  // The rule named `name` on (dy, env, args...): its tuple of cotangents, None where dy is zero. `witness` may be a
  // pullback.
  Atom apply_rule(std::string_view name, Atom dy, std::vector<Atom> args, bool always = false) {
    std::vector<Atom> look{dy};
    look.insert(look.end(), args.begin(), args.end());
    NameId rule = bwd_.let(always ? prim::ad_always : prim::ad_rule, look, attr(name));
    std::vector<Atom> all{dy, env_};
    all.insert(all.end(), args.begin(), args.end());
    return call_b(rule, all, prim::ad_try_call);
  }
  Atom item(Atom tuple, uint32_t i) { return bwd_.let(prim::ad_get, {tuple}, i); }
  std::vector<Atom> get_all(const std::vector<Residual>& rs) {
    std::vector<Atom> result;
    for (const Residual& r : rs) result.push_back(get(r));
    return result;
  }
  NameId key_pair(Atom object, Atom key) { return bwd_.let(prim::tuple, {object, key}); }

  // `op` on operands that may need a call: the pair or None, and the value.
  struct Special {
    NameId pair, value;
  };
  Special special(std::string_view name, const std::vector<Atom>& args) {
    NameId form = fwd_.let(prim::ad_special, args, attr(name));
    NameId pair = call_f(form, args, prim::ad_try_call);
    std::vector<Atom> all{pair};
    all.insert(all.end(), args.begin(), args.end());
    return {pair, fwd_.let(prim::ad_value, all, attr(name))};
  }
  // What is taken apart at once: `a` itself, or a list of the items of what they have to be drawn from (an iterator, an
  // object with __iter__).
  Special spread(Atom a) { return special("move", {a}); }
  NameId keep(NameId pair, Atom a) { return fwd_.let(prim::ad_keep, {pair, a}); }
  NameId like(Atom pair, Atom a) { return fwd_.let(prim::ad_like, {pair, a}); }

  void arithmetic(const Let& l, const char* kept);
  void kept_arithmetic(const Let& l, std::string_view rule, NameId pair, const Atom* operands, uint32_t n,
                       const char* kept);
  void call_let(const Let& l);
  void method_let(const Let& l);
  void method_get_let(const Let& l);
  void loaded_let(const Let& l);
  void try_call_let(const Let& l);
  void finish_call(const Let& l, NameId pair, uint32_t first, uint32_t count, Op op);
  void bound_call(const Let& l, NameId form, std::vector<Atom> args, uint32_t first);
  void attr_get_let(const Let& l);
  void attr_set_let(const Let& l);
  void attr_del_let(const Let& l);
  void test_let(const Let& l);
  bool is_flag(Atom a);
  bool may_hold_items(Atom callee);
  void item_get_let(const Let& l);
  void item_set_let(const Let& l);
  void item_del_let(const Let& l);
  void update_let(const Let& l);
  void tuple_let(const Let& l);
  void list_let(const Let& l);
  void dict_let(const Let& l);
  void tuple_get_let(const Let& l);
  void set_let(const Let& l);
  void set_add_let(const Let& l);
  void list_append_let(const Let& l);
  void taken_apart(Atom a, Atom d, Residual pair);
  void list_extend_let(const Let& l);
  void merge_let(const Let& l);
  void dict_set_let(const Let& l);
  void rule_let(const Let& l);
  void unpack_star_let(const Let& l);
  void iter_let(const Let& l);
  void text_let(const Let& l);
  void iter_next_let(const Let& l);
  void cell_new_let(const Let& l);
  void cell_get_let(const Let& l);
  void cell_set_let(const Let& l);
  void global_get_let(const Let& l);
  void global_set_let(const Let& l);
  void function_let(const Let& l);
  void make_class_let(const Let& l);
  void class_set_let(const Let& l);
  void class_get_let(const Let& l);
  // order two and higher
  void value_let(const Let& l);
  void keep_let(const Let& l);
  void get_let(const Let& l);
  void one_hot_let(const Let& l);
  void add_let(const Let& l);
  void ad_item_let(const Let& l);
  void acc_let(const Let& l);
  void take_let(const Let& l);
  void peek_let(const Let& l);
  void put_let(const Let& l);
  void push_let(const Let& l);
  void seq_get_let(const Let& l);
  void bind_let(const Let& l);
  void unbind_let(const Let& l);
  void ad_update_let(const Let& l);
  static const PrimForm& form_of(Op op);
  friend struct FormTable;

  // ---- pullback -------------------------------------------------------------------------------------------------

  // The exit block: the pullback is made of what was kept, and returned with the value.
  void exit();
  // Captures that no rule read are not kept.
  static FunctionRef without_unused_captures(Function code, std::vector<Atom>& kept);
  void backward(NameId dy, size_t label, size_t self);
  void go(BlockId block, uint32_t node);
  void step_back(uint32_t record);
  static void run_reversed(const std::vector<Adjoint>& list);
  void backward_full(uint32_t node);
  void backward_rest(uint32_t node, size_t self);
  // Backwards over one edge: what a parameter has, its argument gets.
  void along(const InEdge& e);
  void finish_pullback(size_t self);

  struct Return {
    uint32_t node;
    Atom value;  // of f_
  };
  struct Kept {
    Atom value;
    Variable var;
  };

  const Function& f_;
  bool flat_, tests_;
  Flow flow_;
  FunctionBuilder fwd_, bwd_;
  std::vector<Atom> map_;  // name of f → forward atom
  std::vector<BlockId> blocks_;
  std::vector<Atom> labels_;
  std::vector<std::vector<Variable>> handler_vars_;
  NameId self_{}, exit_value_{}, exit_label_{}, env_{};
  BlockId exit_{};
  std::vector<NodeWork> work_;
  std::vector<Record> records_;
  std::vector<Kept> variables_;
  std::vector<Return> returns_;
  std::vector<Variable> cotangents_;
  std::vector<Atom> captures_;         // parameters of the pullback
  std::map<uint32_t, uint32_t> todo_;  // pullback blocks to emit, by position
  std::vector<bool> emitted_;
  uint32_t node_ = 0, record_ = UINT32_MAX;
  std::vector<Adjoint>* current_ = nullptr;
  std::vector<bool> flags_, functions_;  // of names of f: see is_flag(), may_hold_items()
};

}  // namespace ouro::ir::grad
