/** A view whose script is loaded when it is first shown. */
import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';

export function Later(props: { load: () => Promise<{ default: ComponentType }> }) {
  const { load } = props;
  const loaded = useSignal<{ View: ComponentType } | null>(null);
  const problem = useSignal('');
  useEffect(() => {
    load().then(
      ({ default: View }) => {
        loaded.value = { View };
      },
      () => {
        problem.value = 'This part of the site could not be loaded. Reload the page.';
      },
    );
  }, [load, loaded, problem]);
  const found = loaded.value;
  if (found === null) return <p class="starting">{problem.value || 'Loading'}</p>;
  return <found.View />;
}
