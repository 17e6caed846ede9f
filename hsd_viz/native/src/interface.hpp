// Written by `python -m tools.reference` from hsd_viz/native/structures.py and interface.py.
// clang-format off
#pragma once
#include <cstdint>

namespace hsd {

struct Model;
struct Session;
class Drafter;
struct Decode;

// The types of weights.
enum Storage { FLOAT32, FLOAT64, BFLOAT16, INT8, INT8_GROUPS };

// The vectors and matrices of a layer, then those of a whole model.
enum Slot { Q, K, V, O, GATE, UP, DOWN, INPUT_NORM, POST_NORM, Q_NORM, K_NORM, Q_BIAS, K_BIAS,
    V_BIAS, EMBEDDING, FINAL_NORM, HEAD };

// The most tokens of the prompt that are fed at a time.
constexpr int PREFILL_CHUNK = 512;

// The most tokens of a key that a database of the drafter has.
constexpr int MOST_KEY = 16;

// A model's measures.
struct ModelShape {
    int32_t type;  // of its weights: a number of hsd_viz.native.weights.STORAGE
    int32_t layers;  // their number
    int32_t width;  // of a state
    int32_t heads;  // of queries
    int32_t kv_heads;  // of keys and values
    int32_t head_dim;  // the width of a head
    int32_t inner;  // the width inside the feed-forward part
    int32_t vocab;  // the tokens of its vocabulary
    int32_t head_rows;  // those of a reduced head, else vocab
    double epsilon;  // of the norms
    double scale;  // multiplies the attention scores
};

// How tokens are drawn.
struct SamplingSettings {
    double temperature;  // 0: greedy decoding
    double top_p;  // the probability of the nucleus; 1: all tokens
    double min_p;  // the least share of the largest probability; 0: all tokens
    int32_t top_k;  // so many of the likeliest tokens; 0: all
};

// A level of a decode that is a model.
struct LevelSettings {
    Session* session;  // its empty sequence
    const void* cos;  // cosines of the angles of all places
    const void* sin;  // their sines
    int64_t bytes;  // of its weights
    double confidence;  // the probability of its tokens below which its draft ends; 0: never
    int32_t lookahead;  // what it proposes at least; 0 at the target
    int32_t rule;  // by which it verifies sampled chains: a RoundRow::Rule
    int32_t threads;  // the most of a forward pass
    int32_t positions;  // the tokens of text that a draft model can read; 0: any number
};

// The settings of a decode.
struct DecodeSettings {
    SamplingSettings sampling;  // how tokens are drawn
    uint64_t seed;  // of the random numbers
    int32_t vocab;  // the tokens of the vocabulary
    int32_t limit;  // the most tokens of the text, prompt included
    int32_t budget;  // the most nodes of a database's draft
    // how many likeliest tokens are recorded of each emitted row; 0: no row is described
    int32_t details;
};

// The arrays of an open index file (hsd_viz.drafting.index.format), and how they are read.
struct IndexArrays {
    const uint32_t* starts;  // of the buckets
    const uint32_t* marks;  // of the keys
    const uint32_t* places;  // where the values of a key are
    const void* values;  // continuations and counts
    int64_t n_starts;  // elements of starts
    int64_t n_marks;  // elements of marks
    int64_t n_places;  // elements of places
    int64_t n_values;  // elements of values
    int64_t limit;  // tokens from here on are not given; -1: all are
    int32_t value_bytes;  // of an element of values: 2 or 4
    int32_t wide;  // whether counts are stored as they are
    int32_t shift;  // of a mark to its bucket
    int32_t longest;  // the tokens of a key, at most
    int32_t most_in_bucket;  // keys looked at in one bucket; 0: all
};

// The numbers of hsd_viz.drafting.semantic_database.SemanticDatabase.
struct SemanticSettings {
    double least_cosine;  // of a copy
    double band_width;  // of the cosines that are trusted alike
    int32_t most;  // copies that are continued
    int32_t scanned;  // occurrences that are compared, at most
    int32_t bands;  // of cosines
};

// The numbers of hsd_viz.drafting.db.DatabaseDrafter.
struct DrafterSettings {
    double surest;  // the largest share of the probability that a database gets
    double prior_weight;  // of the acceptance rates that are expected, in answers
    double most_rate;  // the largest acceptance rate
    int32_t longest;  // the tokens of a key, at most
    int32_t recent;  // places of a key in the text that are looked at
    int32_t most;  // continuations of a key in the text
    int32_t longest_bucket;  // the longest key with an acceptance rate of its own
};

// A node of a draft tree.
struct DraftedNode {
    double score;  // the estimated probability that the verifier accepts it
    double cosine;  // by which the semantic database found it; NaN: it did not
    int64_t count;  // how often the token was seen there
    int32_t token;  // its id
    int32_t parent;  // the node before it; -1: the text
    int32_t database;  // the place of the database that proposed it first
    int32_t key_length;  // the tokens that were matched; -1: there is no key
    int32_t position;  // the place in the text that it was copied from; -1: there is none
    int32_t depth;  // 1 for those that follow the text
};

#pragma GCC visibility push(default)
extern "C" {
// Return why the last function that failed did, memory if there was too little.
const char* hsd_error();
// Return the bytes of a vector of the kernel.
int hsd_vector_bytes();
// Make a model without weights. When it fails: null.
Model* hsd_model_new(const ModelShape* shape);
// Set a vector or matrix: floats, or rows of 8-bit weights with a scale each. When it fails: 0.
int hsd_model_set(Model* model, int layer, int slot, const void* data, const float* scales);
// Set a matrix of packed panels, which stay the caller's. When it fails: 0.
int hsd_model_panels(Model* model, int layer, int slot, const void* data, int bits);
// Have a layer not turn its queries and keys. When it fails: 0.
int hsd_model_unturned(Model* model, int layer);
// Set the tokens of a reduced head. When it fails: 0.
int hsd_model_head_tokens(Model* model, const int32_t* tokens, int n);
// Return the bytes of weights that a forward pass reads.
int64_t hsd_model_bytes(const Model* model);
// Return the bytes of a session's cache per token.
int64_t hsd_model_cache_bytes(const Model* model);
// Free a model that has no session.
void hsd_model_free(Model* model);
// Open an empty sequence. When it fails: null.
Session* hsd_session_new(const Model* model);
// Feed n tokens after the cached ones, for the logits [rows][vocab] after the last ones. When it
// fails: 0.
int hsd_session_forward(Session* session, const int32_t* tokens, int n, const int32_t* parents,
                        int rows, void* logits, const void* cos, const void* sin, int cached,
                        int threads);
// Feed the next token of each of n other sessions of the same model, all with the angles of the
// same table. When it fails: 0.
int hsd_session_together(Session* session, Session* const* sessions, const int32_t* tokens, int n,
                         void* logits, const void* cos, const void* sin, const int32_t* cached,
                         int threads);
// Move what is cached at these places to the n places after base.
void hsd_session_keep(Session* session, int base, const int32_t* places, int n);
// Keep what this layer reads, from the next forward pass on. When it fails: 0.
int hsd_session_watch(Session* session, int layer);
// Write the states [n][width] of the first n tokens that were fed last.
void hsd_session_states(const Session* session, int n, int8_t* numbers);
// Free a session.
void hsd_session_free(Session* session);
// Make a drafter without databases. When it fails: null.
Drafter* hsd_drafter_new(const DrafterSettings* settings);
// Add the next database to ask: an index file, or without one the text's own. priors has a rate for
// each key length. When it fails: 0.
int hsd_drafter_add(Drafter* drafter, const IndexArrays* file, const double* priors,
                    double discount);
// Add the semantic database. priors has a rate for each band of cosines. When it fails: 0.
int hsd_drafter_add_semantic(Drafter* drafter, const SemanticSettings* settings,
                             const double* priors, double discount);
// Set the layer of the target whose states a decode passes to the drafter.
void hsd_drafter_watch(Drafter* drafter, int layer);
// Pass the states [n][width] of the next n places of the text. When it fails: 0.
int hsd_drafter_states(Drafter* drafter, const int8_t* numbers, int n, int width);
// Set the cost and the least slope of 0 to n - 1 nodes, and the least score of a node. When it
// fails: 0.
int hsd_drafter_costs(Drafter* drafter, const double* at, const double* slopes, int n,
                      double least_slope, double floor);
// Set the tokens that end a text. When it fails: 0.
int hsd_drafter_ends(Drafter* drafter, const int32_t* tokens, int n);
// Learn from n emitted tokens and remember them. When it fails: 0.
int hsd_drafter_extend(Drafter* drafter, const int32_t* tokens, int n);
// Write the nodes of the tree after a text of length tokens that ends in the n tokens text. Return
// their number, without any 0 (no match) or -1 (not worth it). When it fails: -2.
int hsd_drafter_draft(Drafter* drafter, const int32_t* text, int n, int64_t length, int budget,
                      DraftedNode* nodes);
// Free a drafter.
void hsd_drafter_free(Drafter* drafter);
// Begin a decode by n levels, the target last, wide in float64, over a drafter of its own, if any.
// Sessions and drafter must outlive it and are its own meanwhile. When it fails: null.
Decode* hsd_decode_new(const DecodeSettings* settings, int wide, const LevelSettings* levels, int n,
                       Drafter* drafter, const int32_t* prompt, int n_prompt, const int32_t* ends,
                       int n_ends);
// Decode for ns or a little longer, from the time now of the decode on. Return 1 where there is
// more to do, 0 at the end. When it fails: -1.
int hsd_decode_run(Decode* decode, int64_t ns, int64_t now);
// Return how many numbers the rows have that the last run added to a table, and set where they are
// until the next run.
int hsd_decode_rows(const Decode* decode, int table, const double** numbers);
// Return the time of all runs in forward passes, and in sampling and verification by their logits.
int64_t hsd_decode_inside(const Decode* decode);
// Free a decode.
void hsd_decode_free(Decode* decode);
}  // extern "C"
#pragma GCC visibility pop

}  // namespace hsd
