// For pages that are live: says whether they are, holds them still on request, and takes no text away from under
// a selection. What is shown comes from the server; htmx puts it in place.
(() => {
  const button = document.getElementById("pulse");
  const part = document.getElementById("live");
  if (!button || !part) return;
  const words = { waiting: "Connecting", live: "Live", held: "Held still", away: "Not live" };
  let isHeld = false;

  const say = (state) => {
    const shown = isHeld ? "held" : state;
    if (button.dataset.state === shown) return;
    button.dataset.state = shown;
    button.textContent = words[shown];
    button.title = isHeld ? "Go on with live updates" : "Hold the page still";
  };

  const isReading = () => {
    const selection = getSelection();
    return !selection.isCollapsed && part.contains(selection.anchorNode);
  };

  button.addEventListener("click", () => {
    isHeld = !isHeld;
    say("live");
  });
  document.addEventListener("htmx:sse:before:message", (event) => {
    if (!event.detail.message.event && (isHeld || isReading())) event.preventDefault();
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
