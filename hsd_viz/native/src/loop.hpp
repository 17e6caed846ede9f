// The decoding loop of hsd_viz.decoding.loop, for levels that are native models over a native
// database drafter, if any.
//
// Hierarchical Speculative Decoding (Globerson et al. 2025, arXiv 2510.19705): a level verifies
// drafts until it has accepted at least its lookahead, then proposes these tokens, each with its
// own full row. loop.py lists the rules that keep this lossless.
#pragma once
#include "database_level.hpp"
#include "draws.hpp"
#include "interface.hpp"
#include "level_stack.hpp"
#include "record.hpp"
#include "recorder.hpp"
#include "verifier.hpp"

namespace hsd {

// A decode that is run in parts.
struct Decode {
    // What follows a run. The numbers are those that hsd_decode_run returns.
    enum Next { NOTHING, ROUNDS, PREFILL };

    Record record;
    virtual ~Decode() = default;
    // Decode from the time `now` on for at least `ns`, in whole parts of the prefill and whole
    // rounds, or to the end. The record has the rows since the last call.
    virtual Next run(int64_t ns, int64_t now) = 0;
};

// Create a Loop<double>, which is compiled separately.
Decode* new_wide_decode(const DecodeSettings& settings, const LevelSettings* levels, int n,
                        Drafter* drafter, const int32_t* prompt, int n_prompt, const int32_t* ends,
                        int n_ends);

template <class T> class Loop : public Decode {
  public:
    Loop(const DecodeSettings& settings, const LevelSettings* levels, int n, Drafter* drafter,
         const int32_t* prompt, int n_prompt, const int32_t* ends, int n_ends)
        : s_(settings),
          drafter_(drafter),
          draws_(settings.seed),
          text_(prompt, prompt + n_prompt),
          stack_(settings, levels, n, drafter),
          ends_(ends, ends + n_ends),
          none_(s_.vocab),
          target_rows_(s_.vocab),
          verifier_(s_.vocab, s_.sampling),
          recorder_(record, verifier_) {
        if (drafter_.watches_states())
            stack_.top_level().spec.session->watch(drafter_.watched_layer());
        leave_full_levels();
    }

    Next run(int64_t ns, int64_t now) override {
        record.clear();
        record.resume_at(now);
        const int64_t end = now + ns;
        Next next;
        do next = filling_ <= stack_.top() ? prefill() : round();
        while (next != NOTHING && record.now() < end);
        return next;
    }

  private:
    void leave_full_levels() {
        stack_.leave_full((int64_t)text_.size());
        none_.why = stack_.target_place() ? RoundRow::NO_ROOM : RoundRow::OFF;
    }

    // Feed the next part of the prompt, except its last token, to a level.
    Next prefill() {
        Level<T>& level = stack_[filling_];
        const int n = (int)text_.size() - 1;
        const int here = std::min(PREFILL_CHUNK, n - level.length);
        const int64_t start = record.now();
        if (level.is_database()) {
            drafter_.extend(text_.data(), n + 1);
            record.call(filling_++, CallRow::PREFILL, start, n + 1);
        } else if (here > 0) {
            const auto begin = text_.begin() + level.length;
            const int cached = feed(level, begin, begin + here);
            if (level.place == stack_.target_place()) drafter_.observe_states(level, here, {});
            record.call(level.place, CallRow::PREFILL, start, here, cached);
            if (level.length == n) ++filling_;
        } else {
            ++filling_;
        }
        return filling_ <= stack_.top() ? PREFILL : ROUNDS;
    }

    // Run a round of the target.
    Next round() {
        if ((int64_t)text_.size() >= s_.limit) return NOTHING;
        if ((int64_t)text_.size() >= stack_.reach()) leave_full_levels();
        const int top = stack_.top();
        const int64_t room = stack_.reach() - (int64_t)text_.size();
        record.open();
        const Draft<T>& drafted = draft(top - 1, (int)room - 1);
        target_rows_.clear();
        const LevelRound level_round = verify(top, drafted, target_rows_);
        recorder_.tokens(drafted, level_round, target_rows_, stack_.target_place(), s_.details,
                         [this](int start) { return stack_.path_from(start); });
        if (drafter_) update_drafter(level_round);
        append(level_round.emitted);
        close(top, drafted, level_round);
        return ends_text(text_.back()) || (int)text_.size() >= s_.limit ? NOTHING : ROUNDS;
    }

    // Let the drafter learn from the tokens that the target emitted.
    void update_drafter(const LevelRound& level_round) {
        const int64_t start = record.now();
        const int emitted = (int)level_round.emitted.size();
        drafter_.observe_states(stack_.top_level(), level_round.pending, level_round.accepted);
        drafter_.extend(level_round.emitted.data(), emitted);
        record.call(0, CallRow::UPDATE, start, emitted);
    }

    void append(const std::vector<int32_t>& tokens) {
        text_.insert(text_.end(), tokens.begin(), tokens.end());
    }

    // Draft at most `room` tokens that follow the text, distributed as level i's own (those of a
    // database are point masses).
    const Draft<T>& draft(int i, int room) {
        if (i < 0) return none_;
        Level<T>& level = stack_[i];
        Draft<T>& out = level.draft;
        out.clear();
        out.why = RoundRow::NO_ROOM;
        if (room <= 0) return out;
        if (level.is_database()) return look_up(out, room);
        const int wanted = std::min(level.spec.lookahead, room);
        if (i == 0) return sample(level, wanted);
        return collect(i, wanted, room);
    }

    // Let level i verify drafts of the level below until it has `wanted` tokens of its own, an end
    // token, or a joint probability below its confidence. Meanwhile the tokens are at the end of
    // the text.
    const Draft<T>& collect(int i, int wanted, int room) {
        Level<T>& level = stack_[i];
        Draft<T>& out = level.draft;
        const size_t base = text_.size();
        double reach = 1;
        while (out.size() < wanted && reach >= level.spec.confidence &&
               !(out.size() && ends_text(text_.back()))) {
            record.open();
            const Draft<T>& below = draft(i - 1, room - out.size() - 1);
            out.rows.keep(out.size());
            const LevelRound level_round = verify(i, below, out.rows);
            propose(level, below, level_round);
            if (level.spec.confidence > 0) reach *= chance_of(level_round.emitted, out);
            append(level_round.emitted);
            close(i, below, level_round);
        }
        text_.resize(base);
        level.set_end(wanted, ends_text(out.nodes.back().token));
        return out;
    }

    // Draft at most `room` tokens from the databases.
    const Draft<T>& look_up(Draft<T>& out, int room) {
        const int64_t start = record.now();
        drafter_.look_up(text_, room, s_.budget, stack_.target_place() + 1, out);
        record.call(0, CallRow::LOOKUP, start, out.size());
        return out;
    }

    // The joint probability of the tokens that were emitted last, which are at the end of `out`, by
    // the level's own rows; with greedy decoding, by its rows at temperature 1.
    double chance_of(const std::vector<int32_t>& emitted, const Draft<T>& out) {
        double product = 1;
        const int n = (int)emitted.size();
        for (int k = 0; k < n; ++k) {
            if (out.sampled) {
                product *= (double)out.rows.row(out.size() - n + k)[emitted[k]];
            } else {
                double p, entropy;
                Top top;
                verifier_.describe_walked(k, emitted[k], 1, p, entropy, top);
                product *= p;
            }
        }
        return product;
    }

    // Feed level i its uncached tokens and the draft in a forward pass, and return the accepted
    // tokens and one of its own. The rows from which it drew are added to `rows`.
    LevelRound verify(int i, const Draft<T>& draft, RowStore<T>& rows) {
        Level<T>& level = stack_[i];
        const int base = (int)text_.size();
        const int cached = level.length;
        const bool chain = draft.is_chain();
        const int64_t start = record.now();
        feed_with_draft(level, draft, chain);
        draw_numbers(i, draft);
        const double* r = buffers_.own_numbers.data();
        const double* u = buffers_.draft_numbers.data();
        verifier_.decide(draft.nodes, draft.q(), level.spec.rule, r, u, rows);
        record.inside += record.now() - start;

        LevelRound level_round;
        level_round.pending = base - cached;
        accept(draft, level_round);
        if (!chain) keep_accepted(level, base, level_round.accepted);
        level.length = base + (int)level_round.accepted.size();
        stack_.shorten_below(i, level.length);
        record.call(level.place, CallRow::VERIFY, start, level_round.pending + draft.size(),
                    cached);
        add_own_token(draft, level_round);
        return level_round;
    }

    // Keep only the accepted nodes of a tree that was fed from position `base` of the cache on.
    void keep_accepted(Level<T>& level, int base, const std::vector<int>& accepted) {
        std::vector<int32_t>& places = buffers_.places;
        places.clear();
        for (int node : accepted) places.push_back(base + node);
        level.spec.session->keep(base, places.data(), (int)places.size());
    }

    // Feed a level these tokens, for the logits after the last one; returns how many were cached.
    template <class Iterator> int feed(Level<T>& level, Iterator begin, Iterator end) {
        buffers_.fed.assign(begin, end);
        return level.feed(buffers_.fed, nullptr, 1, verifier_.logits(1));
    }

    // Feed a level its uncached tokens and the draft, and compute the logits after the text and
    // each node.
    void feed_with_draft(Level<T>& level, const Draft<T>& draft, bool chain) {
        std::vector<int32_t>& fed = buffers_.fed;
        std::vector<int32_t>& parents = buffers_.parents;
        fed.assign(text_.begin() + level.length, text_.end());
        const int pending = (int)fed.size();
        parents.clear();
        for (int k = 0; k < pending && !chain; ++k) parents.push_back(k - 1);
        for (const Node& node : draft.nodes) {
            fed.push_back(node.token);
            if (!chain) parents.push_back(pending + node.parent);
        }
        const int rows = draft.size() + 1;
        level.feed(fed, chain ? nullptr : parents.data(), rows, verifier_.logits(rows));
    }

    // Take from the verdict the accepted nodes up to an end token, and emit their tokens.
    void accept(const Draft<T>& draft, LevelRound& level_round) {
        for (int node : verifier_.verdict.accepted) {
            level_round.accepted.push_back(node);
            level_round.emitted.push_back(draft.nodes[node].token);
            if (ends_text(level_round.emitted.back())) return;
        }
    }

    // Emit the level's own token, unless an end token was accepted.
    void add_own_token(const Draft<T>& draft, LevelRound& level_round) {
        const Verdict& verdict = verifier_.verdict;
        const int accepted = (int)level_round.accepted.size();
        if (accepted && ends_text(level_round.emitted.back())) {
            level_round.outcome = RoundRow::STOPPED;
            return;
        }
        level_round.emitted.push_back(verdict.token);
        if (verdict.examined > accepted)
            // The last examined position had draft tokens, and all of them were rejected.
            level_round.outcome = RoundRow::CORRECTION;
        else
            level_round.outcome = draft.size() ? RoundRow::BONUS : RoundRow::PLAIN;
    }

    // Set the uniform numbers of a verification, whose count is fixed: u decides about the tokens
    // of a sampled chain, and r draws level i's own tokens. The target's r are keyed by position in
    // the text; all other numbers are used only once.
    void draw_numbers(int i, const Draft<T>& draft) {
        if (verifier_.greedy()) return;
        int places = 1;
        for (const Node& node : draft.nodes) places = std::max(places, 1 + node.depth);
        fresh(buffers_.draft_numbers, draft.sampled ? draft.size() : 0);
        std::vector<double>& own = buffers_.own_numbers;
        if (i < stack_.top()) return fresh(own, places);
        own.resize(places);
        for (int k = 0; k < places; ++k) own[k] = draws_.at((int64_t)text_.size() + k);
    }

    // Let level i, the lowest, decode `wanted` tokens by itself; fewer at an end token.
    const Draft<T>& sample(Level<T>& level, int wanted) {
        Draft<T>& out = level.draft;
        const bool greedy = verifier_.greedy();
        const int64_t start = record.now();
        const int cached = level.length, pending = (int)text_.size() - cached;
        const std::vector<double>& numbers = buffers_.own_numbers;
        if (!greedy) fresh(buffers_.own_numbers, wanted);
        out.sampled = !greedy;
        const double confidence = level.spec.confidence;
        double reach = 1;
        while (out.size() < wanted && reach >= confidence) {
            const int k = out.size();
            if (k == 0)
                feed(level, text_.begin() + cached, text_.end());
            else
                feed(level, &out.nodes[k - 1].token, &out.nodes[k - 1].token + 1);
            const int token = verifier_.sample(greedy ? 0 : numbers[k], out.rows);
            Node node{token, k - 1, k + 1};
            node.source = node.start = level.place;
            out.nodes.push_back(node);
            if (ends_text(token)) break;
            if (confidence > 0)
                reach *= greedy ? verifier_.chance_of(token) : (double)out.rows.row(k)[token];
        }
        level.set_end(wanted, ends_text(out.nodes.back().token));
        record.inside += record.now() - start;
        const int fed = pending + out.size() - 1;
        record.call(level.place, CallRow::DRAFT, start, fed, cached, out.size());
        return out;
    }

    // Add the tokens that a level emitted to its own draft, with its full rows.
    void propose(Level<T>& level, const Draft<T>& from, const LevelRound& level_round) {
        Draft<T>& out = level.draft;
        out.sampled = !verifier_.greedy();
        for (int k = 0; k < (int)level_round.emitted.size(); ++k) {
            Node node;
            if (k < (int)level_round.accepted.size()) {
                node = from.nodes[level_round.accepted[k]];
            } else {
                node.token = level_round.emitted[k];
                node.source = node.start = level.place;
            }
            node.parent = out.size() - 1;
            node.depth = out.size() + 1;
            out.nodes.push_back(node);
        }
        if (out.sampled) out.rows.keep(out.size());
    }

    // Record the draft of level i's verification and end the round.
    void close(int i, const Draft<T>& draft, const LevelRound& level_round) {
        const Level<T>& level = stack_[i];
        recorder_.draft(level.place, draft, level_round);
        recorder_.close_round(level.place, draft, level_round, level.spec.rule);
    }

    void fresh(std::vector<double>& numbers, int n) {
        numbers.resize(n);
        for (double& number : numbers) number = draws_.fresh();
    }
    bool ends_text(int32_t token) const {
        return std::find(ends_.begin(), ends_.end(), token) != ends_.end();
    }

    // Memory that steps reuse; none of it outlives the step that fills it.
    struct Buffers {
        std::vector<int32_t> fed, parents, places;
        std::vector<double> draft_numbers;  // u: of the tokens of a sampled chain
        std::vector<double> own_numbers;    // r: of the tokens that the level draws
    };

    const DecodeSettings s_;
    DatabaseLevel<T> drafter_;
    Draws draws_;
    std::vector<int32_t> text_;
    LevelStack<T> stack_;
    int filling_ = 0;  // the next level to prefill
    const std::vector<int32_t> ends_;
    Draft<T> none_;
    RowStore<T> target_rows_;
    Verifier<T> verifier_;
    Recorder<T> recorder_;
    Buffers buffers_;
};

}  // namespace hsd
