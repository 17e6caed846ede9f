// The elementwise operations of a forward pass.
#pragma once
#include <algorithm>
#include <cmath>
#include "vectors.hpp"

namespace hsd {

// out = x / rms(x) * weight, in float32 for any type of model, as in transformers.
template <class T> void normalize(const T* x, const T* weight, int n, double epsilon, T* out) {
    float scale;
    if constexpr (sizeof(T) == 8) {
        double sum = 0;
        for (int i = 0; i < n; ++i) sum += (double)(float)x[i] * (double)(float)x[i];
        scale = 1.0f / std::sqrt((float)(sum / n) + (float)epsilon);
        for (int i = 0; i < n; ++i) out[i] = weight[i] * (T)((float)x[i] * scale);
    } else {
        LaneSum<T> sum;
        int i = 0;
        for (; i + 64 <= n; i += 64)
            sum.add([&](int k) { return load(x + i + k) * load(x + i + k); });
        if (i < n) {
            T rest[64] = {};
            std::copy(x + i, x + n, rest);
            sum.add([&](int k) { return load(rest + k) * load(rest + k); });
        }
        scale = 1.0f / std::sqrt(sum.fold() / (float)n + (float)epsilon);
        for (i = 0; i < n; ++i) out[i] = weight[i] * (x[i] * scale);
    }
}

// Rotate the pairs (i, i + n / 2) by the angles of a position.
template <class T>
void rotate(T* __restrict x, const T* __restrict cos, const T* __restrict sin, int n) {
    T* __restrict y = x + n / 2;
    for (int i = 0; i < n / 2; ++i) {
        const T a = x[i], b = y[i];
        x[i] = a * cos[i] - b * sin[i];
        y[i] = b * cos[i] + a * sin[i];
    }
}

// Quantize a state x [n] to 8 bits, ties to even. Its scale is dropped, because a cosine compares
// only directions.
template <class T> void quantize_state(const T* x, int n, int8_t* numbers) {
    T largest = 0;
    for (int d = 0; d < n; ++d) largest = std::max(largest, std::abs(x[d]));
    const T scale = largest > 0 ? T(127) / largest : T(0);
    for (int d = 0; d < n; ++d) numbers[d] = (int8_t)std::nearbyint(x[d] * scale);
}

}  // namespace hsd
