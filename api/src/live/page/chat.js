// The chat with the assistant. Answers are streamed; what a lost stream did not bring is asked for under the same id.
import { uuid } from "/live/socket.js";

const at = (id) => document.getElementById(id);
const PATH = "/v2/messages";
const WORDS = { key: "Not started", ready: "Ready", answering: "Thinking", failed: "Failed" };
/** Between two looks at an answer that is given elsewhere, in milliseconds. */
const PAUSE = 1_500;
let state = "key";

function show(next) {
  state = next;
  document.body.dataset.state = next;
  at("word").textContent = WORDS[next];
  at("door").hidden = next !== "key";
  at("chat").hidden = next === "key";
  at("asking").querySelector("div button").disabled = next === "answering";
  at("clear").disabled = next === "answering";
  at("empty").hidden = at("messages").children.length > 0;
}

/** Who reads further up is left there. */
const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
const toEnd = () => scrollTo(0, document.documentElement.scrollHeight);

const ask = (path, options = {}) =>
  fetch(path, {
    ...options,
    headers: {
      authorization: `Bearer ${sessionStorage.getItem("key")}`, "content-type": "application/json", ...options.headers,
    },
  });

/** Shows the chat as it is, and whether the key may see it. */
async function enter() {
  // A header cannot carry every character, and a key has none of those.
  const answer = await ask(`${PATH}?limit=50`).catch((error) => (error instanceof TypeError ? null : Promise.reject(error)));
  if (!answer?.ok) {
    const wrong = {
      401: "This key is not known here. Look whether it is whole.",
      403: "This key may not chat. It needs the scopes chat:read and chat:write.",
    };
    const words = answer ? wrong[answer.status] ?? `The service answered ${answer.status}. Try again.` : "The service could not be asked. Try again.";
    return refuse(words);
  }
  const messages = await answer.json();
  at("messages").replaceChildren(...messages.map(written));
  show("ready");
  at("question").focus();
  toEnd();
  const last = messages.at(-1);
  if (last?.status === "running") await follow(at("messages").lastElementChild, () => shown(last.id));
}

function refuse(words) {
  sessionStorage.removeItem("key");
  show("key");
  at("wrong").textContent = words;
  at("key").focus();
}

at("door").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("wrong").textContent = "";
  sessionStorage.setItem("key", at("key").value.trim());
  await enter();
  if (state !== "key") at("key").value = "";
});

at("forget").addEventListener("click", () => {
  sessionStorage.clear();
  at("messages").replaceChildren();
  show("key");
  at("key").focus();
});

at("clear").addEventListener("click", async () => {
  if (!confirm("Remove all messages of this chat for good?")) return;
  const answer = await ask(PATH, { method: "DELETE" }).catch(() => null);
  at("notice").textContent = answer?.ok ? "" : "The chat could not be cleared. Try again.";
  if (answer?.ok) at("messages").replaceChildren();
  show("ready");
  at("question").focus();
});

at("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("asking").requestSubmit();
});

at("asking").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = at("question").value.trim();
  if (!text || state === "answering") return;
  at("notice").textContent = "";
  at("question").value = "";
  const question = written({ sender: "human", text });
  const reply = written({ sender: "ai", text: "", status: "running" });
  at("messages").append(question, reply);
  toEnd();
  const body = JSON.stringify({ text, id: uuid() });
  const kept = await follow(reply, () => streamed(reply, body));
  if (kept) return;
  // Nothing of it was stored: the words go back to where they were typed.
  question.remove();
  reply.remove();
  at("question").value = text;
  show(state);
});

/** Looks again and again until the answer is there; `false`: the message was refused. */
async function follow(reply, look) {
  show("answering");
  for (;;) {
    const message = await look().catch(() => null);
    if (message === "refused") return show("failed"), false;
    if (message && message.status !== "running") {
      const stays = isAtEnd();
      reply.replaceWith(written(message));
      if (stays) toEnd();
      show(message.status === "completed" ? "ready" : "failed");
      return true;
    }
    if (message?.text) reply.querySelector("p").textContent = message.text;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

/** A message of the list, by its id. */
async function shown(id) {
  const answer = await ask(`${PATH}?limit=50`);
  return (await answer.json()).find((message) => message.id === id) ?? "refused";
}

/** Asks, and shows the events of the answer as they come. Asked again under the same id, the service answers the same. */
async function streamed(reply, body) {
  const answer = await ask(PATH, { method: "POST", body, headers: { accept: "text/event-stream" } });
  if (!answer.ok) return refused(answer);
  const [said, progress] = [reply.querySelector("p"), reply.querySelector(".progress")];
  said.textContent = "";
  let last = null;
  for await (const [event, data] of events(answer.body)) {
    if (event === "status") progress.textContent = data.text;
    if (event === "tool" && data.state !== "started") progress.textContent = "Thinking…";
    if (event === "text") {
      const stays = isAtEnd();
      said.append(data.delta);
      if (stays) toEnd();
    }
    if (event === "done") last = data.message;
  }
  return last;
}

async function refused(answer) {
  // Busy, or the service is starting anew: it is asked again.
  if (answer.status >= 500 && answer.status !== 501) return null;
  const words = {
    401: "This key was revoked. Choose another key.",
    403: "This key may not chat. It needs the scope chat:write.",
    409: "Another answer is still on its way in this chat. Try again when it is there.",
    429: "That was too much at once. Try again in a minute.",
  };
  at("notice").textContent = words[answer.status] ?? `The service answered ${answer.status}. Try again.`;
  return "refused";
}

/** The events of a stream: names and data. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const of = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      if (of("data")) yield [of("event"), JSON.parse(of("data"))];
    }
  }
}

/** A message as an entry of the list. */
function written({ sender, app_name: app, text, status, error, sources = [], tools = [] }) {
  const item = element("li", sender === "human" ? "mine" : status === "failed" || status === "stopped" ? "failed" : "");
  item.append(element("small", "", sender === "human" ? "You" : sender === "app" ? app ?? "An app" : "Assistant"));
  item.append(element("p", "", text));
  if (status === "running") item.append(element("small", "progress", "Thinking…"));
  if (error) item.append(element("small", "trouble", error.detail));
  const used = [...new Set(tools.filter((tool) => tool.ok).map((tool) => tool.name.replaceAll("_", " ")))];
  if (sources.length > 0) {
    const details = element("details");
    const list = element("ul");
    list.append(...sources.map(({ title, kind }) => element("li", "", `${title} (${kind.replace("_", " ")})`)));
    details.append(element("summary", "", `Where this comes from (${sources.length})`), list);
    item.append(details);
  }
  if (used.length > 0) item.append(element("small", "", `Used: ${used.join(", ")}`));
  return item;
}

function element(name, kind = "", words = "") {
  return Object.assign(document.createElement(name), { className: kind, textContent: words });
}

if (sessionStorage.getItem("key")) enter();
else show("key");
