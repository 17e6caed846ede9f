// The script of every widget of this package. It draws the widget's `view` with the module of all
// views, which a page loads once per kernel. The module's text is in a model of the kernel, so that
// it is sent once, and is saved with the widgets of a notebook.
import { moduleOf, unpacked } from "./lib/dom";
import type { Drawing, Model, Widget } from "./lib/widget";

interface Traits {
  view: string;
  bundle: string;
}
interface Views {
  widgetOf(view: string): Partial<Widget<Traits>>;
}
type Manager = { get_model(id: string): Promise<Model<{ code: DataView<ArrayBuffer> }>> };

const page = globalThis as { hsd_viz?: Map<string, Promise<Views>> };
page.hsd_viz ??= new Map();
const modules = page.hsd_viz;

/**
 * Return the compressed module from its model, which may be announced later than the widget. A host
 * that lacks a widget manager sends the module in a message.
 */
async function packed(model: Model<Traits>, id: string): Promise<BlobPart> {
  const manager = (model as { widget_manager?: Manager }).widget_manager;
  for (let tries = 0; manager?.get_model && tries < 40; tries++) {
    try {
      return (await manager.get_model(id)).get("code");
    } catch {
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  return new Promise((resolve) => {
    model.on("msg:custom", (content: { kind?: string }, buffers: DataView<ArrayBuffer>[]) => {
      if (content?.kind === "bundle") resolve(buffers[0]);
    });
    model.send({ kind: "bundle" });
  });
}

async function load(model: Model<Traits>, id: string): Promise<Views> {
  return (await moduleOf(await unpacked(await packed(model, id)))) as unknown as Views;
}

export default () => {
  let widget: Partial<Widget<Traits>> = {};
  return {
    async initialize({ model }: { model: Model<Traits> }) {
      const id = model.get("bundle").replace("IPY_MODEL_", "");
      const views = modules.get(id) ?? load(model, id);
      modules.set(id, views);
      views.catch(() => modules.delete(id));
      widget = (await views).widgetOf(model.get("view"));
      return widget.initialize?.({ model });
    },
    render: (drawing: Drawing<Traits>) => widget.render?.(drawing),
  };
};
