// Linear layers with weights of 4 or 8 bits, a scale for each GROUP of them along the depth, times
// rows of 16-bit numbers:
//
//   y[m][n] = x_scale[m] * (sum over groups g, in order, of
//                 scale[n][g] * float(sum over k in g of w[n][k] x[m][k])
//                 [+ minimum[n][g] * float(sum of x[m][k])])
//
// The sums of a group are exact in 32 bits: 32 * 128 * 32767 < 2^31. What is rounded is rounded in
// this one order, without fused multiply-adds: the bits are the same on every instruction set, for
// any number of rows and threads.
//
// A panel has GROUP_COLUMNS columns and is one stream of blocks, one for each group: the numbers,
// then the scales and (4 bits) the minima of its columns in float16. A vector lane of 32 bits is
// one column with two neighbouring k. 8-bit numbers are [16][columns][2]; 4-bit numbers are
// [4][columns][2] of 16 bits each, which hold the numbers of four pairs, the first in the lowest
// bits. The layout is that of native/panels.py and the same for all kernels.
#pragma once
#include <algorithm>
#include "shorts.hpp"

namespace hsd {

constexpr int GROUP = 32, GROUP_COLUMNS = 32;

// The tag of models whose matrices are of this kind.
struct grouped {};

constexpr size_t number_bytes(int bits) { return (size_t)GROUP * GROUP_COLUMNS * bits / 8; }
constexpr size_t block_bytes(int bits) {
    return number_bytes(bits) + GROUP_COLUMNS * (bits == 4 ? 4 : 2);
}
constexpr int groups_of(int depth) { return (depth + GROUP - 1) / GROUP; }

typedef int8_t b8v __attribute__((vector_size(VECTOR_BYTES / 2), aligned(1), may_alias));

// Numbers of float16, each exact in float32; finite ones, as native/panels.py makes sure.
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

// Vectors of columns that M rows take at a time.
template <int M>
constexpr int GROUP_VECTORS = std::min(GROUP_COLUMNS / LANES<float>, M <= 2 ? 4 : SHORT_VECTORS);
// A single row hides the latency of its additions in two sums of every other pair.
template <int M> constexpr int CHAINS = M * GROUP_VECTORS<M> < 4 ? 2 : 1;
// How far ahead of the reader the lines of a panel are fetched, for more than FEW_ROWS rows. A pass
// over fewer waits for memory only, and there the processor's own prefetchers do better alone: this
// was found on Zen 4.
constexpr size_t GROUP_AHEAD = 16384;
constexpr int FEW_ROWS = 3;

// M rows from `first` on times one panel of `groups` blocks into y [M][ldy].
template <int BITS, int M>
APART void group_rows(const uint8_t* panel, int groups, const ShortRows& x, int first, float* y,
                      size_t ldy, bool fetch) {
    constexpr int C = GROUP_VECTORS<M>, L = LANES<float>, STEP = C * L, K = CHAINS<M>;
    const int16_t* rows[M];
    for (int m = 0; m < M; ++m) rows[m] = x.numbers + (first + m) * x.ld;
    const float* group_sums = x.sums + first * (x.ld / GROUP);
    for (int column = 0; column < GROUP_COLUMNS; column += STEP) {
        f32v total[M][C];
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) total[m][c] = f32v{};
        const uint8_t* block = panel;
        for (int g = 0; g < groups; ++g, block += block_bytes(BITS)) {
            if (M > FEW_ROWS && fetch && column == 0)
                for (size_t i = 0; i < block_bytes(BITS); i += 64)
                    __builtin_prefetch(block + GROUP_AHEAD + i);
            i32v sum[K][M][C];
#pragma GCC unroll 2
            for (int k = 0; k < K; ++k)
#pragma GCC unroll 8
                for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
                    for (int c = 0; c < C; ++c) sum[k][m][c] = i32v{};
            if constexpr (BITS == 8) {
#pragma GCC unroll 4
                for (int p = 0; p < GROUP / 2; ++p) {
                    const uint8_t* line = block + (p * GROUP_COLUMNS + column) * 2;
                    i16v w[C];
#pragma GCC unroll 8
                    for (int c = 0; c < C; ++c)
                        w[c] = __builtin_convertvector(*(const b8v*)(line + c * L * 2), i16v);
#pragma GCC unroll 8
                    for (int m = 0; m < M; ++m) {
                        const i16v a = pair_of(rows[m] + g * GROUP + 2 * p);
#pragma GCC unroll 8
                        for (int c = 0; c < C; ++c)
                            sum[p % K][m][c] = add_pairs(sum[p % K][m][c], w[c], a);
                    }
                }
            } else {
                for (int q = 0; q < GROUP / 8; ++q) {
                    const uint8_t* line = block + (q * GROUP_COLUMNS + column) * 4;
                    n16v four[C];
#pragma GCC unroll 8
                    for (int c = 0; c < C; ++c) four[c] = *(const n16v*)(line + c * L * 4);
#pragma GCC unroll 4
                    for (int p = 0; p < 4; ++p) {
#pragma GCC unroll 8
                        for (int m = 0; m < M; ++m) {
                            const i16v a = pair_of(rows[m] + g * GROUP + 8 * q + 2 * p);
#pragma GCC unroll 8
                            for (int c = 0; c < C; ++c)
                                sum[p % K][m][c] = add_pairs(
                                    sum[p % K][m][c],
                                    (i16v)(p == 3 ? four[c] >> 12 : four[c] >> 4 * p & 15), a);
                        }
                    }
                }
            }
            const uint8_t* scales = block + number_bytes(BITS) + column * 2;
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) {
                const f32v scale = load_half(scales + c * L * 2);
#pragma GCC unroll 8
                for (int m = 0; m < M; ++m) {
                    const i32v whole = K == 2 ? sum[0][m][c] + sum[K - 1][m][c] : sum[0][m][c];
                    total[m][c] += scale * __builtin_convertvector(whole, f32v);
                }
                if constexpr (BITS == 4) {
                    const f32v minimum = load_half(scales + (GROUP_COLUMNS + c * L) * 2);
#pragma GCC unroll 8
                    for (int m = 0; m < M; ++m)
                        total[m][c] += minimum * group_sums[m * (x.ld / GROUP) + g];
                }
            }
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c)
                store(y + m * ldy + column + c * L, total[m][c] * x.scales[first + m]);
    }
}

// Rows [first, first + rows) of x times one panel into y [rows][ldy].
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
        // A whole vector of the scales is read, of which one is meant.
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

// A row x [n] as 16-bit numbers up to a whole group, and the sums of its groups; returns the scale.
inline float quantise_groups(const float* x, int n, int16_t* q, float* sums) {
    const float scale = quantise_shorts(x, n, 32767.0f, q, GROUP);
    for (int g = 0; g < groups_of(n); ++g) {
        int32_t sum = 0;
        for (int k = 0; k < GROUP; ++k) sum += q[g * GROUP + k];
        sums[g] = (float)sum;
    }
    return scale;
}

}  // namespace hsd
