"""Distributions whose parameters are computed by a model are compiled with the step around them, and have the interpreter's bits."""
import re

PRELUDE = """
import ouro.distributions as D
from ouro import jit, nn, optim, value_and_grad
"""
STEP = """
manual_seed({k})
m = nn.Linear(4, 4)
opt = optim.SGD(m, lr=0.01)

@jit
def step{k}(m, x, y):
    def loss(m):
        d = {made}
        return {asked}
    loss, g = value_and_grad(loss)(m)
    opt.update(g)
    return loss

for i in range(4):
    print({name!r}, repr(step{k}(m, randn(4, 4), randn(4, 4)).item()))
"""
LOG_PROB, ENTROPY, MEANS, KL = "d.log_prob(stop_gradient(d.sample())).sum()", "d.entropy().sum()", "(d.mean + d.variance).sum()", "D.kl_divergence(d, d).sum()"
DRAWN, EVERY = "d.rsample().sum()", [LOG_PROB, ENTROPY, MEANS, KL]
CASES = {
    "D.Normal(m(x), 1.0)": EVERY + [DRAWN],
    "D.Normal(m(x), softplus(y) + 0.1)": EVERY + [DRAWN],
    "D.LogNormal(m(x), 0.5)": EVERY + [DRAWN],
    "D.Laplace(m(x), 1.0)": EVERY + [DRAWN],
    "D.Cauchy(m(x), 1.0)": [LOG_PROB, ENTROPY, DRAWN],
    "D.Gumbel(m(x), 1.0)": EVERY + [DRAWN],
    "D.StudentT(softplus(m(x)) + 2.1, y, 1.0)": [LOG_PROB, ENTROPY, MEANS],
    "D.Uniform(m(x) - 1000, m(x) + 1000)": EVERY + [DRAWN],
    "D.HalfNormal(softplus(m(x)))": EVERY + [DRAWN],
    "D.Gamma(softplus(m(x)) + 0.1, 1.0)": EVERY,
    "D.Chi2(softplus(m(x)) + 1)": EVERY,
    "D.Exponential(softplus(m(x)) + 0.1)": EVERY + [DRAWN],
    "D.Dirichlet(softplus(m(x)) + 0.1)": [LOG_PROB, ENTROPY, MEANS, KL],
    "D.Beta(softplus(m(x)) + 0.1, 2.0)": EVERY,
    "D.Bernoulli(logits=m(x))": EVERY,
    "D.Bernoulli(probs=sigmoid(m(x)))": EVERY,
    "D.Geometric(probs=sigmoid(m(x)))": EVERY,
    "D.Binomial(5, logits=m(x))": EVERY,
    "D.Categorical(logits=m(x))": [LOG_PROB, ENTROPY, KL],
    "D.Categorical(probs=softmax(m(x), 1))": [LOG_PROB, ENTROPY, KL],
    "D.OneHotCategorical(logits=m(x))": EVERY,
    "D.Poisson(softplus(m(x)))": [LOG_PROB, MEANS, KL],
    "D.MultivariateNormal(m(x), eye(4))": EVERY + [DRAWN],
    "D.MultivariateNormal(m(x), scale_tril=eye(4) * 0.5)": EVERY + [DRAWN],
    "D.Independent(D.Normal(m(x), 1.0), 1)": EVERY + [DRAWN],
    "D.MixtureSameFamily(D.Categorical(logits=y), D.Normal(m(x), 1.0))": [LOG_PROB, MEANS],
    "D.TransformedDistribution(D.Normal(m(x), 1.0), [D.SigmoidTransform(), D.AffineTransform(0.0, 2.0)])": [LOG_PROB, DRAWN, KL],
    "D.RelaxedOneHotCategorical(0.5, logits=m(x))": [LOG_PROB, DRAWN],
}


def test_steps_over_distributions_are_compiled_whole(t):
    if t.suite.sanitized:
        t.skip("a minute of compilation; random programs are compiled there, too")
    cases = [(made, asked) for made, all_asked in CASES.items() for asked in all_asked]
    t.write("distributions.ouro", PRELUDE + "".join(STEP.format(k=k, name=f"{made}: {asked}", made=made, asked=asked) for k, (made, asked) in enumerate(cases)))
    eager = t.run("--mode=eager", "distributions.ouro", timeout=300).out
    t.equal(len(eager.splitlines()), 4 * len(cases))
    told = t.run("explain", "--mode=graph", "distributions.ouro", timeout=300).out
    t.equal(told[:len(eager)], eager)
    parts = {int(m[1]): part for part in re.split(r"\n(?=\S)", told) if (m := re.match(r"step(\d+) \(", part))}
    t.equal(sorted(parts), list(range(len(cases))))
    left = {": ".join(cases[k]): part for k, part in parts.items() if "interpreted" in part or "not compiled" in part or part.count(": compiled;") != 1}
    t.equal(left, {})
