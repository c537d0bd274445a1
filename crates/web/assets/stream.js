// One event stream for all tabs of a browser: HTTP/1.1 allows six connections to a host.
// Keeps the state and what came since, for tabs that are opened later.
"use strict";
const NAMES = ["state", "began", "progress", "interval", "trial", "note", "stopping", "ended"];
const ports = new Set();
let source = null;
let log = [];

const tell = (event) => { for (const port of ports) port.postMessage(event); };

const open = () => {
  source = new EventSource("/events");
  source.onopen = () => tell({ name: "connected" });
  source.onerror = () => {
    // The browser connects again by itself, and says what it has seen; unless the answer was no stream.
    if (source.readyState !== EventSource.CLOSED) return tell({ name: "disconnected" });
    close();
    tell({ name: "refused" });
  };
  for (const name of NAMES) {
    source.addEventListener(name, (message) => {
      const event = { name, data: JSON.parse(message.data), id: message.lastEventId, at: Date.now() };
      if (name === "state") log = [];
      if (name === "progress") log = log.filter((one) => one.name !== "progress");
      log.push(event);
      tell(event);
    });
  }
};

const close = () => {
  if (source) source.close();
  source = null;
  log = [];
};

const join = (port) => {
  port.onmessage = (message) => {
    if (message.data === "leave") {
      ports.delete(port);
      if (ports.size === 0) close();
    } else if (message.data === "join" && !ports.has(port)) {
      ports.add(port);
      if (source) for (const event of log) port.postMessage(event);
      else open();
    }
  };
};

if ("SharedWorkerGlobalScope" in self) self.onconnect = (event) => join(event.ports[0]);
else join(self);
