// printf-style formatting, of str and of bytes (PEP 461).
#include <climits>

#include "runtime/object/ops.h"
#include "runtime/text/quote.h"
#include "runtime/text/utf8.h"
#include "runtime/types/big_int.h"
#include "runtime/types/float_text.h"
#include "runtime/types/numbers.h"
#include "runtime/types/text_format.h"

namespace ouro::runtime {
namespace {

bool fail(const Value&) { return false; }

struct Spec {
  bool left = false, plus = false, space = false, alt = false, zero = false;
  int64_t width = -1, precision = -1;
  char type = 0;
};

class Percent {
 public:
  Percent(Session& s, std::string_view f, const Value& values, bool bytes, std::string& out)
      : s_(s), f_(f), values_(values), bytes_(bytes), out_(out) {
    tuple_ = cast<Tuple>(values);
    // Anything with items may be asked by key, as CPython decides it.
    mapping_ =
        !tuple_ && !cast<Str>(values) && !(bytes && (cast<Bytes>(values) || cast<ByteArray>(values))) &&
        (slots_of(s, unwrap(values)).get_item || !find_dunder(s, type_of(s, values), Dunder::getitem_).is_unbound());
  }

  bool run() {
    while (i_ < f_.size()) {
      size_t at = f_.find('%', i_);
      if (at == f_.npos) at = f_.size();
      out_ += f_.substr(i_, at - i_);
      i_ = at;
      if (i_ < f_.size() && !one()) return false;
    }
    bool all = tuple_ ? next_ >= tuple_->size : used_ || mapping_;
    if (all) return true;
    return fail(raise_type_error(s_, "not all arguments converted during %s formatting", bytes_ ? "bytes" : "string"));
  }

 private:
  bool take(Value& v) {
    if (by_key_) {
      v = keyed_;
      return true;
    }
    if (tuple_) {
      if (next_ < tuple_->size) {
        v = (*tuple_)[next_++];
        return true;
      }
    } else if (!used_) {
      used_ = true;
      v = values_;
      return true;
    }
    return fail(raise_type_error(s_, "not enough arguments for format string"));
  }

  bool incomplete() { return fail(raise_value_error(s_, "incomplete format")); }

  bool key() {
    size_t depth = 1, from = ++i_;
    while (i_ < f_.size() && depth) {
      if (f_[i_] == '(') ++depth;
      if (f_[i_] == ')') --depth;
      ++i_;
    }
    if (!mapping_) return fail(raise_type_error(s_, "format requires a mapping"));
    if (depth) return fail(raise_value_error(s_, "incomplete format key"));
    std::string_view name = f_.substr(from, i_ - from - 1);
    keyed_ = get_item(s_, values_, bytes_ ? make_bytes(name) : make_str(name));
    by_key_ = used_ = true;
    return !keyed_.is_error();
  }

  bool number(int64_t& out, const char* too_big) {
    if (i_ < f_.size() && f_[i_] == '*') {
      ++i_;
      Value v;
      if (!take(v)) return false;
      if (!is_integer(v)) return fail(raise_type_error(s_, "* wants int"));
      return to_index(s_, v, out, true);
    }
    int64_t n = 0;
    bool any = false;
    for (; i_ < f_.size() && f_[i_] >= '0' && f_[i_] <= '9'; ++i_, any = true) {
      n = n * 10 + (f_[i_] - '0');
      if (n > INT_MAX) return fail(raise_value_error(s_, "%s", too_big));
    }
    if (any) out = n;
    return true;
  }

  bool one() {
    size_t start = i_++;
    by_key_ = false;
    Spec spec;
    if (i_ >= f_.size()) return incomplete();
    if (f_[i_] == '(' && !key()) return false;
    for (; i_ < f_.size(); ++i_) {
      char c = f_[i_];
      if (c == '-')
        spec.left = true;
      else if (c == '+')
        spec.plus = true;
      else if (c == ' ')
        spec.space = true;
      else if (c == '#')
        spec.alt = true;
      else if (c == '0')
        spec.zero = true;
      else
        break;
    }
    if (!number(spec.width, "width too big")) return false;
    if (spec.width < -1) {
      spec.left = true;
      spec.width = -spec.width;
    }
    if (i_ < f_.size() && f_[i_] == '.') {
      ++i_;
      spec.precision = 0;
      if (!number(spec.precision, "precision too big")) return false;
      if (spec.precision < 0) spec.precision = 0;
    }
    if (i_ < f_.size() && (f_[i_] == 'h' || f_[i_] == 'l' || f_[i_] == 'L')) ++i_;
    if (i_ >= f_.size()) return incomplete();
    const char* p = f_.data() + i_;
    size_t at = i_;
    uint32_t c = bytes_ ? static_cast<unsigned char>(*p) : text::decode(p);
    i_ = bytes_ ? i_ + 1 : static_cast<size_t>(p - f_.data());
    if (c == '%' && at == start + 1) {
      out_ += '%';
      return true;
    }
    spec.type = c < 128 ? static_cast<char>(c) : '?';
    Value v;
    if (!take(v)) return false;
    return convert(spec, v, c, at);
  }

  void pad(std::string_view body, size_t columns, const Spec& spec) {
    auto fill = spec.width > static_cast<int64_t>(columns) ? static_cast<size_t>(spec.width) - columns : 0;
    if (!spec.left) append_fill(out_, fill, ' ');
    append_text(out_, body);
    if (spec.left) append_fill(out_, fill, ' ');
  }
  void pad_text(std::string_view body, const Spec& spec) {
    size_t n = bytes_ ? body.size() : text::count_points(body);
    if (spec.precision >= 0 && static_cast<size_t>(spec.precision) < n) {
      n = static_cast<size_t>(spec.precision);
      body = body.substr(0, bytes_ ? n : text::byte_offset(body, n));
    }
    pad(body, n, spec);
  }

  // sign, prefix, digits: zeros go between.
  void pad_number(bool negative, std::string_view prefix, std::string_view digits, const Spec& spec) {
    std::string head = negative ? "-" : spec.plus ? "+" : spec.space ? " " : "";
    head += prefix;
    std::string body(digits);
    size_t n = head.size() + body.size();
    if (spec.zero && !spec.left && spec.width > static_cast<int64_t>(n))
      body.insert(0, static_cast<size_t>(spec.width) - n, '0');
    pad(head + body, head.size() + body.size(), spec);
  }

  bool convert(const Spec& spec, const Value& v, uint32_t code, size_t at) {
    switch (spec.type) {
      case 's':
      case 'b':
        if (bytes_) return bytes_like(spec, v);
        if (spec.type == 'b') break;
        [[fallthrough]];
      case 'r':
      case 'a': {
        Value t = spec.type == 's' ? str(s_, v) : spec.type == 'r' && !bytes_ ? repr(s_, v) : ascii(s_, v);
        if (t.is_error()) return false;
        pad_text(cast<Str>(t)->view(), spec);
        return true;
      }
      case 'c':
        return character(spec, v);
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return integer(spec, v);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return floating(spec, v);
      default:
        break;
    }
    std::string shown;
    if (code >= 32 && code < 127)
      shown = std::string(1, static_cast<char>(code));
    else if (bytes_ || code < 32)
      shown = "?";
    else
      text::append(shown, code);
    if (!bytes_) at = text::count_points(f_.substr(0, at));
    if (code >= 127 && !bytes_) shown = "?";
    return fail(
        raise_value_error(s_, "unsupported format character '%s' (0x%x) at index %zu", shown.c_str(), code, at));
  }

  bool bytes_like(const Spec& spec, const Value& v) {
    if (Bytes* b = cast<Bytes>(v)) return pad_text(b->view(), spec), true;
    if (ByteArray* b = cast<ByteArray>(v)) return pad_text(b->data, spec), true;
    Value r = call_dunder(s_, v, Dunder::bytes_);
    if (r.is_error()) return false;
    if (Bytes* b = cast<Bytes>(r)) return pad_text(b->view(), spec), true;
    return fail(raise_type_error(s_,
                                 "%%b requires a bytes-like object, or an object that implements __bytes__, not '%s'",
                                 type_name(s_, v).c_str()));
  }

  bool has_index(const Value& v) {
    return cast_exact<Instance>(v) && !find_dunder(s_, type_of(s_, v), Dunder::index_).is_unbound();
  }
  bool character(const Spec& spec, const Value& v) {
    std::string one;
    if (Str* t = cast<Str>(v); t && !bytes_ && str_length(t) == 1) {
      one = t->view();
    } else if (Bytes* b = cast<Bytes>(v); b && bytes_ && b->size == 1) {
      one = b->view();
    } else if (ByteArray* a = cast<ByteArray>(v); a && bytes_ && a->data.size() == 1) {
      one = a->data;
    } else if (is_integer(v) || has_index(v)) {
      Value u = to_index_value(s_, v);
      if (u.is_error()) return fail(u);
      int64_t limit = bytes_ ? 256 : 0x110000;
      if (!is_word(u) || u.bits() < 0 || u.bits() >= limit)
        return fail(raise_text(s_, ExcKind::OverflowError,
                               bytes_ ? "%c arg not in range(256)" : "%c arg not in range(0x110000)"));
      if (bytes_)
        one = static_cast<char>(u.bits());
      else
        text::append(one, static_cast<uint32_t>(u.bits()));
    } else {
      return fail(raise_type_error(
          s_, bytes_ ? "%%c requires an integer in range(256) or a single byte" : "%%c requires int or char"));
    }
    Spec plain = spec;
    plain.precision = -1;
    pad_text(one, plain);
    return true;
  }

  bool integer(const Spec& spec, const Value& v) {
    Value i;
    bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (is_integer(v)) {
      i = unwrap(v);
    } else {
      bool number = v.is_float() || unwrap(v).is_float() ||
                    !find_dunder(s_, type_of(s_, v), Dunder::index_).is_unbound() ||
                    (decimal && !find_dunder(s_, type_of(s_, v), Dunder::int_).is_unbound());
      bool whole = decimal || !find_dunder(s_, type_of(s_, v), Dunder::index_).is_unbound();
      if (!number || !whole || cast<Str>(v))
        return fail(raise_type_error(
            s_,
            decimal ? "%%%c format: a real number is required, not %s" : "%%%c format: an integer is required, not %s",
            spec.type, type_name(s_, v).c_str()));
      i = decimal ? to_int(s_, v) : to_index_value(s_, v);
      if (i.is_error()) return false;
    }
    int base = spec.type == 'o' ? 8 : (spec.type | 32) == 'x' ? 16 : 10;
    if (base == 10 && !is_word(i) && int_str(s_, i).is_error()) return false;
    std::string digits = int_digits(i, base);
    const bool negative = int_sign(i) < 0;
    if (spec.precision > 0) require_memory(3 * static_cast<size_t>(spec.precision));  // of what follows
    if (spec.precision > 0 && digits.size() < static_cast<size_t>(spec.precision))
      digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    const char* prefix = "";
    if (spec.alt) prefix = base == 8 ? "0o" : base == 16 ? (spec.type == 'X' ? "0X" : "0x") : "";
    if (spec.type == 'X')
      for (char& c : digits) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c;
    pad_number(negative, prefix, digits, spec);
    return true;
  }

  bool floating(const Spec& spec, const Value& v) {
    double x;
    if (!to_double(s_, v, x)) return false;
    if (spec.precision > INT_MAX) return fail(raise_value_error(s_, "precision too big"));
    std::string t = text::format_double(x, spec.type, spec.precision < 0 ? 6 : static_cast<int>(spec.precision),
                                        spec.alt ? text::kFloatAlt : 0u);
    bool negative = t[0] == '-';
    if (negative) t.erase(0, 1);
    pad_number(negative, "", t, spec);
    return true;
  }

  Session& s_;
  std::string_view f_;
  const Value& values_;
  bool bytes_;
  std::string& out_;
  Tuple* tuple_ = nullptr;
  bool mapping_ = false, used_ = false, by_key_ = false;
  Value keyed_;
  size_t next_ = 0, i_ = 0;
};

}  // namespace

bool percent_format(Session& s, std::string_view format, const Value& values, bool bytes, std::string& out) {
  return Percent(s, format, values, bytes, out).run();
}

}  // namespace ouro::runtime
