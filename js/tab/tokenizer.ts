// Byte-level BPE without normalization from a tokenizer.json; equal to the package `tokenizers`.

/** The fields of a tokenizer.json that are used. */
export interface TokenizerFile {
  added_tokens: { id: number; content: string }[];
  /** Splitting before GPT-2's pattern: digits may be separate words. */
  pre_tokenizer: { type: string; individual_digits?: boolean; pretokenizers?: { type: string }[] };
  model: { vocab: Record<string, number>; merges: [string, string][] };
}

/**
 * GPT-2's pattern of words: contractions; letters, digits or other characters after at most one
 * space; spaces.
 */
const SPACE = "\\p{White_Space}";
const WORDS = new RegExp(
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|" +
    ` ?[^${SPACE}\\p{L}\\p{N}]+|${SPACE}+(?!\\P{White_Space})|${SPACE}+`,
  "gu",
);

const DIGITS = /(\p{N})/u;

/** Return GPT-2's alphabet: the printable character for each byte of a byte-level vocabulary. */
function alphabet(): string[] {
  const plain = (b: number) => (b > 32 && b < 127) || (b > 160 && b < 173) || b > 173;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(plain(b) ? b : next++));
}
const CHARACTERS = alphabet();
const BYTES = new Map(CHARACTERS.map((character, byte) => [character, byte]));
const MAX_CACHED_WORDS = 20_000; // words

export class Tokenizer {
  readonly size: number;
  private readonly digits: boolean;
  private readonly vocab: Map<string, number>;
  private readonly tokens: string[] = [];
  private readonly special: Map<number, string>;
  private readonly ranks: Map<string, number>;
  private readonly kept = new Map<string, number[]>();
  private readonly texts = new Map<number, [text: string, raw: string | null]>();

  constructor(file: TokenizerFile) {
    this.vocab = new Map(Object.entries(file.model.vocab));
    for (const [token, id] of this.vocab) this.tokens[id] = token;
    this.special = new Map(file.added_tokens.map(({ id, content }) => [id, content]));
    for (const [id, content] of this.special) this.tokens[id] = content;
    this.ranks = new Map(file.model.merges.map(([a, b], rank) => [`${a} ${b}`, rank]));
    this.size = this.tokens.length;
    const { pretokenizers = [] } = file.pre_tokenizer;
    this.digits = pretokenizers.some(({ type }) => type === "Digits");
  }

  /**
   * Return the token ids of a text. Special tokens that are spelled out in it are recognized.
   * Throws an error for a lone surrogate.
   */
  encode(text: string): number[] {
    if (/\p{Surrogate}/u.test(text))
      throw new Error("the prompt contains a lone surrogate and is not valid Unicode");
    const ids: number[] = [];
    let rest = text;
    while (rest) {
      let at = rest.length;
      let first: [id: number, content: string] | null = null;
      for (const [id, content] of this.special) {
        const place = rest.indexOf(content);
        if (place < 0 || place >= at) continue;
        at = place;
        first = [id, content];
      }
      // Push ids word by word: those of a long text exceed the number of arguments of a call.
      for (const word of this.words(rest.slice(0, at)))
        for (const id of this.word(word)) ids.push(id);
      if (first) ids.push(first[0]);
      rest = rest.slice(at + (first ? first[1].length : 0));
    }
    return ids;
  }

  /** Yield the words of a text; merges do not cross their boundaries. */
  private *words(text: string): Generator<string> {
    const parts = this.digits ? text.split(DIGITS) : [text];
    for (const part of parts) for (const [word] of part.matchAll(WORDS)) yield word;
  }

  /** Return the bytes of a token. */
  bytes(id: number): Uint8Array {
    const token = this.tokens[id];
    if (token === undefined) return new TextEncoder().encode(`<${id}>`);
    if (this.special.has(id)) return new TextEncoder().encode(token);
    return Uint8Array.from([...token], (character) => BYTES.get(character) as number);
  }

  /**
   * Return the text of a token for display, and null. If its bytes are not complete characters,
   * return a text with escapes, and the bytes in hexadecimal.
   */
  piece(id: number): [text: string, raw: string | null] {
    let piece = this.texts.get(id);
    if (!piece) {
      const raw = this.bytes(id);
      try {
        piece = [new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw), null];
      } catch {
        piece = [escaped(raw), hexadecimal(raw)];
      }
      this.texts.set(id, piece);
    }
    return piece;
  }

  /** Return the text of tokens. Invalid UTF-8 becomes U+FFFD. */
  decode(ids: number[]): string {
    const bytes = Uint8Array.from(ids.flatMap((id) => [...this.bytes(id)]));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }

  /** Merge the bytes of a word: the pair of the lowest rank first, the leftmost among equals. */
  private word(word: string): number[] {
    const cached = this.kept.get(word);
    if (cached) return cached;
    // Bytes without a token are dropped.
    let parts = Array.from(new TextEncoder().encode(word), (byte) => CHARACTERS[byte]).filter(
      (character) => this.vocab.has(character),
    );
    while (parts.length > 1) {
      let best = Infinity;
      for (let i = 0; i + 1 < parts.length; i++)
        best = Math.min(best, this.ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity);
      if (best === Infinity) break;
      const merged: string[] = [];
      for (let i = 0; i < parts.length; i++) {
        if (i + 1 < parts.length && this.ranks.get(`${parts[i]} ${parts[i + 1]}`) === best)
          merged.push(parts[i] + parts[++i]);
        else merged.push(parts[i]);
      }
      parts = merged;
    }
    const ids = parts.map((part) => this.vocab.get(part) as number);
    if (this.kept.size < MAX_CACHED_WORDS && word.length < 64) this.kept.set(word, ids);
    return ids;
  }
}

const hexadecimal = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Decode bytes, writing those of incomplete characters as \xNN. */
function escaped(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    let length = Math.min(4, bytes.length - at);
    for (; length; length--) {
      const part = new TextDecoder().decode(bytes.subarray(at, at + length));
      if (!part.includes("\ufffd") && [...part].length === 1) {
        text += part;
        break;
      }
    }
    if (!length) text += `\\x${hexadecimal(bytes.subarray(at, at + 1))}`;
    at += length || 1;
  }
  return text;
}
