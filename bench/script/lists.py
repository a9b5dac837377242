# title: lists: append, comprehensions, slices, insertion sort
def insertion_sort(a):
    for i in range(1, len(a)):
        x = a[i]
        j = i - 1
        while j >= 0 and a[j] > x:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = x
    return a


def quick_sort(a):
    if len(a) <= 1:
        return a
    p = a[len(a) // 2]
    return quick_sort([x for x in a if x < p]) + [x for x in a if x == p] + quick_sort([x for x in a if x > p])


def merge_sort(a):
    if len(a) < 2:
        return a
    m = len(a) // 2
    left, right = merge_sort(a[:m]), merge_sort(a[m:])
    out = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    return out + left[i:] + right[j:]


def numbers(n, x=1):
    out = []
    for _ in range(n):
        x = (x * 16807) % 2147483647
        out.append(x % 100000)
    return out


a = numbers(1500)
print(insertion_sort(a[:])[:5], a.index(max(a)))
b = numbers(150000)
print(quick_sort(b) == merge_sort(b) == sorted(b))
c = [x * y for x in range(1200) for y in range(1000) if (x + y) % 3]
print(len(c), sum(c[::7]), min(c), max(c))
