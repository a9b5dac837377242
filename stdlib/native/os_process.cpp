// ouro.native.os: the process itself, its environment, and random bytes of the system.
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "runtime/machine/memory.h"
#include "runtime/text/foreign.h"
#include "runtime/types/args.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/os_tables.h"
#include "stdlib/native/system_path.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

// ---------------------------------------------------------------- the environment

// Sessions on several threads share it.
std::mutex& environment_lock() {
  static std::mutex lock;
  return lock;
}

Value f_environment(Session& s, const Args&) {
  CountedVector<CountedText> rows;
  {
    const std::lock_guard hold(environment_lock());
    for (char** e = environ; e && *e; ++e) rows.emplace_back(*e);
  }
  Value out = make_dict();
  for (const CountedText& row : rows) {
    const size_t at = row.find('=', 1);
    if (at == row.npos) continue;
    const Value name = make_str(text::from_system(std::string_view(row).substr(0, at)));
    const Value old = dict_get(s, out.as<Dict>(), name);
    if (old.is_error()) return old;
    if (old.is_unbound() &&
        !dict_set(s, out.as<Dict>(), name, make_str(text::from_system(std::string_view(row).substr(at + 1)))))
      return Value::error();
  }
  return out;
}
// The C library never gives back what it was told once (setenv(3) keeps each different NAME=VALUE): it stays counted as
// long as the session lives.
struct KeptVariables {
  std::unordered_set<size_t, std::hash<size_t>, std::equal_to<>, CountedAllocator<size_t>> told;  // hashes
  std::deque<HeldMemory> held;
};
void count_variable(Session& s, std::string_view name, std::string_view value) {
  constexpr size_t kAround = 128;  // the library's row and ours
  auto& kept = s.state<KeptVariables>();
  const size_t hash = std::hash<std::string_view>()(name) * 31 + std::hash<std::string_view>()(value);
  if (kept.told.contains(hash)) return;
  HeldMemory bytes(name.size() + value.size() + kAround);
  kept.told.insert(hash);
  kept.held.push_back(std::move(bytes));
}

Value f_putenv(Session& s, const Args& a) {
  std::string name, value;
  if (!fs_text(s, a[0], name) || !fs_text(s, a[1], value)) return Value::error();
  if (name.find('=') != name.npos) return raise_value_error(s, "illegal environment variable name");
  count_variable(s, name, value);
  const std::lock_guard hold(environment_lock());
  return setenv(name.c_str(), value.c_str(), 1) == 0 ? Value::none() : raise_os_error(s, errno);
}
Value f_unsetenv(Session& s, const Args& a) {
  std::string name;
  if (!fs_text(s, a[0], name)) return Value::error();
  const std::lock_guard hold(environment_lock());
  return unsetenv(name.c_str()) == 0 ? Value::none() : raise_os_error(s, errno);
}

// ---------------------------------------------------------------- numbers of the process

template <auto f>
Value f_number(Session& s, const Args& a) {
  return takes_none(s, a, "posix.getpid", 0) ? Value::integer(f()) : Value::error();
}
Value f_cpu_count(Session& s, const Args& a) {
  if (!takes_none(s, a, "posix.cpu_count", 0)) return Value::error();
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? Value::integer(n) : Value::none();
}
Value f_affinity(Session& s, const Args& a) {
  int pid;
  if (!int_argument(s, a[0], pid)) return Value::error();
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(pid, sizeof cpus, &cpus) != 0) return raise_os_error(s, errno);
  Value out = make_list();
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &cpus)) out.as<List>()->push(Value::integer(i));
  return out;
}
Value f_load(Session& s, const Args&) {
  double loads[3];
  if (getloadavg(loads, 3) != 3) return raise_os_error(s, EIO);
  return make_tuple({Value::floating(loads[0]), Value::floating(loads[1]), Value::floating(loads[2])});
}
Value f_times(Session& s, const Args&) {
  tms t;
  const clock_t now = times(&t);
  if (now == static_cast<clock_t>(-1)) return raise_os_error(s, errno);
  const double tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  auto seconds = [&](clock_t n) { return Value::floating(static_cast<double>(n) / tick); };
  return make_tuple(
      {seconds(t.tms_utime), seconds(t.tms_stime), seconds(t.tms_cutime), seconds(t.tms_cstime), seconds(now)});
}
Value f_uname(Session& s, const Args&) {
  utsname u;
  if (uname(&u) != 0) return raise_os_error(s, errno);
  auto name = [](const char* t) { return make_str(text::from_system(t)); };
  return make_tuple({name(u.sysname), name(u.nodename), name(u.release), name(u.version), name(u.machine)});
}
Value f_umask(Session& s, const Args& a) {
  int mask;
  if (!takes_one(s, a, "posix.umask", 0) || !int_argument(s, a[0], mask)) return Value::error();
  return Value::integer(umask(static_cast<mode_t>(mask)));
}
Value f_kill(Session& s, const Args& a) {
  int pid, signal;
  if (!int_argument(s, a[0], pid) || !int_argument(s, a[1], signal)) return Value::error();
  if (kill(pid, signal) != 0) return raise_os_error(s, errno);
  poll_interrupt(s);
  return Value::none();
}
Value f_exit(Session& s, const Args& a) {
  int status;
  if (!int_argument(s, a[0], status)) return Value::error();
  _exit(status);
}
Value f_strerror(Session& s, const Args& a) {
  int code;
  return int_argument(s, a[0], code) ? make_str(text::from_system(std::strerror(code))) : Value::error();
}

// The home folder of a user by name, or of who runs the process; None: there is no such user.
Value f_home_of(Session& s, const Args& a) {
  std::string name;
  if (!a[0].is_none() && !fs_text(s, a[0], name)) return Value::error();
  passwd entry, *found = nullptr;
  std::vector<char> room(16384);
  const int r = a[0].is_none() ? getpwuid_r(getuid(), &entry, room.data(), room.size(), &found)
                               : getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
  return r == 0 && found ? make_str(text::from_system(found->pw_dir)) : Value::none();
}

Value f_urandom(Session& s, const Args& a) {
  int64_t count;
  if (!to_index(s, a[0], count)) return Value::error();
  if (count < 0) return raise_value_error(s, "negative argument not allowed");
  require_memory(static_cast<size_t>(count));
  CountedText raw(static_cast<size_t>(count), '\0');
  for (size_t done = 0; done < raw.size();) {
    poll_interrupt(s);
    const size_t piece = std::min<size_t>(raw.size() - done, 1 << 16);
    const ssize_t n = uninterrupted(s, [&] { return getrandom(raw.data() + done, piece, 0); });
    if (n < 0) return raise_os_error(s, errno);
    done += static_cast<size_t>(n);
  }
  return make_bytes(raw);
}

constexpr NativeDef kFunctions[] = {
    {"environment", "", f_environment, "The variables of the environment, a new dict."},
    {"putenv", "name, value, /", f_putenv, "Sets a variable of the environment."},
    {"unsetenv", "name, /", f_unsetenv, "Takes one out."},
    {.name = "getpid", .fn = f_number<getpid>, .doc = "The process's number."},
    {.name = "getppid", .fn = f_number<getppid>, .doc = "That of its parent."},
    {.name = "getuid", .fn = f_number<getuid>, .doc = "Who runs it."},
    {.name = "geteuid", .fn = f_number<geteuid>, .doc = "Whose rights it has."},
    {.name = "getgid", .fn = f_number<getgid>, .doc = "The group that runs it."},
    {.name = "getegid", .fn = f_number<getegid>, .doc = "The group whose rights it has."},
    {.name = "cpu_count", .fn = f_cpu_count, .doc = "How many processors the machine has."},
    {"affinity", "pid, /", f_affinity, "The processors that a process may use: a list."},
    {"getloadavg", "", f_load, "How many processes want to run, over 1, 5 and 15 minutes."},
    {"times", "", f_times,
     "Seconds of the process and its children: user, system, user, system; and since some moment."},
    {"uname", "", f_uname, "The system: its name, the machine's, release, version, kind of machine."},
    {.name = "umask", .fn = f_umask, .doc = "Sets which rights new files do not get: the old ones."},
    {"kill", "pid, signal, /", f_kill, "Sends a signal to a process."},
    {"_exit", "status", f_exit, "Ends the process at once: nothing is written or cleaned up."},
    {"strerror", "code, /", f_strerror, "What an error number means."},
    {"home_of", "user, /", f_home_of,
     "A user's home folder, that of the process's with None; None if there is no such user."},
    {"urandom", "size, /", f_urandom, "Random bytes of the system."},
};

}  // namespace

const NativeModule kProcessModule{.name = kOsModule, .functions = kFunctions};

}  // namespace ouro::stdlib
