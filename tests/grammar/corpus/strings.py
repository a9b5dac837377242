''
""
''''''
""""""
'a' "b" '''c''' """d"""
'a\
b'
'\\ \' \" \a \b \f \n \r \t \v \0 \12 \123 \x41 \u0041 \U00000041 \u20ac'
"\ud800 \udfff"
'\777 \8 \d \q \. \{'
r'\n \' \\ \x'
R"\N{x}"
u'a'
U"b"
u'a' 'b'
'a' u'b'
b''
b'abc\x00\xff\n\'\0\12\777'
B"a" b'b'
br'\n' rb'\x' Rb'a' bR'b'
b'\
'
"""a
b
c"""
'''it's "quoted" ''\''''
"""a"b""c\""""
"tab	and null-ish"
"é ü 漢字 🎉"
'é' "🎉"
'\x7f\x80\xa0\xad\u200b\u2028\ue000\uffff\U0001f600\U000e0001'
'"' "'" '\'"'
f''
f'a'
f"{a}"
f'{a}{b}'
f'{a} {b} c'
f'{{}}'
f'{{{a}}}'
f'}}{{'
f'{a!r}{b!s}{c!a}'
f'{a:>10}'
f'{a:{b}}'
f'{a:{b}.{c}}'
f'{a!r:{b}x}'
f'{a:%Y-%m-%d}'
f'{a:{{}}}'[:0] if 0 else ''
f'{a=}'
f'{a = }'
f'{ a=}'
f'{a=!s}'
f'{a=:>10}'
f'{a+b=}'
f'{a == b}'
f'{a != b}'
f'{a <= b >= c}'
f'{a < b > c}'
f'{a if b else c}'
f'{(lambda x: x)(1)}'
f'{(lambda: 1)}'
f'{ {a: b}["c"] }'
f'{a["b"]}'
f"{a['b']}"
f'{a, b}'
f'{a,}'
f'{*a, b}'
f'{f"{b}"}'
f'{f"{b:{c}}"!r:>{d}}'
f'{[x for x in y]}'
f'{x:=5}'
f'{(x:=5)}'
f'{a[b:c]}'
f'{a:\n}'
f'\n{a}\t'
f'\{a}'
rf'\{a}\n'
fr'{a}\d{b}'
Rf'x' fR'{y}'
F'{a}'
'a' f'{b}' 'c' f'd' "e"
u'a' f'{b}'
f'{b}' u'a'
f"""{a}
{b}
"""
f'''{
a
}'''
f'''{a
+ b} c'''
f"""
    {x:{y}} {'''z'''}
"""
f'{a}' \
    f'{b}'
x = (f'{a}'
     f'{b} c'
     'd')
print(f'é {ä} {b!r:é}', f'{x}')
def g():
    return f'{(yield)} {(yield 1)}'
f'{a!r}' f'{a!s:x}' f'{1:2}'
f'{"a" "b"}'
f'{"a" if b else "c":>{d if e else f}}'
f"{'{'}" f"{'}'}"
f'{a()()[0].b}'
f'{-a}' f'{not a}' f'{~a}'
f'{1_000}' f'{0x1f}' f'{1e5:g}'
f'{x for x in y}' f'{x, }' f'{  a , b  }' f'{(a, b)}' f'{a, b!r:x}'
