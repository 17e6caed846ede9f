// Folds the sections of a long page, so that its first one is read first.

/** Fold each section from the second on. A section reaches from a heading to the next one. */
export function foldSections(main: Element) {
  const { ownerDocument: page } = main;
  for (const heading of [...main.querySelectorAll<HTMLElement>(":scope > h2")].slice(1)) {
    const folder = page.createElement("details");
    const title = page.createElement("summary");
    heading.before(folder);
    title.append(heading);
    // On one line with the marker that opens the section.
    Object.assign(heading.style, { display: "inline", border: "0", margin: "0", padding: "0" });
    Object.assign(title.style, { margin: "16px 0", cursor: "pointer" });
    folder.append(title);
    while (folder.nextElementSibling && folder.nextElementSibling.tagName !== "H2")
      folder.append(folder.nextElementSibling);
  }
}
