# title: sorting: by key functions, tuples, strings, attributes
class Person:
    def __init__(self, name, age, height):
        self.name = name
        self.age = age
        self.height = height

    def __lt__(self, other):
        return self.age < other.age


def people(n):
    x, out = 42, []
    for i in range(n):
        x = (x * 16807) % 2147483647
        out.append(Person("n" + str(x % 10007), x % 90, 1.5 + (x % 1000) / 2000))
    return out


ps = people(150000)
by_name = sorted(ps, key=lambda p: p.name)
by_age = sorted(ps, key=lambda p: (p.age, p.name), reverse=True)
by_self = sorted(ps[:40000])
print(by_name[0].name, by_age[0].age, by_self[0].age)
words = [p.name for p in ps]
words.sort()
words.sort(key=len)
pairs = sorted((p.height, p.name) for p in ps)
print(words[:3], pairs[0], pairs[-1])
print(min(ps, key=lambda p: -p.height).height, max(ps, key=lambda p: p.age).age)
