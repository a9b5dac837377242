x = 1

if x:
    y
    z = 1
w = 2+ 3
