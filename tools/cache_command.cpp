#include "tools/cache_command.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>

#include <fmt/format.h>

namespace ouro::tools {

using jit::DiskStore;

namespace {

void print_line(const std::string& text) { std::fputs((text + "\n").c_str(), stdout); }

std::string local_time(int64_t seconds) {
  const time_t t = seconds;
  std::tm parts{};
  char text[32];
  localtime_r(&t, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

void show(const std::string& folder, const DiskStore::Contents& c, const jit::CacheWish& wish) {
  const uint64_t limit = jit::cache_limit(wish, true);
  print_line("folder   " + folder);
  print_line(fmt::format("entries  {}", c.entries));
  print_line(limit ? fmt::format("bytes    {} of at most {}", c.bytes, limit) : fmt::format("bytes    {}", c.bytes));
  if (c.newest_use) print_line("used     " + local_time(c.newest_use));
  if (!limit) print_line("off      by the environment");
}

}  // namespace

int cache_command(const std::vector<std::string>& args, const jit::CacheWish& wish) {
  const bool clear = args.size() == 1 && args[0] == "clear";
  if (!args.empty() && !clear) {
    std::fprintf(stderr, "ouro: `ouro cache' shows the cache, `ouro cache clear' empties it; there is no '%s'\n",
                 args[args[0] == "clear" ? 1 : 0].c_str());
    return 2;
  }
  std::string why;
  const std::string folder = jit::cache_folder();
  auto store = jit::open_cache(jit::cache_limit(wish, true), DiskStore::Missing::refuse, why);
  if (!store && (folder.empty() || access(folder.c_str(), F_OK) == 0)) {
    std::fprintf(stderr, "ouro: no disk cache: %s\n", why.c_str());
    return 1;
  }
  if (!clear) {
    show(folder, store ? store->contents() : DiskStore::Contents{}, wish);
    return 0;
  }
  why.clear();
  const DiskStore::Contents gone = store ? store->clear(why) : DiskStore::Contents{};
  print_line(fmt::format("removed {} entries, {} bytes", gone.entries, gone.bytes));
  if (why.empty()) return 0;
  std::fprintf(stderr, "ouro: %s\n", why.c_str());
  return 1;
}

void tell_if_cache_is_refused(uint64_t limit) {
  std::string why;
  if (limit && !jit::open_cache(limit, DiskStore::Missing::make, why))
    std::fprintf(stderr, "ouro: no disk cache: %s\n", why.c_str());
}

}  // namespace ouro::tools
