// The game as a view of recorded runs, as in lesson 1: it has no page to leave to.
import { guarded } from "../lib/notice";
import type { PaletteData } from "../lib/palette";
import type { Widget } from "../lib/widget";
import { type OwnText, openText } from "./own";

interface Traits extends OwnText {
  palette: PaletteData;
}

const view: Widget<Traits> = {
  render: guarded(({ model, el }) => {
    const text = {
      asked: model.get("asked"),
      given: model.get("given"),
      lesson: model.get("lesson"),
      passes: model.get("passes"),
      runs: model.get("runs"),
      title: "",
    };
    return openText(el, text, { palette: model.get("palette"), skip: null, leave() {} });
  }),
};
export default view;
