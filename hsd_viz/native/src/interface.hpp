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
constexpr int MAX_KEY_LENGTH = 16;

// The shape of a model.
struct ModelShape {
    int32_t type;  // the type of the weights: a number of hsd_viz.native.weights.STORAGE
    int32_t layers;  // the number of layers
    int32_t width;  // the width of a state
    int32_t heads;  // the number of query heads
    int32_t kv_heads;  // the number of key-value heads
    int32_t head_dim;  // the width of a head
    int32_t inner;  // the inner width of the feed-forward network
    int32_t vocab;  // the number of tokens in the vocabulary
    int32_t head_rows;  // the number of rows of a reduced head, else vocab
    double epsilon;  // the epsilon of the norms
    double scale;  // the factor of attention scores
};

// The settings of how tokens are drawn.
struct SamplingSettings {
    double temperature;  // the temperature; 0 for greedy decoding
    double top_p;  // the total probability of the nucleus; 1 for all tokens
    double min_p;  // the least probability relative to the largest; 0 for all tokens
    int32_t top_k;  // the number of likeliest tokens; 0 for all
};

// The settings of a level that is a model.
struct LevelSettings {
    Session* session;  // an empty sequence of the model
    const void* cos;  // the cosines of the rotary angles of all positions
    const void* sin;  // the sines of the rotary angles of all positions
    int64_t bytes;  // the bytes of weights that a forward pass reads
    double confidence;  // the joint probability below which a draft ends; 0 for never
    int32_t lookahead;  // the least number of tokens in a proposal; 0 for the target
    int32_t rule;  // the rule that verifies sampled chains: a RoundRow::Rule
    int32_t threads;  // the largest number of threads of a forward pass
    int32_t positions;  // the context length of a draft model in tokens; 0 for unlimited
};

// The settings of a decode.
struct DecodeSettings {
    SamplingSettings sampling;  // the settings of how tokens are drawn
    uint64_t seed;  // the seed of the random numbers
    int32_t vocab;  // the number of tokens in the vocabulary
    int32_t limit;  // the largest number of tokens in the text, including the prompt
    int32_t budget;  // the largest number of nodes in a draft of the drafter
    int32_t details;  // the number of likeliest tokens recorded per emitted token; 0 for no details
};

// The arrays of an open index file (hsd_viz.drafting.index.format).
struct IndexArrays {
    const uint32_t* starts;  // the first key of each bucket
    const uint32_t* marks;  // the mark of each key
    const uint32_t* places;  // the location of each key's values
    const void* values;  // the totals, continuations and counts of the keys
    int64_t n_starts;  // the number of elements in starts
    int64_t n_marks;  // the number of elements in marks
    int64_t n_places;  // the number of elements in places
    int64_t n_values;  // the number of elements in values
    int64_t limit;  // the upper bound (exclusive) of returned tokens; -1 for none
    int32_t value_bytes;  // the size of an element of values in bytes: 2 or 4
    int32_t wide;  // whether counts are stored without rounding
    int32_t shift;  // the number of bits by which a mark is shifted right to get its bucket
    int32_t longest;  // the length of the longest keys in tokens
    int32_t most_in_bucket;  // the largest number of keys examined in a bucket; 0 for all
};

// The settings of hsd_viz.drafting.semantic_database.SemanticDatabase.
struct SemanticSettings {
    double least_cosine;  // the least cosine of a copy
    double band_width;  // the width of a band of cosines
    int32_t most;  // the largest number of copies
    int32_t scanned;  // the largest number of occurrences that are compared
    int32_t bands;  // the number of bands
};

// The settings of hsd_viz.drafting.db.DatabaseDrafter.
struct DrafterSettings {
    double surest;  // the largest share of the remaining probability that a database can distribute
    double prior_weight;  // the weight of the prior rates, in expected hits
    double most_rate;  // the largest rate
    int32_t longest;  // the length of the longest keys in tokens
    int32_t recent;  // the number of occurrences of a key in the text that are counted
    int32_t most;  // the largest number of continuations of a key in the text
    int32_t longest_bucket;  // the longest key length with a rate of its own
};

// A node of a draft tree.
struct DraftedNode {
    double score;  // the estimated probability that the verifier accepts the node
    double cosine;  // the similarity by which the semantic database found it; NaN if it did not
    int64_t count;  // the number of times that the token followed the key
    int32_t token;  // the id of the token
    int32_t parent;  // the index of the parent node; -1 for the text
    int32_t database;  // the index of the database that proposed it first
    int32_t key_length;  // the number of matched tokens; -1 if the key is a state
    int32_t position;  // the position in the text from which it was copied; -1 if there is none
    int32_t depth;  // the depth in the tree, 1 for a node that follows the text
};

#pragma GCC visibility push(default)
extern "C" {
// Return the reason of the last failure; memory if there was too little memory.
const char* hsd_error();
// Return the size of the kernel's vectors in bytes.
int hsd_vector_bytes();
// Create a model without weights. When it fails: null.
Model* hsd_model_new(const ModelShape* shape);
// Set a vector or matrix: floats, or rows of 8-bit weights with a scale per row. When it fails: 0.
int hsd_model_set(Model* model, int layer, int slot, const void* data, const float* scales);
// Set a matrix of packed panels, which remain owned by the caller. When it fails: 0.
int hsd_model_panels(Model* model, int layer, int slot, const void* data, int bits);
// Disable rotary positions in a layer. When it fails: 0.
int hsd_model_disable_rope(Model* model, int layer);
// Set the tokens of a reduced head. When it fails: 0.
int hsd_model_head_tokens(Model* model, const int32_t* tokens, int n);
// Return the size of the weights that a forward pass reads, in bytes.
int64_t hsd_model_bytes(const Model* model);
// Return the size of a session's cache per token, in bytes.
int64_t hsd_model_cache_bytes(const Model* model);
// Free a model without sessions.
void hsd_model_free(Model* model);
// Open an empty sequence. When it fails: null.
Session* hsd_session_new(const Model* model);
// Feed n tokens after the cached ones, and write the logits [rows][vocab] after the last rows of
// them. When it fails: 0.
int hsd_session_forward(Session* session, const int32_t* tokens, int n, const int32_t* parents,
                        int rows, void* logits, const void* cos, const void* sin, int cached,
                        int threads);
// Feed the next token of each of n other sessions of the same model, with shared rotary tables.
// When it fails: 0.
int hsd_session_forward_batch(Session* session, Session* const* sessions, const int32_t* tokens,
                              int n, void* logits, const void* cos, const void* sin,
                              const int32_t* cached, int threads);
// Move the cache entries of n positions to the n positions from base on. When it fails: 0.
int hsd_session_keep(Session* session, int base, const int32_t* places, int n);
// Keep the input states of a layer, from the next forward pass on. When it fails: 0.
int hsd_session_watch(Session* session, int layer);
// Write the states [n][width] of the first n tokens of the last forward pass. When it fails: 0.
int hsd_session_states(const Session* session, int n, int8_t* numbers);
// Free a session.
void hsd_session_free(Session* session);
// Create a drafter without databases. When it fails: null.
Drafter* hsd_drafter_new(const DrafterSettings* settings);
// Add the next database: an index file or, without a file, the context database. priors has a rate
// per key length. When it fails: 0.
int hsd_drafter_add(Drafter* drafter, const IndexArrays* file, const double* priors,
                    double discount);
// Add the semantic database. priors has a rate per band of cosines. When it fails: 0.
int hsd_drafter_add_semantic(Drafter* drafter, const SemanticSettings* settings,
                             const double* priors, double discount);
// Set the layer of the target whose states a decode passes to the drafter. When it fails: 0.
int hsd_drafter_watch(Drafter* drafter, int layer);
// Append the states [n][width] of the next n positions of the text. When it fails: 0.
int hsd_drafter_states(Drafter* drafter, const int8_t* numbers, int n, int width);
// Set the costs and the slopes of 0 to n - 1 nodes, and the least score of a node. When it fails:
// 0.
int hsd_drafter_costs(Drafter* drafter, const double* at, const double* slopes, int n,
                      double least_slope, double floor);
// Set the tokens that end a text. When it fails: 0.
int hsd_drafter_ends(Drafter* drafter, const int32_t* tokens, int n);
// Learn from n emitted tokens, and append them to the text. When it fails: 0.
int hsd_drafter_extend(Drafter* drafter, const int32_t* tokens, int n);
// Draft after a text of length tokens that ends with the n tokens text. Write the nodes of the
// tree, and return their number; for an empty tree, return 0 (no match) or -1 (not worth it). When
// it fails: -2.
int hsd_drafter_draft(Drafter* drafter, const int32_t* text, int n, int64_t length, int budget,
                      DraftedNode* nodes);
// Free a drafter.
void hsd_drafter_free(Drafter* drafter);
// Create a decode by n levels, the target last, over a drafter, if any; wide for float64. The
// decode uses its sessions and drafter exclusively, and they must outlive it. When it fails: null.
Decode* hsd_decode_new(const DecodeSettings* settings, int wide, const LevelSettings* levels, int n,
                       Drafter* drafter, const int32_t* prompt, int n_prompt, const int32_t* ends,
                       int n_ends);
// Decode for ns nanoseconds or slightly longer, from the time now of the decode on. Return 2 if
// models are still to read the prompt, 1 if rounds follow, 0 at the end. When it fails: -1.
int hsd_decode_run(Decode* decode, int64_t ns, int64_t now);
// Return the count of numbers in the rows that the last run added to a table, and set their
// address, which is valid until the next run.
int hsd_decode_rows(const Decode* decode, int table, const double** numbers);
// Return the time of all runs in ns spent in forward passes, sampling and verification.
int64_t hsd_decode_inside(const Decode* decode);
// Free a decode.
void hsd_decode_free(Decode* decode);
}  // extern "C"
#pragma GCC visibility pop

}  // namespace hsd
