// Attention of models in groups (groups.hpp): keys and queries of 12 bits, weights of 14 bits times
// values of 12 bits, each with a scale per place.
//
// All sums are exact integers, in any order: nothing depends on where in the cache a token of a
// draft tree is.
#pragma once
#include "attention.hpp"
#include "shorts.hpp"

namespace hsd {

// Keys [place / 32][dim / 2][32][2], values [dim / 32][place / 2][32][2], and the scales of their
// places.
struct ShortHead {
    static constexpr int MOST = 12;  // queries at a time
    static constexpr float MOST_KEY = 2047, MOST_WEIGHT = 16383;
    // Sums over a head fit into 32 bits: 2047 * 2047 * 512; so do 16383 * 2047 * 2 * SHORT_BLOCK.
    static constexpr int LARGEST_DIM = 512;

    int16_t *keys, *values;
    float *key_scales, *value_scales;
    int dim, capacity;

    static size_t key_numbers(int dim, int capacity) { return round_up(dim, 2) * capacity; }
    static size_t value_numbers(int dim, int capacity) {
        return round_up(dim, SHORT_COLUMNS) * capacity;
    }
    // The scales have room for a vector behind them.
    static size_t bytes(int dim, int capacity) {
        return (key_numbers(dim, capacity) + value_numbers(dim, capacity)) * sizeof(int16_t) +
               2 * (capacity + 64) * sizeof(float);
    }

    ShortHead(char* memory, int dim, int capacity) : dim(dim), capacity(capacity) {
        keys = (int16_t*)memory;
        values = keys + key_numbers(dim, capacity);
        key_scales = (float*)(values + value_numbers(dim, capacity));
        value_scales = key_scales + capacity + 64;
    }
    int pairs() const { return (dim + 1) / 2; }
    int16_t* key(int place) const {
        return keys +
               ((size_t)place / SHORT_COLUMNS * pairs() * SHORT_COLUMNS + place % SHORT_COLUMNS) *
                   2;
    }
    int16_t* value(int place, int d) const {
        return values +
               (((size_t)d / SHORT_COLUMNS * capacity + place) / 2 * SHORT_COLUMNS +
                d % SHORT_COLUMNS) *
                   2 +
               place % 2;
    }

    void put(int place, const float* k, const float* v, Scratch<int8_t>& room) {
        int16_t* q = (int16_t*)room.at_least(round_up(dim, 2) * sizeof(int16_t));
        key_scales[place] = quantise_shorts(k, dim, MOST_KEY, q, 2);
        int16_t* to = key(place);
        for (int i = 0; i < pairs(); ++i) std::memcpy(to + i * SHORT_COLUMNS * 2, q + 2 * i, 4);
        value_scales[place] = quantise_shorts(v, dim, MOST_KEY, q, 2);
        for (int d = 0; d < dim; ++d) *value(place, d) = q[d];
    }
    void move(int from, int to) {
        for (int i = 0; i < pairs(); ++i)
            std::memcpy(key(to) + i * SHORT_COLUMNS * 2, key(from) + i * SHORT_COLUMNS * 2, 4);
        for (int d = 0; d < dim; ++d) *value(to, d) = *value(from, d);
        key_scales[to] = key_scales[from];
        value_scales[to] = value_scales[from];
    }
    void take(const ShortHead& old, int filled) {
        std::copy_n(old.keys, round_up(filled, SHORT_COLUMNS) * pairs() * 2, keys);
        for (int d = 0; d < dim; d += SHORT_COLUMNS)
            std::copy_n(old.value(0, d), round_up(filled, 2) * SHORT_COLUMNS, value(0, d));
        std::copy_n(old.key_scales, filled, key_scales);
        std::copy_n(old.value_scales, filled, value_scales);
    }
};

struct ShortScratch {
    Scratch<int16_t> queries, weights;
    Scratch<float> scores, scaled, places;
};

// Turn n scores into weights of 14 bits: q = round(w * (16383 / largest)), ties to even, of w =
// e^(score - largest score) times the scale of its place. Returns the sum of the e^...; the scale
// of q goes to `scale`.
inline float weigh_shorts(float* s, const float* place_scales, int n, int16_t* q, float* scale) {
    constexpr int L = LANES<float>;
    f32v top{};
    const float total = soften(s, n, [&](int i, f32v e) {
        const f32v w = e * load(place_scales + i);
        store(s + i, w);
        top = choose<float>(w > top, w, top);
    });
    const float largest = largest_lane<float>(top);
    const float by = largest >= SMALLEST ? ShortHead::MOST_WEIGHT / largest : 0.0f;
    *scale = largest >= SMALLEST ? largest / ShortHead::MOST_WEIGHT : 0.0f;
    for (int i = 0; i < n; i += L)
        *(i16half*)(q + i) = __builtin_convertvector(rounded(load(s + i) * by), i16half);
    return total;
}

// At most ShortHead::MOST queries.
inline void attend(const Query<float>* queries, int n, float scale, const ShortHead& c,
                   ShortScratch& scratch) {
    int end = 0;
    for (int m = 0; m < n; ++m) end = std::max(end, queries[m].view.end());
    const size_t depth = c.pairs() * 2, wide = round_up(end, SHORT_COLUMNS), ld = wide + 64;
    float* scores = scratch.scores.at_least(n * ld);
    float* scaled = scratch.scaled.at_least(c.dim);
    int16_t* q = scratch.queries.at_least(n * depth);
    float q_scales[ShortHead::MOST], parts[ShortHead::MOST], totals[ShortHead::MOST];
    for (int m = 0; m < n; ++m) {
        for (int d = 0; d < c.dim; ++d) scaled[d] = queries[m].q[d] * scale;
        q_scales[m] = quantise_shorts(scaled, c.dim, ShortHead::MOST_KEY, q + m * depth, 2);
    }
    for (size_t place = 0; place < wide; place += SHORT_COLUMNS)
        by_rows(n, [&](auto count, int m) {
            short_products<decltype(count)::value>(c.key((int)place), c.pairs(), q + m * depth,
                                                   depth, c.key_scales + place, q_scales + m,
                                                   scores + m * ld + place, ld);
        });

    int16_t* weights = scratch.weights.at_least(n * ld);
    for (int m = 0; m < n; ++m) {
        const View& v = queries[m].view;
        float* s = scores + m * ld;  // s[place]
        int16_t* w = weights + m * ld;
        const float* place_scales = c.value_scales;
        if (v.more) {
            float* listed = scratch.places.at_least(v.length() + 64);
            std::copy_n(c.value_scales, v.run, listed);
            for (int t = 0; t < v.more; ++t) {
                listed[v.run + t] = c.value_scales[v.list[t]];
                s[v.run + t] = s[v.list[t]];
            }
            place_scales = listed;
        }
        totals[m] = weigh_shorts(s, place_scales, v.length(), w, parts + m);
        std::fill(w + v.length(), w + ld, int16_t(0));
        for (int t = v.more - 1; t >= 0;
             --t) {  // from the order of the text to the places, which are never before
            if (v.list[t] == v.run + t) continue;
            w[v.list[t]] = w[v.run + t];
            w[v.run + t] = 0;
        }
    }
    alignas(64) float sum[ShortHead::MOST * SHORT_COLUMNS];
    for (int d = 0; d < c.dim; d += SHORT_COLUMNS) {
        by_rows(n, [&](auto count, int m) {
            deep_products<decltype(count)::value>(c.value(0, d), (end + 1) / 2, weights + m * ld,
                                                  ld, parts + m, sum + m * SHORT_COLUMNS,
                                                  SHORT_COLUMNS);
        });
        for (int m = 0; m < n; ++m) {
            const float share = 1.0f / totals[m];
            for (int i = 0; i < std::min(SHORT_COLUMNS, c.dim - d); ++i)
                queries[m].out[d + i] = sum[m * SHORT_COLUMNS + i] * share;
        }
    }
}

}  // namespace hsd
