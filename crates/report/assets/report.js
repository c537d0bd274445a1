// Draws the charts that the page carries as data, and serves its buttons.
// Every text from a run reaches the page as text (textContent, attributes), never as markup.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const byId = (id) => document.getElementById(id);
  const data = byId("chart-data") ? JSON.parse(byId("chart-data").textContent) : {};
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const figures = [];
  const DASHES = ["solid", "dashed", "dotted", [10, 3, 2, 3]];
  const MARKS = ["circle", "rect", "triangle", "diamond", "roundRect", "pin"];
  const CROSS = "path://M1,0 L5,4 L9,0 L10,1 L6,5 L10,9 L9,10 L5,6 L1,10 L0,9 L4,5 L0,1 Z";
  const ROLES = {
    "ceiling": { dash: "dotted", mark: "none", width: 1.5 },
    "ideal": { dash: "dashed", mark: "none", width: 1.5 },
    "invalid": { dash: "solid", mark: CROSS, size: 10 },
    "lost": {},
    "loss-ratio": { dash: "dotted", mark: "diamond", size: 7 },
    "not-offered": {},
    "offered": { dash: "dashed", mark: "triangle", size: 8 },
    "received": { dash: "solid", mark: "circle", size: 7 },
    "wire": {},
  };

  // What fits the width of A4 within margins.
  const PRINTED_WIDTH = 660;
  const PANEL = 150;
  const ROW = 34;
  const GROUP = 56;

  // A chart of rows or of panels is as high as these need; others have the style sheet's height.
  const heightOf = (chart) => {
    if (chart.panels) return PANEL * (chart.panels.length + 1) + 40;
    if (chart.y.scale === "category") return ROW * chart.y.categories.length + 90;
    if (chart.y.scale === "groups") return GROUP * (chart.y.categories.length + 1) + 90;
    return undefined;
  };

  const say = (text) => { byId("status").textContent = text; };
  const unitOf = (axis) => (axis.unit ? `${axis.name} (${axis.unit})` : axis.name);
  const element = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // Colours and sizes come from the style sheet, so light, dark and print are decided in one place.
  const look = () => {
    const style = getComputedStyle(root);
    return (name) => style.getPropertyValue(`--${name}`).trim();
  };

  const roleLook = (role) => {
    const rank = Number(role.slice(5));
    return ROLES[role] || { dash: DASHES[rank % 4], mark: MARKS[rank % 6], size: 7 };
  };

  const isLog = (axis, log) => axis.scale === "nines" ||
    (axis.scale === "log" ? log !== false : axis.switchable && log === true);

  // 1 / (1 - share) as a share in percent, with all its nines.
  const ninesOf = (x) => String(Number((100 * (1 - 1 / x)).toFixed(Math.max(0, Math.ceil(Math.log10(x)) - 1))));
  const labelOf = (axis, value) => axis.scale === "nines" ? ninesOf(value) :
    axis.scale === "groups" ? axis.categories[value] ?? "" : String(Number(value.toPrecision(4)));

  const hasRows = (axis) => axis.scale === "category" || axis.scale === "groups";

  // Names stand at whole numbers, lines between them.
  const groupsOption = (axis, color) => axis.scale !== "groups" ? {} : {
    min: -1, max: axis.categories.length, interval: 1,
    splitLine: { show: false }, minorTick: { splitNumber: 2 },
    minorSplitLine: { show: true, lineStyle: { color: color("grid") } },
  };

  const axisOption = (axis, log, color, vertical, room) => ({
    type: axis.scale === "category" ? "category" : isLog(axis, log) ? "log" : "value",
    data: axis.scale === "category" ? axis.categories : undefined,
    name: unitOf(axis),
    nameLocation: vertical ? "end" : "middle",
    nameGap: vertical ? 14 : 30,
    nameTextStyle: { color: color("muted"), fontSize: 12, align: vertical || "center" },
    splitNumber: room === "panel" ? 2 : 5,
    scale: axis.scale === "linear-fit",
    alignTicks: vertical === "right",
    min: isLog(axis, log) ? undefined : axis.min,
    max: isLog(axis, log) ? undefined : axis.max,
    axisLine: { show: !vertical, onZero: false, lineStyle: { color: color("rule") } },
    axisTick: { show: !vertical, lineStyle: { color: color("rule") } },
    axisLabel: {
      color: color("muted"), fontSize: 12, hideOverlap: true,
      overflow: "break", width: hasRows(axis) ? (vertical ? room : 110) : undefined, lineHeight: 15,
      formatter: axis.scale === "category" ? undefined : (value) => labelOf(axis, value),
    },
    splitLine: { show: vertical !== "right", lineStyle: { color: color("grid") } },
    ...groupsOption(axis, color),
  });

  // Separate strokes: a gap after each pair of points.
  const strokes = (points) => points.flatMap((point, at) => (at % 2 ? [point, { value: ["-", "-"] }] : [point]));

  const seriesOption = (chart, series, log, color) => {
    const role = roleLook(series.role);
    const rank = Number(series.role.slice(5)) || 0;
    const ink = color(`c-${series.role}`);
    const yLog = series.axis === 0 && isLog(chart.y, log);
    const xLog = isLog(chart.x, log);
    const drawable = ([x, y]) => !(yLog && y <= 0) && !(xLog && x <= 0);
    const bar = series.shape === "bar";
    const dots = series.shape === "scatter" || series.shape === "single";
    const points = series.points.filter(drawable).map(([x, y, note]) => ({ value: [x, y], note }));
    return {
      name: series.name,
      type: bar ? "bar" : dots ? "scatter" : "line",
      stack: bar ? "all" : undefined,
      xAxisIndex: chart.panels ? series.axis : 0,
      yAxisIndex: series.axis,
      data: series.shape === "interval" ? strokes(points) : points,
      showSymbol: series.shape !== "plain" && series.shape !== "interval",
      // What is a line without marks elsewhere needs one where it is drawn as dots.
      symbol: series.shape === "single" ? "circle" : dots && role.mark === "none" ? "rect" : role.mark || "circle",
      symbolSize: series.shape === "single" ? 4 : role.size || 8,
      // Of more than six stacked parts the colours come back, lighter.
      itemStyle: { color: ink, opacity: bar ? (rank > 5 ? 0.3 : 0.65) : series.shape === "single" ? 0.4 : 1 },
      lineStyle: { color: ink, width: role.width || 2, type: series.shape === "interval" || chart.panels ? "solid" : role.dash || "solid" },
      emphasis: { disabled: true },
      barMaxWidth: 40,
      z: series.role === "ideal" ? 1 : 3,
    };
  };

  // A goal's bounds: its lower end drawn solid, its upper end dashed, the range between them shaded.
  const bandOption = (band, index, color) => {
    const ink = color(`c-rank-${(index + 2) % 8}`);
    const line = (at, type) => ({ xAxis: at, lineStyle: { color: ink, type, width: 1.5 } });
    const ends = [];
    if (typeof band.from === "number") ends.push(line(band.from, "solid"));
    if (typeof band.to === "number") ends.push(line(band.to, "dashed"));
    return {
      name: band.name, type: "line", data: [], itemStyle: { color: ink }, lineStyle: { color: ink },
      markLine: { silent: true, symbol: "none", animation: false, label: { show: false }, data: ends },
      markArea: ends.length < 2 ? undefined : {
        silent: true, itemStyle: { color: ink, opacity: 0.12 },
        data: [[{ xAxis: band.from }, { xAxis: band.to }]],
      },
    };
  };

  const tooltipOf = (chart) => (params) => {
    const list = Array.isArray(params) ? params : [params];
    if (list.length === 0) return "";
    const box = element("div", "tip");
    const rows = hasRows(chart.y);
    const x = list[0].value[rows ? 1 : 0];
    if (rows) {
      box.append(element("div", "tip-head", chart.y.categories[Math.round(x)]));
    }
    const plain = chart.x.scale === "nines" ? ninesOf(x) : Number(x.toPrecision(5));
    const at = chart.x.scale === "category" ? chart.x.categories[x] : plain;
    if (!rows) box.append(element("div", "tip-head", `${chart.x.name}: ${at} ${chart.x.unit}`));
    for (const item of list.filter((one) => typeof one.value[1] === "number")) {
      const row = element("div", "tip-row");
      const dot = element("span", "tip-dot");
      dot.style.background = item.color;
      const note = item.data.note ?? String(Number(item.value[1].toPrecision(5)));
      row.append(dot, element("span", "", item.seriesName), element("strong", "", note));
      box.append(row);
    }
    return box;
  };

  // One grid, or one for each panel: their left edges are one line.
  const gridsOf = (chart, forExport) => {
    const below = forExport ? 70 : 4;
    const above = forExport ? 110 : 4;
    if (!chart.panels) {
      return [{ left: 4, right: 12, top: above, bottom: below, outerBoundsMode: "same", outerBoundsContain: "all" }];
    }
    const high = forExport ? 110 : PANEL;
    return [chart.y, ...chart.panels].map((_, at) => (
      { left: 64, right: 12, top: above + 24 + at * high, height: high - 50, outerBoundsMode: "none" }));
  };

  const xAxesOf = (chart, log, color) => {
    const axis = axisOption(chart.x, log, color, false);
    if (!chart.panels) return [axis];
    const ends = chart.series.flatMap((one) => one.points.map(([x]) => x));
    const last = chart.panels.length;
    const shared = { ...axis, min: 0, max: Math.max(...ends) };
    const bare = { ...shared, name: "", axisLabel: { show: false }, axisTick: { show: false } };
    return Array.from({ length: last + 1 }, (_, at) => ({ ...(at === last ? shared : bare), gridIndex: at }));
  };

  const yAxesOf = (chart, log, color, width) => {
    const room = chart.panels ? "panel" : Math.min(300, Math.round(width * 0.4));
    const axes = [axisOption(chart.y, log, color, "left", room)];
    if (chart.y2) axes.push({ ...axisOption(chart.y2, false, color, "right"), position: "right" });
    (chart.panels || []).forEach((axis, at) => {
      axes.push({ ...axisOption(axis, log, color, "left", "panel"), gridIndex: at + 1 });
    });
    return axes;
  };

  const optionOf = (chart, log, forExport, width) => {
    const color = look();
    const series = chart.series.map((one) => seriesOption(chart, one, log, color));
    const bands = (chart.bands || []).map((band, index) => bandOption(band, index, color));
    const text = { color: color("ink"), fontSize: 13, overflow: "break" };
    const rows = hasRows(chart.y);
    return {
      animation: false,
      backgroundColor: forExport ? color("paper") : "transparent",
      // Double quotes would end the attribute that the SVG writer puts the font in.
      textStyle: { fontFamily: color("font").replaceAll('"', "'"), color: color("ink") },
      title: forExport ? {
        text: chart.title, subtext: chart.caption, left: 12, top: 10,
        textStyle: { color: color("ink"), fontSize: 18 }, subtextStyle: { ...text, lineHeight: 19, width: 1120 },
      } : undefined,
      legend: { show: forExport, bottom: 10, left: 12, textStyle: text },
      grid: gridsOf(chart, forExport),
      axisPointer: chart.panels ? { link: [{ xAxisIndex: "all" }] } : undefined,
      dataZoom: chart.x.scale === "category" || chart.panels ? [] : [{
        type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl",
        moveOnMouseMove: false, preventDefaultMouseMove: false,
      }],
      tooltip: {
        show: !forExport, trigger: rows ? "item" : "axis", confine: true, formatter: tooltipOf(chart),
        backgroundColor: color("paper"), borderColor: color("rule"), textStyle: { color: color("ink"), fontSize: 13 },
        axisPointer: { lineStyle: { color: color("rule") } },
      },
      xAxis: xAxesOf(chart, log, color),
      yAxis: yAxesOf(chart, log, color, width),
      series: series.concat(bands),
    };
  };

  const draw = (figure) => {
    const { chart, plot } = figure;
    if (figure.instance) figure.instance.dispose();
    delete plot.dataset.rendered;
    const height = heightOf(chart);
    if (height) plot.style.height = `${height}px`;
    const size = root.classList.contains("printing") ? { width: PRINTED_WIDTH, height: height || 240 } : {};
    figure.instance = echarts.init(plot, null, { renderer: "svg", ...size });
    figure.instance.on("finished", () => { plot.dataset.rendered = "true"; });
    figure.instance.setOption(optionOf(chart, figure.log, false, size.width || plot.clientWidth));
    for (const name of figure.hidden) figure.instance.dispatchAction({ type: "legendUnSelect", name });
  };

  // What is folded away has no size yet: it is drawn when it is opened.
  const isShown = (figure) => figure.plot.offsetParent !== null;
  const isInView = (figure) => figure.plot.getBoundingClientRect().top < innerHeight;

  // What is in view is drawn at once, the rest one by one, so that the page answers meanwhile.
  const drawRest = () => {
    const next = figures.find((one) => !one.instance && isShown(one));
    if (!next) return;
    draw(next);
    setTimeout(drawRest);
  };
  const drawShown = () => {
    // All places are read before the first chart is drawn: each drawing would have them computed anew.
    const inView = figures.filter((one) => !one.instance && isShown(one) && isInView(one));
    inView.forEach(draw);
    setTimeout(drawRest);
  };

  const redrawAll = () => figures.filter(isShown).forEach(draw);

  const drawLegend = (figure, holder) => {
    const color = (name) => `var(--${name})`;
    const items = figure.chart.series.map((one) => [one.name, color(`c-${one.role}`), one.shape, roleLook(one.role)]);
    (figure.chart.bands || []).forEach((band, index) => {
      items.push([band.name, color(`c-rank-${(index + 2) % 8}`), "band", {}]);
    });
    if (items.length < 2) return;
    for (const [name, ink, shape, role] of items.filter((_, at) => !figure.chart.panels || at < 0)) {
      const button = element("button", "key");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      const swatch = element("span", `swatch ${shape}`);
      swatch.style.color = ink;
      if (shape === "line" || shape === "plain") {
        swatch.style.borderTopStyle = role.dash === "solid" ? "solid" : role.dash === "dotted" ? "dotted" : "dashed";
      }
      button.append(swatch, name);
      button.addEventListener("click", () => {
        const shown = figure.hidden.delete(name) || !figure.hidden.add(name);
        button.setAttribute("aria-pressed", String(shown));
        figure.instance?.dispatchAction({ type: shown ? "legendSelect" : "legendUnSelect", name });
      });
      holder.append(button);
    }
  };

  const download = (name, url) => {
    const link = element("a");
    link.href = url;
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    say(`${name} is downloaded`);
  };

  const downloadText = (name, type, text) => {
    const url = URL.createObjectURL(new Blob([text], { type }));
    download(name, url);
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };

  const svgOf = (figure) => {
    const offstage = echarts.init(null, null, { renderer: "svg", ssr: true, width: 1160, height: 660 });
    offstage.setOption(optionOf(figure.chart, figure.log, true, 1160));
    const text = offstage.renderToSVGString();
    offstage.dispose();
    return text;
  };

  const pngOf = (figure) => {
    const stage = element("div");
    const size = { renderer: "canvas", width: 1160, height: 660, devicePixelRatio: 2 };
    const offstage = echarts.init(stage, null, size);
    offstage.setOption(optionOf(figure.chart, figure.log, true, 1160));
    const url = offstage.getDataURL({ type: "png", pixelRatio: 2 });
    offstage.dispose();
    return url;
  };

  // RFC 4180; text that a spreadsheet would compute is defused, unknown values are empty.
  const csvCell = (cell) => {
    const number = cell.dataset.value;
    if (number !== undefined) return number;
    const text = cell.textContent === "not recorded" ? "" : cell.textContent;
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };

  const csvOf = (figure) => {
    const rows = [...figure.node.querySelectorAll(".table-view tr")];
    return rows.map((row) => [...row.cells].map(csvCell).join(",")).join("\n") + "\n";
  };

  // What a button is called contains what it shows (WCAG 2.2, success criterion 2.5.3).
  const nameScale = (figure, button) => {
    button.textContent = figure.log ? "Linear axes" : "Log axes";
    button.setAttribute("aria-label", `${button.textContent}: ${figure.chart.title}`);
    button.setAttribute("aria-pressed", String(figure.log));
  };

  const ACTIONS = {
    scale: (figure, button) => {
      figure.log = !figure.log;
      nameScale(figure, button);
      draw(figure);
    },
    table: (figure, button) => {
      const view = figure.node.querySelector(".table-view");
      view.hidden = !view.hidden;
      button.setAttribute("aria-expanded", String(!view.hidden));
    },
    png: (figure) => download(`${figure.id}.png`, pngOf(figure)),
    svg: (figure) => downloadText(`${figure.id}.svg`, "image/svg+xml", svgOf(figure)),
    csv: (figure) => downloadText(`${figure.id}.csv`, "text/csv;charset=utf-8", csvOf(figure)),
  };

  const startsLog = (chart) => [chart.x, chart.y].some((axis) => axis.scale === "log");

  const setUp = (node) => {
    const id = node.dataset.chart;
    const chart = data[id];
    const plot = node.querySelector(".plot");
    const figure = { id, chart, node, plot, log: startsLog(chart), hidden: new Set(), instance: null };
    figures.push(figure);
    drawLegend(figure, node.querySelector(".legend"));
    for (const button of node.querySelectorAll(".tools button")) {
      if (button.dataset.does === "scale" && figure.log) nameScale(figure, button);
      button.addEventListener("click", () => ACTIONS[button.dataset.does](figure, button));
    }
    new ResizeObserver(() => { if (!root.classList.contains("printing")) figure.instance?.resize(); }).observe(plot);
  };

  // A flame graph: a chosen box fills the width, its callers above it too; what is beside it goes.
  const setUpFlame = (node) => {
    const boxes = [...node.querySelectorAll(".box")];
    const said = node.querySelector(".flame-said");
    if (boxes.length === 0) return;
    const reading = said.textContent;
    const place = (box) => ({ x: Number(box.dataset.x), w: Number(box.dataset.w), row: Number(box.dataset.row) });
    const tell = (box) => { said.textContent = box ? box.querySelector("title").textContent : reading; };
    const name = (box, share) => {
      let text = box.querySelector("text");
      if (!text && share > 0.004) {
        text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        text.setAttribute("x", "3");
        text.setAttribute("y", "12");
        text.textContent = box.querySelector("title").textContent.split(" · ")[0];
        box.append(text);
      }
    };
    const zoom = (to) => {
      for (const box of boxes) {
        const { x, w, row } = place(box);
        const caller = row < to.row && x <= to.x + 1e-6 && x + w >= to.x + to.w - 1e-6;
        const inside = row >= to.row && x >= to.x - 1e-6 && x + w <= to.x + to.w + 1e-6;
        box.style.display = caller || inside ? "" : "none";
        const left = caller ? 0 : (x - to.x) / to.w;
        const width = caller ? 1 : w / to.w;
        box.setAttribute("x", `${left * 100}%`);
        box.setAttribute("width", `${width * 100}%`);
        name(box, width);
      }
    };
    const whole = { x: 0, w: 1, row: 0 };
    for (const box of boxes) {
      box.setAttribute("tabindex", "0");
      box.addEventListener("click", () => { zoom(place(box)); tell(box); });
      box.addEventListener("keydown", (event) => { if (event.key === "Enter") zoom(place(box)); });
      box.addEventListener("focus", () => tell(box));
      box.addEventListener("mouseenter", () => tell(box));
      box.addEventListener("mouseleave", () => tell(null));
    }
    node.querySelector("[data-does=unzoom]").addEventListener("click", () => { zoom(whole); tell(null); });
    addEventListener("beforeprint", () => zoom(whole));
    node.dataset.flame = "ready";
  };

  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    say("The command line is copied");
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };

  // Paper shows what the page says first, of every run; a topic is printed if its reader has opened it.
  const print = (on) => {
    if (root.classList.contains("printing") === on) return;
    root.classList.toggle("printing", on);
    for (const fold of document.querySelectorAll("details.run")) {
      if (on) fold.dataset.was = String(fold.open);
      fold.open = on || fold.dataset.was === "true";
    }
    redrawAll();
  };

  // A link to what is folded away opens it.
  const unfold = () => {
    const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.querySelector(":scope > details")?.setAttribute("open", "");
    target.scrollIntoView();
  };

  document.querySelectorAll("figure[data-chart]").forEach(setUp);
  drawShown();
  document.querySelectorAll("figure[data-flame]").forEach(setUpFlame);
  document.querySelectorAll("button[data-does=copy]").forEach((button) => {
    button.addEventListener("click", () => copy(button));
  });
  document.addEventListener("toggle", drawShown, true);
  addEventListener("hashchange", unfold);
  unfold();
  prefersDark.addEventListener("change", redrawAll);
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  root.dataset.ready = "true";
})();
