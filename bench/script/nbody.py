# title: floats: planets (n-body)
PI = 3.141592653589793
SOLAR_MASS = 4 * PI * PI
YEAR = 365.24
BODIES = {
    "sun": ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], SOLAR_MASS),
    "jupiter": ([4.84143144246472090, -1.16032004402742839, -0.103622044471123109],
                [0.00166007664274403694 * YEAR, 0.00769901118419740425 * YEAR, -0.0000690460016972063023 * YEAR],
                0.000954791938424326609 * SOLAR_MASS),
    "saturn": ([8.34336671824457987, 4.12479856412430479, -0.403523417114321381],
               [-0.00276742510726411862 * YEAR, 0.00499852801234917238 * YEAR, 0.0000230417297573763929 * YEAR],
               0.000285885980666130812 * SOLAR_MASS),
    "uranus": ([12.8943695621391310, -15.1111514016986312, -0.223307578892655734],
               [0.00296460137564761618 * YEAR, 0.00237847173959480950 * YEAR, -0.0000296589568540237556 * YEAR],
               0.0000436624404335156298 * SOLAR_MASS),
    "neptune": ([15.3796971148509165, -25.9193146099879641, 0.179258772950371181],
                [0.00268067772490389322 * YEAR, 0.00162824170038242295 * YEAR, -0.0000951592254519715870 * YEAR],
                0.0000515138902046611451 * SOLAR_MASS),
}
SYSTEM = list(BODIES.values())
PAIRS = [(a, b) for i, a in enumerate(SYSTEM) for b in SYSTEM[i + 1:]]


def energy(e=0.0):
    for ((x1, y1, z1), _, m1), ((x2, y2, z2), _, m2) in PAIRS:
        dx, dy, dz = x1 - x2, y1 - y2, z1 - z2
        e -= m1 * m2 / (dx * dx + dy * dy + dz * dz) ** 0.5
    for _, (vx, vy, vz), m in SYSTEM:
        e += m * (vx * vx + vy * vy + vz * vz) / 2.0
    return e


def advance(dt, n):
    for _ in range(n):
        for ((x1, y1, z1), v1, m1), ((x2, y2, z2), v2, m2) in PAIRS:
            dx = x1 - x2
            dy = y1 - y2
            dz = z1 - z2
            mag = dt * (dx * dx + dy * dy + dz * dz) ** -1.5
            b1m = m1 * mag
            b2m = m2 * mag
            v1[0] -= dx * b2m
            v1[1] -= dy * b2m
            v1[2] -= dz * b2m
            v2[0] += dx * b1m
            v2[1] += dy * b1m
            v2[2] += dz * b1m
        for r, (vx, vy, vz), m in SYSTEM:
            r[0] += dt * vx
            r[1] += dt * vy
            r[2] += dt * vz


print(f"{energy():.9f}")
advance(0.01, 120000)
print(f"{energy():.9f}")
