// The scene of a downloaded family: answers a question with a stack of its models.
import { html } from "lit-html";
import { make } from "../lib/dom";
import { stackName } from "../lib/drafter_names";
import { offerPanel } from "../tab/offers";
import { type Article, decode, type SiteData, TOKENS } from "./article";
import { menu, openScene, sceneElement, views } from "./parts";

type Family = NonNullable<SiteData["families"]>[number];

/** The field of the question. */
function questionOf({ prompt }: Family): HTMLTextAreaElement {
  const question = make("textarea", "", "", { "aria-label": "Question" });
  question.name = "prompt";
  question.rows = 4;
  question.maxLength = 4000;
  question.value = prompt;
  return question;
}

/** A menu of example tasks that fill the field of the question. */
function tasks({ prompt: first, prompts }: Family, question: HTMLTextAreaElement) {
  const choose = ({ target }: { target: HTMLSelectElement }) => {
    const task = prompts.find(({ title }) => title === target.value);
    question.value = task?.prompt ?? question.value;
  };
  const option = ({ title, prompt }: Family["prompts"][number]) =>
    html`<option ?selected=${prompt === first}>${title}</option>`;
  return html`<label
    >Task
    <select @change=${choose}>
      ${prompts.map(option)}
    </select></label
  >`;
}

/** Return the stacks of a family: with databases, with each draft model, and without drafts. */
function stacksOf({ models }: Family): [value: string, words: string][] {
  const drafters = models.filter((name) => name !== "target");
  const stacks = ["db > target", ...drafters.map((name) => `${name}:4 > target`), "target"];
  return stacks.map((stack) => [stack, `${stackName(stack)}: ${stack}`]);
}

export function answers(article: Article) {
  const [tab] = article.tabs;
  const family = article.data.families?.find(({ name }) => name === tab?.offer.family);
  if (!tab || !family) return;
  const inner = make("div");
  const out = make("div");
  const stairs = make("div");
  const question = questionOf(family);
  sceneElement("answers").replaceChildren(offerPanel(tab), inner);
  const group = views(article, "answers", [
    ["staircase", stairs],
    ["stream", out],
  ]);
  const stacks = menu("Stack", "stack", stacksOf(family));
  openScene(inner, out, {
    controls: html`${tasks(family, question)} ${stacks}${question}`,
    button: "Answer in this tab",
    async act(given, work) {
      const request = {
        prompt: String(given.get("prompt")),
        family: family.name,
        chat: family.chat,
      };
      const stack = String(given.get("stack"));
      await decode(article, stack, 2 * TOKENS, group().store, work, request);
    },
  });
  out.before(stairs);
}
