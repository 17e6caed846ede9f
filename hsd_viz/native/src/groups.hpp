// Linear layers with weights of 4 or 8 bits, a scale for each GROUP of them along the depth, times rows of 16-bit numbers:
//
//   y[m][n] = (sum over groups g, in order, of  scale[n][g] * float(sum over k in g of w[n][k] x[m][k])  [+ minimum[n][g] * float(sum of x[m][k])])
//             * x_scale[m]
//
// The sums of a group are exact in 32 bits: 32 * 128 * 32767 < 2^31. What is rounded is rounded in this one order, without fused multiply-adds: the
// bits are the same on every instruction set, for any number of rows and threads.
//
// A panel has GROUP_COLUMNS columns and is one stream of blocks, one for each group: the numbers, then the scales and (4 bits) the minima of its
// columns in float16. A vector lane of 32 bits is one column with two neighbouring k. 8-bit numbers are [16][columns][2]; 4-bit numbers are
// [4][columns][2] of 16 bits each, which hold the numbers of four pairs, the first in the lowest bits. The layout is that of native/panels.py and
// the same for all kernels.
#pragma once
#include <algorithm>
#include "vectors.hpp"
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

namespace hsd {

constexpr int GROUP = 32, GROUP_COLUMNS = 32;

// The tag of models whose matrices are of this kind.
struct grouped {};

constexpr size_t number_bytes(int bits) { return (size_t)GROUP * GROUP_COLUMNS * bits / 8; }
constexpr size_t block_bytes(int bits) { return number_bytes(bits) + GROUP_COLUMNS * (bits == 4 ? 4 : 2); }
constexpr int groups_of(int depth) { return (depth + GROUP - 1) / GROUP; }

typedef int16_t i16v __attribute__((vector_size(VECTOR_BYTES), aligned(2), may_alias));
typedef uint16_t n16v __attribute__((vector_size(VECTOR_BYTES), aligned(2), may_alias));
typedef int8_t b8v __attribute__((vector_size(VECTOR_BYTES / 2), aligned(1), may_alias));

// sum + the products of two pairs of 16-bit numbers in each lane of 32 bits.
INLINE i32v add_pairs(i32v sum, i16v w, i16v x) {
#if defined(__AVX512VNNI__)
    return (i32v)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)w, (__m512i)x);
#elif defined(__AVX512BW__)
    return sum + (i32v)_mm512_madd_epi16((__m512i)w, (__m512i)x);
#elif defined(__AVXVNNI__)
    return (i32v)_mm256_dpwssd_avx_epi32((__m256i)sum, (__m256i)w, (__m256i)x);
#elif defined(__AVX2__)
    return sum + (i32v)_mm256_madd_epi16((__m256i)w, (__m256i)x);
#elif defined(__SSE2__)
    return sum + (i32v)_mm_madd_epi16((__m128i)w, (__m128i)x);
#elif defined(__wasm_simd128__)
    return sum + (i32v)wasm_i32x4_dot_i16x8((v128_t)w, (v128_t)x);
#else
    const i32v a = (i32v)w, b = (i32v)x;
    return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

// Two neighbouring numbers of a row, in every lane.
INLINE i16v pair_of(const int16_t* x) {
    int32_t pair;
    std::memcpy(&pair, x, 4);
    return (i16v)(i32v{} + pair);
}

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

// Rows of 16-bit numbers [m][ld], each with its scale, and the sums of its groups [m][ld / GROUP], which are exact in float32.
struct ShortRows {
    int16_t* numbers;
    size_t ld;
    float* scales;
    float* sums;
};

// Rows that go over a panel together: their sums fit into the registers.
#if defined(__AVX512F__)
constexpr int GROUP_ROWS = 6;
#else
constexpr int GROUP_ROWS = 4;
#endif
// Vectors of columns that M rows take at a time.
template <int M> constexpr int GROUP_VECTORS = std::min(GROUP_COLUMNS / LANES<float>, M <= 2 ? 4 : 2);
// A single row hides the latency of its additions in two sums of every other pair.
template <int M> constexpr int CHAINS = M * GROUP_VECTORS<M> < 4 ? 2 : 1;
// How far ahead of the reader the lines of a panel are fetched.
constexpr size_t GROUP_AHEAD = 16384;

// M rows from `first` on times one panel of `groups` blocks into y [M][ldy].
template <int BITS, int M> APART void group_rows(const uint8_t* panel, int groups, const ShortRows& x, int first, float* y, size_t ldy, bool fetch) {
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
            if (fetch && column == 0)
#pragma GCC unroll 17
                for (size_t i = 0; i < block_bytes(BITS); i += 64) __builtin_prefetch(block + GROUP_AHEAD + i);
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
                    for (int c = 0; c < C; ++c) w[c] = __builtin_convertvector(*(const b8v*)(line + c * L * 2), i16v);
#pragma GCC unroll 8
                    for (int m = 0; m < M; ++m) {
                        const i16v a = pair_of(rows[m] + g * GROUP + 2 * p);
#pragma GCC unroll 8
                        for (int c = 0; c < C; ++c) sum[p % K][m][c] = add_pairs(sum[p % K][m][c], w[c], a);
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
                                sum[p % K][m][c] = add_pairs(sum[p % K][m][c], (i16v)(p == 3 ? four[c] >> 12 : four[c] >> 4 * p & 15), a);
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
                    for (int m = 0; m < M; ++m) total[m][c] += minimum * group_sums[m * (x.ld / GROUP) + g];
                }
            }
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) store(y + m * ldy + column + c * L, total[m][c] * x.scales[first + m]);
    }
}

template <int BITS> INLINE void some_group_rows(int m, const uint8_t* panel, int groups, const ShortRows& x, int first, float* y, size_t ldy, bool fetch) {
    switch (m) {
        case 1: return group_rows<BITS, 1>(panel, groups, x, first, y, ldy, fetch);
        case 2: return group_rows<BITS, 2>(panel, groups, x, first, y, ldy, fetch);
        case 3: return group_rows<BITS, 3>(panel, groups, x, first, y, ldy, fetch);
        case 4: return group_rows<BITS, 4>(panel, groups, x, first, y, ldy, fetch);
#if defined(__AVX512F__)
        case 5: return group_rows<BITS, 5>(panel, groups, x, first, y, ldy, fetch);
        case 6: return group_rows<BITS, 6>(panel, groups, x, first, y, ldy, fetch);
#endif
    }
}

// Rows [first, first + rows) of x times one panel into y [rows][ldy].
inline void multiply_groups(int bits, const uint8_t* panel, int groups, const ShortRows& x, int first, int rows, float* y, size_t ldy) {
    const int tiles = (rows + GROUP_ROWS - 1) / GROUP_ROWS;
    for (int t = 0, m = 0; t < tiles; ++t) {
        const int here = rows / tiles + (t < rows % tiles);
        if (bits == 4)
            some_group_rows<4>(here, panel, groups, x, first + m, y + m * ldy, ldy, t == 0);
        else
            some_group_rows<8>(here, panel, groups, x, first + m, y + m * ldy, ldy, t == 0);
        m += here;
    }
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
    if (bits == 8) return (float)(int8_t)block[(k / 2 * GROUP_COLUMNS + column) * 2 + k % 2] * half(column);
    uint16_t four;
    std::memcpy(&four, block + ((k / 8 * GROUP_COLUMNS + column) * 2 + k % 2) * 2, 2);
    return (float)(four >> k % 8 / 2 * 4 & 15) * half(column) + half(GROUP_COLUMNS + column);
}

// A row x [n] as 16-bit numbers q = round(x * (32767 / largest)), ties to even, the scale largest / 32767, and the sums of its groups. What
// follows up to a whole group is zero. A row without a number of at least SMALLEST is all zeros.
inline void quantise_shorts(const float* x, int n, int16_t* q, float* scale, float* sums) {
    constexpr int L = LANES<float>;
    f32v top{};
    int i = 0;
    for (; i + L <= n; i += L) {
        const f32v v = (f32v)((i32v)load(x + i) & 0x7fffffff);
        top = choose<float>(v > top, v, top);
    }
    float largest = largest_lane<float>(top);
    for (; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
    const bool some = largest >= SMALLEST;
    const float by = some ? 32767.0f / largest : 0.0f;
    *scale = some ? largest / 32767.0f : 0.0f;
    for (i = 0; i + L <= n; i += L) {
        const i32v v = rounded(load(x + i) * by);
        typedef int16_t half_v __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));
        *(half_v*)(q + i) = __builtin_convertvector(v, half_v);
    }
    for (; i < n; ++i) q[i] = (int16_t)rounded(all(x[i] * by))[0];
    for (; i % GROUP; ++i) q[i] = 0;
    for (int g = 0; g < i / GROUP; ++g) {
        int32_t sum = 0;
        for (int k = 0; k < GROUP; ++k) sum += q[g * GROUP + k];
        sums[g] = (float)sum;
    }
}

}  // namespace hsd
