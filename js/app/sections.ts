// A long page in proportion: its first section is open, each other one a line that opens.

/** Fold the sections of a page, each from a heading to the next one, from the second on. */
export function foldSections(main: Element) {
  const { ownerDocument: page } = main;
  for (const heading of [...main.querySelectorAll<HTMLElement>(":scope > h2")].slice(1)) {
    const folder = page.createElement("details");
    const title = page.createElement("summary");
    heading.before(folder);
    title.append(heading);
    // In the line of the mark that opens it.
    Object.assign(heading.style, { display: "inline", border: "0", margin: "0", padding: "0" });
    Object.assign(title.style, { margin: "16px 0", cursor: "pointer" });
    folder.append(title);
    while (folder.nextElementSibling && folder.nextElementSibling.tagName !== "H2")
      folder.append(folder.nextElementSibling);
  }
}
