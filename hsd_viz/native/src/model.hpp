// Weights of a Llama-shaped model in the order they are read, and the sequences that use them.
#pragma once
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>
#include "attention.hpp"
#include "bytes.hpp"
#include "panels.hpp"
#include "pool.hpp"
#include "vectors.hpp"

namespace hsd {

// The cache of a head, and the room that attention over it needs.
template <class T, class W> using Head = std::conditional_t<std::is_same_v<W, i8>, ByteHead, FloatHead<T>>;
template <class T, class W> using HeadScratch = std::conditional_t<std::is_same_v<W, i8>, ByteScratch, FloatScratch<T>>;

enum Slot { Q, K, V, O, GATE, UP, DOWN, INPUT_NORM, POST_NORM, Q_NORM, K_NORM, EMBEDDING, FINAL_NORM, HEAD };

struct Shape {
    int32_t type, layers, width, heads, kv_heads, head_dim, inner, vocab;
    double epsilon, scale;
};

struct Session {
    virtual ~Session() = default;
    // Logits [rows][vocab] of the last `rows` tokens.
    virtual void forward(const int32_t* tokens, int n, const int32_t* parents, int rows, void* logits, const void* cos, const void* sin,
                         int cached, int threads) = 0;
    virtual void keep(int base, const int32_t* places, int n) = 0;
};

struct Model {
    virtual ~Model() = default;
    // Rows of 8-bit weights have a scale each.
    virtual void set(int layer, int slot, const void* data, const float* scales) = 0;
    virtual Session* session() const = 0;
    virtual size_t bytes() const = 0;
    virtual size_t cache_bytes() const = 0;  // of a session, per token
};

// A model of this shape: each type is a specialisation in one of the files that are compiled side by side.
template <class T, class W> Model* new_model(const Shape& shape);

// Columns of a panel.
template <class T, class W> constexpr int WIDE = std::is_same_v<W, i8> ? COLUMNS : PANEL<T>;

template <class T, class W> struct Matrix {
    Memory memory;
    int depth = 0, columns = 0;
    std::vector<T> scale;  // of 8-bit columns, as long as the panels are wide
    int panels() const { return (columns + WIDE<T, W> - 1) / WIDE<T, W>; }
    const W* panel(int p) const { return memory.template as<W>() + (size_t)p * depth * WIDE<T, W>; }
    void shape(int k, int n) {
        depth = std::is_same_v<W, i8> ? (int)round_up(k, 4) : k;
        columns = n;
        memory = Memory((size_t)panels() * depth * WIDE<T, W> * sizeof(W));
        if (WEIGHT_OFFSET && std::is_same_v<W, i8>) std::memset(memory.template as<char>(), WEIGHT_OFFSET, memory.bytes());
    }
};

template <class T, class W> struct Layer {
    Matrix<T, W> qkv, o, mlp, down;  // mlp: panels of gate and up in turns
    std::vector<T> input_norm, post_norm, q_norm, k_norm;
};

template <class T, class W> struct Weights : Model {
    using Rest = std::conditional_t<std::is_same_v<W, i8>, T, W>;  // what is not a matrix
    using Element = std::conditional_t<std::is_same_v<W, i8>, int8_t, W>;
    Shape shape;
    std::vector<Layer<T, W>> layers;
    Matrix<T, W> head;
    std::vector<T> final_norm;
    const Element* embedding = nullptr;  // [vocab][width], the caller's own
    const float* embedding_scales = nullptr;

    explicit Weights(const Shape& s) : shape(s), layers(s.layers) {
        const int q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim, wide = (int)round_up(s.inner, WIDE<T, W>);
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
        auto fill = [&](Matrix<T, W>& m, size_t depth, size_t n, size_t column, size_t first, size_t stride) {
            if constexpr (std::is_same_v<W, i8>)
                pack_bytes(m.memory.template as<int8_t>(), (const int8_t*)data, n, depth, column, first, stride);
            else
                pack<T, W>(m.memory.template as<W>(), (const W*)data, n, depth, column, first, stride);
            if (!scales) return;
            m.scale.resize((size_t)m.panels() * WIDE<T, W>);
            for (size_t i = 0, c = column; i < n; ++i, ++c) m.scale[(first + c / WIDE<T, W> * stride) * WIDE<T, W> + c % WIDE<T, W>] = scales[i];
        };
        auto copy = [&](std::vector<T>& to, size_t n) {
            to.resize(n);
            for (size_t i = 0; i < n; ++i) to[i] = widen(w[i]);
        };
        switch (slot) {
            case Q: return fill(layer->qkv, s.width, q, 0, 0, 1);
            case K: return fill(layer->qkv, s.width, kv, q, 0, 1);
            case V: return fill(layer->qkv, s.width, kv, q + kv, 0, 1);
            case O: return fill(layer->o, q, s.width, 0, 0, 1);
            case GATE: return fill(layer->mlp, s.width, s.inner, 0, 0, 2);
            case UP: return fill(layer->mlp, s.width, s.inner, 0, 1, 2);
            case DOWN: return fill(layer->down, s.inner, s.width, 0, 0, 1);
            case INPUT_NORM: return copy(layer->input_norm, s.width);
            case POST_NORM: return copy(layer->post_norm, s.width);
            case Q_NORM: return copy(layer->q_norm, s.head_dim);
            case K_NORM: return copy(layer->k_norm, s.head_dim);
            case EMBEDDING: embedding = (const Element*)data, embedding_scales = scales; return;
            case FINAL_NORM: return copy(final_norm, s.width);
            case HEAD: return fill(head, s.width, s.vocab, 0, 0, 1);
        }
        raise(std::invalid_argument("no such slot"));
    }
    Session* session() const override;
    size_t cache_bytes() const override { return Head<T, W>::bytes(shape.head_dim, 4096) / 4096 * shape.layers * shape.kv_heads; }
    size_t bytes() const override {
        size_t sum = head.memory.bytes();
        for (auto& l : layers) sum += l.qkv.memory.bytes() + l.o.memory.bytes() + l.mlp.memory.bytes() + l.down.memory.bytes();
        return sum;
    }
};

}  // namespace hsd
