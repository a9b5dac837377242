#include "runtime/machine/device.h"
#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind device_kind;
const DemandKind device_kind{
    .name = "device",
    .values = "'cpu', 'opencl' or 'cuda'",
    .changes = "where tensors are that nobody placed ([devices.md](devices.md))",
    .takes = [](std::string_view v) { return find_device(v).has_value(); },
    .refusal =
        [](std::string_view v, Devices& devices) {
          std::string error;
          if (*find_device(v) != DeviceId::cpu) (void)devices.open(*find_device(v), error);
          return error;
        },
    .put = [](std::string_view v, Draft& d) { d.plan.device = *find_device(v); },
};

}  // namespace ouro::runtime
