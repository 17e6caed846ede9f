// The weights of a Llama-shaped model in the order of their use, and the sessions that use them.
#pragma once
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>
#include "byte_attention.hpp"
#include "float_attention.hpp"
#include "groups.hpp"
#include "int8.hpp"
#include "interface.hpp"
#include "panels.hpp"
#include "pool.hpp"
#include "short_attention.hpp"
#include "vectors.hpp"

namespace hsd {

// The cache of a head, and the buffers for attention over it.
template <class T, class W> struct Kept {
    using Head = FloatHead<T>;
    using Scratch = FloatScratch<T>;
};
template <> struct Kept<float, i8> {
    using Head = ByteHead;
    using Scratch = ByteScratch;
};
template <> struct Kept<float, grouped> {
    using Head = ShortHead;
    using Scratch = ShortScratch;
};
template <class T, class W> using Head = typename Kept<T, W>::Head;
template <class T, class W> using HeadScratch = typename Kept<T, W>::Scratch;
// Whether matrices are integers, in which case vectors are floats.
template <class W> constexpr bool INTEGERS = std::is_same_v<W, i8> || std::is_same_v<W, grouped>;

struct Session {
    virtual ~Session() = default;
    // Logits [rows][vocab] of the last `rows` tokens.
    virtual void forward(const int32_t* tokens, int n, const int32_t* parents, int rows,
                         void* logits, const void* cos, const void* sin, int cached,
                         int threads) = 0;
    // Logits [n][vocab] of the next token of each of n other sessions of this model. The cache of
    // this session does not change.
    virtual void forward_batch(Session* const* sessions, const int32_t* tokens, int n, void* logits,
                               const void* cos, const void* sin, const int32_t* cached,
                               int threads) = 0;
    virtual void keep(int base, const int32_t* places, int n) = 0;
    // Keep the normalized input of a layer in each forward pass from now on; -1 for none.
    virtual void watch(int layer) = 0;
    virtual int width() const = 0;
    // Write the input of the watched layer for a token of the last forward pass, in 8 bits [width].
    virtual void state(int place, int8_t* numbers) const = 0;
};

struct Model {
    virtual ~Model() = default;
    // Set floats, or rows of 8-bit weights with a scale per row.
    virtual void set(int layer, int slot, const void* data, const float* scales) = 0;
    // Set panels of groups.hpp, which remain owned by the caller.
    virtual void set_panels(int layer, int slot, const void* data, int bits) = 0;
    // Disable rotary positions in a layer.
    virtual void disable_rope(int layer) = 0;
    // Set the tokens of a reduced head; the logits of all other tokens are -infinity.
    virtual void head_of(const int32_t* tokens, int n) = 0;
    virtual Session* session() const = 0;
    virtual size_t bytes() const = 0;
    virtual size_t cache_bytes() const = 0;  // of a session, per token
};

// Create a model of a shape. Each number type is a specialisation in a file of its own, so that
// they are compiled in parallel.
template <class T, class W> Model* new_model(const ModelShape& shape);

// The number of columns in a panel.
template <class T, class W>
constexpr int WIDE = std::is_same_v<W, grouped> ? GROUP_COLUMNS
                     : std::is_same_v<W, i8>    ? COLUMNS
                                                : PANEL<T>;

template <class T, class W> struct Matrix {
    Memory memory;
    int depth = 0, columns = 0;
    std::vector<T> scale;  // of 8-bit columns, as long as the panels are wide
    int panels() const { return (columns + WIDE<T, W> - 1) / WIDE<T, W>; }
    size_t bytes() const { return memory.bytes(); }
    // The first column of a panel in a row of the result, and its number of columns.
    int column(int p) const { return p * WIDE<T, W>; }
    int width(int p) const { return std::min(WIDE<T, W>, columns - column(p)); }
    const W* panel(int p) const { return memory.template as<W>() + (size_t)p * depth * WIDE<T, W>; }
    void shape(int k, int n) {
        depth = std::is_same_v<W, i8> ? (int)round_up(k, 4) : k;
        columns = n;
        memory = Memory((size_t)panels() * depth * WIDE<T, W> * sizeof(W));
        if (WEIGHT_OFFSET && std::is_same_v<W, i8>)
            std::memset(memory.template as<char>(), WEIGHT_OFFSET, memory.bytes());
    }
};

// A panel of groups.hpp: its address, its bits, and its columns in the result.
struct GroupPanel {
    const uint8_t* data = nullptr;
    int bits = 8, column = 0, width = 0;
};

// The panels of several matrices, each with bits of its own.
template <> struct Matrix<float, grouped> {
    int depth = 0;
    std::vector<GroupPanel> list;
    int panels() const { return (int)list.size(); }
    int column(int p) const { return list[p].column; }
    int width(int p) const { return list[p].width; }
    size_t bytes() const {
        size_t sum = 0;
        for (auto& panel : list) sum += groups_of(depth) * block_bytes(panel.bits);
        return sum;
    }
    void shape(int k, int) { depth = k; }
};
// Panels of groups that so many columns fill.
inline size_t panels_of(size_t columns) { return (columns + GROUP_COLUMNS - 1) / GROUP_COLUMNS; }

// The part of a matrix that one matrix of a file fills: its rows are columns there.
template <class T, class W> struct Slice {
    Matrix<T, W>* matrix = nullptr;
    size_t depth = 0, columns = 0;
    size_t column = 0;         // where the first of its columns is in the result
    size_t panels_before = 0;  // the panels of groups of that part of the result
    size_t first = 0;          // where matrices take turns: its first panel,
    size_t stride = 1;         // and the distance to the next one
};

// Pack rows of weights; 8-bit ones have a scale each.
template <class T, class W>
void pack_into(const Slice<T, W>& part, const void* data, const float*) {
    pack<T, W>(part.matrix->memory.template as<W>(), (const W*)data, part.columns, part.depth,
               part.column, part.first, part.stride);
}
inline void pack_into(const Slice<float, i8>& part, const void* data, const float* scales) {
    Matrix<float, i8>& matrix = *part.matrix;
    pack_bytes(matrix.memory.as<int8_t>(), (const int8_t*)data, part.columns, part.depth,
               part.column, part.first, part.stride);
    if (!scales) return;
    constexpr int wide = WIDE<float, i8>;
    matrix.scale.resize((size_t)matrix.panels() * wide);
    for (size_t i = 0, c = part.column; i < part.columns; ++i, ++c)
        matrix.scale[(part.first + c / wide * part.stride) * wide + c % wide] = scales[i];
}
inline void pack_into(const Slice<float, grouped>&, const void*, const float*) {
    raise(std::invalid_argument("a matrix of groups is set by its panels"));
}

// Have the panels of groups at their places of the matrix; only such a matrix has them.
template <class T, class W> void take_panels(const Slice<T, W>&, const void*, int) {
    raise(std::invalid_argument("no such slot of panels"));
}
inline void take_panels(const Slice<float, grouped>& part, const void* data, int bits) {
    std::vector<GroupPanel>& list = part.matrix->list;
    const size_t size = groups_of(part.matrix->depth) * block_bytes(bits);
    const size_t count = panels_of(part.columns), first = part.panels_before + part.first;
    list.resize(std::max(list.size(), first + (count - 1) * part.stride + 1));
    for (size_t p = 0; p < count; ++p) {
        const int at = (int)p * GROUP_COLUMNS, column = (int)part.column + at;
        const int width = std::min(GROUP_COLUMNS, (int)part.columns - at);
        list[first + p * part.stride] = {(const uint8_t*)data + p * size, bits, column, width};
    }
}

template <class T, class W> struct Layer {
    Matrix<T, W> qkv, o, mlp, down;  // mlp: panels of gate and up in turns
    std::vector<T> input_norm, post_norm;
    std::vector<T> q_norm, k_norm;  // empty: not normalized
    std::vector<T> bias;            // of queries, keys and values; empty: none
    bool has_rope = true;           // whether queries and keys have rotary positions
};

template <class T, class W> struct Weights : Model {
    using Rest = std::conditional_t<INTEGERS<W>, T, W>;  // what is not a matrix
    using Element = std::conditional_t<std::is_same_v<W, i8>, int8_t, W>;
    ModelShape shape;
    std::vector<Layer<T, W>> layers;
    Matrix<T, W> head;
    std::vector<T> final_norm;
    const Element* embedding = nullptr;  // [vocab][width], the caller's own
    const float* embedding_scales = nullptr;
    GroupPanel embedding_panels;
    std::vector<int32_t> head_tokens;  // of a reduced head; empty: the whole vocabulary

    explicit Weights(const ModelShape& s) : shape(s), layers(s.layers) {
        if (std::is_same_v<W, grouped> && s.head_dim > ShortHead::MAX_DIM)
            raise(std::invalid_argument("a head has more than 512 numbers"));
        const int q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim,
                  wide = (int)round_up(s.inner, WIDE<T, W>);
        for (auto& layer : layers) {
            layer.qkv.shape(s.width, q + 2 * kv);
            layer.o.shape(q, s.width);
            layer.mlp.shape(s.width, 2 * wide);
            layer.down.shape(s.inner, s.width);
        }
        head.shape(s.width, s.head_rows);
    }

    // The slots before EMBEDDING belong to a layer, the others to the model (at: -1).
    static void check_place(int at, int slot) {
        if (at < 0 && slot < EMBEDDING) raise(std::invalid_argument("this slot is of a layer"));
    }

    // Where the weights of a slot are; no matrix: the slot is of a vector or of the embedding.
    Slice<T, W> slice_of(Layer<T, W>* layer, int slot) {
        const ModelShape& s = shape;
        const size_t q = (size_t)s.heads * s.head_dim, kv = (size_t)s.kv_heads * s.head_dim;
        const size_t q_panels = panels_of(q), kv_panels = panels_of(kv), width = s.width;
        const size_t inner = s.inner;
        switch (slot) {
            case Q:
                return {&layer->qkv, width, q};
            case K:
                return {&layer->qkv, width, kv, q, q_panels};
            case V:
                return {&layer->qkv, width, kv, q + kv, q_panels + kv_panels};
            case O:
                return {&layer->o, q, width};
            case GATE:
                return {&layer->mlp, width, inner, 0, 0, 0, 2};
            case UP:
                return {&layer->mlp, width, inner, 0, 0, 1, 2};
            case DOWN:
                return {&layer->down, inner, width};
            case HEAD:
                return {&head, width, (size_t)s.head_rows};
        }
        return {};
    }

    void set(int at, int slot, const void* data, const float* scales) override {
        check_place(at, slot);
        const Rest* w = (const Rest*)data;
        const ModelShape& s = shape;
        const size_t q = (size_t)s.heads * s.head_dim, kv = (size_t)s.kv_heads * s.head_dim;
        Layer<T, W>* layer = at < 0 ? nullptr : &layers.at(at);
        const Slice<T, W> part = slice_of(layer, slot);
        if (part.matrix) return pack_into(part, data, scales);
        auto bias = [&](size_t first, size_t n) {
            layer->bias.resize(q + 2 * kv);
            for (size_t i = 0; i < n; ++i) layer->bias[first + i] = widen(w[i]);
        };
        auto copy = [&](std::vector<T>& to, size_t n) {
            to.resize(n);
            for (size_t i = 0; i < n; ++i) to[i] = widen(w[i]);
        };
        switch (slot) {
            case INPUT_NORM:
                return copy(layer->input_norm, s.width);
            case POST_NORM:
                return copy(layer->post_norm, s.width);
            case Q_NORM:
                return copy(layer->q_norm, s.head_dim);
            case K_NORM:
                return copy(layer->k_norm, s.head_dim);
            case Q_BIAS:
                return bias(0, q);
            case K_BIAS:
                return bias(q, kv);
            case V_BIAS:
                return bias(q + kv, kv);
            case EMBEDDING:
                embedding = (const Element*)data, embedding_scales = scales;
                return;
            case FINAL_NORM:
                return copy(final_norm, s.width);
        }
        raise(std::invalid_argument("no such slot"));
    }

    void set_panels(int at, int slot, const void* data, int bits) override {
        check_place(at, slot);
        if (bits != 4 && bits != 8) raise(std::invalid_argument("weights have 4 or 8 bits"));
        if (slot == EMBEDDING) {
            embedding_panels = {(const uint8_t*)data, bits, 0, shape.vocab};
            return;
        }
        const Slice<T, W> part = slice_of(at < 0 ? nullptr : &layers.at(at), slot);
        if (part.matrix) return take_panels(part, data, bits);
        raise(std::invalid_argument("no such slot of panels"));
    }
    void disable_rope(int layer) override { layers.at(layer).has_rope = false; }
    void head_of(const int32_t* tokens, int n) override {
        if (n != shape.head_rows)
            raise(std::invalid_argument("a reduced head has a token for each row"));
        for (int i = 0; i < n; ++i)
            if (tokens[i] < 0 || tokens[i] >= shape.vocab)
                raise(std::invalid_argument("a token of the head is outside of the vocabulary"));
        head_tokens.assign(tokens, tokens + n);
    }
    Session* session() const override;
    size_t cache_bytes() const override {
        return Head<T, W>::bytes(shape.head_dim, 4096) / 4096 * shape.layers * shape.kv_heads;
    }
    size_t bytes() const override {
        size_t sum = head.bytes();
        for (auto& l : layers) sum += l.qkv.bytes() + l.o.bytes() + l.mlp.bytes() + l.down.bytes();
        return sum;
    }
};

}  // namespace hsd
