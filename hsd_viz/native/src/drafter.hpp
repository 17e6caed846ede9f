// DatabaseDrafter of hsd_viz.drafting.db in C++: what is done in which order is the same, and so
// are the trees, to the last bit.
//
// A round's drafting takes a few microseconds in warm caches. A decode sweeps the model's weights
// through them between two rounds, so what counts is how often memory is waited for.
#pragma once
#include "past_drafts.hpp"
#include "semantic.hpp"

namespace hsd {

class Drafter {
  public:
    // A node of the tree: parents before children. `which` database proposed it; `position` is -1
    // where it was copied from nowhere.
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
        // The first rounds find room.
        for (auto* nodes : {&candidates_, &queue_, &nodes_}) nodes->reserve(256);
    }

    // The next database to ask: an index file, or without one the text's own. `priors` has a rate
    // for each key length.
    void add(const IndexArrays* file, const double* priors, double discount) {
        Asked& asked = add(file ? Origin::FILE : Origin::TEXT, priors, discount);
        if (file) asked.file = IndexFile{*file};
    }
    // The next database to ask is the semantic one; `priors` has a rate for each band of cosines.
    void add_semantic(const SemanticSettings& settings, const double* priors, double discount) {
        add(Origin::STATES, priors, discount);
        semantic_ = Semantic(settings);
    }
    // The layer of the target whose states it compares; -1: none.
    int layer() const { return layer_; }
    void watch(int layer) { layer_ = layer; }
    // The states of the next places of the text, those of tokens that were emitted among them.
    void observe_states(const int8_t* numbers, int n, int width) {
        semantic_.observe(numbers, n, width);
    }
    // The cost and the least slope of 0 to n - 1 nodes.
    void costs(const double* at, const double* slopes, int n, double least_slope, double floor) {
        cost_.assign(at, at + n);
        slopes_.assign(slopes, slopes + n);
        least_slope_ = least_slope;
        floor_ = floor;
    }
    void ends(const int32_t* tokens, int n) { ends_.assign(tokens, tokens + n); }

    // Whether it can work by these numbers.
    static bool accepts(const DrafterSettings& settings) {
        return settings.longest >= 1 && settings.longest <= MOST_KEY &&
               settings.recent <= MOST_CONTINUATIONS && settings.longest_bucket < MOST_BUCKETS;
    }
    // Whether it can draft `budget` nodes after the last n tokens of a text of `length`: tokens
    // that were not emitted must be among them.
    bool ready(int n, int64_t length, int budget) const {
        return budget >= 1 && (size_t)budget < cost_.size() && n <= length &&
               std::max<int64_t>(0, length - context_.size()) <= n;
    }

    // The tokens that were emitted: learn from them and remember them.
    void extend(const int32_t* tokens, int n) {
        past_.learn(tokens, n, context_.size(), settings_, databases_);
        context_.extend(tokens, n);
    }

    // The tree of at most `budget` nodes after a text of `length` tokens that ends in the n tokens
    // `text`: those that were not emitted, and as many as the longest key has. Without nodes,
    // matched() says whether any database knew the text.
    const std::vector<Candidate>& draft(const int32_t* text, int n, int64_t length, int budget) {
        past_.open(text, n, length, context_.size());
        queue_.clear();
        nodes_.clear();
        matched_ = false;
        semantic_.find(context_, length, copies_);
        Spot spot{-1, 1.0, settings_.longest, 0, (int)copies_.size()};
        // A tree of k nodes brings 1 + the sum of their scores tokens, as expected, for cost_[k]
        // passes. It grows by the node of the highest score, and is cut where the ratio of the two
        // was largest.
        double expected = 1.0, best_ratio = 1.0;
        int best = -1;
        for (;;) {
            // Nothing at or below this score can ever pay: the ratio to beat only grows.
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
    // Where continuations are asked for: after a node (-1: the text), which is reached with this
    // estimated probability. A key there has at most `bound` tokens in the text; the copies that
    // lead there are in a row of copies_.
    struct Spot {
        int node;
        double reach;
        int bound, copy, n_copies;
    };
    // The order of a heap whose front has the highest score; the token, then the parent breaks
    // ties.
    static bool later(const Candidate& a, const Candidate& b) {
        if (a.score != b.score) return a.score < b.score;
        return a.token != b.token ? a.token > b.token : a.parent > b.parent;
    }
    bool ends_text(int32_t token) const {
        return std::find(ends_.begin(), ends_.end(), token) != ends_.end();
    }

    // The last tokens up to and with `node` (-1: the text's own).
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

    // What a database knows.
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
    // What followed in the copies, the most similar first: their number is at most `most` of
    // SemanticSettings.
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
    // Give each candidate the copies that its token continues.
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

    // Put the continuations that score more than `least` into the queue.
    void queue_continuations(const Spot& spot, double least, const int32_t* text, int n) {
        Tail tail;
        spell(tail, spot.node, text, n);
        // A key one token longer matches at most one token more.
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

    // DatabaseDrafter._ask: fills candidates_ and notes the answers. Returns the length of the
    // text's own match.
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

    // Have the memory on its way that the look-ups will wait for.
    void fetch(Tail& tail) const {
        for (const Asked& database : databases_)
            if (database.origin == Origin::TEXT)
                context_.fetch(tail);
            else if (database.origin == Origin::FILE)
                database.file.fetch_starts(tail);
        for (const Asked& database : databases_)
            if (database.origin == Origin::FILE) database.file.fetch_rows(tail);
    }

    // Share out among a database's continuations what of the probability `left` it is trusted
    // with. Returns how much that is.
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

    // The candidate of a token; a new one, of score 0, is the database's that has it first.
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
    // Of the tree being grown. The copies of a node are in a row.
    std::vector<Copy> copies_;
    std::vector<Candidate> candidates_, queue_, nodes_;
    PastDrafts past_;
};

}  // namespace hsd
