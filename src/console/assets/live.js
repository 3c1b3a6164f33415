// Reads the live part of a page again while somebody looks at it. Without scripts the page reloads instead.
const every = 4000;
const part = () => document.getElementById("live");

/** What has the keyboard, so that it has it again afterwards. */
const held = () => {
  const active = document.activeElement;
  return active && part().contains(active) ? active.getAttribute("href") : null;
};

const again = async () => {
  if (document.hidden || !part() || String(getSelection())) return;
  const answer = await fetch(location.href.split("#")[0], { headers: { accept: "text/html" } });
  if (answer.redirected) return location.reload();
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
  if (!fresh || fresh.innerHTML === part().innerHTML) return;
  const link = held();
  part().replaceWith(fresh);
  if (link) fresh.querySelector(`[href="${CSS.escape(link)}"]`)?.focus();
};

const turn = async () => {
  try {
    await again();
  } catch {
    // The service is away for a moment: the next turn looks again.
  }
  setTimeout(turn, every);
};

setTimeout(turn, every);
