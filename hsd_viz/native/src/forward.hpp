// A session: the cache of a sequence, and forward passes over it.
//
//   x = embedding
//   per layer:  x += o(attention(rope(qkv(norm(x)))))
//               x += down(silu(gate(norm(x))) * up(norm(x)))
//   head(norm(x))
#pragma once
#include <limits>
#include <stdexcept>
#include "elementwise.hpp"
#include "model.hpp"
#include "products.hpp"

namespace hsd {

// The embedding of a token: x [width].
template <class T, class W> void embed(const Weights<T, W>& weights, int32_t token, T* x) {
    const int width = weights.shape.width;
    const W* row = weights.embedding + (size_t)token * width;
    for (int d = 0; d < width; ++d) x[d] = widen(row[d]);
}
// Of 8-bit numbers, with a scale for each token.
inline void embed(const Weights<float, i8>& weights, int32_t token, float* x) {
    const int width = weights.shape.width;
    const int8_t* row = weights.embedding + (size_t)token * width;
    for (int d = 0; d < width; ++d) x[d] = (float)row[d] * weights.embedding_scales[token];
}
// Column `token` of the panels, which are often those of the head.
inline void embed(const Weights<float, grouped>& weights, int32_t token, float* x) {
    const int width = weights.shape.width, bits = weights.embedding_panels.bits;
    const size_t size = block_bytes(bits);
    const size_t panel = token / GROUP_COLUMNS;
    const int column = token % GROUP_COLUMNS;
    const uint8_t* block = weights.embedding_panels.data + panel * groups_of(width) * size;
    for (int d = 0; d < width; ++d)
        x[d] = weight_in(bits, block + d / GROUP * size, column, d % GROUP);
}

template <class T, class W> class Sequence : public Session {
  public:
    explicit Sequence(const Weights<T, W>& weights) : w_(weights), s_(weights.shape) {
        caches_.resize(s_.layers);
    }

    void forward(const int32_t* tokens, int n, const int32_t* parents, int rows, void* logits,
                 const void* cos, const void* sin, int cached, int threads) override {
        Team team(threads);
        run(team, tokens, n, parents, rows, (T*)logits, (const T*)cos, (const T*)sin, cached);
    }

    void forward_batch(Session* const* sessions, const int32_t* tokens, int n, void* logits,
                       const void* cos, const void* sin, const int32_t* cached,
                       int threads) override {
        std::vector<Sequence*> sequences;
        for (int m = 0; m < n; ++m) sequences.push_back(static_cast<Sequence*>(sessions[m]));
        Team team(threads);
        run_batch(team, sequences.data(), tokens, n, (T*)logits, (const T*)cos, (const T*)sin,
                  cached);
    }

    void keep(int base, const int32_t* places, int n) override {
        for (auto& memory : caches_)
            for (int h = 0; h < s_.kv_heads; ++h)
                for (int i = 0; i < n; ++i)
                    if (places[i] != base + i) head(memory, h, capacity_).move(places[i], base + i);
    }

    void watch(int layer) override {
        if (layer >= s_.layers) raise(std::invalid_argument("there is no such layer"));
        watched_layer_ = layer;
    }
    int width() const override { return s_.width; }
    void state(int place, int8_t* numbers) const override {
        quantize_state(watched_.data() + (size_t)place * s_.width, s_.width, numbers);
    }

  private:
    // The queries, keys and values of n fed tokens, in rows of `ld` numbers. Attention is computed
    // for the rows from `first` on.
    struct Rows {
        T* data;
        size_t ld;
        int n, first;
        T* row(int m) const { return data + m * ld; }
    };

    // The cache of a layer: its key-value heads in order.
    Head<T, W> head(const Memory& memory, int h, int capacity) const {
        return {memory.as<char>() + h * Head<T, W>::bytes(s_.head_dim, capacity), s_.head_dim,
                capacity};
    }

    void reserve(int filled, int need) {
        if (need <= capacity_) return;
        int capacity = std::max(capacity_, FIRST_CAPACITY);
        while (capacity < need) capacity *= 2;
        std::vector<Memory> grown;
        for (int l = 0; l < s_.layers; ++l) {
            grown.emplace_back(Head<T, W>::bytes(s_.head_dim, capacity) * s_.kv_heads);
            for (int h = 0; filled && h < s_.kv_heads; ++h)
                head(grown[l], h, capacity).take(head(caches_[l], h, capacity_), filled);
        }
        caches_ = std::move(grown);
        capacity_ = capacity;
    }

    // Find the positions that each fed token attends to, and its position in the text.
    void build_views(const int32_t* tokens, int n, const int32_t* parents, int cached) {
        views_.resize(n);
        places_.resize(n);
        lists_.clear();
        size_t total = 0;
        for (int i = 0; i < n; ++i) {
            const int parent = parents ? parents[i] : i - 1;
            if (tokens[i] < 0 || tokens[i] >= s_.vocab)
                raise(std::invalid_argument("a token outside of the vocabulary was fed"));
            if (parent < -1 || parent >= i)
                raise(std::invalid_argument("a parent must be -1 or one of the tokens before"));
            View v = parent < 0 ? View{cached, 0, nullptr} : views_[parent];
            if (parent == i - 1 && !v.more)
                ++v.run;
            else
                ++v.more;
            total += v.more;
            views_[i] = v;
            places_[i] = v.length() - 1;
        }
        lists_.reserve(total);
        for (int i = 0; i < n; ++i) {
            View& v = views_[i];
            if (!v.more) continue;
            const int* start = lists_.data() + lists_.size();
            for (int t = 0; t < v.more - 1; ++t) lists_.push_back(views_[parents[i]].list[t]);
            lists_.push_back(cached + i);
            v.list = start;
        }
    }

    void normalize_rows(Team& team, const T* x, const std::vector<T>& weight, int rows, T* out) {
        team.each((rows + SHARE - 1) / SHARE, [&](int part) {
            for (int m = part * SHARE; m < std::min(rows, (part + 1) * SHARE); ++m)
                normalize(x + (size_t)m * s_.width, weight.data(), s_.width, s_.epsilon,
                          out + (size_t)m * s_.width);
        });
    }

    // Add the biases of a key-value head and its queries to a row.
    void add_biases(const std::vector<T>& bias, int h, T* row) const {
        const int dim = s_.head_dim, group = s_.heads / s_.kv_heads;
        auto add = [&](size_t first, int n) {
            for (int i = 0; i < n; ++i) row[first + i] += bias[first + i];
        };
        add((size_t)h * group * dim, group * dim);
        add((size_t)(s_.heads + h) * dim, dim);
        add((size_t)(s_.heads + s_.kv_heads + h) * dim, dim);
    }

    // Normalize some heads, if the layer has norms, and rotate them by a position of the text.
    void rotate_heads(T* x, int heads, const std::vector<T>& norm, const Layer<T, W>& layer,
                      const T* cos, const T* sin) const {
        const int dim = s_.head_dim;
        for (T* head = x; head < x + heads * dim; head += dim) {
            if (!norm.empty()) normalize(head, norm.data(), dim, s_.epsilon, head);
            if (layer.has_rope) rotate(head, cos, sin, dim);
        }
    }

    // Prepare the keys of all rows and the queries from `first` on, for a key-value head, and store
    // the keys and values in the cache.
    void store_kv(const Rows& rows, const Layer<T, W>& layer, const Memory& memory, int h,
                  int cached, const T* cos, const T* sin) {
        const int dim = s_.head_dim, group = s_.heads / s_.kv_heads;
        static thread_local Scratch<int8_t> room;
        Head<T, W> cache = head(memory, h, capacity_);
        for (int m = 0; m < rows.n; ++m) {
            T* row = rows.row(m);
            T* queries = row + (size_t)h * group * dim;
            T* key = row + (size_t)(s_.heads + h) * dim;
            T* value = key + (size_t)s_.kv_heads * dim;
            const size_t place = (size_t)places_[m] * (dim / 2);  // in the tables of angles
            if (!layer.bias.empty()) add_biases(layer.bias, h, row);
            rotate_heads(key, 1, layer.k_norm, layer, cos + place, sin + place);
            cache.put(cached + m, key, value, room);
            if (m >= rows.first)
                rotate_heads(queries, group, layer.q_norm, layer, cos + place, sin + place);
        }
    }

    // Compute the attention of the queries of the rows [start, end) that share a key-value head.
    // `out` begins with the first row for which attention is computed.
    void attention(const Rows& rows, const Memory& memory, int h, int start, int end, T* out,
                   size_t ldo) {
        static thread_local HeadScratch<T, W> scratch;
        constexpr int MAX_QUERIES = Head<T, W>::MAX_QUERIES;
        const int dim = s_.head_dim, group = s_.heads / s_.kv_heads;
        const Head<T, W> c = head(memory, h, capacity_);
        Query<T> queries[MAX_QUERIES];
        int waiting = 0;
        for (int m = start; m < end; ++m) {
            for (int g = 0; g < group; ++g) {
                const size_t column = (size_t)(h * group + g) * dim;
                queries[waiting++] = {rows.row(m) + column, out + (m - rows.first) * ldo + column,
                                      views_[m]};
                if (waiting < MAX_QUERIES && !(m == end - 1 && g == group - 1)) continue;
                attend(queries, waiting, (T)s_.scale, c, scratch);
                waiting = 0;
            }
        }
    }

    // Pass the embeddings of n tokens through all layers, and compute the logits of the last `rows`
    // of them. attend(layer, rows, attended) stores the keys and values of all n rows, and writes
    // the attention of those from rows.first on to attended [n - rows.first].
    template <class Attend>
    void pass(Team& team, const int32_t* tokens, int n, int rows, T* logits, Attend&& attend) {
        const size_t width = s_.width, heads = (size_t)s_.heads * s_.head_dim,
                     inner = round_up(s_.inner, WIDE<T, W>);
        T* x = x_.at_least(n * width);
        T* normed = normed_.at_least(n * width);
        const size_t ldq = (size_t)(s_.heads + 2 * s_.kv_heads) * s_.head_dim;
        T* qkv = qkv_.at_least(n * ldq);
        T* attended = attended_.at_least(n * heads);
        T* hidden = hidden_.at_least(n * inner);
        for (int m = 0; m < n; ++m) embed(w_, tokens[m], x + m * width);

        for (int l = 0; l < s_.layers; ++l) {
            const Layer<T, W>& layer = w_.layers[l];
            // In the last layer, only the requested rows are needed beyond the cache.
            const int first = l == s_.layers - 1 ? n - rows : 0, going = n - first;
            normalize_rows(team, x, layer.input_norm, n, normed);
            if (l == watched_layer_) watched_.assign(normed, normed + n * width);
            products_.linear(team, layer.qkv, normed, width, s_.width, n, qkv, ldq, false);
            attend(l, Rows{qkv, ldq, n, first}, attended);
            x += first * width;
            products_.linear(team, layer.o, attended, heads, (int)heads, going, x, width, true);
            normalize_rows(team, x, layer.post_norm, going, normed);
            products_.gated(team, layer.mlp, normed, width, s_.width, going, hidden, inner);
            products_.linear(team, layer.down, hidden, inner, s_.inner, going, x, width, true);
        }
        normalize_rows(team, x, w_.final_norm, rows, normed);
        if (w_.head_tokens.empty())
            products_.linear(team, w_.head, normed, width, s_.width, rows, logits, s_.vocab, false);
        else
            reduced_head(team, normed, rows, logits);
    }

    // Write the logits of a reduced head; those of all other tokens are -infinity.
    void reduced_head(Team& team, const T* normed, int rows, T* logits) {
        const size_t few = s_.head_rows;
        T* some = some_.at_least(rows * few);
        products_.linear(team, w_.head, normed, s_.width, s_.width, rows, some, few, false);
        for (int m = 0; m < rows; ++m) {
            T* row = logits + (size_t)m * s_.vocab;
            std::fill_n(row, s_.vocab, -std::numeric_limits<T>::infinity());
            for (size_t i = 0; i < few; ++i) row[w_.head_tokens[i]] = some[m * few + i];
        }
    }

    void run(Team& team, const int32_t* tokens, int n, const int32_t* parents, int rows, T* logits,
             const T* cos, const T* sin, int cached) {
        build_views(tokens, n, parents, cached);
        reserve(cached, cached + n);
        const size_t heads = (size_t)s_.heads * s_.head_dim;
        pass(team, tokens, n, rows, logits, [&](int l, const Rows& fed, T* attended) {
            const Layer<T, W>& layer = w_.layers[l];
            const Memory& memory = caches_[l];
            if (n <= SHARE) {
                team.each(s_.kv_heads, [&](int h) {
                    store_kv(fed, layer, memory, h, cached, cos, sin);
                    attention(fed, memory, h, fed.first, n, attended, heads);
                });
                return;
            }
            const int shares = (n - fed.first + SHARE - 1) / SHARE;
            team.each(s_.kv_heads,
                      [&](int h) { store_kv(fed, layer, memory, h, cached, cos, sin); });
            team.each(s_.kv_heads * shares, [&](int item) {
                const int start = fed.first + item % shares * SHARE;
                attention(fed, memory, item / shares, start, std::min(n, start + SHARE), attended,
                          heads);
            });
        });
    }

    // Feed the next token of each of these sessions of the same model, with the buffers of this
    // session, which is not one of them.
    void run_batch(Team& team, Sequence* const* sequences, const int32_t* tokens, int n, T* logits,
                   const T* cos, const T* sin, const int32_t* cached) {
        for (int m = 0; m < n; ++m) {
            sequences[m]->build_views(tokens + m, 1, nullptr, cached[m]);
            sequences[m]->reserve(cached[m], cached[m] + 1);
        }
        const size_t heads = (size_t)s_.heads * s_.head_dim;
        pass(team, tokens, n, n, logits, [&](int l, const Rows& fed, T* attended) {
            team.each(n * s_.kv_heads, [&](int item) {
                const int m = item / s_.kv_heads, h = item % s_.kv_heads;
                const Rows own{fed.row(m), fed.ld, 1, 0};
                Sequence& its = *sequences[m];
                its.store_kv(own, w_.layers[l], its.caches_[l], h, cached[m], cos, sin);
                its.attention(own, its.caches_[l], h, 0, 1, attended + m * heads, heads);
            });
        });
    }

    static constexpr int FIRST_CAPACITY = 256;

    const Weights<T, W>& w_;
    const ModelShape s_;
    int capacity_ = 0;
    std::vector<Memory> caches_;
    std::vector<View> views_;
    std::vector<int> places_, lists_;
    Products<T, W> products_;
    Scratch<T> x_, normed_, qkv_, attended_, hidden_, some_;
    int watched_layer_ = -1;
    std::vector<T> watched_;
};

template <class T, class W> Session* Weights<T, W>::session() const {
    return new Sequence<T, W>(*this);
}

}  // namespace hsd
