#include "runtime/object/bind.h"

#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/slot_wrappers.h"
#include "support/diag.h"
#include "support/small_vec.h"

namespace ouro::runtime {

namespace {

std::string quoted_list(const std::vector<std::string_view>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 < names.size() ? ", " : names.size() == 2 ? " and " : ", and ";
    out += "'" + std::string(names[i]) + "'";
  }
  return out;
}

std::string function_name(Function* f) {
  Str* q = cast<Str>(f->qualname);
  return q ? std::string(q->view()) : f->code->qualname.str();
}

bool too_many(Session& s, Function* f, const ir::Signature& sig, size_t given, const Value* out) {
  size_t defaults = 0;
  if (Tuple* t = cast<Tuple>(f->defaults)) defaults = t->size;
  size_t kwonly_given = 0;
  for (size_t i = 0; i < sig.kwonly; ++i) kwonly_given += !out[sig.positional + sig.varargs + i].is_unbound();
  std::string takes =
      defaults ? "from " + std::to_string(sig.positional - defaults) + " to " + std::to_string(sig.positional)
               : std::to_string(sig.positional);
  bool plural = defaults ? true : sig.positional != 1;
  std::string extra;
  if (kwonly_given)
    extra = std::string(" positional argument") + (given != 1 ? "s" : "") + " (and " + std::to_string(kwonly_given) +
            " keyword-only argument" + (kwonly_given != 1 ? "s" : "") + ")";
  raise_type_error(s, "%s() takes %s positional argument%s but %zu%s %s given", function_name(f).c_str(), takes.c_str(),
                   plural ? "s" : "", given, extra.c_str(), given == 1 && !kwonly_given ? "was" : "were");
  return false;
}

bool missing(Session& s, Function* f, const char* kind, const std::vector<std::string_view>& names) {
  raise_type_error(s, "%s() missing %zu required %s argument%s: %s", function_name(f).c_str(), names.size(), kind,
                   names.size() == 1 ? "" : "s", quoted_list(names).c_str());
  return false;
}

// Position in `out` of parameter i of the named ones (positional, then keyword-only).
size_t slot_of(const ir::Signature& sig, size_t named) { return named < sig.positional ? named : named + sig.varargs; }

// Which named parameter (slot_of) a keyword is for; the number of them: none. Looked up where there are many of both.
class NamedParameters {
 public:
  NamedParameters(const ir::Signature& sig, size_t keywords) : sig_(sig), count_(sig.positional + sig.kwonly) {
    constexpr size_t kFew = 64;
    if (keywords < kFew || count_ < kFew) return;
    for (size_t i = sig.posonly; i < count_; ++i) by_name_.emplace(sig.names[slot_of(sig, i)].id(), i);
  }
  size_t count() const { return count_; }
  size_t find(Symbol name) const {
    if (!by_name_.empty()) {
      auto at = by_name_.find(name.id());
      return at == by_name_.end() ? count_ : at->second;
    }
    size_t i = sig_.posonly;
    while (i < count_ && sig_.names[slot_of(sig_, i)] != name) ++i;
    return i;
  }

 private:
  const ir::Signature& sig_;
  size_t count_;
  std::unordered_map<uint32_t, size_t> by_name_;
};

bool bind_keywords(Session& s, Function* f, const ir::Signature& sig, const Args& args, Value* out, Dict* kw) {
  const NamedParameters parameters(sig, args.keywords.size());
  for (size_t k = 0; k < args.keywords.size(); ++k) {
    Str* name = cast<Str>(args.names[k]);
    if (!name) {
      raise_type_error(s, "%s() keywords must be strings", function_name(f).c_str());
      return false;
    }
    Symbol symbol = str_symbol(name);
    const size_t i = parameters.find(symbol);
    if (i < parameters.count()) {
      Value& to = out[slot_of(sig, i)];
      if (!to.is_unbound()) {
        raise_type_error(s, "%s() got multiple values for argument '%s'", function_name(f).c_str(), name->data);
        return false;
      }
      to = args.keywords[k];
    } else if (kw) {
      if (!dict_set(s, kw, args.names[k], args.keywords[k])) return false;
    } else {
      std::string positional;
      for (size_t p = 0; p < sig.posonly; ++p)
        for (const Value& n : args.names)
          if (Str* t = cast<Str>(n); t && str_symbol(t) == sig.names[p])
            positional += (positional.empty() ? "" : ", ") + sig.names[p].str();
      if (!positional.empty())
        raise_type_error(s, "%s() got some positional-only arguments passed as keyword arguments: '%s'",
                         function_name(f).c_str(), positional.c_str());
      else
        raise_type_error(s, "%s() got an unexpected keyword argument '%s'", function_name(f).c_str(), name->data);
      return false;
    }
  }
  return true;
}

bool fill_defaults(Session& s, Function* f, const ir::Signature& sig, size_t given, Value* out) {
  const Value held = f->defaults,
              held_by_name = f->kwdefaults;  // a key of a script's class may be asked, and assign others
  Tuple* defaults = cast<Tuple>(held);
  size_t n = defaults ? defaults->size : 0, first = sig.positional - n;
  std::vector<std::string_view> absent;
  for (size_t i = given; i < sig.positional; ++i) {
    if (!out[i].is_unbound()) continue;
    if (i >= first)
      out[i] = (*defaults)[i - first];
    else
      absent.push_back(sig.names[i].text());
  }
  if (!absent.empty()) return missing(s, f, "positional", absent);
  Dict* kwdefaults = cast<Dict>(held_by_name);
  for (size_t i = 0; i < sig.kwonly; ++i) {
    size_t at = slot_of(sig, sig.positional + i);
    if (!out[at].is_unbound()) continue;
    Value* d = kwdefaults ? dict_find_symbol(s, kwdefaults, sig.names[at]) : nullptr;
    if (d)
      out[at] = *d;
    else
      absent.push_back(sig.names[at].text());
  }
  return absent.empty() || missing(s, f, "keyword-only", absent);
}

}  // namespace

bool bind_function(Session& s, Function* f, const Args& args, Value* out) {
  const ir::Signature& sig = f->code->sig;
  size_t given = args.positional.size(), taken = std::min<size_t>(given, sig.positional);
  for (size_t i = 0; i < taken; ++i) out[i] = args.positional[i];
  if (sig.varargs) out[sig.positional] = make_tuple(args.positional.subspan(taken));
  Dict* kw = nullptr;
  if (sig.varkw) {
    Value d = make_dict();
    kw = d.as<Dict>();
    out[sig.count() - 1] = std::move(d);
  }
  if (!args.keywords.empty() && !bind_keywords(s, f, sig, args, out, kw)) return false;
  if (given > sig.positional && !sig.varargs) return too_many(s, f, sig, given, out);
  if (taken < sig.positional || sig.kwonly) return fill_defaults(s, f, sig, taken, out);
  return true;
}

// ---------------------------------------------------------------- natives

namespace {

std::string_view trim(std::string_view t) {
  while (!t.empty() && t.front() == ' ') t.remove_prefix(1);
  while (!t.empty() && t.back() == ' ') t.remove_suffix(1);
  return t;
}

struct KindName {
  std::string_view text;
  ObjectKind kind;
};
constexpr KindName kKindNames[] = {
    {"int", ObjectKind::integer}, {"str", ObjectKind::str},   {"tuple", ObjectKind::tuple},
    {"dict", ObjectKind::dict},   {"type", ObjectKind::type}, {"shadow_map", ObjectKind::shadow_map},
};
std::string_view kind_text(ObjectKind kind) {
  for (const KindName& k : kKindNames)
    if (k.kind == kind) return k.text;
  return "?";
}
ObjectKind kind_named(std::string_view text) {
  for (const KindName& k : kKindNames)
    if (k.text == text) return k.kind;
  ouro_bug("a native's parameter list has the kind '%s'", std::string(text).c_str());
}

// `checked`: what stands behind a colon are kinds; else it is documentation.
Params parse_params(std::string_view text, bool checked) {
  Params p;
  bool keyword_only = false;
  int depth = 0;
  size_t begin = 0;
  auto item = [&](std::string_view part) {
    part = trim(part);
    if (part.empty()) return;
    if (part == "/") {
      p.posonly = static_cast<uint16_t>(p.params.size());
      return;
    }
    if (part == "*") {
      keyword_only = true;
      return;
    }
    if (part.starts_with("**")) {
      p.varkw = true;
      return;
    }
    if (part.starts_with("*")) {
      p.varargs = keyword_only = true;
      return;
    }
    size_t eq = part.find('=');
    size_t colon = part.find(':');
    std::string_view name = trim(part.substr(0, std::min(eq, colon)));
    if (p.params.empty() && !keyword_only && (name == "self" || name == "cls")) return;  // the receiver is no parameter
    ObjectKind kind = ObjectKind::unbound_;
    if (checked && colon < eq) {
      kind = kind_named(trim(part.substr(colon + 1, std::min(eq, part.size()) - colon - 1)));
      p.has_kinds = true;
    }
    p.params.push_back({intern(name), eq != part.npos, kind});
    if (!keyword_only) {
      ++p.positional;
      if (eq == part.npos) ++p.required;
    }
  };
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '(' || text[i] == '[' || text[i] == '{')) ++depth;
    if (i < text.size() && (text[i] == ')' || text[i] == ']' || text[i] == '}')) --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      item(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return p;
}

bool wrong_count(Session& s, std::string_view name, const Params& p, size_t given) {
  int n = static_cast<int>(name.size());
  const char* t = name.data();
  size_t most = p.positional, least = p.required;
  const char* plural = most == 1 ? "" : "s";
  if (p.posonly < p.positional) {  // keywords are possible
    if (given > most)
      raise_type_error(s, "%.*s() takes %s %zu%s argument%s (%zu given)", n, t, least == most ? "exactly" : "at most",
                       most, p.params.size() > p.positional ? " positional" : "", plural, given);
    return false;
  }
  if (least == most && most == 0)
    raise_type_error(s, "%.*s() takes no arguments (%zu given)", n, t, given);
  else if (least == most && most == 1)
    raise_type_error(s, "%.*s() takes exactly one argument (%zu given)", n, t, given);
  else if (least == most)
    raise_type_error(s, "%.*s expected %zu argument%s, got %zu", n, t, most, plural, given);
  else if (given < least)
    raise_type_error(s, "%.*s expected at least %zu argument%s, got %zu", n, t, least, least == 1 ? "" : "s", given);
  else
    raise_type_error(s, "%.*s expected at most %zu argument%s, got %zu", n, t, most, plural, given);
  return false;
}

}  // namespace

const Params* params_of(const NativeDef& def) {
  static std::mutex mutex;
  static std::unordered_map<const NativeDef*, std::unique_ptr<Params>>* cache =
      new std::unordered_map<const NativeDef*, std::unique_ptr<Params>>;
  std::lock_guard lock(mutex);
  std::unique_ptr<Params>& p = (*cache)[&def];
  if (!p) {
    p = std::make_unique<Params>(parse_params(def.params, !def.raw));
    p->parse_self = def.raw || def.params.empty();
    if (p->parse_self) {
      p->quick_least = 0;
      p->quick_most = UINT16_MAX;
    } else if (!p->varargs && !p->varkw && p->params.size() == p->positional && !p->has_kinds) {
      p->quick_least = p->required;
      p->quick_most = p->quick_slots = p->positional;
    }
  }
  return p.get();
}

bool bind_native(Session& s, std::string_view name, const Params& p, const Args& args, Value* out) {
  size_t given = args.positional.size(), taken = std::min<size_t>(given, p.positional);
  for (size_t i = 0; i < taken; ++i) out[i] = args.positional[i];
  if (given > p.positional && !p.varargs) return wrong_count(s, name, p, given);
  if (p.varargs) out[p.positional] = make_tuple(args.positional.subspan(taken));
  Dict* kw = nullptr;
  if (p.varkw) {
    Value d = make_dict();
    kw = d.as<Dict>();
    out[p.slots() - 1] = std::move(d);
  }
  auto slot = [&](size_t i) { return i < p.positional ? i : i + p.varargs; };
  int n = static_cast<int>(name.size());
  if (!args.keywords.empty() && p.posonly == p.params.size() && !kw) {
    raise_type_error(s, "%.*s() takes no keyword arguments", n, name.data());
    return false;
  }
  for (size_t k = 0; k < args.keywords.size(); ++k) {
    Str* key = cast<Str>(args.names[k]);
    Symbol symbol = key ? str_symbol(key) : Symbol();
    size_t i = p.posonly;
    while (i < p.params.size() && p.params[i].name != symbol) ++i;
    if (i < p.params.size()) {
      Value& to = out[slot(i)];
      if (!to.is_unbound()) {
        raise_type_error(s, "argument for %.*s() given by name ('%s') and position (%zu)", n, name.data(), key->data,
                         i + 1);
        return false;
      }
      to = args.keywords[k];
    } else if (kw) {
      if (!dict_set(s, kw, args.names[k], args.keywords[k])) return false;
    } else {
      raise_type_error(s, "'%s' is an invalid keyword argument for %.*s()", key ? key->data : "?", n, name.data());
      return false;
    }
  }
  for (size_t i = 0; i < p.params.size(); ++i) {
    if (p.params[i].has_default || !out[slot(i)].is_unbound()) continue;
    if (i < p.positional && p.posonly == p.positional) return wrong_count(s, name, p, given);
    if (i < p.positional)
      raise_type_error(s, "%.*s() missing required argument '%s' (pos %zu)", n, name.data(), p.params[i].name.c_str(),
                       i + 1);
    else
      raise_type_error(s, "%.*s() missing required keyword-only argument: '%s'", n, name.data(),
                       p.params[i].name.c_str());
    return false;
  }
  return true;
}

namespace {

// Big ints are no ints here: whoever asks for one reads a machine word.
bool kinds_fit(Session& s, const NativeDef& def, const Params& p, const Value* bound) {
  for (size_t i = 0; i < p.params.size(); ++i) {
    const ObjectKind kind = p.params[i].kind;
    const Value& v = bound[i < p.positional ? i : i + p.varargs];
    if (kind == ObjectKind::unbound_ || v.is_unbound() || kind_of(v) == kind) continue;
    raise_type_error(s, "%.*s() argument '%s' must be %s, not %s", static_cast<int>(def.name.size()), def.name.data(),
                     p.params[i].name.c_str(), std::string(kind_text(kind)).c_str(), type_name(s, v).c_str());
    return false;
  }
  return true;
}

Value receiver_error(Session& s, Native* n, const Args& args) {
  std::string owner(n->owner->text());
  int size = static_cast<int>(n->def->name.size());
  const char* name = n->def->name.data();
  if (args.size() == 0)
    return raise_type_error(s, "unbound method %s.%.*s() needs an argument", owner.c_str(), size, name);
  if (is_slot_wrapper(n->def->name))
    return raise_type_error(s, "descriptor '%.*s' requires a '%s' object but received a '%s'", size, name,
                            owner.c_str(), type_name(s, args[0]).c_str());
  return raise_type_error(s, "descriptor '%.*s' for '%s' objects doesn't apply to a '%s' object", size, name,
                          owner.c_str(), type_name(s, args[0]).c_str());
}

}  // namespace

// Memory may run out in any of a native's own strings and tables.
Value call_native_fn(Session& s, const NativeDef& def, const Args& args) {
  try {
    return def.fn(s, args);
  } catch (const Interrupted&) {
    return raise_interrupt(s);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return raise_memory_error(s);
}

Value call_native(Session& s, Native* n, const Args& args) {
  SmallVec<Value, 8> with_self;
  Args all = args;
  if (!n->self.is_unbound()) {
    with_self.reserve(args.size() + 1);
    with_self.push_back(n->self);
    with_self.append(args.positional.begin(), args.positional.end());
    all.positional = std::span<const Value>(with_self.data(), with_self.size());
  } else if (n->owner && (all.size() == 0 || !is_a(s, all[0], n->owner))) {
    return receiver_error(s, n, args);
  }
  if (!n->params) n->params = params_of(*n->def);
  const Params& p = *n->params;
  if (p.parse_self) return call_native_fn(s, *n->def, all);
  // Parameter lists of methods leave `self` out.
  bool method = n->owner || !n->self.is_unbound();
  SmallVec<Value, 8> bound;
  bound.resize(p.slots() + method);
  if (method) {
    bound[0] = all[0];
    all.positional = all.positional.subspan(1);
  }
  if (all.keywords.empty() && !p.varargs && !p.varkw && all.size() >= p.required && all.size() <= p.positional &&
      p.params.size() == p.positional) {
    for (size_t i = 0; i < all.size(); ++i) bound[i + method] = all[i];
  } else {
    std::string name(n->def->name);
    bool dotted = n->owner && p.posonly == p.params.size() && p.required == p.positional && p.positional <= 1;
    if (dotted) name = std::string(n->owner->text()) + "." + name;
    if (!bind_native(s, name, p, all, bound.data() + method)) return Value::error();
  }
  if (p.has_kinds && !kinds_fit(s, *n->def, p, bound.data() + method)) return Value::error();
  return call_native_fn(s, *n->def, Args{{bound.data(), bound.size()}, {}, {}});
}

}  // namespace ouro::runtime
