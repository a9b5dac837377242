"""The safetensors format, read independently of Ouro."""
import json
import struct

SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "F16": 2, "BF16": 2, "F32": 4,
         "F64": 8}


def read(path):
    """({name: (dtype, shape, bytes)}, metadata), with every rule of the format checked."""
    with open(path, "rb") as f:
        raw = f.read()
    size, = struct.unpack("<Q", raw[:8])
    assert size % 8 == 0, "the data is not aligned"
    header = json.loads(raw[8:8 + size].decode("utf-8"))
    assert raw[8:9] == b"{"
    data, tensors = raw[8 + size:], {}
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(v, str) for v in metadata.values())
    at = 0
    for name, entry in header.items():
        assert set(entry) == {"dtype", "shape", "data_offsets"}
        begin, end = entry["data_offsets"]
        count = 1
        for dim in entry["shape"]:
            count *= dim
        assert begin == at and end - begin == count * SIZES[entry["dtype"]], name
        assert begin % SIZES[entry["dtype"]] == 0, f"{name} is not aligned"
        tensors[name] = (entry["dtype"], tuple(entry["shape"]), data[begin:end])
        at = end
    assert at == len(data)
    return tensors, metadata


def floats(tensor):
    dtype, _, raw = tensor
    code = {"F32": "f", "F64": "d"}[dtype]
    return list(struct.unpack(f"<{len(raw) // SIZES[dtype]}{code}", raw))
