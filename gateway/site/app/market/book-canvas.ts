/**
 * Draws the book's texts and bars on an offscreen canvas, without style, layout or paint of the
 * page. At 50 changes a second, this costs half as much as the same texts as elements. Invisible
 * buttons above the drawing select levels and serve screen readers.
 *
 * Invariant: a row is drawn when it changes, and all rows when the size or colours change.
 */
import { effect, type Signal } from '@preact/signals';
import { columnCents, wholeShares } from '../parts/format.js';
import { type BookRow, bids, LEVELS, offers } from './book-rows.js';

/** Heights of a row and of the gap between the sides, as in the style sheet. */
const ROW = 24;
const MIDDLE = 30;
const PADDING = 14;
const COLUMNS = 3;

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

interface Line {
  of: Signal<BookRow>;
  isOffer: boolean;
  top: number;
  drawn: BookRow | null;
}

function linesOf(): Line[] {
  const upper = offers.map((of, index) => {
    return { of, isOffer: true, top: (LEVELS - 1 - index) * ROW, drawn: null };
  });
  const lower = bids.map((of, index) => {
    return { of, isOffer: false, top: (LEVELS + index) * ROW + MIDDLE, drawn: null };
  });
  return [...upper, ...lower];
}

function styleOf(canvas: HTMLCanvasElement) {
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const of = (name: string) => ({ price: colour(name), bar: colour(`${name}-wash`) });
  const font = `${style.fontSize} ${style.fontFamily}`;
  return { text: colour('text'), offer: of('down'), bid: of('up'), font };
}

export function drawBook(canvas: HTMLCanvasElement): () => void {
  // A browser without offscreen canvases draws on the page's canvas.
  const isApart = 'transferControlToOffscreen' in canvas;
  const surface = isApart ? canvas.transferControlToOffscreen() : canvas;
  const context = surface.getContext('2d') as Context;
  const lines = linesOf();
  let style = styleOf(canvas);
  let width = 0;

  function resize(): void {
    const scale = devicePixelRatio;
    width = canvas.clientWidth;
    surface.width = Math.round(width * scale);
    surface.height = Math.round(canvas.clientHeight * scale);
    context.scale(scale, scale);
    context.font = style.font;
    context.textBaseline = 'middle';
    for (const line of lines) line.drawn = null;
  }

  function draw(): void {
    for (const line of lines) {
      const row = line.of.value;
      if (row === line.drawn || width === 0) continue;
      line.drawn = row;
      drawLine(line, row);
    }
  }

  function drawLine({ isOffer, top }: Line, row: BookRow): void {
    context.clearRect(0, top, width, ROW);
    if (row.priceTicks === 0) return;
    const colours = isOffer ? style.offer : style.bid;
    const middle = top + ROW / 2;
    const column = (width - 2 * PADDING) / COLUMNS;
    context.fillStyle = colours.bar;
    context.fillRect(width * (1 - row.depth), top + 1, width * row.depth, ROW - 2);
    context.fillStyle = colours.price;
    context.textAlign = 'left';
    context.fillText(columnCents(row.priceTicks), PADDING, middle);
    context.fillStyle = style.text;
    context.textAlign = 'right';
    context.fillText(wholeShares(row.lots), PADDING + 2 * column, middle);
    context.fillText(wholeShares(row.totalLots), width - PADDING, middle);
  }

  function drawAll(): void {
    style = styleOf(canvas);
    resize();
    draw();
  }

  resize();
  const stopFollowing = effect(draw);
  const resized = new ResizeObserver(drawAll);
  resized.observe(canvas);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', drawAll);
  return () => {
    stopFollowing();
    resized.disconnect();
    dark.removeEventListener('change', drawAll);
  };
}
