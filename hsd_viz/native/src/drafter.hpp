// DatabaseDrafter of hsd_viz.drafting.db in C++: what is done in which order is the same, and so
// are the trees, to the last bit.
//
// A round's drafting takes a few microseconds in warm caches. A decode sweeps the model's weights
// through them between two rounds, so what counts is how often memory is waited for.
#pragma once
#include "semantic.hpp"

namespace hsd {

// The numbers of the Python module. The same as native/model.py's Drafting.
struct Drafting {
    double surest, prior_weight, most_rate;
    int32_t longest, recent, most, longest_bucket;
};

constexpr int MOST_BUCKETS = 16;

// A database of the drafter is the text's own, the semantic one, or an index file.
enum class Origin { TEXT, STATES, FILE };

// One database of the drafter, and how far it is to be trusted: Trust.
struct Asked {
    Origin origin;
    IndexFile file;
    double discount;
    double priors[MOST_BUCKETS], rates[MOST_BUCKETS], hits[MOST_BUCKETS] = {},
                                                      expected[MOST_BUCKETS] = {};

    void observe(const Drafting& rules, int bucket, double share, bool hit) {
        const double seen = hits[bucket] += hit, total = expected[bucket] += share;
        const double rate =
            (rules.prior_weight * priors[bucket] + seen) / (rules.prior_weight + total);
        rates[bucket] = rate < rules.most_rate ? rate : rules.most_rate;
    }
};

class Drafter {
  public:
    // A node of the tree: parents before children. `which` database proposed it; `position` is -1
    // where it was copied from nowhere.
    struct Candidate {
        double score;
        int64_t count;
        int32_t token, parent, which, length, position;
        int32_t bound;  // a key there has at most so many tokens in the text
        int32_t depth;
        double cosine;  // of a copy that the semantic database found, alone or after another
                        // database; else NaN
        int32_t copy, n_copies;  // of the token, in copies_
    };

    explicit Drafter(const Drafting& rules)
        : rules_(rules), context_(rules.longest, rules.recent, rules.most) {
        // The first rounds find room.
        for (auto* nodes : {&candidates_, &queue_, &nodes_}) nodes->reserve(256);
        rounds_.reserve(16), tokens_.reserve(1024), answers_.reserve(256), places_.reserve(256);
    }

    // The next database to ask: an index file, or without one the text's own. `priors` has a rate
    // for each key length.
    void add(const IndexFile* file, const double* priors, double discount) {
        Asked& asked = add(file ? Origin::FILE : Origin::TEXT, priors, discount);
        if (file) asked.file = *file;
    }
    // The next database to ask is the semantic one; `priors` has a rate for each band of cosines.
    void add_semantic(const Copying& copying, const double* priors, double discount) {
        add(Origin::STATES, priors, discount);
        semantic_ = Semantic(copying);
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
        at_.assign(at, at + n);
        slopes_.assign(slopes, slopes + n);
        least_slope_ = least_slope;
        floor_ = floor;
    }
    void ends(const int32_t* tokens, int n) { ends_.assign(tokens, tokens + n); }

    // Whether it can work by these numbers.
    static bool accepts(const Drafting& rules) {
        return rules.longest >= 1 && rules.longest <= MOST_KEY &&
               rules.recent <= MOST_CONTINUATIONS && rules.longest_bucket < MOST_BUCKETS;
    }
    // Whether it can draft `budget` nodes after the last n tokens of a text of `length`: tokens
    // that were not emitted must be among them.
    bool ready(int n, int64_t length, int budget) const {
        return budget >= 1 && (size_t)budget < at_.size() && n <= length &&
               std::max<int64_t>(0, length - context_.size()) <= n;
    }

    // The tokens that were emitted: learn from them and remember them.
    void extend(const int32_t* tokens, int n) {
        learn(tokens, n);
        context_.extend(tokens, n);
    }

    // The tree of at most `budget` nodes after a text of `length` tokens that ends in the n tokens
    // `text`: those that were not emitted, and as many as the longest key has. Without nodes,
    // matched() says whether any database knew the text.
    const std::vector<Candidate>& draft(const int32_t* text, int n, int64_t length, int budget) {
        Round& round = open(text, n, length);
        queue_.clear();
        nodes_.clear();
        semantic_.find(context_, length, copies_);
        const int first_copies = (int)copies_.size();
        double expected = 1.0, best_ratio = 1.0, reach = 1.0;
        int node = -1, best = -1, bound = rules_.longest;
        matched_ = false;
        Tail tail;
        for (;;) {
            // Nothing at or below this score can ever pay: the ratio to beat only grows.
            double least = best_ratio * least_slope_;
            if (least < floor_) least = floor_;
            if (reach > least && (node < 0 || !ends_text(nodes_[node].token))) {
                spell(tail, node, text, n);
                const int copy = node < 0 ? 0 : nodes_[node].copy,
                          n_copies = node < 0 ? first_copies : nodes_[node].n_copies;
                const int found = ask(node, tail, reach, least, bound, copy, n_copies) + 1;
                if (!candidates_.empty()) matched_ = true;
                for (Candidate& candidate : candidates_) {
                    if (!(candidate.score > least)) continue;
                    candidate.parent = node;
                    candidate.bound = found;
                    queue_.push_back(candidate);
                    std::push_heap(queue_.begin(), queue_.end(), later);
                }
            }
            const int picked = (int)nodes_.size();
            if (queue_.empty() || picked >= budget ||
                queue_.front().score <= best_ratio * slopes_[picked])
                break;
            std::pop_heap(queue_.begin(), queue_.end(), later);
            const Candidate& next = queue_.back();
            nodes_.push_back(next);
            nodes_.back().depth = next.parent < 0 ? 1 : nodes_[next.parent].depth + 1;
            queue_.pop_back();
            node = picked;
            reach = nodes_[node].score;
            bound = nodes_[node].bound;
            expected += reach;
            const double ratio = expected / at_[node + 1];
            if (ratio > best_ratio) best_ratio = ratio, best = node;
        }
        close(round);
        nodes_.resize(best + 1);
        return nodes_;
    }
    bool matched() const { return matched_; }

  private:
    // What a database said at a node, for learning: its continuations are tokens_[first : first +
    // n].
    struct Answer {
        int node, which, bucket, first, n;
        double expected;
    };
    // A tree drafted since the last tokens came. Its parts follow one another in the vectors below.
    struct Round {
        int64_t length;
        int ahead, n_ahead, node, n_nodes, answer, n_answers;
    };
    struct Place {
        int32_t token, parent;
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
        for (; node >= 0 && tail.size < rules_.longest; node = nodes_[node].parent)
            tail.put_before(nodes_[node].token);
        while (n > 0 && tail.size < rules_.longest) tail.put_before(text[--n]);
    }

    Asked& add(Origin origin, const double* priors, double discount) {
        Asked& asked = databases_.emplace_back();
        asked.origin = origin;
        asked.discount = discount;
        for (int n = 0; n <= rules_.longest_bucket; ++n)
            asked.rates[n] = asked.priors[n] = priors[n];
        return asked;
    }

    // What a database knows. `own_copies` are the places of copies_ that lead here.
    bool look_up(const Asked& database, Tail& tail, int bound, int copy, int n_copies,
                 Match& match) const {
        switch (database.origin) {
            case Origin::TEXT:
                return context_.lookup(tail, bound, match);
            case Origin::STATES:
                return continue_copies(copy, n_copies, match);
            case Origin::FILE:
                return database.file.lookup(tail, match);
        }
        return false;
    }
    // What followed in the copies, the most similar first: their number is at most `most` of
    // Copying.
    bool continue_copies(int copy, int n_copies, Match& match) const {
        match.n = 0;
        match.total = 0;
        for (int i = copy; i < copy + n_copies; ++i) {
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
    void share_copies(int copy, int n_copies) {
        for (Candidate& candidate : candidates_) {
            candidate.copy = (int)copies_.size();
            for (int i = copy; i < copy + n_copies; ++i) {
                const Copy it = copies_[i];
                if (it.position < context_.size() && context_.token(it.position) == candidate.token)
                    copies_.push_back({it.position + 1, it.cosine});
            }
            candidate.n_copies = (int)copies_.size() - candidate.copy;
        }
    }
    double best_cosine(int copy, int n_copies, int position) const {
        for (int i = copy; i < copy + n_copies; ++i)
            if (copies_[i].position == position) return copies_[i].cosine;
        return NAN;
    }

    // DatabaseDrafter._ask: fills candidates_ and notes the answers. Returns the length of the
    // text's own match.
    int ask(int node, Tail& tail, double reach, double least, int bound, int copy, int n_copies) {
        candidates_.clear();
        double left = reach;
        int found = bound;
        for (const Asked& database : databases_)
            if (database.origin == Origin::TEXT)
                context_.fetch(tail);
            else if (database.origin == Origin::FILE)
                database.file.fetch_starts(tail);
        for (const Asked& database : databases_)
            if (database.origin == Origin::FILE) database.file.fetch_rows(tail);
        for (int which = 0; which < (int)databases_.size(); ++which) {
            Asked& database = databases_[which];
            if (left <= least) break;
            Match match;
            const bool any = look_up(database, tail, bound, copy, n_copies, match);
            if (database.origin == Origin::TEXT) found = any ? match.length : 0;
            if (!any) continue;
            const bool semantic = database.origin == Origin::STATES;
            const int bucket = std::min(match.length, rules_.longest_bucket);
            const double rate = database.rates[bucket], total = (double)match.total;
            double seen = 0.0;
            for (int k = 0; k < match.n; ++k)
                seen += (double)match.continuations[k].count - database.discount;
            const double scale = rate * seen < rules_.surest * total ? left * rate / total
                                                                     : left * rules_.surest / seen;
            answers_.push_back({node, which, bucket, (int)tokens_.size(), match.n, seen / total});
            for (int k = 0; k < match.n; ++k) {
                const Continuation& it = match.continuations[k];
                const double score = scale * ((double)it.count - database.discount);
                tokens_.push_back(it.token);
                auto same = std::find_if(candidates_.begin(), candidates_.end(),
                                         [&](const Candidate& c) { return c.token == it.token; });
                if (same == candidates_.end()) {
                    Candidate candidate{score,       it.count, it.token, node, which, match.length,
                                        it.position, 0,        0,        NAN,  0,     0};
                    if (semantic) candidate.length = -1;
                    candidates_.push_back(candidate);
                    same = candidates_.end() - 1;
                } else {
                    same->score += score;
                }
                if (semantic) same->cosine = best_cosine(copy, n_copies, it.position);
            }
            left -= scale * seen;
        }
        if (n_copies) share_copies(copy, n_copies);
        return found;
    }

    Round& open(const int32_t* text, int n, int64_t length) {
        const int64_t ahead = std::max<int64_t>(0, length - context_.size());
        Round& round = rounds_.emplace_back();
        round.length = length;
        round.ahead = (int)tokens_.size();
        round.n_ahead = (int)ahead;
        tokens_.insert(tokens_.end(), text + n - ahead, text + n);
        round.answer = (int)answers_.size();
        return round;
    }
    void close(Round& round) {
        round.n_answers = (int)answers_.size() - round.answer;
        round.node = (int)places_.size();
        round.n_nodes = (int)nodes_.size();
        for (const Candidate& node : nodes_) places_.push_back({node.token, node.parent});
    }

    // DatabaseDrafter._learn: walks the trees along what was emitted and counts hits and misses of
    // every answer on the way.
    void learn(const int32_t* tokens, int n) {
        for (const Round& round : rounds_) {
            const int64_t ahead = round.length - context_.size();
            // Drafted after tokens that the target then refused: what would have followed is not
            // known.
            if (ahead < 0 || ahead > n || ahead != round.n_ahead) continue;
            if (!std::equal(tokens, tokens + ahead, tokens_.begin() + round.ahead)) continue;
            int node = -1;
            for (int place = (int)ahead; place < n; ++place) {
                const int32_t token = tokens[place];
                for (int a = round.answer; a < round.answer + round.n_answers; ++a) {
                    const Answer& answer = answers_[a];
                    if (answer.node != node) continue;
                    const auto first = tokens_.begin() + answer.first, last = first + answer.n;
                    const bool hit = std::find(first, last, token) != last;
                    databases_[answer.which].observe(rules_, answer.bucket, answer.expected, hit);
                    if (hit) break;
                }
                const Place* places = places_.data() + round.node;
                int child = node + 1;
                while (child < round.n_nodes &&
                       !(places[child].parent == node && places[child].token == token))
                    ++child;
                if (child == round.n_nodes) break;
                node = child;
            }
        }
        rounds_.clear();
        tokens_.clear();
        answers_.clear();
        places_.clear();
    }

    const Drafting rules_;
    Context context_;
    Semantic semantic_;
    int layer_ = -1;
    std::vector<Asked> databases_;
    std::vector<double> at_, slopes_;
    double least_slope_ = 0, floor_ = 0;
    std::vector<int32_t> ends_;
    bool matched_ = false;
    // Of the tree being grown. The copies of a node are in a row.
    std::vector<Copy> copies_;
    std::vector<Candidate> candidates_, queue_, nodes_;
    // Of the trees drafted since the last tokens came.
    std::vector<Round> rounds_;
    std::vector<int32_t> tokens_;
    std::vector<Answer> answers_;
    std::vector<Place> places_;
};

}  // namespace hsd
