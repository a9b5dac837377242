// The methods that str, bytes and bytearray share, over a policy `P` that says what a unit is (a code point or a byte),
// how arguments are read and results made. Positions are byte offsets inside and indices of units outside; for ASCII
// text and bytes they are the same.
//
//   P::view(v)            bytes of the receiver           P::make(s, receiver, bytes)   a new value of the receiver's
//   class P::kText              units are code points           P::needle(...)                an argument to look for,
//   or error                                            P::part(s, receiver, bytes)   the same, of a part of it
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/unicode.h"
#include "runtime/text/utf8.h"
#include "runtime/types/args.h"
#include "runtime/types/argument_name.h"
#include "runtime/types/numbers.h"

namespace ouro::runtime {

constexpr size_t kNone = std::string_view::npos;
constexpr size_t kMostText = UINT32_MAX / 2;  // bytes of one text; beyond: MemoryError

// In pieces that overlap by what may stand across their boundary.
inline size_t find_bytes(std::string_view h, std::string_view n, size_t from = 0) {
  const size_t window = std::max(size_t{1} << 18, n.size());  // memmem is quadratic for up to 256 bytes, then linear
  if (from > h.size()) return kNone;
  if (n.empty()) return from;
  for (;;) {
    const size_t size = std::min(h.size() - from, window + n.size() - 1);
    const void* p =
        n.size() == 1 ? std::memchr(h.data() + from, n[0], size) : memmem(h.data() + from, size, n.data(), n.size());
    if (p) return static_cast<size_t>(static_cast<const char*>(p) - h.data());
    if (size == h.size() - from) return kNone;
    poll_interrupt();
    from += window;
  }
}
inline size_t rfind_bytes(std::string_view h, std::string_view n) {
  const size_t window = std::clamp((size_t{1} << 26) / (n.size() + 1), size_t{64}, size_t{1} << 20);  // quadratic
  size_t end = h.size();
  for (;;) {
    const size_t size = std::min(end, window + n.size() - 1);
    const size_t at = h.substr(end - size, size).rfind(n);
    if (at != kNone) return end - size + at;
    if (size == end) return kNone;
    poll_interrupt();
    end -= window;
  }
}

template <class P>
struct TextMethods {
  // ---- units and offsets

  static bool simple(const Value& self) {  // units are bytes
    if constexpr (P::kText)
      return str_length(cast<Str>(self)) == static_cast<int64_t>(cast<Str>(self)->size);
    else
      return true;
  }
  static int64_t units(const Value& self) {
    if constexpr (P::kText)
      return str_length(cast<Str>(self));
    else
      return static_cast<int64_t>(P::view(self).size());
  }
  static size_t offset(const Value& self, int64_t unit) {
    if (simple(self)) return static_cast<size_t>(unit);
    return text::byte_offset(P::view(self), static_cast<size_t>(unit));
  }
  static int64_t unit_at(const Value& self, size_t byte) {
    if (simple(self)) return static_cast<int64_t>(byte);
    return static_cast<int64_t>(text::count_points(P::view(self).substr(0, byte)));
  }
  static int64_t count_units(std::string_view t) {
    if constexpr (P::kText)
      return static_cast<int64_t>(text::count_points(t));
    else
      return static_cast<int64_t>(t.size());
  }
  static size_t unit_size(std::string_view t, size_t at) {
    if constexpr (P::kText)
      return text::sequence_length(static_cast<unsigned char>(t[at]));
    else
      return 1;
  }

  // start and end arguments, and what they come to as byte offsets of the receiver. They are read before anything else
  // is looked at: an __index__ may change the receiver, and what is looked for.
  struct Range {
    int64_t start = 0, stop = INT64_MAX;
    size_t from = 0, to = 0;
    bool empty = false;  // start is beyond the end, so nothing can be found
    void place(const Value& self) {
      const int64_t n = units(self);
      if (stop > n) stop = n;
      if (stop < 0) stop = std::max<int64_t>(0, stop + n);
      if (start < 0) start = std::max<int64_t>(0, start + n);
      empty = start > stop;
      if (empty) return;
      from = offset(self, start);
      to = offset(self, stop);
    }
  };
  static bool read_range(Session& s, const Args& a, size_t first, Range& out) {
    auto read = [&](size_t i, int64_t& out) {
      const Value& v = argument(a, i);
      if (v.is_unbound() || v.is_none()) return true;
      if (!is_integer(v) && find_dunder(s, type_of(s, v), Dunder::index_).is_unbound()) {
        raise_type_error(s, "slice indices must be integers or None or have an __index__ method");
        return false;
      }
      return to_index(s, v, out, true);
    };
    return read(first, out.start) && read(first + 1, out.stop);
  }

  // ---- searching

  enum class Search { find, rfind, index, rindex };

  template <Search kind>
  static Value search(Session& s, const Args& a) {
    static constexpr const char* kNames[] = {"find", "rfind", "index", "rindex"};
    const char* name = kNames[static_cast<int>(kind)];
    if (!takes_count(s, a, name, 1, 3)) return Value::error();
    std::string_view needle;
    std::string store;
    Range range;
    if (!read_range(s, a, 2, range) || !P::search_needle(s, a[1], needle, store)) return Value::error();
    range.place(a[0]);
    size_t at = kNone;
    if (!range.empty) {
      std::string_view h = P::view(a[0]).substr(0, range.to);
      if constexpr (kind == Search::find || kind == Search::index) {
        at = find_bytes(h, needle, range.from);
      } else {
        at = rfind_bytes(h.substr(range.from), needle);
        if (at != kNone) at += range.from;
      }
    }
    if (at != kNone) return Value::integer(unit_at(a[0], at));
    if constexpr (kind == Search::index || kind == Search::rindex)
      return raise_value_error(s, P::kText ? "substring not found" : "subsection not found");
    return Value::integer(-1);
  }

  static Value count(Session& s, const Args& a) {
    if (!takes_count(s, a, "count", 1, 3)) return Value::error();
    std::string_view needle;
    std::string store;
    Range range;
    if (!read_range(s, a, 2, range) || !P::search_needle(s, a[1], needle, store)) return Value::error();
    range.place(a[0]);
    if (range.empty) return Value::integer(0);
    std::string_view h = P::view(a[0]).substr(0, range.to);
    if (needle.empty()) return Value::integer(count_units(h.substr(range.from)) + 1);
    int64_t n = 0;
    for (size_t at = find_bytes(h, needle, range.from); at != kNone; at = find_bytes(h, needle, at + needle.size())) {
      poll_interrupt(s);
      ++n;
    }
    return Value::integer(n);
  }

  template <bool front>
  static Value affix(Session& s, const Args& a) {
    const char* name = front ? "startswith" : "endswith";
    if (!takes_count(s, a, name, 1, 3)) return Value::error();
    Range range;
    if (!read_range(s, a, 2, range)) return Value::error();
    range.place(a[0]);
    std::string_view h = range.empty ? std::string_view() : P::view(a[0]).substr(range.from, range.to - range.from);
    auto matches = [&](std::string_view n) {
      return !range.empty && n.size() <= h.size() &&
             (front ? h.substr(0, n.size()) : h.substr(h.size() - n.size())) == n;
    };
    std::string_view n;
    if (P::plain_needle(a[1], n)) return Value::boolean(matches(n));
    Tuple* t = cast<Tuple>(a[1]);
    if (!t)
      return raise_type_error(s, "%s first arg must be %s or a tuple of %s, not %s", name, P::kName, P::kName,
                              type_name(s, a[1]).c_str());
    for (const Value& v : *t) {
      if (!P::plain_needle(v, n)) {
        if constexpr (P::kText)
          return raise_type_error(s, "tuple for %s must only contain str, not %s", name, type_name(s, v).c_str());
        else
          return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, v).c_str());
      }
      if (matches(n)) return Value::boolean(true);
    }
    return Value::boolean(false);
  }

  template <bool front>
  static Value remove_affix(Session& s, const Args& a) {
    const char* name = front ? "removeprefix" : "removesuffix";
    if (!takes_one(s, a, (std::string(P::kName) + "." + name).c_str())) return Value::error();
    std::string_view n, h = P::view(a[0]);
    if (!P::plain_needle(a[1], n)) {
      if constexpr (P::kText)
        return raise_type_error(s, "%s() argument must be str, not %s", name, argument_name(s, a[1]).c_str());
      else
        return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, a[1]).c_str());
    }
    if (!n.empty() && n.size() <= h.size() && (front ? h.substr(0, n.size()) : h.substr(h.size() - n.size())) == n) {
      if (front)
        h.remove_prefix(n.size());
      else
        h.remove_suffix(n.size());
    }
    return P::part(s, a[0], h);
  }

  // ---- splitting and joining

  static bool space_at(std::string_view t, size_t at) {
    if constexpr (P::kText) {
      const char* p = t.data() + at;
      if (static_cast<signed char>(*p) > ' ') return false;
      return text::is_space(text::decode(p));
    } else {
      auto c = static_cast<unsigned char>(t[at]);
      return c == ' ' || (c >= 9 && c <= 13);
    }
  }
  // Start of the unit that ends before `at`.
  static size_t unit_before(std::string_view t, size_t at) {
    --at;
    if constexpr (P::kText)
      while (text::is_continuation(t[at])) --at;
    return at;
  }

  template <bool from_right>
  static Value split(Session& s, const Args& a) {
    Value v[2];
    const char* name = from_right ? "rsplit" : "split";
    if (!takes_named(s, a, name, {"sep", "maxsplit"}, 0, 2, v)) return Value::error();
    int64_t max = -1;
    if (!v[1].is_unbound() && !to_index(s, v[1], max)) return Value::error();
    if (max < 0) max = INT64_MAX;
    std::string_view h = P::view(a[0]), sep;
    Value out = make_list();
    List& l = *out.as<List>();
    auto add = [&](size_t from, size_t to) {
      poll_interrupt(s);
      l.push(P::part(s, a[0], h.substr(from, to - from)));
    };
    if (v[0].is_unbound() || v[0].is_none()) {
      if (from_right)
        rsplit_space(h, max, add);
      else
        split_space(h, max, add);
    } else {
      if (!P::plain_needle(v[0], sep)) {
        if constexpr (P::kText)
          return raise_type_error(s, "must be str or None, not %s", type_name(s, v[0]).c_str());
        else
          return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, v[0]).c_str());
      }
      if (sep.empty()) return raise_value_error(s, "empty separator");
      if (from_right) {
        size_t end = h.size();
        while (max-- > 0) {
          size_t at = rfind_bytes(h.substr(0, end), sep);
          if (at == kNone) break;
          add(at + sep.size(), end);
          end = at;
        }
        add(0, end);
      } else {
        size_t from = 0;
        while (max-- > 0) {
          size_t at = find_bytes(h, sep, from);
          if (at == kNone) break;
          add(from, at);
          from = at + sep.size();
        }
        add(from, h.size());
      }
    }
    if (from_right) std::reverse(l.begin(), l.end());
    return out;
  }
  template <class Add>
  static void split_space(std::string_view h, int64_t max, Add add) {
    size_t i = 0;
    for (;;) {
      while (i < h.size() && space_at(h, i)) i += unit_size(h, i);
      if (i >= h.size()) return;
      size_t from = i;
      if (max-- == 0) return add(from, h.size());
      while (i < h.size() && !space_at(h, i)) i += unit_size(h, i);
      add(from, i);
    }
  }
  template <class Add>
  static void rsplit_space(std::string_view h, int64_t max, Add add) {
    size_t end = h.size();
    for (;;) {
      while (end > 0 && space_at(h, unit_before(h, end))) end = unit_before(h, end);
      if (end == 0) return;
      size_t to = end;
      if (max-- == 0) return add(0, to);
      while (end > 0 && !space_at(h, unit_before(h, end))) end = unit_before(h, end);
      add(end, to);
    }
  }

  static Value splitlines(Session& s, const Args& a) {
    Value keep;
    if (!takes_named(s, a, "splitlines", {"keepends"}, 0, 1, &keep)) return Value::error();
    if (!keep.is_unbound()) {
      keep = to_index_value(s, keep);
      if (keep.is_error()) return keep;
    }
    bool keepends = !keep.is_unbound() && truth(s, keep) > 0;
    std::string_view h = P::view(a[0]);
    Value out = make_list();
    for (size_t i = 0, from = 0; i < h.size(); from = i) {
      poll_interrupt(s);
      while (i < h.size() && !line_break_at(h, i)) i += unit_size(h, i);
      size_t end = i;
      if (i < h.size()) i += h[i] == '\r' && i + 1 < h.size() && h[i + 1] == '\n' ? 2 : unit_size(h, i);
      out.as<List>()->push(P::part(s, a[0], h.substr(from, (keepends ? i : end) - from)));
    }
    return out;
  }
  static bool line_break_at(std::string_view t, size_t at) {
    if constexpr (P::kText) {
      const char* p = t.data() + at;
      return text::is_line_break(text::decode(p));
    } else {
      return t[at] == '\n' || t[at] == '\r';
    }
  }

  template <bool from_right>
  static Value partition(Session& s, const Args& a) {
    if (!takes_one(s, a, (std::string(P::kName) + (from_right ? ".rpartition" : ".partition")).c_str()))
      return Value::error();
    std::string_view sep, h = P::view(a[0]);
    if (!P::plain_needle(a[1], sep)) {
      if constexpr (P::kText)
        return raise_type_error(s, "must be str, not %s", type_name(s, a[1]).c_str());
      else
        return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, a[1]).c_str());
    }
    if (sep.empty()) return raise_value_error(s, "empty separator");
    size_t at = from_right ? rfind_bytes(h, sep) : find_bytes(h, sep);
    auto part = [&](std::string_view t) { return P::part(s, a[0], t); };
    if (at == kNone) {
      if (from_right) return make_tuple({part(""), part(""), part(h)});
      return make_tuple({part(h), part(""), part("")});
    }
    return make_tuple({part(h.substr(0, at)), part(sep), part(h.substr(at + sep.size()))});
  }

  static Value replace(Session& s, const Args& a) {
    if (!takes(s, a, "replace", 2, 3)) return Value::error();
    std::string_view from, to;
    auto needles = [&](size_t& wrong) {
      for (wrong = 1; wrong <= 2; ++wrong)
        if (!P::plain_needle(a[wrong], wrong == 1 ? from : to)) return false;
      return true;
    };
    size_t i = 0;
    if (!needles(i)) {
      if constexpr (P::kText)
        return raise_type_error(s, "replace() argument %zu must be str, not %s", i, argument_name(s, a[i]).c_str());
      else
        return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, a[i]).c_str());
    }
    int64_t max = -1;
    if (a.size() == 4 && (!to_index(s, a[3], max) || !needles(i))) return Value::error();
    if (max < 0) max = INT64_MAX;
    std::string_view h = P::view(a[0]);
    std::string out;
    if (from.empty()) {  // between all units, and at both ends
      i = 0;
      for (; max > 0; --max) {
        poll_interrupt(s);
        append_text(out, to);
        if (out.size() > kMostText) return raise_memory_error(s);
        if (i >= h.size()) return P::make(s, a[0], out);
        size_t n = unit_size(h, i);
        out += h.substr(i, n);
        i += n;
      }
      out += h.substr(i);
      return P::make(s, a[0], out);
    }
    size_t at = find_bytes(h, from), done = 0;
    if (at == kNone || max == 0) return P::same(s, a[0]);
    out.reserve(h.size());
    for (; at != kNone && max > 0; --max) {
      poll_interrupt(s);
      append_text(out, h.substr(done, at - done));
      append_text(out, to);
      if (out.size() > kMostText) return raise_memory_error(s);
      done = at + from.size();
      at = find_bytes(h, from, done);
    }
    out += h.substr(done);
    return P::make(s, a[0], out);
  }

  // ---- stripping

  template <int sides>  // 1 left, 2 right, 3 both
  static Value strip(Session& s, const Args& a) {
    const char* name = sides == 1 ? "lstrip" : sides == 2 ? "rstrip" : "strip";
    if (!takes(s, a, name, 0, 1, 1, (std::string(P::kName) + "." + name).c_str())) return Value::error();
    std::string_view h = P::view(a[0]), set;
    bool space = a.size() == 1 || a[1].is_none();
    if (!space && !P::plain_needle(a[1], set)) {
      if constexpr (P::kText)
        return raise_type_error(s, "%s arg must be None or str", name);
      else
        return raise_type_error(s, "a bytes-like object is required, not '%s'", type_name(s, a[1]).c_str());
    }
    auto drop = [&](size_t at) {
      return space ? space_at(h, at) : find_bytes(set, h.substr(at, unit_size(h, at))) != kNone;
    };
    if (sides & 1)
      while (!h.empty() && drop(0)) h.remove_prefix(unit_size(h, 0));
    if (sides & 2)
      while (!h.empty() && drop(unit_before(h, h.size()))) h = h.substr(0, unit_before(h, h.size()));
    if (h.size() == P::view(a[0]).size()) return P::same(s, a[0]);
    return P::part(s, a[0], h);
  }

  // ---- padding

  template <int how>  // 0 centre, 1 ljust, 2 rjust
  static Value pad(Session& s, const Args& a) {
    const char* name = how == 0 ? "center" : how == 1 ? "ljust" : "rjust";
    if (!takes(s, a, name, 1, 2)) return Value::error();
    int64_t width;
    if (!to_index(s, a[1], width)) return Value::error();
    std::string_view fill = " ";
    if (a.size() == 3 && !P::fill(s, name, a[2], fill)) return Value::error();
    const int64_t n = units(a[0]);
    if (width <= n) return P::same(s, a[0]);
    const int64_t total = width - n;
    // CPython's centring: the odd one goes left if the width is odd.
    int64_t left = how == 0 ? total / 2 + (total & width & 1) : how == 1 ? 0 : total;
    if (total > static_cast<int64_t>(kMostText)) return raise_memory_error(s);
    require_memory(2 * (P::view(a[0]).size() + static_cast<size_t>(total) * fill.size()));
    std::string out;
    append_repeated(out, static_cast<size_t>(left), fill);
    out += P::view(a[0]);
    append_repeated(out, static_cast<size_t>(total - left), fill);
    return P::make(s, a[0], out);
  }

  static Value zfill(Session& s, const Args& a) {
    if (!takes_one(s, a, (std::string(P::kName) + ".zfill").c_str())) return Value::error();
    int64_t width;
    if (!to_index(s, a[1], width)) return Value::error();
    std::string_view h = P::view(a[0]);
    const int64_t n = units(a[0]);
    if (width <= n) return P::same(s, a[0]);
    const int64_t missing = width - n;
    if (missing > static_cast<int64_t>(kMostText)) return raise_memory_error(s);
    std::string out;
    if (!h.empty() && (h[0] == '+' || h[0] == '-')) {
      out += h[0];
      h.remove_prefix(1);
    }
    append_fill(out, static_cast<size_t>(missing), '0');
    out += h;
    return P::make(s, a[0], out);
  }

  static Value expandtabs(Session& s, const Args& a) {
    Value v;
    if (!takes_named(s, a, "expandtabs", {"tabsize"}, 0, 1, &v)) return Value::error();
    int64_t size = 8;
    if (!v.is_unbound() && !to_index(s, v, size)) return Value::error();
    std::string out;
    int64_t column = 0;
    std::string_view h = P::view(a[0]);
    for (size_t i = 0; i < h.size(); i += unit_size(h, i)) {
      poll_interrupt(s);
      if (h[i] == '\t') {
        if (size <= 0) continue;
        int64_t n = size - column % size;
        if (n > static_cast<int64_t>(kMostText)) return raise_memory_error(s);
        append_fill(out, static_cast<size_t>(n), ' ');
        if (out.size() > kMostText) return raise_memory_error(s);
        column += n;
      } else {
        column = h[i] == '\n' || h[i] == '\r' ? 0 : column + 1;
        out += h.substr(i, unit_size(h, i));
      }
    }
    return P::make(s, a[0], out);
  }
};

}  // namespace ouro::runtime
