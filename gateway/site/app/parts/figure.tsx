/** A labelled number or word in a list (`dl`), large as a figure or small as a fact. */
import type { ComponentChildren } from 'preact';

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
