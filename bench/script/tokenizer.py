# title: tokens of a text, character by character
def tokenize(text):
    out = []
    i = 0
    n = len(text)
    while i < n:
        c = text[i]
        if c.isspace():
            i += 1
            continue
        if c.isdigit():
            j = i
            while j < n and text[j].isdigit(): j += 1
            out.append(("num", int(text[i:j])))
            i = j
            continue
        if c.isalpha() or c == "_":
            j = i
            while j < n and (text[j].isalnum() or text[j] == "_"): j += 1
            out.append(("name", text[i:j]))
            i = j
            continue
        if c in "+-*/()=<>":
            out.append(("op", c))
            i += 1
            continue
        raise SyntaxError(c)
    return out
text = "alpha = beta_2 * (gamma + 1234) - delta / 56 " * 200
total = 0
for r in range(500):
    toks = tokenize(text)
    total += len(toks)
print(total, toks[3], toks[-1])
