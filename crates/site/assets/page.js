// Hands files to the program that the page holds, and shows what it says of them.
// Every text of a file reaches the page as text (textContent), the report as a document of its own.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  // More than a browser's tab holds at ease; the command reads logs of any size.
  const MAX_BYTES = 256 * 1024 * 1024;
  let chosen = [];
  let turn = 0;
  const urls = [];

  const say = (text) => { byId("status").textContent = text; };
  const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

  const unpacked = async () => {
    const packed = Uint8Array.from(atob(byId("program").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  };
  // At once, so that it is there when files are chosen; what fails is said then.
  const program = unpacked();
  program.catch(() => {});

  // The calls of WASI (preview 1) that a program needs which reads its input and writes its output. One that needs another
  // does not start.
  const EBADF = 8;
  const world = (input, memory) => {
    let at = 0;
    const out = { 1: [], 2: [] };
    const view = () => new DataView(memory().buffer);
    const buffers = (list, count) => Array.from({ length: count }, (_, one) => {
      const seen = view();
      return new Uint8Array(memory().buffer, seen.getUint32(list + 8 * one, true), seen.getUint32(list + 8 * one + 4, true));
    });
    const none = (counts, bytes) => {
      view().setUint32(counts, 0, true);
      view().setUint32(bytes, 0, true);
      return 0;
    };
    const calls = {
      environ_get: () => 0,
      environ_sizes_get: none,
      fd_read: (fd, list, count, taken) => {
        if (fd !== 0) return EBADF;
        let all = 0;
        for (const buffer of buffers(list, count)) {
          const part = input.subarray(at, at + buffer.length);
          buffer.set(part);
          at += part.length;
          all += part.length;
        }
        view().setUint32(taken, all, true);
        return 0;
      },
      fd_write: (fd, list, count, written) => {
        if (!out[fd]) return EBADF;
        let all = 0;
        for (const buffer of buffers(list, count)) {
          out[fd].push(buffer.slice());
          all += buffer.length;
        }
        view().setUint32(written, all, true);
        return 0;
      },
      proc_exit: (code) => { throw new Error(`the program ended with code ${code}`); },
    };
    return { calls, text: (fd) => new Blob(out[fd]).text() };
  };

  // A fresh program for each question: nothing of one is left in the next.
  const ask = async (input) => {
    const compiled = await program;
    let memory;
    const { calls, text } = world(input, () => memory);
    const instance = await WebAssembly.instantiate(compiled, { wasi_snapshot_preview1: calls });
    memory = instance.exports.memory;
    try {
      instance.exports._start();
    } catch (error) {
      const said = (await text(2)).trim();
      throw new Error(`the program failed on these files (${said || error.message}): this is a fault in linerate, please report it with them`);
    }
    return JSON.parse(await text(1));
  };

  const contentOf = async (file) => {
    try {
      return new Uint8Array(await file.arrayBuffer());
    } catch (error) {
      throw new Error(`cannot read ${file.name}: ${error.message}; give a log file, not a folder, that this user may read`);
    }
  };

  const question = async (files) => {
    const total = files.reduce((sum, file) => sum + file.size, 0);
    if (total > MAX_BYTES) throw new Error("cannot read more than 256 MiB in a browser; use `linerate import`, which reads logs of any size");
    const contents = await Promise.all(files.map(contentOf));
    const head = JSON.stringify({
      // Whole seconds, as the command has it.
      now: new Date().toISOString().replace(/\.\d+/, ""),
      files: files.map((file, index) => ({ name: file.name, bytes: contents[index].length })),
      asked: { link_speed: byId("link-speed").value, zperf_units: byId("zperf-units").value, hgrm: byId("hgrm").value },
    });
    return new Uint8Array(await new Blob([`${head}\n`, ...contents]).arrayBuffer());
  };

  const list = (id, texts) => {
    byId(id).hidden = texts.length === 0;
    byId(id).replaceChildren(...texts.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
  };

  const offer = (content, type) => {
    const url = URL.createObjectURL(new Blob([content], { type }));
    urls.push(url);
    return url;
  };

  const show = (answer) => {
    urls.splice(0).forEach((url) => URL.revokeObjectURL(url));
    const refused = answer.outcome === "refused";
    byId("result").hidden = false;
    byId("error").hidden = !refused;
    byId("error").textContent = refused ? answer.error : "";
    list("left-out", refused ? [] : answer.left_out.map((text) => `left out: ${text}`));
    list("notes", refused ? [] : answer.notes.map((text) => `note: ${text}`));
    byId("explained").hidden = refused;
    byId("result-title").textContent = refused ? "Nothing could be read" : answer.title;
    if (refused) {
      byId("report").removeAttribute("src");
      say("Nothing could be read.");
    } else {
      byId("words").textContent = answer.words;
      const report = offer(answer.report, "text/html");
      byId("report").src = report;
      byId("open").href = report;
      byId("save-report").href = report;
      byId("save-document").href = offer(answer.document, "application/json");
      say(`${counted(chosen.length, "file")} explained as ${counted(answer.runs, "run")}.`);
    }
    byId("result-title").focus();
  };

  const explain = async () => {
    const mine = ++turn;
    say(`Reading ${counted(chosen.length, "file")} …`);
    document.documentElement.dataset.state = "reading";
    // What was said is drawn before the work begins.
    await new Promise((done) => setTimeout(done));
    const answer = await question(chosen).then(ask).catch((error) => ({ outcome: "refused", error: error.message }));
    // Other files were chosen meanwhile.
    if (mine !== turn) return;
    show(answer);
    document.documentElement.dataset.state = answer.outcome;
  };

  const take = (files) => {
    if (files.length === 0) return;
    chosen = Array.from(files).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    explain();
  };

  byId("files").addEventListener("change", (event) => take(event.target.files));
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    explain();
  });
  byId("copy").addEventListener("click", async () => {
    const said = await navigator.clipboard.writeText(byId("words").textContent).then(() => "Copied.", () => "The browser did not let the words be copied: mark them and copy.");
    say(said);
  });
  const over = (is) => (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", is);
  };
  addEventListener("dragover", over(true));
  addEventListener("dragleave", over(false));
  addEventListener("drop", (event) => {
    over(false)(event);
    take(event.dataTransfer.files);
  });
  document.documentElement.dataset.state = "ready";
})();
