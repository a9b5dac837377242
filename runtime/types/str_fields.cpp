// str.format: replacement fields {name.attr[key]!conversion:spec}, after CPython's Objects/stringlib/unicode_format.h.
#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/text_format.h"

namespace ouro::runtime {
namespace {

bool fail(const Value&) { return false; }

struct Numbering {
  enum { unknown, automatic, manual } state = unknown;
  int64_t next = 0;
};

class Fields {
 public:
  Fields(Session& s, const Args& args, const Value& mapping) : s_(s), args_(args), mapping_(mapping) {}

  bool build(std::string_view f, int depth, std::string& out) {
    if (depth <= 0) return fail(raise_value_error(s_, "Max string recursion exceeded"));
    size_t i = 0;
    while (i < f.size()) {
      size_t at = f.find_first_of("{}", i);
      if (at == f.npos) at = f.size();
      out += f.substr(i, at - i);
      i = at;
      if (i >= f.size()) break;
      char c = f[i++];
      if (i < f.size() && f[i] == c) {
        out += c;
        ++i;
        continue;
      }
      if (c == '}') return fail(raise_value_error(s_, "Single '}' encountered in format string"));
      if (i >= f.size()) return fail(raise_value_error(s_, "Single '{' encountered in format string"));
      if (!field(f, i, depth, out)) return false;
    }
    return true;
  }

 private:
  // After the brace: reads the field and appends its text.
  bool field(std::string_view f, size_t& i, int depth, std::string& out) {
    size_t from = i;
    bool bracket = false;
    char stop = 0;
    for (; i < f.size(); ++i) {
      char c = f[i];
      if (c == '{') return fail(raise_value_error(s_, "unexpected '{' in field name"));
      if (c == '[') {
        bracket = true;
        continue;
      }
      if (bracket) {
        if (c == ']') bracket = false;
        continue;
      }
      if (c == '}' || c == ':' || c == '!') {
        stop = c;
        break;
      }
    }
    if (!stop) return fail(raise_value_error(s_, "expected '}' before end of string"));
    std::string_view name = f.substr(from, i - from), spec;
    uint32_t conversion = 0;
    bool nested = false;
    ++i;
    if (stop == '!') {
      if (i >= f.size()) return fail(raise_value_error(s_, "end of string while looking for conversion specifier"));
      const char* p = f.data() + i;
      conversion = text::decode(p);
      i = static_cast<size_t>(p - f.data());
      if (i >= f.size()) return fail(raise_value_error(s_, "unmatched '{' in format spec"));
      stop = f[i++];
      if (stop != ':' && stop != '}') return fail(raise_value_error(s_, "expected ':' after conversion specifier"));
    }
    if (stop == ':') {
      size_t start = i;
      int open = 1;
      for (; i < f.size(); ++i) {
        if (f[i] == '{') {
          nested = true;
          ++open;
        } else if (f[i] == '}' && --open == 0) {
          break;
        }
      }
      if (open > 0) return fail(raise_value_error(s_, "unmatched '{' in format spec"));
      spec = f.substr(start, i - start);
      ++i;
    }
    Value v;
    if (!object(name, v)) return false;
    return render(v, conversion, spec, nested, depth, out);
  }

  bool render(Value v, uint32_t conversion, std::string_view spec, bool nested, int depth, std::string& out) {
    if (conversion) {
      switch (conversion) {
        case 'r':
          v = repr(s_, v);
          break;
        case 's':
          v = str(s_, v);
          break;
        case 'a':
          v = ascii(s_, v);
          break;
        default:
          if (conversion > 32 && conversion < 127)
            return fail(raise_value_error(s_, "Unknown conversion specifier %c", static_cast<char>(conversion)));
          return fail(raise_value_error(s_, "Unknown conversion specifier \\x%x", conversion));
      }
      if (v.is_error()) return false;
    }
    std::string expanded;
    if (nested) {
      if (!build(spec, depth - 1, expanded)) return false;
      spec = expanded;
    }
    Value t = format(s_, v, spec);
    if (t.is_error()) return false;
    append_text(out, cast<Str>(t)->view());
    return true;
  }

  static bool is_number(std::string_view t, int64_t& n) {
    n = 0;
    if (t.empty()) return false;
    for (char c : t) {
      if (c < '0' || c > '9') return false;
      n = n * 10 + (c - '0');
      if (n > INT32_MAX) return true;
    }
    return true;
  }

  bool object(std::string_view name, Value& v) {
    size_t i = name.find_first_of(".[");
    if (i == name.npos) i = name.size();
    std::string_view first = name.substr(0, i);
    if (!base(first, v)) return false;
    while (i < name.size()) {
      char c = name[i++];
      if (c == '.') {
        size_t end = name.find_first_of(".[", i);
        if (end == name.npos) end = name.size();
        if (end == i) return fail(raise_value_error(s_, "Empty attribute in format string"));
        v = get_attr(s_, v, name.substr(i, end - i));
        i = end;
      } else if (c == '[') {
        size_t end = name.find(']', i);
        if (end == name.npos) return fail(raise_value_error(s_, "Missing ']' in format string"));
        std::string_view key = name.substr(i, end - i);
        if (key.empty()) return fail(raise_value_error(s_, "Empty attribute in format string"));
        int64_t n;
        v = get_item(s_, v, is_number(key, n) ? Value::integer(n) : make_str(key));
        i = end + 1;
        if (i < name.size() && name[i] != '.' && name[i] != '[')
          return fail(raise_value_error(s_, "Only '.' or '[' may follow ']' in format field specifier"));
      }
      if (v.is_error()) return false;
    }
    return true;
  }

  bool base(std::string_view first, Value& v) {
    int64_t n;
    bool number = is_number(first, n);
    if (first.empty() || number) {
      auto wanted = number ? Numbering::manual : Numbering::automatic;
      if (numbering_.state == Numbering::unknown) numbering_.state = wanted;
      if (numbering_.state != wanted)
        return fail(raise_value_error(
            s_, number ? "cannot switch from automatic field numbering to manual field specification"
                       : "cannot switch from manual field specification to automatic field numbering"));
      if (!number) n = numbering_.next++;
      if (!mapping_.is_unbound()) return fail(raise_value_error(s_, "Format string contains positional fields"));
      if (static_cast<uint64_t>(n) >= args_.size())
        return fail(raise_error(s_, ExcKind::IndexError,
                                "Replacement index %lld out of range for positional args tuple",
                                static_cast<long long>(n)));
      v = args_[static_cast<size_t>(n)];
      return true;
    }
    if (!mapping_.is_unbound()) {
      v = get_item(s_, mapping_, make_str(first));
      return !v.is_error();
    }
    for (size_t k = 0; k < args_.keywords.size(); ++k) {
      if (cast<Str>(args_.names[k])->view() != first) continue;
      v = args_.keywords[k];
      return true;
    }
    return fail(raise_key_error(s_, make_str(first)));
  }

  Session& s_;
  const Args& args_;
  const Value& mapping_;
  Numbering numbering_;
};

}  // namespace

Value format_fields(Session& s, std::string_view format, const Args& args, const Value& mapping) {
  std::string out;
  return Fields(s, args, mapping).build(format, 2, out) ? make_str(out) : Value::error();
}

}  // namespace ouro::runtime
