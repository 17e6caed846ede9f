// What the browser keeps over a reload: the form's values (localStorage) and the run decoded on the page (sessionStorage).
// Nothing leaves the browser but to the page's own kernel.
import { guarded } from "../lib/notice";
import type { Drawing, Model } from "../lib/widget";

interface Traits {
  form: Record<string, unknown>;
}
const FORM = "hsd_viz.form";
const RUN = "hsd_viz.run";

/** A stored value, or null: none, or no storage. */
function stored(kind: "localStorage" | "sessionStorage", name: string) {
  try {
    return globalThis[kind].getItem(name);
  } catch {
    return null;
  }
}
/** Store a value; without storage, or none left, it lives as long as the page. */
function store(kind: "localStorage" | "sessionStorage", name: string, value: string) {
  try {
    globalThis[kind].setItem(name, value);
  } catch {
    /* as above */
  }
}
/** The stored form, or null. */
export function storedForm(text = stored("localStorage", FORM)) {
  try {
    return JSON.parse(text || "null");
  } catch {
    return null;
  }
}

export default () => {
  let reported = false;
  return {
    initialize({ model }: { model: Model<Traits> }) {
      const keep = () => store("localStorage", FORM, JSON.stringify(model.get("form")));
      const hear = (message: { kind: string }, buffers: DataView[]) => {
        if (message.kind !== "keep") return;
        const { buffer, byteOffset, byteLength } = buffers[0];
        const bytes = new Uint8Array(buffer, byteOffset, byteLength);
        store("sessionStorage", RUN, btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")));
      };
      model.on("change:form", keep);
      model.on("msg:custom", hear);
      return () => {
        model.off("change:form", keep);
        model.off("msg:custom", hear);
      };
    },
    // Nothing to draw. Python changes other widgets when it hears what is stored: the page loses changes of widgets that it
    // has not created yet, and they are all there when it draws.
    render: guarded(({ model, el }: Drawing<Traits>) => {
      el.hidden = true;
      if (!reported) {
        const run = stored("sessionStorage", RUN);
        const file = run ? [Uint8Array.from(atob(run), (c) => c.charCodeAt(0)).buffer] : [];
        model.send({ kind: "stored", form: storedForm() }, undefined, file);
      }
      reported = true;
      return () => {};
    }),
  };
};
