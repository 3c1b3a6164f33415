// The page to speak to. `socket.js` is the protocol, `microphone.js` the audio; here is what a person sees and does.
import { Conversation, uuid } from "/live/socket.js";

const at = (id) => document.getElementById(id);
const kept = (name, make) => {
  const value = sessionStorage.getItem(name) ?? make?.() ?? "";
  if (value) sessionStorage.setItem(name, value);
  return value;
};
const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
const BROWSER_LISTENS = Recognition ? " Or let the browser listen: it may send your voice to its maker." : "";

const STATES = {
  key: ["Not started", "Speak, and keep what matters", "What you say is written down, and becomes a title, an overview and your tasks."],
  ready: ["Ready", "Ready when you are", "Speak freely. Finish when you have said what matters."],
  asking: ["Microphone", "May this page hear you?", "Your browser asks for the microphone. Allow it to go on."],
  deaf: ["No microphone", "There is no microphone", "The browser gave none: it was refused, is missing, or this page is not served over HTTPS. You can type instead."],
  connecting: ["Connecting", "One moment", "Connecting to the service."],
  listening: ["Listening", "Listening", "Speak freely. What you say appears as it is understood."],
  typing: ["Typing", "Type what you would say", "Each sentence becomes a part of the conversation."],
  engineless: ["No engine", "No speech engine", `This service is not set up to recognize speech. You can type your sentences.${BROWSER_LISTENS}`],
  failing: ["Engine trouble", "The speech engine does not answer", "It is tried again by itself. What you say meanwhile is kept for a minute."],
  thinking: ["Thinking", "Making sense of it", "The title, the overview and the tasks are being made."],
  gone: ["Deleted", "The conversation is gone", "It was deleted while it was being processed."],
  done: ["Done", "All done", "Here is what was understood."],
  lost: ["No connection", "The connection was lost", "It is tried again by itself, and your conversation goes on where it was."],
  moved: ["Elsewhere", "It goes on elsewhere", "Another window took this conversation over."],
  broken: ["Stopped", "It cannot go on", "The service refused the audio. You can type instead."],
};
/** Why it cannot go on, where that is not the audio. */
const ENDS = {
  own_key: "You use model keys of your own, and this page knows none. You can type instead.",
  over_budget: "You have used up what you may store, or make in a day. Delete something, or come back tomorrow.",
};
let state = "key";
let conversation = null;
let hearing = null;
let mode = "speak";
/** The state to go back to when the connection is there again. */
let before = "listening";

const BUTTONS = {
  ready: [["Speak", () => begin("speak")], ["Type instead", () => begin("type")], ["Another key", forget]],
  asking: [["Type instead", () => begin("type")]],
  deaf: [["Try again", () => begin("speak")], ["Type instead", () => begin("type")]],
  connecting: [["Stop", stop]],
  listening: [["Finish", finish], ["Stop", stop]],
  typing: [["Finish", finish], ["Stop", stop]],
  engineless: [["Type instead", () => begin("type")], ...(Recognition ? [["Let the browser listen", () => begin("browser")]] : [])],
  failing: [["Finish", finish], ["Stop", stop]],
  lost: [["Try now", () => conversation.connect()], ["Stop", stop]],
  moved: [["Take it back", () => begin(mode)], ["Stop", stop]],
  broken: [["Type instead", () => begin("type")], ["Stop", stop]],
  gone: [["Start another", another]],
  done: [["Start another", another]],
};

function show(next, hint) {
  const isNew = next !== state || document.body.dataset.state !== next;
  state = next;
  document.body.dataset.state = next;
  const [word, headline, usual] = STATES[next];
  at("word").textContent = word;
  at("headline").textContent = headline;
  at("hint").textContent = hint ?? usual;
  at("door").hidden = next !== "key";
  at("typing").hidden = next !== "typing";
  if (!isNew) return;
  provisional([]);
  const hadFocus = at("buttons").contains(document.activeElement);
  const made = (BUTTONS[next] ?? []).map(([name, act]) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
    button.addEventListener("click", act);
    return button;
  });
  at("buttons").replaceChildren(...made);
  if (next === "key") at("key").focus();
  else if (next === "typing") at("sentence").focus();
  else if (hadFocus) made[0]?.focus();
}

/** Nothing that was said stays in the browser's cache, which whoever uses it next could read. */
const ask = (path, options = {}) =>
  fetch(path, { cache: "no-store", ...options, headers: { authorization: `Bearer ${kept("key")}`, "content-type": "application/json" } });

at("door").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("wrong").textContent = "";
  sessionStorage.setItem("key", at("key").value.trim());
  // A header cannot carry every character, and a key has none of those.
  const answer = await ask("/v1/users/me").catch((error) => (error instanceof TypeError ? null : Promise.reject(error)));
  if (answer?.ok) sessionStorage.setItem("uid", (await answer.json()).id);
  else if (answer?.status === 403 && at("user").value) sessionStorage.setItem("uid", at("user").value.trim());
  else {
    at("whose").hidden = answer?.status !== 403;
    const wrong = { 401: "This key is not known here. Look whether it is whole.", 403: "This key may not tell whose it is. Type the user." };
    return refuse(answer ? wrong[answer.status] ?? `The service answered ${answer.status}. Try again.` : "The service could not be asked. Try again.");
  }
  at("key").value = "";
  show("ready");
  at("buttons").firstChild.focus();
});

function refuse(words) {
  sessionStorage.removeItem("key");
  show("key");
  at("wrong").textContent = words;
  at("key").focus();
}

function forget() {
  stop();
  sessionStorage.clear();
  show("key");
}

/** Begins, or goes on: by the ids that the tab keeps, the service finds the conversation again. */
async function begin(how) {
  // Sentences that the service may not have.
  const unsure = conversation?.unsure;
  stop();
  mode = how;
  if (how === "speak") {
    show("asking");
    try {
      hearing = await microphone((audio) => conversation?.hear(audio));
    } catch {
      return state === "asking" && show("deaf");
    }
    // Something else was chosen meanwhile.
    if (state !== "asking") return silence();
  }
  before = how === "type" ? "typing" : "listening";
  show("connecting");
  const id = kept("conversation", uuid);
  await recall(id);
  if (state !== "connecting") return;
  const wants = { key: kept("key"), uid: kept("uid"), id, device: kept("device", uuid), transcripts: how !== "speak", unsure };
  conversation = new Conversation(wants, (what, told) => happened[what](told));
  if (how === "browser") hearing = recognition();
}

/** Shows what was said before the page was loaded anew. */
async function recall(id) {
  if (at("segments").children.length > 0) return;
  const answer = await ask(`/v1/dev/user/conversations/${id}?include_transcript=true`).catch(() => null);
  if (answer?.ok) happened.segments((await answer.json()).transcript_segments);
}

async function microphone(heard) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true } });
  const context = new AudioContext();
  await context.audioWorklet.addModule("/live/microphone.js");
  const node = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
  context.createMediaStreamSource(stream).connect(node);
  await context.resume();
  node.port.onmessage = ({ data: { audio, loudest } }) => {
    at("orb").style.setProperty("--level", Math.min(1, Math.sqrt(loudest)).toFixed(2));
    heard(audio);
  };
  return { stop: () => { stream.getTracks().forEach((track) => track.stop()); context.close(); } };
}

function recognition() {
  const listener = Object.assign(new Recognition(), { continuous: true, interimResults: true, lang: navigator.language });
  let start = conversation.now();
  let goesOn = true;
  listener.onspeechstart = () => { start = conversation?.now() ?? 0; };
  listener.onresult = ({ results, resultIndex }) => {
    const fresh = Array.from(results).slice(resultIndex);
    for (const result of fresh) if (result.isFinal) conversation?.say(result[0].transcript.trim(), start);
    provisional(fresh.filter(({ isFinal }) => !isFinal).map((result) => ({ text: result[0].transcript.trim(), is_user: true })));
  };
  listener.onend = () => goesOn && setTimeout(() => goesOn && listener.start(), 500);
  listener.start();
  return { stop: () => { goesOn = false; listener.stop(); } };
}

function silence() {
  hearing?.stop();
  hearing = null;
  at("orb").style.removeProperty("--level");
}

function stop() {
  silence();
  conversation?.close();
  conversation = null;
  show("ready");
}

function another() {
  sessionStorage.removeItem("conversation");
  at("segments").replaceChildren();
  at("made").hidden = true;
  names.clear();
  provisional([]);
  stop();
}

const happened = {
  open: () => show(before),
  segments: (segments) => {
    provisional([]);
    segments.forEach(write);
  },
  interim: (segments) => provisional(segments),
  status: ({ status, retryable, reason, status_text: words }) => {
    if (state === "thinking" || state === "done") return;
    if (status === "ready" && state === "failing") show(before);
    if (status !== "stt_failed" || mode !== "speak") return;
    if (retryable) return show("failing");
    silence();
    show("engineless", reason === "no_speech_engine" ? undefined : `${words}: ${reason ?? "no reason was told"}. You can type your sentences.`);
  },
  processing: (memory) => think(memory.id),
  made: (memory) => memory.id === kept("thinking") && done(memory),
  lost: () => {
    if (state === "thinking" || state === "done") return;
    show("lost");
  },
  refused: (wasIn) => {
    stop();
    refuse(wasIn ? "This key was revoked. Paste another one." : "This key may not speak here: it is unknown, of another user, or has no right to write conversations.");
  },
  ended: (reason) => {
    silence();
    show(reason === "superseded" ? "moved" : "broken", ENDS[reason]);
  },
};

async function finish() {
  const where = state;
  const nothing = () => { at("hint").textContent = "Nothing was understood yet."; };
  // The service would end whatever else is in progress.
  if (at("segments").children.length === 0) return nothing();
  const answer = await ask("/v1/conversations", { method: "POST", body: "{}" }).catch(() => null);
  if (answer?.ok) return think((await answer.json()).conversation.id);
  // Silence may have ended it just now.
  if (state !== where) return;
  if (answer?.status === 404) nothing();
  else at("hint").textContent = "It could not be finished. Try again.";
}

async function think(id) {
  if (state === "thinking" || state === "done") return;
  silence();
  sessionStorage.setItem("thinking", id);
  show("thinking");
  // The socket tells sooner; this still tells where it is gone.
  while (state === "thinking") {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const answer = state === "thinking" && (await ask(`/v1/dev/user/conversations/${id}`).catch(() => null));
    if (state !== "thinking") return;
    if (answer?.status === 401) return happened.refused(true);
    if (answer?.status === 404) return gone();
    if (!answer?.ok) continue;
    const memory = await answer.json();
    if (memory.status === "completed" || memory.status === "failed") done(memory);
  }
}

/** There is nothing more to come of it. */
function end() {
  conversation?.close();
  conversation = null;
  sessionStorage.removeItem("thinking");
  sessionStorage.removeItem("conversation");
}

function gone() {
  end();
  show("gone");
}

function done(memory) {
  if (state === "done") return;
  end();
  const { title, overview, emoji, category, action_items: tasks, events } = memory.structured;
  const failed = memory.status === "failed";
  at("kind").textContent = memory.discarded || failed ? "" : `${emoji} ${category}`;
  at("title").textContent = failed ? "It could not be processed" : memory.discarded ? "Nothing worth keeping" : title;
  at("overview").textContent = failed ? "What was said is kept; an operator can run it again." : memory.discarded ? "Too little was said to keep it." : overview;
  list("tasks", tasks.map(({ description, due_at: due }) => [description, due && `by ${day(due)}`]));
  list("events", events.map(({ title, start }) => [title, day(start, true)]));
  at("made").hidden = false;
  show("done");
  at("made").focus();
}

const day = (text, withTime) =>
  new Date(text).toLocaleString("en-GB", { weekday: "short", day: "numeric", month: "short", ...(withTime && { hour: "2-digit", minute: "2-digit" }) });

function list(id, entries) {
  at(id).hidden = at(`${id}-name`).hidden = entries.length === 0;
  at(id).replaceChildren(...entries.map(([words, when]) => {
    const item = element("li", "", words);
    if (when) item.append(" ", element("small", "", when));
    return item;
  }));
}

function element(name, kind, words) {
  return Object.assign(document.createElement(name), { className: kind, textContent: words, dir: "auto" });
}

/** How the speakers of the segments are shown, by their labels. */
const names = new Map();

/** Words that may still change: each list replaces the one before, and what was understood replaces it. */
function provisional(segments) {
  const spoken = segments.filter(({ text }) => text).map(({ text, speaker = "", is_user: mine }) => {
    const item = element("li", "", "");
    const who = mine ? "You" : names.get(speaker) ?? `Speaker ${Number(speaker.slice("SPEAKER_".length))}`;
    item.append(element("small", "", `${who}, …`), element("p", "", text));
    return item;
  });
  at("interim").replaceChildren(...spoken);
  at("empty").hidden = at("segments").children.length + spoken.length > 0;
  spoken.at(-1)?.scrollIntoView({ block: "nearest" });
}

/** A segment that grew comes again under its id. The socket numbers speakers, a stored conversation names them. */
function write({ id, text, speaker, speaker_id: number, speaker_name: name, is_user: mine, start }) {
  at("empty").hidden = true;
  const who = mine || name === "User" ? "You" : name ?? `Speaker ${number ?? 0}`;
  names.set(speaker, who);
  const known = at(`s-${id}`);
  if (known) return known.querySelector("p").replaceChildren(text);
  const item = element("li", mine ? "mine" : "", "");
  item.id = `s-${id}`;
  const clock = `${Math.floor(start / 60)}:${String(Math.floor(start % 60)).padStart(2, "0")}`;
  item.append(element("small", "", `${who}, ${clock}`), element("p", "", text));
  at("segments").append(item);
  item.scrollIntoView({ block: "nearest" });
}

at("typing").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("sentence").value.trim();
  if (text) conversation?.say(text);
  at("sentence").value = "";
});

show(kept("key") && kept("uid") ? "ready" : "key");
