/** A titled part of the page. */
import type { ComponentChildren } from 'preact';

export function Panel(props: {
  title: string;
  class?: string;
  /** Shown next to the title. */
  extra?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = `panel-${props.title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.extra}
      </header>
      {props.children}
    </section>
  );
}
