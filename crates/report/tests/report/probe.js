// Presses every button of every chart and counts what comes out. Used by the browser test only.
"use strict";
(() => {
  const seen = { png: 0, svg: 0, csv: 0 };
  const blobs = new Map();
  const make = URL.createObjectURL;
  const Plain = Blob;
  window.Blob = class extends Plain {
    constructor(parts, options) { super(parts, options); this.written = parts.join(""); }
  };
  // What is parsed here has the page's policy, which refuses styles that a saved file may have.
  const isSvg = (text) => !new DOMParser().parseFromString(text.replaceAll(/<style.*?<\/style>| style="[^"]*"/gs, ""), "image/svg+xml")
    .querySelector("parsererror, script");
  URL.createObjectURL = (blob) => { const url = make.call(URL, blob); blobs.set(url, blob); return url; };
  const good = {
    png: (link) => link.href.startsWith("data:image/png;base64,") && link.href.length > 5000,
    svg: (link) => blobs.get(link.href).size > 2000 && isSvg(blobs.get(link.href).written),
    csv: (link) => blobs.get(link.href).size > 20,
  };
  HTMLAnchorElement.prototype.click = function click() {
    const kind = this.download.split(".").pop();
    if (good[kind](this)) seen[kind] += 1;
  };
  let tables = 0;
  for (const figure of document.querySelectorAll("figure.chart")) {
    for (const kind of ["scale", "scale", "png", "svg", "csv"]) {
      figure.querySelector(`button[data-does=${kind}]`)?.click();
    }
    figure.querySelector("button[data-does=table]").click();
    if (figure.querySelector(".table-view").offsetHeight > 20) tables += 1;
  }
  const requests = performance.getEntriesByType("resource").length;
  document.documentElement.dataset.probe =
    `png ${seen.png} svg ${seen.svg} csv ${seen.csv} tables ${tables} requests ${requests}`;
})();
