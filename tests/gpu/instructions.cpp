#include "instructions.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "block.h"

namespace gpu {
namespace {

struct Pred {
  bool v;
};

template <class T>
T get(uint64_t slot) {
  if constexpr (std::is_same_v<T, Pred>) return {(slot & 1) != 0};
  T v;
  std::memcpy(&v, &slot, sizeof v);
  return v;
}
template <class T>
uint64_t bits(T v) {
  if constexpr (std::is_same_v<T, Pred>) return v.v;
  uint64_t slot = 0;
  std::memcpy(&slot, &v, sizeof v);
  return slot;
}

template <class F>
void each(Mask who, F&& f) {
  if (who == ~Mask{0})
    for (size_t lane = 0; lane < kLanes; ++lane) f(lane);
  else
    for (; who; who &= who - 1) f(static_cast<size_t>(std::countr_zero(who)));
}

// result = Op(operands of type T), of type R.
template <class R, class T, auto Op>
void map1(Block& b, const Instruction& i, Mask who) {
  Slot &d = b.slot(i.r[0]), &x = b.slot(i.r[1]);
  each(who, [&](size_t l) { d[l] = bits<R>(Op(get<T>(x[l]))); });
}
template <class R, class T, auto Op>
void map2(Block& b, const Instruction& i, Mask who) {
  Slot &d = b.slot(i.r[0]), &x = b.slot(i.r[1]), &y = b.slot(i.r[2]);
  each(who, [&](size_t l) { d[l] = bits<R>(Op(get<T>(x[l]), get<T>(y[l]))); });
}
template <class R, class T, auto Op>
void map3(Block& b, const Instruction& i, Mask who) {
  Slot &d = b.slot(i.r[0]), &x = b.slot(i.r[1]), &y = b.slot(i.r[2]), &z = b.slot(i.r[3]);
  each(who, [&](size_t l) { d[l] = bits<R>(Op(get<T>(x[l]), get<T>(y[l]), get<T>(z[l]))); });
}
template <class T>
void select(Block& b, const Instruction& i, Mask who) {
  Slot &d = b.slot(i.r[0]), &x = b.slot(i.r[1]), &y = b.slot(i.r[2]), &p = b.slot(i.r[3]);
  each(who, [&](size_t l) { d[l] = p[l] & 1 ? x[l] : y[l]; });
}
// The amount is 32 bits wide and not taken modulo the width.
template <class T, bool Left>
void shift(Block& b, const Instruction& i, Mask who) {
  Slot &d = b.slot(i.r[0]), &x = b.slot(i.r[1]), &n = b.slot(i.r[2]);
  constexpr uint32_t kBits = 8 * sizeof(T);
  each(who, [&](size_t l) {
    auto v = get<T>(x[l]);
    auto by = get<uint32_t>(n[l]);
    T beyond = !Left && v < T{0} ? static_cast<T>(-1) : T{0};
    d[l] = bits<T>(by >= kBits ? beyond : static_cast<T>(Left ? v << by : v >> by));
  });
}

template <class T>
void load(Block& b, const Instruction& i, Mask who) {
  each(who, [&](size_t l) {
    char* p = b.address(i, static_cast<int>(l), sizeof(T) * i.parts);
    for (size_t n = 0; n < i.parts; ++n) {
      T v;
      std::memcpy(&v, p + n * sizeof(T), sizeof v);
      b.slot(i.r[n])[l] =
          std::is_signed_v<T> && std::is_integral_v<T> ? static_cast<uint64_t>(static_cast<int64_t>(v)) : bits<T>(v);
    }
  });
}
template <class T>
void store(Block& b, const Instruction& i, Mask who) {
  each(who, [&](size_t l) {
    char* p = b.address(i, static_cast<int>(l), sizeof(T) * i.parts);
    for (size_t n = 0; n < i.parts; ++n) {
      auto v = get<T>(b.slot(i.r[n])[l]);
      std::memcpy(p + n * sizeof(T), &v, sizeof v);
    }
  });
}
// mov between a register and the parts of a vector, the lowest first: {%rs1, %rs2} = %r1 and the other way.
template <class T>
void pack(Block& b, const Instruction& i, Mask who) {
  Slot& d = b.slot(i.r[4]);
  const size_t width = 8 * sizeof(T) / i.parts;
  each(who, [&](size_t l) {
    uint64_t all = 0;
    for (size_t n = 0; n < i.parts; ++n) all |= (b.slot(i.r[n])[l] & ((uint64_t{1} << width) - 1)) << (n * width);
    d[l] = bits<T>(static_cast<T>(all));
  });
}
template <class T>
void unpack(Block& b, const Instruction& i, Mask who) {
  Slot& x = b.slot(i.r[4]);
  const size_t width = 8 * sizeof(T) / i.parts;
  each(who, [&](size_t l) {
    const uint64_t all = get<T>(x[l]);
    for (size_t n = 0; n < i.parts; ++n) b.slot(i.r[n])[l] = all >> (n * width) & ((uint64_t{1} << width) - 1);
  });
}
template <class T>
void load_param(Block& b, const Instruction& i, Mask who) {
  T v;
  std::memcpy(&v, b.parameters + i.offset, sizeof v);
  Slot& d = b.slot(i.r[0]);
  each(who, [&](size_t l) { d[l] = bits<T>(v); });
}

// ---- conversions
template <class R, class T>
R convert(T v) {
  if constexpr (std::is_floating_point_v<T> && std::is_integral_v<R>) {  // saturates; NaN is 0
    if (std::isnan(v)) return 0;
    constexpr T kLow = static_cast<T>(std::numeric_limits<R>::min());
    T high = std::ldexp(T{1}, std::numeric_limits<R>::digits);
    if (v < kLow) return std::numeric_limits<R>::min();
    return v >= high ? std::numeric_limits<R>::max() : static_cast<R>(v);
  } else {
    return static_cast<R>(v);
  }
}
// An integer result is as wide as its register says: signs go all the way.
template <class R, class T, auto Round>
void cvt(Block& b, const Instruction& i, Mask who) {
  Slot &d = b.slot(i.r[0]), &x = b.slot(i.r[1]);
  each(who, [&](size_t l) {
    R v = convert<R>(Round(get<T>(x[l])));
    if constexpr (std::is_integral_v<R> && std::is_signed_v<R>)
      d[l] = static_cast<uint64_t>(static_cast<int64_t>(v));
    else
      d[l] = bits<R>(v);
  });
}

constexpr auto same = [](auto x) { return x; };
constexpr auto near = [](auto x) { return std::nearbyint(x); };
constexpr auto down = [](auto x) { return std::floor(x); };
constexpr auto up = [](auto x) { return std::ceil(x); };
constexpr auto zero = [](auto x) { return std::trunc(x); };

// ---- the table
using Table = std::unordered_map<std::string, Step>;

template <class T>
constexpr auto wrapped(T x) {  // arithmetic that wraps
  if constexpr (sizeof(T) < 4)
    return static_cast<uint32_t>(x);
  else
    return static_cast<std::make_unsigned_t<T>>(x);
}

template <class T>
void add_integer(Table& t, const std::string& type) {
  t["add." + type] = map2<T, T, [](T x, T y) { return static_cast<T>(wrapped(x) + wrapped(y)); }>;
  t["sub." + type] = map2<T, T, [](T x, T y) { return static_cast<T>(wrapped(x) - wrapped(y)); }>;
  t["mul.lo." + type] = map2<T, T, [](T x, T y) { return static_cast<T>(wrapped(x) * wrapped(y)); }>;
  t["mad.lo." + type] = map3<T, T, [](T x, T y, T z) { return static_cast<T>(wrapped(x) * wrapped(y) + wrapped(z)); }>;
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  t["mul.hi." + type] = map2<T, T, [](T x, T y) {
    return static_cast<T>((static_cast<Wide>(x) * static_cast<Wide>(y)) >> (8 * sizeof(T)));
  }>;
  t["div." + type] = map2<T, T, [](T x, T y) {
    if (y == 0) return static_cast<T>(-1);
    return static_cast<T>(static_cast<Wide>(x) / static_cast<Wide>(y));
  }>;
  t["rem." + type] = map2<T, T, [](T x, T y) {
    if (y == 0) return x;
    return static_cast<T>(static_cast<Wide>(x) % static_cast<Wide>(y));
  }>;
  t["min." + type] = map2<T, T, [](T x, T y) { return x < y ? x : y; }>;
  t["max." + type] = map2<T, T, [](T x, T y) { return x < y ? y : x; }>;
  t["neg." + type] = map1<T, T, [](T x) { return static_cast<T>(0 - wrapped(x)); }>;
  t["abs." + type] = map1<T, T, [](T x) { return x < 0 ? static_cast<T>(0 - wrapped(x)) : x; }>;
  t["shr." + type] = shift<T, false>;
  t["setp.eq." + type] = map2<Pred, T, [](T x, T y) { return Pred{x == y}; }>;
  t["setp.ne." + type] = map2<Pred, T, [](T x, T y) { return Pred{x != y}; }>;
  for (const char* lower : {"setp.lt.", "setp.lo."})
    t[lower + type] = map2<Pred, T, [](T x, T y) { return Pred{x < y}; }>;
  for (const char* lower : {"setp.le.", "setp.ls."})
    t[lower + type] = map2<Pred, T, [](T x, T y) { return Pred{x <= y}; }>;
  for (const char* higher : {"setp.gt.", "setp.hi."})
    t[higher + type] = map2<Pred, T, [](T x, T y) { return Pred{(x > y)}; }>;
  for (const char* higher : {"setp.ge.", "setp.hs."})
    t[higher + type] = map2<Pred, T, [](T x, T y) { return Pred{x >= y}; }>;
}

// Bits from `position` on, `length` of them, sign-extended where T has a sign.
template <class T>
T extract(T x, T position, T length) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned kBits = 8 * sizeof(T);
  unsigned from = static_cast<unsigned>(position) & 255, n = static_cast<unsigned>(length) & 255;
  if (n == 0) return 0;
  U field = from >= kBits ? U{0} : static_cast<U>(x) >> from;
  if (std::is_signed_v<T> && from + n > kBits && x < 0) {  // beyond the end stands the sign
    field = from >= kBits ? ~U{0} : field | ~(~U{0} >> from);
    from = 0;
  }
  if (n >= kBits) return static_cast<T>(field);
  U mask = (U{1} << n) - 1;
  field &= mask;
  if (std::is_signed_v<T> && (field >> (n - 1)) & 1) field |= ~mask;
  return static_cast<T>(field);
}

template <class T>
void add_fields(Table& t, const std::string& type) {
  t["bfe." + type] = map3<T, T, extract<T>>;
}

template <class T, class Wide>
void add_widening(Table& t, const std::string& type) {
  t["mul.wide." + type] =
      map2<Wide, T, [](T x, T y) { return static_cast<Wide>(static_cast<Wide>(x) * static_cast<Wide>(y)); }>;
}

template <class T>
void add_bits(Table& t, const std::string& type) {
  t["and." + type] = map2<T, T, [](T x, T y) { return static_cast<T>(x & y); }>;
  t["or." + type] = map2<T, T, [](T x, T y) { return static_cast<T>(x | y); }>;
  t["xor." + type] = map2<T, T, [](T x, T y) { return static_cast<T>(x ^ y); }>;
  t["setp.eq." + type] = map2<Pred, T, [](T x, T y) { return Pred{x == y}; }>;
  t["setp.ne." + type] = map2<Pred, T, [](T x, T y) { return Pred{x != y}; }>;
  t["not." + type] = map1<T, T, [](T x) { return static_cast<T>(~x); }>;
  t["shl." + type] = shift<T, true>;
  t["shr." + type] = shift<T, false>;
  t["selp." + type] = select<T>;
  t["mov." + type] = map1<T, T, same>;
  t["ld." + type] = load<T>;
  t["st." + type] = store<T>;
  t["ld.param." + type] = load_param<T>;
}

template <class T>
void add_moves(Table& t, const std::string& type) {
  t["mov." + type] = map1<T, T, same>;
  t["selp." + type] = select<T>;
  t["ld." + type] = load<T>;
  t["st." + type] = store<T>;
  t["ld.param." + type] = load_param<T>;
}

// Of a NaN and a number, the number; -0 is less than 0.
template <class T>
T least(T x, T y) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  return x == y ? (std::signbit(x) ? x : y) : x < y ? x : y;
}
template <class T>
T most(T x, T y) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  return x == y ? (std::signbit(x) ? y : x) : x > y ? x : y;
}

template <class T>
void add_float(Table& t, const std::string& type) {
  t["add.rn." + type] = map2<T, T, [](T x, T y) { return x + y; }>;
  t["sub.rn." + type] = map2<T, T, [](T x, T y) { return x - y; }>;
  t["mul.rn." + type] = map2<T, T, [](T x, T y) { return x * y; }>;
  t["div.rn." + type] = map2<T, T, [](T x, T y) { return x / y; }>;
  t["fma.rn." + type] = map3<T, T, [](T x, T y, T z) { return std::fma(x, y, z); }>;
  t["sqrt.rn." + type] = map1<T, T, [](T x) { return std::sqrt(x); }>;
  t["rcp.rn." + type] = map1<T, T, [](T x) { return T{1} / x; }>;
  t["neg." + type] = map1<T, T, [](T x) { return -x; }>;
  t["abs." + type] = map1<T, T, [](T x) { return std::fabs(x); }>;
  t["copysign." + type] = map2<T, T, [](T x, T y) { return std::copysign(y, x); }>;  // the sign of the first
  t["min." + type] = map2<T, T, least<T>>;
  t["max." + type] = map2<T, T, most<T>>;
  t["min.NaN." + type] = map2<T, T, [](T x, T y) { return std::isnan(x) || std::isnan(y) ? x + y : least(x, y); }>;
  t["max.NaN." + type] = map2<T, T, [](T x, T y) { return std::isnan(x) || std::isnan(y) ? x + y : most(x, y); }>;
  t["setp.eq." + type] = map2<Pred, T, [](T x, T y) { return Pred{x == y}; }>;
  t["setp.ne." + type] = map2<Pred, T, [](T x, T y) { return Pred{(x < y || x > y)}; }>;
  t["setp.lt." + type] = map2<Pred, T, [](T x, T y) { return Pred{x < y}; }>;
  t["setp.le." + type] = map2<Pred, T, [](T x, T y) { return Pred{x <= y}; }>;
  t["setp.gt." + type] = map2<Pred, T, [](T x, T y) { return Pred{(x > y)}; }>;
  t["setp.ge." + type] = map2<Pred, T, [](T x, T y) { return Pred{x >= y}; }>;
  t["setp.equ." + type] = map2<Pred, T, [](T x, T y) { return Pred{!(x < y || x > y)}; }>;
  t["setp.neu." + type] = map2<Pred, T, [](T x, T y) { return Pred{!(x == y)}; }>;
  t["setp.ltu." + type] = map2<Pred, T, [](T x, T y) { return Pred{!(x >= y)}; }>;
  t["setp.leu." + type] = map2<Pred, T, [](T x, T y) { return Pred{!((x > y))}; }>;
  t["setp.gtu." + type] = map2<Pred, T, [](T x, T y) { return Pred{!(x <= y)}; }>;
  t["setp.geu." + type] = map2<Pred, T, [](T x, T y) { return Pred{!(x < y)}; }>;
  t["setp.num." + type] = map2<Pred, T, [](T x, T y) { return Pred{!std::isnan(x) && !std::isnan(y)}; }>;
  t["setp.nan." + type] = map2<Pred, T, [](T x, T y) { return Pred{std::isnan(x) || std::isnan(y)}; }>;
  t["cvt.rni." + type + "." + type] = cvt<T, T, near>;
  t["cvt.rmi." + type + "." + type] = cvt<T, T, down>;
  t["cvt.rpi." + type + "." + type] = cvt<T, T, up>;
  t["cvt.rzi." + type + "." + type] = cvt<T, T, zero>;
  add_moves<T>(t, type);
}

template <class R, class T>
void add_conversion(Table& t, const std::string& to, const std::string& from) {
  std::string types = "." + to + "." + from;
  if constexpr (std::is_integral_v<R> && std::is_floating_point_v<T>) {
    t["cvt.rni" + types] = cvt<R, T, near>;
    t["cvt.rmi" + types] = cvt<R, T, down>;
    t["cvt.rpi" + types] = cvt<R, T, up>;
    t["cvt.rzi" + types] = cvt<R, T, zero>;
  } else if constexpr (std::is_floating_point_v<R> && (std::is_integral_v<T> || sizeof(R) < sizeof(T))) {
    t["cvt.rn" + types] = cvt<R, T, same>;
  } else {
    t["cvt" + types] = cvt<R, T, same>;
  }
}

template <class R>
void add_conversions(Table& t, const std::string& to) {
  add_conversion<R, uint8_t>(t, to, "u8");
  add_conversion<R, int8_t>(t, to, "s8");
  add_conversion<R, uint16_t>(t, to, "u16");
  add_conversion<R, int16_t>(t, to, "s16");
  add_conversion<R, uint32_t>(t, to, "u32");
  add_conversion<R, int32_t>(t, to, "s32");
  add_conversion<R, uint64_t>(t, to, "u64");
  add_conversion<R, int64_t>(t, to, "s64");
  add_conversion<R, float>(t, to, "f32");
  add_conversion<R, double>(t, to, "f64");
}

Table make_table() {
  Table t;
  add_integer<uint16_t>(t, "u16");
  add_integer<int16_t>(t, "s16");
  add_integer<uint32_t>(t, "u32");
  add_integer<int32_t>(t, "s32");
  add_integer<uint64_t>(t, "u64");
  add_integer<int64_t>(t, "s64");
  add_widening<uint16_t, uint32_t>(t, "u16");
  add_widening<int16_t, int32_t>(t, "s16");
  add_widening<uint32_t, uint64_t>(t, "u32");
  add_widening<int32_t, int64_t>(t, "s32");
  add_fields<uint32_t>(t, "u32");
  add_fields<int32_t>(t, "s32");
  add_fields<uint64_t>(t, "u64");
  add_fields<int64_t>(t, "s64");
  add_bits<uint8_t>(t, "b8");
  add_bits<uint16_t>(t, "b16");
  add_bits<uint32_t>(t, "b32");
  add_bits<uint64_t>(t, "b64");
  add_moves<uint8_t>(t, "u8");
  add_moves<int8_t>(t, "s8");
  add_moves<uint16_t>(t, "u16");
  add_moves<int16_t>(t, "s16");
  add_moves<uint32_t>(t, "u32");
  add_moves<int32_t>(t, "s32");
  add_moves<uint64_t>(t, "u64");
  add_moves<int64_t>(t, "s64");
  add_float<float>(t, "f32");
  add_float<double>(t, "f64");
  add_conversions<uint8_t>(t, "u8");
  add_conversions<int8_t>(t, "s8");
  add_conversions<uint16_t>(t, "u16");
  add_conversions<int16_t>(t, "s16");
  add_conversions<uint32_t>(t, "u32");
  add_conversions<int32_t>(t, "s32");
  add_conversions<uint64_t>(t, "u64");
  add_conversions<int64_t>(t, "s64");
  add_conversions<float>(t, "f32");
  add_conversions<double>(t, "f64");
  t["and.pred"] = map2<Pred, Pred, [](Pred x, Pred y) { return Pred{x.v && y.v}; }>;
  t["or.pred"] = map2<Pred, Pred, [](Pred x, Pred y) { return Pred{x.v || y.v}; }>;
  t["xor.pred"] = map2<Pred, Pred, [](Pred x, Pred y) { return Pred{x.v != y.v}; }>;
  t["not.pred"] = map1<Pred, Pred, [](Pred x) { return Pred{!x.v}; }>;
  t["mov.pred"] = map1<Pred, Pred, same>;
  t["selp.pred"] = select<Pred>;
  t["pack.b32"] = pack<uint32_t>;
  t["pack.b64"] = pack<uint64_t>;
  t["unpack.b32"] = unpack<uint32_t>;
  t["unpack.b64"] = unpack<uint64_t>;
  t["clz.b32"] = map1<uint32_t, uint32_t, [](uint32_t x) { return static_cast<uint32_t>(std::countl_zero(x)); }>;
  t["clz.b64"] = map1<uint32_t, uint64_t, [](uint64_t x) { return static_cast<uint32_t>(std::countl_zero(x)); }>;
  t["popc.b32"] = map1<uint32_t, uint32_t, [](uint32_t x) { return static_cast<uint32_t>(std::popcount(x)); }>;
  t["popc.b64"] = map1<uint32_t, uint64_t, [](uint64_t x) { return static_cast<uint32_t>(std::popcount(x)); }>;
  return t;
}

}  // namespace

Step find_step(std::string_view name) {
  static const Table table = make_table();
  auto it = table.find(std::string(name));
  return it == table.end() ? nullptr : it->second;
}

uint32_t bytes_of(std::string_view type) {
  if (type == "pred") return 1;
  if (type.size() < 2 || std::string_view("busf").find(type[0]) == std::string_view::npos) return 0;
  std::string_view width = type.substr(1);
  return width == "8" ? 1 : width == "16" ? 2 : width == "32" ? 4 : width == "64" ? 8 : 0;
}

}  // namespace gpu
