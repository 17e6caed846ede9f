// Extends a host's decode by plain decoding, which measures the speed-up.
import type { DecodeRequest, Host, Progress } from "../host";
import { headOf, type Snapshot } from "../lib/run_data";

/** Number of tokens of the plain run that a speed-up is measured against. */
const PLAIN_TOKENS = 32;
/** Decodes to the end, or until `signal` cancels. */
type Decode = (
  request: DecodeRequest,
  on: Partial<Progress>,
  signal: AbortSignal,
) => Promise<{ run: Snapshot; speed: number | null }>;

/** Return a host's `decode` that also runs plain decoding if the request has `beside_plain`. */
export const besidePlain =
  (decode: Decode): NonNullable<Host["decode"]> =>
  async (request, on, signal) => {
    const { run } = await decode(request, on, signal);
    if (!run.tokens.token_id?.length)
      throw new DOMException("The decode was cancelled.", "AbortError");
    const head = headOf(run);
    const { levels, meta } = head;
    if (!request.beside_plain || levels.length < 2 || signal.aborted) return head;
    on.stage("plain decoding, for comparison");
    const plain = { ...request, stack: levels[levels.length - 1], max_new_tokens: PLAIN_TOKENS };
    const { speed } = await decode(plain, {}, signal).catch(() => ({ speed: null }));
    return speed ? { ...head, meta: { ...meta, plain: { tokens_per_second: speed } } } : head;
  };
