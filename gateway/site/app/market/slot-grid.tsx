/**
 * The day as a grid: a column per hour, a row per quarter. A finished quarter links to its market.
 * The grid is one stop in the tab order, within which the arrow keys move.
 */
import { useEffect, useRef } from 'preact/hooks';
import { asset } from '../model/markets.js';
import { SLOT_MS, type Slot, slots } from '../model/slots.js';
import { offsetText, window } from '../parts/format.js';
import { Outcome, Panel, Sign } from '../parts/panel.js';
import { t } from '../words/words.js';

const NAMES: Record<Slot['state'], string> = {
  none: t('no market'),
  future: t('to come'),
  active: t('now'),
  ended: t('being decided'),
  UP: t('UP won'),
  DOWN: t('DOWN won'),
  VOID: t('void'),
};
const QUARTERS = 4;
const STEPS: Record<string, number> = {
  ArrowRight: QUARTERS,
  ArrowLeft: -QUARTERS,
  ArrowDown: 1,
  ArrowUp: -1,
};

export function SlotGrid() {
  const grid = useRef<HTMLUListElement>(null);
  const day = slots.value;
  const wins = day.filter(({ state }) => state === 'UP').length;
  const losses = day.filter(({ state }) => state === 'DOWN').length;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined || grid.current === null) return;
    const cells = [...grid.current.querySelectorAll<HTMLAnchorElement>('a')];
    const all = [...grid.current.querySelectorAll<HTMLElement>('.slot')];
    const from = all.indexOf(document.activeElement as HTMLElement);
    // The next quarter in that direction with a link.
    for (let at = from + step; at >= 0 && at < all.length; at += step) {
      const target = all[at]!;
      if (!cells.includes(target as HTMLAnchorElement)) continue;
      target.focus();
      break;
    }
    event.preventDefault();
  };
  const stop = day.findLastIndex(({ marketId }) => marketId !== null);
  // If the day is wider than its box, scroll the current and the next hour into view.
  useEffect(() => {
    const list = grid.current;
    if (list === null) return;
    const hours = list.childElementCount / QUARTERS;
    const part = (Math.floor(stop / QUARTERS) + 2) / hours;
    list.scrollLeft = list.scrollWidth * part - list.clientWidth;
  }, [stop]);
  return (
    <Panel
      title={t('Today')}
      extra={
        <span class="soft">
          {wins} <Outcome of="UP" /> {losses} <Outcome of="DOWN" />
        </span>
      }
    >
      <ul
        class="slots"
        ref={grid}
        // The grid may scroll, so the keyboard must reach it even if it has no market.
        tabIndex={stop === -1 ? 0 : undefined}
        onKeyDown={onKeyDown}
        aria-label={t('Quarter hours of {0} today', asset.value)}
      >
        {day.map((slot, index) => (
          <li
            key={slot.startsAtMs}
            class={isFar(day, index) ? 'far' : undefined}
            data-hour={index % QUARTERS === 0 ? hourName(slot.startsAtMs) : undefined}
          >
            <Cell slot={slot} isStop={index === stop} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Whether the slot's hour has no market, so that phones omit it. */
function isFar(day: readonly Slot[], index: number): boolean {
  const first = index - (index % QUARTERS);
  return day.slice(first, first + QUARTERS).every(({ marketId }) => marketId === null);
}

/** Adds the offset from UTC where an hour occurs twice: "1 \u22124". */
function hourName(atMs: number): string {
  return `${new Date(atMs).getHours()}${offsetText(atMs).replace('UTC', '')}`;
}

function Cell({ slot, isStop }: { slot: Slot; isStop: boolean }) {
  const { startsAtMs, state, marketId } = slot;
  const label = `${window(startsAtMs, startsAtMs + SLOT_MS)}: ${NAMES[state]}`;
  const style = `slot ${state.toLowerCase()}`;
  if (marketId === null || state === 'future')
    return (
      <span class={style} title={label}>
        <span class="unseen">{label}</span>
      </span>
    );
  const to = state === 'active' ? `#/${asset.value}` : `#/market/${marketId}`;
  return (
    <a class={style} href={to} title={label} aria-label={label} tabIndex={isStop ? 0 : -1}>
      {(state === 'UP' || state === 'DOWN' || state === 'VOID') && <Sign of={state} />}
    </a>
  );
}
