// Multiply rows of states by a matrix, in the arithmetic of its weights.
#pragma once
#include "model.hpp"

namespace hsd {

// The number of states that a helper processes at a time.
constexpr int SHARE = 16;

// out = silu(gate) * up, for a row of a panel with n columns.
template <class T> void gate_line(const T* gate, const T* up, int n, T* out) {
    for (int c = 0; c < n; c += LANES<T>) {
        const vec<T> g = load(gate + c);
        store(out + c, g / (exponential(-g) + T(1)) * load(up + c));
    }
}

template <class T, class W> class Products {
  public:
    // y [m][ldy] = x [m][ldx] times the matrix, added to the previous value of y if `add`.
    void linear(Team& team, const Matrix<T, W>& a, const T* x, size_t ldx, int depth, int rows,
                T* y, size_t ldy, bool add) {
        const Rows in = ready(team, a, x, ldx, depth, rows);
        team.each(a.panels(), [&](int p) {
            alignas(64) T out[ROWS * WIDE<T, W>];
            const int column = a.column(p), columns = a.width(p);
            for (int m = 0; m < rows; m += ROWS) {
                const int here = std::min(ROWS, rows - m);
                times(a, p, in, m, here, out);
                for (int r = 0; r < here; ++r) {
                    T* from = out + r * WIDE<T, W>;
                    T* to = y + (m + r) * ldy + column;
                    if (add)
                        for (int c = 0; c < columns; ++c) to[c] += from[c];
                    else
                        std::copy_n(from, columns, to);
                }
            }
        });
    }

    // y [m][ldy] = silu(gate) * up for x [m][ldx]. The panels of gate and up alternate in the
    // matrix.
    void gated(Team& team, const Matrix<T, W>& a, const T* x, size_t ldx, int depth, int rows, T* y,
               size_t ldy) {
        const Rows in = ready(team, a, x, ldx, depth, rows);
        team.each(a.panels() / 2, [&](int p) {
            alignas(64) T gate[ROWS * WIDE<T, W>], up[ROWS * WIDE<T, W>];
            for (int m = 0; m < rows; m += ROWS) {
                const int here = std::min(ROWS, rows - m);
                times(a, 2 * p, in, m, here, gate);
                times(a, 2 * p + 1, in, m, here, up);
                for (int r = 0; r < here; ++r)
                    gate_line(gate + r * WIDE<T, W>, up + r * WIDE<T, W>, WIDE<T, W>,
                              y + (m + r) * ldy + p * WIDE<T, W>);
            }
        });
    }

  private:
    // The form in which the rows x [m][ldx] are multiplied: unchanged, or quantized to 8 or 16
    // bits.
    struct Rows {
        const T* x;
        size_t ldx;
        ByteRows bytes;
        ShortRows shorts;
    };
    Rows ready(Team& team, const Matrix<T, W>& a, const T* x, size_t ldx, int depth, int rows) {
        if constexpr (std::is_same_v<W, i8>) {
            const ByteRows b{bytes_.at_least((size_t)rows * a.depth), (size_t)a.depth,
                             scales_.at_least(rows), sums_.at_least(rows)};
            team.each((rows + SHARE - 1) / SHARE, [&](int part) {
                for (int m = part * SHARE; m < std::min(rows, (part + 1) * SHARE); ++m)
                    quantize(x + m * ldx, depth, b.numbers + m * b.ld, b.scales + m, b.sums + m);
            });
            return {x, ldx, b, {}};
        } else if constexpr (std::is_same_v<W, grouped>) {
            const size_t ld = groups_of(depth) * GROUP, groups = ld / GROUP;
            const ShortRows s{shorts_.at_least(rows * ld), ld, scales_.at_least(rows),
                              group_sums_.at_least(rows * groups)};
            team.each((rows + SHARE - 1) / SHARE, [&](int part) {
                for (int m = part * SHARE; m < std::min(rows, (part + 1) * SHARE); ++m)
                    s.scales[m] = quantize_groups(x + m * ldx, depth, s.numbers + m * ld,
                                                  s.sums + m * groups);
            });
            return {x, ldx, {}, s};
        } else {
            return {x, ldx, {}, {}};
        }
    }
    // `here` rows from m on times panel p into out [here][WIDE].
    static INLINE void times(const Matrix<T, W>& a, int p, const Rows& rows, int m, int here,
                             T* out) {
        if constexpr (std::is_same_v<W, i8>)
            multiply_bytes((const int8_t*)a.panel(p), a.scale.data() + (size_t)p * COLUMNS,
                           a.depth / 4, rows.bytes, m, here, out, COLUMNS);
        else if constexpr (std::is_same_v<W, grouped>)
            multiply_groups(a.list[p].bits, a.list[p].data, groups_of(a.depth), rows.shorts, m,
                            here, out, GROUP_COLUMNS);
        else
            multiply<T, W>(a.panel(p), a.depth, rows.x + m * rows.ldx, rows.ldx, here, out);
    }

    Scratch<int8_t> bytes_;
    Scratch<int16_t> shorts_;
    Scratch<float> scales_, group_sums_;
    Scratch<int32_t> sums_;
};

}  // namespace hsd
