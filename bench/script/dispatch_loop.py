# title: a small interpreter: a loop over tuples
def run(code, n):
    stack = []
    pc = 0
    regs = [0] * 8
    regs[1] = n
    while True:
        op, a, b = code[pc]
        pc += 1
        if op == 0: return regs[a]
        elif op == 1: regs[a] = b
        elif op == 2: regs[a] = regs[a] + regs[b]
        elif op == 3: regs[a] = regs[a] - b
        elif op == 4:
            if regs[a] != 0: pc = b
        elif op == 5: stack.append(regs[a])
        elif op == 6: regs[a] = stack.pop()
code = [(1, 0, 0), (5, 1, 0), (6, 2, 0), (2, 0, 2), (3, 1, 1), (4, 1, 1), (0, 0, 0)]
print(run(code, 10000000))
