// Rows of 16-bit numbers, and their products with columns of 16-bit numbers: add_pairs() does two
// multiplications and two additions in each lane of 32 bits, on every instruction set, exactly.
#pragma once
#include <algorithm>
#include "vectors.hpp"
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

namespace hsd {

typedef int16_t i16v __attribute__((vector_size(VECTOR_BYTES), aligned(2), may_alias));
typedef uint16_t n16v __attribute__((vector_size(VECTOR_BYTES), aligned(2), may_alias));
typedef int16_t i16half __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));

// sum + the products of two pairs of 16-bit numbers in each lane of 32 bits.
INLINE i32v add_pairs(i32v sum, i16v w, i16v x) {
#if defined(__AVX512VNNI__)
    return (i32v)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)w, (__m512i)x);
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

// Quantize a row x [n]: q = round(x * (most / largest)), ties to even. Returns the scale largest /
// most. The row is padded with zeros to a multiple of `whole`. A row whose numbers are all below
// MIN_MAGNITUDE becomes zeros.
inline float quantize_shorts(const float* x, int n, float most, int16_t* q, int whole) {
    constexpr int L = LANES<float>;
    const float largest = largest_of(x, n);
    const bool some = largest >= MIN_MAGNITUDE;
    const float by = some ? most / largest : 0.0f;
    int i = 0;
    for (; i + L <= n; i += L)
        *(i16half*)(q + i) = __builtin_convertvector(rounded(load(x + i) * by), i16half);
    for (; i < n; ++i) q[i] = (int16_t)rounded(all(x[i] * by))[0];
    for (; i % whole; ++i) q[i] = 0;
    return some ? largest / most : 0.0f;
}

// Columns of 16-bit numbers in panels [pairs][SHORT_COLUMNS][2].
constexpr int SHORT_COLUMNS = 32;
#if defined(__AVX512F__)
constexpr int SHORT_ROWS = 6, SHORT_VECTORS = 2;
#else
constexpr int SHORT_ROWS = 4, SHORT_VECTORS = 2;
#endif
// The number of vectors of columns that M rows process at a time.
template <int M>
constexpr int SHORT_STEP = std::min(SHORT_COLUMNS / LANES<float>, M <= 2 ? 4 : SHORT_VECTORS);

// Add the products of M rows [m][ld] with C vectors of a panel over some pairs to the sums.
template <int M, int C>
INLINE void add_panel(i32v (&sum)[M][C], const int16_t* panel, int pairs, const int16_t* rows,
                      size_t ld) {
    constexpr int L = LANES<float>;
    for (int p = 0; p < pairs; ++p, panel += SHORT_COLUMNS * 2) {
        i16v w[C];
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) w[c] = *(const i16v*)(panel + c * L * 2);
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m) {
            const i16v a = pair_of(rows + m * ld + 2 * p);
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) sum[m][c] = add_pairs(sum[m][c], w[c], a);
        }
    }
}

// Multiply M rows by a panel whose sums fit into 32 bits. Each sum is multiplied by scales[column]
// * row_scales[m].
template <int M>
APART void short_products(const int16_t* panel, int pairs, const int16_t* rows, size_t ld,
                          const float* scales, const float* row_scales, float* y, size_t ldy) {
    constexpr int C = SHORT_STEP<M>, L = LANES<float>;
    for (int column = 0; column < SHORT_COLUMNS; column += C * L) {
        i32v sum[M][C] = {};
        add_panel<M, C>(sum, panel + column * 2, pairs, rows, ld);
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) {
                const int at = column + c * L;
                store(y + m * ldy + at, __builtin_convertvector(sum[m][c], f32v) *
                                            (load(scales + at) * row_scales[m]));
            }
    }
}

// Multiply M rows by a panel of any depth, in float32. Each sum is multiplied by row_scales[m].
// Sums over SHORT_BLOCK pairs fit into 32 bits. The total is exact, because their upper and lower
// 16 bits are added separately.
constexpr int SHORT_BLOCK = 32;
template <int M>
APART void deep_products(const int16_t* panel, int pairs, const int16_t* rows, size_t ld,
                         const float* row_scales, float* y, size_t ldy) {
    constexpr int C = SHORT_STEP<M>, L = LANES<float>;
    for (int column = 0; column < SHORT_COLUMNS; column += C * L) {
        i32v upper[M][C] = {}, lower[M][C] = {};
        for (int p = 0; p < pairs; p += SHORT_BLOCK) {
            i32v sum[M][C] = {};
            add_panel<M, C>(sum, panel + (size_t)p * SHORT_COLUMNS * 2 + column * 2,
                            std::min(SHORT_BLOCK, pairs - p), rows + 2 * p, ld);
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
                for (int c = 0; c < C; ++c) {
                    upper[m][c] += sum[m][c] >> 16;
                    lower[m][c] += sum[m][c] & 0xffff;
                }
        }
        for (int m = 0; m < M; ++m)
            for (int c = 0; c < C; ++c)
                for (int i = 0; i < L; ++i) {
                    const float whole =
                        (float)((double)upper[m][c][i] * 65536.0 + (double)lower[m][c][i]);
                    y[m * ldy + column + c * L + i] = whole * row_scales[m];
                }
    }
}

// Call f(constant, first row) for up to SHORT_ROWS rows at a time, with their number as a constant.
template <class F> INLINE void by_rows(int rows, F&& f) {
    const int tiles = (rows + SHORT_ROWS - 1) / SHORT_ROWS;
    for (int t = 0, m = 0; t < tiles; ++t) {
        const int here = rows / tiles + (t < rows % tiles);
        switch (here) {
            case 1:
                f(std::integral_constant<int, 1>(), m);
                break;
            case 2:
                f(std::integral_constant<int, 2>(), m);
                break;
            case 3:
                f(std::integral_constant<int, 3>(), m);
                break;
            case 4:
                f(std::integral_constant<int, 4>(), m);
                break;
#if defined(__AVX512F__)
            case 5:
                f(std::integral_constant<int, 5>(), m);
                break;
            case 6:
                f(std::integral_constant<int, 6>(), m);
                break;
#endif
        }
        m += here;
    }
}

}  // namespace hsd
