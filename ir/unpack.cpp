#include "ir/pack.h"

#include <bit>
#include <limits>
#include <optional>

#include "ir/effect.h"
#include "ir/pack_format.h"
#include "support/dtype.h"

namespace ouro::ir {
namespace {

using namespace packed;

// After the first mistake everything reads as 0 or empty, so the callers need not ask.
class Unpacker {
 public:
  Unpacker(std::string_view bytes, uint32_t file) : at_(bytes.data()), end_(bytes.data() + bytes.size()), file_(file) {}

  UnpackResult run() {
    if (static_cast<size_t>(end_ - at_) < kMagic.size() + 1 || std::string_view(at_, kMagic.size()) != kMagic)
      return {nullptr, "not a packed function"};
    at_ += kMagic.size();
    if (uint8_t version = byte(); version != kPackVersion)
      return {nullptr, "packed by version " + std::to_string(version)};
    strings();
    ops();
    uint64_t n = count();
    done_.reserve(n);
    for (uint64_t i = 0; i < n && !error_; ++i) done_.push_back(function());
    if (!error_ && done_.empty()) fail("no function");
    if (!error_ && at_ != end_) fail("bytes behind the end");
    if (error_) return {nullptr, error_};
    return {done_.back(), {}};
  }

 private:
  struct OpRow {
    Op op;
    bool symbol;  // its attribute is one
    AttrKind attr;
    int nargs;
  };

  void fail(const char* why) {
    if (!error_) error_ = why;
    at_ = end_;
  }
  uint8_t byte() {
    if (at_ == end_) return fail("cut off"), 0;
    return static_cast<uint8_t>(*at_++);
  }
  uint64_t number() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t b = byte();
      v |= uint64_t{b & 0x7fu} << shift;
      if (b < 0x80) return v;
    }
    return fail("a number is too long"), 0;
  }
  int64_t signed_number() { return unzigzag(number()); }
  // How many things follow: each takes a byte at least, so this also bounds what is allocated.
  uint64_t count() {
    uint64_t n = number();
    if (n > static_cast<uint64_t>(end_ - at_)) return fail("cut off"), 0;
    return n;
  }
  uint32_t below(uint64_t v, uint64_t limit, const char* why) {
    if (v >= limit) return fail(why), 0;
    return static_cast<uint32_t>(v);
  }
  template <class T>
  std::vector<T> list() {
    return std::vector<T>(count());
  }

  void strings() {
    strings_ = list<std::string_view>();
    for (std::string_view& s : strings_) {
      uint64_t n = count();
      s = {at_, n};
      at_ += n;
    }
    symbols_.resize(strings_.size());
  }
  void ops() {
    ops_ = list<OpRow>();
    for (OpRow& row : ops_) {
      std::optional<Op> op = op_by_name(text());
      if (error_) return;
      if (!op) return fail("an operation is not known");
      OpFacts facts = op_facts(*op);
      row = {*op, facts.attr == AttrKind::symbol, facts.attr, facts.nargs};
    }
  }
  std::string_view text() {
    uint32_t i = below(number(), strings_.size(), "no such string");
    return error_ ? std::string_view() : strings_[i];
  }
  Symbol symbol() { return symbol_at(number()); }
  Symbol symbol_at(uint64_t code) {
    if (code == 0) return {};
    uint32_t i = below(code - 1, strings_.size(), "no such string");
    if (error_) return {};
    if (!symbols_[i]) symbols_[i] = intern(strings_[i]);
    return symbols_[i];
  }
  const OpRow* op() {
    uint32_t i = below(number(), ops_.size(), "no such operation");
    return error_ ? nullptr : &ops_[i];
  }

  // ---- of the function at hand
  uint32_t id(uint64_t limit, const char* why) {
    uint64_t v = number();
    return v == 0 ? UINT32_MAX : below(v - 1, limit, why);
  }
  Atom atom() {
    uint64_t v = number();
    if (v-- == 0) return {};
    if (v & 1) return ConstId{below(v >> 1, f_->constants.size(), "no such constant")};
    return NameId{below(v >> 1, f_->names.size(), "no such name")};
  }
  template <class Args>
  void args(Args& out) {
    uint64_t n = below(number(), uint64_t{std::numeric_limits<decltype(out.nargs)>::max()} + 1, "too many arguments");
    out.nargs = static_cast<decltype(out.nargs)>(n);
    if (!n) return;
    int64_t begin = int64_t{expect_.args} + signed_number();
    if (begin < 0 || static_cast<uint64_t>(begin) > f_->atoms.size() ||
        n > f_->atoms.size() - static_cast<uint64_t>(begin))
      return out.nargs = 0, fail("arguments lie outside the pool");
    out.args_begin = static_cast<uint32_t>(begin);
    expect_.args = static_cast<uint32_t>(begin + static_cast<int64_t>(n));
  }
  NameId name() {
    int64_t d = signed_number(), limit = static_cast<int64_t>(f_->names.size());
    if (d < -limit || d > limit) return fail("no such name"), NameId{0};
    uint32_t i = below(static_cast<uint64_t>(int64_t{expect_.result} + d), f_->names.size(), "no such name");
    expect_.result = i + 1;
    return NameId{i};
  }
  Span span() {
    uint64_t v = number();
    if ((v & 3) == kNoSpan) return {};
    Span s = expect_.span;
    s.begin += static_cast<uint32_t>(unzigzag(v >> 2));
    if ((v & 3) != kSameFile) s.file = static_cast<uint32_t>(number());
    s.end = s.begin + static_cast<uint32_t>(signed_number());
    expect_.span = s;
    if (file_ && s.known()) s.file = file_;
    return s;
  }

  void head(Function& f) {
    f.name = symbol(), f.qualname = symbol();
    uint8_t bits = byte();
    f.kind = static_cast<Function::Kind>(
        below(bits & kKindBits, static_cast<uint64_t>(kLastFunctionKind) + 1, "no such kind"));
    f.is_generator = bits & kGenerator, f.is_method = bits & kMethod;
    Signature& s = f.sig;
    s.varargs = bits & kVarargs, s.varkw = bits & kVarkw;
    s.posonly = below(number(), UINT32_MAX, "too many parameters");
    s.positional = below(number(), UINT32_MAX, "too many parameters");
    s.kwonly = below(number(), UINT32_MAX, "too many parameters");
    s.names = list<Symbol>();
    for (Symbol& n : s.names) n = symbol();
    if (s.posonly > s.positional || s.names.size() != size_t{s.positional} + s.kwonly + s.varargs + s.varkw)
      fail("the signature does not add up");
    f.captures = list<Capture>();
    for (Capture& c : f.captures) {
      uint64_t v = number();
      c = {symbol_at(v >> 1), (v & 1) != 0};
    }
  }
  void constant(Constant& c, uint64_t self) {
    using K = Constant::Kind;
    c.kind = static_cast<K>(below(byte(), static_cast<uint64_t>(kLastConstantKind) + 1, "no such constant"));
    switch (c.kind) {
      case K::integer:
        c.i = signed_number();
        break;
      case K::dtype:
        c.i = below(static_cast<uint64_t>(signed_number()), kDTypeCount, "no such dtype");
        break;
      case K::floating: {
        uint64_t bits = 0;
        for (int i = 0; i < 64; i += 8) bits |= uint64_t{byte()} << i;
        c.f = std::bit_cast<double>(bits);
        break;
      }
      case K::big_integer:
      case K::string:
      case K::bytes:
        c.text = text();
        break;
      case K::tuple:
        c.items = list<ConstId>();
        for (ConstId& i : c.items) i = ConstId{below(number(), self, "an item stands behind its tuple")};
        break;
      case K::code: {
        uint32_t i = below(number(), done_.size(), "no such function");
        if (!error_) c.code = done_[i];
        break;
      }
      default:
        break;
    }
  }
  void call(CallSig& c) {
    c.method = symbol();
    c.args = list<CallSig::Arg>();
    for (CallSig::Arg& a : c.args) {
      a.kind = static_cast<CallSig::Kind>(below(number(), 4, "no such kind of argument"));
      if (a.kind == CallSig::Kind::keyword) a.name = symbol();
    }
  }
  void path(PlacePath& p) {
    uint64_t bits = number();
    p.root = static_cast<PlacePath::Root>(below(bits >> 3, 3, "no such root"));
    p.loaded = bits >> 1 & 1;
    p.held = bits >> 2 & 1;
    p.augmented = bits & 1;
    p.name = symbol();
    if (const OpRow* row = op()) p.in_place = row->op;
    p.steps = list<PlacePath::Step>();
    for (PlacePath::Step& s : p.steps) {
      uint64_t v = number();
      s.is_item = v == 0;
      if (v) s.attr = symbol_at(v - 1);
    }
    if (p.held && p.steps.empty()) p.held = false, fail("a path of no steps is held");
  }
  void let(Let& l) {
    const OpRow* row = op();
    if (!row) return;
    l.op = row->op;
    l.result = name();
    args(l);
    if (row->symbol)
      l.attr = symbol().id();
    else
      l.attr = attribute(*row, l);
    l.handover = id(f_->handovers.size(), "no such handover");
    l.span = span();
  }
  uint32_t attribute(const OpRow& row, const Let& l) {
    uint64_t limit = UINT32_MAX;
    if (row.attr == AttrKind::call) limit = f_->calls.size();
    if (row.attr == AttrKind::path) limit = f_->paths.size();
    if (row.attr == AttrKind::constant) limit = f_->constants.size();
    uint32_t v = id(limit, "no such attribute");
    if (error_) return v;
    if (row.attr == AttrKind::call) {
      size_t lead = call_lead(l.op);
      if (v == UINT32_MAX || f_->calls[v].args.size() + lead != l.nargs) fail("a call does not fit its arguments");
    } else if (row.attr == AttrKind::path && v == UINT32_MAX) {
      fail("an update without a path");
    }
    return v;
  }
  void block(Block& b) {
    uint64_t bits = number();
    b.loop_head = bits & kLoopHead, b.handler = bits & kHandler;
    b.params = list<NameId>();
    for (NameId& n : b.params) n = name();
    b.lets = list<Let>();
    for (Let& l : b.lets) {
      let(l);
      if (error_) return;
    }
    Terminator& t = b.term;
    t.kind = static_cast<Terminator::Kind>(
        below(number(), static_cast<uint64_t>(kLastTerminator) + 1, "no such terminator"));
    t.a = atom(), t.b = atom();
    t.targets = list<Target>();
    for (Target& to : t.targets) to.block = BlockId{below(number(), f_->blocks.size(), "no such block")}, args(to);
    t.handover = id(f_->handovers.size(), "no such handover");
    t.span = span();
  }

  FunctionRef function() {
    auto out = std::make_shared<Function>();
    Function& f = *(f_ = out.get());
    expect_ = {};
    head(f);
    uint64_t doc = number();
    f.span = span();
    f.names = list<NameInfo>();
    for (NameInfo& n : f.names) n.hint = symbol();
    f.constants = list<Constant>();
    for (size_t i = 0; i < f.constants.size(); ++i) constant(f.constants[i], i);
    if (doc) f.doc = ConstId{below(doc - 1, f.constants.size(), "no such constant")};
    f.atoms = list<Atom>();
    for (Atom& a : f.atoms)
      if ((a = atom()).is_none()) fail("an argument is missing");
    f.handovers = list<Handover>();
    std::vector<uint32_t> handlers(f.handovers.size());  // blocks are counted later
    for (size_t i = 0; i < f.handovers.size(); ++i) handlers[i] = static_cast<uint32_t>(number()), args(f.handovers[i]);
    f.calls = list<CallSig>();
    for (CallSig& c : f.calls) call(c);
    f.paths = list<PlacePath>();
    for (PlacePath& p : f.paths) path(p);
    f.blocks = list<Block>();
    for (size_t i = 0; i < handlers.size(); ++i)
      f.handovers[i].handler = BlockId{below(handlers[i], f.blocks.size(), "no such block")};
    expect_.args = 0;
    for (Block& b : f.blocks) {
      if (error_) break;
      block(b);
    }
    if (f.blocks.empty())
      fail("no blocks");
    else if (f.blocks[0].params.size() != f.sig.count() + f.captures.size())
      fail("the entry's parameters do not fit the signature");
    return out;
  }

  const char* at_;
  const char* end_;
  uint32_t file_;
  const char* error_ = nullptr;
  std::vector<std::string_view> strings_;
  std::vector<Symbol> symbols_;  // of strings_, as far as they were asked for
  std::vector<OpRow> ops_;
  std::vector<FunctionRef> done_;
  Function* f_ = nullptr;
  Expect expect_;
};

}  // namespace

UnpackResult unpack(std::string_view bytes, uint32_t file) { return Unpacker(bytes, file).run(); }

}  // namespace ouro::ir
