// Functions to call after a change.

/**
 * A set of listeners. One that throws is removed and its error passed to its `failed`; the others
 * are called.
 */
export function listeners<A extends unknown[]>() {
  const all = new Map<(...args: A) => void, (error: unknown) => void>();
  return {
    add(
      listener: (...args: A) => void,
      failed: (error: unknown) => void = (error) => reportError(error),
    ) {
      all.set(listener, failed);
    },
    delete: (listener: (...args: A) => void) => all.delete(listener),
    tell(...args: A) {
      for (const [listener, failed] of [...all]) {
        if (!all.has(listener)) continue;
        try {
          listener(...args);
        } catch (error) {
          all.delete(listener);
          failed(error);
        }
      }
    },
  };
}
