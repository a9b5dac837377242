// Compiled modules kept on disk, so that the next process with the same kernels loads them instead of compiling.
//
//   kernels of one step ──print──► text ─┐
//   target (CPU features, LLVM), build id ┴─BLAKE3──► key ──DiskStore──► object code ──link──► module
//
// The grain is what Backend::compile() takes: all kernels of one plan. The key is a hash of everything that decides
// the bytes of the code and of nothing else: the loop IR as text (no names, no file, no line, no address), the
// backend's target_key() and the build of Ouro. What the kernels call (leaf functions, folds, memcpy) is found by name
// when a module is linked, so an object holds no address of the process that made it.
//
// The specialised program and the plan are made anew in each process: they hold values of the session, and cost a
// tenth of what code generation does (docs/performance.md).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "jit/cache/disk_store.h"
#include "runtime/machine/backend.h"

namespace ouro::ir {
struct Function;
}
namespace ouro::runtime {
class Session;
}

namespace ouro::jit {

/// What the environment asks for: OURO_CACHE=on|off, OURO_CACHE_BYTES=N (or NK, NM, NG).
struct CacheWish {
  std::optional<bool> on;
  std::optional<uint64_t> bytes;
};
/// False, and `error` in words, when a variable has no sensible value; it then counts as not set.
bool read_cache_environment(CacheWish& wish, std::string& error);
/// "on" or "off".
bool read_cache_switch(std::string_view text, bool& on);

inline constexpr uint64_t kDefaultCacheBytes = uint64_t{256} << 20;

/// What a session takes: 0 where no cache is wanted.
uint64_t cache_limit(const CacheWish& wish, bool on_by_default);

/// $XDG_CACHE_HOME/ouro/code, else ~/.cache/ouro/code; empty when neither can be told.
std::string cache_folder();

/// The user's store. Null, and `why`, when it cannot be used.
std::unique_ptr<DiskStore> open_cache(uint64_t limit, DiskStore::Missing missing, std::string& why);

/// The session keeps at most so many bytes of compiled code on disk, and looks for them there; 0, as it starts: none.
/// Before anything is compiled.
void keep_code(runtime::Session& s, uint64_t bytes);

struct CacheCounters {
  uint64_t loaded = 0;    // modules that were found
  uint64_t compiled = 0;  // modules that a backend compiled
};

/// Of one session; any thread.
class CodeCache {
 public:
  /// `limit` 0: nothing is looked for or kept; modules are compiled and counted.
  explicit CodeCache(uint64_t limit) : limit_(limit) {}

  /// As backend.compile(). `loaded` tells that no compilation was needed.
  runtime::KernelModuleRef compile(runtime::Backend& backend, std::span<const ir::loops::Kernel* const> kernels,
                                   std::string& error, bool& loaded, int threads = 1);
  /// Was this typed program slower than the interpreter in an earlier process, under this plan (plan_text)? Keeps that
  /// it was.
  bool known_slower(const ir::Function& typed, std::string_view plan);
  void keep_slower(const ir::Function& typed, std::string_view plan);
  /// A text that is kept beside the code; empty: there is none.
  std::string load_text(const Digest& key);
  void store_text(const Digest& key, std::string_view text);
  CacheCounters counters() const { return {loaded_.load(), compiled_.load()}; }
  bool on() const { return limit_ > 0; }

 private:
  DiskStore* store();
  const uint64_t limit_;
  std::once_flag opened_;  // at the first compilation: programs that compile nothing touch no folder
  std::unique_ptr<DiskStore> store_;
  std::atomic<uint64_t> loaded_{0}, compiled_{0};
};

}  // namespace ouro::jit
