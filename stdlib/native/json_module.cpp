// ouro.native.json    decode, encode, quoted: what module json stands on (python/json/, json_text.h)
#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/str_type.h"
#include "stdlib/native/json_text.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

// An argument that stands for yes or no. -1: its truth fails.
bool flag(Session& s, const Value& v, bool& out) {
  const int t = truth(s, v);
  out = t > 0;
  return t >= 0;
}

Value f_decode(Session& s, const Args& a) {
  Str* text = cast<Str>(a[0]);
  if (!text) return raise_type_error(s, "first argument must be a string, not %s", type_name(s, a[0]).c_str());
  int64_t start, end_index;
  if (!to_index(s, a[1], start)) return Value::error();
  if (start < 0) return raise_value_error(s, "idx cannot be negative");
  if (start > str_length(text)) return Value::none();
  const json::Hooks hooks{a[2], a[3], a[4], a[5], a[6]};
  const size_t from = start == 0 ? 0 : str_offset(s, unwrap(a[0]), start);
  if (from == text->size || std::string_view(" \t\n\r").find(text->data[from]) != std::string_view::npos)
    return Value::none();
  size_t end = 0;
  OURO_TRY(value, json::decode(s, text, from, hooks, end));
  if (value.is_unbound()) return Value::none();
  end_index = text->ascii() ? static_cast<int64_t>(end)
                            : start + static_cast<int64_t>(text::count_points(text->view().substr(from, end - from)));
  return make_tuple({value, Value::integer(end_index)});
}

Value f_encode(Session& s, const Args& a) {
  json::Style style{.fallback = a[1], .indent = a[2], .sink = a[10], .item = {}, .key = {}};
  Str *key = cast<Str>(a[3]), *item = cast<Str>(a[4]);
  if (!key) return raise_type_error(s, "make_encoder() argument 5 must be str, not %s", type_name(s, a[3]).c_str());
  if (!item) return raise_type_error(s, "make_encoder() argument 6 must be str, not %s", type_name(s, a[4]).c_str());
  if (!a[2].is_none() && !cast<Str>(a[2]))
    return raise_type_error(s, "indent must be str or None, not %s", type_name(s, a[2]).c_str());
  style.key = key->view();
  style.item = item->view();
  if (!flag(s, a[5], style.sort_keys) || !flag(s, a[6], style.skip_keys) || !flag(s, a[7], style.ascii) ||
      !flag(s, a[8], style.allow_nan) || !flag(s, a[9], style.check_circular))
    return Value::error();
  return json::encode(s, a[0], style);
}

Value f_quoted(Session& s, const Args& a) {
  Str* text = cast<Str>(a[0]);
  if (!text) return raise_type_error(s, "first argument must be a string, not %s", type_name(s, a[0]).c_str());
  bool ascii;
  return flag(s, a[1], ascii) ? json::quoted(s, text->view(), ascii) : Value::error();
}

constexpr NativeDef kFunctions[] = {
    {.name = "decode",
     .params = "text, start, object_hook, object_pairs_hook, parse_float, parse_int, parse_constant, /",
     .fn = f_decode,
     .doc = "(value, end) of the JSON value at `start`; None where the slow decoder has to look."},
    {.name = "encode",
     .params = "value, default, indent, key_separator, item_separator, sort_keys, skipkeys, ensure_ascii, allow_nan, "
               "check_circular, write, /",
     .fn = f_encode,
     .doc = "The value as JSON; in pieces to `write` if that is not None."},
    {.name = "quoted",
     .params = "text, ensure_ascii, /",
     .fn = f_quoted,
     .doc = "A str as JSON has it.",
     .effect = NativeEffect::pure},
};

}  // namespace

const NativeModule kJsonModule{.name = "ouro.native.json", .functions = kFunctions};

}  // namespace ouro::stdlib
