// Vectors of the machine's width, and functions on them that the C++ library does not provide.
//
// Every result of the runtime must be independent of the number of tokens that are fed together
// and, with 8-bit weights, of the machine (docs/reference/arithmetic.md). So sums have a fixed
// order. Fused multiply-adds are used only for matrices of floats, and explicitly (fma): the
// compiler contracted two copies of a loop differently.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#ifdef __linux__
#include <sys/mman.h>
#endif
#if defined(__x86_64__)
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
struct i8 {
    int8_t value;
};

// The alignment is that of an element, so that vectors can be loaded from any address.
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

// The number of elements of T in a vector.
template <class T> constexpr int LANES = VECTOR_BYTES / (int)sizeof(T);

INLINE f32v load(const float* p) { return *(const f32v*)p; }
INLINE f64v load(const double* p) { return *(const f64v*)p; }
INLINE f32v load(const bf16* p) {
    return (f32v)(__builtin_convertvector(*(const u16v*)p, u32v) << 16);
}
INLINE void store(float* p, f32v v) { *(f32v*)p = v; }
INLINE void store(double* p, f64v v) { *(f64v*)p = v; }

INLINE float widen(float x) { return x; }
INLINE double widen(double x) { return x; }
INLINE float widen(bf16 x) {
    uint32_t bits = (uint32_t)x.bits << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

// a * b + c, always rounded once if the processor supports it, else always twice.
#if defined(__AVX512F__)
INLINE f32v fma(f32v a, f32v b, f32v c) {
    return (f32v)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
INLINE f64v fma(f64v a, f64v b, f64v c) {
    return (f64v)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif defined(__FMA__)
INLINE f32v fma(f32v a, f32v b, f32v c) {
    return (f32v)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
INLINE f64v fma(f64v a, f64v b, f64v c) {
    return (f64v)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#elif defined(__aarch64__)
INLINE f32v fma(f32v a, f32v b, f32v c) {
    return (f32v)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
INLINE f64v fma(f64v a, f64v b, f64v c) {
    return (f64v)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
INLINE f32v fma(f32v a, f32v b, f32v c) { return a * b + c; }
INLINE f64v fma(f64v a, f64v b, f64v c) { return a * b + c; }
#endif
INLINE f32v all(float x) { return f32v{} + x; }
INLINE f64v all(double x) { return f64v{} + x; }

template <class T> INLINE vec<T> choose(typename Vector<T>::mask m, vec<T> a, vec<T> b) {
    return m ? a : b;
}

// e^x to about one unit in the last place, by the operations of
// hsd_viz.decoding.sampling.exponential: x = n ln 2 + r, a polynomial in r (the coefficients of
// Cephes' expf, for float64 those of the Taylor series), times 2^n. Below the smallest normal
// result it is 0.
template <class T> struct Exponential;
template <> struct Exponential<float> {
    typedef int32_t integer;
    static constexpr float low = -87.3f, high = 88.0f, whole = 12582912.0f, ln2 = 0.693359375f,
                           rest = -2.12194440e-4f;
    static constexpr int bias = 127, shift = 23;
    static constexpr float coefficients[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                             4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
};
template <> struct Exponential<double> {
    typedef int64_t integer;
    static constexpr double low = -708, high = 709, whole = 6755399441055744.0,
                            ln2 = 6.93147180369123816490e-01, rest = 1.90821492927058770002e-10;
    static constexpr int bias = 1023, shift = 52;
    static constexpr double coefficients[] = {
        1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0, 1 / 362880.0, 1 / 40320.0,
        1 / 5040.0,       1 / 720.0,       1 / 120.0,      1 / 24.0,      1 / 6.0,      1 / 2.0};
};
template <class V, class T> INLINE V exponential_of(V x) {
    typedef Exponential<T> E;
    typedef typename Vector<T>::mask I;
    V r = choose<T>((I)(x < E::low), all(E::low), x);
    r = choose<T>((I)(r > E::high), all(E::high), r);
    const V n = (r * (T)1.44269504088896341 + E::whole) - E::whole;
    r = r - n * E::ln2;
    r = r - n * E::rest;
    V p = r * E::coefficients[0];
    for (int k = 1; k < (int)(sizeof E::coefficients / sizeof(T)); ++k)
        p = (p + E::coefficients[k]) * r;
    p = (p * r + r) + (T)1;
    p = p * (V)((__builtin_convertvector(n, I) + E::bias) << E::shift);
    return choose<T>((I)(x < E::low), V{}, p);
}
INLINE f32v exponential(f32v x) { return exponential_of<f32v, float>(x); }
INLINE f64v exponential(f64v x) { return exponential_of<f64v, double>(x); }

template <class T> INLINE T largest_lane(vec<T> v) {
    T best = v[0];
    for (int i = 1; i < LANES<T>; ++i) best = v[i] > best ? v[i] : best;
    return best;
}

// Round numbers below 2^22 to the nearest integer, ties to even: adding 1.5 * 2^23 leaves the
// integer in the low bits.
INLINE i32v rounded(f32v x) { return (i32v)(x + 12582912.0f) - 0x4b400000; }

// A row whose numbers are all smaller than this is quantized to zeros.
constexpr float MIN_MAGNITUDE = 1e-30f;

// The largest magnitude of x [n].
inline float largest_of(const float* x, int n) {
    constexpr int L = LANES<float>;
    f32v top{};
    int i = 0;
    for (; i + L <= n; i += L) {
        const f32v v = (f32v)((i32v)load(x + i) & 0x7fffffff);
        top = choose<float>(v > top, v, top);
    }
    float largest = largest_lane<float>(top);
    for (; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
    return largest;
}

// A sum in 64 lanes: number i is added to lane i mod 64, in order; then the upper half of the lanes
// is added to the lower half until one is left. The same for any width of vector.
template <class T> struct LaneSum {
    static constexpr int VECTORS = 64 / LANES<T>;
    vec<T> lanes[VECTORS] = {};

    // Add 64 numbers at a time: term(i) is the vector of numbers from i on.
    template <class F> INLINE void add(F&& term) {
        for (int v = 0; v < VECTORS; ++v) lanes[v] += term(v * LANES<T>);
    }
    INLINE T fold() const {
        vec<T> halves[VECTORS];
        for (int v = 0; v < VECTORS; ++v) halves[v] = lanes[v];
        for (int half = VECTORS / 2; half; half /= 2)
            for (int v = 0; v < half; ++v) halves[v] += halves[v + half];
        T s[LANES<T>];
        store(s, halves[0]);
        for (int half = LANES<T> / 2; half; half /= 2)
            for (int i = 0; i < half; ++i) s[i] += s[i + half];
        return s[0];
    }
};

// The reason of the last failure: hsd_error().
inline thread_local char last_error[200] = "";
inline void set_error(const char* what) { std::strncpy(last_error, what, sizeof last_error - 1); }

// End the call with an error. Without exceptions (in WebAssembly) this ends the program, whose
// caller reads the reason and restarts it.
template <class E> [[noreturn]] inline void raise(const E& error) {
#ifdef __cpp_exceptions
    throw error;
#else
    set_error(std::is_same_v<E, std::bad_alloc> ? "memory" : error.what());
    std::abort();
#endif
}

constexpr size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Zeroed memory that begins at a page. Large blocks request huge pages, because weights are
// streamed and prefetchers stop at the end of a page.
class Memory {
  public:
    Memory() = default;
    explicit Memory(size_t bytes) : bytes_(bytes) {
#ifdef __wasm__
        const size_t page = 64;
#else
        const size_t page = bytes >= (1u << 21) ? 1u << 21 : 4096;
#endif
        void* p = nullptr;
#ifdef _WIN32
        p = _aligned_malloc(round_up(bytes ? bytes : 1, page), page);
        if (!p) raise(std::bad_alloc());
#else
        if (posix_memalign(&p, page, round_up(bytes ? bytes : 1, page))) raise(std::bad_alloc());
#endif
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
    ~Memory() {
#ifdef _WIN32
        _aligned_free(data_);
#else
        std::free(data_);
#endif
    }
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

// A buffer of at least n elements, whose content is lost when it grows.
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
