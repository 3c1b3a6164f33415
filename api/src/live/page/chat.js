// The chat with the assistant. Answers are streamed; what a lost stream did not bring is asked for under the same id.
import { uuid } from "/live/socket.js";

const at = (id) => document.getElementById(id);
const PATH = "/v2/messages";
const WORDS = { key: "Not started", ready: "Ready", answering: "Thinking", failed: "Failed" };
/** Between two looks at an answer that is given elsewhere, in milliseconds. */
const PAUSE = 1_500;
/** The same for an answer that was interrupted and may still come. */
const LONG_PAUSE = 10_000;
const SCOPES = "This key may not chat. It needs the scopes chat:read and chat:write.";
let state = "key";
/** Who chats: the key, and the signal that ends all that was begun with it. */
let session = null;
/** What the newest answer is waited for with: an older one no longer says how the chat stands. */
let newest = null;

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

/** Begins with a key; what was begun with the one before ends here. */
function begin(key) {
  session?.end();
  const controller = new AbortController();
  session = { key, signal: controller.signal, end: () => controller.abort() };
  return session;
}

/** Asks with the key of the session that it belongs to, whichever key is chosen meanwhile. */
const ask = ({ key, signal }, path, options = {}) =>
  fetch(path, {
    ...options,
    signal,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...options.headers },
  });

/** Shows the chat as it is, and whether the key may see it. */
async function enter() {
  const mine = begin(sessionStorage.getItem("key"));
  // A header cannot carry every character, and a key has none of those.
  const answer = await ask(mine, `${PATH}?limit=50`).catch(() => null);
  const messages = answer?.ok ? await answer.json().catch(() => null) : null;
  if (mine.signal.aborted) return;
  if (!messages) {
    const wrong = { 401: "This key is not known here. Look whether it is whole.", 403: SCOPES };
    const words = answer && !answer.ok ? wrong[answer.status] ?? `The service answered ${answer.status}. Try again.` : "The service could not be asked. Try again.";
    return refuse(words);
  }
  at("key").value = "";
  at("messages").replaceChildren(...messages.map(written));
  show("ready");
  at("question").focus();
  toEnd();
  const last = messages.at(-1);
  if (last && !isOver(last)) await follow(mine, at("messages").lastElementChild, () => shown(mine, last.id), true);
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
});

at("forget").addEventListener("click", () => {
  session.end();
  sessionStorage.clear();
  at("messages").replaceChildren();
  at("question").value = "";
  at("notice").textContent = "";
  show("key");
  at("key").focus();
});

at("clear").addEventListener("click", async () => {
  if (!confirm("Remove all messages of this chat for good?")) return;
  const mine = session;
  const answer = await ask(mine, PATH, { method: "DELETE" }).catch(() => null);
  if (mine.signal.aborted) return;
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
  const mine = session;
  const body = JSON.stringify({ text, id: uuid() });
  const unsent = await follow(mine, reply, (sent) => streamed(mine, reply, body, sent));
  if (!unsent) return;
  // Nothing of it was stored: the words go back to where they were typed.
  question.remove();
  reply.remove();
  at("question").value = text;
  at("notice").textContent = unsent;
  show("failed");
});

/**
 * Looks again and again until the answer is there. Words of a refusal are returned only when nothing was `sent`: once a
 * look came to anything else (an answer, a failure, a lost connection), the service may have stored the message, and a
 * refusal is shown as the reply.
 */
async function follow(mine, reply, look, sent = false) {
  const own = (newest = {});
  const tell = (next) => newest === own && show(next);
  tell("answering");
  while (!mine.signal.aborted) {
    let message = await look(sent).catch(() => null);
    if (mine.signal.aborted) return null;
    if (message?.refused && !sent) return message.refused;
    sent = true;
    if (message?.refused) {
      const text = reply.querySelector("p").textContent;
      message = { sender: "ai", text, status: "failed", error: { detail: message.refused, final: true } };
    }
    if (message && isOver(message)) {
      const stays = isAtEnd();
      reply.replaceWith(written(message));
      if (stays) toEnd();
      tell(message.status === "completed" ? "ready" : "failed");
      return null;
    }
    if (message?.text) reply.querySelector("p").textContent = message.text;
    if (message?.error && reply.className !== "failed") {
      // The answer may still come; meanwhile something else may be asked.
      const old = reply;
      reply = written(message);
      old.replaceWith(reply);
      tell("failed");
    }
    await new Promise((resolve) => setTimeout(resolve, message?.error ? LONG_PAUSE : PAUSE));
  }
  return null;
}

/** Whether a message stays as it is. */
function isOver({ status, error }) {
  return status !== "running" && error?.final !== false;
}

/** A message of the list, by its id. */
async function shown(mine, id) {
  const answer = await ask(mine, `${PATH}?limit=50`);
  if (!answer.ok) return refused(answer, true);
  return (await answer.json()).find((message) => message.id === id) ?? { refused: "This message was removed." };
}

/** Asks, and shows the events of the answer as they come. Asked again under the same id, the service answers the same. */
async function streamed(mine, reply, body, sent) {
  const answer = await ask(mine, PATH, { method: "POST", body, headers: { accept: "text/event-stream" } });
  if (!answer.ok) return refused(answer, sent);
  const [said, progress] = [reply.querySelector("p"), reply.querySelector(".progress")];
  said.textContent = "";
  let last = null;
  for await (const [event, data] of events(answer.body)) {
    if (mine.signal.aborted) return null;
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

/** Why the service refused, or `null` when it is asked again: it is busy or starts anew, or the message was sent before. */
function refused({ status }, sent) {
  if ((status >= 500 && status !== 501) || (sent && [409, 429].includes(status))) return null;
  const words = {
    401: "This key was revoked. Choose another key.",
    403: SCOPES,
    409: "Another answer is still on its way in this chat. Try again when it is there.",
    429: "That was too much at once. Try again in a minute.",
  };
  return { refused: words[status] ?? `The service answered ${status}. ${sent ? "Load this page again to see what came of it." : "Try again."}` };
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
  return Object.assign(document.createElement(name), { className: kind, textContent: words, dir: "auto" });
}

if (sessionStorage.getItem("key")) enter();
else show("key");
