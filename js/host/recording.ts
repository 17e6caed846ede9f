// The host of a page that has only recorded runs, as an exported file: what it lacks is said on the page.
import type { About, Host } from "../host";
import type { Snapshot } from "../lib/run";

/** `runs`: recordings by the names in `about`. */
export function recordingHost(about: About, runs: Record<string, Snapshot>): Host {
  return {
    about,
    answers: [],
    async recording(name) {
      const run = runs[name];
      if (!run) throw new Error(`no recording is named '${name}'`);
      return run;
    },
  };
}
