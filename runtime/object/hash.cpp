#include "runtime/text/hash.h"

#include "runtime/object/alloc.h"
#include "runtime/object/dict.h"

namespace ouro::runtime {

int64_t hash_bytes(std::string_view raw) { return raw.empty() ? 0 : text::hash_bytes(raw.data(), raw.size()); }

int64_t str_hash(Str* s) {
  if (s->hash != 0 || s->size == 0) return s->hash;
  str_length(s);
  return s->hash = text::hash_str(s->view(), s->ascii());
}

int64_t hash_int(int64_t i) { return text::hash_int(i); }
int64_t hash_float(double f) { return text::hash_float(f); }

}  // namespace ouro::runtime
