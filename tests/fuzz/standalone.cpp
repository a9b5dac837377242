// The fuzzers without libFuzzer, for a build with any compiler and sanitizers:
//     run_fuzz [--seconds=N] [--count=N] [--seed=N] [--found=FOLDER] SEED...
// A SEED is a script or a folder of them. Inputs are some lines of one or two seeds with tokens, lines and indentation
// changed at random, the same ones for the same numbers. An input that ends the process, takes ten seconds, or leaves
// memory behind is written to FOLDER. One SEED that is a file, and no --seconds and --count: just that is run, as it
// is.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" void __sanitizer_set_death_callback(void (*callback)(void));
extern "C" int __lsan_do_recoverable_leak_check(void);

namespace {

using Clock = std::chrono::steady_clock;

std::string g_input, g_found = ".";
std::atomic<int64_t> g_began{0};  // milliseconds; 0: between inputs

int64_t now() { return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count(); }

void keep(const char* why) {
  const std::string path = g_found + "/" + why + "-" + std::to_string(std::hash<std::string>{}(g_input)) + ".ouro";
  std::ofstream(path, std::ios::binary) << g_input;
  std::fprintf(stderr, "%s: %s\n", why, path.c_str());
}
void on_death() { keep("crash"); }

// Without destructors: what the callback needs stays.
[[noreturn]] void leave(int status) {
  std::fflush(nullptr);
  _exit(status);
}

void look_for_leaks() {
  if (!__lsan_do_recoverable_leak_check()) return;
  keep("leak");  // of this input, or one before it
  leave(1);
}

void watch() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const int64_t began = g_began.load();
    if (!began || now() - began < 10'000) continue;
    keep("hang");
    _exit(1);
  }
}

void run(std::string input) {
  g_input = std::move(input);
  g_began.store(now());
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(g_input.data()), g_input.size());
  g_began.store(0);
}

// ---------------------------------------------------------------- inputs

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    out.emplace_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return out;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::vector<std::string> tokens_of(std::string_view line) {
  std::vector<std::string> out;
  for (size_t i = 0; i < line.size();) {
    const size_t from = i;
    if (is_word(line[i])) {
      while (i < line.size() && is_word(line[i])) ++i;
    } else if (line[i] == '\'' || line[i] == '"') {
      const char sign = line[i++];
      while (i < line.size() && line[i] != sign) i += 1 + (line[i] == '\\');
      i = std::min(i + 1, line.size());
    } else if (line[i] == ' ') {
      while (i < line.size() && line[i] == ' ') ++i;
    } else {
      ++i;
    }
    out.emplace_back(line.substr(from, i - from));
  }
  return out;
}

constexpr const char* kWords[] = {"0",
                                  "1",
                                  "-1",
                                  "2",
                                  "10**9",
                                  "1 << 70",
                                  "1e308",
                                  "float('nan')",
                                  "''",
                                  "'a'",
                                  "'é'",
                                  "b'x'",
                                  "[]",
                                  "{}",
                                  "()",
                                  "set()",
                                  "None",
                                  "True",
                                  "self",
                                  "lambda *a: a",
                                  "yield",
                                  "yield from",
                                  "return",
                                  "raise",
                                  "del ",
                                  "global ",
                                  "nonlocal ",
                                  "try:",
                                  "except:",
                                  "finally:",
                                  "while True:",
                                  "for x in x:",
                                  "with x:",
                                  "if x:",
                                  "else:",
                                  "class A:",
                                  "class A(A):",
                                  "def f(*a, **k):",
                                  "match x:",
                                  "case _:",
                                  "import sys",
                                  "pass",
                                  "break",
                                  "continue",
                                  "__del__",
                                  "__eq__",
                                  "__hash__",
                                  "__iter__",
                                  "__next__",
                                  "__getattr__",
                                  "__getitem__",
                                  "__call__",
                                  "__repr__",
                                  "__enter__",
                                  "__exit__",
                                  "__init__",
                                  "__new__",
                                  "__slots__",
                                  "__set__",
                                  "__get__",
                                  "__dict__",
                                  "__class__",
                                  "__bases__",
                                  "sorted",
                                  "list",
                                  "dict",
                                  "iter",
                                  "next",
                                  "zip",
                                  "map",
                                  "repr",
                                  "hash",
                                  "type",
                                  "super()",
                                  "property",
                                  "isinstance",
                                  "setattr",
                                  "range(10**6)",
                                  ".sort()",
                                  ".clear()",
                                  ".append",
                                  ".pop()",
                                  ".update",
                                  ".close()",
                                  ".send",
                                  ".throw",
                                  "[::-1]",
                                  "[1:2]",
                                  "[:]",
                                  "*",
                                  "**",
                                  "@",
                                  "//",
                                  "%",
                                  "<<",
                                  "==",
                                  "<",
                                  "in",
                                  "is",
                                  "not ",
                                  "and",
                                  "or",
                                  ":=",
                                  "=",
                                  "+=",
                                  ",",
                                  ":",
                                  "(",
                                  ")",
                                  "[",
                                  "]",
                                  "{",
                                  "}",
                                  ";",
                                  "f'{x!r:>{y}}'"};

struct Mutator {
  std::mt19937_64 random;
  std::vector<Lines> seeds;

  size_t below(size_t n) { return n ? random() % n : 0; }
  const Lines& seed() { return seeds[below(seeds.size())]; }

  // Some lines that follow each other, mostly from where a statement starts at the margin.
  Lines part(size_t most) {
    const Lines& from = seed();
    size_t at = below(from.size());
    while (at && (from[at][0] == ' ' || from[at][0] == '\n')) --at;
    const size_t n = 1 + below(std::min(most, from.size() - at));
    return {from.begin() + static_cast<ptrdiff_t>(at), from.begin() + static_cast<ptrdiff_t>(at + n)};
  }

  std::string word() {
    if (below(3) == 0) return kWords[below(std::size(kWords))];
    const Lines& from = seed();
    const auto tokens = tokens_of(from[below(from.size())]);
    return tokens.empty() ? " " : tokens[below(tokens.size())];
  }

  void change(Lines& lines) {
    if (lines.empty()) return;
    const size_t at = below(lines.size()), other = below(lines.size());
    auto place = lines.begin() + static_cast<ptrdiff_t>(at);
    switch (below(12)) {
      case 0:
        lines.erase(place);
        return;
      case 1:
        lines.insert(place, lines[other]);
        return;
      case 2:
        std::swap(lines[at], lines[other]);
        return;
      case 3: {  // other lines, as deep as this one
        const std::string indent(
            lines[at].find_first_not_of(' ') == std::string::npos ? 0 : lines[at].find_first_not_of(' '), ' ');
        Lines more = part(6);
        for (std::string& m : more) m = indent + m;
        lines.insert(place, more.begin(), more.end());
        return;
      }
      case 4:
        lines[at] = "    " + lines[at];
        return;
      case 5:
        if (lines[at].starts_with("    ")) lines[at].erase(0, 4);
        return;
      default:
        break;
    }
    auto tokens = tokens_of(lines[at]);
    if (tokens.empty()) return;
    const size_t t = below(tokens.size());
    switch (below(5)) {
      case 0:
        tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(t));
        break;
      case 1:
        tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(t), word());
        break;
      case 2:
        std::swap(tokens[t], tokens[below(tokens.size())]);
        break;
      default:
        tokens[t] = word();
    }
    lines[at].clear();
    for (const std::string& x : tokens) lines[at] += x;
  }

  std::string input() {
    Lines lines = part(60);
    if (below(3) == 0) {
      Lines more = part(30);
      lines.insert(lines.end(), more.begin(), more.end());
    }
    for (size_t n = 1 + below(1 + below(12)); n; --n) change(lines);
    std::string text;
    for (const std::string& l : lines) text += l;
    if (below(50) == 0 && !text.empty()) text[below(text.size())] = static_cast<char>(random());
    return text.substr(0, 8192);
  }
};

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void add_seeds(std::vector<Lines>& seeds, const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& e : std::filesystem::recursive_directory_iterator(path))
      if (e.path().extension() == ".ouro") files.push_back(e.path());
  } else {
    files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  for (const auto& f : files)
    if (Lines lines = lines_of(content(f)); !lines.empty()) seeds.push_back(std::move(lines));
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  uint64_t count = 0, seed = 1;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    std::string_view a = argv[i];
    auto number = [&] { return std::strtod(argv[i] + a.find('=') + 1, nullptr); };
    if (a.starts_with("--seconds="))
      seconds = number();
    else if (a.starts_with("--count="))
      count = static_cast<uint64_t>(number());
    else if (a.starts_with("--seed="))
      seed = static_cast<uint64_t>(number());
    else if (a.starts_with("--found="))
      g_found = a.substr(8);
    else
      paths.emplace_back(a);
  }
  const rlimit stack{size_t{100} << 20, size_t{100} << 20};
  setrlimit(RLIMIT_STACK, &stack);
  __sanitizer_set_death_callback(on_death);
  std::thread(watch).detach();
  if (seconds == 0 && count == 0 && paths.size() == 1) {
    run(content(paths[0]));
    look_for_leaks();
    leave(0);
  }
  Mutator mutator{std::mt19937_64(seed), {}};
  for (const std::string& p : paths) add_seeds(mutator.seeds, p);
  if (mutator.seeds.empty()) return std::fprintf(stderr, "no seeds\n"), 2;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  uint64_t done = 0;
  for (; count ? done < count : Clock::now() < until; ++done) {
    run(mutator.input());
    if (done % 256 == 255) look_for_leaks();
  }
  look_for_leaks();
  std::printf("%llu inputs\n", static_cast<unsigned long long>(done));
  leave(0);
}
