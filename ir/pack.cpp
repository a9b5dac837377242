#include "ir/pack.h"

#include <bit>
#include <unordered_map>

#include "ir/effect.h"
#include "ir/pack_format.h"
#include "support/diag.h"

namespace ouro::ir {
namespace {

using namespace packed;

void put(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}

class Packer {
 public:
  std::string run(const Function& f) {
    function_index(f);
    std::string out(kMagic);
    out += static_cast<char>(kPackVersion);
    put(out, strings_.size());
    for (std::string_view s : strings_) put(out, s.size()), out += s;
    put(out, ops_.size());
    for (Op op : ops_) put(out, strings_ids_.at(op_name(op)));
    put(out, functions_.size());
    for (const std::string& body : functions_) out += body;
    return out;
  }

 private:
  uint64_t text(std::string_view s) {
    auto [it, fresh] = strings_ids_.emplace(s, strings_.size());
    if (fresh) strings_.push_back(s);
    return it->second;
  }
  uint64_t symbol(Symbol s) { return s ? text(s.text()) + 1 : 0; }
  uint64_t op(Op o) {
    auto [it, fresh] = op_ids_.emplace(static_cast<uint16_t>(o), ops_.size());
    if (fresh) ops_.push_back(o), text(op_name(o));
    return it->second;
  }
  uint64_t function_index(const Function& f) {
    if (auto it = done_.find(&f); it != done_.end()) return it->second;
    std::string body = Body(*this, f).run();  // inner functions are written on the way
    functions_.push_back(std::move(body));
    return done_[&f] = functions_.size() - 1;
  }

  class Body {
   public:
    Body(Packer& p, const Function& f) : p_(p), f_(f) {}
    std::string run() {
      head();
      number(f_.names.size());
      for (const NameInfo& n : f_.names) {
        if (n.type) ouro_bug("pack: %s has types", f_.name.c_str());
        symbol(n.hint);
      }
      number(f_.constants.size());
      for (size_t i = 0; i < f_.constants.size(); ++i) constant(f_.constants[i], i);
      number(f_.atoms.size());
      for (Atom a : f_.atoms) atom(a);
      number(f_.handovers.size());
      for (const Handover& h : f_.handovers) number(index(h.handler)), args(h.args_begin, h.nargs);
      number(f_.calls.size());
      for (const CallSig& c : f_.calls) call(c);
      number(f_.paths.size());
      for (const PlacePath& p : f_.paths) path(p);
      number(f_.blocks.size());
      expect_.args = 0;
      for (const Block& b : f_.blocks) block(b);
      return std::move(out_);
    }

   private:
    void number(uint64_t v) { put(out_, v); }
    void signed_number(int64_t v) { put(out_, zigzag(v)); }
    void symbol(Symbol s) { number(p_.symbol(s)); }
    // An id or "none": none is 0.
    void id(uint32_t v) { number(v == UINT32_MAX ? 0 : uint64_t{v} + 1); }
    void atom(Atom a) {
      number(a.is_none() ? 0
                         : 1 + (a.is_name() ? uint64_t{index(a.name())} << 1 : uint64_t{index(a.constant())} << 1 | 1));
    }
    void args(uint32_t begin, uint32_t n) {
      number(n);
      if (!n) return;
      signed_number(int64_t{begin} - expect_.args);
      expect_.args = begin + n;
    }
    void name(NameId n) {
      signed_number(int64_t{index(n)} - expect_.result);
      expect_.result = index(n) + 1;
    }
    void span(const Span& s) {
      if (s == Span{}) return number(kNoSpan);
      bool same = s.file == expect_.span.file;
      number(zigzag(int64_t{s.begin} - expect_.span.begin) << 2 | (same ? kSameFile : kOtherFile));
      if (!same) number(s.file);
      signed_number(int64_t{s.end} - s.begin);
      expect_.span = s;
    }

    void head() {
      symbol(f_.name), symbol(f_.qualname);
      const Signature& s = f_.sig;
      out_ += static_cast<char>(static_cast<uint8_t>(f_.kind) | (f_.is_generator ? kGenerator : 0) |
                                (f_.is_method ? kMethod : 0) | (s.varargs ? kVarargs : 0) | (s.varkw ? kVarkw : 0));
      number(s.posonly), number(s.positional), number(s.kwonly);
      number(s.names.size());
      for (Symbol n : s.names) symbol(n);
      number(f_.captures.size());
      for (const Capture& c : f_.captures) number(p_.symbol(c.name) << 1 | c.cell);
      id(index(f_.doc));
      span(f_.span);
    }
    void constant(const Constant& c, size_t self) {
      using K = Constant::Kind;
      out_ += static_cast<char>(c.kind);
      switch (c.kind) {
        case K::integer:
        case K::dtype:
          signed_number(c.i);
          break;
        case K::floating:
          for (uint64_t bits = std::bit_cast<uint64_t>(c.f), i = 0; i < 8; ++i, bits >>= 8)
            out_ += static_cast<char>(bits);
          break;
        case K::big_integer:
        case K::string:
        case K::bytes:
          number(p_.text(c.text));
          break;
        case K::tuple:
          number(c.items.size());
          for (ConstId i : c.items) {
            if (index(i) >= self) ouro_bug("pack: an item stands behind its tuple");
            number(index(i));
          }
          break;
        case K::code:
          number(p_.function_index(*c.code));
          break;
        default:
          break;
      }
    }
    void call(const CallSig& c) {
      symbol(c.method);
      number(c.args.size());
      for (const CallSig::Arg& a : c.args) {
        number(static_cast<uint64_t>(a.kind));
        if (a.kind == CallSig::Kind::keyword) symbol(a.name);
      }
    }
    void path(const PlacePath& p) {
      number(static_cast<uint64_t>(p.root) << 3 | p.held << 2 | p.loaded << 1 | p.augmented);
      symbol(p.name);
      number(p_.op(p.in_place));
      number(p.steps.size());
      for (const PlacePath::Step& s : p.steps) number(s.is_item ? 0 : p_.symbol(s.attr) + 1);
    }
    void let(const Let& l) {
      number(p_.op(l.op));
      name(l.result);
      args(l.args_begin, l.nargs);
      if (op_facts(l.op).attr == AttrKind::symbol)
        symbol(Symbol::from_id(l.attr));
      else
        id(l.attr);
      id(l.handover);
      span(l.span);
    }
    void block(const Block& b) {
      number((b.loop_head ? kLoopHead : 0) | (b.handler ? kHandler : 0));
      number(b.params.size());
      for (NameId n : b.params) name(n);
      number(b.lets.size());
      for (const Let& l : b.lets) let(l);
      const Terminator& t = b.term;
      number(static_cast<uint64_t>(t.kind));
      atom(t.a), atom(t.b);
      number(t.targets.size());
      for (const Target& to : t.targets) number(index(to.block)), args(to.args_begin, to.nargs);
      id(t.handover);
      span(t.span);
    }

    Packer& p_;
    const Function& f_;
    std::string out_;
    Expect expect_;
  };

  std::vector<std::string_view> strings_;
  std::unordered_map<std::string_view, uint64_t> strings_ids_;
  std::vector<Op> ops_;
  std::unordered_map<uint16_t, uint64_t> op_ids_;
  std::vector<std::string> functions_;
  std::unordered_map<const Function*, uint64_t> done_;
};

}  // namespace

std::string pack(const Function& f) { return Packer().run(f); }

}  // namespace ouro::ir
