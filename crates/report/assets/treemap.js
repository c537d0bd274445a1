
// Treemaps: a box that is pointed at is told, one that is chosen fills the drawing.
(() => {
  const CHARACTER = 7.8;
  const SIZE = 11;
  const setUp = (node) => {
    const svg = node.querySelector("svg");
    const said = node.querySelector(".treemap-said");
    const whole = svg.viewBox.baseVal;
    const all = { x: 0, y: 0, width: whole.width, height: whole.height };
    const tiles = [...svg.querySelectorAll(".tile")];
    const reading = said.textContent;
    const noteOf = (tile) => tile.querySelector("title").textContent;
    const areaOf = (tile) => {
      const rect = tile.querySelector("rect");
      const value = (name) => Number(rect.getAttribute(name));
      return { x: value("x"), y: value("y"), width: value("width"), height: value("height") };
    };
    const nameOf = (note) => note.split(" · ")[0].split(" / ").at(-1);
    // Letters keep their size on the screen, and so a box that has grown has room for its name.
    const label = (tile, unit) => {
      const area = areaOf(tile);
      const fits = Math.floor((area.width / unit - 6) / CHARACTER);
      let text = tile.querySelector("text");
      if (fits < 3 || area.height / unit < 14) {
        if (text) text.remove();
        return;
      }
      if (!text) {
        text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        tile.append(text);
      }
      text.setAttribute("x", area.x + 3 * unit);
      text.setAttribute("y", area.y + 11.5 * unit);
      text.setAttribute("font-size", SIZE * unit);
      text.textContent = nameOf(noteOf(tile)).slice(0, fits);
    };
    const show = (area) => {
      svg.setAttribute("viewBox", `${area.x} ${area.y} ${area.width} ${area.height}`);
      const unit = Math.max(area.width / all.width, area.height / all.height);
      for (const tile of tiles) label(tile, unit);
      node.dataset.shown = `${Math.round(area.width)}x${Math.round(area.height)}`;
    };
    for (const tile of tiles) {
      tile.setAttribute("tabindex", "0");
      tile.addEventListener("click", () => { show(areaOf(tile)); said.textContent = noteOf(tile); });
      tile.addEventListener("keydown", (event) => { if (event.key === "Enter") show(areaOf(tile)); });
      tile.addEventListener("focus", () => { said.textContent = noteOf(tile); });
      tile.addEventListener("mouseenter", () => { said.textContent = noteOf(tile); });
    }
    svg.addEventListener("mouseleave", () => { said.textContent = reading; });
    node.querySelector("[data-does=whole]").addEventListener("click", () => show(all));
    addEventListener("beforeprint", () => show(all));
    node.dataset.treemap = "ready";
  };
  document.querySelectorAll("figure[data-treemap]").forEach(setUp);
})();
