// Linear layers in floats: y[m][n] = sum over k of x[m][k] w[n][k]. Each y is summed over k in
// order, for any m and thread.
//
// Weights are stored in panels of PANEL output columns, [N / PANEL][K][PANEL]. A step in k loads a
// line of the panel and multiplies it by a number of each row. A few rows read the panel once,
// close to the bandwidth of the memory. More rows process pieces of BLOCK steps, which stay in the
// first-level cache, and prefetch the next piece.
#pragma once
#include <algorithm>
#include "vectors.hpp"

namespace hsd {

constexpr int P = 4;                              // vectors in a line of a panel
constexpr int TILE = 6;                           // rows whose sums fit into the registers
constexpr int ONE_PASS = MANY_REGISTERS ? 6 : 3;  // rows that read a panel once, whole
constexpr int ROWS = 48;                          // rows that go over a panel together
template <class T> constexpr int PANEL = P * LANES<T>;

// The cache lines (64 bytes) in a step of a panel, and the number of steps with 16 KiB of weights.
template <class T, class W> constexpr int LINES = std::max(1, PANEL<T>*(int)sizeof(W) / 64);
template <class T, class W> constexpr int BLOCK = 16384 / (PANEL<T> * (int)sizeof(W));

// Multiply M rows by C vectors of a panel over `steps` steps, added to the previous value of y if
// `more`. FETCH lines per step are prefetched.
template <class T, class W, int M, int C, int FETCH>
INLINE void tile(const W* w, const T* x, size_t ldx, int steps, T* y, bool more,
                 const char* ahead) {
    vec<T> sum[M][C];
    for (int m = 0; m < M; ++m)
        for (int c = 0; c < C; ++c)
            sum[m][c] = more ? load(y + m * PANEL<T> + c * LANES<T>) : vec<T>{};
    for (int k = 0; k < steps; ++k) {
        vec<T> b[C];
        for (int c = 0; c < C; ++c) b[c] = load(w + (size_t)k * PANEL<T> + c * LANES<T>);
        for (int i = 0; i < FETCH; ++i) __builtin_prefetch(ahead + ((size_t)k * FETCH + i) * 64);
        for (int m = 0; m < M; ++m) {
            const vec<T> a = all(x[m * ldx + k]);
            for (int c = 0; c < C; ++c) sum[m][c] = fma(b[c], a, sum[m][c]);
        }
    }
    for (int m = 0; m < M; ++m)
        for (int c = 0; c < C; ++c) store(y + m * PANEL<T> + c * LANES<T>, sum[m][c]);
}

template <class T, class W, int M, int FETCH>
APART void rows_of(const W* w, const T* x, size_t ldx, int steps, T* y, bool more,
                   const char* ahead) {
    constexpr int C = MANY_REGISTERS || M <= 3 ? P : P / 2;
    tile<T, W, M, C, FETCH>(w, x, ldx, steps, y, more, ahead);
    if constexpr (C < P)
        tile<T, W, M, C, 0>(w + C * LANES<T>, x, ldx, steps, y + C * LANES<T>, more, nullptr);
}

template <class T, class W, int FETCH>
INLINE void some_rows(int m, const W* w, const T* x, size_t ldx, int steps, T* y, bool more,
                      const char* ahead) {
    switch (m) {
        case 1:
            return rows_of<T, W, 1, FETCH>(w, x, ldx, steps, y, more, ahead);
        case 2:
            return rows_of<T, W, 2, FETCH>(w, x, ldx, steps, y, more, ahead);
        case 3:
            return rows_of<T, W, 3, FETCH>(w, x, ldx, steps, y, more, ahead);
        case 4:
            return rows_of<T, W, 4, FETCH>(w, x, ldx, steps, y, more, ahead);
        case 5:
            return rows_of<T, W, 5, FETCH>(w, x, ldx, steps, y, more, ahead);
        default:
            return rows_of<T, W, 6, FETCH>(w, x, ldx, steps, y, more, ahead);
    }
}

// Multiply rows <= ROWS rows of x by a panel into y [rows][PANEL].
template <class T, class W>
APART void multiply(const W* w, int depth, const T* x, size_t ldx, int rows, T* y) {
    constexpr int L = LINES<T, W>;
    if (rows <= ONE_PASS)
        return some_rows<T, W, L>(rows, w, x, ldx, depth, y, false, (const char*)w + 4096);
    const int groups = (rows + TILE - 1) / TILE;
    for (int k = 0; k < depth; k += BLOCK<T, W>) {
        const int steps = std::min(BLOCK<T, W>, depth - k);
        const W* piece = w + (size_t)k * PANEL<T>;
        const char* next = (const char*)(piece + (size_t)steps * PANEL<T>);
        const size_t half = (size_t)steps * (L / 2) * 64;
        for (int g = 0, m = 0; g < groups; ++g) {
            const int here = rows / groups + (g < rows % groups);
            const T* from = x + m * ldx + k;
            T* to = y + m * PANEL<T>;
            if (g == 0 && (groups == 1 || L == 1))
                some_rows<T, W, L>(here, piece, from, ldx, steps, to, k > 0, next);
            else if (g < 2 && L > 1)
                some_rows<T, W, L / 2>(here, piece, from, ldx, steps, to, k > 0, next + g * half);
            else
                some_rows<T, W, 0>(here, piece, from, ldx, steps, to, k > 0, nullptr);
            m += here;
        }
    }
}

// Pack rows [N][K] of a weight matrix as columns from `column` on of panels that are `stride`
// apart, because the panels of gate and up alternate.
template <class T, class W>
void pack(W* panels, const W* rows, size_t n, size_t k, size_t column, size_t first,
          size_t stride) {
    for (size_t r = 0; r < n; ++r) {
        const size_t c = column + r, panel = first + c / PANEL<T> * stride;
        W* to = panels + panel * k * PANEL<T> + c % PANEL<T>;
        for (size_t i = 0; i < k; ++i) to[i * PANEL<T>] = rows[r * k + i];
    }
}

}  // namespace hsd
