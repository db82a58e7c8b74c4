/* Time steps of the heat equation and of the Lattice Boltzmann method, with the operations of this crate's programs in
 * their order: C, and C++. */
#include <math.h>
#include <stddef.h>

#ifdef __cplusplus
#define restrict __restrict
#endif

/* A row of `width` cells of the next plate. Beside the rows there is a cell of the border. */
static void flow(size_t width, double diffusion, const double *restrict above, const double *restrict here,
                 const double *restrict below, double *restrict next) {
    for (size_t x = 0; x < width; x++) {
        double around = here[x - 1] + here[x + 1] + (above[x] + below[x]);
        next[x] = here[x] + diffusion * (around - 4.0 * here[x]);
    }
}

/* A cell of a lattice: how much travels in each direction. */
typedef double cell[9];

enum { REST, E, N, W, S, NE, NW, SW, SE };

static const int velocities[9][2] = {{0, 0}, {1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
static const int opposite[9] = {REST, W, S, E, N, SW, SE, NE, NW};
static const double weights[9] = {4.0 / 9.0,  1.0 / 9.0,  1.0 / 9.0,  1.0 / 9.0, 1.0 / 9.0,
                                  1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0};
/* A lattice has a frame, one cell wide: `width + 2` columns of `height + 2` cells. */
typedef struct {
    size_t width, height;
    double tau, force, lid;
} box;

/* Has the wall beyond a cell, which moves to the east, send back what travels in `direction`. */
static void reflect(const box *box, cell *lattice, size_t x, size_t y, int direction, double velocity) {
    size_t stride = box->height + 2;
    double moved = 6.0 * weights[direction] * velocities[direction][0] * velocity;
    size_t to = (x + (size_t)velocities[direction][0]) * stride + y + (size_t)velocities[direction][1];
    lattice[to][opposite[direction]] = lattice[x * stride + y][direction] - moved;
}

static const int westward[3] = {W, NW, SW}, eastward[3] = {E, NE, SE};

/* Fills the frame where there are walls: to the west and to the east, if it is said so, then below and above. */
static void frame(const box *box, cell *lattice, int west, int east) {
    static const int floor[3] = {S, SW, SE}, ceiling[3] = {N, NE, NW};
    size_t width = box->width, height = box->height;
    for (size_t y = 1; y <= height; y++)
        for (int i = 0; i < 3; i++) {
            if (west) reflect(box, lattice, 1, y, westward[i], 0.0);
            if (east) reflect(box, lattice, width, y, eastward[i], 0.0);
        }
    for (size_t x = 1; x <= width; x++)
        for (int i = 0; i < 3; i++) {
            reflect(box, lattice, x, 1, floor[i], 0.0);
            reflect(box, lattice, x, height, ceiling[i], box->lid);
        }
}

/* A time step. Returns whether all cells are fluid that is slower than sound. */
static int collide(const box *box, cell *restrict lattice, cell *restrict next) {
    size_t width = box->width, height = box->height;
    size_t stride = height + 2;
    double force = box->force, rate = 1.0 / box->tau, keep = 1.0 - rate, push = 3.0 * (1.0 - 0.5 * rate) * force;
    int stable = 1;
    for (size_t x = 1; x <= width; x++) {
        cell *west = lattice + (x - 1) * stride, *middle = west + stride, *east = middle + stride;
        for (size_t y = 1; y <= height; y++) {
            double rest = middle[y][REST], e = west[y][E], n = middle[y - 1][N], w = east[y][W], s = middle[y + 1][S];
            double ne = west[y - 1][NE], nw = east[y - 1][NW], sw = east[y + 1][SW], se = west[y + 1][SE];
            double density = rest + ((e + w) + (n + s)) + ((ne + sw) + (nw + se));
            double east_part = (e - w) + ((ne - sw) + (se - nw)) + 0.5 * force;
            double north_part = (n - s) + ((ne - sw) + (nw - se));
            double squared = density * density;
            stable &= (0.0 < density) & (squared < INFINITY) &
                      (3.0 * (east_part * east_part + north_part * north_part) <= squared);
            double inverse = 1.0 / density, u = inverse * east_part, v = inverse * north_part;
            double base = 1.0 - 1.5 * (u * u + v * v), drive = rate * density;
            double *to = next[x * stride + y];
            to[REST] = keep * rest + weights[REST] * (drive * base - push * u);
#define PAIR(one, other, from, back, x, along)                                                          \
    {                                                                                                   \
        double a = along, even = drive * (base + 4.5 * (a * a)) + push * (3.0 * a * x - u);             \
        double odd = 3.0 * drive * a + push * x;                                                        \
        to[one] = keep * from + weights[one] * (even + odd);                                            \
        to[other] = keep * back + weights[one] * (even - odd);                                          \
    }
            PAIR(E, W, e, w, 1.0, u)
            PAIR(N, S, n, s, 0.0, v)
            PAIR(NE, SW, ne, sw, 1.0, u + v)
            PAIR(SE, NW, se, nw, 1.0, u - v)
        }
    }
    return stable;
}

/* Density and velocity of a cell. */
static void fields(double force, const double *f, double *density, double *u, double *v) {
    *density = f[REST] + ((f[E] + f[W]) + (f[N] + f[S])) + ((f[NE] + f[SW]) + (f[NW] + f[SE]));
    double inverse = 1.0 / *density;
    *u = inverse * ((f[E] - f[W]) + ((f[NE] - f[SW]) + (f[SE] - f[NW])) - 0.5 * force);
    *v = inverse * ((f[N] - f[S]) + ((f[NE] - f[SW]) + (f[NW] - f[SE])));
}
