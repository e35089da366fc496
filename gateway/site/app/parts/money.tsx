/** Dollars to the cent, with the exact amount as a tooltip. */
import type { ComponentChildren } from 'preact';
import { dollars, exactDollars, gain } from './format.js';

export function Money({ micros, as = dollars }: { micros: number; as?: typeof dollars }) {
  return <span title={exactDollars(micros)}>{as(micros)}</span>;
}

/** A coloured gain or loss, followed by `children`. */
export function Gain({ micros, children }: { micros: number; children?: ComponentChildren }) {
  const kind = micros === 0 ? '' : micros < 0 ? 'is-down' : 'is-up';
  return (
    <span class={kind} title={exactDollars(micros)}>
      {gain(micros)}
      {children}
    </span>
  );
}
