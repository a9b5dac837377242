"""A small data set in the form of Fashion-MNIST, and a run of the example on it."""
import gzip
import os
import struct


def idx(shape, data):
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + data


def write_fashion(cache, train=640, test=200):
    """The four files below `cache`: bright rows tell the class, so that it can be learnt."""
    folder = os.path.join(cache, "ouro", "data", "fashion-mnist")
    os.makedirs(folder)
    for part, n in (("train", train), ("t10k", test)):
        images, labels, state = bytearray(), bytearray(), 12345
        for i in range(n):
            label = (i * 7) % 10
            labels.append(label)
            for row in range(28):
                for column in range(28):
                    state = (state * 1103515245 + 12345) % 2147483648
                    bright = row // 3 == label
                    images.append((state >> 16) % 100 + (150 if bright else 0))
        for kind, shape, data in (("images-idx3", (n, 28, 28), images), ("labels-idx1", (n,), labels)):
            with gzip.open(os.path.join(folder, f"{part}-{kind}-ubyte.gz"), "wb") as f:
                f.write(idx(shape, bytes(data)))
    return folder


EXAMPLE = os.path.join("examples", "fashion_mnist.ouro")
