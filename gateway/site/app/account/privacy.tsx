/** Whether others may see what the account holds and trades. */
import { useSignal } from '@preact/signals';
import { privacy, setPrivate } from '../../../client/index.js';
import { api, isLost, sentenceOf } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Panel } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';

export function PrivacyPanel() {
  const userId = user.value?.userId ?? '';
  const reading = useReading(() => privacy(api, userId), userId);
  const isSending = useSignal(false);
  const problem = useSignal('');
  const choose = async (box: HTMLInputElement) => {
    isSending.value = true;
    problem.value = '';
    try {
      reading.set(await setPrivate(api, userId, box.checked));
    } catch (error) {
      problem.value = sentenceOf(error);
      box.checked = !box.checked;
    } finally {
      isSending.value = false;
    }
  };
  return (
    <Panel title="Privacy">
      <div class="entrance panel-body">
        <Read of={reading}>
          {({ private: isPrivate }) => (
            <label class="check">
              <input
                type="checkbox"
                checked={isPrivate}
                aria-describedby="privacy-hint"
                disabled={isSending.value || isLost.value}
                onChange={({ currentTarget }) => void choose(currentTarget)}
              />
              Private account
            </label>
          )}
        </Read>
        <p class="soft" id="privacy-hint">
          Hides your positions, trades and vault deposits from everyone else. Your name, profit and
          rank stay public.
        </p>
        <p class="problem" role="alert">
          {problem.value}
        </p>
      </div>
    </Panel>
  );
}
