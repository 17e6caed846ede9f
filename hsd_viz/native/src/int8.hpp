// Linear layers in 8-bit integers: y[m][n] = float(sum over k of x[m][k] w[n][k]) * (w_scale[n] *
// x_scale[m]), the sums in int32.
//
// Integer sums are exact for k up to 65 536, so that they do not depend on the instruction set, the
// number of rows or the order of additions. Weights are stored in panels of 64 columns, [N / 64][K
// / 4][64][4]: a step reads four k of each column and multiplies them by four numbers of each row.
// Rows are processed in groups that fit into the registers. The first group loads the panel into
// the caches, and all prefetch the next panel.
#pragma once
#include <algorithm>
#include "vectors.hpp"
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

namespace hsd {

constexpr int COLUMNS = 64;

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(__wasm_simd128__)
// The instruction multiplies unsigned by signed bytes: 128 is added to stored weights, and 128
// times the sum of the row's numbers is subtracted at the end.
constexpr int WEIGHT_OFFSET = 128;
#else
constexpr int WEIGHT_OFFSET = 0;
#endif

INLINE int32_t four_of(const int8_t* x) {
    int32_t four;
    std::memcpy(&four, x, 4);
    return four;
}

// Four is the type of four numbers of a row, ready to be multiplied. A vector of WIDTH columns has
// PARTS vectors of sums of the type Sum; add() adds the products with WIDTH * 4 weights, and put()
// writes the total sums. BYTES_ROWS rows of BYTES_VECTORS vectors fit into the registers (in
// WebAssembly, fewer rows of more vectors).
#if defined(__AVX512VNNI__)
constexpr int BYTES_ROWS = 6, BYTES_VECTORS = 4, WIDTH = 16, PARTS = 1;
typedef __m512i Sum, Four;
INLINE Four four(const int8_t* x) { return _mm512_set1_epi32(four_of(x)); }
INLINE void add(Sum* sum, const int8_t* w, const Four& a) {
    *sum = _mm512_dpbusd_epi32(*sum, _mm512_loadu_si512(w), a);
}
INLINE void put(const Sum* sum, int32_t* to) { _mm512_storeu_si512(to, *sum); }
#elif defined(__AVX2__)
constexpr int BYTES_ROWS = 4, BYTES_VECTORS = 2, WIDTH = 8, PARTS = 1;
typedef __m256i Sum, Four;
INLINE Four four(const int8_t* x) { return _mm256_set1_epi32(four_of(x)); }
INLINE void add(Sum* sum, const int8_t* w, const Four& a) {
    const __m256i b = _mm256_loadu_si256((const __m256i*)w);
#ifdef __AVXVNNI__
    *sum = _mm256_dpbusd_avx_epi32(*sum, b, a);
#else
    // No number is -128, so that two products are at most 2 * 127 * 127, which fits into 16 bits.
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
INLINE void put(const Sum* sum, int32_t* to) { _mm256_storeu_si256((__m256i*)to, *sum); }
#elif defined(__ARM_FEATURE_DOTPROD)
constexpr int BYTES_ROWS = 6, BYTES_VECTORS = 4, WIDTH = 4, PARTS = 1;
typedef int32x4_t Sum;
typedef int8x16_t Four;
INLINE Four four(const int8_t* x) { return vreinterpretq_s8_s32(vdupq_n_s32(four_of(x))); }
INLINE void add(Sum* sum, const int8_t* w, const Four& a) {
    *sum = vdotq_s32(*sum, vld1q_s8(w), a);
}
INLINE void put(const Sum* sum, int32_t* to) { vst1q_s32(to, *sum); }
#elif defined(__SSE2__)
constexpr int BYTES_ROWS = 3, BYTES_VECTORS = 2, WIDTH = 4,
              PARTS = 2;  // of each column the sums of two places, twice
typedef __m128i Sum, Four;
INLINE __m128i widened(__m128i twice) { return _mm_srai_epi16(twice, 8); }
INLINE Four four(const int8_t* x) {
    const __m128i a = _mm_set1_epi32(four_of(x));
    return widened(_mm_unpacklo_epi8(a, a));
}
INLINE void add(Sum* sum, const int8_t* w, const Four& a) {
    const __m128i b = _mm_loadu_si128((const __m128i*)w);
    sum[0] = _mm_add_epi32(sum[0], _mm_madd_epi16(widened(_mm_unpacklo_epi8(b, b)), a));
    sum[1] = _mm_add_epi32(sum[1], _mm_madd_epi16(widened(_mm_unpackhi_epi8(b, b)), a));
}
INLINE void put(const Sum* sum, int32_t* to) {
    const __m128 a = _mm_castsi128_ps(sum[0]), b = _mm_castsi128_ps(sum[1]);
    const __m128i even = _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88)),
                  odd = _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd));
    _mm_storeu_si128((__m128i*)to, _mm_add_epi32(even, odd));
}
#elif defined(__wasm_simd128__)
constexpr int BYTES_ROWS = 3, BYTES_VECTORS = 8, WIDTH = 4, PARTS = 1;
typedef v128_t Sum;
// The even and the odd numbers in 16 bits each, so that no lane of the weights has to move.
struct Four {
    v128_t even, odd;
};
INLINE Four four(const int8_t* x) {
    const v128_t a = wasm_v128_load32_splat(x);
    return {wasm_i16x8_shr(wasm_i16x8_shl(a, 8), 8), wasm_i16x8_shr(a, 8)};
}
INLINE void add(Sum* sum, const int8_t* w, const Four& a) {
    const v128_t b = wasm_v128_load(w);
    const v128_t even = wasm_v128_and(b, wasm_i16x8_const_splat(255)), odd = wasm_u16x8_shr(b, 8);
    *sum = wasm_i32x4_add(
        *sum, wasm_i32x4_add(wasm_i32x4_dot_i16x8(even, a.even), wasm_i32x4_dot_i16x8(odd, a.odd)));
}
INLINE void put(const Sum* sum, int32_t* to) { wasm_v128_store(to, *sum); }
#else
constexpr int BYTES_ROWS = 3, BYTES_VECTORS = 4, WIDTH = 1, PARTS = 1;
typedef int32_t Sum;
typedef const int8_t* Four;
INLINE Four four(const int8_t* x) { return x; }
INLINE void add(Sum* sum, const int8_t* w, const Four& a) {
    for (int k = 0; k < 4; ++k) *sum += w[k] * a[k];
}
INLINE void put(const Sum* sum, int32_t* to) { *to = *sum; }
#endif

// Rows of 8-bit numbers [m][ld], each with its scale and the sum of its numbers.
struct ByteRows {
    int8_t* numbers;
    size_t ld;
    float* scales;
    int32_t* sums;
};

// Multiply M rows from `first` on by a panel of `quads` steps into y [M][ldy]. FETCH lines per step
// are prefetched.
template <int M, int FETCH>
APART void byte_rows(const int8_t* w, const float* w_scales, int quads, const ByteRows& x,
                     int first, float* y, size_t ldy, const char* ahead) {
#ifdef __wasm_simd128__
    constexpr int C = BYTES_VECTORS / M, STEP = C * WIDTH;
#else
    constexpr int C = BYTES_VECTORS, STEP = C * WIDTH;
#endif
    const int8_t* rows[M];
    for (int m = 0; m < M; ++m) rows[m] = x.numbers + (first + m) * x.ld;
    for (int column = 0; column < COLUMNS; column += STEP) {
        Sum sum[M][C * PARTS];
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (int c = 0; c < C * PARTS; ++c) sum[m][c] = Sum{};
        const int8_t* line = w + column * 4;
        for (int q = 0; q < quads; ++q, line += COLUMNS * 4) {
            if (column == 0)
                for (int i = 0; i < FETCH; ++i)
                    __builtin_prefetch(ahead + ((size_t)q * FETCH + i) * 64);
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m) {
                const Four a = four(rows[m] + 4 * q);
#pragma GCC unroll 8
                for (int c = 0; c < C; ++c) add(sum[m] + c * PARTS, line + c * WIDTH * 4, a);
            }
        }
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m) {
            alignas(64) int32_t whole[STEP];
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) put(sum[m] + c * PARTS, whole + c * WIDTH);
            const int32_t off = WEIGHT_OFFSET * x.sums[first + m];
            const float scale = x.scales[first + m];
            float* to = y + m * ldy + column;
            for (int c = 0; c < STEP; ++c)
                to[c] = (float)(whole[c] - off) * (w_scales[column + c] * scale);
        }
    }
}

template <int FETCH>
INLINE void some_byte_rows(int m, const int8_t* w, const float* scales, int quads,
                           const ByteRows& x, int first, float* y, size_t ldy, const char* ahead) {
    switch (std::min(m, BYTES_ROWS)) {
        case 1:
            return byte_rows<1, FETCH>(w, scales, quads, x, first, y, ldy, ahead);
        case 2:
            return byte_rows<2, FETCH>(w, scales, quads, x, first, y, ldy, ahead);
        case 3:
            return byte_rows<3, FETCH>(w, scales, quads, x, first, y, ldy, ahead);
#if defined(__AVX512VNNI__) || defined(__AVX2__) || defined(__ARM_FEATURE_DOTPROD)
        case 4:
            return byte_rows<4, FETCH>(w, scales, quads, x, first, y, ldy, ahead);
#endif
#if defined(__AVX512VNNI__) || defined(__ARM_FEATURE_DOTPROD)
        case 5:
            return byte_rows<5, FETCH>(w, scales, quads, x, first, y, ldy, ahead);
        case 6:
            return byte_rows<6, FETCH>(w, scales, quads, x, first, y, ldy, ahead);
#endif
    }
}

// Multiply the rows [first, first + rows) of x by a panel into y [rows][ldy].
INLINE void multiply_bytes(const int8_t* w, const float* scales, int quads, const ByteRows& x,
                           int first, int rows, float* y, size_t ldy) {
    const int groups = (rows + BYTES_ROWS - 1) / BYTES_ROWS;
    const char* next = (const char*)w + (size_t)quads * COLUMNS * 4;
    // For few rows the processor's own prefetchers suffice, and prefetch instructions cost more
    // than they gain (Zen 4: 5 % of a token).
    if (rows <= 2) return some_byte_rows<0>(rows, w, scales, quads, x, first, y, ldy, nullptr);
    if (groups == 1)
        return some_byte_rows<4>(rows, w, scales, quads, x, first, y, ldy, (const char*)w + 16384);
    for (int g = 0, m = 0; g < groups; ++g) {
        const int here = rows / groups + (g < rows % groups);
        if (g < 2)
            some_byte_rows<2>(here, w, scales, quads, x, first + m, y + m * ldy, ldy,
                              next + (size_t)g * quads * 128);
        else
            some_byte_rows<0>(here, w, scales, quads, x, first + m, y + m * ldy, ldy, nullptr);
        m += here;
    }
}

// Pack rows [n][k] of 8-bit weights as columns from `column` on of panels, as pack() of panels.hpp.
inline void pack_bytes(int8_t* panels, const int8_t* rows, size_t n, size_t k, size_t column,
                       size_t first, size_t stride) {
    const size_t quads = round_up(k, 4) / 4;
    for (size_t r = 0; r < n; ++r) {
        const size_t c = column + r, panel = first + c / COLUMNS * stride;
        int8_t* to = panels + panel * quads * COLUMNS * 4 + c % COLUMNS * 4;
        for (size_t i = 0; i < k; ++i)
            to[i / 4 * COLUMNS * 4 + i % 4] = (int8_t)((uint8_t)rows[r * k + i] + WEIGHT_OFFSET);
    }
}

// Quantize a row x [n]: q = round(x * (127 / largest)), ties to even, with the scale largest / 127.
// A row whose numbers are all below MIN_MAGNITUDE becomes zeros.
inline void quantize(const float* x, int n, int8_t* q, float* scale, int32_t* sum) {
    constexpr int L = LANES<float>;
    const float largest = largest_of(x, n);
    const bool some = largest >= MIN_MAGNITUDE;
    const float by = some ? 127.0f / largest : 0.0f;
    *scale = some ? largest / 127.0f : 0.0f;
    i32v sums{};
    int i = 0;
    for (; i + L <= n; i += L) {
        const i32v v = rounded(load(x + i) * by);
        sums += v;
        const i8v bytes = __builtin_convertvector(v, i8v);
        std::memcpy(q + i, &bytes, L);
    }
    int32_t all_of = 0;
    for (int k = 0; k < L; ++k) all_of += sums[k];
    for (; i < n; ++i) {
        all_of += q[i] = (int8_t)rounded(all(x[i] * by))[0];
    }
    for (; i % 4; ++i) q[i] = 0;
    *sum = all_of;
}

}  // namespace hsd
