// The recorded runs of the site: each is loaded once for all scenes.
import type { Snapshot } from "../lib/run_data";
import { recording as load } from "../tab/host";

const loaded = new Map<string, Promise<Snapshot>>();

/** Load a recorded run, unless it was loaded before; one that failed is loaded again. */
export function recording(name: string): Promise<Snapshot> {
  const known = loaded.get(name);
  if (known) return known;
  const run = load(name);
  loaded.set(name, run);
  run.catch(() => loaded.delete(name));
  return run;
}
