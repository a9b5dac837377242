// Import: modules already there, then beside the script and on the path (NAME.ouro, NAME.py, NAME/__init__.ouro|py),
// then natives, then the library that is embedded in the program.
#include "runtime/interpreter/modules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "frontend/module.h"
#include "ir/pack.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/sweep.h"
#include "runtime/object/elsewhere.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"
#include "support/source.h"

namespace ouro::runtime {

namespace {

// Each half is indexed at the first name that is asked of it: a small program asks only Python's.
struct Builtins {
  std::unordered_map<uint32_t, const NativeDef*> python_rows, ouro_rows;
  std::unordered_map<uint32_t, Value> python, ouro, intrinsics;
  bool python_indexed = false, ouro_indexed = false;
};

// sys.modules, made when a script first asks for it. From then on it is what import looks at.
struct ShownModules {
  Value dict;
};

void set_module(Session& s, Symbol name, const Value& m) {
  s.modules.set(name, m);
  const Value& shown = s.state<ShownModules>().dict;
  if (Dict* d = cast<Dict>(shown)) {
    if (!m.is_unbound()) return dict_set_symbol(s, d, name, m);
    if (dict_delete(s, d, make_str(name.text())) < 0) clear_pending(s);
  }
}

void index_half(Session& s, std::string_view module, std::unordered_map<uint32_t, const NativeDef*>& rows,
                std::unordered_map<uint32_t, Value>& made) {
  for (const NativeModule* m : s.native_modules) {
    if (m->name != module) continue;
    for (const NativeDef& d : m->functions) rows.emplace(intern(d.name).id(), &d);
  }
  for (Type* t : s.types)
    if (t && t->def && t->def->module == module) made.emplace(intern(t->text()).id(), Value::share(t));
}

void index_ouro(Session& s, Builtins& b) {
  b.ouro_indexed = true;
  index_half(s, kOuro, b.ouro_rows, b.ouro);
}

void index_python(Session& s, Builtins& b) {
  b.python_indexed = true;
  index_half(s, kPython, b.python_rows, b.python);
  for (Type* t : s.exceptions) b.python.insert_or_assign(intern(t->text()).id(), Value::share(t));
  for (const char* hidden : {"function",
                             "NoneType",
                             "NotImplementedType",
                             "ellipsis",
                             "module",
                             "builtin_function_or_method",
                             "method",
                             "generator",
                             "cell",
                             "traceback",
                             "member_descriptor",
                             "getset_descriptor",
                             "mappingproxy",
                             "dict_keys",
                             "dict_values",
                             "dict_items",
                             "iterator",
                             "code",
                             "frame",
                             "GenericAlias"})
    b.python.erase(intern(hidden).id());
  auto put = [&](const char* name, Value v) { b.python.insert_or_assign(intern(name).id(), std::move(v)); };
  put("None", Value::none());
  put("True", Value::boolean(true));
  put("False", Value::boolean(false));
  put("Ellipsis", Value::ellipsis());
  put("NotImplemented", Value::not_implemented());
  put("__debug__", Value::boolean(true));
  for (auto [alias, kind] : {std::pair{"EnvironmentError", ExcKind::OSError}, std::pair{"IOError", ExcKind::OSError}})
    put(alias, Value::share(exception_type(s, kind)));
}

Value from_rows(Session& s, std::unordered_map<uint32_t, Value>& made,
                std::unordered_map<uint32_t, const NativeDef*>& rows, std::string_view module, Symbol name) {
  if (auto it = made.find(name.id()); it != made.end()) return it->second;
  if (auto it = rows.find(name.id()); it != rows.end()) return made[name.id()] = make_native(*it->second);
  for (const NativeModule* m : s.native_modules) {
    if (m->name != module || !m->constant) continue;
    Value v = m->constant(s, name.text());
    if (v.is_error() || !v.is_unbound()) return v.is_error() ? v : made[name.id()] = v;
  }
  return Value();
}

}  // namespace

Value builtin(Session& s, Symbol name, bool ouro_names) {
  Builtins& b = s.state<Builtins>();
  if (!b.python_indexed) index_python(s, b);
  Value v = from_rows(s, b.python, b.python_rows, kPython, name);
  if (!v.is_unbound() || !ouro_names) return v;
  if (!b.ouro_indexed) index_ouro(s, b);
  return from_rows(s, b.ouro, b.ouro_rows, kOuro, name);
}

Value intrinsic_or_builtin(Session& s, Symbol name) {
  for (const NativeDef& d : s.intrinsics) {
    if (d.name != name.text()) continue;
    Value& made = s.state<Builtins>().intrinsics[name.id()];
    if (made.is_unbound()) made = make_native(d);
    return made;
  }
  return builtin(s, name, true);
}

namespace {

void set_name(Session& s, Module* m, const char* name, Value v) {
  m->names.set(intern(name), std::move(v));
  m->version = s.next_version++;
}

Value new_module(Session& s, std::string_view name, Value file) {
  Value v = make_module(s, name);
  Module* m = v.as<Module>();
  m->file = file;
  set_name(s, m, "__name__", make_str(name));
  set_name(s, m, "__doc__", Value::none());
  set_name(s, m, "__package__",
           name == "__main__" ? Value::none()
                              : make_str(name.substr(0, name.rfind('.') == name.npos ? 0 : name.rfind('.'))));
  set_name(s, m, "__loader__", Value::none());
  set_name(s, m, "__spec__", Value::none());
  if (!file.is_none()) set_name(s, m, "__file__", file);
  return v;
}

// A native module makes its names at first use.
Value load_native(Session& s, Module& m, Symbol name) {
  for (const NativeModule* rows : s.native_modules) {
    if (m.rows != static_cast<const void*>(rows) && rows->name != static_cast<const NativeModule*>(m.rows)->name)
      continue;
    for (const NativeDef& d : rows->functions)
      if (d.name == name.text()) {
        if (rows->name == kPython) return builtin(s, name, false);  // `builtins.len is len`
        Value f = make_native(d);
        f.as<Native>()->module_name = m.name;
        return f;
      }
    if (rows->constant) {
      Value v = rows->constant(s, name.text());
      if (!v.is_unbound()) return v;
    }
    if (rows->attribute) {
      Value v = rows->attribute(s, name.text());
      if (!v.is_unbound()) return v;
    }
  }
  if (static_cast<const NativeModule*>(m.rows)->name == kOuro ||
      static_cast<const NativeModule*>(m.rows)->name == kPython)
    return builtin(s, name, static_cast<const NativeModule*>(m.rows)->name == kOuro);
  return Value();
}

struct Found {
  std::string file;  // as the system names it
  std::string text;
  bool package = false, python = false, there = false;
  std::string folder;
};

// For each byte of a module: its text, and the trees that it becomes.
constexpr size_t kTextToTrees = 32;

// False: there is no such file that can be read. Only a regular file is a module, as in CPython: others may keep their
// reader waiting, or never end.
bool read_module(Session& s, const std::string& path, std::string& text) {
  struct File {
    int fd;
    ~File() {
      if (fd >= 0) close(fd);
    }
  } file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat st {};
  if (file.fd < 0 || fstat(file.fd, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  if (st.st_size > 0) require_memory(kTextToTrees * static_cast<size_t>(st.st_size));
  CountedVector<char> piece(65536);
  for (;;) {
    poll_interrupt(s);
    const ssize_t n = read(file.fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    append_text(text, {piece.data(), static_cast<size_t>(n)});
  }
}

Found find_in(Session& s, const std::string& folder, std::string_view name) {
  Found f;
  const std::optional<std::string> leaf = text::to_system(name);
  if (!leaf) return f;
  std::string base = folder.empty() ? *leaf : folder + "/" + *leaf;
  struct Form {
    const char* tail;
    bool package, python;
  };
  for (Form form : {Form{"/__init__.ouro", true, false}, Form{"/__init__.py", true, true}, Form{".ouro", false, false},
                    Form{".py", false, true}}) {
    std::string path = base + form.tail;
    f.text.clear();
    if (!read_module(s, path, f.text)) continue;
    f.file = path;
    f.package = form.package;
    f.python = form.python;
    f.there = true;
    f.folder = base;
    return f;
  }
  return f;
}

Value no_module(Session& s, std::string_view name, std::string_view whole_of = {}) {
  std::string text = "No module named '" + std::string(name) + "'";
  if (!whole_of.empty()) text += "; '" + std::string(whole_of) + "' is not a package";
  raise_text(s, ExcKind::ModuleNotFoundError, text);
  s.pending.as<Exception>()->extra1 = make_str(name);
  return Value::error();
}

// Puts the module among the loaded ones while `run` fills it; takes it out again on error, also where that is a refusal
// of memory.
template <class Run>
Value run_loading(Session& s, Symbol name, Value m, Run run) {
  struct Loading {
    Session& s;
    Symbol name;
    bool done = false;
    ~Loading() {
      if (!done) set_module(s, name, Value());
    }
  } loading{s, name};
  set_module(s, name, m);
  Value r = run(m);
  loading.done = !r.is_error();
  return loading.done ? m : r;
}

Value run_found(Session& s, Symbol name, const Found& f) {
  const std::string file = text::from_system(f.file);
  Value m = new_module(s, name.text(), make_str(file));
  Module* mod = m.as<Module>();
  mod->ouro_names = !f.python;
  mod->is_package = f.package;
  mod->search_path = f.folder;
  return run_loading(s, name, m, [&](const Value& m) { return run_source(s, file, f.text, m); });
}

// What stands for the folder of a module that is embedded in the program; no folder has this name.
constexpr std::string_view kLibrary("\0library", 8);
bool is_library(const Module& m) { return m.search_path == kLibrary; }

struct InternalModules {
  std::vector<const NativeModule*> rows;
};

Value import_embedded(Session& s, Symbol name, const Session::Embedded& e) {
  Value m = new_module(s, name.text(), make_str(e.path));
  m.as<Module>()->ouro_names = true;
  m.as<Module>()->is_package = e.is_package;
  m.as<Module>()->search_path = kLibrary;
  return run_loading(s, name, m, [&](const Value& m) { return run_embedded(s, e, m); });
}

Value load_module(Session& s, Symbol name, Module* parent) {
  std::string_view full = name.text();
  std::string_view leaf = full.substr(full.rfind('.') == full.npos ? 0 : full.rfind('.') + 1);
  if (parent) {
    if (parent->is_package && !parent->search_path.empty() && !is_library(*parent)) {
      Found f = find_in(s, parent->search_path, leaf);
      if (f.there) return run_found(s, name, f);
    }
  } else {
    for (const std::string& folder : s.path) {
      Found f = find_in(s, folder, leaf);
      if (f.there) return run_found(s, name, f);
    }
  }
  if (const Session::Embedded* e = s.find_embedded ? s.find_embedded(full) : nullptr)
    return import_embedded(s, name, *e);
  if (const NativeModule* rows = s.find_natives(full)) {
    Value m = new_module(s, full, Value::none());
    m.as<Module>()->load = load_native;
    m.as<Module>()->rows = rows;
    set_module(s, name, m);
    return m;
  }
  bool holds_modules = parent && (parent->is_package || text_of(s, parent->name).starts_with("ouro"));
  if (parent && !holds_modules) return no_module(s, full, full.substr(0, full.rfind('.')));
  return no_module(s, full);
}

}  // namespace

// The text is only for tracebacks.
Value run_embedded(Session& s, const Session::Embedded& e, const Value& module) {
  uint32_t file = s.sources.add_later(std::string(e.path), e.text);
  ir::UnpackResult code = ir::unpack(e.packed, file);
  if (!code.function) ouro_bug("%s: %s", std::string(e.path).c_str(), code.error.c_str());
  return run_module(s, code.function, module);
}

Value loaded_module(Session& s, Symbol dotted) {
  if (Dict* d = cast<Dict>(s.state<ShownModules>().dict)) return dict_get_str(s, d, dotted.text());
  Value* m = s.modules.find(dotted);
  return m ? *m : Value();
}

Value modules_dict(Session& s) {
  Value& shown = s.state<ShownModules>().dict;
  if (shown.is_unbound()) {
    Value d = make_dict();
    for (auto& e : s.modules.entries())
      if (e.name && !e.value.is_unbound()) dict_set_symbol(s, d.as<Dict>(), e.name, e.value);
    s.state<ShownModules>().dict = d;
    return d;
  }
  return shown;
}

void drop_modules(Session& s) {
  if (Dict* d = cast<Dict>(s.state<ShownModules>().dict)) dict_clear(d);
  s.modules.clear();
}

Value import_module(Session& s, Symbol dotted) {
  auto halted = [&](const Value& m) {  // None says that it must not be found
    if (!m.is_none()) return m;
    raise_text(s, ExcKind::ModuleNotFoundError, "import of " + dotted.str() + " halted; None in sys.modules");
    s.pending.as<Exception>()->extra1 = make_str(dotted.text());
    return Value::error();
  };
  if (Value m = loaded_module(s, dotted); !m.is_unbound()) return halted(m);
  std::string_view text = dotted.text();
  size_t dot = text.rfind('.');
  Value parent;
  if (dot != text.npos) {
    parent = import_module(s, intern(text.substr(0, dot)));
    if (parent.is_error()) return parent;
    if (Value m = loaded_module(s, dotted); !m.is_unbound()) return halted(m);
  }
  OURO_TRY(m, load_module(s, dotted, cast<Module>(parent)));
  if (Module* p = cast<Module>(parent)) {
    p->names.set(intern(text.substr(dot + 1)), m);
    p->version = s.next_version++;
  }
  return m;
}

Value internal_module(Session& s, const Module& importer, Symbol name) {
  if (!is_library(importer)) return Value();
  for (const NativeModule* rows : s.state<InternalModules>().rows) {
    if (rows->name != name.text()) continue;
    Value m = new_module(s, rows->name, Value::none());
    for (const NativeDef& d : rows->functions) {
      Value f = make_native(d);
      f.as<Native>()->module_name = m.as<Module>()->name;
      m.as<Module>()->names.set(intern(d.name), std::move(f));
    }
    return m;
  }
  return Value();
}
void register_internal(Session& s, const NativeModule* rows) { s.state<InternalModules>().rows.push_back(rows); }

Value import_top(Session& s, Symbol dotted) {
  OURO_TRY(m, import_module(s, dotted));
  std::string_view text = dotted.text();
  size_t dot = text.find('.');
  return dot == text.npos ? m : import_module(s, intern(text.substr(0, dot)));
}

Value import_from(Session& s, const Value& module, Symbol name) {
  Value v = lookup_attr(s, module, name);
  if (!v.is_unbound()) return v;
  Module* m = cast<Module>(module);
  if (!m) {  // whatever a script put into sys.modules
    static const Symbol own = intern("__name__");
    OURO_TRY(called, lookup_attr(s, module, own));
    const std::string from = cast<Str>(called) ? text_of(s, called) : "<unknown module name>";
    raise_text(s, ExcKind::ImportError,
               "cannot import name '" + name.str() + "' from '" + from + "' (unknown location)");
    return Value::error();
  }
  std::string base = text_of(s, m->name);
  Symbol full = intern(base + "." + name.str());
  if (m->is_package) {
    v = import_module(s, full);
    if (!v.is_error()) return v;
    if (!pending_is(s, ExcKind::ModuleNotFoundError)) return v;
    Str* missing = cast<Str>(s.pending.as<Exception>()->extra1);  // another module is missing inside of it?
    if (missing && missing->view() != full.text()) return v;
    clear_pending(s);
  }
  std::string where = m->file.is_none() || m->file.is_unbound() ? "unknown location" : text_of(s, m->file);
  raise_text(s, ExcKind::ImportError,
             "cannot import name '" + name.str() + "' from '" + base + "' (" + where + ")" +
                 of_another_package(base, name.text()));
  return Value::error();
}

bool import_star(Session& s, const Value& module, Module& into) {
  Module* m = cast<Module>(module);
  static const Symbol all = intern("__all__");
  Value names = m ? lookup_attr(s, module, all) : Value();
  if (names.is_error()) return false;
  auto copy = [&](Symbol n) {
    Value v = get_attr(s, module, n);
    if (v.is_error()) return false;
    into.names.set(n, std::move(v));
    return true;
  };
  bool good = true;
  if (!names.is_unbound()) {
    good = for_each(s, names, [&](Value& n) { return cast<Str>(n) && copy(str_symbol(cast<Str>(n))); });
  } else if (m) {
    if (m->rows)
      for (const NativeModule* rows : s.native_modules) {
        if (rows->name != static_cast<const NativeModule*>(m->rows)->name) continue;
        for (const NativeDef& d : rows->functions) good = good && copy(intern(d.name));
        for (std::string_view c : rows->constants) good = good && copy(intern(c));
      }
    std::vector<Symbol> own;
    for (auto& e : m->names.entries())
      if (e.name && !e.value.is_unbound() && !e.name.text().starts_with('_')) own.push_back(e.name);
    for (Symbol n : own) good = good && copy(n);
  }
  into.version = s.next_version++;
  return good;
}

Symbol resolve_relative(Session& s, const Module& from, Symbol name) {
  std::string_view text = name.text();
  if (!text.starts_with('.')) return name;
  size_t dots = 0;
  while (dots < text.size() && text[dots] == '.') ++dots;
  std::string base = text_of(s, from.name);
  for (size_t i = from.is_package ? 1 : 0; i < dots; ++i) {
    size_t dot = base.rfind('.');
    if (dot == base.npos) {
      bool in_package = from.is_package || i > 0;
      raise_text(s, ExcKind::ImportError,
                 in_package ? "attempted relative import beyond top-level package"
                            : "attempted relative import with no known parent package");
      return {};
    }
    base.resize(dot);
  }
  std::string rest(text.substr(dots));
  return intern(base.empty() ? rest : rest.empty() ? base : base + "." + rest);
}

namespace {

// A diagnostic of the reader as an exception value; extra2 holds what CPython prints for it.
Value raise_diagnostic(Session& s, const Diagnostic& d) {
  ExcKind kind = ExcKind::SyntaxError;
  for (auto [text, k] :
       {std::pair{"IndentationError", ExcKind::IndentationError}, std::pair{"TabError", ExcKind::TabError},
        std::pair{"RecursionError", ExcKind::RecursionError}, std::pair{"MemoryError", ExcKind::MemoryError},
        std::pair{"ValueError", ExcKind::ValueError}, std::pair{"OverflowError", ExcKind::OverflowError}})
    if (d.kind == text) kind = k;
  Value e = make_exception(s, kind, d.text);
  e.as<Exception>()->extra2 = make_str(text::shown_text(render(d, s.sources)));
  return set_pending(s, std::move(e));
}

}  // namespace

Value run_source(Session& s, std::string_view file_name, std::string_view text, const Value& module, bool interactive) {
  sweep_code(s);
  require_memory(kTextToTrees * text.size());
  const SourceFile& file = s.sources.add(std::string(file_name), text);
  Diagnostics diags;
  ir::FunctionRef code =
      frontend::compile_module(file, diags, {.interactive = interactive, .is_py = !module.as<Module>()->ouro_names});
  if (!code) {
    const Diagnostic* d = diags.first_error();
    d ? raise_diagnostic(s, *d) : raise_error(s, ExcKind::SyntaxError, "invalid syntax");
    s.sources.drop(file.id());
    return Value::error();
  }
  keep_while_used(s, file.id(), code);
  return run_module(s, code, module);
}

Value make_main_module(Session& s, std::string_view file, bool ouro_names) {
  Value m = new_module(s, "__main__", file.empty() ? Value::none() : make_str(file));
  m.as<Module>()->ouro_names = ouro_names;
  static const Symbol builtins = intern("__builtins__");
  set_module(s, intern("__main__"), m);
  (void)builtins;
  return m;
}

Value add_module(Session& s, std::string_view dotted) {
  Symbol name = intern(dotted);
  if (Value m = loaded_module(s, name); !m.is_unbound()) return m;
  Value made = new_module(s, dotted, Value::none());
  set_module(s, name, made);
  if (size_t dot = dotted.rfind('.'); dot != dotted.npos) {
    Value parent = add_module(s, dotted.substr(0, dot));
    set_name(s, parent.as<Module>(), std::string(dotted.substr(dot + 1)).c_str(), made);
  }
  return made;
}

}  // namespace ouro::runtime
