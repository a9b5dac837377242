// ouro.native.os: files and folders by name. Paths are str, bytes or os.PathLike, and where it says so open files;
// errors are OSError's classes with the names that met.
#include "stdlib/native/os_module.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "runtime/machine/memory.h"
#include "runtime/text/foreign.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/os_tables.h"
#include "stdlib/native/system_path.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

Value whole(Session& s, uint64_t n) {
  return n <= static_cast<uint64_t>(INT64_MAX) ? Value::integer(static_cast<int64_t>(n))
                                               : int_from_digits(s, std::to_string(n), 10, false);
}

// `dir_fd` is refused, in the words of a platform that has none.
bool no_dir_fd(Session& s, const Value& v, const char* function, const char* parameter = "dir_fd") {
  if (v.is_unbound() || v.is_none()) return true;
  raise_error(s, ExcKind::NotImplementedError, "%s: %s unavailable on this platform", function, parameter);
  return false;
}
// A truth value that may be absent.
bool flag(Session& s, const Value& v, bool& out) {
  if (v.is_unbound()) return true;
  const int t = truth(s, v);
  out = t == 1;
  return t >= 0;
}

// ---------------------------------------------------------------- what is there

// The places of os.stat_result: ten whole numbers, the times as floats, as nanoseconds, and the rest.
Value stat_tuple(Session& s, const struct stat& st) {
  auto seconds = [](const timespec& t) {
    return Value::floating(static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec));
  };
  auto ns = [](const timespec& t) {
    return Value::integer(static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec);
  };
  return make_tuple({Value::integer(st.st_mode), whole(s, st.st_ino), whole(s, st.st_dev), whole(s, st.st_nlink),
                     Value::integer(st.st_uid), Value::integer(st.st_gid), Value::integer(st.st_size),
                     Value::integer(st.st_atim.tv_sec), Value::integer(st.st_mtim.tv_sec),
                     Value::integer(st.st_ctim.tv_sec), seconds(st.st_atim), seconds(st.st_mtim), seconds(st.st_ctim),
                     ns(st.st_atim), ns(st.st_mtim), ns(st.st_ctim), Value::integer(st.st_blksize),
                     Value::integer(st.st_blocks), whole(s, st.st_rdev)});
}
Value stat_of(Session& s, const Value& path, const char* function, bool follow, PathForms forms) {
  SystemPath p;
  if (!path_argument(s, path, function, p, forms)) return Value::error();
  if (p.is_fd() && !follow) return raise_value_error(s, "%s: cannot use fd and follow_symlinks together", function);
  struct stat st;
  const int r = uninterrupted(s, [&] {
    return p.is_fd() ? fstat(p.fd, &st) : follow ? stat(p.name.c_str(), &st) : lstat(p.name.c_str(), &st);
  });
  return r == 0 ? stat_tuple(s, st) : raise_for(s, p);
}
Value f_stat(Session& s, const Args& a) {
  bool follow = true;
  if (!no_dir_fd(s, a[1], "stat") || !flag(s, a[2], follow)) return Value::error();
  return stat_of(s, a[0], "stat", follow, PathForms::or_fd);
}
Value f_lstat(Session& s, const Args& a) {
  return no_dir_fd(s, a[1], "lstat") ? stat_of(s, a[0], "lstat", false, PathForms::names) : Value::error();
}
Value f_fstat(Session& s, const Args& a) {
  int fd;
  if (!int_argument(s, a[0], fd)) return Value::error();
  struct stat st;
  return uninterrupted(s, [&] { return fstat(fd, &st); }) == 0 ? stat_tuple(s, st) : raise_os_error(s, errno);
}
// st_mode, or 0 where there is nothing to ask: no such file, a name that no file can have.
Value f_mode(Session& s, const Args& a) {
  bool follow = true;
  SystemPath p;
  if (!flag(s, a[1], follow)) return Value::error();
  if (!path_argument(s, a[0], follow ? "stat" : "lstat", p, follow ? PathForms::or_fd : PathForms::names)) {
    if (!pending_is(s, ExcKind::OSError) && !pending_is(s, ExcKind::ValueError)) return Value::error();
    clear_pending(s);
    return Value::integer(0);
  }
  struct stat st;
  const int r = uninterrupted(s, [&] {
    return p.is_fd() ? fstat(p.fd, &st) : follow ? stat(p.name.c_str(), &st) : lstat(p.name.c_str(), &st);
  });
  return Value::integer(r == 0 ? st.st_mode : 0);
}
Value f_statvfs(Session& s, const Args& a) {
  SystemPath p;
  if (!path_argument(s, a[0], "statvfs", p, PathForms::or_fd)) return Value::error();
  struct statvfs st;
  if (uninterrupted(s, [&] { return p.is_fd() ? fstatvfs(p.fd, &st) : statvfs(p.name.c_str(), &st); }) != 0)
    return raise_for(s, p);
  return make_tuple({whole(s, st.f_bsize), whole(s, st.f_frsize), whole(s, st.f_blocks), whole(s, st.f_bfree),
                     whole(s, st.f_bavail), whole(s, st.f_files), whole(s, st.f_ffree), whole(s, st.f_favail),
                     whole(s, st.f_flag), whole(s, st.f_namemax)});
}
Value f_access(Session& s, const Args& a) {
  bool effective = false, follow = true;
  int mode;
  SystemPath p;
  if (!path_argument(s, a[0], "access", p) || !int_argument(s, a[1], mode) || !no_dir_fd(s, a[2], "access") ||
      !flag(s, a[3], effective) || !flag(s, a[4], follow))
    return Value::error();
  const int flags = (effective ? AT_EACCESS : 0) | (follow ? 0 : AT_SYMLINK_NOFOLLOW);
  return Value::boolean(uninterrupted(s, [&] { return faccessat(AT_FDCWD, p.name.c_str(), mode, flags); }) == 0);
}

// f(entry) for each name in a folder but "." and ".."; an unbound result goes on.
template <class F>
Value each_entry(Session& s, const SystemPath& p, F&& f) {
  struct Close {
    void operator()(DIR* d) const { closedir(d); }
  };
  std::unique_ptr<DIR, Close> folder;
  if (p.is_fd()) {
    const int own = fcntl(p.fd, F_DUPFD_CLOEXEC, 0);
    if (own >= 0) folder.reset(fdopendir(own));
    if (own >= 0 && !folder) {
      const int why = errno;
      close(own);
      errno = why;
    }
    if (folder) rewinddir(folder.get());
  } else {
    folder.reset(opendir(p.name.c_str()));
  }
  if (!folder) return p.is_fd() ? raise_os_error(s, errno) : raise_for(s, p);
  for (;;) {
    poll_interrupt(s);
    errno = 0;
    const dirent* e = readdir(folder.get());
    if (!e) return errno ? raise_for(s, p) : Value::none();
    const std::string_view name = e->d_name;
    if (name != "." && name != "..") f(*e);
  }
}
Value f_listdir(Session& s, const Args& a) {
  SystemPath p;
  if (!path_argument(s, a[0], "listdir", p, PathForms::any)) return Value::error();
  Value names = make_list();
  OURO_TRY_DO(each_entry(s, p, [&](const dirent& e) { names.as<List>()->push(system_name(p, e.d_name)); }));
  return names;
}
Value f_entries(Session& s, const Args& a) {
  SystemPath p;
  if (!path_argument(s, a[0], "scandir", p, PathForms::any)) return Value::error();
  Value entries = make_list();
  OURO_TRY_DO(each_entry(s, p, [&](const dirent& e) {
    const int type = e.d_type == DT_UNKNOWN ? -1 : DTTOIF(e.d_type);
    entries.as<List>()->push(make_tuple({system_name(p, e.d_name), Value::integer(type), whole(s, e.d_ino)}));
  }));
  return entries;
}

Value f_fspath(Session& s, const Args& a) { return cast<Str>(a[0]) || cast<Bytes>(a[0]) ? a[0] : path_text(s, a[0]); }
Value f_getcwd(Session& s, const Args& a) {
  if (!takes_none(s, a, "posix.getcwd", 0)) return Value::error();
  const std::unique_ptr<char, decltype(&std::free)> name(getcwd(nullptr, 0), std::free);
  return name ? make_str(text::from_system(name.get())) : raise_os_error(s, errno);
}
Value f_readlink(Session& s, const Args& a) {
  SystemPath p;
  if (!path_argument(s, a[0], "readlink", p) || !no_dir_fd(s, a[1], "readlink")) return Value::error();
  char name[4097];
  const ssize_t n = uninterrupted(s, [&] { return readlink(p.name.c_str(), name, sizeof name - 1); });
  return n < 0 ? raise_for(s, p) : system_name(p, {name, static_cast<size_t>(n)});
}

// ---------------------------------------------------------------- changes

// A call on one path that answers nothing.
template <class F>
Value change(Session& s, const SystemPath& p, F&& f) {
  return uninterrupted(s, f) == 0 ? Value::none() : raise_for(s, p);
}
Value f_chdir(Session& s, const Args& a) {
  SystemPath p;
  if (!path_argument(s, a[0], "chdir", p, PathForms::or_fd)) return Value::error();
  return change(s, p, [&] { return p.is_fd() ? fchdir(p.fd) : chdir(p.name.c_str()); });
}
Value f_mkdir(Session& s, const Args& a) {
  SystemPath p;
  int mode = 0777;
  if (!path_argument(s, a[0], "mkdir", p) || (!a[1].is_unbound() && !int_argument(s, a[1], mode)) ||
      !no_dir_fd(s, a[2], "mkdir"))
    return Value::error();
  return change(s, p, [&] { return mkdir(p.name.c_str(), static_cast<mode_t>(mode)); });
}
Value f_mkfifo(Session& s, const Args& a) {
  SystemPath p;
  int mode = 0666;
  if (!path_argument(s, a[0], "mkfifo", p) || (!a[1].is_unbound() && !int_argument(s, a[1], mode)) ||
      !no_dir_fd(s, a[2], "mkfifo"))
    return Value::error();
  return change(s, p, [&] { return mkfifo(p.name.c_str(), static_cast<mode_t>(mode)); });
}
Value f_rmdir(Session& s, const Args& a) {
  SystemPath p;
  if (!path_argument(s, a[0], "rmdir", p) || !no_dir_fd(s, a[1], "rmdir")) return Value::error();
  return change(s, p, [&] { return rmdir(p.name.c_str()); });
}
Value remove_file(Session& s, const Args& a, const char* function) {
  SystemPath p;
  if (!path_argument(s, a[0], function, p) || !no_dir_fd(s, a[1], function)) return Value::error();
  return change(s, p, [&] { return unlink(p.name.c_str()); });
}
Value f_chmod(Session& s, const Args& a) {
  SystemPath p;
  int mode;
  bool follow = true;
  if (!path_argument(s, a[0], "chmod", p, PathForms::or_fd) || !int_argument(s, a[1], mode) ||
      !no_dir_fd(s, a[2], "chmod") || !flag(s, a[3], follow))
    return Value::error();
  if (!follow)
    return raise_error(s, ExcKind::NotImplementedError, "chmod: follow_symlinks unavailable on this platform");
  const auto bits = static_cast<mode_t>(mode);
  return change(s, p, [&] { return p.is_fd() ? fchmod(p.fd, bits) : chmod(p.name.c_str(), bits); });
}
Value f_chown(Session& s, const Args& a) {
  SystemPath p;
  int user, group;
  bool follow = true;
  if (!path_argument(s, a[0], "chown", p, PathForms::or_fd) || !int_argument(s, a[1], user) ||
      !int_argument(s, a[2], group) || !no_dir_fd(s, a[3], "chown") || !flag(s, a[4], follow))
    return Value::error();
  const auto uid = static_cast<uid_t>(user);
  const auto gid = static_cast<gid_t>(group);
  return change(s, p, [&] {
    return p.is_fd() ? fchown(p.fd, uid, gid)
           : follow  ? chown(p.name.c_str(), uid, gid)
                     : lchown(p.name.c_str(), uid, gid);
  });
}
Value f_truncate(Session& s, const Args& a) {
  SystemPath p;
  int64_t n;
  if (!path_argument(s, a[0], "truncate", p, PathForms::or_fd) || !to_index(s, a[1], n)) return Value::error();
  return change(s, p, [&] { return p.is_fd() ? ftruncate(p.fd, n) : truncate(p.name.c_str(), n); });
}

// Calls that take one name to another.
using TwoNames = int (*)(const char*, const char*);
Value from_to(Session& s, const Args& a, const char* function, TwoNames f) {
  SystemPath from, to;
  if (!path_argument(s, a[0], function, from, PathForms::names, "src") ||
      !path_argument(s, a[1], function, to, PathForms::names, "dst") || !no_dir_fd(s, a[2], function, "src_dir_fd") ||
      !no_dir_fd(s, a[3], function, "dst_dir_fd"))
    return Value::error();
  return uninterrupted(s, [&] { return f(from.name.c_str(), to.name.c_str()); }) == 0 ? Value::none()
                                                                                      : raise_for(s, from, to);
}
Value f_symlink(Session& s, const Args& a) {
  const Value shifted[] = {a[0], a[1], a[3], Value()};  // target_is_directory means something on Windows only
  return from_to(s, Args{shifted, {}, {}}, "symlink", symlink);
}
Value f_link(Session& s, const Args& a) {
  bool follow = true;
  if (!flag(s, a[4], follow)) return Value::error();
  return from_to(
      s, Args{a.positional.first(4), {}, {}}, "link",
      follow ? link : [](const char* from, const char* to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); });
}

// ---------------------------------------------------------------- times

// Seconds, a whole number or a float, rounded down to a nanosecond.
bool seconds_argument(Session& s, const Value& v, timespec& out) {
  if (v.is_float()) {
    const double d = v.as_float();
    if (std::isnan(d)) return raise_value_error(s, "Invalid value NaN (not a number)"), false;
    const double floor = std::floor(d);
    if (floor < -9.2e18 || floor > 9.2e18) {
      raise_error(s, ExcKind::OverflowError, "timestamp out of range for platform time_t");
      return false;
    }
    out.tv_sec = static_cast<time_t>(floor);
    out.tv_nsec = static_cast<long>(std::floor((d - floor) * 1e9));
    return true;
  }
  const Value n = to_index_value(s, v);
  if (n.is_error()) return false;
  if (!is_word(n)) {
    raise_error(s, ExcKind::OverflowError, "timestamp out of range for platform time_t");
    return false;
  }
  out = {static_cast<time_t>(n.bits()), 0};
  return true;
}
bool nanoseconds_argument(Session& s, const Value& v, timespec& out) {
  const Value n = to_index_value(s, v);
  if (n.is_error()) return false;
  Value seconds, rest;
  if (!int_divmod(s, n, Value::integer(1'000'000'000), &seconds, &rest, "divmod")) return false;
  if (!is_word(seconds)) {
    raise_error(s, ExcKind::OverflowError, "timestamp out of range for platform time_t");
    return false;
  }
  out = {static_cast<time_t>(seconds.bits()), static_cast<long>(rest.bits())};
  return true;
}
Value f_utime(Session& s, const Args& a) {
  SystemPath p;
  bool follow = true;
  if (!path_argument(s, a[0], "utime", p, PathForms::or_fd) || !no_dir_fd(s, a[3], "utime") || !flag(s, a[4], follow))
    return Value::error();
  const bool has_times = !a[1].is_unbound() && !a[1].is_none(), has_ns = !a[2].is_unbound();
  if (has_times && has_ns) return raise_value_error(s, "utime: you may specify either 'times' or 'ns' but not both");
  timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  if (has_times || has_ns) {
    const Tuple* pair = cast<Tuple>(has_ns ? a[2] : a[1]);
    if (!pair || pair->size != 2)
      return raise_type_error(s, has_ns ? "utime: 'ns' must be a tuple of two ints"
                                        : "utime: 'times' must be either a tuple of two ints or None");
    for (size_t i = 0; i < 2; ++i)
      if (!(has_ns ? nanoseconds_argument(s, (*pair)[i], times[i]) : seconds_argument(s, (*pair)[i], times[i])))
        return Value::error();
  }
  if (p.is_fd() && !follow) return raise_value_error(s, "utime: cannot use fd and follow_symlinks together");
  const int r = uninterrupted(s, [&] {
    return p.is_fd() ? futimens(p.fd, times)
                     : utimensat(AT_FDCWD, p.name.c_str(), times, follow ? 0 : AT_SYMLINK_NOFOLLOW);
  });
  return r == 0 ? Value::none() : raise_os_error(s, errno);  // without a name: the times may be what is wrong
}

constexpr NativeDef kFunctions[] = {
    {"stat", "path, *, dir_fd=None, follow_symlinks=True", f_stat, "What the system knows of a file: 19 numbers."},
    {"lstat", "path, *, dir_fd=None", f_lstat, "The same of a symbolic link itself."},
    {"fstat", "fd", f_fstat, "The same of an open file."},
    {"mode", "path, follow_symlinks", f_mode, "st_mode, or 0 where there is no such file."},
    {"statvfs", "path", f_statvfs, "What the system knows of the file system that a path is on: ten numbers."},
    {"access", "path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True", f_access,
     "Whether the user may do so with a path."},
    {"listdir", "path=None", f_listdir, "The names in a folder, in the system's order."},
    {"entries", "path=None", f_entries, "(name, type bits of st_mode or -1, inode) of each."},
    {"fspath", "path", f_fspath, "A path as str or bytes."},
    {.name = "getcwd", .fn = f_getcwd, .doc = "The working folder."},
    {"readlink", "path, *, dir_fd=None", f_readlink, "Where a symbolic link points."},
    {"chdir", "path", f_chdir, "Changes the working folder."},
    {"mkdir", "path, mode=511, *, dir_fd=None", f_mkdir, "Makes a folder."},
    {"mkfifo", "path, mode=438, *, dir_fd=None", f_mkfifo, "Makes a named pipe."},
    {"rmdir", "path, *, dir_fd=None", f_rmdir, "Removes an empty folder."},
    {"remove", "path, *, dir_fd=None", [](Session& s, const Args& a) { return remove_file(s, a, "remove"); },
     "Removes a file."},
    {"unlink", "path, *, dir_fd=None", [](Session& s, const Args& a) { return remove_file(s, a, "unlink"); },
     "Removes a file."},
    {"chmod", "path, mode, *, dir_fd=None, follow_symlinks=True", f_chmod, "Changes who may do what with a path."},
    {"chown", "path, uid, gid, *, dir_fd=None, follow_symlinks=True", f_chown, "Changes whose a path is."},
    {"truncate", "path, length", f_truncate, "Cuts or extends a file to a length."},
    {"rename", "src, dst, *, src_dir_fd=None, dst_dir_fd=None",
     [](Session& s, const Args& a) { return from_to(s, a, "rename", std::rename); }, "Renames a file or folder."},
    {"replace", "src, dst, *, src_dir_fd=None, dst_dir_fd=None",
     [](Session& s, const Args& a) { return from_to(s, a, "replace", std::rename); },
     "Renames a file or folder, over what has the name."},
    {"symlink", "src, dst, target_is_directory=False, *, dir_fd=None", f_symlink, "Makes a symbolic link dst to src."},
    {"link", "src, dst, *, src_dir_fd=None, dst_dir_fd=None, follow_symlinks=True", f_link, "Makes a hard link."},
    {"utime", "path, times=None, *, ns=None, dir_fd=None, follow_symlinks=True", f_utime,
     "Sets when a path was used and changed."},
};

constexpr NativeModule kPaths{.name = kOsModule, .functions = kFunctions};

}  // namespace

void register_os_module(Session& s) {
  s.register_natives(&kPaths);
  s.register_natives(&kOpenFilesModule);
  s.register_natives(&kProcessModule);
}

}  // namespace ouro::stdlib
