// Vectors of the machine's width, and the functions on them that the C++ library has no vector form of.
//
// Every result of the runtime must be the same however many tokens are fed together. So sums have one fixed order, and fused
// multiply-adds are written out (fma): left to the compiler, two copies of one loop were contracted differently.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#ifdef __linux__
#include <sys/mman.h>
#endif
#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define INLINE inline __attribute__((always_inline))
#define APART __attribute__((noinline))  // large once unrolled: one copy is enough

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
// 32 vector registers hold 6 rows of 4 accumulators; 16 registers hold 3 rows of 4 or 6 rows of 2.
#if defined(__AVX512F__) || defined(__aarch64__)
#define MANY_REGISTERS 1
#else
#define MANY_REGISTERS 0
#endif

namespace hsd {

struct bf16 {
    uint16_t bits;
};
struct f16 {
    uint16_t bits;
};
struct i8 {
    int8_t value;
};

// The aligned() attribute is that of one element: any address may be loaded from.
typedef float f32v __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double f64v __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int32_t i32v __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t u32v __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int64_t i64v __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef uint16_t u16v __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));
typedef int8_t i8v __attribute__((vector_size(VECTOR_BYTES / 4), aligned(1), may_alias));

template <class T> struct Vector;
template <> struct Vector<float> {
    typedef f32v type;
    typedef i32v mask;
};
template <> struct Vector<double> {
    typedef f64v type;
    typedef i64v mask;
};
template <class T> using vec = typename Vector<T>::type;

// Elements of T in a vector.
template <class T> constexpr int LANES = VECTOR_BYTES / (int)sizeof(T);

INLINE f32v load(const float* p) { return *(const f32v*)p; }
INLINE f64v load(const double* p) { return *(const f64v*)p; }
// float16 to float32 is exact, subnormal numbers included: without the instruction the exponent is moved by a multiplication.
#if defined(__AVX512F__)
INLINE f32v load(const f16* p) { return (f32v)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }
#elif defined(__F16C__) && defined(__AVX__)
INLINE f32v load(const f16* p) { return (f32v)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }
#else
INLINE f32v load(const f16* p) {
    const u32v bits = __builtin_convertvector(*(const u16v*)p, u32v);
    const f32v finite = (f32v)((bits & 0x7fff) << 13) * 0x1p112f;
    const u32v special = (u32v)((bits & 0x7c00) == 0x7c00) & 0x7f800000;  // infinity and NaN
    return (f32v)((u32v)finite | special | (bits & 0x8000) << 16);
}
#endif
INLINE f32v load(const bf16* p) { return (f32v)(__builtin_convertvector(*(const u16v*)p, u32v) << 16); }
// Left to the compiler, the conversion went through 16-bit numbers.
#if defined(__AVX512F__)
INLINE f32v load(const i8* p) { return (f32v)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p))); }
#elif defined(__AVX2__)
INLINE f32v load(const i8* p) { return (f32v)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p))); }
#else
INLINE f32v load(const i8* p) { return __builtin_convertvector(*(const i8v*)p, f32v); }
#endif
INLINE void store(float* p, f32v v) { *(f32v*)p = v; }
INLINE void store(double* p, f64v v) { *(f64v*)p = v; }

INLINE float widen(float x) { return x; }
INLINE double widen(double x) { return x; }
INLINE float widen(f16 x) {
    f16 line[LANES<float>] = {x};
    return load(line)[0];
}
INLINE float widen(bf16 x) {
    uint32_t bits = (uint32_t)x.bits << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

// a * b + c, rounded once where the processor can, twice where it cannot: never sometimes.
#if defined(__AVX512F__)
INLINE f32v fma(f32v a, f32v b, f32v c) { return (f32v)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE f64v fma(f64v a, f64v b, f64v c) { return (f64v)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
#elif defined(__FMA__)
INLINE f32v fma(f32v a, f32v b, f32v c) { return (f32v)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE f64v fma(f64v a, f64v b, f64v c) { return (f64v)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
#elif defined(__aarch64__)
INLINE f32v fma(f32v a, f32v b, f32v c) { return (f32v)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
INLINE f64v fma(f64v a, f64v b, f64v c) { return (f64v)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b); }
#else
INLINE f32v fma(f32v a, f32v b, f32v c) { return a * b + c; }
INLINE f64v fma(f64v a, f64v b, f64v c) { return a * b + c; }
#endif
INLINE f32v all(float x) { return f32v{} + x; }
INLINE f64v all(double x) { return f64v{} + x; }

template <class T> INLINE vec<T> choose(typename Vector<T>::mask m, vec<T> a, vec<T> b) {
    typedef typename Vector<T>::mask I;
    return (vec<T>)((m & (I)a) | (~m & (I)b));
}

// e^x to about one unit in the last place: x = n ln 2 + r, a polynomial in r (the coefficients of Cephes' expf), times 2^n.
// Below -87.3 (the smallest normal result) it is 0, above 88 it stays at e^88; NaN stays NaN.
INLINE f32v exponential(f32v x) {
    const float low = -87.3f, high = 88.0f, round = 12582912.0f;  // round = 1.5 * 2^23: adding it drops the fraction
    f32v y = choose<float>((i32v)(x > high), all(high), x);
    y = choose<float>((i32v)(x < low), all(low), y);
    const f32v n = fma(y, all(1.44269504088896341f), all(round)) - round;
    f32v r = fma(n, all(-0.693359375f), y);
    r = fma(n, all(2.12194440e-4f), r);
    f32v p = fma(r, all(1.9875691500e-4f), all(1.3981999507e-3f));
    p = fma(p, r, all(8.3334519073e-3f));
    p = fma(p, r, all(4.1665795894e-2f));
    p = fma(p, r, all(1.6666665459e-1f));
    p = fma(p, r, all(5.0000001201e-1f));
    p = fma(p, r * r, r) + 1.0f;
    p = p * (f32v)((__builtin_convertvector(n, i32v) + 127) << 23);
    return choose<float>((i32v)(x < low), f32v{}, p);
}
INLINE f64v exponential(f64v x) {
    for (int i = 0; i < LANES<double>; ++i) x[i] = std::exp(x[i]);
    return x;
}

template <class T> INLINE T sum_lanes(vec<T> v) {
    T s = v[0];
    for (int i = 1; i < LANES<T>; ++i) s += v[i];
    return s;
}

constexpr size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Zeroed memory on a page border. Large pieces ask for huge pages: weights are streamed, and prefetchers stop at a page's end.
class Memory {
  public:
    Memory() = default;
    explicit Memory(size_t bytes) : bytes_(bytes) {
        const size_t page = bytes >= (1u << 21) ? 1u << 21 : 4096;
        void* p = nullptr;
        if (posix_memalign(&p, page, round_up(bytes ? bytes : 1, page))) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (page > 4096) madvise(p, round_up(bytes, page), MADV_HUGEPAGE);
#endif
        std::memset(p, 0, bytes);
        data_ = p;
    }
    Memory(Memory&& other) noexcept { swap(other); }
    Memory& operator=(Memory&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Memory() { std::free(data_); }
    template <class T> T* as() const { return (T*)data_; }
    size_t bytes() const { return bytes_; }

  private:
    void swap(Memory& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
    }
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

// Scratch of at least n elements; what it held is lost when it grows.
template <class T> class Scratch {
  public:
    T* at_least(size_t n) {
        if (memory_.bytes() < n * sizeof(T)) memory_ = Memory(n * sizeof(T));
        return memory_.template as<T>();
    }

  private:
    Memory memory_;
};

}  // namespace hsd
