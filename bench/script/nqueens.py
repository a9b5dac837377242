# title: backtracking: queens by lists, by sets and by bits
def queens_list(n, board, row=0):
    if row == n:
        return 1
    found = 0
    for col in range(n):
        for r in range(row):
            c = board[r]
            if c == col or abs(c - col) == row - r:
                break
        else:
            board[row] = col
            found += queens_list(n, board, row + 1)
    return found


def queens_set(n, row, cols, up, down):
    if row == n:
        return 1
    found = 0
    for col in range(n):
        if col not in cols and row + col not in up and row - col not in down:
            cols.add(col)
            up.add(row + col)
            down.add(row - col)
            found += queens_set(n, row + 1, cols, up, down)
            cols.remove(col)
            up.remove(row + col)
            down.remove(row - col)
    return found


def queens_bits(n, cols=0, left=0, right=0):
    full = (1 << n) - 1
    if cols == full:
        return 1
    free = full & ~(cols | left | right)
    found = 0
    while free:
        bit = free & -free
        free ^= bit
        found += queens_bits(n, cols | bit, (left | bit) << 1, (right | bit) >> 1)
    return found


print(queens_list(9, [0] * 9), queens_set(9, 0, set(), set(), set()), queens_bits(12))
