/** A view whose script is loaded when first shown, or later if the exchange was unreachable. */
import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { isLost } from '../model/exchange.js';
import { t } from '../words/words.js';

export function Later<Name extends string>(props: {
  load: () => Promise<Record<Name, ComponentType>>;
  name: Name;
}) {
  const { load, name } = props;
  const loaded = useSignal<{ View: ComponentType } | null>(null);
  const problem = useSignal('');
  useSignalEffect(() => {
    if (isLost.value || loaded.peek() !== null) return;
    load().then(
      ({ [name]: View }) => {
        loaded.value = { View };
      },
      () => {
        problem.value = t('This part of the site could not be loaded. Reload the page.');
      },
    );
  });
  const found = loaded.value;
  if (found === null)
    return (
      <p class="starting">
        {problem.value || (isLost.value ? t('Not loaded: the connection is lost.') : t('Loading'))}
      </p>
    );
  return <found.View />;
}
