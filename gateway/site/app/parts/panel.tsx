/** Building blocks of views: panels, tables, figures, money and outcomes. */
import type { ComponentChildren } from 'preact';
import type { OutcomeName } from '../model/book.js';
import { t } from '../words/words.js';
import { dollars, exactDollars, gain } from './format.js';

export function Panel(props: {
  title: string;
  class?: string;
  extra?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = `panel-${props.title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id} tabIndex={-1}>
      <header class="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.extra}
      </header>
      {props.children}
    </section>
  );
}

/** More columns do not fit a phone, where each row becomes a card with labelled values. */
const COLUMNS_MAX = 4;

export interface TableRow {
  key: string;
  cells: readonly ComponentChildren[];
}

export interface TableProps {
  label: string;
  heads: readonly string[];
  rows: readonly TableRow[];
  nothing: string;
}

/** A table that is too wide scrolls in its own box, which the keyboard can reach. */
export function Table({ label, heads, rows, nothing }: TableProps) {
  if (rows.length === 0) return <p class="nothing">{nothing}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it needs the keyboard
    <section class="table-scroll" tabIndex={0} aria-label={label}>
      <table class={`facts ${heads.length > COLUMNS_MAX ? 'many' : ''}`}>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head === '' ? <span class="unseen">{t('Actions')}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, column) => (
                <td key={column} data-head={heads[column]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A labelled value in a list (`dl`), large; {@link Fact} is small. */
export function Figure(props: {
  label: string;
  value: ComponentChildren;
  note?: string;
  class?: string;
  /** Tests find the value by this name. */
  name?: string;
}) {
  return (
    <div class={`figure ${props.class ?? ''}`}>
      <dt>{props.label}</dt>
      <dd>
        <span class="figure-value" data-figure={props.name}>
          {props.value}
        </span>
        {props.note !== undefined && <span class="figure-note">{props.note}</span>}
      </dd>
    </div>
  );
}

export function Fact(props: { label: string; value: ComponentChildren; class?: string }) {
  const { label, value } = props;
  return (
    <div class={props.class}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** The exact amount is a tooltip. */
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

/** Drawn, because some fonts lack the triangles. */
export function Sign({ of }: { of: OutcomeName | 'VOID' }) {
  return <span class={`sign ${of.toLowerCase()}`} aria-hidden="true" />;
}

export function Outcome({ of }: { of: OutcomeName | 'VOID' }) {
  return (
    <span class={`outcome ${of.toLowerCase()}`}>
      <Sign of={of} /> {of}
    </span>
  );
}
