// The command: `ouro FILE`, `ouro run`, `-c`, `-`, `ir`, `cache`, `ctl`, `top`, `attach`, `version`, `help`, and the
// prompt. Everything is parsed by hand, because the start of `ouro -c` is measured: nothing is loaded or set up that
// the run does not need.
//
// Exit statuses are CPython's: 1 for an uncaught exception or a syntax error, 2 for a wrong command line or a missing
// file, SystemExit's own, and death by SIGINT after an uncaught KeyboardInterrupt.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

#include "jit/plan/check/plan_check.h"
#include "jit/report/explain.h"
#include "jit/report/listing.h"
#include "jit/versions/compile_queue.h"
#include "jit/versions/executor.h"
#include "runtime/interpreter/modules.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/kernels.h"
#include "runtime/text/foreign.h"
#include "stdlib/start.h"
#include "support/byte_size.h"
#include "support/source.h"
#include "support/trace.h"
#include "tools/attach_command.h"
#include "tools/cache_command.h"
#include "tools/ctl_command.h"
#include "tools/ir_command.h"
#include "tools/profile.h"
#include "tools/prompt/repl.h"
#include "tools/top_command.h"
#include "tools/version.h"

namespace ouro::tools {

using namespace runtime;

namespace {

constexpr std::string_view kHelp =
    "usage: ouro [options] [FILE | -c CODE | -] [ARGS...]\n"
    "       ouro run [options] FILE [ARGS...]   run a script (what `ouro FILE` does)\n"
    "       ouro explain [options] FILE [ARGS...]   run a script, then tell what was compiled, and why what was not;\n"
    "                                           --json: as JSON on standard output, the script's output on standard "
    "error\n"
    "       ouro ir --stage=STAGE FILE          print a stage of the pipeline: tokens, tree, ast, anf, code\n"
    "       ouro ir --stage=STAGE FILE [ARGS...]   run the script, then print a stage of what was compiled: typed,\n"
    "                                           plan, loops, llvm, asm, cl, ptx; --function=NAME: of that one\n"
    "       ouro cache [clear]                  show, or empty, the disk cache of compiled code\n"
    "       ouro ctl PID get [--json]           what a running program was asked for, and what it does\n"
    "       ouro ctl PID set NAME=VALUE...      asks it; `none` takes back; `ouro ctl demands` lists the names\n"
    "       ouro ctl PID veto|pin|allow|do NAME what is to become of one of its responses\n"
    "       ouro ctl PID log [--json]           what it has decided, and what came of it\n"
    "       ouro top PID [--json] [--once]      the same, second by second\n"
    "       ouro attach PID [-c CODE]           a prompt in a running program, between two of its steps\n"
    "       ouro version | help\n"
    "       ouro                                a prompt\n"
    "\n"
    "options:\n"
    "  --mode=eager|graph|auto  how functions run (default: auto)\n"
    "  --threads=N              threads of kernels\n"
    "  --device=NAME            cpu, opencl or cuda: where tensors are that no .to(device) placed\n"
    "  --memory=SIZE            of a script's values, at most: 512M, 2G; more is a MemoryError (default: what there "
    "is)\n"
    "  --time=SECONDS           a script may run, at most; more ends it\n"
    "  --steps=N                a script may take, at most: iterations of loops and calls; more ends it\n"
    "  --cpu=NAME               use no newer instructions than that processor's\n"
    "  --cache=on|off           keep compiled code on disk (default: on)\n"
    "  --cache-bytes=N          at most so many bytes of it: 64M, 1G (default: 256M)\n"
    "  --verbose                notices on standard error\n"
    "  --profile[=FILE]         tell on standard error where the time goes, by line and by kernel, and write a trace "
    "to\n"
    "                           FILE (trace.json), for Perfetto or chrome://tracing\n"
    "  --strict                 what a function of tensors leaves to the interpreter is an error, told after the run\n"
    "  --check-plans            follow every compiled step, and tell what it does wrong (slow)\n"
    "  -c CODE                  run the text\n"
    "  -                        run standard input\n"
    "  -i                       a prompt, also when standard input is no terminal\n";

struct Command {
  Options options;
  enum class What {
    prompt,
    file,
    text,
    standard_input,
    ir,
    cache,
    ctl,
    top,
    attach,
    version,
    help
  } what = What::prompt;
  std::string file, text;
  std::string stage, function;  // of `ir`
  bool mode_given = false;
  bool interactive = false;
  bool explain = false;  // report on the compiler after the run
  bool json = false;     // ... as JSON
  bool strict = false;   // what stays interpreted is an error
  bool profile = false;
  std::string trace = "trace.json";  // where a profile's trace goes
  jit::CacheWish cache;
  std::vector<std::string> args;  // sys.argv[1:]
};

int usage(const std::string& message) {
  std::fprintf(stderr, "ouro: %s\nTry `ouro help'.\n", message.c_str());
  return 2;
}

// An option of the form --name=value. 0: not an option, 1: taken, 2: wrong.
int take_option(Command& c, std::string_view arg, std::string& error) {
  auto value = [&](std::string_view name, std::string& out) {
    if (!arg.starts_with(name) || arg.size() <= name.size() || arg[name.size()] != '=') return false;
    out = std::string(arg.substr(name.size() + 1));
    return true;
  };
  std::string v;
  if (arg == "--verbose")
    c.options.verbose = true;
  else if (arg == "-i")
    c.interactive = true;
  else if (arg == "--strict")
    c.strict = true;
  else if (arg == "--json")
    c.json = true;
  else if (arg == "--profile")
    c.profile = true;
  else if (value("--profile", c.trace))
    c.profile = true;
  else if (arg == "--check-plans")
    jit::check::set_checking_plans(true);
  else if (value("--mode", v)) {
    c.mode_given = true;
    if (v == "eager")
      c.options.mode = Mode::eager;
    else if (v == "graph")
      c.options.mode = Mode::graph;
    else if (v == "auto")
      c.options.mode = Mode::auto_;
    else
      error = "--mode is eager, graph or auto, not '" + v + "'";
  } else if (value("--threads", v)) {
    char* end = nullptr;
    long n = std::strtol(v.c_str(), &end, 10);
    if (v.empty() || *end || n < 1 || n > 1024)
      error = "--threads is a number from 1 to 1024, not '" + v + "'";
    else
      c.options.threads = static_cast<int>(n);
  } else if (value("--memory", v)) {
    uint64_t bytes = 0;
    if (!read_byte_size(v, bytes) || bytes < kLeastMemory || bytes > kMostMemory)
      error = "--memory is a number of bytes from 4M on (512M, 2G), not '" + v + "'";
    c.options.memory = bytes;
  } else if (value("--time", v)) {
    char* end = nullptr;
    c.options.time = std::strtod(v.c_str(), &end);
    if (v.empty() || *end || !(c.options.time > 0) || !std::isfinite(c.options.time))
      error = "--time is a number of seconds, not '" + v + "'";
  } else if (value("--steps", v)) {
    const auto [end, wrong] = std::from_chars(v.data(), v.data() + v.size(), c.options.steps);
    if (wrong != std::errc() || end != v.data() + v.size() || c.options.steps == 0)
      error = "--steps is a number from 1 on, not '" + v + "'";
  } else if (value("--cpu", v)) {
    if (!limit_kernels(v)) error = "--cpu is native, x86-64-v2, x86-64-v3 or x86-64-v4, not '" + v + "'";
    c.options.cpu = v;
  } else if (value("--device", v)) {
    if (!find_device(v)) error = fmt::format("no device '{}'; there are: {}", v, fmt::join(kDeviceNames, ", "));
    c.options.device = v;
  } else if (value("--cache", v)) {
    bool on = false;
    if (!jit::read_cache_switch(v, on)) error = "--cache is on or off, not '" + v + "'";
    c.cache.on = on;
  } else if (value("--cache-bytes", v)) {
    uint64_t bytes = 0;
    if (!read_byte_size(v, bytes)) error = "--cache-bytes is a number of bytes (64M, 1G), not '" + v + "'";
    c.cache.bytes = bytes;
  } else if (value("--stage", v))
    c.stage = v;
  else if (value("--function", v))
    c.function = v;
  else if (arg.size() > 1 && arg[0] == '-' && arg != "-c") {
    bool lacks_value = false;
    for (std::string_view name : {"--mode", "--threads", "--memory", "--time", "--steps", "--cpu", "--device",
                                  "--cache", "--cache-bytes", "--stage", "--function"})
      lacks_value = lacks_value || arg == name;
    error = lacks_value ? std::string(arg) + " needs a value: " + std::string(arg) + "=..."
                        : "unknown option '" + std::string(arg) + "'";
    return 2;
  } else {
    return 0;
  }
  return error.empty() ? 1 : 2;
}

bool parse(int argc, char** argv, Command& c, std::string& error) {
  int i = 1;
  using W = Command::What;
  bool run = false;
  if (i < argc) {
    std::string_view first = argv[i];
    if (first == "version" || first == "--version" || first == "-V") return c.what = W::version, true;
    if (first == "help" || first == "--help" || first == "-h") return c.what = W::help, true;
    for (const auto& [name, what] :
         {std::pair{"cache", W::cache}, {"ctl", W::ctl}, {"top", W::top}, {"attach", W::attach}})
      if (first == name) {
        c.args.assign(argv + 2, argv + argc);
        return c.what = what, true;
      }
    if (first == "ir") {
      c.what = W::ir;
      ++i;
    } else if (first == "run" || first == "explain") {
      run = true;
      c.explain = first == "explain";
      ++i;
    }
  }
  for (; i < argc; ++i) {
    std::string_view arg = argv[i];
    int taken = take_option(c, arg, error);
    if (taken == 2) return false;
    if (taken == 1) continue;
    if (arg == "-c") {
      if (++i >= argc) return error = "-c needs a text", false;
      c.text = argv[i];
      if (c.what != W::ir) c.what = W::text;
    } else if (arg == "-") {
      if (c.what != W::ir) c.what = W::standard_input;
      c.file = "-";
    } else {
      c.file = argv[i];
      if (c.what != W::ir) c.what = W::file;
    }
    for (++i; i < argc; ++i) c.args.emplace_back(argv[i]);
  }
  if (c.what == W::ir && jit::is_version_stage(c.stage)) {  // the script runs, then tells
    c.what = c.file == "-" ? W::standard_input : c.file.empty() ? W::text : W::file;
    if (!c.mode_given) c.options.mode = Mode::graph;
  }
  if (c.json && !c.explain) return error = "--json is an option of explain", false;
  if (run && c.what == W::prompt) return error = std::string(c.explain ? "explain" : "run") + " needs a file", false;
  return true;
}

// Options come before the environment.
bool read_cache_environment(Command& c, std::string& error) {
  jit::CacheWish wish;
  if (!jit::read_cache_environment(wish, error)) return false;
  if (!c.cache.on) c.cache.on = wish.on;
  if (!c.cache.bytes) c.cache.bytes = wish.bytes;
  return true;
}

Session* g_interrupted = nullptr;

void on_interrupt(int) {
  if (g_interrupted) g_interrupted->poll.fetch_or(Session::kInterrupt);
}

void die_by_interrupt() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGINT, &plain, nullptr);
  kill(getpid(), SIGINT);
}

// What becomes of an exception that nobody caught: its text, and the exit status.
int report_uncaught(Session& s) {
  Value e;
  const bool ended = take_outcome(s, e) != 0;
  if (exception_is(s, e, ExcKind::SystemExit)) {
    Value code = lookup_attr(s, e, intern("code"));  // a subclass may have its own
    if (code.is_error()) clear_pending(s), code = e;
    code = Value(unwrap(code));
    if (cast<BigInt>(code)) return 255;
    if (code.is_none() || code.is_unbound()) return 0;
    if (code.is_int() || code.is_bool()) return static_cast<int>(code.bits()) & 0xff;
    (void)s.out.flush();
    s.err.write(text::shown_text(text_of(s, code) + "\n"));
    return 1;
  }
  const bool interrupted = exception_is(s, e, ExcKind::KeyboardInterrupt);
  if (ended || interrupted) {
    for (Output* o : {&s.out, &s.err}) o->hurry(50);
    stdlib::settle_files(s, 50);
  }
  (void)s.out.flush();
  if (ended || !stdlib::call_excepthook(s, e)) s.err.write(text::shown_text(format_exception(s, e)));
  (void)s.out.flush();
  (void)s.err.flush();
  if (interrupted) {
    s.demands.close();
    die_by_interrupt();
    return 130;
  }
  return 1;
}

// What the script writes to standard output goes to standard error; gives where standard output goes.
int give_output_to_errors() {
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return output;
}

// The report, there; the exit status.
int write_report(int file, std::string_view text, int status) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno != EINTR) {
      std::fprintf(stderr, "ouro: cannot write the report: %s\n", std::strerror(errno));
      return status ? status : 1;
    }
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
  return status;
}

// On standard error; the exit status.
int report_profile(Session& s, Profile& profile, const std::string& file, int status) {
  std::string error;
  const std::string told = profile.finish(file, error);
  (void)s.out.flush();
  s.err.write(text::shown_text("\n" + told + (error.empty() ? "" : "ouro: " + error + "\n")));
  return error.empty() || status ? status : 1;
}

// --strict: what stays with the interpreter, on standard error; the exit status.
int report_holes(Session& s, int status) {
  const std::string holes = jit::holes_left(s);
  if (holes.empty()) return status;
  (void)s.out.flush();
  s.err.write(text::shown_text("strict: these stay with the interpreter\n" + holes));
  return status ? status : 1;
}

// The end of a program: finalizers of what the main module still held, the rest of the output.
int finish(Session& s, int status) {
  bool flushed;
  {
    CallScope call(s);
    stdlib::end_program(s);
    flushed = s.out.flush();
  }
  s.demands.close();
  if (s.executor) s.executor->program_ended();
  if (!flushed) {
    std::fprintf(
        stderr,
        "Exception ignored in: <_io.TextIOWrapper name='<stdout>' mode='w' encoding='utf-8'>\nOSError: [Errno %d] %s\n",
        errno, std::strerror(errno));
    return status ? status : 120;
  }
  return status;
}

// The process ends here: nothing is taken apart that the system gives back anyway, and no compilation is waited for.
[[noreturn]] void leave(Session& s, int status) {
  (void)s.err.flush();
  std::fflush(nullptr);
  _exit(status);
}

void add_paths(Session& s, std::string folder) {
  s.path.push_back(std::move(folder));
  if (const char* more = std::getenv("OUROPATH")) {
    std::string_view rest = more;
    while (!rest.empty()) {
      size_t colon = rest.find(':');
      if (colon != 0) s.path.emplace_back(rest.substr(0, colon));
      rest = colon == rest.npos ? std::string_view() : rest.substr(colon + 1);
    }
  }
}

std::string read_standard_input() {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(0, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  return text;
}

int run_program(const Command& c) {
  std::string name, text;
  bool python = false;
  switch (c.what) {
    case Command::What::text:
      name = "<string>";
      text = c.text;
      break;
    case Command::What::standard_input:
      name = "<stdin>";
      text = read_standard_input();
      break;
    case Command::What::prompt:
      break;
    default:
      name = c.file;
      python = name.ends_with(".py");
      if (!name.starts_with('/')) {  // tracebacks show the whole path, as CPython's do
        char folder[4096];
        if (getcwd(folder, sizeof folder)) name = std::string(folder) + "/" + name;
      }
      if (!read_file(name, text)) {
        if (errno == EISDIR)
          return std::fprintf(stderr, "ouro: '%s' is a directory, cannot continue\n", name.c_str()), 1;
        std::fprintf(stderr, "ouro: can't open file '%s': [Errno %d] %s\n", name.c_str(), errno, std::strerror(errno));
        return 2;
      }
  }
  Options options = c.options;
  options.sense = options.control = true;
  // A prompt may change its mode: it has a compiler in any.
  const bool rests = c.what == Command::What::prompt && options.mode == Mode::eager;
  if (rests) options.mode = Mode::auto_;
  Session s(options);
  SessionScope scope(s);
  stdlib::start(s);
  const DeviceId device = s.demands.plan().device;
  if (std::string error; device != DeviceId::cpu && !s.devices.open(device, error)) return usage(error);
  if (c.options.verbose) set_notice_mode(NoticeMode::always);
  const uint64_t cache_bytes = jit::cache_limit(c.cache, /*on_by_default=*/true);
  jit::keep_code(s, cache_bytes);
  if (c.cache.on == true || c.options.verbose) tell_if_cache_is_refused(cache_bytes);
  if (c.explain || c.strict || !c.stage.empty()) jit::prepare_report(s);
  const int json_output = c.json ? give_output_to_errors() : -1;
  g_interrupted = &s;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  if (c.what == Command::What::prompt) {
    if (rests) jit::set_mode(s, Mode::eager);
    s.argv = {""};
    add_paths(s, "");
    leave(s, finish(s, run_repl(s)));
  }
  s.argv.push_back(c.what == Command::What::text ? "-c" : c.file);
  for (const std::string& a : c.args) s.argv.push_back(a);
  size_t slash = name.rfind('/');
  add_paths(s, c.what == Command::What::file && slash != name.npos ? name.substr(0, slash) : "");
  name = text::from_system(name);
  Value module = make_main_module(s, c.what == Command::What::file ? name : "", !python);
  int status = 0;
  std::optional<Profile> profile;
  if (c.profile) profile.emplace(s);
  {
    CallScope call(s);
    if (run_source(s, name, text, module).is_error() || s.met_end) status = report_uncaught(s);
  }
  if (profile) status = report_profile(s, *profile, c.trace, status);
  if (c.json) {
    (void)s.out.flush();
    status = write_report(json_output, text::shown_text(jit::explain_json(s)), status);
  } else if (c.explain) {
    s.out.write(text::shown_text("\n" + jit::explain(s)));
  }
  if (c.strict) status = report_holes(s, status);
  if (!c.stage.empty()) s.out.write(text::shown_text("\n" + jit::listing(s, c.stage, c.function)));
  leave(s, finish(s, status));
}

// Scripts may recurse in C++ (natives that call back, deep comparisons), so the program runs on a large stack: address
// space, which is only backed where it is touched.
void ensure_stack(char** argv) {
  constexpr rlim_t kWanted = rlim_t{100} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kWanted) return;
  (void)argv;
  // The main thread's stack grows up to the limit in force when it faults, so raising it now is enough on Linux.
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= kWanted ? kWanted : limit.rlim_max;
  setrlimit(RLIMIT_STACK, &limit);
}

// A closed stdin, stdout or stderr is /dev/null: the next file that is opened must not become one of them.
void open_standard_files() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR) != fd) return;
}

}  // namespace

int main_command(int argc, char** argv) {
  Command c;
  std::string error;
  if (!parse(argc, argv, c, error)) return usage(error);
  const bool runs = c.what != Command::What::version && c.what != Command::What::help;
  if (runs && !read_cache_environment(c, error)) return usage(error);
  switch (c.what) {
    case Command::What::version:
      std::printf("ouro %.*s\n", static_cast<int>(kVersion.size()), kVersion.data());
      return 0;
    case Command::What::ctl:
      return ctl_command(c.args);
    case Command::What::top:
      return top_command(c.args);
    case Command::What::attach:
      return attach_command(c.args);
    case Command::What::help:
      std::fwrite(kHelp.data(), 1, kHelp.size(), stdout);
      return 0;
    case Command::What::cache:
      return cache_command(c.args, c.cache);
    case Command::What::ir:
      return print_stage(c.stage, c.file, c.text);
    case Command::What::prompt:
      if (!c.interactive && !isatty(0)) c.what = Command::What::standard_input;
      break;
    default:
      break;
  }
  open_standard_files();
  ensure_stack(argv);
  return run_program(c);
}

}  // namespace ouro::tools

int main(int argc, char** argv) {
  const int status = ouro::tools::main_command(argc, argv);
  // What the compiler's thread is at is nobody's any more: LLVM cannot be told to stop, and need not be waited for.
  if (ouro::jit::CompileQueue::left_at_work()) {
    std::fflush(nullptr);
    _exit(status);
  }
  return status;
}
