// Methods of str; what bytes has too is in text_methods.h.
#include <vector>

#include "runtime/types/argument_name.h"
#include "runtime/types/big_int.h"
#include "runtime/types/sequence.h"
#include "runtime/types/str_type.h"
#include "runtime/types/text_format.h"
#include "runtime/types/text_methods.h"

namespace ouro::runtime {
namespace {

struct StrPolicy {
  static constexpr bool kText = true;
  static constexpr const char* kName = "str";
  static std::string_view view(const Value& v) { return cast<Str>(v)->view(); }
  static Value make(Session&, const Value&, std::string_view t) { return make_str(t); }
  static Value part(Session&, const Value& whole, std::string_view t) {
    if (t.size() == 1 && static_cast<unsigned char>(t[0]) < 0x80) return make_char(static_cast<unsigned char>(t[0]));
    Value v = make_str(t);
    if (cast<Str>(whole)->ascii()) v.as<Str>()->points = static_cast<int64_t>(t.size());
    return v;
  }
  static Value same(Session&, const Value& self) {
    const Value& u = unwrap(self);
    return u;
  }
  static bool plain_needle(const Value& v, std::string_view& out) {
    Str* t = cast<Str>(v);
    if (t) out = t->view();
    return t;
  }
  static bool search_needle(Session& s, const Value& v, std::string_view& out, std::string&) {
    if (plain_needle(v, out)) return true;
    raise_type_error(s, "must be str, not %s", type_name(s, v).c_str());
    return false;
  }
  static bool fill(Session& s, const char*, const Value& v, std::string_view& out) {
    if (!plain_needle(v, out)) {
      raise_type_error(s, "The fill character must be a unicode character, not %s", type_name(s, v).c_str());
      return false;
    }
    if (str_length(cast<Str>(v)) == 1) return true;
    raise_type_error(s, "The fill character must be exactly one character long");
    return false;
  }
};
using M = TextMethods<StrPolicy>;

std::string_view self_view(const Args& a) { return cast<Str>(a[0])->view(); }

// ---- case

struct CaseDef {
  const char* name;
  std::string (*map)(std::string_view);
};
constexpr CaseDef kCases[] = {{"str.upper", text::to_upper},    {"str.lower", text::to_lower},
                              {"str.title", text::to_title},    {"str.capitalize", text::capitalize},
                              {"str.casefold", text::casefold}, {"str.swapcase", text::swapcase}};
template <int i>
Value change_case(Session& s, const Args& a) {
  if (!takes_none(s, a, kCases[i].name)) return Value::error();
  std::string text = kCases[i].map(self_view(a));
  if (text.size() == 1) return make_char(static_cast<unsigned char>(text[0]));
  return make_str(text);
}

// ---- tests

bool is_upper_text(std::string_view t) {
  bool cased = false;
  for (uint32_t c : text::Points(t)) {
    if (text::has(c, text::kLower | text::kTitle)) return false;
    cased |= text::has(c, text::kUpper);
  }
  return cased;
}
bool is_lower_text(std::string_view t) {
  bool cased = false;
  for (uint32_t c : text::Points(t)) {
    if (text::has(c, text::kUpper | text::kTitle)) return false;
    cased |= text::has(c, text::kLower);
  }
  return cased;
}
bool is_title_text(std::string_view t) {
  bool cased = false, in_word = false;
  for (uint32_t c : text::Points(t)) {
    if (text::has(c, text::kUpper | text::kTitle)) {
      if (in_word) return false;
      in_word = cased = true;
    } else if (text::has(c, text::kLower)) {
      if (!in_word) return false;
      cased = true;
    } else {
      in_word = false;
    }
  }
  return cased;
}
template <uint16_t flags>
bool all_have(std::string_view t) {
  for (uint32_t c : text::Points(t))
    if (!text::has(c, flags)) return false;
  return !t.empty();
}
bool is_printable_text(std::string_view t) { return t.empty() || all_have<text::kPrintable>(t); }

struct TestDef {
  const char* name;
  bool (*test)(std::string_view);
};
constexpr TestDef kTests[] = {
    {"str.isalpha", all_have<text::kAlpha>},
    {"str.isdecimal", all_have<text::kDecimal>},
    {"str.isdigit", all_have<text::kDigit>},
    {"str.isnumeric", all_have<text::kNumeric>},
    {"str.isspace", all_have<text::kSpace>},
    {"str.isalnum", all_have<text::kAlpha | text::kDecimal | text::kDigit | text::kNumeric>},
    {"str.isascii", text::is_ascii},
    {"str.isidentifier", text::is_identifier},
    {"str.isprintable", is_printable_text},
    {"str.isupper", is_upper_text},
    {"str.islower", is_lower_text},
    {"str.istitle", is_title_text},
};
template <int i>
Value test(Session& s, const Args& a) {
  if (!takes_none(s, a, kTests[i].name)) return Value::error();
  return Value::boolean(kTests[i].test(self_view(a)));
}

// ---- join, translate, format, encode

Value join(Session& s, const Args& a) {
  if (!takes_one(s, a, "str.join")) return Value::error();
  Value items = a[1];
  if (!cast_exact<List>(items) && !cast_exact<Tuple>(items)) {
    items = list_of_items(s, items);
    if (items.is_error()) {
      if (!pending_is(s, ExcKind::TypeError)) return items;
      Value it = Value();
      const TypeSlots& slots = slots_of(s, a[1]);
      bool iterable = slots.iter || slots.next || !find_dunder(s, type_of(s, a[1]), Dunder::iter_).is_unbound() ||
                      !find_dunder(s, type_of(s, a[1]), Dunder::getitem_).is_unbound();
      if (iterable) return Value::error();
      clear_pending(s);
      return raise_type_error(s, "can only join an iterable");
    }
  }
  List* l = cast_exact<List>(items);
  std::span<const Value> parts = l ? std::span<const Value>(l->items, l->size)
                                   : std::span<const Value>(items.as<Tuple>()->items(), items.as<Tuple>()->size);
  std::string_view sep = self_view(a);
  if (parts.size() == 1 && cast_exact<Str>(parts[0])) return parts[0];
  size_t total = parts.empty() ? 0 : sep.size() * (parts.size() - 1);
  bool known = true;
  int64_t points = parts.empty() ? 0 : str_length(cast<Str>(a[0])) * static_cast<int64_t>(parts.size() - 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    Str* t = cast<Str>(parts[i]);
    if (!t)
      return raise_type_error(s, "sequence item %zu: expected str instance, %s found", i,
                              type_name(s, parts[i]).c_str());
    total += t->size;
    known &= t->points >= 0;
    points += t->points;
  }
  if (total > UINT32_MAX / 2) return raise_memory_error(s);
  Str* r = alloc_str(total);
  Value made = Value::steal(r);
  char* p = r->data;
  for (size_t i = 0; i < parts.size(); ++i) {
    poll_interrupt(s);
    if (i && !sep.empty()) p = static_cast<char*>(std::memcpy(p, sep.data(), sep.size())) + sep.size();
    std::string_view t = cast<Str>(parts[i])->view();
    copy_text(p, t.data(), t.size());
    p += t.size();
  }
  if (known) r->points = points;
  return made;
}

Value translate(Session& s, const Args& a) {
  if (!takes_one(s, a, "str.translate")) return Value::error();
  std::string out;
  for (uint32_t c : text::Points(self_view(a))) {
    poll_interrupt(s);
    if (out.size() > kMostText) return raise_memory_error(s);
    Value key = Value::integer(c), to;
    if (Dict* d = cast_exact<Dict>(a[1])) {
      to = dict_get(s, d, key);
      if (to.is_unbound()) {
        text::append(out, c);
        continue;
      }
    } else {
      to = get_item(s, a[1], key);
    }
    if (to.is_error()) {
      if (!pending_is(s, ExcKind::LookupError)) return to;
      clear_pending(s);
      text::append(out, c);
    } else if (Str* t = cast<Str>(to)) {
      append_text(out, t->view());
    } else if (is_integer(to)) {
      const Value& u = unwrap(to);
      if (!is_word(u) || u.bits() < 0 || u.bits() > 0x10FFFF)
        return raise_value_error(s, "character mapping must be in range(0x110000)");
      text::append(out, static_cast<uint32_t>(u.bits()));
    } else if (!to.is_none()) {
      return raise_type_error(s, "character mapping must return integer, None or str");
    }
  }
  return make_str(out);
}

Value maketrans(Session& s, const Args& a) {
  if (!takes(s, a, "maketrans", 1, 3, 0)) return Value::error();
  Value out = make_dict();
  Dict* d = out.as<Dict>();
  if (a.size() == 1) {
    Dict* from = cast<Dict>(a[0]);
    if (!from) return raise_type_error(s, "if you give only one argument to maketrans it must be a dict");
    size_t pos = 0;
    for (Value *key, *value; dict_next(from, pos, key, value);) {
      Value k = *key;
      if (Str* t = cast<Str>(k)) {
        if (str_length(t) != 1) return raise_value_error(s, "string keys in translate table must be of length 1");
        const char* p = t->data;
        k = Value::integer(text::decode(p));
      } else if (!is_integer(k)) {
        return raise_type_error(s, "keys in translate table must be strings or integers");
      }
      if (!dict_set(s, d, k, *value)) return Value::error();
    }
    return out;
  }
  for (size_t i = 0; i < a.size(); ++i)
    if (!cast<Str>(a[i])) {
      if (i == 0) return raise_type_error(s, "first maketrans argument must be a string if there is a second argument");
      return raise_type_error(s, "maketrans() argument %zu must be str, not %s", i + 1, argument_name(s, a[i]).c_str());
    }
  Str *x = cast<Str>(a[0]), *y = cast<Str>(a[1]);
  if (str_length(x) != str_length(y))
    return raise_value_error(s, "the first two maketrans arguments must have equal length");
  const char *p = x->data, *q = y->data;
  while (p < x->data + x->size) {
    Value from = Value::integer(text::decode(p)), to = Value::integer(text::decode(q));
    if (!dict_set(s, d, from, to)) return Value::error();
  }
  if (a.size() == 3)
    for (uint32_t c : text::Points(cast<Str>(a[2])->view()))
      if (!dict_set(s, d, Value::integer(c), Value::none())) return Value::error();
  return out;
}

Value format_method(Session& s, const Args& a) {
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  return format_fields(s, self_view(a), rest, Value());
}
Value format_map(Session& s, const Args& a) {
  if (!takes_one(s, a, "str.format_map")) return Value::error();
  return format_fields(s, self_view(a), Args{}, a[1]);
}

Value encode(Session& s, const Args& a) {
  Value v[2];
  if (!takes_named(s, a, "encode", {"encoding", "errors"}, 0, 2, v)) return Value::error();
  std::string_view part[2] = {"utf-8", "strict"};
  for (int i = 0; i < 2; ++i) {
    if (v[i].is_unbound()) continue;
    Str* t = cast<Str>(v[i]);
    if (!t)
      return raise_type_error(s, "encode() argument '%s' must be str, not %s", i ? "errors" : "encoding",
                              argument_name(s, v[i]).c_str());
    part[i] = t->view();
  }
  std::string out;
  return encode_text(s, unwrap(a[0]), part[0], part[1], out) ? make_bytes(out) : Value::error();
}

Value rmod(Session&, const Args&) { return Value::not_implemented(); }
Value getnewargs(Session&, const Args& a) { return make_tuple({make_str(self_view(a))}); }
Value sizeof_str(Session&, const Args& a) { return Value::integer(49 + static_cast<int64_t>(self_view(a).size())); }

constexpr NativeDef kMethods[] = {
    {.name = "capitalize", .fn = change_case<3>},
    {.name = "casefold", .fn = change_case<4>},
    {.name = "center", .fn = M::pad<0>},
    {.name = "count", .fn = M::count},
    {.name = "encode", .fn = encode},
    {.name = "endswith", .fn = M::affix<false>},
    {.name = "expandtabs", .fn = M::expandtabs},
    {.name = "find", .fn = M::search<M::Search::find>},
    {.name = "format", .fn = format_method},
    {.name = "format_map", .fn = format_map},
    {.name = "index", .fn = M::search<M::Search::index>},
    {.name = "isalnum", .fn = test<5>},
    {.name = "isalpha", .fn = test<0>},
    {.name = "isascii", .fn = test<6>},
    {.name = "isdecimal", .fn = test<1>},
    {.name = "isdigit", .fn = test<2>},
    {.name = "isidentifier", .fn = test<7>},
    {.name = "islower", .fn = test<10>},
    {.name = "isnumeric", .fn = test<3>},
    {.name = "isprintable", .fn = test<8>},
    {.name = "isspace", .fn = test<4>},
    {.name = "istitle", .fn = test<11>},
    {.name = "isupper", .fn = test<9>},
    {.name = "join", .fn = join},
    {.name = "ljust", .fn = M::pad<1>},
    {.name = "lower", .fn = change_case<1>},
    {.name = "lstrip", .fn = M::strip<1>},
    {.name = "partition", .fn = M::partition<false>},
    {.name = "removeprefix", .fn = M::remove_affix<true>},
    {.name = "removesuffix", .fn = M::remove_affix<false>},
    {.name = "replace", .fn = M::replace},
    {.name = "rfind", .fn = M::search<M::Search::rfind>},
    {.name = "rindex", .fn = M::search<M::Search::rindex>},
    {.name = "rjust", .fn = M::pad<2>},
    {.name = "rpartition", .fn = M::partition<true>},
    {.name = "rsplit", .fn = M::split<true>},
    {.name = "rstrip", .fn = M::strip<2>},
    {.name = "split", .fn = M::split<false>},
    {.name = "splitlines", .fn = M::splitlines},
    {.name = "startswith", .fn = M::affix<true>},
    {.name = "strip", .fn = M::strip<3>},
    {.name = "swapcase", .fn = change_case<5>},
    {.name = "title", .fn = change_case<2>},
    {.name = "translate", .fn = translate},
    {.name = "upper", .fn = change_case<0>},
    {.name = "zfill", .fn = M::zfill},
    {.name = "__rmod__", .fn = rmod},
    {.name = "__getnewargs__", .fn = getnewargs},
    {.name = "__sizeof__", .fn = sizeof_str},
};
constexpr NativeDef kStatic[] = {
    {.name = "maketrans", .fn = maketrans, .doc = "Return a translation table usable for str.translate()."}};

}  // namespace

std::span<const NativeDef> str_methods() { return kMethods; }
std::span<const NativeDef> str_static_methods() { return kStatic; }

}  // namespace ouro::runtime
