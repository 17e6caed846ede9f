// Learning from past drafts: DatabaseDrafter._learn and Trust of hsd_viz.drafting.
#pragma once
#include <algorithm>
#include <vector>
#include "database.hpp"

namespace hsd {

constexpr int MAX_BUCKETS = 16;

// The kinds of the drafter's databases: context, semantic, or an index file.
enum class Origin { TEXT, STATES, FILE };

// A database of the drafter, and the trust in it (Trust).
struct Asked {
    Origin origin;
    IndexFile file;
    double discount;
    double priors[MAX_BUCKETS], rates[MAX_BUCKETS], hits[MAX_BUCKETS] = {},
                                                    expected[MAX_BUCKETS] = {};

    void observe(const DrafterSettings& settings, int bucket, double share, bool hit) {
        const double seen = hits[bucket] += hit, total = expected[bucket] += share;
        const double rate =
            (settings.prior_weight * priors[bucket] + seen) / (settings.prior_weight + total);
        rates[bucket] = rate < settings.most_rate ? rate : settings.most_rate;
    }
};

// The trees drafted since the last tokens were emitted, to learn from when the next ones are.
class PastDrafts {
  public:
    // Reserve memory for the first rounds.
    PastDrafts() {
        rounds_.reserve(16);
        tokens_.reserve(1024);
        answers_.reserve(256);
        places_.reserve(256);
    }

    // Begin a tree after a text of `length` tokens, of which `emitted` were emitted; the text ends
    // with the n tokens `text`.
    void open(const int32_t* text, int n, int64_t length, int64_t emitted) {
        const int64_t ahead = std::max<int64_t>(0, length - emitted);
        Round& round = rounds_.emplace_back();
        round.length = length;
        round.ahead = (int)tokens_.size();
        round.n_ahead = (int)ahead;
        tokens_.insert(tokens_.end(), text + n - ahead, text + n);
        round.answer = (int)answers_.size();
    }

    // Add the answer of a database after a node of that tree (-1: the text), by a key of a bucket:
    // one of these continuations follows with the probability `expected`.
    void add_answer(int node, int which, int bucket, double expected, const Match& match) {
        answers_.push_back({node, which, bucket, (int)tokens_.size(), match.n, expected});
        for (int k = 0; k < match.n; ++k) tokens_.push_back(match.continuations[k].token);
    }

    // End the tree, which has these nodes.
    template <class Node> void close(const std::vector<Node>& nodes) {
        Round& round = rounds_.back();
        round.n_answers = (int)answers_.size() - round.answer;
        round.node = (int)places_.size();
        round.n_nodes = (int)nodes.size();
        for (const Node& node : nodes) places_.push_back({node.token, node.parent});
    }

    // Follow the trees along the n `tokens` after the `emitted` ones, count the hits and misses of
    // each answer on the path, and remove the trees.
    void learn(const int32_t* tokens, int n, int64_t emitted, const DrafterSettings& settings,
               std::vector<Asked>& databases) {
        for (const Round& round : rounds_) {
            const int64_t ahead = round.length - emitted;
            // The draft followed tokens that the target rejected, so its correct continuation is
            // not known.
            if (ahead < 0 || ahead > n || ahead != round.n_ahead) continue;
            if (!std::equal(tokens, tokens + ahead, tokens_.begin() + round.ahead)) continue;
            int node = -1;
            for (int place = (int)ahead; place < n; ++place) {
                observe(round, node, tokens[place], settings, databases);
                const int child = child_of(round, node, tokens[place]);
                if (child == round.n_nodes) break;
                node = child;
            }
        }
        rounds_.clear();
        tokens_.clear();
        answers_.clear();
        places_.clear();
    }

  private:
    // The continuations of an answer are tokens_[first : first + n].
    struct Answer {
        int node, which, bucket, first, n;
        double expected;
    };
    // The parts of a tree are consecutive in the vectors below.
    struct Round {
        int64_t length;
        int ahead, n_ahead, node, n_nodes, answer, n_answers;
    };
    struct Place {
        int32_t token, parent;
    };

    // Count for each database, in order, whether it proposed the token after a node, up to the
    // first that did.
    void observe(const Round& round, int node, int32_t token, const DrafterSettings& settings,
                 std::vector<Asked>& databases) const {
        for (int a = round.answer; a < round.answer + round.n_answers; ++a) {
            const Answer& answer = answers_[a];
            if (answer.node != node) continue;
            const auto first = tokens_.begin() + answer.first, last = first + answer.n;
            const bool hit = std::find(first, last, token) != last;
            databases[answer.which].observe(settings, answer.bucket, answer.expected, hit);
            if (hit) break;
        }
    }

    // The child of a node with a token; n_nodes if there is none.
    int child_of(const Round& round, int node, int32_t token) const {
        const Place* places = places_.data() + round.node;
        int child = node + 1;
        while (child < round.n_nodes &&
               !(places[child].parent == node && places[child].token == token))
            ++child;
        return child;
    }

    std::vector<Round> rounds_;
    std::vector<int32_t> tokens_;
    std::vector<Answer> answers_;
    std::vector<Place> places_;
};

}  // namespace hsd
