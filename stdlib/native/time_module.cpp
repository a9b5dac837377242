// The module time.
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
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

// A number of seconds: a float, or an int.
struct Seconds {
  bool is_float = false;
  double fraction = 0;  // of a float
  int64_t whole = 0;    // of an int
};
bool seconds_of(Session& s, const Value& v, const char* too_large, Seconds& out) {
  const auto refuse = [&] { return raise_error(s, ExcKind::OverflowError, "%s", too_large), false; };
  out.is_float = kind_of(unwrap(v)) == ObjectKind::floating;
  if (out.is_float) {
    if (!to_double(s, v, out.fraction)) return false;
    if (std::isnan(out.fraction)) return raise_value_error(s, "Invalid value NaN (not a number)"), false;
    return (out.fraction >= -0x1p63 && out.fraction < 0x1p63) || refuse();
  }
  if (to_index(s, v, out.whole)) return true;
  if (!pending_is(s, ExcKind::OverflowError)) return false;
  clear_pending(s);
  return refuse();
}

// Sleeps in short pieces, so that an interrupt is seen soon.
Value f_sleep(Session& s, const Args& a) {
  static constexpr const char* kTooLarge = "timestamp too large to convert to C _PyTime_t";
  if (!takes_one(s, a, "time.sleep", 0)) return Value::error();
  Seconds asked;
  if (!seconds_of(s, a[0], kTooLarge, asked)) return Value::error();
  const double seconds = asked.is_float ? asked.fraction : static_cast<double>(asked.whole);
  if (std::abs(seconds) >= 0x1p63 / 1e9) return raise_error(s, ExcKind::OverflowError, kTooLarge);
  if (seconds < 0) return raise_value_error(s, "sleep length must be non-negative");
  (void)s.out.flush();
  const int64_t begin = nanoseconds(CLOCK_MONOTONIC), length = static_cast<int64_t>(seconds * 1e9);
  for (;;) {
    const int64_t left = length - (nanoseconds(CLOCK_MONOTONIC) - begin);
    poll_interrupt(s);
    if (left <= 0) return Value::none();
    int64_t piece = std::min<int64_t>(left, 20000000);
    timespec t{static_cast<time_t>(piece / 1000000000), static_cast<long>(piece % 1000000000)};
    nanosleep(&t, nullptr);
  }
}

// A moment in whole seconds, rounded down; none: now.
bool time_argument(Session& s, const Args& a, time_t& out) {
  Seconds moment;
  if (a.size() == 0 || a[0].is_none())
    moment.whole = time(nullptr);
  else if (!seconds_of(s, a[0], "timestamp out of range for platform time_t", moment))
    return false;
  out = moment.is_float ? static_cast<time_t>(std::floor(moment.fraction)) : moment.whole;
  return true;
}

// The moment in the calendar. Of one in a year that is no int there is none.
bool in_calendar(Session& s, time_t t, bool local, tm& out) {
  if (local ? localtime_r(&t, &out) : gmtime_r(&t, &out)) return true;
  raise_os_error(s, errno);
  return false;
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
  auto i = [](int64_t n) { return Value::integer(n); };
  return struct_sequence(s, cls,
                         {{"tm_year", i(int64_t{t.tm_year} + 1900)},
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
  if (!takes_count(s, a, local ? "localtime" : "gmtime", 0, 1, 0)) return Value::error();
  time_t t;
  tm parts;
  return time_argument(s, a, t) && in_calendar(s, t, local, parts) ? struct_time(s, parts) : Value::error();
}
// A field of a time tuple, which is a C int.
bool int_field(Session& s, const Value& v, int& out) {
  int64_t n;
  if (!to_index(s, v, n)) {
    if (!pending_is(s, ExcKind::OverflowError)) return false;
    clear_pending(s);
    raise_error(s, ExcKind::OverflowError, "Python int too large to convert to C long");
    return false;
  }
  out = static_cast<int>(n);
  if (n == out) return true;
  raise_error(s, ExcKind::OverflowError,
              n > 0 ? "signed integer is greater than maximum" : "signed integer is less than minimum");
  return false;
}

bool tm_of(Session& s, const Value& v, const char* function, tm& out) {
  Tuple* t = cast<Tuple>(v);
  if (!t) return raise_type_error(s, "Tuple or struct_time argument required"), false;
  out = tm{};
  int year = 0;
  int* const fields[] = {&year,       &out.tm_mon,  &out.tm_mday, &out.tm_hour, &out.tm_min,
                         &out.tm_sec, &out.tm_wday, &out.tm_yday, &out.tm_isdst};
  if (t->size != std::size(fields)) return raise_type_error(s, "%s(): illegal time tuple argument", function), false;
  for (size_t i = 0; i < std::size(fields); ++i)
    if (!int_field(s, (*t)[i], *fields[i])) return false;
  if (year < std::numeric_limits<int>::min() + 1900)
    return raise_error(s, ExcKind::OverflowError, "year out of range"), false;
  out.tm_year = year - 1900;
  const auto less_one = [](int n) { return static_cast<int>(static_cast<unsigned>(n) - 1); };
  out.tm_mon = less_one(out.tm_mon);
  out.tm_wday = static_cast<int>((int64_t{out.tm_wday} + 1) % 7);
  out.tm_yday = less_one(out.tm_yday);
  return true;
}

// What a text can be made of: a month, a day and a day of the year that are 0 stand for the first one.
bool is_sayable(Session& s, tm& t) {
  if (t.tm_mon == -1) t.tm_mon = 0;
  if (t.tm_mday == 0) t.tm_mday = 1;
  if (t.tm_yday == -1) t.tm_yday = 0;
  const struct {
    const char* name;
    int value, least, most;
  } rows[] = {{"month", t.tm_mon, 0, 11},        {"day of month", t.tm_mday, 1, 31}, {"hour", t.tm_hour, 0, 23},
              {"minute", t.tm_min, 0, 59},       {"seconds", t.tm_sec, 0, 61},       {"day of week", t.tm_wday, 0, 6},
              {"day of year", t.tm_yday, 0, 365}};
  for (const auto& r : rows)
    if (r.value < r.least || r.value > r.most) return raise_value_error(s, "%s out of range", r.name), false;
  return true;
}

// Argument i, or now.
bool tm_argument(Session& s, const Args& a, size_t i, const char* function, tm& out) {
  if (a.size() > i) return tm_of(s, a[i], function, out) && is_sayable(s, out);
  return in_calendar(s, time(nullptr), true, out);
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
  if (!takes_count(s, a, "strftime", 1, 2, 0)) return Value::error();
  Str* format = cast<Str>(a[0]);
  if (!format) return raise_type_error(s, "strftime() argument 1 must be str, not %s", argument_name(s, a[0]).c_str());
  tm t;
  if (!tm_argument(s, a, 1, "strftime", t)) return Value::error();
  t.tm_isdst = std::clamp(t.tm_isdst, -1, 1);
  std::string f(format->view());
  if (f.find('\0') != f.npos) return raise_value_error(s, "embedded null character");
  std::string out(f.size() * 64 + 1024, '\0');
  out.resize(f.empty() ? 0 : strftime(out.data(), out.size(), f.c_str(), &t));
  return make_str(out);
}
Value f_mktime(Session& s, const Args& a) {
  if (!takes_one(s, a, "time.mktime", 0)) return Value::error();
  tm t;
  if (!tm_of(s, a[0], "mktime", t)) return Value::error();
  t.tm_wday = -1;  // which a success fills in
  const time_t seconds = mktime(&t);
  if (seconds == -1 && t.tm_wday == -1) return raise_error(s, ExcKind::OverflowError, "mktime argument out of range");
  return Value::floating(static_cast<double>(seconds));
}
// "Thu Jan  1 00:00:00 1970"
Value asctime_text(const tm& t) {
  static constexpr char kDays[] = "SunMonTueWedThuFriSat", kMonths[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  char text[64];
  std::snprintf(text, sizeof text, "%.3s %.3s%3d %.2d:%.2d:%.2d %lld", kDays + 3 * t.tm_wday, kMonths + 3 * t.tm_mon,
                t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, 1900LL + t.tm_year);
  return make_str(text);
}
Value f_asctime(Session& s, const Args& a) {
  if (!takes(s, a, "asctime", 0, 1, 0)) return Value::error();
  tm t;
  return tm_argument(s, a, 0, "asctime", t) ? asctime_text(t) : Value::error();
}
Value f_ctime(Session& s, const Args& a) {
  if (!takes_count(s, a, "ctime", 0, 1, 0)) return Value::error();
  time_t t;
  tm parts;
  return time_argument(s, a, t) && in_calendar(s, t, true, parts) ? asctime_text(parts) : Value::error();
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
