// Attention of a few queries over the cache of one key-value head.
//
// What a query sees is listed by place in its text: the cached tokens, its ancestors among those
// fed, itself. Scores are put into that order before soft-max runs over them: the numbers cannot
// depend on where in the cache a token of a draft tree is, nor on what else was fed.
//
// A head with 8-bit weights (ByteHead) has 8-bit keys and values, too, and its products are those
// of int8.hpp: queries times keys, then weights of 14 bits, in two halves, times values. A head of
// floats (FloatHead) rounds products and sums one by one.
#pragma once
#include <algorithm>
#include "int8.hpp"
#include "vectors.hpp"

namespace hsd {

// What one fed token sees: `run` places of the cache from 0 on, then the places listed.
struct View {
    int run, more;
    const int* list;
    int length() const { return run + more; }
    int end() const { return more ? list[more - 1] + 1 : run; }
};

// One query of a group: where it reads, where it writes, what it sees.
template <class T> struct Query {
    const T* q;
    T* out;
    View view;
};

// Turn n scores into e^(score - largest) and give them to keep(i, vector), in order; returns their
// sum. The array has room for a vector behind.
template <class T, class F> INLINE T soften(T* s, int n, F&& keep) {
    const int whole = (int)round_up(n, LANES<T>);
    for (int i = n; i < whole; ++i) s[i] = -INFINITY;
    vec<T> top = load(s);
    for (int i = LANES<T>; i < whole; i += LANES<T>) {
        const vec<T> v = load(s + i);
        top = choose<T>((typename Vector<T>::mask)(v > top), v, top);
    }
    const T best = largest_lane<T>(top);
    LaneSum<T> sum;
    auto weigh = [&](int i) {
        const vec<T> e = exponential(load(s + i) - best);
        keep(i, e);
        return e;
    };
    int i = 0;
    for (; i + 64 <= whole; i += 64) sum.add([&](int k) { return weigh(i + k); });
    for (int v = 0; v < LaneSum<T>::VECTORS; ++v)
        if (i + v * LANES<T> < whole) sum.lanes[v] += weigh(i + v * LANES<T>);
    return sum.fold();
}

// Keys and values as panels of int8.hpp: keys [place / 64][dim / 4][64][4], values [dim /
// 64][place / 4][64][4], each with the scales of its places.
struct ByteHead {
    static constexpr int MOST = 16;  // queries at a time: each has two rows of weights

    int8_t *keys, *values;
    float *key_scales, *value_scales;
    int dim, capacity;

    static size_t key_bytes(int dim, int capacity) { return round_up(dim, 4) * capacity; }
    static size_t value_bytes(int dim, int capacity) { return round_up(dim, COLUMNS) * capacity; }
    // The scales have room for a vector behind them.
    static size_t bytes(int dim, int capacity) {
        return key_bytes(dim, capacity) + value_bytes(dim, capacity) +
               2 * (capacity + 64) * sizeof(float);
    }

    ByteHead(char* memory, int dim, int capacity) : dim(dim), capacity(capacity) {
        keys = (int8_t*)memory;
        values = keys + key_bytes(dim, capacity);
        key_scales = (float*)(values + value_bytes(dim, capacity));
        value_scales = key_scales + capacity + 64;
    }
    int quads() const { return (dim + 3) / 4; }
    int8_t* key(int place) const {
        return keys + ((size_t)place / COLUMNS * quads() * COLUMNS + place % COLUMNS) * 4;
    }
    int8_t* value(int place, int d) const {
        return values + (((size_t)d / COLUMNS * capacity + place) / 4 * COLUMNS + d % COLUMNS) * 4 +
               place % 4;
    }

    void put(int place, const float* k, const float* v, Scratch<int8_t>& room) {
        int8_t* q = room.at_least(quads() * 4);
        int32_t sum;
        quantise(k, dim, q, key_scales + place, &sum);
        for (int i = 0; i < quads() * 4; ++i) q[i] = (int8_t)((uint8_t)q[i] + WEIGHT_OFFSET);
        int8_t* to = key(place);
        for (int i = 0; i < quads(); ++i) std::memcpy(to + i * COLUMNS * 4, q + i * 4, 4);
        quantise(v, dim, q, value_scales + place, &sum);
        // One byte of each of COLUMNS fours, all of them at once.
        const int shift = place % 4 * 8;
        for (int d = 0; d < dim; d += COLUMNS) {
            uint32_t fours[COLUMNS];
            int8_t* line = value(place - place % 4, d);
            std::memcpy(fours, line, sizeof fours);
            for (int i = 0; i < std::min(COLUMNS, dim - d); ++i)
                fours[i] = (fours[i] & ~(255u << shift)) |
                           (uint32_t)(uint8_t)(q[d + i] + WEIGHT_OFFSET) << shift;
            std::memcpy(line, fours, sizeof fours);
        }
    }
    void move(int from, int to) {
        for (int i = 0; i < quads(); ++i)
            std::memcpy(key(to) + i * COLUMNS * 4, key(from) + i * COLUMNS * 4, 4);
        for (int d = 0; d < dim; ++d) *value(to, d) = *value(from, d);
        key_scales[to] = key_scales[from];
        value_scales[to] = value_scales[from];
    }
    void take(const ByteHead& old, int filled) {
        std::copy_n(old.keys, round_up(filled, COLUMNS) * quads() * 4, keys);
        for (int d = 0; d < dim; d += COLUMNS)
            std::copy_n(old.value(0, d), round_up(filled, 4) * COLUMNS, value(0, d));
        std::copy_n(old.key_scales, filled, key_scales);
        std::copy_n(old.value_scales, filled, value_scales);
    }
};

struct ByteScratch {
    Scratch<int8_t> queries, weights;
    Scratch<float> scores, scaled, scales, places;
    Scratch<int32_t> sums;
};

// Turn n scores into weights of 14 bits, the upper 7 in `high`, the lower 7 in `low`: q = round(w *
// (16383 / largest)), ties to even, of w = e^(score - largest score) times the scale of its place.
// Returns the sum of the e^...; the scale of q goes to `scale`.
inline float weigh(float* s, const float* place_scales, int n, int8_t* high, int8_t* low,
                   float* scale, int32_t* sums) {
    constexpr int L = LANES<float>;
    f32v top{};
    const float total = soften(s, n, [&](int i, f32v e) {
        const f32v w = e * load(place_scales + i);
        store(s + i, w);
        top = choose<float>(w > top, w, top);
    });
    const float largest = largest_lane<float>(top);
    const float by = largest >= SMALLEST ? 16383.0f / largest : 0.0f;
    *scale = largest >= SMALLEST ? largest / 16383.0f : 0.0f;
    i32v upper{}, lower{};
    for (int i = 0; i < n; i += L) {
        const i32v q = rounded(load(s + i) * by), h = q >> 7, l = q & 127;
        upper += h;
        lower += l;
        const i8v a = __builtin_convertvector(h, i8v), b = __builtin_convertvector(l, i8v);
        std::memcpy(high + i, &a, L);
        std::memcpy(low + i, &b, L);
    }
    sums[0] = sums[1] = 0;
    for (int k = 0; k < L; ++k) sums[0] += upper[k], sums[1] += lower[k];
    return total;
}

// At most ByteHead::MOST queries.
inline void attend(const Query<float>* queries, int n, float scale, const ByteHead& c,
                   ByteScratch& scratch) {
    const int depth = c.quads() * 4;
    int end = 0;
    for (int m = 0; m < n; ++m) end = std::max(end, queries[m].view.end());
    const int wide = (int)round_up(end, COLUMNS);
    const size_t ld = wide + COLUMNS;
    float* scores = scratch.scores.at_least(n * ld);
    float* scaled = scratch.scaled.at_least(c.dim);
    float* scales = scratch.scales.at_least(
        2 * n + std::max(2 * n, COLUMNS));  // of the queries, and of their weights; then ones
    float *ones = scales + 2 * n, *parts = scales + n, totals[ByteHead::MOST];
    std::fill_n(ones, std::max(2 * n, COLUMNS), 1.0f);
    int32_t* sums = scratch.sums.at_least(2 * n);
    const ByteRows q{scratch.queries.at_least((size_t)n * depth), (size_t)depth, scales, sums};
    for (int m = 0; m < n; ++m) {
        for (int d = 0; d < c.dim; ++d) scaled[d] = queries[m].q[d] * scale;
        quantise(scaled, c.dim, q.numbers + m * depth, scales + m, sums + m);
    }
    for (int place = 0; place < wide; place += COLUMNS)
        multiply_bytes(c.key(place), c.key_scales + place, c.quads(), q, 0, n, scores + place, ld);

    const ByteRows w{scratch.weights.at_least(2 * n * ld), ld, ones, sums};
    for (int m = 0; m < n; ++m) {
        const View& v = queries[m].view;
        float* s = scores + m * ld;  // s[place]
        int8_t* high = w.numbers + 2 * m * ld;
        std::fill_n(high, 2 * ld, int8_t(0));
        int8_t* low = high + ld;
        const float* place_scales = c.value_scales;
        if (v.more) {
            float* listed = scratch.places.at_least(v.length() + COLUMNS);
            std::copy_n(c.value_scales, v.run, listed);
            for (int t = 0; t < v.more; ++t) {
                listed[v.run + t] = c.value_scales[v.list[t]];
                s[v.run + t] = s[v.list[t]];
            }
            place_scales = listed;
        }
        totals[m] = weigh(s, place_scales, v.length(), high, low, parts + m, sums + 2 * m);
        for (int t = v.more - 1; t >= 0;
             --t) {  // from the order of the text to the places, which are never before
            if (v.list[t] == v.run + t) continue;
            high[v.list[t]] = high[v.run + t];
            low[v.list[t]] = low[v.run + t];
            high[v.run + t] = low[v.run + t] = 0;
        }
    }
    alignas(64) float sum[2 * ByteHead::MOST * COLUMNS];
    for (int d = 0; d < c.dim; d += COLUMNS) {
        multiply_bytes(c.value(0, d), ones, (end + 3) / 4, w, 0, 2 * n, sum, COLUMNS);
        for (int m = 0; m < n; ++m) {
            const float part = parts[m], upper = part * 128.0f, share = 1.0f / totals[m];
            const float *a = sum + 2 * m * COLUMNS, *b = a + COLUMNS;
            for (int i = 0; i < std::min(COLUMNS, c.dim - d); ++i)
                queries[m].out[d + i] = (a[i] * upper + b[i] * part) * share;
        }
    }
}

// Keys in blocks of LANES places, [block][dim][LANES], so that one vector holds a score of each;
// values in rows.
template <class T> struct FloatHead {
    static constexpr int MOST = 1;

    T *keys, *values;
    int dim, row;

    static size_t bytes(int dim, int capacity) {
        return capacity * (dim + round_up(dim, LANES<T>)) * sizeof(T);
    }

    FloatHead(char* memory, int dim, int capacity)
        : keys((T*)memory),
          values(keys + (size_t)capacity * dim),
          dim(dim),
          row((int)round_up(dim, LANES<T>)) {}
    T* key(int place, int d) const {
        return keys + ((size_t)(place / LANES<T>)*dim + d) * LANES<T> + place % LANES<T>;
    }
    T* value(int place) const { return values + (size_t)place * row; }

    void put(int place, const T* k, const T* v, Scratch<int8_t>&) {
        for (int d = 0; d < dim; ++d) *key(place, d) = k[d];
        std::copy_n(v, dim, value(place));
    }
    void move(int from, int to) {
        for (int d = 0; d < dim; ++d) *key(to, d) = *key(from, d);
        std::copy_n(value(from), dim, value(to));
    }
    void take(const FloatHead& old, int filled) {
        std::copy_n(old.keys, round_up(filled, LANES<T>) * dim, keys);
        std::copy_n(old.values, (size_t)filled * row, values);
    }
};

template <class T> struct FloatScratch {
    Scratch<T> query, scores;
};

// out [C vectors] = the sum over j < n, in order, of scalar(j) times the vectors at line(j, c), on
// top of what out holds if `more`.
template <class T, int C, class S, class F>
INLINE void blend(int n, S&& scalar, F&& line, T* out, bool more) {
    vec<T> sum[C];
    for (int c = 0; c < C; ++c) sum[c] = more ? load(out + c * LANES<T>) : vec<T>{};
    for (int j = 0; j < n; ++j) {
        const vec<T> a = all(scalar(j));
        for (int c = 0; c < C; ++c) sum[c] += load(line(j, c)) * a;
    }
    for (int c = 0; c < C; ++c) store(out + c * LANES<T>, sum[c]);
}
// The whole vectors of [from, to), four at a time.
template <class T, class S, class F>
void blend_all(int from, int to, int n, S&& scalar, F&& line, T* out, bool more) {
    constexpr int L = LANES<T>;
    for (; from + 4 * L <= to; from += 4 * L)
        blend<T, 4>(
            n, scalar, [&](int j, int c) { return line(j, from + c * L); }, out + from, more);
    for (; from < to; from += L)
        blend<T, 1>(n, scalar, [&](int j, int) { return line(j, from); }, out + from, more);
}

template <class T>
void attend(const Query<T>* query, int, T scale, const FloatHead<T>& c, FloatScratch<T>& scratch) {
    constexpr int L = LANES<T>;
    const View& v = query->view;
    T* q = scratch.query.at_least(c.row);
    T* s = scratch.scores.at_least(round_up(v.end(), L) + L);  // s[place]
    for (int d = 0; d < c.dim; ++d) q[d] = query->q[d] * scale;
    blend_all(
        0, v.end(), c.dim, [&](int d) { return q[d]; },
        [&](int d, int place) { return c.key(place, d); }, s, false);
    for (int t = 0; t < v.more; ++t) s[v.run + t] = s[v.list[t]];
    const T share = T(1) / soften(s, v.length(), [&](int i, vec<T> e) { store(s + i, e); });
    T* sum = q;
    blend_all(
        0, c.row, v.run, [&](int j) { return s[j]; }, [&](int j, int d) { return c.value(j) + d; },
        sum, false);
    blend_all(
        0, c.row, v.more, [&](int j) { return s[v.run + j]; },
        [&](int j, int d) { return c.value(v.list[j]) + d; }, sum, true);
    for (int d = 0; d < c.dim; ++d) query->out[d] = sum[d] * share;
}

}  // namespace hsd
