// The menu of the page's theme. A page without themes of its own, as in JupyterLab, has none.
import { nothing } from "lit-html";
import { menu } from "../lib/fields";

const THEMES = { system: "System", light: "Light", dark: "Dark" };
const MENU = { class: "hsd-theme", label: "Theme", title: "Theme of the page" };

export function themeMenu() {
  const themes = (window as { hsdTheme?: { chosen(): string; choose(name: string): void } })
    .hsdTheme;
  if (!themes) return nothing;
  return menu(Object.entries(THEMES), themes.chosen(), themes.choose, MENU);
}
