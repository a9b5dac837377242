#include "runtime/machine/buffer.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/machine/client.h"
#include "runtime/machine/device.h"
#include "support/per_thread.h"

namespace ouro::runtime {

namespace {

// Size classes: powers of two from 64 bytes, each in four steps. Kept per thread, up to a bound.
constexpr int kBins = 4 * 42;
constexpr size_t kKeepOfHost = size_t{256} << 20;

int bin_of(size_t bytes, size_t& rounded) {
  if (bytes <= 64) return rounded = 64, 0;
  int p = 63 - __builtin_clzll(bytes - 1);  // 2^p <= bytes - 1 < 2^(p+1)
  size_t step = size_t{1} << (p - 2);
  size_t k = (bytes - 1 - (size_t{1} << p)) / step;  // 0..3
  rounded = (size_t{1} << p) + (k + 1) * step;
  return (p - 6) * 4 + static_cast<int>(k) + 1;
}

struct BufferCache {
  Buffer* bins[kBins] = {};  // linked by `owner`
  size_t kept = 0;           // bytes; nobody is charged for them
  ~BufferCache() { trim(); }
  void trim() {
    for (Buffer*& b : bins)
      while (b) {
        Buffer* next = static_cast<Buffer*>(b->owner);
        std::free(b->data);
        delete b;
        b = next;
      }
    kept = 0;
  }
};
using Cache = support::PerThread<BufferCache>;

// The client that this thread serves is charged for a buffer's memory from allocate_buffer() on until it is given up.
bool charge(size_t bytes) {
  Client* c = current_client();
  return !c || c->memory.try_charge(bytes);
}
void release(size_t bytes) {
  if (Client* c = current_client()) c->memory.release(bytes);
}
void free_data(Buffer* b) {
  size_t rounded;
  bin_of(b->bytes, rounded);
  release(rounded);
  std::free(b->data);
}

size_t most_kept() {
  const Client* c = current_client();
  return c && c->memory.limit() ? std::min(kKeepOfHost, c->memory.limit() / 8) : kKeepOfHost;
}

}  // namespace

Buffer* allocate_buffer(size_t bytes) {
  size_t rounded;
  if (bytes > (size_t{1} << 46)) return nullptr;
  int bin = bin_of(bytes, rounded);
  if (!charge(rounded)) return nullptr;
  BufferCache& cache = Cache::get();
  if (Buffer* b = cache.bins[bin]) {
    cache.bins[bin] = static_cast<Buffer*>(b->owner);
    cache.kept -= rounded;
    b->owner = nullptr;
    b->refs = 1;
    b->bytes = bytes;
    return b;
  }
  void* data = nullptr;
  if (posix_memalign(&data, 64, rounded) != 0) {
    cache.trim();
    if (posix_memalign(&data, 64, rounded) != 0) return release(rounded), nullptr;
  }
  auto* b = new Buffer;
  b->bin = static_cast<uint32_t>(bin);
  b->bytes = bytes;
  b->data = data;
  return b;
}

void release_buffer(Buffer* b) {
  if (--b->refs) return;
  if (b->device) [[unlikely]]
    drop_device_copy(b);
  if (b->release) return b->release(b);
  if (b->bin == kUnbinned) {
    std::free(b->data);
    delete b;
    return;
  }
  size_t rounded;
  bin_of(b->bytes, rounded);
  BufferCache& cache = Cache::get();
  if (cache.kept + rounded > most_kept()) {
    free_data(b);
    delete b;
    return;
  }
  release(rounded);
  b->owner = cache.bins[b->bin];
  cache.bins[b->bin] = b;
  cache.kept += rounded;
}

void drop_host_copy(Buffer* b) {
  if (b->bin == kUnbinned)
    std::free(b->data);
  else
    free_data(b);
  b->data = nullptr;
  b->bin = kUnbinned;
}

void trim_buffer_cache() { Cache::get().trim(); }

}  // namespace ouro::runtime
