// Linear layers with weights of 4 or 8 bits, a scale for each GROUP of them along the depth, times
// rows of 16-bit numbers:
//
//   y[m][n] = x_scale[m] * (sum over groups g, in order, of
//                 scale[n][g] * float(sum over k in g of w[n][k] x[m][k])
//                 [+ minimum[n][g] * float(sum of x[m][k])])
//
// The sums of a group are exact in 32 bits: 32 * 128 * 32767 < 2^31. Rounding follows this order,
// without fused multiply-adds, so that the bits are the same on every instruction set, for any
// number of rows and threads.
//
// A panel has GROUP_COLUMNS columns and consists of a block per group: the numbers, then the scales
// and (for 4 bits) the minima of its columns in float16. A vector lane of 32 bits is a column with
// two adjacent k. 8-bit numbers are [16][columns][2]; 4-bit numbers are [4][columns][2] of 16 bits
// each, with the numbers of four pairs, the first in the lowest bits. The layout is that of
// native/panels.py, and the same for all kernels.
#pragma once
#include <algorithm>
#include "shorts.hpp"

namespace hsd {

constexpr int GROUP = 32, GROUP_COLUMNS = 32;

// The tag of models with matrices of this kind.
struct grouped {};

constexpr size_t number_bytes(int bits) { return (size_t)GROUP * GROUP_COLUMNS * bits / 8; }
constexpr size_t block_bytes(int bits) {
    return number_bytes(bits) + GROUP_COLUMNS * (bits == 4 ? 4 : 2);
}
constexpr int groups_of(int depth) { return (depth + GROUP - 1) / GROUP; }

typedef int8_t b8v __attribute__((vector_size(VECTOR_BYTES / 2), aligned(1), may_alias));

// Convert float16 numbers to float32, exactly. They are finite, which native/panels.py ensures.
INLINE f32v load_half(const void* from) {
#if defined(__AVX512F__)
    return (f32v)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)from));
#elif defined(__F16C__)
    return (f32v)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from));
#else
    const u32v half = __builtin_convertvector(*(const u16v*)from, u32v);
    // The exponent is five bits wide where float32 has eight: its bias differs by 112.
    const f32v magnitude = (f32v)((half & 0x7fff) << 13) * 0x1p112f;
    return (f32v)((u32v)magnitude | (half & 0x8000) << 16);
#endif
}

// Rows of 16-bit numbers [m][ld], each with its scale, and the sums of its groups [m][ld / GROUP],
// which are exact in float32.
struct ShortRows {
    int16_t* numbers;
    size_t ld;
    float* scales;
    float* sums;
};

// The number of vectors of columns that M rows process at a time, whose sums fit into the
// registers.
template <int M>
constexpr int GROUP_VECTORS = std::min(GROUP_COLUMNS / LANES<float>, M <= 2 ? 4 : SHORT_VECTORS);
// A single row alternates between two sums for successive pairs of k, to hide the latency of
// additions.
template <int M> constexpr int CHAINS = M * GROUP_VECTORS<M> < 4 ? 2 : 1;
// The distance by which the lines of a panel are prefetched, for more than FEW_ROWS rows. A pass
// with fewer rows waits only for memory, where the processor's own prefetchers work better alone
// (measured on Zen 4).
constexpr size_t GROUP_AHEAD = 16384;
constexpr int FEW_ROWS = 3;

// The exact sums of a group for M rows and some columns: [chain][row][vector of columns].
template <int M> using GroupSums = i32v[CHAINS<M>][M][GROUP_VECTORS<M>];
// The results so far for the same rows and columns.
template <int M> using GroupTotals = f32v[M][GROUP_VECTORS<M>];

template <int M> INLINE void clear(GroupSums<M>& sum) {
#pragma GCC unroll 2
    for (int chain = 0; chain < CHAINS<M>; ++chain)
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (int c = 0; c < GROUP_VECTORS<M>; ++c) sum[chain][m][c] = i32v{};
}
template <int M> INLINE void clear(GroupTotals<M>& total) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
        for (int c = 0; c < GROUP_VECTORS<M>; ++c) total[m][c] = f32v{};
}

// Add the products of pair `pair` of k, whose weights are w, with the numbers from `k` on of the
// rows.
template <int M>
INLINE void add_pair(GroupSums<M>& sum, int pair, const i16v (&w)[GROUP_VECTORS<M>],
                     const int16_t* const (&rows)[M], int k) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
        const i16v x = pair_of(rows[m] + k);
#pragma GCC unroll 8
        for (int c = 0; c < GROUP_VECTORS<M>; ++c) {
            i32v& to = sum[pair % CHAINS<M>][m][c];
            to = add_pairs(to, w[c], x);
        }
    }
}

// Add the products of a group of 8-bit weights, [GROUP / 2][GROUP_COLUMNS][2] from the first column
// on, with the numbers from `k` on of the rows.
template <int M>
INLINE void add_bytes(GroupSums<M>& sum, const uint8_t* weights, const int16_t* const (&rows)[M],
                      int k) {
    constexpr int C = GROUP_VECTORS<M>, VECTOR = LANES<float> * 2;
#pragma GCC unroll 4
    for (int pair = 0; pair < GROUP / 2; ++pair) {
        const uint8_t* line = weights + pair * GROUP_COLUMNS * 2;
        i16v w[C];
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c)
            w[c] = __builtin_convertvector(*(const b8v*)(line + c * VECTOR), i16v);
        add_pair<M>(sum, pair, w, rows, k + 2 * pair);
    }
}

// Pair `pair` of the four in a line of 4-bit weights, of which the first is in the lowest bits.
INLINE i16v nibbles(n16v line, int pair) {
    return (i16v)(pair == 3 ? line >> 12 : line >> 4 * pair & 15);
}

// Add the products of a group of 4-bit weights, [GROUP / 8][GROUP_COLUMNS][2] of 16 bits each.
template <int M>
INLINE void add_nibbles(GroupSums<M>& sum, const uint8_t* weights, const int16_t* const (&rows)[M],
                        int k) {
    constexpr int C = GROUP_VECTORS<M>, VECTOR = LANES<float> * 4;
    for (int eight = 0; eight < GROUP / 8; ++eight) {
        const uint8_t* at = weights + eight * GROUP_COLUMNS * 4;
        n16v line[C];
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) line[c] = *(const n16v*)(at + c * VECTOR);
#pragma GCC unroll 4
        for (int pair = 0; pair < 4; ++pair) {
            i16v w[C];
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) w[c] = nibbles(line[c], pair);
            add_pair<M>(sum, pair, w, rows, k + 8 * eight + 2 * pair);
        }
    }
}

// total += scale * sum [+ minimum * sum of the row's group], rounded as in the formula above.
// `scales` are those of the block from the first column on, followed by the minima; row_sums[m *
// stride] is the sum of row m over the group.
template <int BITS, int M>
INLINE void add_scaled(GroupTotals<M>& total, const GroupSums<M>& sum, const uint8_t* scales,
                       const float* row_sums, size_t stride) {
    constexpr int L = LANES<float>;
#pragma GCC unroll 8
    for (int c = 0; c < GROUP_VECTORS<M>; ++c) {
        const f32v scale = load_half(scales + c * L * 2);
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m) {
            i32v whole = sum[0][m][c];
            if constexpr (CHAINS<M> == 2) whole += sum[1][m][c];
            total[m][c] += scale * __builtin_convertvector(whole, f32v);
        }
        if constexpr (BITS == 4) {
            const f32v minimum = load_half(scales + (GROUP_COLUMNS + c * L) * 2);
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m) total[m][c] += minimum * row_sums[m * stride];
        }
    }
}

template <int BITS> INLINE void fetch_block(const uint8_t* block) {
    for (size_t i = 0; i < block_bytes(BITS); i += 64) __builtin_prefetch(block + i);
}

// Multiply M rows from `first` on by a panel of `groups` blocks into y [M][ldy]; `fetch` prefetches
// lines of the panel.
template <int BITS, int M>
APART void group_rows(const uint8_t* panel, int groups, const ShortRows& x, int first, float* y,
                      size_t ldy, bool fetch) {
    constexpr int C = GROUP_VECTORS<M>, L = LANES<float>;
    const size_t groups_in_row = x.ld / GROUP;
    const float* row_sums = x.sums + first * groups_in_row;
    const int16_t* rows[M];
    for (int m = 0; m < M; ++m) rows[m] = x.numbers + (first + m) * x.ld;

    for (int column = 0; column < GROUP_COLUMNS; column += C * L) {
        const bool reads_first = column == 0;  // later columns find the panel in the caches
        GroupTotals<M> total;
        clear<M>(total);
        const uint8_t* block = panel;
        for (int g = 0; g < groups; ++g, block += block_bytes(BITS)) {
            if (M > FEW_ROWS && fetch && reads_first) fetch_block<BITS>(block + GROUP_AHEAD);
            GroupSums<M> sum;
            clear<M>(sum);
            if constexpr (BITS == 8)
                add_bytes<M>(sum, block + column * 2, rows, g * GROUP);
            else
                add_nibbles<M>(sum, block + column * 4, rows, g * GROUP);
            const uint8_t* scales = block + number_bytes(BITS) + column * 2;
            add_scaled<BITS, M>(total, sum, scales, row_sums + g, groups_in_row);
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c)
                store(y + m * ldy + column + c * L, total[m][c] * x.scales[first + m]);
    }
}

// Multiply the rows [first, first + rows) of x by a panel into y [rows][ldy].
inline void multiply_groups(int bits, const uint8_t* panel, int groups, const ShortRows& x,
                            int first, int rows, float* y, size_t ldy) {
    by_rows(rows, [&](auto count, int m) {
        constexpr int M = decltype(count)::value;
        if (bits == 4)
            group_rows<4, M>(panel, groups, x, first + m, y + m * ldy, ldy, m == 0);
        else
            group_rows<8, M>(panel, groups, x, first + m, y + m * ldy, ldy, m == 0);
    });
}

// The weight of a column at place k of a block.
inline float weight_in(int bits, const uint8_t* block, int column, int k) {
    alignas(64) float scale[LANES<float>];
    auto half = [&](int at) {
        // A whole vector of scales is read, of which one is used.
        const int lane = at % LANES<float>;
        store(scale, load_half(block + number_bytes(bits) + 2 * (at - lane)));
        return scale[lane];
    };
    if (bits == 8)
        return (float)(int8_t)block[(k / 2 * GROUP_COLUMNS + column) * 2 + k % 2] * half(column);
    uint16_t four;
    std::memcpy(&four, block + ((k / 8 * GROUP_COLUMNS + column) * 2 + k % 2) * 2, 2);
    return (float)(four >> k % 8 / 2 * 4 & 15) * half(column) + half(GROUP_COLUMNS + column);
}

// Quantize a row x [n] to 16-bit numbers, padded to a whole group, and compute the sums of its
// groups. Returns the scale.
inline float quantize_groups(const float* x, int n, int16_t* q, float* sums) {
    const float scale = quantize_shorts(x, n, 32767.0f, q, GROUP);
    for (int g = 0; g < groups_of(n); ++g) {
        int32_t sum = 0;
        for (int k = 0; k < GROUP; ++k) sum += q[g * GROUP + k];
        sums[g] = (float)sum;
    }
    return scale;
}

}  // namespace hsd
