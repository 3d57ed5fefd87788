// Recovery codes and keys are copied or printed, as they are shown once.

document.addEventListener("click", async (event) => {
  if (event.target.closest("[data-print]")) window.print();
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  const lines = [...source.querySelectorAll("code")].map((e) => e.textContent.trim());
  try {
    await navigator.clipboard.writeText(lines.length > 0 ? lines.join("\n") : source.textContent.trim());
    button.dataset.copied = "";
    setTimeout(() => delete button.dataset.copied, 2000);
  } catch {
    getSelection().selectAllChildren(source); // so that it can be copied by hand
  }
});
