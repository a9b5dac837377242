#include "program.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "instructions.h"

namespace gpu {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view trim(std::string_view s) {
  size_t a = s.find_first_not_of(kSpace);
  return a == s.npos ? std::string_view{} : s.substr(a, s.find_last_not_of(kSpace) - a + 1);
}

std::string_view word(std::string_view& s) {
  s = trim(s);
  size_t n = std::min(s.find_first_of(kSpace), s.size());
  std::string_view w = s.substr(0, n);
  s = trim(s.substr(n));
  return w;
}

// At commas outside of braces and brackets.
std::vector<std::string_view> operands(std::string_view s) {
  std::vector<std::string_view> all;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && (s[i] == '{' || s[i] == '[')) ++depth;
    if (i < s.size() && (s[i] == '}' || s[i] == ']')) --depth;
    if (i == s.size() || (s[i] == ',' && depth == 0)) {
      if (std::string_view o = trim(s.substr(from, i - from)); !o.empty()) all.push_back(o);
      from = i + 1;
    }
  }
  return all;
}

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= name.size();) {
    size_t dot = std::min(name.find('.', from), name.size());
    parts.push_back(name.substr(from, dot - from));
    from = dot + 1;
  }
  return parts;
}

// A number: decimal, 0x..., 0f and 0d with the bits of a float or double.
std::optional<uint64_t> number(std::string_view s) {
  bool negative = s.starts_with('-');
  if (negative) s.remove_prefix(1);
  int base = 10;
  if (s.starts_with("0x") || s.starts_with("0f") || s.starts_with("0d") || s.starts_with("0F") || s.starts_with("0D")) {
    base = 16;
    s.remove_prefix(2);
  }
  uint64_t v = 0;
  auto [end, e] = std::from_chars(s.data(), s.data() + s.size(), v, base);
  if (e != std::errc() || end != s.data() + s.size()) return {};
  return negative ? ~v + 1 : v;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(without_comments(text)) {}

  Program read() {
    while (!at_end()) {
      std::string_view head = until("({;");
      if (peek() == ';' || is_line(head)) {
        module_directive(head);
        continue;
      }
      if (peek() != '(' || head.find(".entry") == head.npos)
        refuse(std::string("outside of a function: ") + std::string(head));
      function(trim(head.substr(head.find(".entry") + 6)));
    }
    return std::move(program_);
  }

 private:
  static std::string without_comments(std::string_view text) {
    std::string s(text.substr(0, text.find('\0')));
    for (size_t at = 0; (at = s.find("//", at)) != s.npos;)
      for (; at < s.size() && s[at] != '\n'; ++at) s[at] = ' ';
    return s;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Refused("line " + std::to_string(line()) + ": " + what);
  }
  uint32_t line() const {
    auto begin = text_.begin() + static_cast<ptrdiff_t>(counted_), end = text_.begin() + static_cast<ptrdiff_t>(at_);
    lines_ += static_cast<uint32_t>(std::count(begin, end, '\n'));
    counted_ = at_;
    return lines_;
  }
  bool at_end() {
    at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
    return at_ == text_.size();
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  static bool is_line(std::string_view s) {
    return s.starts_with(".version") || s.starts_with(".target") || s.starts_with(".address_size");
  }
  // The text before one of `ends`, where the reader then stands. Directives of one line end with it.
  std::string_view until(std::string_view ends) {
    at_end();
    size_t from = at_;
    std::string_view rest = std::string_view(text_).substr(from);
    if (is_line(rest)) ends = "\n";
    at_ = std::min(text_.find_first_of(ends, from), text_.size());
    return trim(std::string_view(text_).substr(from, at_ - from));
  }

  void module_directive(std::string_view s) {
    if (peek() == ';') ++at_;
    if (s.find(".shared") != s.npos)
      shared(s, program_shared_, program_shared_bytes_);
    else if (!is_line(s))
      refuse("unknown directive " + std::string(s));
  }

  // .shared .align 16 .b8 name[512]
  void shared(std::string_view s, std::unordered_map<std::string, uint64_t>& names, uint32_t& bytes) {
    size_t align_at = s.find(".align"), open = s.find('[');
    if (align_at == s.npos || open == s.npos) refuse("unknown directive " + std::string(s));
    std::string_view rest = s.substr(align_at + 6);
    auto align = static_cast<uint32_t>(number(word(rest)).value_or(1));
    uint32_t each = bytes_of(word(rest).substr(1));
    open = rest.find('[');
    auto count = number(rest.substr(open + 1, rest.find(']') - open - 1));
    if (!count || !each) refuse("unknown directive " + std::string(s));
    bytes = (bytes + align - 1) / align * align;
    names[std::string(trim(rest.substr(0, open)))] = bytes;
    bytes += static_cast<uint32_t>(*count) * each;
  }

  void function(std::string_view name) {
    f_ = Function{};
    f_.name = name;
    registers_.clear();
    constants_.clear();
    labels_.clear();
    jumps_.clear();
    shared_ = program_shared_;
    f_.shared_bytes = program_shared_bytes_;
    ++at_;
    for (std::string_view p : operands(until(")"))) parameter(p);
    ++at_;
    std::string_view rest = until("{");
    if (size_t n = rest.find(".reqntid"); n != rest.npos) {
      std::string_view count = trim(rest.substr(n + 8));
      f_.threads = static_cast<uint32_t>(number(count.substr(0, count.find(','))).value_or(0));
    }
    ++at_;
    while (!at_end() && peek() != '}') statement();
    if (at_end()) refuse("a function does not end");
    ++at_;
    for (auto [at, label] : jumps_) {
      auto it = labels_.find(label);
      if (it == labels_.end()) refuse("no label " + label);
      f_.code[at].target = it->second;
    }
    Instruction end;
    end.flow = Flow::end;
    f_.code.push_back(end);
    f_.registers = static_cast<uint32_t>(registers_.size() + constants_.size());
    // Constants stand behind the registers.
    auto base = static_cast<int32_t>(registers_.size());
    for (auto [bits, index] : constants_) f_.constants.emplace_back(base + index, bits);
    for (Instruction& i : f_.code)
      for (int32_t& r : i.r)
        if (r < -1) r = base + (-2 - r);
    program_.functions[f_.name] = std::move(f_);
  }

  void parameter(std::string_view p) {  // .param .u64 k0_param_0
    if (word(p) != ".param") refuse("a parameter was expected");
    std::string_view type = word(p);
    uint32_t bytes = type.empty() ? 0 : bytes_of(type.substr(1));
    // .ptr and what follows it tell about the pointer.
    std::string_view name;
    while (!p.empty()) name = word(p);
    if (!bytes) refuse("unknown parameter " + std::string(name));
    f_.parameter_bytes = (f_.parameter_bytes + bytes - 1) / bytes * bytes;
    f_.parameters.push_back({std::string(name), f_.parameter_bytes, bytes});
    f_.parameter_bytes += bytes;
  }

  void statement() {
    size_t from = at_, end = text_.find_first_of(";:", from);
    if (end == text_.npos) refuse("a statement does not end");
    if (text_[end] == ':') {
      labels_[std::string(trim(std::string_view(text_).substr(from, end - from)))] =
          static_cast<uint32_t>(f_.code.size());
      at_ = end + 1;
      return;
    }
    std::string_view s = trim(std::string_view(text_).substr(from, end - from));
    if (s.starts_with(".shared"))
      shared(s, shared_, f_.shared_bytes);
    else if (!s.starts_with(".reg"))
      instruction(s);
    at_ = end + 1;
  }

  int32_t register_of(std::string_view name) {
    auto [it, fresh] = registers_.try_emplace(std::string(name), static_cast<int32_t>(registers_.size()));
    if (fresh && name == "%tid.x") f_.tid = it->second;
    if (fresh && name == "%ctaid.x") f_.ctaid = it->second;
    if (fresh && name == "%ntid.x") f_.ntid = it->second;
    if (fresh && name == "%nctaid.x") f_.nctaid = it->second;
    return it->second;
  }
  int32_t constant(uint64_t bits) {
    return -2 - constants_.try_emplace(bits, static_cast<int32_t>(constants_.size())).first->second;
  }
  int32_t operand(std::string_view o) {
    if (o.starts_with('%')) return register_of(o);
    if (auto it = shared_.find(std::string(o)); it != shared_.end()) return constant(it->second);
    if (auto v = number(o)) return constant(*v);
    refuse("unknown operand " + std::string(o));
  }

  // [%rd1+4], [name], [name+4]
  void address(Instruction& i, std::string_view o) {
    if (!o.starts_with('[') || !o.ends_with(']')) refuse("an address was expected");
    o = trim(o.substr(1, o.size() - 2));
    size_t sign = o.find_first_of("+-", 1);
    if (sign != o.npos) {
      auto v = number(o[sign] == '+' ? o.substr(sign + 1) : o.substr(sign));
      if (!v) refuse("unknown address " + std::string(o));
      i.offset = static_cast<int64_t>(*v);
      o = trim(o.substr(0, sign));
    }
    if (i.space == Space::param) {
      auto p = std::ranges::find(f_.parameters, o, &Parameter::name);
      if (p == f_.parameters.end()) refuse("no parameter " + std::string(o));
      i.offset += p->offset;
      return;
    }
    i.r[4] = operand(o);
  }

  // %f1, or {%f1, %f2}
  void values(Instruction& i, std::string_view o) {
    std::vector<std::string_view> list{o};
    if (o.starts_with('{')) list = operands(o.substr(1, o.size() - 2));
    if (list.size() > 4) refuse("a vector of more than four");
    i.parts = static_cast<uint8_t>(list.size());
    for (size_t n = 0; n < list.size(); ++n) i.r[n] = operand(list[n]);
  }

  void instruction(std::string_view s) {
    Instruction i;
    i.line = line();
    if (s.starts_with('@')) {
      std::string_view guard = word(s).substr(1);
      i.unless = guard.starts_with('!');
      i.guard = register_of(guard.substr(i.unless ? 1 : 0));
    }
    std::string name(word(s));
    std::vector<std::string_view> parts = parts_of(name), given = operands(s);
    std::string_view what = parts[0];
    if (what == "bra") {
      i.flow = Flow::branch;
      jumps_.emplace_back(f_.code.size(), std::string(given.at(0)));
    } else if (what == "ret" || what == "exit") {
      i.flow = Flow::end;
    } else if (name == "bar.sync" || name == "barrier.sync") {
      if (i.guard >= 0) refuse("a barrier for some threads only");
      i.flow = Flow::barrier;
    } else if (what == "ld" || what == "st") {
      memory(i, parts, given);
    } else if (what == "mov" && given.size() == 2 && (given[0].starts_with('{') || given[1].starts_with('{'))) {
      const bool pack = given[1].starts_with('{');
      i.step = find_step((pack ? "pack" : "unpack") + name.substr(3));
      if (!i.step) refuse("unknown instruction " + name + " of a vector");
      values(i, given[pack ? 1 : 0]);
      i.r[4] = operand(given[pack ? 0 : 1]);
    } else {
      i.step = find_step(name);
      if (!i.step || given.size() > i.r.size()) refuse("unknown instruction " + name);
      for (size_t n = 0; n < given.size(); ++n) i.r[n] = operand(given[n]);
    }
    f_.code.push_back(i);
  }

  // ld.space[.nc][.vN].type, st likewise.
  void memory(Instruction& i, const std::vector<std::string_view>& parts, const std::vector<std::string_view>& given) {
    std::string_view space = parts.at(1);
    i.space = space == "param"    ? Space::param
              : space == "global" ? Space::global
              : space == "shared" ? Space::shared
                                  : Space::none;
    if (i.space == Space::none || given.size() != 2) refuse("unknown kind of memory " + std::string(space));
    std::string name = std::string(parts[0]) + (i.space == Space::param ? ".param." : ".") + std::string(parts.back());
    i.step = find_step(name);
    if (!i.step) refuse("unknown instruction " + name);
    bool load = parts[0] == "ld";
    values(i, given[load ? 0 : 1]);
    address(i, given[load ? 1 : 0]);
  }

  std::string text_;
  size_t at_ = 0;
  mutable size_t counted_ = 0;  // lines_ is the line there
  mutable uint32_t lines_ = 1;
  Program program_;
  std::unordered_map<std::string, uint64_t> program_shared_, shared_;
  uint32_t program_shared_bytes_ = 0;
  Function f_;
  std::unordered_map<std::string, int32_t> registers_;
  std::unordered_map<uint64_t, int32_t> constants_;
  std::unordered_map<std::string, uint32_t> labels_;
  std::vector<std::pair<size_t, std::string>> jumps_;
};

}  // namespace

Program read(std::string_view text) { return Reader(text).read(); }

}  // namespace gpu
