x = 1 + \
    2
if x and \
   y:
    pass
\
z = 1
if 1:
    \
    a
x \
  . y \
  ( 1 )
assert \
  a, \
  b
