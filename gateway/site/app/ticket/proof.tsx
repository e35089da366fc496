/** Below a receipt, on request: the journal batch that contains it, and what its hash proves. */
import { useSignal } from '@preact/signals';
import { digest } from '../../../client/index.js';
import type { Digest } from '../../../client/types.js';
import { publicApi } from '../model/exchange.js';
import { Action } from '../parts/action.js';

/** Use the sequence as its key, so that another receipt starts without a proof. */
export function Proof({ sequence }: { sequence: number }) {
  const found = useSignal<Digest | null>(null);
  const batch = found.value?.batch;
  const read = async () => {
    found.value = await digest(publicApi, sequence);
  };
  if (batch === undefined) return <Action run={read}>Verify</Action>;
  return (
    <div class="stack small">
      <p>
        SHA-256 of the journal's batch of entries {batch.firstSequence} to {batch.lastSequence}:
      </p>
      <p>
        <code class="address" data-hash>
          {batch.hash}
        </code>
      </p>
      <p class="soft">
        The hash covers this batch and everything before it. Keep it: if the journal ever gives
        another one, something up to your order was changed.
      </p>
    </div>
  );
}
