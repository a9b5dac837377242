#include "tools/prompt/complete_import.h"

#include <filesystem>

#include "runtime/object/ops.h"
#include "stdlib/embedded.h"

namespace ouro::tools {

using namespace runtime;

namespace {

// The word that begins `text`, and its end with the blanks behind it.
std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(text.find_first_not_of(" \t", end), text.size()));
  return word;
}

// `name` in `package`: its next part goes to `out`.
void add_part(std::string_view name, std::string_view package, std::set<std::string>& out) {
  if (!package.empty()) {
    if (!name.starts_with(package) || name.size() <= package.size() || name[package.size()] != '.') return;
    name.remove_prefix(package.size() + 1);
  }
  if (!name.empty()) out.emplace(name.substr(0, name.find('.')));
}

void add_files(const std::string& folder, std::set<std::string>& out) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator it(folder.empty() ? "." : folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    const bool file = path.extension() == ".ouro" || path.extension() == ".py";
    std::error_code ignored;
    const bool package = fs::exists(path / "__init__.ouro", ignored) || fs::exists(path / "__init__.py", ignored);
    const std::string name = file ? path.stem().string() : path.filename().string();
    const bool is_name = !name.empty() && name.find_first_of(".- ") == name.npos && name != "__init__";
    if ((file || package) && is_name) out.insert(name);
  }
}

void add_names(Session& s, std::string_view dotted, std::set<std::string>& out) {
  const Symbol name = intern(dotted);
  Value* loaded = s.modules.find(name);
  const bool built_in = s.find_natives(dotted) || (s.find_embedded && s.find_embedded(dotted));
  if (!built_in && (!loaded || loaded->is_unbound())) return;
  Value module = import_module(s, name);
  Value dir = builtin(s, intern("dir"), false);
  Value names = module.is_error() ? module : call(s, dir, {module});
  if (!names.is_error())
    (void)for_each(s, names, [&](Value& n) {
      if (Str* text = cast<Str>(n)) out.emplace(text->view());
      return true;
    });
  if (s.has_error()) clear_pending(s);
}

}  // namespace

std::set<std::string> modules_in(Session& s, std::string_view package) {
  std::set<std::string> out;
  for (const NativeModule* m : s.native_modules) add_part(m->name, package, out);
  for (const stdlib::EmbeddedModule& m : stdlib::embedded_modules()) {
    constexpr std::string_view kPythons = "python.";  // the modules of Python's library
    const std::string name =
        m.name.starts_with(kPythons) ? std::string(m.name.substr(kPythons.size())) : "ouro." + std::string(m.name);
    if (s.find_embedded && s.find_embedded(name)) add_part(name, package, out);
  }
  std::string below(package);
  for (char& c : below)
    if (c == '.') c = '/';
  for (const std::string& folder : s.path) {
    const std::string in = (folder.empty() ? "." : folder) + (below.empty() ? "" : "/" + below);
    add_files(in, out);
  }
  return out;
}

std::optional<ImportWords> import_words(Session& s, std::string_view text) {
  text.remove_prefix(text.rfind(';') == text.npos ? 0 : text.rfind(';') + 1);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view whole = text;
  const std::string_view statement = take_word(text);
  if ((statement != "import" && statement != "from") || statement.size() == whole.size()) return std::nullopt;
  ImportWords out;
  std::string_view module = text;
  if (statement == "from") {
    module = take_word(text);
    const bool names = module.end() != whole.end();  // a blank stands behind it
    if (names) {
      const std::string_view word = take_word(text);
      if (word != "import" || word.end() == whole.end()) {
        if (std::string_view("import").starts_with(word)) out.typed = word, out.words.insert("import");
        return out;
      }
      out.typed = text.substr(std::min(text.find_last_of(" \t,(") + 1, text.size()));
      add_names(s, module, out.words);
      out.words.merge(modules_in(s, module));
      return out;
    }
  } else {
    module = text.substr(std::min(text.find_last_of(" \t,") + 1, text.size()));
  }
  const size_t dot = module.rfind('.');
  const std::string package(module.substr(0, dot == module.npos ? 0 : dot));
  out.typed = module;
  for (const std::string& name : modules_in(s, package))
    out.words.insert(package.empty() ? name : package + "." + name);
  return out;
}

}  // namespace ouro::tools
