// Shows the document of this very service, and calls it. Keys stay in the page: nothing is stored.
const dark = matchMedia("(prefers-color-scheme: dark)");
const wear = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", wear);
wear();

globalThis.ui = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#ui",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  requestSnippetsEnabled: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
