// ouro.native.random    Twister(), entropy(count), sha512(message): what module random stands on (python/random.ouro)
//
// A Twister holds a Mersenne twister (mersenne_twister.h), seeded by the system until its `seed` is called.
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/mersenne_twister.h"
#include "stdlib/native/sha512.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

struct TwisterClass {
  Value type;
};

MersenneTwister& twister_of(const Args& a) { return *static_cast<MersenneTwister*>(a[0].as<Opaque>()->data.get()); }

// seed(n): by the 32-bit words of |n|, the lowest first.
Value m_seed(Session& s, const Args& a) {
  OURO_TRY(n, to_index_value(s, a[1]));
  OURO_TRY(magnitude, int_abs(s, n));
  const size_t words = std::max<size_t>(1, (int_bit_length(magnitude) + 31) / 32);
  std::string bytes;
  require_memory(8 * words);
  if (!int_to_bytes(magnitude, 4 * words, false, bytes)) return raise_value_error(s, "the seed is no magnitude");
  CountedVector<uint32_t> key(words);
  for (size_t i = 0; i < words; ++i)
    for (size_t b = 0; b < 4; ++b)
      key[i] |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[bytes.size() - 1 - 4 * i - b])) << 8 * b;
  twister_of(a).seed(key);
  return Value::none();
}

Value m_random(Session& s, const Args& a) {
  if (!takes_none(s, a, "Random.random")) return Value::error();
  return Value::floating(twister_of(a).next_double());
}
Value one_random(Session&, const Value& self) {
  return Value::floating(static_cast<MersenneTwister*>(self.as<Opaque>()->data.get())->next_double());
}

// An int of `bits` random bits, the low words first; the last word gives its highest bits.
Value random_bits(Session& s, MersenneTwister& t, size_t bits) {
  if (bits == 0) return Value::integer(0);
  if (bits <= 32) return Value::integer(t.next() >> (32 - bits));
  if (bits <= 64) {
    const uint64_t low = t.next();
    return int_from_u64(static_cast<uint64_t>(t.next() >> (64 - bits)) << 32 | low);
  }
  const size_t words = (bits + 31) / 32;
  CountedText bytes(4 * words, '\0');  // the highest first
  uint32_t polls = 0;
  for (size_t i = 0; i < words; ++i) {
    uint32_t word = t.next();
    if (i + 1 == words && bits % 32) word >>= 32 - bits % 32;
    for (size_t b = 0; b < 4; ++b) bytes[bytes.size() - 1 - 4 * i - b] = static_cast<char>(word >> 8 * b);
    poll_interrupt(s, polls);
  }
  return int_from_bytes(s, bytes, false);
}

Value m_getrandbits(Session& s, const Args& a) {
  if (!takes_one(s, a, "Random.getrandbits")) return Value::error();
  OURO_TRY(k, to_index_value(s, a[1]));
  if (!is_word(k) || word_of(k) != static_cast<int32_t>(word_of(k)))
    return raise_error(s, ExcKind::OverflowError, "Python int too large to convert to C int");
  const int64_t bits = word_of(k);
  if (bits < 0) return raise_value_error(s, "number of bits must be non-negative");
  return random_bits(s, twister_of(a), static_cast<size_t>(bits));
}

// below(n): one of 0 to n - 1, n > 0; draws of as many bits as n has until one is below it.
Value m_below(Session& s, const Args& a) {
  OURO_TRY(n, to_index_value(s, a[1]));
  if (int_sign(n) <= 0) return raise_value_error(s, "below(): n is not positive");
  const size_t bits = int_bit_length(n);
  for (;;) {
    OURO_TRY(r, random_bits(s, twister_of(a), bits));
    if (int_compare(r, n) < 0) return r;
    poll_interrupt(s);
  }
}

// state() → the 624 words and the index of the next, as a tuple.
Value m_state(Session&, const Args& a) {
  const MersenneTwister& t = twister_of(a);
  Value out = alloc_tuple(MersenneTwister::kWords + 1);
  Tuple& items = *out.as<Tuple>();
  for (size_t i = 0; i < MersenneTwister::kWords; ++i) items[i] = Value::integer(t.words()[i]);
  items[MersenneTwister::kWords] = Value::integer(static_cast<int64_t>(t.index()));
  return out;
}
Value m_set_state(Session& s, const Args& a) {
  Tuple* state = cast<Tuple>(a[1]);
  if (!state) return raise_type_error(s, "state vector must be a tuple");
  if (state->size != MersenneTwister::kWords + 1) return raise_value_error(s, "state vector is the wrong size");
  std::array<uint32_t, MersenneTwister::kWords> words;
  for (size_t i = 0; i <= MersenneTwister::kWords; ++i) {
    const Value v = unwrap((*state)[i]);
    if (!is_int_value(v)) return raise_type_error(s, "an integer is required");
    if (i == MersenneTwister::kWords && int_sign(v) < 0) return raise_value_error(s, "invalid state");
    if (int_sign(v) < 0) return raise_error(s, ExcKind::OverflowError, "can't convert negative value to unsigned int");
    if (!is_word(v))
      return raise_error(s, ExcKind::OverflowError, "Python int too large to convert to C unsigned long");
    if (i < MersenneTwister::kWords) {
      words[i] = static_cast<uint32_t>(word_of(v));
      continue;
    }
    if (word_of(v) > static_cast<int64_t>(MersenneTwister::kWords)) return raise_value_error(s, "invalid state");
    twister_of(a).set_state(words, static_cast<size_t>(word_of(v)));
  }
  return Value::none();
}

constexpr NativeDef kMethods[] = {
    {.name = "seed", .params = "n, /", .fn = m_seed, .doc = "Starts again, from the magnitude of an int."},
    {.name = "random",
     .fn = m_random,
     .doc = "random() -> x in the interval [0, 1).",
     .effect = NativeEffect::hidden,
     .gives = NativeGives::floating,
     .one = one_random},
    {.name = "getrandbits",
     .fn = m_getrandbits,
     .doc = "getrandbits(k) -> x.  Generates an int with k random bits.",
     .effect = NativeEffect::hidden,
     .gives = NativeGives::integer},
    {.name = "below",
     .params = "n, /",
     .fn = m_below,
     .doc = "One of 0 to n - 1.",
     .effect = NativeEffect::hidden,
     .gives = NativeGives::integer},
    {.name = "state", .params = "", .fn = m_state, .doc = "The state as a tuple of 625 ints."},
    {.name = "set_state", .params = "state, /", .fn = m_set_state, .doc = "Goes on from what state() gave."},
};
constexpr TypeSlots kSlots{};
const TypeDef kTwisterDef{.name = "Twister",
                          .kind = ObjectKind::opaque,
                          .slots = &kSlots,
                          .methods = kMethods,
                          .subclassable = false,
                          .module = "ouro.native.random"};

Value f_twister(Session& s, const Args& a) {
  if (!takes_none(s, a, "Twister", 0)) return Value::error();
  Value& type = s.state<TwisterClass>().type;
  if (type.is_unbound()) type = make_late_type(s, kTwisterDef);
  uint32_t key[4];
  if (getrandom(key, sizeof key, 0) != sizeof key) return raise_os_error(s, errno);
  auto twister = std::make_shared<MersenneTwister>();
  twister->seed(key);
  return make_opaque(type.as<Type>(), std::move(twister));
}

Value f_entropy(Session& s, const Args& a) {
  int64_t n;
  if (!to_index(s, a[0], n)) return Value::error();
  if (n < 0) return raise_value_error(s, "negative argument not allowed");
  CountedText raw(static_cast<size_t>(n), '\0');
  for (size_t at = 0; at < raw.size();) {
    poll_interrupt(s);
    const ssize_t got = getrandom(raw.data() + at, std::min(raw.size() - at, size_t{1} << 20), 0);
    if (got < 0 && errno != EINTR) return raise_os_error(s, errno);
    if (got > 0) at += static_cast<size_t>(got);
  }
  return make_bytes(raw);
}

Value f_sha512(Session& s, const Args& a) {
  Bytes* message = cast<Bytes>(a[0]);
  if (!message) return raise_type_error(s, "a bytes object is required, not '%s'", type_name(s, a[0]).c_str());
  const auto digest = sha512(message->view());
  return make_bytes({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

constexpr NativeDef kFunctions[] = {
    {.name = "Twister", .fn = f_twister, .doc = "A Mersenne twister, seeded by the system."},
    {.name = "entropy", .params = "count, /", .fn = f_entropy, .doc = "As many bytes of the system's random numbers."},
    {.name = "sha512",
     .params = "message, /",
     .fn = f_sha512,
     .doc = "The 64 bytes of a message's SHA-512 digest.",
     .effect = NativeEffect::pure},
};

}  // namespace

const NativeModule kRandomModule{.name = "ouro.native.random", .functions = kFunctions};

}  // namespace ouro::stdlib
