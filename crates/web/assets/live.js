// Shows a test while it goes on. Every text reaches the page as text, never as markup.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  if (!byId("chart")) return;
  const UNKNOWN = "–";
  const STALE_SECONDS = 5;
  const SVG = "http://www.w3.org/2000/svg";
  let state = { phase: "idle", intervals: [], trials: [], notes: [] };
  let paused = false;
  let newest = null;
  let said = "";

  const write = (id, text) => { const at = byId(id); if (at.textContent !== text) at.textContent = text; };
  const known = (value) => value !== undefined && value !== null;
  const scaled = (value, steps) => {
    const [factor, unit] = steps.find(([least]) => Math.abs(value) >= least) || steps[steps.length - 1];
    return `${Number((value / factor).toPrecision(4))} ${unit}`;
  };
  const rate = (bps) => known(bps) ? scaled(bps, [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]) : UNKNOWN;
  const time = (ns) => known(ns) ? scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]) : UNKNOWN;
  const share = (ratio) => known(ratio) ? `${Number((ratio * 100).toPrecision(3))} %` : UNKNOWN;
  const count = (value) => known(value) ? String(value) : UNKNOWN;
  const way = (direction) => direction === "reverse" ? "← peer sends" : "→ this host sends";

  const row = (cells, numbersFrom) => {
    const made = document.createElement("tr");
    cells.forEach((text, place) => {
      const cell = document.createElement("td");
      if (place >= numbersFrom) cell.className = "number";
      cell.textContent = text;
      made.append(cell);
    });
    return made;
  };
  const item = (text) => { const made = document.createElement("li"); made.textContent = text; return made; };
  const draw = (name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };

  const rateOf = (interval) => known(interval.received_bps) ? interval.received_bps : interval.offered_bps;

  // The opening interval is short, and must not set the height.
  const chart = () => {
    const box = { left: 90, right: 710, top: 16, bottom: 210 };
    const all = state.intervals.filter((one) => known(rateOf(one)));
    const shown = [];
    if (all.length > 0) {
      const end = Math.max(...all.map((one) => one.end_s), 1);
      const most = Math.max(...all.map(rateOf), 1) * 1.05;
      const x = (s) => box.left + (box.right - box.left) * s / end;
      const y = (bps) => box.bottom - (box.bottom - box.top) * bps / most;
      for (const part of [0, 0.5, 1]) {
        const at = y(most * part);
        shown.push(draw("line", { class: "grid", x1: box.left, x2: box.right, y1: at, y2: at }));
        shown.push(draw("text", { class: "y", x: box.left - 8, y: at + 4 }, rate(most * part)));
      }
      shown.push(draw("text", { class: "x", x: box.right, y: box.bottom + 22 }, `${Number(end.toPrecision(3))} s`));
      shown.push(draw("text", { class: "x start", x: box.left, y: box.bottom + 22 }, "0 s"));
      for (const direction of ["forward", "reverse", "duplex"]) {
        const points = all.filter((one) => one.direction === direction);
        if (points.length === 0) continue;
        const line = points.map((one) => `${x((one.start_s + one.end_s) / 2).toFixed(1)},${y(rateOf(one)).toFixed(1)}`);
        shown.push(draw("polyline", { class: `line ${direction}`, points: line.join(" ") }));
        for (const point of line) {
          const [cx, cy] = point.split(",");
          shown.push(draw("circle", { class: `mark ${direction}`, cx, cy, r: 3 }));
        }
      }
      const last = all[all.length - 1];
      write("chart-caption", `${rate(rateOf(last))} ${known(last.received_bps) ? "received" : "sent"} in the newest of ${all.length} intervals; highest ${rate(Math.max(...all.map(rateOf)))}.`);
    } else {
      write("chart-caption", "No interval is over yet.");
    }
    byId("chart").replaceChildren(...shown);
  };

  const places = () => {
    const trial = [...state.trials].reverse().find((one) => !one.is_probe && (one.packets || one.ledger));
    if (!trial) {
      const text = document.createElement("p");
      text.textContent = "Known when a trial is over.";
      return byId("places").replaceChildren(text);
    }
    const list = document.createElement("ul");
    const lost = (trial.ledger || []).filter((entry) => entry.packets > 0);
    for (const entry of lost) list.append(item(`${entry.place}: ${entry.packets} packets${entry.source ? ` (${entry.source})` : ""}`));
    if (lost.length === 0) list.append(item(`none counted in trial ${count(trial.index)}`));
    byId("places").replaceChildren(list);
  };

  const figures = () => {
    const last = state.intervals[state.intervals.length - 1] || {};
    const trial = [...state.trials].reverse().find((one) => !one.is_probe) || {};
    write("received", rate(known(last.received_bps) ? last.received_bps : trial.received_bps));
    write("offered", rate(known(last.offered_bps) ? last.offered_bps : trial.offered_bps));
    write("intended", known(trial.intended_bps) ? rate(trial.intended_bps) : state.intended || "as much as goes");
    write("lost", known(last.lost_packets) ? `${last.lost_packets} (${share(last.loss_ratio)})` : UNKNOWN);
    write("again", count(last.retransmitted_segments));
    write("rtt", known(last.srtt_ns) ? time(last.srtt_ns) : time((trial.delay || {}).p50_ns));
    write("cpu-sender", share(last.sender_busiest_core_ratio));
    write("cpu-receiver", share(last.receiver_busiest_core_ratio));
    write("ceiling", state.ceiling || "not calibrated");
  };

  const host = (one) => [one.role, one.name, one.cpu, one.kernel].filter(known).join(" · ");

  const phase = () => {
    const left = state.share_ratio > 0 && state.elapsed_s > 0 ? state.elapsed_s * (1 - state.share_ratio) / state.share_ratio : null;
    const words = { idle: "No test was started yet.", connecting: "Connecting to the peer.", measuring: "The test is under way.", probing: "Probes look for what limits.", ended: "The test is over." };
    const text = state.is_stopping && state.phase !== "ended" ? "The test is being stopped." : words[state.phase];
    // Only a change is announced.
    if (text !== said) { said = text; write("status", text); }
    byId("progress").value = state.phase === "ended" ? 1 : state.share_ratio || 0;
    write("left", ["measuring", "probing"].includes(state.phase) && left !== null ? `about ${Math.ceil(left)} s left` : "");
    const stop = byId("stop");
    if (stop) stop.disabled = !["connecting", "measuring", "probing"].includes(state.phase);
    document.documentElement.dataset.phase = state.phase;
  };

  const outcome = () => {
    const known = state.outcome;
    const words = byId("words");
    words.hidden = !known;
    write("verdict", known ? known.verdict || "none" : "not known yet");
    if (!known) return;
    words.textContent = known.words;
    if (known.run && !byId("report")) {
      const link = document.createElement("a");
      link.id = "report";
      link.href = `/runs/${encodeURIComponent(known.run)}`;
      link.textContent = "Report of the run";
      words.before(link);
    }
  };

  const all = () => {
    if (paused) return;
    write("headline", state.title || "");
    write("command", state.command || "");
    phase();
    figures();
    chart();
    places();
    byId("hosts").replaceChildren(...(Array.isArray(state.hosts) && state.hosts.length ? state.hosts.map((one) => item(host(one))) : [item(state.target ? `this host and ${state.target}` : "Not known yet.")]));
    byId("intervals").replaceChildren(...state.intervals.map((one) => row([way(one.direction), count(Number(one.end_s.toPrecision(4))), rate(rateOf(one)),
      count(one.lost_packets), count(one.retransmitted_segments), time(one.srtt_ns), share(one.sender_busiest_core_ratio), share(one.receiver_busiest_core_ratio)], 1)));
    byId("trials").replaceChildren(...state.trials.map((one) => row([count(one.index), way(one.direction), rate(one.intended_bps), rate(one.offered_bps), rate(one.received_bps),
      share((one.packets || {}).loss_ratio), time((one.delay || {}).p50_ns), time((one.delay || {}).p99_ns), `${one.valid ? "yes" : "no"}${one.is_probe ? ", probe" : ""}`], 2)));
    byId("notes").replaceChildren(...state.notes.map(item));
    outcome();
    document.documentElement.dataset.intervals = String(state.intervals.length);
  };

  const age = () => {
    if (paused) return;
    if (newest === null || state.phase === "idle") return write("age", UNKNOWN);
    const seconds = Math.round((Date.now() - newest) / 1000);
    const stale = state.phase !== "ended" && seconds > STALE_SECONDS;
    write("age", stale ? `stale, ${seconds} s old` : `${seconds} s old`);
    byId("age").classList.toggle("alarm-text", stale);
  };

  const take = ({ name, data, at }) => {
    // Without news nothing else would take the last words back.
    if (name === "connected") return soon();
    const broken = { disconnected: "The connection to the site is gone; trying again.", refused: "The site refuses its events; reload this page." }[name];
    if (broken) { write("status", broken); said = ""; return; }
    if (name === "state") {
      state = data;
      const link = byId("report");
      if (link) link.remove();
    }
    if (name === "began") Object.assign(state, data);
    if (name === "progress") { Object.assign(state, { share_ratio: data.share_ratio, elapsed_s: data.elapsed_s }); }
    if (name === "interval") state.intervals.push(data);
    if (name === "trial") state.trials.push(data);
    if (name === "note") state.notes.push(data.text);
    if (name === "stopping") state.is_stopping = true;
    if (name === "ended") { state.phase = "ended"; state.outcome = data; }
    if (["progress", "interval", "trial"].includes(name)) newest = at;
    soon();
  };

  // Several events of one moment are drawn once.
  let due = false;
  const soon = () => {
    if (due) return;
    due = true;
    setTimeout(() => { due = false; all(); age(); }, 50);
  };

  byId("pause").addEventListener("click", (event) => {
    paused = !paused;
    event.target.setAttribute("aria-pressed", String(paused));
    event.target.textContent = paused ? "Go on with the display" : "Pause the display";
    all();
  });

  const worker = window.SharedWorker ? new SharedWorker("/assets/stream.js").port : new Worker("/assets/stream.js");
  worker.onmessage = (message) => take(message.data);
  worker.postMessage("join");
  addEventListener("pagehide", () => worker.postMessage("leave"));
  addEventListener("pageshow", (event) => { if (event.persisted) worker.postMessage("join"); });
  setInterval(age, 1000);
})();
