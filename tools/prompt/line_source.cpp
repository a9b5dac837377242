#include "tools/prompt/line_source.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "support/source.h"
#include "tools/prompt/words.h"

namespace ouro::tools {
namespace {

constexpr int kHistoryLines = 2000;
constexpr std::string_view kIndent = "    ";

volatile sig_atomic_t interrupted = 0;

// While a line is read, Ctrl-C ends the reading, and what a completion runs.
class CatchInterrupt {
 public:
  CatchInterrupt() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      interrupted = 1;
      if (auto* session = before_.sa_handler; session != SIG_DFL && session != SIG_IGN) session(signal);
    };
    sigemptyset(&action.sa_mask);  // no SA_RESTART: read() must return
    sigaction(SIGINT, nullptr, &before_);
    sigaction(SIGINT, &action, nullptr);
  }
  ~CatchInterrupt() { sigaction(SIGINT, &before_, nullptr); }

 private:
  static struct sigaction before_;
};
struct sigaction CatchInterrupt::before_ {};

class Terminal final : public LineSource {
 public:
  Terminal(const std::string& history_file, Completer completer, const Style& style);
  ~Terminal() override;
  LineEnd read(const char* prompt, std::string& line) override;
  void indent(std::string blanks) override { indent_ = std::move(blanks); }
  const std::string* peek() override;
  bool interactive() const override { return true; }

 private:
  static int get_char(EditLine* el, wchar_t* c);
  static unsigned char complete(EditLine* el, int);
  static unsigned char paste(EditLine* el, int);
  static unsigned char blank(EditLine* el, int);
  static unsigned char erase(EditLine* el, int);
  static unsigned char end(EditLine* el, int);
  static Terminal& self(EditLine* el) {
    void* p = nullptr;
    el_get(el, EL_CLIENTDATA, &p);
    return *static_cast<Terminal*>(p);
  }
  void remember(const std::string& line);
  void load_history();
  // Takes the first of the pasted lines, if there is a whole one.
  bool next_pasted(std::string& line);
  // Takes away the blanks that nobody has typed, if the line is these alone; how many there were.
  size_t take_indent();
  // Reads what is there at once.
  void take_waiting();

  EditLine* el_ = nullptr;
  History* history_ = nullptr;
  std::string history_file_, last_;
  std::string pasted_;  // and not handed out yet
  std::string ahead_;   // what peek() showed
  std::string indent_;  // of the line that is read
  bool typing_ = true;  // a key of it was typed
  const Style style_;
  const bool marks_;  // the terminal is asked to mark what is pasted
  Completer completer_;
};

constexpr std::string_view kPasteEnd = "\x1b[201~";

// Pasted text where a line begins with `blanks` that nobody has typed: it keeps its own, if its first line has some.
// Else that line stands behind the blanks, and so do all if one of them would be left of them: it was a piece of text
// without indentation. (Where none would be, the mouse has begun in the middle of a line.)
std::string placed_at(size_t blanks, const std::string& text) {
  if (text.empty() || isspace(static_cast<unsigned char>(text[0]))) return text;
  const std::string in(blanks, ' ');
  std::string moved, kept;
  bool left = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    const bool empty = line.find_first_not_of(" \t\n") == line.npos;
    left = left || (at > 0 && !empty && line.find_first_not_of(" \t") < blanks);
    moved += empty ? line : in + line;
    kept += at == 0 ? in + line : line;
    at = end;
  }
  return left ? moved : kept;
}

// Ends of lines as terminals send them: \r, \r\n or \n.
std::string with_newlines(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i] == '\r' ? '\n' : text[i];
  }
  return out;
}

// EL_PROMPT_ESC hands out a function without data. What stands between two of these takes no room on the screen.
constexpr char kEscape = '\1';
std::string current_prompt;
char* prompt_text(EditLine*) { return current_prompt.data(); }

// The escapes of a painted prompt, marked.
std::string marked(const std::string& painted) {
  std::string out;
  for (size_t i = 0; i < painted.size(); ++i) {
    if (painted[i] != '\x1b') {
      out += painted[i];
      continue;
    }
    const size_t end = painted.find('m', i);
    out += kEscape + painted.substr(i, end + 1 - i) + kEscape;
    i = end;
  }
  return out;
}

Terminal::Terminal(const std::string& history_file, Completer completer, const Style& style)
    : history_file_(history_file), style_(style), marks_(terminal_knows_escapes()), completer_(std::move(completer)) {
  setlocale(LC_CTYPE, "");
  if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
  el_ = el_init("ouro", stdin, stdout, stderr);
  history_ = history_init();
  HistEvent event;
  history(history_, &event, H_SETSIZE, kHistoryLines);
  history(history_, &event, H_SETUNIQUE, 1);
  el_set(el_, EL_CLIENTDATA, this);
  el_set(el_, EL_PROMPT_ESC, prompt_text, kEscape);
  el_set(el_, EL_EDITOR, "emacs");
  el_set(el_, EL_SIGNAL, 0);
  el_set(el_, EL_HIST, history, history_);
  el_set(el_, EL_GETCFN, get_char);
  el_set(el_, EL_ADDFN, "ouro-complete", "complete a name", complete);
  el_set(el_, EL_BIND, "\t", "ouro-complete", nullptr);
  el_set(el_, EL_ADDFN, "ouro-paste", "take pasted text", paste);
  el_set(el_, EL_BIND, "\\e[200~", "ouro-paste", nullptr);
  el_set(el_, EL_ADDFN, "ouro-blank", "a blank; at the begin it takes the place of the indentation", blank);
  el_set(el_, EL_ADDFN, "ouro-erase", "one character back; in the indentation, one step", erase);
  for (const char* key : {"^?", "^H"}) el_set(el_, EL_BIND, key, "ouro-erase", nullptr);
  el_set(el_, EL_ADDFN, "ouro-end", "of input on an empty line; else the next character goes", end);
  el_set(el_, EL_BIND, "^D", "ouro-end", nullptr);
  el_set(el_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // A zero is Ctrl-D that was typed while a statement ran. libedit reads it as each key that the terminal has switched
  // off, such as "take the next one literally".
  el_set(el_, EL_BIND, "^@", "ed-ignore", nullptr);
  el_source(el_, nullptr);  // ~/.editrc
  load_history();
}

Terminal::~Terminal() {
  el_end(el_);
  history_end(history_);
}

void Terminal::load_history() {
  if (history_file_.empty()) return;
  std::ifstream in(history_file_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (lines.size() > 2 * kHistoryLines) {  // keep the file small
    lines.erase(lines.begin(), lines.end() - kHistoryLines);
    std::ofstream out(history_file_);
    for (const std::string& line : lines) out << line << '\n';
  }
  HistEvent event;
  for (const std::string& line : lines) history(history_, &event, H_ENTER, (line + "\n").c_str());
}

void Terminal::remember(const std::string& line) {
  std::string text = line.substr(0, line.find('\n'));
  if (text.find_first_not_of(" \t") == std::string::npos || text == last_) return;
  last_ = text;
  HistEvent event;
  history(history_, &event, H_ENTER, line.c_str());
  if (history_file_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(history_file_).parent_path(), ignored);
  int fd = open(history_file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  text += '\n';
  [[maybe_unused]] ssize_t n = write(fd, text.data(), text.size());
  close(fd);
}

bool Terminal::next_pasted(std::string& line) {
  const size_t end = pasted_.find('\n');
  if (end == pasted_.npos) return false;
  line = pasted_.substr(0, end + 1);
  pasted_.erase(0, end + 1);
  return true;
}

void Terminal::take_waiting() {
  constexpr int kPause = 20;  // milliseconds: who types is slower
  for (;;) {
    pollfd p{STDIN_FILENO, POLLIN, 0};
    if (poll(&p, 1, kPause) <= 0 || !(p.revents & POLLIN)) break;
    char buffer[4096];
    const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n <= 0) break;
    pasted_.append(buffer, static_cast<size_t>(n));
  }
  // Marks that came before anybody looked for them.
  for (std::string_view mark : {std::string_view("\x1b[200~"), kPasteEnd})
    for (size_t at; (at = pasted_.find(mark)) != pasted_.npos;) pasted_.erase(at, mark.size());
  pasted_ = with_newlines(pasted_);
}

const std::string* Terminal::peek() {
  if (pasted_.find('\n') == pasted_.npos) {
    CatchInterrupt guard;
    el_set(el_, EL_PREP_TERM, 1);
    take_waiting();
    el_set(el_, EL_PREP_TERM, 0);
  }
  const size_t end = pasted_.find('\n');
  if (end == pasted_.npos) return nullptr;
  ahead_ = pasted_.substr(0, end + 1);
  return &ahead_;
}

LineEnd Terminal::read(const char* prompt, std::string& line) {
  const std::string shown = style_.paint(Look::prompt, trimmed(prompt)) + " ";
  current_prompt = marked(shown);
  if (next_pasted(line)) {
    fputs((shown + line).c_str(), stdout);
    fflush(stdout);
    remember(line);
    return LineEnd::line;
  }
  CatchInterrupt guard;
  // libedit would show the prompt first: what is typed between would be for the kernel, which makes of Ctrl-D a zero.
  el_set(el_, EL_PREP_TERM, 1);
  if (marks_) {
    fputs("\x1b[?2004h", stdout);
    fflush(stdout);
  }
  if (!pasted_.empty()) {  // the begin of a line, which can be edited
    std::string typed;
    for (char c : std::exchange(pasted_, {})) {
      if (static_cast<unsigned char>(c) < ' ') typed += '\x16';  // as it is
      typed += c;
    }
    el_push(el_, typed.c_str());
    indent_.clear();
  } else if (!indent_.empty()) {
    el_push(el_, indent_.c_str());
    typing_ = false;
  }
  int count = 0;
  const char* text = el_gets(el_, &count);
  if (marks_) {
    fputs("\x1b[?2004l", stdout);
    fflush(stdout);
  }
  if (interrupted) {
    pasted_.clear();
    fputs("\nKeyboardInterrupt\n", stderr);
    el_reset(el_);
    return LineEnd::interrupted;
  }
  if (!text || count <= 0) {
    fputs("\n", stdout);
    fflush(stdout);
    return LineEnd::end_of_input;
  }
  line.assign(text, static_cast<size_t>(count));
  remember(line);
  return LineEnd::line;
}

// One character in UTF-8 from the terminal; -1 when Ctrl-C came meanwhile.
int Terminal::get_char(EditLine* el, wchar_t* c) {
  std::string bytes;
  for (;;) {
    char byte;
    ssize_t n = interrupted ? -1 : ::read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR && !interrupted) continue;
    if (n == 0) return 0;
    if (n < 0) return -1;
    bytes += byte;
    const unsigned char lead = static_cast<unsigned char>(bytes[0]);
    const size_t want = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (bytes.size() < want) continue;
    size_t i = 0;
    const uint32_t code = next_code_point(bytes, i);
    bytes.clear();
    if (code > 0x10FFFF) continue;  // not UTF-8: dropped
    *c = static_cast<wchar_t>(code);
    // The first key, a blank: for this time it is no plain character.
    if (!std::exchange(self(el).typing_, true) && code == ' ') el_set(el, EL_BIND, " ", "ouro-blank", nullptr);
    return 1;
  }
}

size_t Terminal::take_indent() {
  const LineInfo* info = el_line(el_);
  const std::string_view before(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
  if (indent_.empty() || before != indent_ || info->cursor != info->lastchar) return 0;
  el_deletestr(el_, static_cast<int>(before.size()));
  return std::exchange(indent_, {}).size();
}

unsigned char Terminal::blank(EditLine* el, int) {
  self(el).take_indent();
  el_insertstr(el, " ");
  el_set(el, EL_BIND, " ", "ed-insert", nullptr);
  return CC_REFRESH;
}

unsigned char Terminal::erase(EditLine* el, int) {
  const LineInfo* info = el_line(el);
  const std::string_view before(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
  if (before.empty()) return CC_ERROR;
  const bool blanks = before.find_first_not_of(' ') == before.npos;
  el_deletestr(el, blanks ? static_cast<int>((before.size() - 1) % kIndent.size() + 1) : 1);
  return CC_REFRESH;
}

unsigned char Terminal::end(EditLine* el, int) {
  self(el).take_indent();
  const LineInfo* info = el_line(el);
  if (info->lastchar == info->buffer) return CC_EOF;
  if (info->cursor == info->lastchar) return CC_ERROR;
  el_cursor(el, 1);
  el_deletestr(el, 1);
  return CC_REFRESH;
}

// Between the two marks: up to its first newline it goes where the cursor is; the rest waits.
unsigned char Terminal::paste(EditLine* el, int) {
  Terminal& t = self(el);
  std::string text;
  while (!text.ends_with(kPasteEnd)) {
    char byte;
    const ssize_t n = interrupted ? -1 : ::read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR && !interrupted) continue;
    if (n <= 0) return CC_EOF;
    text += byte;
  }
  text.resize(text.size() - kPasteEnd.size());
  text = with_newlines(text);
  const size_t kept = t.take_indent();
  if (kept) text = placed_at(kept, text);
  const size_t end = text.find('\n');
  std::string first = text.substr(0, end);
  std::erase(first, '\0');
  if (!first.empty()) el_insertstr(el, first.c_str());
  if (end == text.npos) return CC_REFRESH;
  t.pasted_ = text.substr(end + 1);
  el_push(el, "\n");
  return CC_REFRESH;
}

void print_in_columns(const std::vector<std::string>& words, size_t start_of_name) {
  size_t width = 0;
  for (const std::string& w : words) width = std::max(width, w.size() - start_of_name + 2);
  const size_t columns = std::max<size_t>(1, 80 / width);
  fputc('\n', stdout);
  for (size_t i = 0; i < words.size(); ++i)
    printf("%-*s%s", static_cast<int>(width), words[i].c_str() + start_of_name,
           (i + 1) % columns == 0 || i + 1 == words.size() ? "\n" : "");
}

unsigned char Terminal::complete(EditLine* el, int) {
  const LineInfo* info = el_line(el);
  const std::string_view before(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
  if (before.find_first_not_of(" \t") == std::string_view::npos) {
    el_insertstr(el, std::string(kIndent).c_str());
    return CC_REFRESH;
  }
  size_t start = before.size();
  const std::vector<std::string> words = self(el).completer_(before, start);
  if (interrupted) return CC_EOF;
  if (words.empty()) return CC_ERROR;
  std::string common = words[0];
  for (const std::string& w : words)
    common.resize(
        static_cast<size_t>(std::mismatch(common.begin(), common.end(), w.begin(), w.end()).first - common.begin()));
  const std::string_view typed = before.substr(start);
  if (common.size() > typed.size()) {
    el_insertstr(el, common.substr(typed.size()).c_str());
    return CC_REFRESH;
  }
  if (words.size() == 1) return CC_REFRESH;
  const size_t dot = typed.rfind('.');
  print_in_columns(words, dot == std::string_view::npos ? 0 : dot + 1);
  return CC_REDISPLAY;
}

// Lines of a pipe or a file, one ahead so that a block's end can be seen.
class Pipe final : public LineSource {
 public:
  LineEnd read(const char*, std::string& line) override {
    if (!has_) has_ = fetch(ahead_);
    if (!has_) return LineEnd::end_of_input;
    line = std::move(ahead_);
    has_ = false;
    return LineEnd::line;
  }
  const std::string* peek() override {
    if (!has_) has_ = fetch(ahead_);
    return has_ ? &ahead_ : nullptr;
  }
  bool interactive() const override { return false; }

 private:
  static bool fetch(std::string& line) {
    line.clear();
    for (int c; (c = getc(stdin)) != EOF;) {
      line += static_cast<char>(c);
      if (c == '\n') return true;
    }
    return !line.empty();
  }
  std::string ahead_;
  bool has_ = false;
};

}  // namespace

std::unique_ptr<LineSource> make_line_source(const std::string& history_file, Completer completer, const Style& style) {
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
    return std::make_unique<Terminal>(history_file, std::move(completer), style);
  return std::make_unique<Pipe>();
}

}  // namespace ouro::tools
