// The module time.
#include <poll.h>
#include <time.h>

#include <cmath>
#include <string>

#include "runtime/object/exception.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/argument_name.h"
#include "stdlib/native/read_time.h"
#include "stdlib/native/struct_sequence.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

int64_t nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}
template <clockid_t clock>
Value f_seconds(Session& s, const Args& a) {
  if (!takes_none(s, a, "time.clock", 0)) return Value::error();
  return Value::floating(static_cast<double>(nanoseconds(clock)) * 1e-9);
}
template <clockid_t clock>
Value f_ns(Session& s, const Args& a) {
  if (!takes_none(s, a, "time.clock_ns", 0)) return Value::error();
  return Value::integer(nanoseconds(clock));
}

// Sleeps in short pieces, so that an interrupt is seen soon.
Value f_sleep(Session& s, const Args& a) {
  if (!takes_one(s, a, "time.sleep", 0)) return Value::error();
  double seconds;
  if (!a[0].is_float() && !is_integer(a[0]) && find_dunder(s, type_of(s, a[0]), Dunder::index_).is_unbound() &&
      find_dunder(s, type_of(s, a[0]), Dunder::float_).is_unbound())
    return raise_type_error(s, "'%s' object cannot be interpreted as an integer", type_name(s, a[0]).c_str());
  if (!to_double(s, a[0], seconds)) return Value::error();
  if (std::isnan(seconds)) return raise_value_error(s, "Invalid value NaN (not a number)");
  if (seconds < 0) return raise_value_error(s, "sleep length must be non-negative");
  (void)s.out.flush();
  int64_t end = nanoseconds(CLOCK_MONOTONIC) + static_cast<int64_t>(std::min(seconds, 9e9) * 1e9);
  for (;;) {
    int64_t left = end - nanoseconds(CLOCK_MONOTONIC);
    poll_interrupt(s);
    if (left <= 0) return Value::none();
    int64_t piece = std::min<int64_t>(left, 20000000);
    timespec t{static_cast<time_t>(piece / 1000000000), static_cast<long>(piece % 1000000000)};
    nanosleep(&t, nullptr);
  }
}

bool time_argument(Session& s, const Args& a, time_t& out) {
  if (a.size() == 0 || a[0].is_none()) {
    out = time(nullptr);
    return true;
  }
  double d;
  if (!to_double(s, a[0], d)) return false;
  out = static_cast<time_t>(std::floor(d));
  return true;
}

Value struct_time_class(Session& s) {
  struct Cls {
    Value type;
  };
  Value& cls = s.state<Cls>().type;
  if (cls.is_unbound()) {
    OURO_TRY(made, struct_sequence_class(s, "time", "struct_time"));
    cls = made;
    Value names = make_tuple({make_str("tm_year"), make_str("tm_mon"), make_str("tm_mday"), make_str("tm_hour"),
                              make_str("tm_min"), make_str("tm_sec"), make_str("tm_wday"), make_str("tm_yday"),
                              make_str("tm_isdst")});
    if (!set_attr(s, cls, intern("__match_args__"), names)) return Value::error();
  }
  return cls;
}
Value struct_time(Session& s, const tm& t) {
  OURO_TRY(cls, struct_time_class(s));
  auto i = [](int n) { return Value::integer(n); };
  return struct_sequence(s, cls,
                         {{"tm_year", i(t.tm_year + 1900)},
                          {"tm_mon", i(t.tm_mon + 1)},
                          {"tm_mday", i(t.tm_mday)},
                          {"tm_hour", i(t.tm_hour)},
                          {"tm_min", i(t.tm_min)},
                          {"tm_sec", i(t.tm_sec)},
                          {"tm_wday", i((t.tm_wday + 6) % 7)},
                          {"tm_yday", i(t.tm_yday + 1)},
                          {"tm_isdst", i(t.tm_isdst)}});
}
template <bool local>
Value f_broken_down(Session& s, const Args& a) {
  if (!takes(s, a, local ? "localtime" : "gmtime", 0, 1, 0)) return Value::error();
  time_t t;
  if (!time_argument(s, a, t)) return Value::error();
  tm parts;
  local ? localtime_r(&t, &parts) : gmtime_r(&t, &parts);
  return struct_time(s, parts);
}
bool tm_of(Session& s, const Value& v, tm& out) {
  Tuple* t = cast<Tuple>(v);
  if (!t || t->size != 9) return raise_type_error(s, "Tuple or struct_time argument required"), false;
  int64_t f[9];
  for (size_t i = 0; i < 9; ++i)
    if (!to_index(s, (*t)[i], f[i])) return false;
  out = tm{};
  out.tm_year = static_cast<int>(f[0] - 1900);
  out.tm_mon = static_cast<int>(f[1] - 1);
  out.tm_mday = static_cast<int>(f[2]);
  out.tm_hour = static_cast<int>(f[3]);
  out.tm_min = static_cast<int>(f[4]);
  out.tm_sec = static_cast<int>(f[5]);
  out.tm_wday = static_cast<int>((f[6] + 1) % 7);
  out.tm_yday = static_cast<int>(f[7] - 1);
  out.tm_isdst = static_cast<int>(f[8]);
  return true;
}
bool tm_argument(Session& s, const Args& a, size_t i, tm& out) {
  if (a.size() > i) return tm_of(s, a[i], out);
  time_t now = time(nullptr);
  localtime_r(&now, &out);
  return true;
}
Value f_strptime(Session& s, const Args& a) {
  if (!takes(s, a, "strptime", 1, 2, 0)) return Value::error();
  Str *text = cast<Str>(a[0]), *format = a.size() == 2 ? cast<Str>(a[1]) : nullptr;
  if (!text || (a.size() == 2 && !format))
    return raise_type_error(s, "strptime() argument %d must be str, not %s", text ? 1 : 0,
                            argument_name(s, a[text ? 1 : 0]).c_str());
  std::string_view pattern = format ? format->view() : "%a %b %d %H:%M:%S %Y";
  tm t;
  std::string problem = read_time(text->view(), pattern, t);
  return problem.empty() ? struct_time(s, t) : raise_value_error(s, "%s", problem.c_str());
}
Value f_strftime(Session& s, const Args& a) {
  if (!takes(s, a, "strftime", 1, 2, 0)) return Value::error();
  Str* format = cast<Str>(a[0]);
  if (!format) return raise_type_error(s, "strftime() argument 1 must be str, not %s", argument_name(s, a[0]).c_str());
  tm t;
  if (!tm_argument(s, a, 1, t)) return Value::error();
  std::string f(format->view()), out(f.size() * 16 + 256, '\0');
  out.resize(f.empty() ? 0 : strftime(out.data(), out.size(), f.c_str(), &t));
  return make_str(out);
}
Value f_mktime(Session& s, const Args& a) {
  if (!takes_one(s, a, "time.mktime", 0)) return Value::error();
  tm t;
  if (!tm_of(s, a[0], t)) return Value::error();
  return Value::floating(static_cast<double>(mktime(&t)));
}
Value asctime_text(const tm& t) {
  char buffer[64];
  asctime_r(&t, buffer);
  return make_str(std::string_view(buffer).substr(0, std::string_view(buffer).find('\n')));
}
Value f_asctime(Session& s, const Args& a) {
  tm t;
  return tm_argument(s, a, 0, t) ? asctime_text(t) : Value::error();
}
Value f_ctime(Session& s, const Args& a) {
  time_t t;
  if (!time_argument(s, a, t)) return Value::error();
  tm parts;
  localtime_r(&t, &parts);
  return asctime_text(parts);
}

constexpr NativeDef kFunctions[] = {
    {.name = "time", .fn = f_seconds<CLOCK_REALTIME>, .doc = "Seconds since the epoch."},
    {.name = "time_ns", .fn = f_ns<CLOCK_REALTIME>, .doc = "Nanoseconds since the epoch."},
    {.name = "perf_counter", .fn = f_seconds<CLOCK_MONOTONIC>, .doc = "Performance counter for benchmarking."},
    {.name = "perf_counter_ns",
     .fn = f_ns<CLOCK_MONOTONIC>,
     .doc = "Performance counter for benchmarking as nanoseconds."},
    {.name = "monotonic", .fn = f_seconds<CLOCK_MONOTONIC>, .doc = "Monotonic clock, cannot go backward."},
    {.name = "monotonic_ns", .fn = f_ns<CLOCK_MONOTONIC>, .doc = "Monotonic clock as nanoseconds."},
    {.name = "process_time", .fn = f_seconds<CLOCK_PROCESS_CPUTIME_ID>, .doc = "Process time for profiling."},
    {.name = "process_time_ns",
     .fn = f_ns<CLOCK_PROCESS_CPUTIME_ID>,
     .doc = "Process time for profiling as nanoseconds."},
    {.name = "thread_time", .fn = f_seconds<CLOCK_THREAD_CPUTIME_ID>, .doc = "Thread time for profiling."},
    {.name = "thread_time_ns", .fn = f_ns<CLOCK_THREAD_CPUTIME_ID>, .doc = "Thread time for profiling as nanoseconds."},
    {.name = "sleep", .fn = f_sleep, .doc = "Delay execution for a given number of seconds."},
    {.name = "localtime", .fn = f_broken_down<true>, .doc = "Seconds to local time."},
    {.name = "gmtime", .fn = f_broken_down<false>, .doc = "Seconds to UTC."},
    {.name = "strftime",
     .fn = f_strftime,
     .doc = "Convert a time tuple to a string according to a format specification."},
    {.name = "strptime", .fn = f_strptime, .doc = "Convert a string to a time tuple according to a format."},
    {.name = "mktime", .fn = f_mktime, .doc = "Local time to seconds."},
    {.name = "asctime", .fn = f_asctime, .doc = "Convert a time tuple to a string."},
    {.name = "ctime", .fn = f_ctime, .doc = "Convert a time in seconds to a string."},
};

Value constant(Session& s, std::string_view name) {
  tzset();
  if (name == "struct_time") return struct_time_class(s);
  if (name == "altzone") return Value::integer(timezone - (daylight ? 3600 : 0));
  if (name == "timezone") return Value::integer(timezone);
  if (name == "tzname") return make_tuple({make_str(tzname[0]), make_str(tzname[1])});
  if (name == "daylight") return Value::integer(daylight);
  return Value();
}
constexpr std::string_view kNames[] = {"altzone", "struct_time", "timezone", "tzname", "daylight"};

}  // namespace

const NativeModule kTimeModule{.name = "time", .functions = kFunctions, .constant = constant, .constants = kNames};

}  // namespace ouro::stdlib
