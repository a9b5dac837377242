#include "jit/cache/code_cache.h"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "ir/loops/loop_ir.h"
#include "ir/print.h"
#include "jit/cache/build_id.h"
#include "support/byte_size.h"
#include "support/trace.h"

namespace ouro::jit {
namespace {

using runtime::KernelModuleRef;

Digest key_of(const runtime::Backend& backend, std::span<const ir::loops::Kernel* const> kernels) {
  std::vector<std::string> texts = {build_id(), std::string(backend.name()), backend.target_key()};
  for (const auto* k : kernels) texts.push_back(print(*k));
  return digest_of(std::vector<std::string_view>(texts.begin(), texts.end()));
}

Digest slower_key(const ir::Function& typed, std::string_view plan) {
  return digest_of({build_id(), "slower than the interpreter", plan, ir::print(typed)});
}

// Of a set-user-ID program's caller nothing is believed.
std::string_view variable(const char* name) {
  const char* v = secure_getenv(name);
  return v ? v : "";
}

}  // namespace

bool read_cache_switch(std::string_view text, bool& on) {
  on = text == "on";
  return on || text == "off";
}

bool read_cache_environment(CacheWish& wish, std::string& error) {
  if (std::string_view text = variable("OURO_CACHE"); !text.empty()) {
    bool on = false;
    if (read_cache_switch(text, on))
      wish.on = on;
    else
      error = fmt::format("OURO_CACHE is on or off, not '{}'", text);
  }
  if (std::string_view text = variable("OURO_CACHE_BYTES"); !text.empty()) {
    uint64_t bytes = 0;
    if (read_byte_size(text, bytes))
      wish.bytes = bytes;
    else
      error = fmt::format("OURO_CACHE_BYTES is a number of bytes (64M, 1G), not '{}'", text);
  }
  return error.empty();
}

uint64_t cache_limit(const CacheWish& wish, bool on_by_default) {
  return wish.on.value_or(on_by_default) ? wish.bytes.value_or(kDefaultCacheBytes) : 0;
}

std::string cache_folder() {
  // A relative path is no path (XDG Base Directory Specification).
  if (std::string_view base = variable("XDG_CACHE_HOME"); base.starts_with('/'))
    return std::string(base) + "/ouro/code";
  if (std::string_view home = variable("HOME"); home.starts_with('/')) return std::string(home) + "/.cache/ouro/code";
  return {};
}

std::unique_ptr<DiskStore> open_cache(uint64_t limit, DiskStore::Missing missing, std::string& why) {
  const std::string folder = cache_folder();
  if (folder.empty()) {
    why = "neither XDG_CACHE_HOME nor HOME names a folder";
    return nullptr;
  }
  // Such a build cannot be told from another one: what that compiled must not be run.
  if (build_id().empty()) {
    why = "this build of Ouro has no build ID";
    return nullptr;
  }
  return DiskStore::open(folder, limit, missing, why);
}

DiskStore* CodeCache::store() {
  std::call_once(opened_, [this] {
    if (limit_ == 0) return;
    std::string why;
    store_ = open_cache(limit_, DiskStore::Missing::make, why);
    if (!store_) log_event("cache", why);
  });
  return store_.get();
}

KernelModuleRef CodeCache::compile(runtime::Backend& backend, std::span<const ir::loops::Kernel* const> kernels,
                                   std::string& error, bool& loaded, int threads) {
  DiskStore* disk = store();
  Digest key{};
  if (disk) {
    Timer timer("kernels: load");
    key = key_of(backend, kernels);
    std::string bytes, unfit;
    KernelModuleRef module = disk->load(key, bytes) ? backend.load(bytes, unfit) : nullptr;
    if (module && module->count() == kernels.size()) {
      backend.loaded(*module, kernels);
      ++loaded_;
      loaded = true;
      return module;
    }
    if (!bytes.empty()) disk->remove(key);
  }
  loaded = false;
  KernelModuleRef module = backend.compile(kernels, error, nullptr, threads);
  if (!module) return nullptr;
  ++compiled_;
  if (disk)
    if (std::string bytes = backend.save(*module); !bytes.empty()) (void)disk->store(key, bytes);
  return module;
}

std::string CodeCache::load_text(const Digest& key) {
  std::string found;
  DiskStore* disk = store();
  return disk && disk->load(key, found) ? found : std::string();
}

void CodeCache::store_text(const Digest& key, std::string_view text) {
  if (DiskStore* disk = store()) (void)disk->store(key, text);
}

bool CodeCache::known_slower(const ir::Function& typed, std::string_view plan) {
  std::string found;
  DiskStore* disk = store();
  return disk && disk->load(slower_key(typed, plan), found);
}

void CodeCache::keep_slower(const ir::Function& typed, std::string_view plan) {
  if (DiskStore* disk = store()) (void)disk->store(slower_key(typed, plan), "slower");
}

}  // namespace ouro::jit
