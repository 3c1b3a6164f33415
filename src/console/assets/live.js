// For pages that are live: says whether they are, holds them still on request, and takes no text away from under
// a selection; what came meanwhile is put in place afterwards. What is shown comes from the server.
(() => {
  const button = document.getElementById("pulse");
  const part = document.getElementById("live");
  if (!button || !part) return;
  const words = { waiting: "Connecting", live: "Live", held: "Held still", behind: "Held by selection", away: "Not live" };
  let isHeld = false;
  // The last that is known of the stream, whether it is shown or not.
  let state = "waiting";
  // The newest that came while the page stood still: nobody is sent it again.
  let missed = null;

  const shown = () => {
    if (isHeld) return "held";
    return state === "live" && missed !== null ? "behind" : state;
  };

  const show = () => {
    const word = shown();
    if (button.dataset.state === word) return;
    button.dataset.state = word;
    button.textContent = words[word];
    button.title = isHeld ? "Go on with live updates" : "Hold the page still";
  };

  const say = (word) => {
    state = word;
    show();
  };

  const isReading = () => {
    const selection = getSelection();
    return !selection.isCollapsed && part.contains(selection.anchorNode);
  };

  const standsStill = () => isHeld || isReading();

  // Puts in place what came meanwhile, as htmx does with what comes now.
  const goOn = () => {
    if (missed !== null && !standsStill()) {
      htmx.swap({ sourceElement: part, target: part, swap: part.getAttribute("hx-swap"), text: missed });
      missed = null;
    }
    show();
  };

  button.addEventListener("click", () => {
    isHeld = !isHeld;
    goOn();
  });
  document.addEventListener("selectionchange", goOn);
  document.addEventListener("htmx:sse:before:message", (event) => {
    const message = event.detail.message;
    if (message.event) return;
    missed = standsStill() ? message.data : null;
    if (missed === null) return;
    event.preventDefault();
    say("live");
  });
  document.addEventListener("htmx:sse:after:message", (event) => {
    say(event.detail.message.event ? "away" : "live");
  });
  document.addEventListener("htmx:sse:error", (event) => {
    // Whoever is no longer signed in is sent to the login, and from there back here.
    if (event.detail.status === 401) location.reload();
    say("away");
  });
  document.addEventListener("htmx:error", () => say("away"));
  button.hidden = false;
  say("waiting");
})();
