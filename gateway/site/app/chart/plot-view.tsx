/** A plot on the page, redrawn when its picture, size, colours or the pointer change. */
import { effect, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { elapsedMs } from '../model/clock.js';
import { type Picture, Plot } from './plot.js';

const REDRAW_EVERY_MS = 100;

export function PlotView(props: { of: ReadonlySignal<Picture>; class?: string }) {
  const { of } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const shown = canvas.current!;
    const plot = new Plot(shown);
    let pointerX: number | null = null;
    let drawnAtMs = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const draw = () => {
      timer = null;
      drawnAtMs = elapsedMs();
      plot.draw(of.peek(), pointerX);
    };
    const stopFollowing = effect(() => {
      void of.value;
      timer ??= setTimeout(draw, Math.max(0, drawnAtMs + REDRAW_EVERY_MS - elapsedMs()));
    });
    const resize = () => {
      plot.resize();
      draw();
    };
    const point = (x: number | null) => {
      pointerX = x;
      draw();
    };
    const resized = new ResizeObserver(resize);
    resized.observe(shown);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', resize);
    shown.addEventListener('pointermove', ({ offsetX }) => point(offsetX));
    shown.addEventListener('pointerleave', () => point(null));
    return () => {
      stopFollowing();
      if (timer !== null) clearTimeout(timer);
      resized.disconnect();
      dark.removeEventListener('change', resize);
    };
  }, [of]);
  return (
    <div class={`chart ${props.class ?? ''}`} aria-hidden="true">
      <canvas ref={canvas} />
    </div>
  );
}
