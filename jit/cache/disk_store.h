// Entries of bytes in a folder, found by their key, bounded in bytes: the least recently used go first.
//
//   FOLDER/KEY.code     an entry: header (magic, format, key, length, checksum), then the bytes
//   FOLDER/RANDOM.tmp   one that is being written
//   FOLDER/lock         held (flock) by the process that makes room
//
// What is read back is run as machine code, so the folder must be the user's own and nobody else may write to it
// (mode 0700); entries of other owners are not read. The checksum is against accidents, not against an owner of the
// folder.
//
// Many processes at once. An entry appears whole or not at all: it is written under another name and renamed. Nothing
// is synchronised to the disk: what a crash of the system leaves fails its checksum, is removed and made anew. An entry
// may vanish at any time; a reader that has opened it reads on. A hit sets the file's times, which order the removal.
// Room is made after each write, by one process at a time.
//
// Nothing here is an error of the program: a full disk, a folder that cannot be made or written to only mean that there
// is nothing to find.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "jit/cache/digest.h"

namespace ouro::jit {

class DiskStore {
 public:
  enum class Missing : uint8_t { make, refuse };

  /// Null, and `why` in words, when the folder cannot be used. `missing`: what to do where there is none; its parents
  /// are made, too.
  static std::unique_ptr<DiskStore> open(const std::string& folder, uint64_t limit, Missing missing, std::string& why);
  ~DiskStore();
  DiskStore(const DiskStore&) = delete;
  DiskStore& operator=(const DiskStore&) = delete;

  /// False: there is none. One that is not as it was written counts as damaged and is removed.
  bool load(const Digest& key, std::string& bytes);
  /// False when it could not be kept, or is larger than the limit. Threads may call all of these at once.
  bool store(const Digest& key, std::string_view bytes);
  void remove(const Digest& key);

  struct Contents {
    uint64_t entries = 0, bytes = 0;  // bytes: of all files that the limit counts
    int64_t newest_use = 0;           // seconds since 1970; 0: never
  };
  Contents contents() const;
  /// Removes all entries, and what writers left unfinished. How much that was; `why` when something could not be.
  Contents clear(std::string& why);
  uint64_t limit() const { return limit_; }

 private:
  DiskStore(int folder, uint64_t limit) : folder_(folder), limit_(limit) {}
  void make_room();
  int folder_;  // a descriptor: the folder that was checked is the folder that is used
  uint64_t limit_;
};

}  // namespace ouro::jit
