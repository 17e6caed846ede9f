// Lists of listeners.

/**
 * Return a list of listeners. One that throws is removed, and its `failed` gets the error; the
 * others are still called.
 */
export function listeners<A extends unknown[]>() {
  const handlers = new Map<(...args: A) => void, (error: unknown) => void>();
  return {
    add(
      listener: (...args: A) => void,
      failed: (error: unknown) => void = (error) => reportError(error),
    ) {
      handlers.set(listener, failed);
    },
    delete: (listener: (...args: A) => void) => handlers.delete(listener),
    notify(...args: A) {
      for (const [listener, failed] of [...handlers]) {
        if (!handlers.has(listener)) continue;
        try {
          listener(...args);
        } catch (error) {
          handlers.delete(listener);
          failed(error);
        }
      }
    },
  };
}
