/** Settings: whether others can see the account's holdings and trades, and leaderboards list it. */
import { useSignal } from '@preact/signals';
import { privacy, setPrivacy } from '../../../client/index.js';
import { api, isLost, sentenceOf } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Panel } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';

export function PrivacyPanel() {
  const userId = user.value?.userId ?? '';
  const reading = useReading(() => privacy(api, userId), userId);
  const isSending = useSignal(false);
  const problem = useSignal('');
  const choose = async (box: HTMLInputElement, wanted: { private: boolean; listed?: boolean }) => {
    isSending.value = true;
    problem.value = '';
    try {
      reading.set(await setPrivacy(api, userId, wanted));
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
          {({ private: isPrivate, listed }) => (
            <>
              <label class="check">
                <input
                  type="checkbox"
                  checked={isPrivate}
                  aria-describedby="privacy-hint"
                  disabled={isSending.value || isLost.value}
                  onChange={({ currentTarget: box }) => void choose(box, { private: box.checked })}
                />
                Private account
              </label>
              <label class="check">
                <input
                  type="checkbox"
                  checked={listed}
                  disabled={!isPrivate || isSending.value || isLost.value}
                  onChange={({ currentTarget: box }) =>
                    void choose(box, { private: true, listed: box.checked })
                  }
                />
                On leaderboards
              </label>
            </>
          )}
        </Read>
        <p class="soft" id="privacy-hint">
          Others see only the name of a private account and when it was made. Leaderboards list it
          if you choose so, with the figures of the last full day (UTC).
        </p>
        <p class="problem" role="alert">
          {problem.value}
        </p>
      </div>
    </Panel>
  );
}
