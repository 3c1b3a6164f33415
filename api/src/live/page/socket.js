// One conversation over a socket that may break: it is opened again with the same ids, and goes on.
const LONGEST_WAIT = 15_000;
/** The service pings every 10 seconds: who hears nothing for longer than two of them is cut off. */
const LONGEST_QUIET = 25_000;
/** A connection that was in for so long was a good one: the next break is the first again. A server that accepts and closes at once is
    asked less and less often. */
const GOOD_AFTER = 10_000;
/** The language of the browser without its region, which few speech engines know; of Chinese, which is written in two ways, with it. */
const LANGUAGE = navigator.language.match(/^zh-[a-z]{2,4}\b|^[a-z]{2,3}\b/i)?.[0] ?? "en";
/** Tenths of a second of audio that are kept while there is no connection. */
const KEPT = 200;

/** A random UUID; `crypto.randomUUID` is missing on plain HTTP. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export class Conversation {
  /** `tell` is called with what happens: `open`, `segments`, `interim`, `status`, `processing`, `made`, `lost`, `refused`, `ended`. */
  constructor({ key, uid, id, device, transcripts, unsure }, tell) {
    Object.assign(this, { key, uid, id, transcripts, tell });
    this.query = new URLSearchParams({
      uid, codec: "pcm16", sample_rate: 16_000, client_device_id: device, client_conversation_id: id,
      language: LANGUAGE, custom_stt: transcripts ? "enabled" : "disabled", source: "desktop", client_platform: "web",
    });
    this.began = performance.now();
    this.failures = 0;
    this.audio = [];
    /** Sentences that the service has not shown yet, by id. */
    this.unsure = transcripts && unsure ? unsure : new Map();
    this.connect();
  }

  now() {
    return (performance.now() - this.began) / 1000;
  }

  connect() {
    clearTimeout(this.timer);
    const address = new URL(`/v4/web/listen?${this.query}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    this.socket = socket;
    this.isIn = false;
    socket.onopen = () => socket.send(JSON.stringify({ type: "auth", token: this.key }));
    socket.onmessage = ({ data }) => this.socket === socket && this.read(data);
    this.watch();
    socket.onclose = ({ code, reason }) => this.socket === socket && this.closed(code, reason);
  }

  /** A network that went away closes nothing. */
  watch() {
    clearTimeout(this.watching);
    const { socket } = this;
    this.watching = setTimeout(() => {
      this.socket = null;
      socket.close();
      this.closed(1006, "");
    }, LONGEST_QUIET);
  }

  read(data) {
    this.watch();
    // Something must be sent now and then while nobody speaks.
    if (data === "ping") return this.socket.send(new Uint8Array(1));
    const frame = JSON.parse(data);
    if (Array.isArray(frame)) {
      for (const { id } of frame) this.unsure.delete(id);
      return this.tell("segments", frame);
    }
    switch (frame.type) {
      case "auth_response":
        this.isIn = true;
        this.inSince = performance.now();
        this.tell("open");
        for (const audio of this.audio.splice(0)) this.socket.send(audio);
        for (const segment of this.unsure.values()) this.sendSegment(segment);
        break;
      case "interim_transcript":
        this.tell("interim", frame.segments);
        break;
      case "service_status":
        this.tell("status", frame);
        break;
      case "memory_processing_started":
        this.tell("processing", frame.memory);
        break;
      case "memory_created":
        this.tell("made", frame.memory);
    }
  }

  closed(code, reason) {
    clearTimeout(this.watching);
    const wasIn = this.isIn;
    this.isIn = false;
    if (wasIn && performance.now() - this.inSince >= GOOD_AFTER) this.failures = 0;
    if (code === 1008 && reason !== "over_budget") return this.tell("refused", wasIn);
    if ([1002, 1003, 1008, 1009, 4003].includes(code) || (code === 1001 && reason === "superseded")) {
      return this.tell("ended", reason);
    }
    const busy = code === 1011 || code === 1013;
    const moves = code === 1012 && this.failures === 0;
    const wait = moves ? 300 : Math.min(LONGEST_WAIT, (busy ? 4_000 : 1_000) * 2 ** this.failures);
    this.failures += 1;
    this.timer = setTimeout(() => this.connect(), wait);
    this.tell("lost", code);
  }

  /** Sends a tenth of a second, or keeps it until there is a connection again. */
  hear(audio) {
    if (this.isIn) return this.socket.send(audio);
    this.audio.push(audio);
    if (this.audio.length > KEPT) this.audio.shift();
  }

  /** Sends a sentence; again after a break, under the same id, until the service has shown it. */
  say(text, start = this.now()) {
    const segment = { id: uuid(), text, start, end: Math.max(this.now(), start + 0.1), is_user: true };
    this.unsure.set(segment.id, segment);
    if (this.isIn) this.sendSegment(segment);
  }

  sendSegment(segment) {
    this.socket.send(JSON.stringify({ type: "suggested_transcript", segments: [segment], stt_provider: "browser" }));
  }

  close() {
    clearTimeout(this.timer);
    clearTimeout(this.watching);
    const { socket } = this;
    this.socket = null;
    this.isIn = false;
    socket?.close(1000);
  }
}
