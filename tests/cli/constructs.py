"""What people write models with, one construct each: under `grad` and `jit` a step of such a model is one compiled program and
has the interpreter's bits. Those of LATER are right and stay interpreted today; one that is compiled by now fails the test, too.
"""
import re

# name: what the model makes, what `forward` does with x, [2, 4].
CONSTRUCTS = {
    "a ModuleList in a loop": ("self.ls = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])", "for l in self.ls:\n    x = relu(l(x))\nreturn x.sum()"),
    "enumerate over a ModuleList": ("self.ls = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])", "for i, l in enumerate(self.ls):\n    x = l(x) * (i + 1)\nreturn x.sum()"),
    "enumerate over a list": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4)]", "for i, l in enumerate(self.ls):\n    x = l(x) * (i + 1)\nreturn x.sum()"),
    "zip of lists": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4)]\nself.ms = [nn.LayerNorm(4), nn.LayerNorm(4)]", "for l, m in zip(self.ls, self.ms):\n    x = m(l(x))\nreturn x.sum()"),
    "zip of ModuleLists": ("self.ls = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])\nself.ms = nn.ModuleList([nn.LayerNorm(4), nn.LayerNorm(4)])", "for l, m in zip(self.ls, self.ms):\n    x = m(l(x))\nreturn x.sum()"),
    "an index into a ModuleList": ("self.ls = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])", "return self.ls[0](self.ls[-1](x)).sum()"),
    "a ModuleDict's items": ("self.d = nn.ModuleDict({'a': nn.Linear(4, 4), 'b': nn.Linear(4, 4)})", "for name, l in self.d.items():\n    x = l(x)\nreturn x.sum()"),
    "a ModuleDict by name": ("self.d = nn.ModuleDict({'a': nn.Linear(4, 4), 'b': nn.Linear(4, 4)})", "return self.d['b'](self.d['a'](x)).sum()"),
    "reversed": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4)]", "for l in reversed(self.ls):\n    x = l(x)\nreturn x.sum()"),
    "a comprehension": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4)]", "return stack([l(x) for l in self.ls]).sum()"),
    "a generator expression": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4)]", "return sum(l(x).sum() for l in self.ls)"),
    "cat of a growing list": ("self.l = nn.Linear(4, 4)", "out = [x]\nfor i in range(3):\n    out.append(self.l(out[-1]))\nreturn cat(out, 1).sum()"),
    "a while on data": ("self.l = nn.Linear(4, 4)", "while (x * x).sum() > 0.5:\n    x = tanh(self.l(x)) * 0.5\nreturn x.sum()"),
    "a while of two conditions": ("self.l = nn.Linear(4, 4)", "k = 0\nwhile (x * x).sum() > 0.01 and k < 6:\n    x = tanh(self.l(x)) * 0.5\n    k += 1\nreturn x.sum() * k"),
    "a while with break and continue": ("self.l = nn.Linear(4, 4)", "while True:\n    x = tanh(self.l(x))\n    if x.sum() > 0.5:\n        x = x - 0.25\n        continue\n    x = x * 0.5\n    if (x * x).sum() < 0.2:\n        break\nreturn x.sum()"),
    "a step size that data decides": ("self.l = nn.Linear(4, 4)", "t, h = 0.0, 0.5\nwhile t < 1.0:\n    k = tanh(self.l(x))\n    if (k * k).sum().item() * h > 0.6:\n        h = h * 0.5\n    else:\n        x, t = x + h * k, t + h\nreturn x.sum()"),
    "a variable that a while may set": ("self.l = nn.Linear(4, 4)", "b = None\nwhile (x * x).sum() > 0.5:\n    x = tanh(self.l(x)) * 0.5\n    if x[0, 0] > 0.0:\n        b = x\nreturn x.sum() if b is None else b.sum() * 2.0"),
    "a for of twenty turns with a break": ("self.l = nn.Linear(4, 4)", "z = x\nfor i in range(20):\n    y = tanh(self.l(z)) * 0.5 + x\n    d = (y - z).abs().max()\n    z = y\n    if d < 1e-3:\n        break\nreturn z.sum() * i"),
    "the loss of what a mask chooses": ("self.l = nn.Linear(4, 3)", "m = x.sum(1) > -100.0\nreturn cross_entropy(self.l(x)[m], tensor([1, 2])[m])"),
    "Newton's method": ("self.l = nn.Linear(4, 4)", "a = self.l(x) ** 2 + 1.0\nr = a\nfor _ in range(25):\n    d = grad(lambda u: (u ** 3 - a).sum())(r)\n    s = (r ** 3 - a) / d\n    r = r - s\n    if s.abs().max().item() < 1e-4:\n        break\nreturn r.sum()"),
    "a while in a for": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4)]", "for l in self.ls:\n    while (x * x).sum() > 0.5:\n        x = tanh(l(x)) * 0.5\n    x = x * 3.0\nreturn x.sum()"),
    "a slice": ("self.l = nn.Linear(4, 4)", "return self.l(x)[:, 1:3].sum()"),
    "several slices": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y[..., :2] * y[..., 2:]).sum()"),
    "a column": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y[:, 0] * y[:, -1]).sum()"),
    "a new axis": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y[:, None] - y[None]).abs().sum()"),
    "rows by an index": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn y[tensor([1, 0, 1])].sum()"),
    "items by two indices": ("self.l = nn.Linear(4, 4)", "y = self.l(x).log_softmax(-1)\nreturn -y[arange(2), tensor([1, 3])].mean()"),
    "a list as an index": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y[:, [0, 2]] * y[:, [-1]]).sum()"),
    "every other column": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y[:, ::2] * y[:, 1::2]).sum()"),
    "items where a mask is": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y[x > 0] ** 2).mean()"),
    "rows that a mask chooses": ("self.l = nn.Linear(4, 4)", "rows = (x[:, 0] > x[:, 1]).nonzero().squeeze(-1)\nreturn zeros(2, 4).index_add(0, rows, self.l(x[rows])).pow(2).sum()"),
    "a size that depends on data": ("self.l = nn.Linear(4, 4)", "y = x[x.sum(1) > -100]\nreturn self.l(y).sum() / y.shape[0]"),
    "a write where a mask is": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\ny[y < 0] = 0.0\nreturn (y * x).sum()"),
    "a row by a computed number": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn y[y.sum(1).argmax().item()].sum()"),
    "a tensor of a computed size": ("self.l = nn.Linear(4, 4)", "n = int((x > -100).sum())\nreturn (self.l(x).flatten() * arange(n)).sum() + ones(n, 2).sum()"),
    "counts of classes": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y * bincount(y.argmax(1), minlength=4).to(f32)).sum()"),
    "columns up to the longest": ("self.l = nn.Linear(4, 4)", "lengths = (x > -100).sum(1)\nn = int(lengths.max())\nmask = arange(n)[None] < lengths[:, None]\nreturn (self.l(x)[:, :n] * mask).sum() / mask.sum()"),
    "as many random rows as data say": ("self.l = nn.Linear(4, 4)", "n = int((x > -100).sum()) // 2\nreturn self.l(x)[randint(0, 2, (n,))].sum() + randn(n, 4).mean()"),
    "classes as many as there are": ("self.l = nn.Linear(4, 4)", "k = self.l(x).argmax(1)\nreturn (one_hot(k, int(k.max()) + 1).to(f32).sum(0) * x.sum()).sum()"),
    "a size computed on one way": ("self.l = nn.Linear(4, 4)", "n = int((x > -100).sum())\nif x.sum() > 0:\n    y = zeros(n) + x.sum()\nelse:\n    y = ones(n) * 2.0\nreturn (self.l(x).flatten() * y * arange(n)).sum()"),
    "chunk": ("self.l = nn.Linear(4, 8)", "a, b = self.l(x).chunk(2, -1)\nreturn (a * sigmoid(b)).sum()"),
    "split": ("self.l = nn.Linear(4, 6)", "a, b = self.l(x).split((2, 4), dim=-1)\nreturn a.sum() * b.sum()"),
    "unbind": ("self.l = nn.Linear(4, 4)", "a, b = self.l(x).unbind(0)\nreturn (a * b).sum()"),
    "einsum": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn einsum('ij,kj->ik', y, y).sum()"),
    "T": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y @ y.T).sum()"),
    "mT": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y @ y.mT).sum()"),
    "max over an axis": ("self.l = nn.Linear(4, 4)", "values, where_ = self.l(x).max(1)\nreturn values.sum()"),
    "max of numbers": ("self.l = nn.Linear(4, 4)", "n = max(x.shape[0], 2)\nreturn self.l(x).sum() / n"),
    "min of two floats": ("self.l = nn.Linear(4, 4)\nself.k = 0.5", "return self.l(x).sum() * min(self.k, 1.0)"),
    "an int to a negative power": ("self.l = nn.Linear(4, 4)\nself.d = 4", "return (self.l(x) * self.d ** -0.5).sum()"),
    "math.sqrt of a size": ("self.l = nn.Linear(4, 4)", "return (self.l(x) / math.sqrt(x.shape[-1])).sum()"),
    "math.exp of an attribute": ("self.l = nn.Linear(4, 4)\nself.t = 0.5", "return (self.l(x) * math.exp(self.t)).sum()"),
    "to another dtype": ("self.l = nn.Linear(4, 4)", "return (self.l(x) * tensor([1, 2, 3, 4]).to(x.dtype)).sum()"),
    "astype": ("self.l = nn.Linear(4, 4)", "return (self.l(x) * tensor([1, 2, 3, 4]).astype(float32)).sum()"),
    "ndim": ("self.l = nn.Linear(4, 4)", "if x.ndim not in (2, 3):\n    raise ValueError(x.shape)\nreturn self.l(x).sum()"),
    "an assert on shapes": ("self.l = nn.Linear(4, 4)", "assert x.shape[-1] == 4, f'wrong {x.shape}'\nreturn self.l(x).sum()"),
    "dropout with an attribute": ("self.l = nn.Linear(4, 4)\nself.p = 0.5", "return dropout(self.l(x), self.p).sum()"),
    "split by an attribute": ("self.l, self.d = nn.Linear(4, 4), 2", "a, b = self.l(x).split(self.d, dim=1)\nreturn (a * b).sum()"),
    "a root of an attribute": ("self.l, self.d = nn.Linear(4, 4), 4", "return (self.l(x) / math.sqrt(self.d)).sum()"),
    "one_hot with an attribute": ("self.l, self.k = nn.Linear(4, 4), 4", "return (self.l(x) * one_hot(x.argmax(1), self.k)).sum()"),
    "repeat with an attribute": ("self.l, self.n = nn.Linear(4, 4), 3", "return self.l(x).repeat(self.n, 1).sum()"),
    "trips of an attribute": ("self.l, self.steps = nn.Linear(4, 4), 3", "for _ in range(self.steps):\n    x = tanh(self.l(x))\nreturn x.sum()"),
    "the most of a number and an attribute": ("self.l, self.n = nn.Linear(4, 4), 0", "return self.l(x).sum() / max(1, self.n)"),
    "a shape of an attribute, spread": ("self.l, self.shape = nn.Linear(4, 4), (2, 2, 2)", "return (self.l(x).reshape(*self.shape) * arange(2)).sum()"),
    "a size of a global": ("self.l = nn.Linear(4, 4)", "return self.l(x).reshape(-1, WIDTH).sum(0).max()"),
    "a captured number": ("self.l, n = nn.Linear(4, 4), 2\nself.f = lambda y: y.split(n, dim=1)[0] * math.log(n)", "return self.f(self.l(x)).sum()"),
    "a default": ("self.l = nn.Linear(4, 4)\ndef f(y, n=2): return y.split(n, dim=1)[0]\nself.f = f", "return self.f(self.l(x)).sum()"),
    "a number of the class": ("self.l = nn.Linear(4, 4)", "return self.l(x).split(self.heads, dim=1)[0].sum() * math.log(self.heads)"),
    "Dropout": ("self.l = nn.Linear(4, 4)\nself.d = nn.Dropout(0.5)", "return self.d(self.l(x)).sum()"),
    "a mask": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn where(y > 0, y, y * 0.1).sum()"),
    "masked_fill": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn y.masked_fill(y > 0, 0.0).sum()"),
    "tril and softmax": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\na = y @ y.T\na = a.masked_fill(tril(ones_like(a)) == 0, -1e9)\nreturn softmax(a, -1).sum()"),
    "a write to a row": ("self.l = nn.Linear(4, 4)", "y = zeros(2, 4)\nfor i in range(2):\n    y[i] = self.l(x[i])\nreturn y.sum()"),
    "repeat": ("self.l = nn.Linear(4, 4)", "return self.l(x).repeat(2, 1).sum()"),
    "a dict of outputs": ("self.l = nn.Linear(4, 4)", "out = {'y': self.l(x), 'n': 2}\nreturn out['y'].sum() * out['n']"),
    "a tuple of outputs": ("self.l = nn.Linear(4, 4)", "def both(x):\n    return self.l(x), x * 2\na, b = both(x)\nreturn (a * b).sum()"),
    "a lambda": ("self.l = nn.Linear(4, 4)\nself.act = lambda x: x * sigmoid(x)", "return self.act(self.l(x)).sum()"),
    "a function as attribute": ("self.l = nn.Linear(4, 4)\nself.act = relu", "return self.act(self.l(x)).sum()"),
    "getattr by name": ("self.l = nn.Linear(4, 4)", "return getattr(self, 'l')(x).sum()"),
    "kwargs": ("self.l = nn.Linear(4, 4)", "def go(x, *, scale=1.0, **kw):\n    return self.l(x) * scale * kw.get('more', 1.0)\nreturn go(x, scale=2.0, more=3.0).sum()"),
    "an LSTM over a list": ("self.c = nn.LSTMCell(4, 4)", "h = zeros(1, 4), zeros(1, 4)\nfor t in range(2):\n    h = self.c(x[t:t + 1], h)\nreturn h[0].sum()"),
    "a GRU layer": ("self.g = nn.GRU(4, 5)", "y, h = self.g(x.unsqueeze(1))\nreturn y.sum() + h.sum()"),
    "batch norm": ("self.l, self.b = nn.Linear(4, 4), nn.BatchNorm1d(4)", "return (self.b(self.l(x)) ** 2 * arange(4)).sum()"),
    "an embedding": ("self.e = nn.Embedding(5, 4)", "return (self.e(tensor([[1, 2], [3, 4]])) @ x.T).sum()"),
    "a running mean kept by hand": ("self.l = nn.Linear(4, 4)\nself.mean = nn.buffer(zeros(4))", "y = self.l(x)\nself.mean = self.mean * 0.9 + y.detach().mean(0) * 0.1\nreturn (y - self.mean).sum()"),
    "if on training": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nif self.training:\n    y = y * 2\nreturn y.sum()"),
    "if on data": ("self.l = nn.Linear(4, 4)", "y = self.l(x).sum()\nif y > 0:\n    y = y * 2\nreturn y"),
    "float of a tensor": ("self.l = nn.Linear(4, 4)", "y = self.l(x).sum()\nk = float(y.detach())\nreturn y * k"),
    "weight decay by hand": ("self.l = nn.Linear(4, 4)", "return self.l(x).sum() + 1e-2 * sum((p * p).sum() for p in self.parameters())"),
    "named parameters": ("self.l = nn.Linear(4, 4)", "r = 0.0\nfor name, p in self.named_parameters():\n    if name.endswith('weight'):\n        r = r + (p * p).sum()\nreturn self.l(x).sum() + r"),
    "isinstance of layers": ("self.ls = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])", "for l in self.ls:\n    x = l(x) * 2 if isinstance(l, nn.Linear) else l(x)\nreturn x.sum()"),
    "cross entropy of two shapes": ("self.l = nn.Linear(4, 4)", "return cross_entropy(self.l(x), tensor([1, 2]), label_smoothing=0.1)"),
    "mse": ("self.l = nn.Linear(4, 4)", "return nn.MSELoss()(self.l(x), zeros(2, 4))"),
    "any and all": ("self.l = nn.Linear(4, 4)\nself.on = [True, False]", "y = self.l(x)\nreturn y.sum() * (2 if any(self.on) else 1) * (3 if all(self.on) else 1)"),
    "divmod and //": ("self.l = nn.Linear(4, 4)", "q, r = divmod(x.shape[1], 3)\nreturn self.l(x).reshape(2, 2, x.shape[1] // 2).sum() * q * (r + 1)"),
    "a set": ("self.l = nn.Linear(4, 4)", "seen = set()\nfor i in range(3):\n    seen.add(i % 2)\nreturn self.l(x).sum() * len(seen)"),
    "a list's insert and pop": ("self.l = nn.Linear(4, 4)", "q = [x]\nq.insert(0, self.l(x))\nreturn (q.pop(0) * q.pop()).sum()"),
    "sorted numbers": ("self.l = nn.Linear(4, 4)\nself.k = [3, 1, 2]", "return self.l(x).sum() * sorted(self.k)[0]"),
    "string methods": ("self.l = nn.Linear(4, 4)\nself.kind = 'Relu'", "y = self.l(x)\nreturn (relu(y) if self.kind.lower() == 'relu' else y).sum()"),
    "match": ("self.l = nn.Linear(4, 4)\nself.kind = 'relu'", "y = self.l(x)\nmatch self.kind:\n    case 'relu': y = relu(y)\n    case 'tanh': y = tanh(y)\nreturn y.sum()"),
    "try": ("self.l = nn.Linear(4, 4)", "try:\n    y = self.l(x)\nexcept ValueError:\n    y = x\nreturn y.sum()"),
    "with a context": ("self.l = nn.Linear(4, 4)", "class C:\n    def __enter__(self): return 2.0\n    def __exit__(self, *e): return False\nwith C() as k:\n    y = self.l(x) * k\nreturn y.sum()"),
    "functools.partial": ("self.l = nn.Linear(4, 4)\nself.act = functools.partial(leaky_relu, negative_slope=0.2)", "return self.act(self.l(x)).sum()"),
    "functools.reduce": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4)]", "return functools.reduce(lambda a, l: l(a), self.ls, x).sum()"),
    "a dataclass": ("self.l = nn.Linear(4, 4)\nself.c = Config(4, 0.5)", "return self.l(x).sum() * self.c.rate"),
    "a named tuple": ("self.l = nn.Linear(4, 4)", "o = Out(self.l(x), x)\nreturn (o.y * o.x).sum()"),
    "a named tuple as attribute": ("self.l = nn.Linear(4, 4)\nself.o = Out(3, 0.5)", "return (self.l(x) * self.o.x).reshape(2, self.o.y + 1)[:, 0].sum() * self.o[1]"),
    "a NamedTuple as attribute": ("self.c = Sizes(n=4, d=4)\nself.l = nn.Linear(self.c.n, self.c.d)", "n, d = self.c\nc = self.c._replace(d=2)\nreturn self.l(x).reshape(-1, c.d).sum(0).max() * self.c.area * n * len(c) * Sizes.square(2).d"),
    "a named tuple that is made and changed": ("self.l = nn.Linear(4, 4)", "o = Out(y=self.l(x), x=x)\no = o._replace(x=o.y * 2)\ny, z = o\nreturn (y * z).sum() + o._asdict()['x'].sum() + sum(v.sum() for v in o)"),
    "a list of named tuples": ("self.l = nn.Linear(4, 4)", "seen = [Out(self.l(x), i) for i in range(3)]\nreturn sum((o.y * o.x).sum() for o in seen)"),
    "a class that extends tuple": ("self.l = nn.Linear(4, 4)\nself.p = Pair((2, 3))", "p = Pair((self.l(x), x))\nreturn (p.product() * self.p.product() + self.p.swapped()[0]).sum()"),
    "a named tuple of layers": ("self.o = Out(nn.Linear(4, 4), nn.Linear(4, 4))", "return (self.o.y(x) * self.o.x(x)).sum()"),
    "a named tuple that decides": ("self.l, self.c = nn.Linear(4, 4), Sizes(2)", "y = self.l(x)\nif self.c == (2, 8) and self.c.n < 3 and isinstance(self.c, tuple):\n    y = y * 2\nreturn y.sum()"),
    "a frozen dataclass": ("self.l, self.c = nn.Linear(4, 4), Frozen(2, (1, 4), 0.5)", "return (self.l(x) * self.c.rate).reshape(self.c.n, *self.c.shape).sum() * self.c.twice"),
    "a dataclass that is replaced": ("self.l, self.c = nn.Linear(4, 4), Frozen(2, (1, 4), 0.5)", "c = dataclasses.replace(self.c, rate=0.25)\nreturn self.l(x).sum() * c.rate"),
    "a dataclass with slots": ("self.l, self.c = nn.Linear(4, 4), Slotted(2, 0.5)", "return self.l(x).sum() * self.c.rate * self.c.n"),
    "dataclasses that are compared": ("self.l, self.c = nn.Linear(4, 4), Frozen(2, (1, 4), 0.5)", "y = self.l(x)\nreturn y.sum() if self.c == Frozen(2, (1, 4), 0.5) else y.mean()"),
    "a member of an enum": ("self.l, self.kind = nn.Linear(4, 4), Kind.relu", "y = self.l(x)\nif self.kind is Kind.relu:\n    y = relu(y)\nelif self.kind == Kind.tanh:\n    y = tanh(y)\nreturn y.sum() * self.kind.value"),
    "a member of an IntEnum": ("self.l, self.n = nn.Linear(4, 4), Count.two", "return self.l(x).sum() * self.n + self.n.value * (self.n == 2) + Count.three"),
    "a member of a text's enum": ("self.l, self.kind = nn.Linear(4, 4), Word.relu", "y = self.l(x)\nreturn (relu(y) if self.kind == 'relu' else y).sum()"),
    "match on a member of an enum": ("self.l, self.kind = nn.Linear(4, 4), Kind.tanh", "y = self.l(x)\nmatch self.kind:\n    case Kind.relu: y = relu(y)\n    case Kind.tanh: y = tanh(y)\nreturn y.sum()"),
    "a dict by members of an enum": ("self.l, self.kind = nn.Linear(4, 4), Kind.tanh\nself.acts = {Kind.relu: relu, Kind.tanh: tanh}", "return self.acts[self.kind](self.l(x)).sum()"),
    "flags of an enum": ("self.l, self.f = nn.Linear(4, 4), Flags.a | Flags.b", "y = self.l(x)\nif self.f & Flags.a:\n    y = y * 2\nif Flags.c in self.f:\n    y = y * 3\nreturn y.sum()"),
    "sizes of an IntEnum": ("self.l, self.n = nn.Linear(4, 4), Count.two", "y = self.l(x).reshape(-1, self.n, self.n)\nfor i in range(self.n):\n    y = y * (i + 1)\nreturn y[..., self.n - 1].sum() + [1, 2, 3][self.n]"),
    "a member of an enum among others": ("self.l, self.kind = nn.Linear(4, 4), Kind.relu", "y = self.l(x)\nif self.kind in (Kind.relu, Kind.tanh):\n    y = y * 2\nreturn y.sum() if Kind(1) is self.kind else y.mean()"),
    "an argparse.Namespace that is asked": ("self.l, self.c = nn.Linear(4, 4), argparse.Namespace(n=2, rate=0.5)", "return self.l(x).sum() * ('n' in self.c)"),
    "a SimpleNamespace": ("self.l, self.c = nn.Linear(4, 4), types.SimpleNamespace(n=2, rate=0.5)", "return self.l(x).reshape(self.c.n, -1).sum() * self.c.rate"),
    "an argparse.Namespace": ("self.l, self.c = nn.Linear(4, 4), argparse.Namespace(n=2, rate=0.5)", "return self.l(x).reshape(self.c.n, -1).sum() * self.c.rate"),
    "globals of all these": ("self.l = nn.Linear(4, 4)", "y = self.l(x).reshape(SIZES.n, -1) * FROZEN.rate * NAMES.k * ARGS.k\nreturn y.sum() if KIND is Kind.relu else y.mean()"),
    "gradient of the input": ("self.l = nn.Linear(4, 4)", "g = grad(lambda x: (tanh(self.l(x))).sum())(x)\nreturn (g * g).sum()"),
    "stop_gradient": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn (y * y.detach()).sum()"),
    "a Sequential inside": ("self.s = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 4))", "return self.s(x).sum()"),
    "attention": ("self.a = nn.MultiheadAttention(4, 2)", "return self.a(x, x, x)[0].sum()"),
    "a nested list": ("self.ls = [[nn.Linear(4, 4)], [nn.Linear(4, 4), nn.ReLU()]]", "for block in self.ls:\n    for l in block:\n        x = l(x)\nreturn x.sum()"),
    "while on a number": ("self.l = nn.Linear(4, 4)", "n = x.shape[0]\nwhile n > 0:\n    x = self.l(x)\n    n -= 1\nreturn x.sum()"),
    "len and range": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4)]", "for i in range(len(self.ls)):\n    x = self.ls[i](x)\nreturn x.sum()"),
    "unpacking a shape": ("self.l = nn.Linear(4, 4)", "b, d = x.shape\nreturn self.l(x).view(b, 2, d // 2).transpose(1, 2).reshape(b, -1).sum()"),
    "a tensor of numbers": ("self.l = nn.Linear(4, 4)", "return (self.l(x) * tensor([1.0, 2, 3, 4]) @ tensor([[1, 0, 0, 2.0]] * 4)).sum() + tensor(3)"),
    "a tensor of attributes": ("self.l, self.n, self.t = nn.Linear(4, 4), 2, 0.5", "return (self.l(x) * tensor([self.n, self.t, 1, 2 * self.t])).sum()"),
    "a tensor of computed numbers": ("self.l = nn.Linear(4, 4)", "return (self.l(x) * tensor([x[0, 0], x.sum().item(), 1.0, 2])).sum()"),
    "a tensor of a comprehension": ("self.l = nn.Linear(4, 4)", "return (self.l(x) * tensor([1.0 / (i + 1) for i in range(x.shape[1])])).sum()"),
    "einsum of three": ("self.a, self.b = randn(4, 3), randn(3, 4)", "return einsum('...i,ij,jk->...k', x, self.a, self.b).pow(2).sum()"),
    "einsum without an arrow": ("self.a = randn(3, 4)", "return einsum('bi,ji', x, self.a).pow(2).sum()"),
    "an outer product": ("self.l = nn.Linear(4, 4)", "return einsum('bi,bj->bij', self.l(x), x).pow(2).sum()"),
    "a loss with a weight that is made inside": ("self.l, self.w = nn.Linear(4, 4), nn.buffer(ones(4))", "return nn.CrossEntropyLoss(weight=self.w * 2, label_smoothing=0.1)(self.l(x), x.argmax(1))"),
    "object.__new__": ("self.l = nn.Linear(4, 4)", "o = object.__new__(Config)\no.rate = self.l(x)\nreturn o.rate.sum()"),
    "enumerate of enumerate of a ModuleList": ("self.ls = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])", "for i, (j, l) in enumerate(enumerate(self.ls)):\n    x = l(x) * (i + j + 1)\nreturn x.sum()"),
    "zip of a range and a ModuleList": ("self.ls = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])", "for i, l in zip(range(2), self.ls):\n    x = l(x) * (i + 1)\nreturn x.sum()"),
    "a sum of many tensors": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nreturn sum((y * i).sum() for i in range(100))"),
    "a total that begins as an int": ("self.l = nn.Linear(4, 4)", "total = 0\nfor i in range(100):\n    total = total + (self.l(x) * i).sum()\nreturn total"),
    "a dict with others spread in it": ("self.l = nn.Linear(4, 4)", "parts = {'a': self.l(x).sum(), 'b': x.sum()}\nd = {'n': 2, **parts, **{k + 'x': v * 2 for k, v in parts.items()}}\nreturn d['ax'] * d['b'] * d['n']"),
    "dicts that are merged": ("self.l = nn.Linear(4, 4)", "d = dict({'a': self.l(x).sum()}, b=x.sum()) | {'c': 2}\nd |= {'d': x.sum()}\nd.update(e=d['a'])\nreturn d['e'] * d['d'] * d['c']"),
    "rounded and cut floats": ("self.l = nn.Linear(4, 4)", "t = self.l(x).sum().item()\nreturn self.l(x).sum() * (round(t, 2) + int(t) + abs(t) + math.floor(t) + math.isnan(t))"),
    "an int of a tensor": ("self.l = nn.Linear(4, 4)", "return self.l(x).sum() * int(x.argmax())"),
    "the least of computed floats": ("self.l = nn.Linear(4, 4)", "t = self.l(x).sum().item()\nh = min(0.1, 1.0 - t)\nreturn self.l(x).sum() * h * max([t, t * t, 0.5]) * pow(abs(t), 0.5)"),
    "an item by a computed index": ("self.l = nn.Linear(4, 4)", "i = random.choice([0, 1])\nreturn self.l(x).sum() * [1, 3][i] * max(i, int(x.argmax()))"),
    "a number that is drawn": ("self.l = nn.Linear(4, 4)", "return self.l(x).sum() * random.uniform(1.0, 2.0) * random.random()"),
    "a part that data decides": ("self.l = nn.Linear(4, 4)", "extra = None\nif x.sum() > 0:\n    extra = self.l(x)\ny = tanh(x @ self.l.weight)\nreturn y.sum() if extra is None else (y * extra).sum()"),
    "a function that data decides": ("self.l = nn.Linear(4, 4)", "act = relu\nif self.l(x).mean() > 0.1:\n    act = lambda v: tanh(v) * x\nelif x.max() > 3:\n    act = sigmoid\nreturn act(self.l(x)).sum()"),
    "a layer that data decides": ("self.a, self.b = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())", "l = self.a if x.sum() > 0 else self.b\nreturn (l(x) * self.a(x)).sum()"),
    "a list that data fills": ("self.l = nn.Linear(4, 4)", "parts = []\nfor k in range(3):\n    y = self.l(x) * k\n    if y.sum() > k - 1:\n        parts.append(y)\nreturn sum(p.sum() for p in parts) + self.l(x).sum()"),
    "a loop that data leaves": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)]", "for l in self.ls:\n    x = x + tanh(l(x))\n    if x.max() > 1.5:\n        break\nreturn x.sum()"),
    "turns that data skips": ("self.ls = [nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)]", "for l in self.ls:\n    y = l(x)\n    if y.mean() < 0:\n        continue\n    x = x + y\nreturn x.sum() + self.ls[0](x).sum()"),
    "early return": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nif y.sum() > 100:\n    return y.mean()\nif y.sum() < 0:\n    return (y * y).sum()\nreturn y.sum()"),
    "experts": ("self.gate = nn.Linear(4, 3)\nself.experts = [nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)]", "choice = self.gate(x).argmax(-1)\nout = zeros_like(x)\nfor k, e in enumerate(self.experts):\n    mask = choice == k\n    if mask.any():\n        rows = mask.nonzero().squeeze(-1)\n        out = out.index_add(0, rows, e(x[rows]))\nreturn (out * self.gate(x).sum()).sum()"),
    "a test that raises": ("self.l = nn.Linear(4, 4)", "y = self.l(x)\nif y.isnan().any():\n    raise ValueError('not a number')\nassert y.max() < 1e6, 'too large'\nreturn y.sum()"),
    "numbers of a tensor": ("self.l = nn.Linear(4, 4)", "v, i = self.l(x).sum(0).topk(2)\nreturn sum(a * (b + 1) for a, b in zip(v.tolist(), i.tolist())) * self.l(x).sum()"),
    "property": ("self.l = nn.Linear(4, 4)", "return self.l(x).sum() * self.scale"),
}
LATER = {"kwargs", "with a context", "a dict by members of an enum", "an argparse.Namespace that is asked"}

PRELUDE = """
import argparse, dataclasses, enum, functools, math, random, types
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple
from ouro import grad, jit, nn, optim, value_and_grad

@dataclass
class Config:
    width: int
    rate: float

@dataclass(frozen=True)
class Frozen:
    n: int
    shape: tuple
    rate: float = 0.1

    @property
    def twice(self):
        return self.rate * 2

@dataclass(slots=True)
class Slotted:
    n: int
    rate: float

Out = namedtuple("Out", "y x")

class Sizes(NamedTuple):
    n: int
    d: int = 8

    @property
    def area(self):
        return self.n * self.d

    @classmethod
    def square(cls, n):
        return cls(n, n)

class Pair(tuple):
    def product(self):
        return self[0] * self[1]

    def swapped(self):
        return Pair(reversed(self))

class Kind(enum.Enum):
    relu = 1
    tanh = 2

class Count(enum.IntEnum):
    two = 2
    three = 3

class Word(str, enum.Enum):
    relu = "relu"

class Flags(enum.Flag):
    a = enum.auto()
    b = enum.auto()
    c = enum.auto()

SIZES, FROZEN, KIND = Sizes(4), Frozen(2, (1, 4), 0.5), Kind.relu
NAMES, ARGS = types.SimpleNamespace(k=2.0), argparse.Namespace(k=3.0)

WIDTH = 2

class Base(nn.Module):
    heads = 2

    @property
    def scale(self):
        return 2.0
"""

CASE = """
class Model{k}(Base):
    def __init__(self):
{made}

    def forward(self, x):
{forward}

manual_seed(0)
random.seed(0)
model{k} = Model{k}()
opt{k} = optim.SGD(model{k}, lr=0.01)

@jit
def step{k}(x):
    loss, grads = value_and_grad(lambda m: m(x))(model{k})
    nn.clip_grad_norm(grads, 1.0)
    opt{k}.update(grads)
    return loss

for i in range(5):
    print({name!r}, repr(step{k}(rand(2, 4)).item()))
"""


def indented(text):
    return "\n".join(" " * 8 + line for line in text.split("\n"))


def test_constructs_are_compiled_under_grad(t):
    if t.suite.sanitized:
        t.skip("a minute of compilation; random programs are compiled there, too")
    t.write("constructs.ouro", PRELUDE + "".join(CASE.format(k=k, name=name, made=indented(made), forward=indented(forward))
                                                 for k, (name, (made, forward)) in enumerate(CONSTRUCTS.items())))
    eager = t.run("--mode=eager", "constructs.ouro", timeout=300).out
    t.check(len(eager.splitlines()) == 5 * len(CONSTRUCTS), eager[-300:])
    told = t.run("explain", "--mode=graph", "constructs.ouro", timeout=300).out
    t.equal(told[:len(eager)], eager)
    names = list(CONSTRUCTS)
    parts = {names[int(m[1])]: part for part in re.split(r"\n(?=\S)", told) if (m := re.match(r"step(\d+) \(", part))}
    t.equal(sorted(set(names) - set(parts)), [])
    reasons = {name: part for name, part in parts.items() if "interpreted" in part or "not compiled" in part or part.count(": compiled;") != 1}
    t.equal({k: v for k, v in reasons.items() if k not in LATER}, {})  # one version, and nothing of it is the interpreter's
    t.equal(sorted(LATER - set(reasons)), [])


# The same without a gradient.
PLAIN = {
    "unpacking a generator": "a, b = (x * k for k in (1.0, 2.0))\nreturn (a - b).sum()",
    "arguments from a generator": "return total(*(r.sum() for r in x))",
    "the largest of a generator": "return x.sum() * max(n for n in x.shape)",
    "a list of a generator": "return stack(list(r * 2.0 for r in x)).sum()",
    "a deque": "q, y = deque([x], maxlen=3), x\nwhile q and len(q) < 3:\n    y = y * q.popleft()\n    q.extend([y, y * 2.0])\n    if len(q) > 1:\n        q.append(y)\nreturn sum(q).sum() + q[-1].sum()",
    "generators in each other": "return sum(a.sum() for a in (r * 2.0 for r in x))",
    "zip with a generator": "s = 0.0\nfor a, r in zip((v * 2.0 for v in x), x):\n    s = s + (a * r).sum()\nreturn s",
    "any of a generator": "return x.sum() if any(n > 1 for n in x.shape) else x",
    "a variable that a while may set": "b = None\nwhile x.sum() < 50.0:\n    x = x * 1.3\n    if x[0, 0] > 1.0:\n        b = x\nreturn x.sum() if b is None else b.sum()",
    "types that the first turns change": "a, b, c = 0, 1.5, x.sum()\nwhile x.sum() < 90.0:\n    a, b, c = b, c, c * 1.1\n    x = x * 1.3\nreturn a * 1.0 + b + c",
    "how often a loop ran that data ends": "for i in range(200):\n    x = x * 1.3\n    if x.sum() > 90.0:\n        break\nreturn x.sum() * i",
    "a loop that ends when nothing has got better": "best, wait = 1e9, 0\nfor i in range(100):\n    x = x * 0.9 + 0.1\n    l = (x * x).sum()\n    if l.item() < best - 0.05:\n        best, wait = l.item(), 0\n    else:\n        wait += 1\n        if wait >= 3:\n            break\nreturn x.sum() * i + best",
    "shapes that a mask decides are compared": "m = x > 2.0\na, b = x[m], (x * 2.0)[m]\nif tuple(a.shape) != tuple(b.shape):\n    raise ValueError('shapes')\nreturn (a * b).sum()",
    "how often a short one ran": "for i in range(12):\n    x = x * 1.3\n    if x.sum() > 90.0:\n        break\nreturn x.sum() * i",
    "a generator of what it captures": "k = x.sum()\nreturn sum(r.sum() * k for r in x)",
    "a generator in each of sixty turns": "s = 0.0\nfor i in range(60):\n    a, b, c, d, e, f = (x[j % 2] * (i + j) for j in range(6))\n    s = s + (a * b - c * d + e * f).sum()\nreturn s",
    "a walk over a tree": "return sum((v * v).sum() for v in leaves({'a': x, 'b': [x * 2.0, {'c': x.sum()}]}))",
    "a function with yield in a for": "s = 0.0\nfor n, r in counted(x):\n    s = s + n * r.sum()\nreturn s",
    "next of a function with yield": "it = counted(x)\na, b = next(it), next(it)\nreturn a[1].sum() * b[0]",
    "a dict by tuples": "for (i, (name, j)), v in TABLE.items():\n    x = x * i + v\nTABLE[0, ('a', 1)] = TABLE[0, ('a', 1)] * 2.0\nreturn x.sum() + TABLE.get((1, ('b', 2)), x).sum()",
    "attributes that vars() tells": "m = Model()\nfor k, v in vars(m).items():\n    setattr(m, k, v * 2.0 + x.sum())\nd = m.__dict__\nm.w = x\nreturn sum(v.sum() for v in vars(m).values()) + d['w'].sum() + len(d)",
    "an optimizer that goes through vars()": "m = Model()\ng = grad(lambda m: ((m.w * x[0]).sum() + m.b) ** 2)(m)\nfor k in list(vars(m)):\n    setattr(m, k, getattr(m, k) - 0.1 * vars(g)[k])\nreturn m.w.sum() + m.b",
    "a context manager with yield": "box = {'k': 2.0}\nwith scaled(box, 3.0) as k:\n    y = x * box['k'] + k\nreturn (y * box['k']).sum()",
    "a context manager that is left early": "with scaled({'k': 2.0}, 3.0) as k:\n    return (x * k).sum()",
}
GIVEN = """
from collections import deque
from contextlib import contextmanager
class Model:
    def __init__(self):
        self.w, self.b = ones(4), ones(())
TABLE = {(0, ('a', 1)): ones(4), (1, ('b', 2)): ones(4) * 2.0}
def total(*v):
    return sum(v)
def leaves(t):
    if isinstance(t, (dict, list)):
        for v in t.values() if isinstance(t, dict) else t:
            yield from leaves(v)
    else:
        yield t
def counted(xs):
    for n, x in enumerate(xs):
        yield n + 1, x
@contextmanager
def scaled(box, by):
    box['k'] = box['k'] * by
    yield box['k']
    box['k'] = box['k'] / by
"""


def test_plain_constructs_are_compiled(t):
    t.write("plain.ouro", GIVEN + "".join(
        f"\n@jit\ndef step{k}(x):\n{indented(body)}\n\nfor i in range(3):\n    print({name!r}, repr(step{k}(arange(8.0).reshape(2, 4) + i).item()))\n"
        for k, (name, body) in enumerate(PLAIN.items())))
    eager = t.run("--mode=eager", "plain.ouro").out
    t.check(len(eager.splitlines()) == 3 * len(PLAIN), eager[-300:])
    told = t.run("explain", "--mode=graph", "plain.ouro").out
    t.equal(told[:len(eager)], eager)
    names = list(PLAIN)
    parts = {names[int(m[1])]: part for part in re.split(r"\n(?=\S)", told) if (m := re.match(r"step(\d+) \(", part))}
    t.equal(sorted(set(names) - set(parts)), [])
    t.equal({name: part for name, part in parts.items() if "interpreted" in part or "not compiled" in part}, {})


def test_a_print_in_a_gradient_costs_the_print(t):
    made, forward = "self.l = nn.Linear(4, 4)", "y = self.l(x)\nprint(f'mean {y.mean().item():.3f}', y.shape, [x.sum().item()])\nreturn y.sum()"
    t.write("print.ouro", PRELUDE + CASE.format(k=0, name="print", made=indented(made), forward=indented(forward)))
    eager = t.run("--mode=eager", "print.ouro").out
    told = t.run("explain", "--mode=graph", "print.ouro").out
    t.equal(told[:len(eager)], eager)
    step = next(part for part in re.split(r"\n(?=\S)", told) if part.startswith("step0 ("))
    t.equal(re.findall(r"interpreted in place:\n.*: (.*)\n", step), ["call of print"])
    t.check("not compiled" not in step and "stays interpreted" not in step, step)
