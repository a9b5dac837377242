#include "support/intern.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "support/arena.h"
#include "support/diag.h"

namespace ouro {
inline namespace support {
namespace {

// Texts live in chunks that double and never move, so a reader needs only the chunk's pointer:
// chunk k holds 1024 << k.
constexpr uint32_t kFirstChunk = 1024;
constexpr int kChunks = 22;

struct Table {
  std::shared_mutex mutex;
  std::unordered_map<std::string_view, uint32_t> ids;
  std::atomic<std::string_view*> chunks[kChunks] = {};
  std::atomic<uint32_t> count{1};  // id 0 is no symbol
  Arena arena;
};

struct Slot {
  int chunk;
  uint32_t index;
};

Slot slot_of(uint32_t id) {
  uint32_t n = id / kFirstChunk + 1;
  int chunk = 31 - __builtin_clz(n);
  return {chunk, id - kFirstChunk * ((1u << chunk) - 1)};
}

Table& table() {
  static Table* t = new Table;  // never destroyed: symbols outlive static destructors
  return *t;
}

}  // namespace

std::string_view Symbol::text() const {
  if (id_ == 0) return std::string_view("", 0);
  Slot s = slot_of(id_);
  return table().chunks[s.chunk].load(std::memory_order_acquire)[s.index];
}

Symbol find_symbol(std::string_view text) {
  Table& t = table();
  std::shared_lock lock(t.mutex);
  auto it = t.ids.find(text);
  return it == t.ids.end() ? Symbol() : Symbol::from_id(it->second);
}

Symbol intern(std::string_view text) {
  if (Symbol s = find_symbol(text)) return s;
  Table& t = table();
  std::unique_lock lock(t.mutex);
  if (auto it = t.ids.find(text); it != t.ids.end()) return Symbol::from_id(it->second);
  uint32_t id = t.count.load(std::memory_order_relaxed);
  Slot s = slot_of(id);
  if (s.chunk >= kChunks) ouro_bug("too many names");
  std::string_view* chunk = t.chunks[s.chunk].load(std::memory_order_relaxed);
  if (!chunk) {
    chunk = new std::string_view[size_t{kFirstChunk} << s.chunk];
    t.chunks[s.chunk].store(chunk, std::memory_order_release);
  }
  chunk[s.index] = t.arena.copy_text(text);
  t.ids.emplace(chunk[s.index], id);
  t.count.store(id + 1, std::memory_order_release);
  return Symbol::from_id(id);
}

}  // namespace support
}  // namespace ouro
