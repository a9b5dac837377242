// A file that appears under its name whole or not at all.
//
// The bytes go into a nameless file of the same folder (O_TMPFILE; where the file system has none,
// a hidden one), are synced to disk, and only then get the name by rename(2), which POSIX makes
// atomic; the folder is synced last. Whoever is killed, or finds the disk full, leaves the old file
// as it was, and no other file.
#pragma once

#include <cstddef>
#include <string>

#include "stdlib/native/file_problem.h"

namespace ouro::stdlib {

class AtomicFile {
 public:
  AtomicFile() = default;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() { discard(); }

  // `path` may be a symbolic link: then the file it leads to is replaced.
  [[nodiscard]] FileProblem open(const std::string& path);
  // A full disk and the process's limit on file sizes are problems, never signals.
  [[nodiscard]] FileProblem write(const void* data, size_t size);
  // Gives the file its name. Without it (or after a problem) nothing is left behind.
  [[nodiscard]] FileProblem commit();

 private:
  void discard();
  std::string path_, temporary_;  // temporary_ is empty while the file has no name
  int fd_ = -1;
};

}  // namespace ouro::stdlib
