#include "stdlib/native/read_time.h"

#include <array>
#include <cctype>

namespace ouro::stdlib {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"january",   "february", "march",    "april",
                                                      "may",       "june",     "july",     "august",
                                                      "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> kDays = {"sunday",   "monday", "tuesday", "wednesday",
                                                   "thursday", "friday", "saturday"};

bool blank(char c) { return isspace(static_cast<unsigned char>(c)); }
bool digit(char c) { return c >= '0' && c <= '9'; }

bool leap(int y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }
int days_in(int month, int year) {
  constexpr int kLengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 1 && leap(year) ? 29 : kLengths[month];
}
// Days since 1970-01-01 of the first day of a year.
int64_t first_day(int64_t y) {
  --y;
  return 365 * (y - 1969) + (y / 4 - 492) - (y / 100 - 19) + (y / 400 - 4);
}

struct Reader {
  std::string_view text;
  size_t at = 0;
  int year = 1900, month = 0, day = 1, hour = 0, minute = 0, second = 0, yday = -1, pm = -1, zone = -1;
  bool failed = false;

  // As many digits as fit, up to `most`, of a number not above `max`.
  int number(int most, int min, int max) {
    size_t start = at;
    if (most == 2 && max < 62 && at < text.size() && text[at] == ' ' && min == 1) ++at;  // " 7" as a day
    int value = 0, n = 0;
    while (n < most && at < text.size() && digit(text[at]) && value * 10 + (text[at] - '0') <= max)
      value = value * 10 + (text[at] - '0'), ++at, ++n;
    if (n == 0 || value < min) {
      at = start;
      failed = true;
    }
    return value;
  }
  int digits(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i, ++at) {
      if (at >= text.size() || !digit(text[at])) return failed = true, 0;
      value = value * 10 + (text[at] - '0');
    }
    return value;
  }
  bool word(std::string_view w) {
    if (text.size() - at < w.size()) return false;
    for (size_t i = 0; i < w.size(); ++i)
      if (tolower(static_cast<unsigned char>(text[at + i])) != w[i]) return false;
    at += w.size();
    return true;
  }
  template <size_t n>
  int one_of(const std::array<std::string_view, n>& names, bool whole) {
    for (size_t i = 0; i < n; ++i)
      if (word(whole ? names[i] : names[i].substr(0, 3))) return static_cast<int>(i);
    failed = true;
    return 0;
  }
  void skip_blanks() {
    if (at >= text.size() || !blank(text[at])) failed = true;
    while (at < text.size() && blank(text[at])) ++at;
  }
  void offset() {
    if (word("z")) return;
    if (at >= text.size() || (text[at] != '+' && text[at] != '-')) {
      failed = true;
      return;
    }
    ++at;
    digits(2);
    if (at < text.size() && text[at] == ':') ++at;
    digits(2);
  }
  void directive(char d) {
    switch (d) {
      case 'Y':
        year = digits(4);
        return;
      case 'y':
        year = digits(2), year += year < 69 ? 2000 : 1900;
        return;
      case 'm':
        month = number(2, 1, 12) - 1;
        return;
      case 'd':
        day = number(2, 1, 31);
        return;
      case 'H':
        hour = number(2, 0, 23);
        return;
      case 'I':
        hour = number(2, 1, 12) % 12, pm = pm < 0 ? 0 : pm;
        return;
      case 'M':
        minute = number(2, 0, 59);
        return;
      case 'S':
        second = number(2, 0, 61);
        return;
      case 'j':
        yday = number(3, 1, 366) - 1;
        return;
      case 'f':
        number(6, 0, 999999);
        return;
      case 'w':
        number(1, 0, 6);
        return;
      case 'b':
      case 'h':
        month = one_of(kMonths, false);
        return;
      case 'B':
        month = one_of(kMonths, true);
        return;
      case 'a':
        one_of(kDays, false);
        return;
      case 'A':
        one_of(kDays, true);
        return;
      case 'p':
        pm = word("am") ? 0 : word("pm") ? 1 : (failed = true, 0);
        return;
      case 'z':
        offset();
        return;
      case 'Z':
        zone = word("utc") || word("gmt") ? 0 : (failed = true, -1);
        return;
      case '%':
        failed = !word("%");
        return;
      case 'c':
        pattern("%a %b %d %H:%M:%S %Y");
        return;
      case 'x':
      case 'D':
        pattern("%m/%d/%y");
        return;
      case 'X':
      case 'T':
        pattern("%H:%M:%S");
        return;
      default:
        failed = true;
    }
  }
  void pattern(std::string_view format) {
    for (size_t i = 0; i < format.size() && !failed; ++i) {
      if (blank(format[i])) {
        while (i + 1 < format.size() && blank(format[i + 1])) ++i;
        skip_blanks();
      } else if (format[i] == '%' && i + 1 < format.size()) {
        directive(format[++i]);
      } else {
        char c = static_cast<char>(tolower(static_cast<unsigned char>(format[i])));
        failed = at >= text.size() || tolower(static_cast<unsigned char>(text[at])) != c;
        ++at;
      }
    }
  }
};

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

std::string read_time(std::string_view text, std::string_view format, tm& out) {
  Reader r{text};
  r.pattern(format);
  if (r.failed) return "time data " + quoted(text) + " does not match format " + quoted(format);
  if (r.at < text.size()) return "unconverted data remains: " + std::string(text.substr(r.at));
  if (r.pm == 1) r.hour += 12;
  if (r.yday >= 0 && r.month == 0 && r.day == 1) {
    int left = r.yday;
    while (r.month < 11 && left >= days_in(r.month, r.year)) left -= days_in(r.month++, r.year);
    r.day = left + 1;
  } else {
    if (r.day > days_in(r.month, r.year)) return "day is out of range for month";
    r.yday = r.day - 1;
    for (int m = 0; m < r.month; ++m) r.yday += days_in(m, r.year);
  }
  out = tm{};
  out.tm_year = r.year - 1900;
  out.tm_mon = r.month;
  out.tm_mday = r.day;
  out.tm_hour = r.hour;
  out.tm_min = r.minute;
  out.tm_sec = r.second;
  out.tm_yday = r.yday;
  out.tm_wday = static_cast<int>(((first_day(r.year) + r.yday + 4) % 7 + 7) % 7);  // 1970 began on a Thursday
  out.tm_isdst = r.zone == 0 ? 0 : -1;
  return {};
}

}  // namespace ouro::stdlib
