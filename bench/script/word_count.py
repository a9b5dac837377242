# title: text: words of a text, their counts and lengths
TEXT = """It was the best of times, it was the worst of times, it was the age of wisdom,
it was the age of foolishness, it was the epoch of belief, it was the epoch of incredulity,
it was the season of Light, it was the season of Darkness, it was the spring of hope,
it was the winter of despair, we had everything before us, we had nothing before us,
we were all going direct to Heaven, we were all going direct the other way"""


def clean(text):
    out = ""
    for c in text.lower():
        if c.isalpha() or c.isspace():
            out += c
    return out


counts, letters = {}, {}
for _ in range(6000):
    for line in TEXT.split("\n"):
        for word in clean(line).split():
            counts[word] = counts.get(word, 0) + 1
for _ in range(3200):
    for c in TEXT:
        if c.isalpha():
            letters[c.lower()] = letters.get(c.lower(), 0) + 1
top = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:5]
print(top, sorted(letters)[:5], sum(letters.values()))
