# title: text: building, splitting, joining, slicing
def build(n):
    s = ""
    for i in range(n):
        s += str(i) + ","
    return s


def shift(text, k):
    out = []
    for c in text:
        if "a" <= c <= "z":
            out.append(chr((ord(c) - ord("a") + k) % 26 + ord("a")))
        else:
            out.append(c)
    return "".join(out)


def palindromes(words):
    return sum(1 for w in words if w == w[::-1])


total = 0
for _ in range(4):
    text = build(200000)
    parts = text.split(",")
    total += sum(len(p) for p in parts)
    total += palindromes(parts)
    total += len("-".join(p.upper().replace("1", "one") for p in parts))
text = "the quick brown fox jumps over the lazy dog. " * 6000
for k in range(4):
    text = shift(text, k)
lines = [f"{i:05d} {i / 7:.3f} {hex(i)}" for i in range(200000)]
print(total, text[:44], lines[12345], sum(1 for x in lines if x.endswith("f")))
