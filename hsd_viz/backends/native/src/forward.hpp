// One sequence: its cache, and the forward pass over it.
//
//   x = embedding;  per layer: x += o(attention(rope(qkv(norm(x)))));  x += down(silu(gate(norm(x))) * up(norm(x)));  head(norm(x))
#pragma once
#include <chrono>
#include <stdexcept>
#include "chain.hpp"
#include "describe.hpp"
#include "model.hpp"
#include "walk.hpp"

namespace hsd {

// out = x / rms(x) * weight. transformers computes this in float32 for any type of model, and so does this.
template <class T> void normalise(const T* x, const T* weight, int n, double epsilon, T* out) {
    float scale;
    if constexpr (sizeof(T) == 8) {
        double sum = 0;
        for (int i = 0; i < n; ++i) sum += (double)(float)x[i] * (double)(float)x[i];
        scale = 1.0f / std::sqrt((float)(sum / n) + (float)epsilon);
        for (int i = 0; i < n; ++i) out[i] = weight[i] * (T)((float)x[i] * scale);
    } else {
        vec<T> sums{};
        int i = 0;
        for (; i + LANES<T> <= n; i += LANES<T>) sums = fma(load(x + i), load(x + i), sums);
        float sum = sum_lanes<T>(sums);
        for (; i < n; ++i) sum += x[i] * x[i];
        scale = 1.0f / std::sqrt(sum / n + (float)epsilon);
        for (i = 0; i < n; ++i) out[i] = weight[i] * (x[i] * scale);
    }
}

// Turn the pairs (i, i + n / 2) by the angles of a place.
template <class T> void rotate(T* x, const T* cos, const T* sin, int n) {
    const int half = n / 2;
    for (int i = 0; i < half; ++i) {
        const T a = x[i], b = x[i + half];
        x[i] = a * cos[i] - b * sin[i];
        x[i + half] = b * cos[i] + a * sin[i];
    }
}

// gate = silu(gate) * up, for a line of a panel.
template <class T> void gate_line(const T* gate, const T* up, T* out) {
    for (int c = 0; c < PANEL<T>; c += LANES<T>) {
        const vec<T> g = load(gate + c);
        store(out + c, g / (exponential(-g) + T(1)) * load(up + c));
    }
}

template <class T, class W> class Sequence : public Session {
  public:
    explicit Sequence(const Weights<T, W>& weights) : w_(weights), s_(weights.shape), row_((int)round_up(s_.head_dim, LANES<T>)) {
        caches_.resize(s_.layers);
    }

    void forward(const int32_t* tokens, int n, const int32_t* parents, int rows, void* logits, const void* cos, const void* sin, int cached,
                 int threads) override {
        Team team(threads);
        run(team, tokens, n, parents, rows, (T*)logits, (const T*)cos, (const T*)sin, cached);
    }

    void verify(const int32_t* tokens, int n, const int32_t* parents, int rows, const void* logits, const Rule& rule, const double* chances,
                const Drafted& drafted, int32_t* found, int most, double* numbers) override {
        if (drafted.q) return judge(tokens + n - rows + 1, rows - 1, (const T*)logits, rule, chances, drafted, found, most, numbers);
        const int vocab = s_.vocab, sampled = rule.temperature > 0;
        auto row = [&](int m) { return (const T*)logits + (size_t)m * vocab; };
        T *p = drafted.p ? (T*)drafted.p : p_.at_least(vocab), *spare = spare_.at_least(vocab + LANES<T>);
        rows_.resize(rows);
        int drawn = 0;
        const int walked = walk(tokens, n, parents, rows, found, [&](int m) {
            if (!sampled) return best_of(row(m), vocab);
            if (drafted.p && drawn) p += vocab;
            rows_[m] = distribute(row(m), vocab, rule, p, spare);
            return draw_safely(p, vocab, chances[drawn++]);
        });
        const int32_t *steps = found + rows + 2, *fates = steps + rows, *nodes = tokens + n - rows + 1;
        const int last = walked ? steps[walked - 1] : 0;
        auto parent = [&](int node) { return parents ? parents[n - rows + 1 + node] - (n - rows) : node; };
        if (walked && sampled)
            for (int node = 0; node < rows - 1; ++node, ++numbers)
                if (fates[node] >= 0) *numbers = rows_[parent(node)].of(row(parent(node))[nodes[node]]);
        for (int k = 0; most && k < walked; ++k, numbers += 2 + 2 * most) describe(row(steps[k]), vocab, found[steps[k]], most, numbers);
        if (!most || !sampled || !walked || found[rows + 1] < walked) return;
        // A correction: what is left of the last row without the drafted tokens.
        T* left = left_.at_least(vocab);
        std::copy_n(p, vocab, left);
        for (int node = 0; node < rows - 1; ++node)
            if (parent(node) == last) left[nodes[node]] = 0;
        describe_left(left, vocab, most, numbers);
    }

    int sample(const int32_t* tokens, int n, const Rule& rule, const double* chances, const int32_t* ends, int n_ends, int wanted, void* rows,
               int32_t* ids, int most, double* numbers, int64_t* times, const void* cos, const void* sin, int cached, int threads) override {
        T* logits = logits_.at_least(s_.vocab);
        T* spare = spare_.at_least(s_.vocab + LANES<T>);
        auto now = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
        if (times) *times++ = now();
        for (int k = 0; k < wanted; ++k) {
            int32_t& token = ids[k];
            {
                Team team(threads);
                run(team, tokens, n, nullptr, 1, logits, (const T*)cos, (const T*)sin, cached);
            }
            cached += n;
            if (rule.temperature == 0) {
                token = best_of(logits, s_.vocab);
            } else {
                T* p = rows ? (T*)rows + (size_t)k * s_.vocab : p_.at_least(s_.vocab);
                distribute(logits, s_.vocab, rule, p, spare);
                token = rows ? draw(p, s_.vocab, chances[k]) : draw_safely(p, s_.vocab, chances[k]);
                if (token < 0) return k;
            }
            if (most) describe(logits, s_.vocab, token, most, numbers + k * (2 + 2 * most));
            if (times) *times++ = now();
            if (std::find(ends, ends + n_ends, token) != ends + n_ends) return k + 1;
            tokens = &token;
            n = 1;
        }
        return wanted;
    }

    void keep(int base, const int32_t* places, int n) override {
        const int dim = s_.head_dim;
        for (auto& memory : caches_) {
            for (int h = 0; h < s_.kv_heads; ++h) {
                const HeadCache<T> c = head_cache(memory, h);
                for (int i = 0; i < n; ++i) {
                    if (places[i] == base + i) continue;
                    for (int d = 0; d < dim; ++d) *key(c, base + i, d) = *key(c, places[i], d);
                    std::copy_n(c.values + (size_t)places[i] * row_, dim, c.values + (size_t)(base + i) * row_);
                }
            }
        }
    }

  private:
    // verify() for a chain that was sampled from rows.
    void judge(const int32_t* tokens, int n, const T* logits, const Rule& rule, const double* chances, const Drafted& drafted, int32_t* found,
               int most, double* numbers) {
        const size_t vocab = s_.vocab;
        T *p = drafted.p ? (T*)drafted.p : p_.at_least((n + 1) * vocab), *spare = spare_.at_least(vocab + LANES<T>);
        int made = 0;
        auto row = [&](int k) {
            for (; made <= k; ++made) distribute(logits + made * vocab, s_.vocab, rule, p + made * vocab, spare);
            return p + k * vocab;
        };
        double *p_of = numbers, *q_of = p_of + n, *h = q_of + n;
        Chain<T> chain{tokens, (const T*)drafted.q, drafted.u, n, s_.vocab, p_of, h, left_.at_least(vocab)};
        for (int k = 0; k < n; ++k) q_of[k] = chain.q_row(k)[tokens[k]];
        const int accepted = found[0] = drafted.block ? chain.by_block(row) : chain.by_token(row);
        const int token = found[1] = accepted < 0 ? accepted : chain.token(accepted, chances[accepted], row);
        if (!most || token < 0) return;
        numbers = h + n;
        for (int k = 0; k <= accepted; ++k, numbers += 2 + 2 * most)
            describe(logits + k * vocab, s_.vocab, k < accepted ? tokens[k] : token, most, numbers);
        if (accepted == n) return;
        describe_left(chain.left, s_.vocab, most, numbers);
        describe_left(chain.q_row(accepted), s_.vocab, most, numbers + 1 + 2 * most);
    }

    // A layer's cache: per key-value head the keys, then the values.
    size_t head_size() const { return (size_t)capacity_ * (s_.head_dim + row_); }
    HeadCache<T> head_cache(const Memory& memory, int h) const {
        T* start = memory.as<T>() + h * head_size();
        return {start, start + (size_t)capacity_ * s_.head_dim, s_.head_dim, row_};
    }
    static T* key(const HeadCache<T>& c, int place, int d) {
        return c.keys + ((size_t)(place / LANES<T>) * c.dim + d) * LANES<T> + place % LANES<T>;
    }

    void reserve(int filled, int need) {
        if (need <= capacity_) return;
        int capacity = std::max(capacity_, FIRST_CAPACITY);
        while (capacity < need) capacity *= 2;
        const int dim = s_.head_dim, old = capacity_;
        std::vector<Memory> grown;
        for (int l = 0; l < s_.layers; ++l) grown.emplace_back((size_t)capacity * (dim + row_) * s_.kv_heads * sizeof(T));
        if (old) {
            for (int l = 0; l < s_.layers; ++l) {
                for (int h = 0; h < s_.kv_heads; ++h) {
                    const HeadCache<T> from = head_cache(caches_[l], h);
                    T* to = grown[l].as<T>() + (size_t)h * capacity * (dim + row_);
                    std::copy_n(from.keys, round_up(filled, LANES<T>) * dim, to);
                    std::copy_n(from.values, (size_t)filled * row_, to + (size_t)capacity * dim);
                }
            }
        }
        caches_ = std::move(grown);
        capacity_ = capacity;
    }

    // What each fed token sees in a layer without a window, and its place in the text.
    void look(const int32_t* tokens, int n, const int32_t* parents, int cached) {
        views_.resize(n);
        places_.resize(n);
        lists_.clear();
        size_t total = 0;
        for (int i = 0; i < n; ++i) {
            const int parent = parents ? parents[i] : i - 1;
            if (tokens[i] < 0 || tokens[i] >= s_.vocab) throw std::invalid_argument("a token outside of the vocabulary was fed");
            if (parent < -1 || parent >= i) throw std::invalid_argument("a parent must be -1 or one of the tokens before");
            View v = parent < 0 ? View{cached, 0, 0, nullptr} : views_[parent];
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
            if (v.more > 1) {
                const View& before = views_[parents[i]];
                lists_.insert(lists_.end(), before.list, before.list + before.more);
            }
            lists_.push_back(cached + i);
            v.list = start;
        }
    }

    // A line of panel p, of 8-bit weights times their scales.
    static INLINE void scaled(const Matrix<T, W>& a, T* line, int p) {
        if constexpr (std::is_same_v<W, i8>)
            for (int c = 0; c < PANEL<T>; ++c) line[c] *= a.scale[p * PANEL<T> + c];
    }

    // y [m][ldy] = x [m][ldx] times the matrix, plus its bias, plus what y held if `add`.
    void linear(Team& team, const Matrix<T, W>& a, const T* x, size_t ldx, int rows, T* y, size_t ldy, bool add) {
        team.each(a.panels(), [&](int p) {
            alignas(64) T out[ROWS * PANEL<T>];
            const int column = p * PANEL<T>, columns = std::min(PANEL<T>, a.columns - column);
            for (int m = 0; m < rows; m += ROWS) {
                const int here = std::min(ROWS, rows - m);
                multiply<T, W>(a.panel(p), a.depth, x + m * ldx, ldx, here, out);
                for (int r = 0; r < here; ++r) {
                    T* from = out + r * PANEL<T>;
                    T* to = y + (m + r) * ldy + column;
                    scaled(a, from, p);
                    if (!a.bias.empty())
                        for (int c = 0; c < columns; ++c) from[c] += a.bias[column + c];
                    if (add)
                        for (int c = 0; c < columns; ++c) to[c] += from[c];
                    else
                        std::copy_n(from, columns, to);
                }
            }
        });
    }

    void gated(Team& team, const Matrix<T, W>& a, const T* x, size_t ldx, int rows, T* y, size_t ldy) {
        team.each(a.panels() / 2, [&](int p) {
            alignas(64) T gate[ROWS * PANEL<T>], up[ROWS * PANEL<T>];
            for (int m = 0; m < rows; m += ROWS) {
                const int here = std::min(ROWS, rows - m);
                multiply<T, W>(a.panel(2 * p), a.depth, x + m * ldx, ldx, here, gate);
                multiply<T, W>(a.panel(2 * p + 1), a.depth, x + m * ldx, ldx, here, up);
                for (int r = 0; r < here; ++r) {
                    T *g = gate + r * PANEL<T>, *u = up + r * PANEL<T>;
                    scaled(a, g, 2 * p);
                    scaled(a, u, 2 * p + 1);
                    if (!a.bias.empty()) {
                        const T* b = a.bias.data() + 2 * p * PANEL<T>;
                        for (int c = 0; c < PANEL<T>; ++c) g[c] += b[c];
                        for (int c = 0; c < PANEL<T>; ++c) u[c] += b[PANEL<T> + c];
                    }
                    gate_line(g, u, y + (m + r) * ldy + p * PANEL<T>);
                }
            }
        });
    }

    void normalise_rows(Team& team, const T* x, const std::vector<T>& weight, int rows, T* out) {
        constexpr int SHARE = 16;
        team.each((rows + SHARE - 1) / SHARE, [&](int part) {
            for (int m = part * SHARE; m < std::min(rows, (part + 1) * SHARE); ++m)
                normalise(x + (size_t)m * s_.width, weight.data(), s_.width, s_.epsilon, out + (size_t)m * s_.width);
        });
    }

    // Normalise and turn the keys of all fed tokens and the queries from `first` on of one key-value head; put keys and values away.
    void put_away(const Layer<T, W>& layer, const Memory& memory, int h, int n, int first, int cached, const T* cos, const T* sin) {
        const int dim = s_.head_dim, group = s_.heads / s_.kv_heads;
        const HeadCache<T> c = head_cache(memory, h);
        for (int m = 0; m < n; ++m) {
            T* q = qkv_ + m * ldq_ + (size_t)h * group * dim;
            T* k = qkv_ + m * ldq_ + (size_t)(s_.heads + h) * dim;
            const T* v = k + (size_t)s_.kv_heads * dim;
            const size_t turn = (size_t)places_[m] * (dim / 2);
            if (!layer.k_norm.empty()) normalise(k, layer.k_norm.data(), dim, s_.epsilon, k);
            rotate(k, cos + turn, sin + turn, dim);
            for (int d = 0; d < dim; ++d) *key(c, cached + m, d) = k[d];
            std::copy_n(v, dim, c.values + (size_t)(cached + m) * row_);
            if (m < first) continue;
            for (int g = 0; g < group; ++g) {
                if (!layer.q_norm.empty()) normalise(q + g * dim, layer.q_norm.data(), dim, s_.epsilon, q + g * dim);
                rotate(q + g * dim, cos + turn, sin + turn, dim);
            }
        }
    }

    // Attention of the queries of tokens [first, last) that share one key-value head.
    void attention(const Layer<T, W>& layer, const Memory& memory, int h, int first, int last, T* out, size_t ldo) {
        static thread_local AttentionScratch<T> scratch;
        const int dim = s_.head_dim, group = s_.heads / s_.kv_heads;
        const HeadCache<T> c = head_cache(memory, h);
        View views[4];
        Query<T> queries[4];
        int waiting = 0;
        for (int m = first; m < last; ++m) {
            for (int g = 0; g < group; ++g) {
                const size_t column = (size_t)(h * group + g) * dim;
                View& v = views[waiting] = views_[m];
                if (layer.window) v.skip = std::max(0, v.length() - layer.window);
                queries[waiting] = {qkv_ + m * ldq_ + column, out + (m - first_) * ldo + column, &v};
                const bool last_one = m == last - 1 && g == group - 1;
                if (++waiting < 4 && !last_one) continue;
                const T scale = (T)s_.scale;
                int at = 0;
                if (waiting == 4) attend<T, 4>(queries, scale, c, scratch), at = 4;
                if (waiting - at >= 2) attend<T, 2>(queries + at, scale, c, scratch), at += 2;
                if (waiting - at) attend<T, 1>(queries + at, scale, c, scratch);
                waiting = 0;
            }
        }
    }

    void run(Team& team, const int32_t* tokens, int n, const int32_t* parents, int rows, T* logits, const T* cos, const T* sin, int cached) {
        const size_t width = s_.width, heads = (size_t)s_.heads * s_.head_dim, inner = round_up(s_.inner, PANEL<T>);
        look(tokens, n, parents, cached);
        reserve(cached, cached + n);
        T* x = x_.at_least(n * width);
        T* normed = normed_.at_least(n * width);
        ldq_ = (size_t)(s_.heads + 2 * s_.kv_heads) * s_.head_dim;
        qkv_ = rows_qkv_.at_least(n * ldq_);
        T* attended = attended_.at_least(n * heads);
        T* hidden = hidden_.at_least(n * inner);
        for (int m = 0; m < n; ++m)
            for (size_t d = 0; d < width; ++d) x[m * width + d] = widen(w_.embedding[tokens[m] * width + d]);

        constexpr int SHARE = 16;
        for (int l = 0; l < s_.layers; ++l) {
            const Layer<T, W>& layer = w_.layers[l];
            // Of the last layer only the rows that are asked for go further than the cache.
            const int first = first_ = l == s_.layers - 1 ? n - rows : 0, going = n - first;
            normalise_rows(team, x, layer.input_norm, n, normed);
            linear(team, layer.qkv, normed, width, n, qkv_, ldq_, false);
            const int shares = (going + SHARE - 1) / SHARE;
            if (n <= SHARE) {
                team.each(s_.kv_heads, [&](int h) {
                    put_away(layer, caches_[l], h, n, first, cached, cos, sin);
                    attention(layer, caches_[l], h, first, n, attended, heads);
                });
            } else {
                team.each(s_.kv_heads, [&](int h) { put_away(layer, caches_[l], h, n, first, cached, cos, sin); });
                team.each(s_.kv_heads * shares, [&](int item) {
                    const int start = first + item % shares * SHARE;
                    attention(layer, caches_[l], item / shares, start, std::min(n, start + SHARE), attended, heads);
                });
            }
            x += first * width;
            linear(team, layer.o, attended, heads, going, x, width, true);
            normalise_rows(team, x, layer.post_norm, going, normed);
            gated(team, layer.mlp, normed, width, going, hidden, inner);
            linear(team, layer.down, hidden, inner, going, x, width, true);
        }
        normalise_rows(team, x, w_.final_norm, rows, normed);
        linear(team, w_.head, normed, width, rows, logits, s_.vocab, false);
    }

    static constexpr int FIRST_CAPACITY = 256;

    const Weights<T, W>& w_;
    const Shape s_;
    const int row_;
    int capacity_ = 0, first_ = 0;
    size_t ldq_ = 0;
    std::vector<Memory> caches_;
    std::vector<View> views_;
    std::vector<int> places_, lists_;
    Scratch<T> x_, normed_, rows_qkv_, attended_, hidden_, logits_, spare_, p_, left_;
    std::vector<Row<T>> rows_;
    T* qkv_ = nullptr;
};

template <class T, class W> Session* Weights<T, W>::session() const { return new Sequence<T, W>(*this); }

}  // namespace hsd
