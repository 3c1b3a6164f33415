// The microphone as PCM16, mono, 16 kHz: tenths of a second, each with its loudest sample.
const RATE = 16_000;

class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.step = sampleRate / RATE;
    // The sample under way: the mean of the samples of the device that fall into it.
    this.sum = 0;
    this.count = 0;
    this.next = this.step;
    this.at = 0;
    this.start();
  }

  start() {
    this.frame = new Int16Array(RATE / 10);
    this.filled = 0;
    this.loudest = 0;
  }

  process([[channel]]) {
    for (const sample of channel ?? []) {
      this.sum += sample;
      this.count += 1;
      this.at += 1;
      // A device that is slower than 16 kHz gives a sample more than once.
      while (this.at >= this.next) {
        this.put(this.count ? this.sum / this.count : sample);
        this.next += this.step;
        this.sum = this.count = 0;
      }
    }
    return true;
  }

  put(sample) {
    const bounded = Math.max(-1, Math.min(1, sample));
    this.loudest = Math.max(this.loudest, Math.abs(bounded));
    this.frame[this.filled] = Math.round(bounded * 32_767);
    this.filled += 1;
    if (this.filled < this.frame.length) return;
    this.port.postMessage({ audio: this.frame.buffer, loudest: this.loudest }, [this.frame.buffer]);
    this.start();
  }
}

registerProcessor("microphone", Microphone);
