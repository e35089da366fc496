/**
 * Draws lines over time on a canvas: the live chart, the odds, a past market, an account's value.
 * It does not depend on the lines' meaning.
 *
 * Invariant: no text is drawn over another one, except the pointer's text.
 */
export interface Point {
  atMs: number;
  value: number;
}

type Colour =
  | 'up'
  | 'down'
  | 'up-wash'
  | 'down-wash'
  | 'soft'
  | 'line'
  | 'text'
  | 'accent'
  | 'ground'
  | 'panel';

interface Line {
  points: readonly Point[];
  colour: Colour;
  width?: number;
}

export interface Picture {
  fromMs: number;
  toMs: number;
  /** The value tag and the hover readout belong to the last of these lines. */
  lines: readonly Line[];
  /** A horizontal level. The last line is green above it and red below. */
  target?: { value: number; label: string } | undefined;
  shade?: { fromMs: number; toMs: number; label: string } | undefined;
  marks?: readonly (Point & { colour: Colour })[];
  range?: readonly [number, number];
  textAt: (atMs: number) => string;
  valueText: (value: number) => string;
  timeText: (atMs: number) => string;
  timeStepMs: number;
}

const BOTTOM = 24;
const TOP = 10;
const TEXT_HEIGHT = 16;
const NARROW = 480;

/** The last point at or before the time. */
export function pointAt(points: readonly Point[], atMs: number): Point | undefined {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle]!.atMs <= atMs) low = middle + 1;
    else high = middle;
  }
  return points[low - 1];
}

function rangeOf({ lines, target, marks = [], range }: Picture): [number, number] {
  let [low, high] = range ?? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const include = (value: number) => {
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const { points } of lines) for (const { value } of points) include(value);
  for (const { value } of marks) include(value);
  if (target !== undefined) include(target.value);
  if (low > high) return [0, 1];
  if (range !== undefined) return [low, high];
  const room = Math.max((high - low) * 0.12, Math.abs(high) * 0.00005, 1e-6);
  return [low - room, high + room];
}

/** 1, 2 or 5 times a power of ten, chosen so that about `count` steps fit into the range. */
function stepOf(range: number, count: number): number {
  const rough = range / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((each) => each * power >= rough) ?? 10);
}

export class Plot {
  private readonly context: CanvasRenderingContext2D;
  private readonly colours = new Map<Colour, string>();
  private font = '';
  private width = 0;
  private height = 0;
  private right = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d')!;
    this.resize();
  }

  /** Call after a change of size or colours. */
  resize(): void {
    const { canvas, context } = this;
    this.font = `12px ${getComputedStyle(canvas).fontFamily}`;
    this.colours.clear();
    this.width = canvas.clientWidth;
    this.height = canvas.clientHeight;
    canvas.width = Math.round(this.width * devicePixelRatio);
    canvas.height = Math.round(this.height * devicePixelRatio);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  }

  /** `pointerX` is `null` while the pointer is elsewhere. */
  draw(picture: Picture, pointerX: number | null): void {
    const { context, width, height } = this;
    if (width === 0) return;
    context.clearRect(0, 0, width, height);
    context.font = this.font;
    context.textBaseline = 'middle';
    context.lineJoin = 'round';
    const [low, high] = rangeOf(picture);
    const bottom = height - BOTTOM;
    const y = (value: number) => bottom - ((value - low) / (high - low)) * (bottom - TOP);
    const labels = [low, high].map((value) => context.measureText(picture.valueText(value)).width);
    this.right = width - Math.max(...labels) - 22;
    const x = (atMs: number) =>
      ((atMs - picture.fromMs) / (picture.toMs - picture.fromMs)) * this.right;
    const main = picture.lines.at(-1)!;
    const last = main.points.at(-1);
    const tagAt = last === undefined ? Number.NaN : y(last.value);
    this.drawGrid(picture, low, high, x, y, tagAt);
    this.drawShade(picture, x, bottom);
    context.save();
    context.beginPath();
    context.rect(0, 0, this.right, bottom);
    context.clip();
    const level = picture.target?.value;
    for (const line of picture.lines) this.drawLine(line, x, y, line === main ? level : undefined);
    context.restore();
    this.drawTarget(picture, x, y);
    for (const { atMs, value, colour } of picture.marks ?? [])
      if (atMs >= picture.fromMs) this.dot(x(atMs), y(value), colour, 4, true);
    if (last !== undefined) {
      const target = picture.target?.value;
      const colour = target === undefined ? main.colour : last.value < target ? 'down' : 'up';
      this.dot(x(last.atMs), tagAt, colour, 4, false);
      this.tag(picture.valueText(last.value), tagAt, colour);
    }
    if (pointerX === null || pointerX > this.right) return;
    const { fromMs, toMs, textAt } = picture;
    const atMs = fromMs + (pointerX / this.right) * (toMs - fromMs);
    const pointed = pointAt(main.points, atMs);
    if (pointed !== undefined) this.drawPointer(pointerX, y(pointed.value), bottom, textAt(atMs));
  }

  private colour(name: Colour): string {
    let found = this.colours.get(name);
    if (found === undefined) {
      found = getComputedStyle(this.canvas).getPropertyValue(`--${name}`).trim();
      this.colours.set(name, found);
    }
    return found;
  }

  private drawGrid(
    { fromMs, toMs, timeStepMs, timeText, valueText }: Picture,
    low: number,
    high: number,
    x: (atMs: number) => number,
    y: (value: number) => number,
    tagAt: number,
  ): void {
    const { context, right, height } = this;
    context.fillStyle = this.colour('soft');
    context.strokeStyle = this.colour('line');
    context.lineWidth = 1;
    context.beginPath();
    context.textAlign = 'left';
    const step = stepOf(high - low, (height - BOTTOM) / 60);
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
      const at = Math.round(y(value)) + 0.5;
      context.moveTo(0, at);
      context.lineTo(right, at);
      if (Math.abs(at - tagAt) > TEXT_HEIGHT && at > TOP / 2)
        context.fillText(valueText(value), right + 12, at);
    }
    // Use multiples of the step that leave room for each text.
    let timeStep = timeStepMs;
    const room = context.measureText(timeText(toMs)).width + 32;
    while (((toMs - fromMs) / timeStep) * room > right) timeStep *= 2;
    context.textAlign = 'center';
    for (let atMs = Math.ceil(fromMs / timeStep) * timeStep; atMs <= toMs; atMs += timeStep) {
      const at = x(atMs);
      context.moveTo(Math.round(at) + 0.5, TOP);
      context.lineTo(Math.round(at) + 0.5, height - BOTTOM);
      if (at > 20)
        context.fillText(timeText(atMs), Math.min(at, this.width - 20), height - BOTTOM / 2);
    }
    context.stroke();
  }

  private drawShade(
    { shade, fromMs, toMs }: Picture,
    x: (atMs: number) => number,
    bottom: number,
  ): void {
    if (shade === undefined || shade.fromMs >= toMs) return;
    const { context } = this;
    const from = x(Math.max(shade.fromMs, fromMs));
    const to = x(Math.min(shade.toMs, toMs));
    context.globalAlpha = 0.1;
    context.fillStyle = this.colour('accent');
    context.fillRect(from, TOP, to - from, bottom - TOP);
    context.globalAlpha = 1;
    context.textAlign = 'right';
    if (context.measureText(shade.label).width < to - 8)
      context.fillText(shade.label, to - 6, bottom - 10);
  }

  private drawLine(
    { points, colour, width = 1 }: Line,
    x: (atMs: number) => number,
    y: (value: number) => number,
    target: number | undefined,
  ): void {
    const { context } = this;
    const [first] = points;
    const last = points.at(-1);
    if (first === undefined || last === undefined) return;
    const path = new Path2D();
    path.moveTo(x(first.atMs), y(first.value));
    let drawnAt = Number.NEGATIVE_INFINITY;
    let skipped: Point | null = null;
    for (const point of points) {
      const at = x(point.atMs);
      // Of several points on one pixel, draw the first and the last.
      if (at - drawnAt < 0.5 && point !== last) {
        skipped = point;
        continue;
      }
      if (skipped !== null) path.lineTo(x(skipped.atMs), y(skipped.value));
      skipped = null;
      drawnAt = at;
      path.lineTo(at, y(point.value));
    }
    context.lineWidth = width;
    if (target === undefined) {
      context.strokeStyle = this.colour(colour);
      context.stroke(path);
      return;
    }
    const level = y(target);
    const area = new Path2D(path);
    area.lineTo(x(last.atMs), level);
    area.lineTo(x(first.atMs), level);
    for (const [part, top, high] of [
      ['up', 0, level],
      ['down', level, this.height],
    ] as const) {
      context.save();
      context.beginPath();
      context.rect(0, top, this.right, Math.max(high - top, 0));
      context.clip();
      context.fillStyle = this.colour(`${part}-wash`);
      context.fill(area);
      context.strokeStyle = this.colour(part);
      context.stroke(path);
      context.restore();
    }
  }

  private drawTarget(
    { target, lines, valueText }: Picture,
    x: (atMs: number) => number,
    y: (value: number) => number,
  ): void {
    if (target === undefined) return;
    const { context, right } = this;
    const at = Math.round(y(target.value)) + 0.5;
    context.strokeStyle = this.colour('text');
    context.lineWidth = 1;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(0, at);
    context.lineTo(right, at);
    context.stroke();
    context.setLineDash([]);
    // Put the label on the side without the line, if there is room.
    const last = lines.at(-1)!.points.at(-1);
    const isAbove =
      (last !== undefined && last.value < target.value) || at > this.height - BOTTOM - 24;
    const middle = at + (isAbove ? -12 : 12);
    // A narrow chart has no room beside the line, so its label is only the value.
    const room = right - (last === undefined ? 0 : x(last.atMs)) - 16;
    const isShort = right < NARROW && context.measureText(target.label).width > room;
    const label = isShort ? valueText(target.value) : target.label;
    const width = context.measureText(label).width + 8;
    context.globalAlpha = 0.8;
    context.fillStyle = this.colour('panel');
    context.fillRect(right - 2 - width, middle - 9, width, 18);
    context.globalAlpha = 1;
    context.fillStyle = this.colour('text');
    context.textAlign = 'right';
    context.fillText(label, right - 6, middle);
  }

  private drawPointer(x: number, y: number, bottom: number, text: string): void {
    const { context } = this;
    context.strokeStyle = this.colour('soft');
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, TOP);
    context.lineTo(x, bottom);
    context.stroke();
    this.dot(x, y, 'text', 3, false);
    const width = context.measureText(text).width + 12;
    const left = Math.min(Math.max(x - width / 2, 0), this.right - width);
    context.fillStyle = this.colour('text');
    context.beginPath();
    context.roundRect(left, TOP - 8, width, 20, 5);
    context.fill();
    context.fillStyle = this.colour('ground');
    context.textAlign = 'left';
    context.fillText(text, left + 6, TOP + 2);
  }

  private dot(x: number, y: number, colour: Colour, radius: number, isRing: boolean): void {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = this.colour(isRing ? 'ground' : colour);
    context.fill();
    context.strokeStyle = this.colour(isRing ? colour : 'ground');
    context.lineWidth = 2;
    context.stroke();
  }

  private tag(text: string, y: number, colour: Colour): void {
    const { context, right } = this;
    context.fillStyle = this.colour(colour);
    context.beginPath();
    context.roundRect(right + 6, y - 10, context.measureText(text).width + 12, 20, 5);
    context.fill();
    context.fillStyle = this.colour('ground');
    context.textAlign = 'left';
    context.fillText(text, right + 12, y);
  }
}
