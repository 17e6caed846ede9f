// Attention of models in groups (groups.hpp): keys and queries of 12 bits, weights of 14 bits times
// values of 12 bits, each with a scale per place.
//
// All sums are exact integers in any order, so that results do not depend on the cache positions of
// the tokens of a draft tree.
#pragma once
#include "attention.hpp"
#include "shorts.hpp"

namespace hsd {

// Keys are [place / 32][dim / 2][32][2], values [dim / 32][place / 2][32][2]; each position has a
// scale.
struct ShortHead {
    static constexpr int MAX_QUERIES = 12;  // queries at a time
    static constexpr float MAX_KEY = 2047, MAX_WEIGHT = 16383;
    // Sums over a head fit into 32 bits: 2047 * 2047 * 512; so do 16383 * 2047 * 2 * SHORT_BLOCK.
    static constexpr int MAX_DIM = 512;

    int16_t *keys, *values;
    float *key_scales, *value_scales;
    int dim, capacity;

    static size_t key_numbers(int dim, int capacity) { return round_up(dim, 2) * capacity; }
    static size_t value_numbers(int dim, int capacity) {
        return round_up(dim, SHORT_COLUMNS) * capacity;
    }
    // The scales have space for another vector at their end.
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
        key_scales[place] = quantize_shorts(k, dim, MAX_KEY, q, 2);
        int16_t* to = key(place);
        for (int i = 0; i < pairs(); ++i) std::memcpy(to + i * SHORT_COLUMNS * 2, q + 2 * i, 4);
        value_scales[place] = quantize_shorts(v, dim, MAX_KEY, q, 2);
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
    Scratch<float> scores, scaled, ordered;
};

// Quantize the queries of a head to rows of 12-bit numbers [n][2 * pairs] with `scales`.
inline const int16_t* short_queries(const Query<float>* queries, int n, float scale,
                                    const ShortHead& head, float* scales, ShortScratch& scratch) {
    const size_t depth = head.pairs() * 2;
    int16_t* rows = scratch.queries.at_least(n * depth);
    float* scaled = scratch.scaled.at_least(head.dim);
    for (int m = 0; m < n; ++m) {
        for (int d = 0; d < head.dim; ++d) scaled[d] = queries[m].q[d] * scale;
        scales[m] = quantize_shorts(scaled, head.dim, ShortHead::MAX_KEY, rows + m * depth, 2);
    }
    return rows;
}

// Compute the scores [n][ld] of n rows of queries at the positions up to `end`, and some beyond.
inline void score_shorts(const int16_t* rows, const float* scales, int n, const ShortHead& head,
                         size_t end, float* scores, size_t ld) {
    const size_t depth = head.pairs() * 2;
    for (size_t place = 0; place < end; place += SHORT_COLUMNS)
        by_rows(n, [&](auto count, int m) {
            constexpr int M = decltype(count)::value;
            short_products<M>(head.key((int)place), head.pairs(), rows + m * depth, depth,
                              head.key_scales + place, scales + m, scores + m * ld + place, ld);
        });
}

// Convert the scores of a query to weights of 14 bits, both by cache position: q = round(w * (16383
// / largest w)), ties to even. Positions up to `room` are padded with zeros. Sets the scale of q,
// and returns the sum of the e[t].
inline float short_weights(const View& view, float* scores, const ShortHead& head, int16_t* weights,
                           size_t room, float* scale, Scratch<float>& ordered) {
    constexpr int L = LANES<float>;
    const int n = view.length();
    to_text_order(view, scores);
    const float* scales = scales_in_text_order(view, head.value_scales, ordered);
    float largest;
    const float total = weigh_scaled(scores, scales, n, &largest);
    const bool some = largest >= MIN_MAGNITUDE;
    const float by = some ? ShortHead::MAX_WEIGHT / largest : 0.0f;
    *scale = some ? largest / ShortHead::MAX_WEIGHT : 0.0f;
    for (int i = 0; i < n; i += L)
        *(i16half*)(weights + i) = __builtin_convertvector(rounded(load(scores + i) * by), i16half);
    std::fill(weights + n, weights + room, int16_t(0));
    to_cache_order(view, weights);
    return total;
}

// Multiply values by quantized weights [n][ld] with their scales. The weights before quantization
// sum to totals[m].
inline void blend_shorts(const Query<float>* queries, int n, const ShortHead& head, int end,
                         const int16_t* weights, size_t ld, const float* scales,
                         const float* totals) {
    alignas(64) float sums[ShortHead::MAX_QUERIES * SHORT_COLUMNS];
    const int pairs = (end + 1) / 2;
    for (int d = 0; d < head.dim; d += SHORT_COLUMNS) {
        by_rows(n, [&](auto count, int m) {
            constexpr int M = decltype(count)::value;
            deep_products<M>(head.value(0, d), pairs, weights + m * ld, ld, scales + m,
                             sums + m * SHORT_COLUMNS, SHORT_COLUMNS);
        });
        const int columns = std::min(SHORT_COLUMNS, head.dim - d);
        for (int m = 0; m < n; ++m) {
            const float share = 1.0f / totals[m];
            float* out = queries[m].out + d;
            for (int i = 0; i < columns; ++i) out[i] = sums[m * SHORT_COLUMNS + i] * share;
        }
    }
}

// At most ShortHead::MAX_QUERIES queries.
inline void attend(const Query<float>* queries, int n, float scale, const ShortHead& head,
                   ShortScratch& scratch) {
    const int end = end_of(queries, n);
    const size_t whole = round_up(end, SHORT_COLUMNS);
    const size_t ld = whole + 64;  // of scores and weights: soft-max reads a vector more

    float query_scales[ShortHead::MAX_QUERIES];
    const int16_t* rows = short_queries(queries, n, scale, head, query_scales, scratch);
    float* scores = scratch.scores.at_least(n * ld);  // [n][place]
    score_shorts(rows, query_scales, n, head, whole, scores, ld);

    int16_t* weights = scratch.weights.at_least(n * ld);
    float weight_scales[ShortHead::MAX_QUERIES], totals[ShortHead::MAX_QUERIES];
    for (int m = 0; m < n; ++m)
        totals[m] = short_weights(queries[m].view, scores + m * ld, head, weights + m * ld, ld,
                                  weight_scales + m, scratch.ordered);
    blend_shorts(queries, n, head, end, weights, ld, weight_scales, totals);
}

}  // namespace hsd
