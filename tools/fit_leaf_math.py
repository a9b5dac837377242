#!/usr/bin/env python3
"""The polynomials of ir/ops/leaf_math.h: Chebyshev interpolants on the reduced intervals, in 60 digits, and constants split into exact parts.

    pip install mpmath && python3 tools/fit_leaf_math.py
"""
from mpmath import asin, atan, chebyfit, cos, erf, erfc, exp, floor, log, loggamma, mp, mpf, nstr, psi, sin, sqrt, tanh

mp.dps = 60
TINY = mpf("1e-30")


def fit(name, f, lo, hi, terms, digits=20):
    c, error = chebyfit(f, [mpf(lo), mpf(hi)], terms, error=True)
    print(f"// {name} on [{nstr(mpf(lo), 6)}, {nstr(mpf(hi), 6)}], error {nstr(error, 3)}")
    print("{" + ", ".join(nstr(x, digits) for x in reversed(c)) + "}")


def of_square(g):
    """g as a function of z = x^2, kept away from 0."""
    return lambda z: g(sqrt(z if z > TINY else TINY))


def log_ratio(s):
    return log((1 + s) / (1 - s))


K = mpf("3.75")


def scaled_erfc(t):
    x = K * (1 + t) / (1 - t)
    return exp(x * x) * erfc(x) * (1 + 2 * x)


def place(x):
    return (mpf(x) - K) / (mpf(x) + K)


def lgamma_quotient(u):
    if abs(abs(u) - mpf("0.5")) < mpf(10) ** -25:
        return -psi(0, 1) if u < 0 else psi(0, 2)
    return loggamma(u + mpf("1.5")) / ((u + mpf("0.5")) * (u - mpf("0.5")))


def split(name, v, bits):
    """v as a sum of `bits`-bit parts, the last one a double."""
    parts = []
    for _ in range(3):
        scale = mpf(2) ** (floor(log(abs(v), 2)) - bits + 1)
        part = floor(v / scale) * scale
        parts.append(float(part).hex())
        v -= part
    print(f"// {name}: {', '.join(parts)}, rest {float(v).hex()}")


fit("kLog64: (log((1+s)/(1-s)) - 2s) / s^3", of_square(lambda s: (log_ratio(s) - 2 * s) / s**3), 0, "0.0296", 7)
fit("kLog32", of_square(lambda s: (log_ratio(s) - 2 * s) / s**3), 0, "0.0296", 4, 11)
fit("kLogTail: (log((1+s)/(1-s)) - 2s - 2/3 s^3) / s^5", of_square(lambda s: (log_ratio(s) - 2 * s - 2 * s**3 / 3) / s**5), 0, "0.0296", 7)
fit("kAtan: (atan x - x) / x^3", of_square(lambda x: (atan(x) - x) / x**3), 0, "0.1716", 11)
fit("kAsin: (asin x - x) / x^3", of_square(lambda x: (asin(x) - x) / x**3), 0, "0.25", 13)
fit("kErf64: erf(x) / x", of_square(lambda x: erf(x) / x), 0, 1, 14)
fit("kErfcx: exp(x^2) erfc(x) (1 + 2x), t = (x - 3.75) / (x + 3.75)", scaled_erfc, place("0.5"), place(28), 23)
fit("kLgamma: lgamma(w) / ((w-1)(w-2)), u = w - 1.5", lgamma_quotient, "-0.5", "0.5", 22)
fit("kTanh32: (tanh x - x) / x^3", of_square(lambda x: (tanh(x) - x) / x**3), 0, "0.40", 6, 11)
fit("kErf32: erf(x) / x - 1", of_square(lambda x: erf(x) / x - 1), 0, "0.87", 7, 11)
fit("kErfLog32: -log(erfc t) - t", lambda t: -log(erfc(t)) - t, "0.92", 4, 9, 11)
fit("kSin32: (sin x - x) / x^3", of_square(lambda x: (sin(x) - x) / x**3), 0, "0.617", 4)
fit("kCos32: (cos x - 1 + x^2/2) / x^4", of_square(lambda x: (cos(x) - 1 + x * x / 2) / x**4 if x > mpf(10) ** -9 else mpf(1) / 24), 0, "0.617", 4)
split("pi/2", mp.pi / 2, 23)
split("ln 2 (f64)", log(2), 32)
split("ln 2 (f32)", log(2), 15)
