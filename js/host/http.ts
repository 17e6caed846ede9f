// Live runs of a page that `hsd-viz serve` serves: `POST /decode` answers with a line of JSON per
// event (hsd_viz/serve/app.py).
import { metricsOf } from "../lib/metrics";
import { SETTING_NAMES } from "../lib/options";
import { type Head, joined, type Meta, type Snapshot, type Step, storeOf } from "../lib/run";
import { besidePlain } from "../tab/host";

/** The fields of a request that the server takes. */
const FIELDS = ["prompt", "stack", ...SETTING_NAMES, "rule", "chat"];
/** A line: an event with its fields. */
interface Line
  extends Step,
    Record<"event" | "message" | "text", string>,
    Record<"position" | "done" | "total", number> {
  meta?: Meta &
    Head & { stack_resolved: string; bottom: string | null; models: { name: string }[] };
}

/**
 * The page's `decode`. A token in the page's address is removed there, and sent with each request.
 */
export function serverDecode() {
  const here = new URL(location.href);
  const token = here.searchParams.get("token");
  const headers = {
    "Content-Type": "application/json",
    ...(token && { Authorization: `Bearer ${token}` }),
  };
  here.searchParams.delete("token");
  history.replaceState(null, "", here);
  return besidePlain(async (request, on, signal) => {
    const steps = [{ tokens: {}, drafts: {}, rounds: {}, calls: {}, pieces: {} } as Step];
    let run = { run: `server-${Math.random()}`, seq: 0, meta: {} } as Snapshot;
    const take = ({ event, meta, ...one }: Line) => {
      if (event === "error") throw new Error(one.message);
      if (event === "queued") on.stage?.(`waiting in the queue: position ${one.position}`);
      if (event === "stage") on.stage?.(one.text, one.done, one.total);
      if (event === "step") steps.push(one);
      if (!meta) return;
      const { stack: asked, stack_resolved: stack, bottom, models, prompt, prompt_ids } = meta;
      const levels = [
        ...(bottom ? [bottom.split("[")[0]] : []),
        ...models.map((model) => model.name),
      ];
      run = { ...run, prompt, prompt_ids, levels, meta: { ...meta, stack, asked } };
      if (event === "finished") return;
      run.meta.wall_ns = null; // until its end, the meta is that of a cancelled run
      on.begin?.({
        ...run,
        ...steps[0],
        pieces: one.pieces,
        meta: { ...run.meta, cancelled: false },
      });
    };
    try {
      const answer = await fetch("decode", {
        method: "POST",
        headers,
        body: JSON.stringify(request, FIELDS),
        signal,
      });
      if (!answer.ok) throw new Error((await answer.json()).error);
      const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (
        let rest = "", part = await reader?.read();
        part && !part.done;
        part = await reader?.read()
      ) {
        const first = steps.length;
        const lines = (rest + part.value).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) take(JSON.parse(line));
        const last = {
          kind: "append" as const,
          run: run.run,
          first,
          seq: steps.length - 1,
          steps: steps.slice(first),
        };
        if (last.steps.length) on.append?.(last);
      }
      if (run.meta.cancelled !== false)
        throw new Error("the server closed the connection before the end");
    } catch (problem) {
      if (!signal.aborted)
        throw problem instanceof TypeError ? new Error("the server does not answer") : problem;
    }
    run = { ...run, ...joined(steps), seq: steps.length - 1 };
    const { prefill_seconds, seconds, tokens_per_second } = metricsOf(storeOf(run));
    run.meta.wall_ns ??= Math.round(1e9 * (prefill_seconds + seconds));
    return { run, speed: tokens_per_second };
  });
}
