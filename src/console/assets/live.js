// For pages that are live: asks for what changed, says whether it came, holds the page still on request, and takes no
// text away from under a selection; what came meanwhile is put in place afterwards. Filters apply as they are typed.
// What is shown comes from the server.
(() => {
  const button = document.getElementById("pulse");
  const part = document.getElementById("live");
  if (!button || !part) return;
  const EVERY = 2_000;
  const words = { waiting: "Connecting", live: "Live", held: "Held still", behind: "Held by selection", away: "Not live" };
  let address = location.href;
  let isHeld = false;
  // The last that is known of the server, whether it is shown or not.
  let state = "waiting";
  // The digest of the newest part, and that part while the page stands still.
  let newest = null;
  let missed = null;
  let timer = null;

  const show = () => {
    const word = isHeld ? "held" : state === "live" && missed !== null ? "behind" : state;
    if (button.dataset.state === word) return;
    button.dataset.state = word;
    button.textContent = words[word];
    button.title = isHeld ? "Go on with live updates" : "Hold the page still";
  };

  const say = (word) => {
    state = word;
    show();
  };

  // Text is selected, or rows are ticked.
  const isReading = () => {
    const selection = getSelection();
    return (!selection.isCollapsed && part.contains(selection.anchorNode)) || part.querySelector("input:checked") !== null;
  };

  const put = (text) => htmx.swap({ sourceElement: part, target: part, swap: "innerMorph", text });

  // Puts in place what came meanwhile.
  const goOn = () => {
    if (missed !== null && !isHeld && !isReading()) {
      put(missed);
      missed = null;
    }
    show();
  };

  const ask = async (wanted) => {
    const headers = { "HX-Request": "true" };
    if (newest !== null) headers["If-None-Match"] = newest;
    const answer = await fetch(wanted, { headers, cache: "no-store", signal: AbortSignal.timeout(20_000) });
    // A session that has ended is renewed at the login, which leads back here.
    if (answer.status === 401) location.reload();
    if (answer.status === 304) return say("live");
    if (!answer.ok) return say("away");
    const text = await answer.text();
    // The filter changed meanwhile.
    if (wanted !== address) return;
    newest = answer.headers.get("etag");
    missed = text;
    state = "live";
    goOn();
  };

  const next = async () => {
    clearTimeout(timer);
    const wanted = address;
    if (!document.hidden) await ask(wanted).catch(() => say("away"));
    if (wanted !== address) return;
    clearTimeout(timer);
    timer = setTimeout(next, EVERY);
    document.dispatchEvent(new CustomEvent("live:asked"));
  };

  button.addEventListener("click", () => {
    isHeld = !isHeld;
    goOn();
  });
  document.addEventListener("selectionchange", goOn);
  part.addEventListener("change", goOn);
  document.addEventListener("visibilitychange", () => document.hidden || next());

  const filter = document.querySelector("form[data-live]");
  let typing = null;
  const apply = () => {
    clearTimeout(typing);
    const fields = [...new FormData(filter)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(fields).toString();
    address = new URL(query === "" ? filter.action : `${filter.action}?${query}`, location.href).href;
    history.replaceState(null, "", address);
    newest = null;
    next();
  };
  filter?.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(apply, 400);
  });
  filter?.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });

  button.hidden = false;
  show();
  next();
})();
