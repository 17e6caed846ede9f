// Attention of models with 8-bit weights: keys and values of 8 bits, queries of 8 bits times keys,
// then weights of 14 bits, in two halves of 7, times values. The products are those of int8.hpp.
//
// All sums are exact integers, so that results do not depend on the cache positions of the tokens
// of a draft tree.
#pragma once
#include "attention.hpp"
#include "int8.hpp"

namespace hsd {

// Keys and values as panels of int8.hpp: keys [place / 64][dim / 4][64][4], values [dim /
// 64][place / 4][64][4], each with the scales of its places.
struct ByteHead {
    static constexpr int MAX_QUERIES = 16;  // queries at a time: each has two rows of weights
    static constexpr float MAX_WEIGHT = 16383;

    int8_t *keys, *values;
    float *key_scales, *value_scales;
    int dim, capacity;

    static size_t key_bytes(int dim, int capacity) { return round_up(dim, 4) * capacity; }
    static size_t value_bytes(int dim, int capacity) { return round_up(dim, COLUMNS) * capacity; }
    // The scales have space for another vector at their end.
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
        quantize(k, dim, q, key_scales + place, &sum);
        for (int i = 0; i < quads() * 4; ++i) q[i] = (int8_t)((uint8_t)q[i] + WEIGHT_OFFSET);
        int8_t* to = key(place);
        for (int i = 0; i < quads(); ++i) std::memcpy(to + i * COLUMNS * 4, q + i * 4, 4);
        quantize(v, dim, q, value_scales + place, &sum);
        // Write a byte of each of COLUMNS groups of four.
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
    Scratch<int32_t> query_sums, weight_sums;
    Scratch<float> scaled, query_scales, scores, weight_scales, ordered, ones;
};

// Quantize the queries of a head to rows of 8-bit numbers.
inline ByteRows byte_queries(const Query<float>* queries, int n, float scale, const ByteHead& head,
                             ByteScratch& scratch) {
    const size_t depth = head.quads() * 4;
    const ByteRows rows{scratch.queries.at_least(n * depth), depth,
                        scratch.query_scales.at_least(n), scratch.query_sums.at_least(n)};
    float* scaled = scratch.scaled.at_least(head.dim);
    for (int m = 0; m < n; ++m) {
        for (int d = 0; d < head.dim; ++d) scaled[d] = queries[m].q[d] * scale;
        quantize(scaled, head.dim, rows.numbers + m * depth, rows.scales + m, rows.sums + m);
    }
    return rows;
}

// Weights of 14 bits, q = round(w * (16383 / largest w)), ties to even, as rows of numbers of 7
// bits: the upper halves `high`, the lower halves `low`, with the sums of both.
inline void split_weights(const float* weights, int n, float largest, int8_t* high, int8_t* low,
                          int32_t* high_sum, int32_t* low_sum) {
    constexpr int L = LANES<float>;
    const float by = largest >= MIN_MAGNITUDE ? ByteHead::MAX_WEIGHT / largest : 0.0f;
    i32v high_sums{}, low_sums{};
    for (int i = 0; i < n; i += L) {
        const i32v q = rounded(load(weights + i) * by);
        const i32v upper = q >> 7, lower = q & 127;
        high_sums += upper;
        low_sums += lower;
        const i8v high_bytes = __builtin_convertvector(upper, i8v);
        const i8v low_bytes = __builtin_convertvector(lower, i8v);
        std::memcpy(high + i, &high_bytes, L);
        std::memcpy(low + i, &low_bytes, L);
    }
    *high_sum = *low_sum = 0;
    for (int k = 0; k < L; ++k) {
        *high_sum += high_sums[k];
        *low_sum += low_sums[k];
    }
}

// Convert the scores of a query to its two rows of weights, both by cache position. Sets their
// scale, and returns the sum of the e[t].
inline float byte_weights(const View& view, float* scores, const ByteHead& head,
                          const ByteRows& weights, int row, float* scale, Scratch<float>& room) {
    int8_t* high = weights.numbers + row * weights.ld;
    int8_t* low = high + weights.ld;
    std::fill_n(high, 2 * weights.ld, int8_t(0));
    to_text_order(view, scores);
    const float* scales = scales_in_text_order(view, head.value_scales, room);
    float largest;
    const float total = weigh_scaled(scores, scales, view.length(), &largest);
    *scale = largest >= MIN_MAGNITUDE ? largest / ByteHead::MAX_WEIGHT : 0.0f;
    split_weights(scores, view.length(), largest, high, low, weights.sums + row,
                  weights.sums + row + 1);
    to_cache_order(view, high);
    to_cache_order(view, low);
    return total;
}

// Multiply values by quantized weights. Query m has the rows 2m and 2m + 1 of the weights, with the
// upper and the lower seven bits, and the scale scales[m]. The weights before quantization sum to
// totals[m].
inline void blend_bytes(const Query<float>* queries, int n, const ByteHead& head, int end,
                        const ByteRows& weights, const float* scales, const float* totals,
                        const float* ones) {
    alignas(64) float sums[2 * ByteHead::MAX_QUERIES * COLUMNS];
    const int quads = (end + 3) / 4;
    for (int d = 0; d < head.dim; d += COLUMNS) {
        multiply_bytes(head.value(0, d), ones, quads, weights, 0, 2 * n, sums, COLUMNS);
        const int columns = std::min(COLUMNS, head.dim - d);
        for (int m = 0; m < n; ++m) {
            const float* high = sums + 2 * m * COLUMNS;
            const float* low = high + COLUMNS;
            const float low_scale = scales[m], high_scale = low_scale * 128.0f;
            const float share = 1.0f / totals[m];
            float* out = queries[m].out + d;
            for (int i = 0; i < columns; ++i)
                out[i] = (high[i] * high_scale + low[i] * low_scale) * share;
        }
    }
}

// At most ByteHead::MAX_QUERIES queries.
inline void attend(const Query<float>* queries, int n, float scale, const ByteHead& head,
                   ByteScratch& scratch) {
    const int end = end_of(queries, n);
    const int whole = (int)round_up(end, COLUMNS);
    const size_t ld = whole + COLUMNS;  // of scores and weights: soft-max reads a vector more

    const ByteRows rows = byte_queries(queries, n, scale, head, scratch);
    float* scores = scratch.scores.at_least(n * ld);  // [n][place]
    for (int place = 0; place < whole; place += COLUMNS)
        multiply_bytes(head.key(place), head.key_scales + place, head.quads(), rows, 0, n,
                       scores + place, ld);

    // multiply_bytes() applies scales of columns and rows, but the scales of weights and values are
    // applied elsewhere.
    const int most = std::max(2 * n, COLUMNS);
    float* ones = scratch.ones.at_least(most);
    std::fill_n(ones, most, 1.0f);
    const ByteRows weights{scratch.weights.at_least(2 * n * ld), ld, ones,
                           scratch.weight_sums.at_least(2 * n)};
    float* scales = scratch.weight_scales.at_least(n);
    float totals[ByteHead::MAX_QUERIES];
    for (int m = 0; m < n; ++m)
        totals[m] = byte_weights(queries[m].view, scores + m * ld, head, weights, 2 * m, scales + m,
                                 scratch.ordered);
    blend_bytes(queries, n, head, end, weights, scales, totals, ones);
}

}  // namespace hsd
