# title: floats: Mandelbrot set, real and complex by hand
def escape(cr, ci, limit):
    zr = zi = 0.0
    for i in range(limit):
        zr2, zi2 = zr * zr, zi * zi
        if zr2 + zi2 > 4.0:
            return i
        zi = 2 * zr * zi + ci
        zr = zr2 - zi2 + cr
    return limit


def picture(width, height, limit):
    rows = []
    for y in range(height):
        ci = y * 2.4 / height - 1.2
        row = ""
        for x in range(width):
            n = escape(x * 3.2 / width - 2.2, ci, limit)
            row += " .:-=+*#%@"[n % 10] if n < limit else "@"
        rows.append(row)
    return rows


rows = picture(480, 200, 250)
print(rows[100])
print(sum(r.count("@") for r in rows))
