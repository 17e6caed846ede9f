// Weights of a Llama-shaped model in the order they are read, and the sequences that use them.
#pragma once
#include <memory>
#include <type_traits>
#include <vector>
#include "attention.hpp"
#include "panels.hpp"
#include "pool.hpp"
#include "sample.hpp"
#include "vectors.hpp"

namespace hsd {

enum Slot { Q, K, V, O, GATE, UP, DOWN, Q_BIAS, K_BIAS, V_BIAS, O_BIAS, GATE_BIAS, UP_BIAS, DOWN_BIAS,
            INPUT_NORM, POST_NORM, Q_NORM, K_NORM, EMBEDDING, FINAL_NORM, HEAD, HEAD_BIAS };

struct Shape {
    int32_t type, layers, width, heads, kv_heads, head_dim, inner, vocab;
    double epsilon, scale;
};

// How a draft was sampled: the rows q and the uniform numbers u of its tokens, null for point masses; and room for the verifier's rows at the
// walked places, in order, or null.
struct Drafted {
    const void* q;
    const double* u;
    void* p;
    int32_t block;
};

struct Session {
    virtual ~Session() = default;
    // Logits [rows][vocab] of the last `rows` tokens.
    virtual void forward(const int32_t* tokens, int n, const int32_t* parents, int rows, void* logits, const void* cos, const void* sin,
                         int cached, int threads) = 0;
    // Verifies the draft that was fed. Point masses are walked (walk.hpp), with `chances` by depth. Into `numbers`: where sampled, the
    // probability of each node's token (only of examined nodes); with `most`, the walked rows described for their tokens, 2 + 2 * most
    // numbers each, and where sampled, what a correction was drawn from, 1 + 2 * most numbers (describe.hpp).
    // A chain that was sampled (chain.hpp): `found` is how many tokens are accepted and the verifier's own, one of them -1 where rounding
    // could decide. Into `numbers`: p, q and h of each token, the rows as above, what a correction was drawn from, and q there.
    virtual void verify(const int32_t* tokens, int n, const int32_t* parents, int rows, const void* logits, const Rule& rule,
                        const double* chances, const Drafted& drafted, int32_t* found, int most, double* numbers) = 0;
    // Decodes token after token, each with its row of probabilities (`rows`), described (`most`) and with the time it was complete (`times`,
    // the start first), where these are given. Returns how many.
    virtual int sample(const int32_t* tokens, int n, const Rule& rule, const double* chances, const int32_t* ends, int n_ends, int wanted,
                       void* rows, int32_t* ids, int most, double* numbers, int64_t* times, const void* cos, const void* sin, int cached,
                       int threads) = 0;
    virtual void keep(int base, const int32_t* places, int n) = 0;
};

struct Model {
    virtual ~Model() = default;
    // Rows of 8-bit weights have a scale each, a power of two: their products and sums are those of the scaled weights, exactly.
    virtual void set(int layer, int slot, const void* data, const float* scales) = 0;
    virtual void window(int layer, int size) = 0;
    virtual Session* session() const = 0;
    virtual size_t bytes() const = 0;
};

template <class T, class W> struct Matrix {
    Memory memory;
    int depth = 0, columns = 0;
    std::vector<T> bias, scale;  // empty, or as long as the panels are wide
    int panels() const { return (columns + PANEL<T> - 1) / PANEL<T>; }
    const W* panel(int p) const { return memory.template as<W>() + (size_t)p * depth * PANEL<T>; }
    void shape(int k, int n) {
        depth = k;
        columns = n;
        memory = Memory((size_t)panels() * k * PANEL<T> * sizeof(W));
    }
};

template <class T, class W> struct Layer {
    Matrix<T, W> qkv, o, mlp, down;  // mlp: panels of gate and up in turns
    std::vector<T> input_norm, post_norm, q_norm, k_norm;
    int window = 0;
};

template <class T, class W> struct Weights : Model {
    using Rest = std::conditional_t<std::is_same_v<W, i8>, T, W>;  // what is not a matrix
    Shape shape;
    std::vector<Layer<T, W>> layers;
    Matrix<T, W> head;
    std::vector<T> final_norm;
    const Rest* embedding = nullptr;  // [vocab][width], the caller's own

    explicit Weights(const Shape& s) : shape(s), layers(s.layers) {
        const int q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim, wide = (int)round_up(s.inner, PANEL<T>);
        for (auto& layer : layers) {
            layer.qkv.shape(s.width, q + 2 * kv);
            layer.o.shape(q, s.width);
            layer.mlp.shape(s.width, 2 * wide);
            layer.down.shape(s.inner, s.width);
        }
        head.shape(s.width, s.vocab);
    }

    void set(int at, int slot, const void* data, const float* scales) override {
        const Rest* w = (const Rest*)data;
        const Shape& s = shape;
        const size_t q = (size_t)s.heads * s.head_dim, kv = (size_t)s.kv_heads * s.head_dim;
        Layer<T, W>* layer = at < 0 ? nullptr : &layers.at(at);
        // Numbers of rows [n] of a matrix, in the order of its panels' columns.
        auto spread = [&](std::vector<T>& to, const Matrix<T, W>& m, const auto* from, size_t n, size_t column, size_t first, size_t stride) {
            to.resize((size_t)m.panels() * PANEL<T>);
            for (size_t i = 0; i < n; ++i) {
                const size_t c = column + i;
                to[(first + c / PANEL<T> * stride) * PANEL<T> + c % PANEL<T>] = widen(from[i]);
            }
        };
        auto fill = [&](Matrix<T, W>& m, size_t n, size_t column, size_t first, size_t stride) {
            pack<T, W>(m.memory.template as<W>(), (const W*)data, n, m.depth, column, first, stride);
            if (scales) spread(m.scale, m, scales, n, column, first, stride);
        };
        auto copy = [&](std::vector<T>& to, size_t n) {
            to.resize(n);
            for (size_t i = 0; i < n; ++i) to[i] = widen(w[i]);
        };
        auto bias = [&](Matrix<T, W>& m, size_t n, size_t column, size_t first, size_t stride) {
            spread(m.bias, m, w, n, column, first, stride);
        };
        switch (slot) {
            case Q: return fill(layer->qkv, q, 0, 0, 1);
            case K: return fill(layer->qkv, kv, q, 0, 1);
            case V: return fill(layer->qkv, kv, q + kv, 0, 1);
            case O: return fill(layer->o, s.width, 0, 0, 1);
            case GATE: return fill(layer->mlp, s.inner, 0, 0, 2);
            case UP: return fill(layer->mlp, s.inner, 0, 1, 2);
            case DOWN: return fill(layer->down, s.width, 0, 0, 1);
            case Q_BIAS: return bias(layer->qkv, q, 0, 0, 1);
            case K_BIAS: return bias(layer->qkv, kv, q, 0, 1);
            case V_BIAS: return bias(layer->qkv, kv, q + kv, 0, 1);
            case O_BIAS: return bias(layer->o, s.width, 0, 0, 1);
            case GATE_BIAS: return bias(layer->mlp, s.inner, 0, 0, 2);
            case UP_BIAS: return bias(layer->mlp, s.inner, 0, 1, 2);
            case DOWN_BIAS: return bias(layer->down, s.width, 0, 0, 1);
            case INPUT_NORM: return copy(layer->input_norm, s.width);
            case POST_NORM: return copy(layer->post_norm, s.width);
            case Q_NORM: return copy(layer->q_norm, s.head_dim);
            case K_NORM: return copy(layer->k_norm, s.head_dim);
            case EMBEDDING: embedding = w; return;
            case FINAL_NORM: return copy(final_norm, s.width);
            case HEAD: return fill(head, s.vocab, 0, 0, 1);
            case HEAD_BIAS: return bias(head, s.vocab, 0, 0, 1);
        }
        throw std::invalid_argument("no such slot");
    }
    void window(int at, int size) override { layers.at(at).window = size; }
    Session* session() const override;
    size_t bytes() const override {
        size_t sum = head.memory.bytes();
        for (auto& l : layers) sum += l.qkv.memory.bytes() + l.o.memory.bytes() + l.mlp.memory.bytes() + l.down.memory.bytes();
        return sum;
    }
};

}  // namespace hsd
