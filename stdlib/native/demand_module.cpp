// ouro.native.demand   set(wishes), push(wishes) -> token, pop(token), report() -> dict
//
// What stdlib/demand.ouro is made of; wishes are a dict of names to int, str or None ("auto").
#include "stdlib/native/demand_module.h"

#include <map>
#include <string>
#include <vector>

#include "jit/executor.h"
#include "runtime/demand/demand.h"
#include "runtime/object/dict.h"
#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"
#include "runtime/types/big_int.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

struct Pushed {
  int64_t next = 0;
  std::map<int64_t, std::vector<DemandRow>> before;
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
      w.value = "auto";
    else if (Str* text = cast<Str>(value))
      w.value = text->view();
    else if (is_int_value(value) && !value.is_bool())
      w.value = int_text(value);
    else
      return raise_type_error(s, "demand %s: int, str or None expected, not %s", w.name.c_str(),
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
  p.before.erase(at);
  adopt_demands(s);
  return Value::none();
}

Value plan_dict(Session& s, ExecutionPlan plan) {
  Value d = make_dict();
  dict_set_str(s, d.as<Dict>(), "precision", make_str(plan.precision == Precision::bf16 ? "bf16" : "f32"));
  dict_set_str(s, d.as<Dict>(), "device", make_str(device_name(plan.device)));
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
  for (const std::string& line : state.log) log.push_back(make_str(text::shown_text(line)));
  put("log", make_list(log));
  return report;
}

constexpr NativeDef kFunctions[] = {
    {"set", "wishes, /", n_set, "Asks for all of them, or raises ValueError."},
    {"push", "wishes, /", n_push, "As set(); pop() with the number it gives takes them back."},
    {"pop", "token, /", n_pop, "Undoes a push, except what somebody else has asked for since."},
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
}

}  // namespace ouro::stdlib
