// ouro.native.demand   set(wishes), push(wishes) -> token, pop(token), asked(name), metric(name, value),
//                      add_choice(name, ways), levels(demand, ways, saves_memory, holds), way(name), take_way(name,
//                      way), make_room(), served(goal, reached, why), looks(on), instances(of) -> list, on(name,
//                      handler), step_begins() -> token, step_ends(token), report() -> dict
//
// What stdlib/demand.ouro is made of; wishes are a dict of names to int, float, str or None.
#include "stdlib/native/demand_module.h"

#include <charconv>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "jit/report/report.h"
#include "jit/versions/executor.h"
#include "runtime/demand/demand.h"
#include "runtime/demand/loop.h"
#include "runtime/demand/report.h"
#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/modules.h"
#include "runtime/machine/give_back.h"
#include "runtime/object/dict.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"
#include "runtime/types/big_int.h"
#include "runtime/types/float_text.h"
#include "support/trace.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

struct Pushed {
  int64_t next = 0;
  std::map<int64_t, std::vector<DemandRow>> before;
};

// Functions of the script that are called when a demand of its own has changed.
struct Handlers {
  std::map<std::string, Value> of;
};

bool wishes_of(Session& s, const Value& v, std::vector<Wish>& out) {
  const Dict* d = cast<Dict>(v);
  if (!d) return raise_type_error(s, "wishes are a dict, not %s", type_name(s, v).c_str()), false;
  for (uint32_t i = 0; i < d->filled; ++i) {
    const Dict::Entry& e = d->entries[i];
    if (e.key.is_unbound()) continue;
    Str* name = cast<Str>(e.key);
    const Value& value = unwrap(e.value);
    Wish w{name ? std::string(name->view()) : std::string(), {}};
    if (value.is_none())
      w.value = "none";
    else if (Str* text = cast<Str>(value))
      w.value = text->view();
    else if (is_int_value(value) && !value.is_bool())
      w.value = int_text(value);
    else if (value.is_float())
      w.value = text::float_repr(value.as_float());
    else
      return raise_type_error(s, "demand %s: a number, str or None expected, not %s", w.name.c_str(),
                              type_name(s, e.value).c_str()),
             false;
    out.push_back(std::move(w));
  }
  return true;
}

bool ask(Session& s, const Value& wishes, std::vector<DemandRow>& before) {
  std::vector<Wish> w;
  if (!wishes_of(s, wishes, w)) return false;
  if (std::string wrong = s.demands.set(w, DemandOrigin::script, before); !wrong.empty()) {
    raise_value_error(s, "%s", wrong.c_str());
    return false;
  }
  adopt_demands(s);
  (void)s.demands.loop().library_follows(s);
  return true;
}

Value n_set(Session& s, const Args& a) {
  std::vector<DemandRow> before;
  return ask(s, a[0], before) ? Value::none() : Value::error();
}

Value n_push(Session& s, const Args& a) {
  std::vector<DemandRow> before;
  if (!ask(s, a[0], before)) return Value::error();
  Pushed& p = s.state<Pushed>();
  p.before[++p.next] = std::move(before);
  return Value::integer(p.next);
}

Value n_pop(Session& s, const Args& a) {
  Pushed& p = s.state<Pushed>();
  auto at = a[0].is_int() ? p.before.find(a[0].as_int()) : p.before.end();
  if (at == p.before.end()) return raise_value_error(s, "no such demand is in force");
  s.demands.put_back(at->second);
  // What was asked for inside of it, and ends later, goes back to what was before both.
  for (const DemandRow& mine : at->second)
    for (auto& [token, rows] : p.before)
      for (DemandRow& r : rows)
        if (r.name == mine.name && r.serial == mine.replaced_by) {
          const uint64_t by = r.replaced_by;
          r = mine;
          r.replaced_by = by;
        }
  p.before.erase(at);
  adopt_demands(s);
  (void)s.demands.loop().library_follows(s);
  return Value::none();
}

// What the demand comes to for the script: a number where its text is one.
Value amount_of(const std::string& text) {
  if (text == "auto") return Value::none();
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error == std::errc() && end == text.data() + text.size()) return Value::integer(n);
  if (const std::optional<double> x = read_number(text)) return Value::floating(*x);
  return make_str(text::shown_text(text));
}

bool name_of(Session& s, const Value& v, std::string& out) {
  const Str* name = cast<Str>(v);
  if (!name) return raise_type_error(s, "the name of a demand is a str, not %s", type_name(s, v).c_str()), false;
  out = name->view();
  return true;
}

Value n_asked(Session& s, const Args& a) {
  std::string name;
  if (!name_of(s, a[0], name)) return Value::error();
  return amount_of(s.demands.asked(name));
}

Value n_metric(Session& s, const Args& a) {
  std::string name;
  double value = 0;
  if (!name_of(s, a[0], name) || !to_double(s, a[1], value)) return Value::error();
  if (std::string wrong = s.demands.add_kind(name, /*metric=*/true); !wrong.empty())
    return raise_value_error(s, "%s", wrong.c_str());
  s.demands.loop().report_metric(name, value);
  return Value::none();
}

// Demands that a module of the library carries out: its function `demanded` is their handler, and `measure` tells what
// has come of them.
constexpr std::pair<std::string_view, std::string_view> kServed[] = {
    {"sparsity", "ouro.nn.pruning"},
    {"output_threshold", "ouro.nn.outputs"},
    {"optimizer", "ouro.optim.switched"},
    {"watch", "ouro.optim.watched"},
};

// Null where there is none.
Value handler_of(Session& s, const std::string& name) {
  for (const auto& [demand, module] : kServed)
    if (demand == name) {
      OURO_TRY(m, import_module(s, intern(module)));
      return get_attr(s, m, "demanded");
    }
  Handlers& handlers = s.state<Handlers>();
  const auto at = handlers.of.find(name);
  return at == handlers.of.end() ? Value() : at->second;
}

// As amount_of(), and "auto" where the library is asked to choose.
Value wished(Session& s, const std::string& name) {
  for (const DemandRow& r : s.demands.state().asked)
    if (r.name == name && r.origin != DemandOrigin::standard && r.kind->leaves_choice && r.value == "auto")
      return make_str("auto");
  return amount_of(s.demands.asked(name));
}

// Tells the script which of its own demands have changed, and the library which of those it serves.
void tell_now(Session& s, const std::string& name) {
  Value pending = std::move(s.pending), handler = handler_of(s, name);
  if (handler.is_unbound()) {
    s.pending = std::move(pending);
    return;
  }
  if (handler.is_error() || call(s, handler, {wished(s, name)}).is_error()) {
    Value exc = take_pending(s);
    (void)s.out.flush();
    s.err.write(
        text::shown_text("Exception ignored in the handler of the demand " + name + "\n" + format_exception(s, exc)));
    clear_pending(s);
  }
  s.pending = std::move(pending);
}

// At a safe point.
void tell(Session& s, const std::string& name) {
  if (!s.demands.loop().carries_later(name)) tell_now(s, name);
}

// After a step: tells the library of the loop's choice. Not where an optimizer, a transform or a layer is running, of
// which the step that ended was a part.
bool carry(Session& s, const std::string& name) {
  for (const Frame* f = s.interpreter->top; f; f = f->caller)
    if (const SourceFile* file = s.sources.file(f->code->function->span.file))
      for (const std::string_view part : {"ouro/optim", "ouro/autodiff", "ouro/nn"})
        if (file->name().starts_with(part)) return false;
  if (s.demands.latched()) return false;
  tell_now(s, name);
  return true;
}

Value n_on(Session& s, const Args& a) {
  std::string name;
  if (!name_of(s, a[0], name)) return Value::error();
  if (std::string wrong = s.demands.add_kind(name, /*metric=*/false); !wrong.empty())
    return raise_value_error(s, "%s", wrong.c_str());
  if (a[1].is_none())
    s.state<Handlers>().of.erase(name);
  else
    s.state<Handlers>().of[name] = a[1];
  return Value::none();
}

Value add_choice(Session& s, const Value& called, const Value& texts, bool of_library, bool saves_memory,
                 const Value& held = Value::none()) {
  std::string name;
  Tuple* t = cast<Tuple>(texts);
  if (!name_of(s, called, name)) return Value::error();
  if (!t) return raise_type_error(s, "a choice is a name and a tuple of texts");
  std::vector<std::string> ways;
  for (const Value& way : *t) {
    const Str* text = cast<Str>(way);
    if (!text) return raise_type_error(s, "a choice is a name and a tuple of texts");
    ways.push_back(text::shown_text(std::string(text->view())));
  }
  std::vector<double> holds;
  if (Tuple* each = cast<Tuple>(held))
    for (const Value& bytes : *each)
      if (!to_double(s, bytes, holds.emplace_back())) return Value::error();
  std::string wrong = s.demands.loop().add_choice(name, std::move(ways), of_library, saves_memory, std::move(holds));
  if (!wrong.empty()) return raise_value_error(s, "%s", wrong.c_str());
  return Value::none();
}

Value n_add_choice(Session& s, const Args& a) { return add_choice(s, a[0], a[1], false, false); }

Value n_levels(Session& s, const Args& a) {
  if (!a[1].is_none()) return add_choice(s, a[0], a[1], true, a[2].is_bool() && a[2].as_bool(), a[3]);
  std::string name;
  if (!name_of(s, a[0], name)) return Value::error();
  s.demands.loop().remove_choice(name);
  return Value::none();
}

Value n_take_way(Session& s, const Args& a) {
  std::string name;
  if (!name_of(s, a[0], name)) return Value::error();
  if (a[1].is_int() && a[1].as_int() >= 0) s.demands.loop().choose_way(name, static_cast<size_t>(a[1].as_int()));
  return Value::none();
}

Value n_make_room(Session& s, const Args&) {
  if (s.executor) s.executor->make_room(s);
  give_back_memory();
  return Value::none();
}

Value n_way(Session& s, const Args& a) {
  std::string name;
  if (!name_of(s, a[0], name)) return Value::error();
  const std::optional<size_t> way = s.demands.loop().way_of(name);
  return way ? Value::integer(static_cast<int64_t>(*way)) : Value::none();
}

// At a safe point: statements of somebody at another terminal (`ouro attach`), in the script's module. What they print.
std::string receive(Session& s, const std::string& text) {
  Value module = loaded_module(s, intern("__main__"));
  if (module.is_unbound()) return "there is no script that runs\n";
  std::string printed;
  struct Redirected {
    Session& s;
    Redirected(Session& session, std::string& printed) : s(session) {
      const auto to = [&printed](std::string_view piece) { printed += piece; };
      (void)s.out.flush();
      (void)s.err.flush();
      s.out.redirect(to);
      s.err.redirect(to);
    }
    ~Redirected() {
      s.out.redirect({});
      s.err.redirect({});
    }
  } redirected(s, printed);
  Value pending = std::move(s.pending);
  const uint64_t interrupts = interrupts_taken(s);
  if (run_source(s, "<attached>", text, module, /*interactive=*/true).is_error()) {
    Value exc = take_pending(s);
    // Ctrl-C was for the program; what the text itself raises is not.
    if (exception_is(s, exc, ExcKind::KeyboardInterrupt) && interrupts_taken(s) != interrupts)
      s.poll.fetch_or(Session::kInterrupt);
    s.err.write(text::shown_text(format_exception(s, exc)));
    clear_pending(s);
  }
  s.pending = std::move(pending);
  return printed;
}

Value n_step_begins(Session& s, const Args&) {
  if (!s.demands.loop().block_begins()) return Value::none();
  return Value::integer(static_cast<int64_t>(now_ns()));
}

Value n_served(Session& s, const Args& a) {
  std::string name;
  double reached = 0;
  const Str* why = cast<Str>(a[2]);
  if (!name_of(s, a[0], name) || !to_double(s, a[1], reached)) return Value::error();
  s.demands.loop().served(name, reached, why ? std::string(why->view()) : std::string());
  return Value::none();
}

// Has the library's own measurements reported to the session, for the sensors.
bool measure_served(Session& s) {
  for (const auto& [demand, module] : kServed)
    if (const Value* m = s.modules.find(intern(module))) {
      Value measure = get_attr(s, *m, "measure");
      if (measure.is_error() || call(s, measure, {}).is_error()) return false;
    }
  return true;
}

void look(Session& s) {
  Value pending = std::move(s.pending);
  if (!measure_served(s)) clear_pending(s);
  s.pending = std::move(pending);
}

Value n_looks(Session& s, const Args& a) {
  s.demands.loop().look_with(a[0].is_bool() && a[0].as_bool() ? look : nullptr);
  return Value::none();
}

// Nothing has to be registered, then, and nothing is kept alive by that.
Value n_instances(Session& s, const Args& a) {
  const Type* of = cast<Type>(a[0]);
  if (!of) return raise_type_error(s, "instances: a class is expected, not %s", type_name(s, a[0]).c_str());
  if (s.executor) s.executor->let_go(s);
  std::vector<Value> found;
  for (GcObject* o = s.gc_objects->gc_next; o != s.gc_objects; o = o->gc_next)
    if (o->object_kind() == ObjectKind::instance && is_subtype(static_cast<Instance*>(o)->type, of))
      found.push_back(Value::share(o));
  return make_list(found);
}
Value n_step_ends(Session& s, const Args& a) {
  if (a[0].is_none()) return Value::none();  // a part of another step
  if (!a[0].is_int()) return raise_value_error(s, "no such step has begun");
  if (!a[1].is_bool() || !a[1].as_bool()) {
    s.demands.loop().block_left();
    return Value::none();
  }
  s.demands.loop().block_ended(s, now_ns() - static_cast<uint64_t>(a[0].as_int()), [&s] {
    jit::JitExecutor* x = jit::executor_of(s);
    return x && x->is_compiling();
  });
  s.demands.loop().look(s);
  adopt_demands(s);
  return Value::none();
}

Value value_of(Session& s, const nlohmann::json& j) {
  using T = nlohmann::json::value_t;
  switch (j.type()) {
    case T::boolean:
      return Value::boolean(j.get<bool>());
    case T::number_integer:
    case T::number_unsigned:
      return Value::integer(j.get<int64_t>());
    case T::number_float:
      return Value::floating(j.get<double>());
    case T::string:
      return make_str(j.get<std::string>());
    case T::array: {
      std::vector<Value> items;
      for (const auto& x : j) items.push_back(value_of(s, x));
      return make_list(items);
    }
    case T::object: {
      Value d = make_dict();
      for (const auto& [name, x] : j.items()) dict_set_str(s, d.as<Dict>(), name, value_of(s, x));
      return d;
    }
    default:
      return Value::none();
  }
}

Value plan_dict(Session& s, ExecutionPlan plan) {
  Value d = make_dict();
  dict_set_str(s, d.as<Dict>(), "precision", make_str(plan.precision == Precision::bf16 ? "bf16" : "f32"));
  dict_set_str(s, d.as<Dict>(), "device", make_str(device_name(plan.device)));
  if (plan.temporaries) dict_set_str(s, d.as<Dict>(), "temporaries", Value::integer(temporaries_at(plan.temporaries)));
  if (plan.micro_batch) dict_set_str(s, d.as<Dict>(), "micro_batch", Value::integer(plan.micro_batch));
  return d;
}

std::string_view state_name(jit::Version::State state) {
  using S = jit::Version::State;
  return state == S::ready ? "ready" : state == S::compiling ? "compiling" : "not compiled";
}

Value counters_dict(Session& s, const DeviceCounters& c) {
  Value d = make_dict(), on_host = make_dict();
  auto put = [&](std::string_view name, uint64_t n) {
    dict_set_str(s, d.as<Dict>(), name, Value::integer(static_cast<int64_t>(n)));
  };
  put("launches", c.launches);
  put("bytes_in", c.bytes_in);
  put("bytes_out", c.bytes_out);
  for (const auto& [name, n] : c.on_host)
    dict_set_str(s, on_host.as<Dict>(), name, Value::integer(static_cast<int64_t>(n)));
  dict_set_str(s, d.as<Dict>(), "on_host", on_host);
  return d;
}

Value n_report(Session& s, const Args&) {
  if (!measure_served(s)) return Value::error();
  Demands::State state = s.demands.state();
  Value report = make_dict(), asked = make_dict();
  auto put = [&](std::string_view name, Value v) { dict_set_str(s, report.as<Dict>(), name, std::move(v)); };
  for (const DemandRow& r : state.asked)
    if (r.origin != DemandOrigin::standard)
      dict_set_str(s, asked.as<Dict>(), r.name,
                   make_tuple({make_str(text::shown_text(r.value)), make_str(origin_name(r.origin))}));
  put("asked", asked);
  put("threads", Value::integer(state.threads));
  put("plan", plan_dict(s, state.wanted));
  put("running", plan_dict(s, state.running));
  put("since", Value::floating(state.since));
  std::vector<Value> versions, log;
  uint64_t waited = 0;
  jit::CacheCounters made;
  if (jit::JitExecutor* x = jit::executor_of(s)) {
    made = x->cache().counters(), waited = x->compile_wait_ns;
    for (const auto& f : x->functions())
      for (size_t i = f->versions.size(); i-- > 0;) {
        const jit::Version& v = *f->versions[i];
        Value d = make_dict();
        dict_set_str(s, d.as<Dict>(), "function", make_str(f->code->qualname.text()));
        dict_set_str(s, d.as<Dict>(), "plan", plan_dict(s, v.demands));
        dict_set_str(s, d.as<Dict>(), "state", make_str(state_name(v.state.load())));
        if (v.demands.micro_batch && v.plan() && v.state.load() == jit::Version::State::ready)
          dict_set_str(s, d.as<Dict>(), "micro_batch", make_str(jit::micro_batch_text(s, v.plan()->micro_batching())));
        dict_set_str(s, d.as<Dict>(), "calls", Value::integer(static_cast<int64_t>(v.calls.load())));
        versions.push_back(std::move(d));
      }
  }
  put("versions", make_list(versions));
  put("compiled", Value::integer(static_cast<int64_t>(made.compiled)));
  put("loaded", Value::integer(static_cast<int64_t>(made.loaded)));
  put("compile_wait_ns", Value::integer(static_cast<int64_t>(waited)));
  Value devices = make_dict();
  dict_set_str(s, devices.as<Dict>(), "cpu", counters_dict(s, s.devices.host));
  for (size_t i = 1; i < kDeviceKinds; ++i)
    if (const auto& d = s.devices.at(static_cast<DeviceId>(i)))
      dict_set_str(s, devices.as<Dict>(), kDeviceNames[i], counters_dict(s, d->counters));
  put("devices", devices);
  const nlohmann::json of_loop = loop_report(s.demands);
  for (const auto& [name, part] : of_loop.items()) put(name, value_of(s, part));
  for (const std::string& line : state.log) log.push_back(make_str(text::shown_text(line)));
  put("log", make_list(log));
  return report;
}

constexpr NativeDef kFunctions[] = {
    {"set", "wishes, /", n_set, "Asks for all of them, or raises ValueError."},
    {"push", "wishes, /", n_push, "As set(); pop() with the number it gives takes them back."},
    {"pop", "token, /", n_pop, "Undoes a push, except what somebody else has asked for since."},
    {"asked", "name, /", n_asked, "What is asked for under a name; None where nobody asks."},
    {"metric", "name, value, /", n_metric, "The script tells what it has measured of itself."},
    {"on", "name, handler, /", n_on, "handler(value) is called when the demand of that name has changed."},
    {"add_choice", "name, ways, /", n_add_choice, "The script has several ways to do something."},
    {"levels", "demand, ways, saves_memory, holds=None, /", n_levels,
     "What the library can do for a demand that leaves the choice to the program, the most exact first; None: no "
     "more. `holds` are the bytes that each holds, where that is known."},
    {"take_way", "name, way, /", n_take_way, "That way is in force now."},
    {"make_room", "", n_make_room, "Gives back what compiled functions keep for their next run."},
    {"way", "name, /", n_way, "Which of them is in force."},
    {"served", "goal, reached, why, /", n_served,
     "The library has carried out a goal: what it reached, why it is not more."},
    {"looks", "on, /", n_looks,
     "After steps the functions `measure` of the library are called, ten times a second at most."},
    {"instances", "of, /", n_instances, "The living objects of a class."},
    {"step_begins", "", n_step_begins, "A token for step_ends()."},
    {"step_ends", "token, counts, /", n_step_ends,
     "A step of the script, from step_begins() on, has ended; it does not count where it was left by an exception."},
    {"report", "", n_report, "The state of the session's demands."},
};
constexpr NativeModule kModule{.name = "ouro.native.demand", .functions = kFunctions};

// `demand` is a built-in name of .ouro files, as the transforms are.
constexpr std::string_view kNames[] = {"demand"};
Value constant(Session& s, std::string_view name) {
  if (name != kNames[0]) return Value();
  OURO_TRY(module, import_module(s, intern("ouro.demand")));
  OURO_TRY(member, get_attr(s, module, intern(name)));
  // Importing bound the module under its name: `ouro.demand` is to mean what stands in it.
  Value* ouro = s.modules.find(intern("ouro"));
  if (ouro && !set_attr(s, *ouro, intern(name), member)) return Value::error();
  return member;
}
constexpr NativeModule kBuiltin{.name = kOuro, .functions = {}, .constant = constant, .constants = kNames};

}  // namespace

void register_demand_module(Session& s) {
  s.register_natives(&kModule);
  s.register_natives(&kBuiltin);
  s.demands.visits().receive_with(receive);
  s.demands.tell_of_changes(tell);
  s.demands.loop().carry_choices_with(carry);
}

}  // namespace ouro::stdlib
