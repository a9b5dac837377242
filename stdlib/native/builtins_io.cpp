// print, input, open, exit.
#include <cstdio>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/args.h"
#include "runtime/types/float_text.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

// Text for the terminal: lone surrogates cannot be encoded.
bool printable(Session& s, const Value& text, std::string_view t) {
  text::Utf8Problem p = text::check_utf8(t);
  if (p.what.empty()) return true;
  size_t at = text::count_points(t.substr(0, p.start));
  Value args = make_tuple({make_str("utf-8"), text, Value::integer(static_cast<int64_t>(at)),
                           Value::integer(static_cast<int64_t>(at + 1)), make_str("surrogates not allowed")});
  raise_value(s, make_exception(s, exception_type(s, ExcKind::UnicodeEncodeError), args), Value());
  return false;
}

// A separator or end: a string, or `absent` when None. False: something else.
bool string_option(Session& s, const Value& v, const char* name, std::string_view absent, std::string_view& out) {
  out = absent;
  if (v.is_unbound() || v.is_none()) return true;
  if (Str* t = cast<Str>(v)) {
    out = t->view();
    return true;
  }
  raise_type_error(s, "%s must be None or a string, not %s", name, type_name(s, v).c_str());
  return false;
}

bool write_value(Session& s, const Value& v, std::string& out) {
  if (v.is_int()) {
    append_text(out, std::to_string(v.as_int()));
    return true;
  }
  Value t = str(s, v);
  if (t.is_error()) return false;
  std::string_view view = cast<Str>(t)->view();
  if (!text::is_ascii(view) && !printable(s, t, view)) return false;
  append_text(out, view);
  return true;
}

Value f_print(Session& s, const Args& a) {
  Value v[4];  // sep, end, file, flush
  static constexpr std::string_view kNames[] = {"sep", "end", "file", "flush"};
  for (size_t k = 0; k < a.keywords.size(); ++k) {
    std::string_view n = a.names[k].as<Str>()->view();
    size_t i = 0;
    while (i < 4 && n != kNames[i]) ++i;
    if (i == 4) return raise_type_error(s, "'%s' is an invalid keyword argument for print()", std::string(n).c_str());
    v[i] = a.keywords[k];
  }
  std::string_view sep, end;
  if (!string_option(s, v[0], "sep", " ", sep) || !string_option(s, v[1], "end", "\n", end)) return Value::error();
  Value file = v[2].is_unbound() || v[2].is_none() ? replaced_stream(s, Stream::out) : v[2];
  if (file.is_none()) return Value::none();
  int flush = v[3].is_unbound() ? 0 : truth(s, v[3]);
  if (flush < 0) return Value::error();
  if (file.is_unbound()) {
    std::string line;
    if (!text::is_ascii(sep) && a.size() > 1 && !printable(s, v[0], sep)) return Value::error();
    for (size_t i = 0; i < a.size(); ++i) {
      if (i) line += sep;
      if (a[i].is_object() && !cast_exact<Str>(a[i]) && !line.empty()) {  // whose text a script may make, and print
        if (!s.out.write(line)) return raise_os_error(s, errno);
        line.clear();
      }
      if (!write_value(s, a[i], line)) {
        s.out.write(line);
        return Value::error();
      }
    }
    if (!text::is_ascii(end) && !printable(s, v[1], end)) {
      s.out.write(line);
      return Value::error();
    }
    line += end;
    if (!s.out.write(line) || (flush && !s.out.flush())) return raise_os_error(s, errno);
    poll_interrupt(s);  // it may have come while nobody read
    return Value::none();
  }
  static const Symbol write = intern("write"), flush_name = intern("flush");
  OURO_TRY(writer, get_attr(s, file, write));
  for (size_t i = 0; i < a.size(); ++i) {
    if (i && call(s, writer, {make_str(sep)}).is_error()) return Value::error();
    OURO_TRY(t, str(s, a[i]));
    if (call(s, writer, {t}).is_error()) return Value::error();
  }
  if (call(s, writer, {make_str(end)}).is_error()) return Value::error();
  if (flush && call_method(s, file, flush_name).is_error()) return Value::error();
  return Value::none();
}

Value f_input(Session& s, const Args& a) {
  if (!takes(s, a, "input", 0, 1, 0)) return Value::error();
  if (a.size() == 1) {
    OURO_TRY(t, str(s, a[0]));
    if (!printable(s, t, cast<Str>(t)->view())) return Value::error();
    s.out.write(cast<Str>(t)->view());
  }
  if (!s.out.flush()) return raise_os_error(s, errno);
  static const Symbol readline = intern("readline");
  Value in = replaced_stream(s, Stream::in);
  if (in.is_unbound()) in = standard_stream(s, Stream::in);
  OURO_TRY(line, call_method(s, in, readline));
  Str* t = cast<Str>(line);
  if (!t) return raise_type_error(s, "object.readline() returned non-string");
  std::string_view view = t->view();
  if (view.empty()) return raise_text(s, ExcKind::EOFError, "EOF when reading a line");
  if (view.back() == '\n') view.remove_suffix(1);
  return make_str(view);
}

Value f_exit(Session& s, const Args& a) {
  if (!takes(s, a, "exit", 0, 1, 0)) return Value::error();
  Value e = make_exception(s, exception_type(s, ExcKind::SystemExit), make_tuple({a.size() ? a[0] : Value::none()}));
  e.as<Exception>()->extra1 = a.size() ? a[0] : Value::none();
  return raise_value(s, e, Value());
}

constexpr NativeDef kFunctions[] = {
    {.name = "print",
     .fn = f_print,
     .doc = "Prints the values to a stream, or to sys.stdout by default.",
     .effect = NativeEffect::output},
    {.name = "input", .fn = f_input, .doc = "Read a string from standard input. The trailing newline is stripped."},
    {.name = "open", .fn = open_file, .doc = "Open file and return a stream."},
    {.name = "exit", .fn = f_exit, .doc = "Leave the program."},
    {.name = "quit", .fn = f_exit, .doc = "Leave the program."},
};

}  // namespace

std::span<const NativeDef> io_functions() { return kFunctions; }

}  // namespace ouro::stdlib
