// DatabaseDrafter of hsd_viz.drafting.db in C++: the operations and their order are the same, so
// that the trees are bit-equal.
//
// Drafting for a round takes a few microseconds with warm caches. But between two rounds the
// model's weights pass through the caches, so the number of waits for memory determines the time.
#pragma once
#include "past_drafts.hpp"
#include "semantic.hpp"

namespace hsd {

class Drafter {
  public:
    // A node of the tree, in which parents come before children. `which` is the database that
    // proposed it; `position` is -1 if it was not copied from the text.
    struct Candidate {
        double score = 0;
        int64_t count = 0;
        int32_t token = 0, parent = -1, which = 0, length = 0, position = -1;
        int32_t bound = 0;  // a key there has at most so many tokens in the text
        int32_t depth = 0;
        double cosine = NAN;  // of a copy that the semantic database found, alone or after another
                              // database
        int32_t copy = 0, n_copies = 0;  // of the token, in copies_
    };

    explicit Drafter(const DrafterSettings& settings)
        : settings_(settings), context_(settings.longest, settings.recent, settings.most) {
        // Reserve memory for the first rounds.
        for (auto* nodes : {&candidates_, &queue_, &nodes_}) nodes->reserve(256);
    }

    // Add the next database: an index file or, without a file, the context database. `priors` has a
    // rate per key length.
    void add(const IndexArrays* file, const double* priors, double discount) {
        Asked& asked = add(file ? Origin::FILE : Origin::TEXT, priors, discount);
        if (file) asked.file = IndexFile{*file};
    }
    // Add the semantic database; `priors` has a rate per band of cosines.
    void add_semantic(const SemanticSettings& settings, const double* priors, double discount) {
        add(Origin::STATES, priors, discount);
        semantic_ = Semantic(settings);
    }
    // The layer of the target whose states are compared; -1 for none.
    int layer() const { return layer_; }
    void watch(int layer) { layer_ = layer; }
    // Append the states at the next positions of the text, which include those of emitted tokens.
    void observe_states(const int8_t* numbers, int n, int width) {
        semantic_.observe(numbers, n, width);
    }
    // Set the costs and the slopes of 0 to n - 1 nodes.
    void costs(const double* at, const double* slopes, int n, double least_slope, double floor) {
        cost_.assign(at, at + n);
        slopes_.assign(slopes, slopes + n);
        least_slope_ = least_slope;
        floor_ = floor;
    }
    void ends(const int32_t* tokens, int n) { ends_.assign(tokens, tokens + n); }

    // Whether the settings are valid.
    static bool accepts(const DrafterSettings& settings) {
        return settings.longest >= 1 && settings.longest <= MAX_KEY_LENGTH &&
               settings.recent <= MAX_CONTINUATIONS && settings.longest_bucket < MAX_BUCKETS;
    }
    static bool accepts(const SemanticSettings& settings) {
        return settings.most <= MAX_CONTINUATIONS;
    }
    // Whether `budget` nodes can be drafted after the last n tokens of a text of `length` tokens:
    // they must include all tokens that were not emitted.
    bool ready(int n, int64_t length, int budget) const {
        return budget >= 1 && (size_t)budget < cost_.size() && n <= length &&
               std::max<int64_t>(0, length - context_.size()) <= n;
    }

    // Learn from emitted tokens, and append them to the text.
    void extend(const int32_t* tokens, int n) {
        past_.learn(tokens, n, context_.size(), settings_, databases_);
        context_.extend(tokens, n);
    }

    // Draft a tree of at most `budget` nodes after a text of `length` tokens that ends with the n
    // tokens `text`, which include those that were not emitted and are at least as many as the
    // longest key has. If the tree is empty, matched() is whether any database had a match.
    const std::vector<Candidate>& draft(const int32_t* text, int n, int64_t length, int budget) {
        past_.open(text, n, length, context_.size());
        queue_.clear();
        nodes_.clear();
        matched_ = false;
        semantic_.find(context_, length, copies_);
        Spot spot{-1, 1.0, settings_.longest, 0, (int)copies_.size()};
        // A tree of k nodes emits an expected 1 + the sum of their scores tokens at the cost
        // cost_[k]. The node with the highest score is added next, and the tree is cut at the size
        // with the largest ratio of tokens to cost.
        double expected = 1.0, best_ratio = 1.0;
        int best = -1;
        for (;;) {
            // A node at or below this score can never become worth its cost: the ratio only grows.
            double least = best_ratio * least_slope_;
            if (least < floor_) least = floor_;
            if (spot.reach > least && (spot.node < 0 || !ends_text(nodes_[spot.node].token)))
                queue_continuations(spot, least, text, n);
            const int picked = (int)nodes_.size();
            if (queue_.empty() || picked >= budget ||
                queue_.front().score <= best_ratio * slopes_[picked])
                break;
            const Candidate& node = pick_first();
            spot = {picked, node.score, node.bound, node.copy, node.n_copies};
            expected += node.score;
            const double ratio = expected / cost_[picked + 1];
            if (ratio > best_ratio) {
                best_ratio = ratio;
                best = picked;
            }
        }
        past_.close(nodes_);
        nodes_.resize(best + 1);
        return nodes_;
    }
    bool matched() const { return matched_; }

  private:
    // A position for look-ups: after a node (-1: the text) that is reached with an estimated
    // probability. The context database is searched for keys of up to `bound` tokens. The copies
    // that lead to the position are consecutive in copies_.
    struct Spot {
        int node;
        double reach;
        int bound, copy, n_copies;
    };
    // The order of a heap whose front has the highest score; ties are broken by token, then by
    // parent.
    static bool later(const Candidate& a, const Candidate& b) {
        if (a.score != b.score) return a.score < b.score;
        return a.token != b.token ? a.token > b.token : a.parent > b.parent;
    }
    bool ends_text(int32_t token) const {
        return std::find(ends_.begin(), ends_.end(), token) != ends_.end();
    }

    // The last tokens up to and including `node` (-1: the end of the text).
    void spell(Tail& tail, int node, const int32_t* text, int n) const {
        tail.clear();
        for (; node >= 0 && tail.size < settings_.longest; node = nodes_[node].parent)
            tail.put_before(nodes_[node].token);
        while (n > 0 && tail.size < settings_.longest) tail.put_before(text[--n]);
    }

    Asked& add(Origin origin, const double* priors, double discount) {
        Asked& asked = databases_.emplace_back();
        asked.origin = origin;
        asked.discount = discount;
        for (int n = 0; n <= settings_.longest_bucket; ++n)
            asked.rates[n] = asked.priors[n] = priors[n];
        return asked;
    }

    // Look up a database.
    bool look_up(const Asked& database, Tail& tail, const Spot& spot, Match& match) const {
        switch (database.origin) {
            case Origin::TEXT:
                return context_.lookup(tail, spot.bound, match);
            case Origin::STATES:
                return continue_copies(spot, match);
            case Origin::FILE:
                return database.file.lookup(tail, match);
        }
        return false;
    }
    // The next tokens of the copies, the most similar first; there are at most `most` (of
    // SemanticSettings).
    bool continue_copies(const Spot& spot, Match& match) const {
        match.n = 0;
        match.total = 0;
        for (int i = spot.copy; i < spot.copy + spot.n_copies; ++i) {
            const int place = copies_[i].position;
            if (place >= context_.size()) continue;
            if (!match.total++) match.length = semantic_.band(copies_[i].cosine);
            const int32_t token = context_.token(place);
            int k = 0;
            while (k < match.n && match.continuations[k].token != token) ++k;
            if (k == match.n) match.continuations[match.n++] = {token, place, 0};
            ++match.continuations[k].count;
        }
        return match.total > 0;
    }
    // Assign the copies to the candidates whose token continues them.
    void share_copies(const Spot& spot) {
        for (Candidate& candidate : candidates_) {
            candidate.copy = (int)copies_.size();
            for (int i = spot.copy; i < spot.copy + spot.n_copies; ++i) {
                const Copy it = copies_[i];
                if (it.position < context_.size() && context_.token(it.position) == candidate.token)
                    copies_.push_back({it.position + 1, it.cosine});
            }
            candidate.n_copies = (int)copies_.size() - candidate.copy;
        }
    }
    double best_cosine(const Spot& spot, int position) const {
        for (int i = spot.copy; i < spot.copy + spot.n_copies; ++i)
            if (copies_[i].position == position) return copies_[i].cosine;
        return NAN;
    }

    // Add the continuations that score above `least` to the queue.
    void queue_continuations(const Spot& spot, double least, const int32_t* text, int n) {
        Tail tail;
        spell(tail, spot.node, text, n);
        // After one more token the match is at most one token longer.
        const int bound = ask(spot, tail, least) + 1;
        if (!candidates_.empty()) matched_ = true;
        for (Candidate& candidate : candidates_) {
            if (!(candidate.score > least)) continue;
            candidate.parent = spot.node;
            candidate.bound = bound;
            queue_.push_back(candidate);
            std::push_heap(queue_.begin(), queue_.end(), later);
        }
    }

    // Move the first of the queue into the tree.
    const Candidate& pick_first() {
        std::pop_heap(queue_.begin(), queue_.end(), later);
        nodes_.push_back(queue_.back());
        queue_.pop_back();
        Candidate& node = nodes_.back();
        node.depth = node.parent < 0 ? 1 : nodes_[node.parent].depth + 1;
        return node;
    }

    // The same as DatabaseDrafter._ask: fill candidates_ and record the answers. Returns the length
    // of the match in the context database.
    int ask(const Spot& spot, Tail& tail, double least) {
        candidates_.clear();
        fetch(tail);
        double left = spot.reach;
        int found = spot.bound;
        for (int which = 0; which < (int)databases_.size() && left > least; ++which) {
            const Asked& database = databases_[which];
            Match match;
            const bool any = look_up(database, tail, spot, match);
            if (database.origin == Origin::TEXT) found = any ? match.length : 0;
            if (any) left -= distribute_over(match, which, spot, left);
        }
        if (spot.n_copies) share_copies(spot);
        return found;
    }

    // Prefetch the memory for which the look-ups will wait.
    void fetch(Tail& tail) const {
        for (const Asked& database : databases_)
            if (database.origin == Origin::TEXT)
                context_.fetch(tail);
            else if (database.origin == Origin::FILE)
                database.file.fetch_starts(tail);
        for (const Asked& database : databases_)
            if (database.origin == Origin::FILE) database.file.fetch_rows(tail);
    }

    // Distribute a part of the probability `left` over the continuations of a database, depending
    // on the trust in it. Returns the distributed probability.
    double distribute_over(const Match& match, int which, const Spot& spot, double left) {
        const Asked& database = databases_[which];
        const bool semantic = database.origin == Origin::STATES;
        const int bucket = std::min(match.length, settings_.longest_bucket);
        const double rate = database.rates[bucket], total = (double)match.total;
        double seen = 0.0;
        for (int k = 0; k < match.n; ++k)
            seen += (double)match.continuations[k].count - database.discount;
        const double scale = rate * seen < settings_.surest * total
                                 ? left * rate / total
                                 : left * settings_.surest / seen;
        past_.add_answer(spot.node, which, bucket, seen / total, match);
        for (int k = 0; k < match.n; ++k) {
            const Continuation& it = match.continuations[k];
            Candidate& candidate = candidate_with(it, which, semantic ? -1 : match.length);
            candidate.score += scale * ((double)it.count - database.discount);
            if (semantic) candidate.cosine = best_cosine(spot, it.position);
        }
        return scale * seen;
    }

    // The candidate of a token. A new candidate has the score 0 and is attributed to this database.
    Candidate& candidate_with(const Continuation& it, int which, int length) {
        for (Candidate& candidate : candidates_)
            if (candidate.token == it.token) return candidate;
        Candidate candidate;
        candidate.token = it.token;
        candidate.count = it.count;
        candidate.position = it.position;
        candidate.which = which;
        candidate.length = length;
        candidates_.push_back(candidate);
        return candidates_.back();
    }

    const DrafterSettings settings_;
    Context context_;
    Semantic semantic_;
    int layer_ = -1;
    std::vector<Asked> databases_;
    std::vector<double> cost_, slopes_;
    double least_slope_ = 0, floor_ = 0;
    std::vector<int32_t> ends_;
    bool matched_ = false;
    // The state of the tree that grows. The copies of a node are consecutive.
    std::vector<Copy> copies_;
    std::vector<Candidate> candidates_, queue_, nodes_;
    PastDrafts past_;
};

}  // namespace hsd
