// Demands for scripts (runtime/demand/demand.h).
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

void register_demand_module(runtime::Session& s);

}  // namespace ouro::stdlib
