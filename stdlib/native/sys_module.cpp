// The module sys.
#include <cfloat>
#include <climits>

#include "runtime/interpreter/modules.h"
#include "runtime/model/model.h"
#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"
#include "runtime/types/args.h"
#include "runtime/types/argument_name.h"
#include "runtime/types/big_int.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/struct_sequence.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

Value f_exit(Session& s, const Args& a) {
  if (!takes(s, a, "exit", 0, 1, 0)) return Value::error();
  Value code = a.size() ? a[0] : Value::none();
  Value args = a.size() == 0 ? make_tuple() : cast<Tuple>(a[0]) ? a[0] : make_tuple({a[0]});
  Value e = make_exception(s, exception_type(s, ExcKind::SystemExit), args);
  e.as<Exception>()->extra1 = code;
  return raise_value(s, e, Value());
}
Value f_setrecursionlimit(Session& s, const Args& a) {
  if (!takes_one(s, a, "sys.setrecursionlimit", 0)) return Value::error();
  int64_t n;
  if (!to_index(s, a[0], n)) return Value::error();
  if (n < 1) return raise_value_error(s, "recursion limit must be greater or equal than 1");
  if (n < s.depth)
    return raise_text(s, ExcKind::RecursionError,
                      "cannot set the recursion limit to " + std::to_string(n) + " at the recursion depth " +
                          std::to_string(s.depth) + ": the limit is too low");
  s.recursion_limit = static_cast<int>(std::min<int64_t>(n, INT_MAX));
  return Value::none();
}
Value f_getrecursionlimit(Session& s, const Args&) { return Value::integer(s.recursion_limit); }
Value f_getsizeof(Session& s, const Args& a) {
  if (!takes(s, a, "getsizeof", 1, 2, 0)) return Value::error();
  if (a[0].is_float()) return Value::integer(24);
  static const Symbol name = intern("__sizeof__");
  OURO_TRY(n, call_method(s, a[0], name));
  int64_t size;
  if (!to_index(s, n, size)) return Value::error();
  bool collected = a[0].is_object() && (a[0].object()->flags & kFlagTracked);
  return Value::integer(size + (collected ? 16 : 0));
}
Value f_exc_info(Session& s, const Args&) {
  Exception* e = cast<Exception>(s.handled);
  if (!e) return make_tuple({Value::none(), Value::none(), Value::none()});
  return make_tuple({Value::share(e->type), s.handled, e->traceback.is_unbound() ? Value::none() : e->traceback});
}
Value f_exception(Session& s, const Args&) { return cast<Exception>(s.handled) ? s.handled : Value::none(); }
Value f_intern(Session& s, const Args& a) {
  if (!takes_one(s, a, "sys.intern", 0)) return Value::error();
  Str* t = cast_exact<Str>(a[0]);
  if (!t) return raise_type_error(s, "intern() argument must be str, not %s", argument_name(s, a[0]).c_str());
  return s.str(str_symbol(t));
}
Value f_getrefcount(Session& s, const Args& a) {
  if (!takes_one(s, a, "sys.getrefcount", 0)) return Value::error();
  return Value::integer(a[0].is_object() ? a[0].object()->refs : 1000000000);
}
Value f_encoding(Session&, const Args&) { return make_str("utf-8"); }
Value f_set_digits(Session& s, const Args& a) {
  Value v;
  if (!takes_named(s, a, "set_int_max_str_digits", {"maxdigits"}, 1, 1, &v, 0)) return Value::error();
  int64_t n;
  if (!to_index(s, v, n)) return Value::error();
  if (n != 0 && n < 640) return raise_value_error(s, "maxdigits must be 0 or larger than 640");
  s.state<IntTextLimit>().digits = n;
  return Value::none();
}
Value f_get_digits(Session& s, const Args&) { return Value::integer(s.state<IntTextLimit>().digits); }
Value f_getframe(Session& s, const Args& a) {
  if (!takes(s, a, "_getframe", 0, 1, 0)) return Value::error();
  OURO_TRY(depth, a.size() == 1 ? to_index_value(s, a[0]) : Value::integer(0));
  if (!is_word(depth) || depth.bits() != static_cast<int32_t>(depth.bits()))
    return raise_error(s, ExcKind::OverflowError, "Python int too large to convert to C int");
  return current_frame(s, depth.bits());
}
// What the prompt does with the value of a statement.
Value f_displayhook(Session& s, const Args& a) {
  if (!takes_one(s, a, "displayhook", 0)) return Value::error();
  if (a[0].is_none()) return Value::none();
  OURO_TRY(text, repr(s, a[0]));
  OURO_TRY(out, import_module(s, intern("sys")));
  OURO_TRY(stream, get_attr(s, out, "stdout"));
  return call_method(s, stream, intern("write"), {make_str(text_of(s, text) + "\n")});
}
// What the frontend makes of a statement of the prompt that is an expression: `_`, and sys.displayhook as scripts have
// set it.
Value f_display(Session& s, const Args& a) {
  if (!takes_one(s, a, "display", 0)) return Value::error();
  static const Symbol sys = intern("sys"), hook = intern("displayhook"), main = intern("__main__"), last = intern("_");
  OURO_TRY(module, import_module(s, sys));
  Value f = lookup_attr(s, module, hook);
  if (f.is_error()) return f;
  if (f.is_unbound()) return raise_error(s, ExcKind::RuntimeError, "lost sys.displayhook");
  Native* native = cast_exact<Native>(f);
  if (native && native->def->fn == f_displayhook && !a[0].is_none()) {
    OURO_TRY_DO(repr(s, a[0]));
    if (Value* m = s.modules.find(main); m && !m->is_unbound() && !set_attr(s, *m, last, a[0])) return Value::error();
  }
  return call(s, f, {a[0]});
}
// Prints an exception as the end of a program does.
Value f_excepthook(Session& s, const Args& a) {
  if (!takes(s, a, "excepthook", 3, 3, 0)) return Value::error();
  (void)s.out.flush();
  s.err.write(text::shown_text(format_exception(s, a[1])));
  return Value::none();
}
Value f_nothing(Session&, const Args&) { return Value::none(); }
Value f_interval(Session&, const Args&) { return Value::floating(0.005); }
Value f_false(Session&, const Args&) { return Value::boolean(false); }

constexpr NativeDef kFunctions[] = {
    {.name = "exit", .fn = f_exit, .doc = "Exit the interpreter by raising SystemExit(status)."},
    {.name = "setrecursionlimit", .fn = f_setrecursionlimit, .doc = "Set the maximum depth of calls."},
    {.name = "getrecursionlimit", .fn = f_getrecursionlimit, .doc = "The maximum depth of calls."},
    {.name = "getsizeof", .fn = f_getsizeof, .doc = "Roughly the size of an object in bytes."},
    {.name = "exc_info",
     .fn = f_exc_info,
     .doc = "(type, value, traceback) of the exception being handled.",
     .effect = NativeEffect::frames},
    {.name = "exception", .fn = f_exception, .doc = "The exception being handled."},
    {.name = "intern", .fn = f_intern, .doc = "The one string with this text."},
    {.name = "getrefcount", .fn = f_getrefcount, .doc = "The reference count of an object."},
    {.name = "getdefaultencoding", .fn = f_encoding, .doc = "utf-8"},
    {.name = "getfilesystemencoding", .fn = f_encoding, .doc = "utf-8"},
    {.name = "set_int_max_str_digits",
     .fn = f_set_digits,
     .doc = "Set the limit of digits in conversions of ints and text."},
    {.name = "get_int_max_str_digits",
     .fn = f_get_digits,
     .doc = "The limit of digits in conversions of ints and text."},
    {.name = "_getframe",
     .fn = f_getframe,
     .doc = "The frame of the running call, or of one below it.",
     .effect = NativeEffect::frames},
    {.name = "displayhook", .fn = f_displayhook, .doc = "Print an object to sys.stdout, unless it is None."},
    {.name = "__displayhook__", .fn = f_displayhook, .doc = "Print an object to sys.stdout, unless it is None."},
    {.name = "excepthook", .fn = f_excepthook, .doc = "Print an exception with its traceback to sys.stderr."},
    {.name = "__excepthook__", .fn = f_excepthook, .doc = "Print an exception with its traceback to sys.stderr."},
    {.name = "settrace", .fn = f_nothing, .doc = "Accepted, without effect."},
    {.name = "gettrace", .fn = f_nothing, .doc = "None."},
    {.name = "setprofile", .fn = f_nothing, .doc = "Accepted, without effect."},
    {.name = "getprofile", .fn = f_nothing, .doc = "None."},
    {.name = "getswitchinterval", .fn = f_interval, .doc = "CPython's default."},
    {.name = "setswitchinterval", .fn = f_nothing, .doc = "Accepted, without effect."},
    {.name = "is_finalizing", .fn = f_false, .doc = "False."},
};

Value named_tuple(Session& s, const char* name, Fields fields) {
  OURO_TRY(cls, struct_sequence_class(s, "sys", name));
  return struct_sequence(s, cls, fields);
}

constexpr int64_t kHexVersion = 0x030b02f0;

Value version_info(Session& s) {
  return named_tuple(s, "version_info",
                     {{"major", Value::integer(3)},
                      {"minor", Value::integer(11)},
                      {"micro", Value::integer(2)},
                      {"releaselevel", make_str("final")},
                      {"serial", Value::integer(0)}});
}
Value float_info(Session& s) {
  return named_tuple(s, "float_info",
                     {{"max", Value::floating(DBL_MAX)},
                      {"max_exp", Value::integer(DBL_MAX_EXP)},
                      {"max_10_exp", Value::integer(DBL_MAX_10_EXP)},
                      {"min", Value::floating(DBL_MIN)},
                      {"min_exp", Value::integer(DBL_MIN_EXP)},
                      {"min_10_exp", Value::integer(DBL_MIN_10_EXP)},
                      {"dig", Value::integer(DBL_DIG)},
                      {"mant_dig", Value::integer(DBL_MANT_DIG)},
                      {"epsilon", Value::floating(DBL_EPSILON)},
                      {"radix", Value::integer(FLT_RADIX)},
                      {"rounds", Value::integer(1)}});
}
Value thread_info(Session& s) {
  return named_tuple(
      s, "thread_info",
      {{"name", make_str("pthread")}, {"lock", make_str("semaphore")}, {"version", make_str("NPTL 2.36")}});
}
Value implementation(Session& s) {
  return named_tuple(s, "implementation",
                     {{"name", make_str("cpython")},
                      {"cache_tag", make_str("cpython-311")},
                      {"version", version_info(s)},
                      {"hexversion", Value::integer(kHexVersion)}});
}
Value flags(Session& s) {
  auto off = [] { return Value::integer(0); };
  return named_tuple(s, "flags",
                     {{"debug", off()},
                      {"inspect", off()},
                      {"interactive", off()},
                      {"optimize", off()},
                      {"dont_write_bytecode", off()},
                      {"no_user_site", off()},
                      {"no_site", off()},
                      {"ignore_environment", off()},
                      {"verbose", off()},
                      {"bytes_warning", off()},
                      {"quiet", off()},
                      {"hash_randomization", Value::integer(1)},
                      {"isolated", off()},
                      {"dev_mode", Value::boolean(false)},
                      {"utf8_mode", off()},
                      {"warn_default_encoding", off()},
                      {"safe_path", Value::boolean(false)},
                      {"int_max_str_digits", Value::integer(4300)}});
}
Value hash_info(Session& s) {
  return named_tuple(s, "hash_info",
                     {{"width", Value::integer(64)},
                      {"modulus", Value::integer((int64_t{1} << 61) - 1)},
                      {"inf", Value::integer(314159)},
                      {"nan", Value::integer(0)},
                      {"imag", Value::integer(1000003)},
                      {"algorithm", make_str("siphash13")},
                      {"hash_bits", Value::integer(64)},
                      {"seed_bits", Value::integer(128)},
                      {"cutoff", Value::integer(0)}});
}
Value int_info(Session& s) {
  return named_tuple(s, "int_info",
                     {{"bits_per_digit", Value::integer(30)},
                      {"sizeof_digit", Value::integer(4)},
                      {"default_max_str_digits", Value::integer(4300)},
                      {"str_digits_check_threshold", Value::integer(640)}});
}
Value system_list(const std::vector<std::string>& items) {
  Value l = make_list();
  for (const std::string& t : items) l.as<List>()->push(make_str(text::from_system(t)));
  return l;
}

struct ConstantDef {
  std::string_view name;
  Value (*make)(Session&);
};
constexpr ConstantDef kConstants[] = {
    {"argv", [](Session& s) { return system_list(s.argv); }},
    {"path", [](Session& s) { return system_list(s.path); }},
    {"modules", modules_dict},
    {"stdin", [](Session& s) { return standard_stream(s, Stream::in); }},
    {"stdout", [](Session& s) { return standard_stream(s, Stream::out); }},
    {"stderr", [](Session& s) { return standard_stream(s, Stream::err); }},
    {"__stdin__", [](Session& s) { return standard_stream(s, Stream::in); }},
    {"__stdout__", [](Session& s) { return standard_stream(s, Stream::out); }},
    {"__stderr__", [](Session& s) { return standard_stream(s, Stream::err); }},
    {"maxsize", [](Session&) { return Value::integer(INT64_MAX); }},
    {"maxunicode", [](Session&) { return Value::integer(0x10FFFF); }},
    {"byteorder", [](Session&) { return make_str("little"); }},
    {"platform", [](Session&) { return make_str("linux"); }},
    {"version", [](Session&) { return make_str("3.11.2 (Ouro)"); }},
    {"hexversion", [](Session&) { return Value::integer(kHexVersion); }},
    {"executable", [](Session&) { return make_str("ouro"); }},
    {"version_info", version_info},
    {"implementation", implementation},
    {"thread_info", thread_info},
    {"flags", flags},
    {"api_version", [](Session&) { return Value::integer(1013); }},
    {"abiflags", [](Session&) { return make_str(""); }},
    {"platlibdir", [](Session&) { return make_str("lib"); }},
    {"prefix", [](Session&) { return make_str("/usr"); }},
    {"exec_prefix", [](Session&) { return make_str("/usr"); }},
    {"base_prefix", [](Session&) { return make_str("/usr"); }},
    {"pycache_prefix", [](Session&) { return Value::none(); }},
    {"float_info", float_info},
    {"hash_info", hash_info},
    {"int_info", int_info},
    {"float_repr_style", [](Session&) { return make_str("short"); }},
    {"copyright", [](Session&) { return make_str(""); }},
    {"dont_write_bytecode", [](Session&) { return Value::boolean(true); }},
    {"warnoptions", [](Session&) { return make_list(); }},
    {"builtin_module_names",
     [](Session&) {
       return make_tuple({make_str("builtins"), make_str("math"), make_str("sys"), make_str("time")});
     }},
};
constexpr std::string_view kNames[] = {"argv",       "path",         "modules",    "stdin",     "stdout",  "stderr",
                                       "maxsize",    "maxunicode",   "byteorder",  "platform",  "version", "hexversion",
                                       "executable", "version_info", "float_info", "hash_info", "int_info"};

struct Made {
  std::vector<std::pair<std::string_view, Value>> values;
};

// Each constant is one object per session, kept in the module so that scripts may replace it.
Value constant(Session& s, std::string_view name) {
  for (auto& [n, v] : s.state<Made>().values)
    if (n == name) return v;
  for (const ConstantDef& c : kConstants) {
    if (c.name != name) continue;
    OURO_TRY(v, c.make(s));
    s.state<Made>().values.emplace_back(c.name, v);
    return v;
  }
  return Value();
}

}  // namespace

std::span<const NativeDef> intrinsics() {
  static constexpr NativeDef kRows[] = {
      {.name = "display", .fn = f_display, .doc = "Show the value of a statement."},
      {.name = "dict_of_locals", .fn = dict_of_locals, .doc = "The dict that locals() of a function is."},
  };
  return kRows;
}

const NativeModule kSysModule{.name = "sys", .functions = kFunctions, .constant = constant, .constants = kNames};

}  // namespace ouro::stdlib
