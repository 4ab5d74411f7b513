"use strict";
const search = document.getElementById("search"), rank = document.getElementById("rank");
const environment = document.getElementById("environment"), count = document.getElementById("count");
const rows = Array.from(document.querySelectorAll("details.row"));
const texts = rows.map(row => row.textContent.toLowerCase());
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  rows.forEach((row, i) => {
    const group = row.closest("section");
    const isShown = (rank.value === "" || row.dataset.rank === rank.value || rank.value === "open" && row.dataset.rank !== "known") &&
      (environment.value === "" || group.dataset.group === environment.value) && words.every(word => texts[i].includes(word));
    row.hidden = !isShown;
    shown += isShown ? 1 : 0;
  });
  document.querySelectorAll("section[data-group]").forEach(section => {
    section.hidden = !section.querySelector("details.row:not([hidden])");
  });
  count.textContent = shown + " of " + rows.length + " rows";
}
function move(step) {
  const shown = rows.filter(row => !row.hidden).map(row => row.querySelector("summary"));
  const now = shown.indexOf(document.activeElement);
  const next = shown[Math.min(Math.max(now + step, 0), shown.length - 1)];
  if (next) { next.focus(); }
}
document.querySelector("form").addEventListener("input", filter);
document.querySelector("form").addEventListener("submit", event => event.preventDefault());
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) { return; }
  if (event.key === "Escape") { search.value = ""; filter(); search.blur(); return; }
  if (event.target.matches("input, select")) { return; }
  switch (event.key) {
  case "/": event.preventDefault(); search.focus(); break;
  case "j": move(1); break;
  case "k": move(-1); break;
  case "o": rows.filter(row => !row.hidden).forEach(row => { row.open = true; }); break;
  case "c": rows.forEach(row => { row.open = false; }); break;
  }
});
filter();
