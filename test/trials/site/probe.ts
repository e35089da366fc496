/** A script that runs in the page before the page's own scripts and records times. */

export interface Probe {
  largestPaintMs: number;
  layoutShift: number;
  /** Times from clicks and keys to the next paint, if they are at least 16 ms. */
  interactionsMs: number[];
  longTasksMs: number[];
  /** Times from a message of the stream to the paint that shows it. */
  paintsMs: number[];
}

/** A string, because it runs in the browser; no compiler checks it. */
export const PROBE_SCRIPT = `(() => {
  const probe = (globalThis.probe = {
    largestPaintMs: 0, layoutShift: 0, interactionsMs: [], longTasksMs: [], paintsMs: [],
  });
  const observe = (options, record) =>
    new PerformanceObserver((list) => list.getEntries().forEach(record)).observe({
      buffered: true, ...options,
    });
  observe({ type: 'largest-contentful-paint' }, (entry) => {
    probe.largestPaintMs = entry.startTime;
  });
  observe({ type: 'layout-shift' }, (entry) => {
    if (!entry.hadRecentInput) probe.layoutShift += entry.value;
  });
  observe({ type: 'event', durationThreshold: 16 }, (entry) => {
    if (entry.interactionId) probe.interactionsMs.push(entry.duration);
  });
  observe({ type: 'longtask' }, (entry) => probe.longTasksMs.push(entry.duration));
  // A task posted within a frame runs after that frame is painted.
  const afterPaint = (done) =>
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = done;
      port2.postMessage(null);
    });
  globalThis.WebSocket = class extends WebSocket {
    constructor(...address) {
      super(...address);
      this.addEventListener('message', ({ data, timeStamp }) => {
        if (!data.includes('"book:')) return;
        afterPaint(() => probe.paintsMs.push(performance.now() - timeStamp));
      });
    }
  };
})()`;
