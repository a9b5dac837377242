#include "runtime/machine/client.h"

#include <utility>

namespace ouro::runtime {

static constinit thread_local Client* t_client = nullptr;

Client* current_client() { return t_client; }
Client* serve_client(Client* client) { return std::exchange(t_client, client); }

}  // namespace ouro::runtime
