import torch
from serve import serve

torch.set_num_threads(1)
x = torch.randn(8)
y = torch.randn(8)


def hundred():
    for _ in range(10):
        x + y; x + y; x + y; x + y; x + y; x + y; x + y; x + y; x + y; x + y


serve(hundred, 100, 10)
