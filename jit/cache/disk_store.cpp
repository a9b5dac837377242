#include "jit/cache/disk_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ouro::jit {
namespace {

constexpr char kMagic[8] = {'O', 'U', 'R', 'O', 'C', 'O', 'D', 'E'};
constexpr uint32_t kFormat = 1;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // of one entry: more is no entry of ours
constexpr std::string_view kEntryEnd = ".code", kTemporaryEnd = ".tmp", kLock = "lock";
constexpr time_t kAbandonedSeconds = 3600;  // a temporary file that old belongs to nobody

struct Header {
  char magic[8];
  uint32_t format;
  uint32_t reserved;
  Digest key;
  uint64_t length;
  Digest checksum;  // of the bytes behind the header
};
static_assert(sizeof(Header) == 88 && std::has_unique_object_representations_v<Header>);

Header header_of(const Digest& key, std::string_view bytes) {
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.format = kFormat;
  h.key = key;
  h.length = bytes.size();
  h.checksum = digest_of({bytes});
  return h;
}

struct File {
  int fd;
  explicit File(int f) : fd(f) {}
  ~File() {
    if (fd >= 0) close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
};

bool read_all(int fd, char* to, size_t n) {
  while (n) {
    const ssize_t got = read(fd, to, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got, n -= static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

// Nobody but this user can have written it.
bool is_own(const struct stat& s) { return s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

std::string name_of(const Digest& key) { return hex(key) + std::string(kEntryEnd); }

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_named(std::string_view name, size_t digits, std::string_view end) {
  return name.size() == digits + end.size() && name.ends_with(end) && is_hex(name.substr(0, digits));
}

// The folder with all its parents, for this user alone.
bool make_folders(const std::string& path) {
  for (size_t at = 1; at != path.npos;) {
    at = path.find('/', at + 1);
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST && at == path.npos) return false;
  }
  return true;
}

struct Found {
  std::string name;
  uint64_t bytes;
  timespec used;
  bool entry;  // else a temporary file
};

// The store's own files; others in the folder are nobody's business.
std::vector<Found> list(int folder) {
  std::vector<Found> out;
  const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : fdopendir(fd);
  if (!dir) {
    if (fd >= 0) close(fd);
    return out;
  }
  while (const dirent* e = readdir(dir)) {
    const std::string_view name = e->d_name;
    const bool entry = is_named(name, 2 * sizeof(Digest), kEntryEnd);
    if (!entry && !is_named(name, 16, kTemporaryEnd)) continue;
    struct stat s {};
    if (fstatat(folder, e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    out.push_back({std::string(name), static_cast<uint64_t>(s.st_size), s.st_mtim, entry});
  }
  closedir(dir);
  return out;
}

}  // namespace

std::unique_ptr<DiskStore> DiskStore::open(const std::string& folder, uint64_t limit, Missing missing,
                                           std::string& why) {
  if (missing == Missing::make && access(folder.c_str(), F_OK) != 0 && !make_folders(folder)) {
    why = fmt::format("cannot make {}: {}", folder, std::strerror(errno));
    return nullptr;
  }
  File opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat s {};
  if (opened.fd < 0 || fstat(opened.fd, &s) != 0) {
    why = fmt::format("cannot open {}: {}", folder, std::strerror(errno));
    return nullptr;
  }
  if (!is_own(s)) {
    why = s.st_uid == geteuid()
              ? fmt::format("others may write to {} (mode {:04o}, not 0700)", folder, s.st_mode & 07777)
              : fmt::format("{} belongs to another user (mode {:04o})", folder, s.st_mode & 07777);
    return nullptr;
  }
  if ((s.st_mode & 0777) != 0700) (void)fchmod(opened.fd, 0700);
  return std::unique_ptr<DiskStore>(new DiskStore(std::exchange(opened.fd, -1), limit));
}

DiskStore::~DiskStore() { close(folder_); }

bool DiskStore::load(const Digest& key, std::string& bytes) {
  File f(openat(folder_, name_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (f.fd < 0) return false;
  struct stat s {};
  Header h{};
  bool good =
      fstat(f.fd, &s) == 0 && S_ISREG(s.st_mode) && is_own(s) && read_all(f.fd, reinterpret_cast<char*>(&h), sizeof h);
  const uint64_t length = static_cast<uint64_t>(s.st_size) - sizeof h;
  good = good && length == h.length && length <= kMostBytes;
  if (good) {
    bytes.resize(length);
    good = read_all(f.fd, bytes.data(), length);
    const Header expected = header_of(key, bytes);
    good = good && std::memcmp(&h, &expected, sizeof h) == 0;
  }
  if (!good) {
    bytes.clear();
    remove(key);
    return false;
  }
  (void)futimens(f.fd, nullptr);
  return true;
}

bool DiskStore::store(const Digest& key, std::string_view bytes) {
  const Header h = header_of(key, bytes);
  const uint64_t size = sizeof h + bytes.size();
  rlimit most{};  // beyond it a write is a signal that ends the process
  if (size > limit_ || bytes.size() > kMostBytes || getrlimit(RLIMIT_FSIZE, &most) != 0 || size > most.rlim_cur)
    return false;
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
  const std::string temporary = fmt::format("{:016x}{}", random, kTemporaryEnd);
  {
    File f(openat(folder_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (f.fd < 0) return false;
    const bool written = write_all(f.fd, {reinterpret_cast<const char*>(&h), sizeof h}) && write_all(f.fd, bytes) &&
                         close(std::exchange(f.fd, -1)) == 0;
    if (!written || renameat(folder_, temporary.c_str(), folder_, name_of(key).c_str()) != 0) {
      unlinkat(folder_, temporary.c_str(), 0);
      return false;
    }
  }
  make_room();
  return true;
}

void DiskStore::remove(const Digest& key) { unlinkat(folder_, name_of(key).c_str(), 0); }

// Down to the limit when it is exceeded. Another process that holds the lock is waited for, as it may have looked
// before this one wrote; but not for ever: it may have been stopped.
void DiskStore::make_room() {
  File lock(openat(folder_, std::string(kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.fd < 0) return;
  for (int tries = 0; flock(lock.fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries == 50) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::vector<Found> files = list(folder_);
  uint64_t bytes = 0;
  for (const Found& f : files) bytes += f.bytes;
  const time_t now = std::time(nullptr);
  auto unlink = [&](const Found& f) {
    if (unlinkat(folder_, f.name.c_str(), 0) == 0 || errno == ENOENT) bytes -= f.bytes;
  };
  std::erase_if(files, [&](const Found& f) {
    if (f.entry) return false;
    if (now - f.used.tv_sec > kAbandonedSeconds) unlink(f);
    return true;
  });
  std::ranges::sort(files, {}, [](const Found& f) { return std::pair(f.used.tv_sec, f.used.tv_nsec); });
  for (const Found& f : files) {
    if (bytes <= limit_) break;
    unlink(f);
  }
}

DiskStore::Contents DiskStore::contents() const {
  Contents c;
  for (const Found& f : list(folder_)) {
    c.entries += f.entry;
    c.bytes += f.bytes;
    if (f.entry) c.newest_use = std::max<int64_t>(c.newest_use, f.used.tv_sec);
  }
  return c;
}

DiskStore::Contents DiskStore::clear(std::string& why) {
  Contents c;
  for (const Found& f : list(folder_)) {
    if (unlinkat(folder_, f.name.c_str(), 0) != 0) {
      if (errno != ENOENT) why = fmt::format("cannot remove {}: {}", f.name, std::strerror(errno));
      continue;
    }
    c.entries += f.entry;
    c.bytes += f.bytes;
  }
  return c;
}

}  // namespace ouro::jit
